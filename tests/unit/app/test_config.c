/*
 * test_config.c - the settings table, its units, the file, the environment, who beats whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/config.h"
#include "app/listen.h"
#include "base/error.h"

static struct sb_config c;
static char why[SB_WHY];

static int
setup(void **state)
{
    (void)state;
    why[0] = '\0';
    return sb_config_init(&c);
}

static int
teardown(void **state)
{
    (void)state;
    sb_config_finish(&c);
    return 0;
}

static const struct sb_config_key *
key(const char *name)
{
    const struct sb_config_key *k = sb_config_find(name, strlen(name));
    if (k == NULL)
        fail_msg("no key %s", name);
    return k;
}

static int
set(const char *name, const char *value)
{
    return sb_config_set(&c, key(name), value, SB_FROM_FLAG, why);
}

static int
parse(const char *text)
{
    return sb_config_parse_file(&c, text, strlen(text), "test.conf", why);
}

/* Refused, and `why` has the part. */
static void
refused(int rc, const char *part)
{
    assert_int_equal(rc, SB_ERR_BAD_REQUEST);
    if (strstr(why, part) == NULL)
        fail_msg("\"%s\" does not tell \"%s\"", why, part);
}

static void
test_defaults(void **state)
{
    (void)state;
    assert_string_equal(c.data, "./scrollback-data");
    assert_string_equal(c.listen, "127.0.0.1:8484");
    assert_int_equal(c.cursor_ttl, UINT64_C(900000000));
    assert_int_equal(c.snapshot_ttl, UINT64_C(3600000000));
    assert_int_equal(c.hello_timeout, 5000000);
    assert_int_equal(c.page_bytes, 1048576);
    assert_int_equal(c.max_frame, 65536);
    assert_int_equal(c.out_queue_max, 1048576);
    assert_int_equal(c.rate_limit, 0);
    assert_int_equal(c.scan_budget, 2000000);
    assert_int_equal(c.scan_slice, 200);
    assert_int_equal(c.import_text_max, 1048576);
    assert_null(c.demo_users[0]);
    assert_null(c.origins[0]);
    assert_false(c.metrics_open);
}

static void
test_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        const struct sb_config_key *k = &sb_config_keys[i];
        assert_ptr_equal(key(k->name), k); /* no name twice */
        assert_true(k->min <= k->max);
        assert_true(k->commands != 0 && (k->commands & ~SB_FOR_ALL) == 0);
        assert_true(strlen(k->help) > 10);
        assert_true(k->help[strlen(k->help) - 1] != '.');
        for (const char *p = k->name; *p != '\0'; p++)
            assert_true(*p == '-' || (*p >= 'a' && *p <= 'z'));
        assert_int_equal(c.source[i], SB_FROM_DEFAULT);
    }
}

static void
test_durations(void **state)
{
    (void)state;
    static const struct
    {
        const char *text;
        uint64_t us;
    } good[] = {
        {"500ms", 500000},
        {"10s", 10000000},
        {"15min", UINT64_C(900000000)},
        {"1h", UINT64_C(3600000000)},
        {"2d", UINT64_C(172800000000)},
        {"200us", 200},
        {"0", 0},
        {"0s", 0},
        {"00010s", 10000000},
        {"18446744073709551615us", UINT64_MAX},
    };
    static const char *const bad[] = {"",
                                      "s",
                                      "10",
                                      "10 s",
                                      " 10s",
                                      "10s ",
                                      "-1s",
                                      "+1s",
                                      "1.5s",
                                      "1e3s",
                                      "10S",
                                      "10sec",
                                      "1m",
                                      "1H",
                                      "0x10s",
                                      "18446744073709551616us",
                                      "18446744073709551615ms",
                                      "99999999999999999999999h",
                                      "1h30min",
                                      "\xd9\xa1s"};
    uint64_t n = 7;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    {
        assert_true(sb_parse_duration(good[i].text, &n));
        assert_int_equal(n, good[i].us);
    }
    n = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (sb_parse_duration(bad[i], &n) || n != 7)
            fail_msg("took \"%s\"", bad[i]);
}

static void
test_sizes(void **state)
{
    (void)state;
    static const struct
    {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},          {"1048576", 1048576},           {"64KiB", 65536},
        {"1MiB", 1048576}, {"3GiB", UINT64_C(3221225472)}, {"1TiB", UINT64_C(1099511627776)},
        {"12B", 12},
    };
    static const char *const bad[] = {"",      "KiB", "1KB",    "1k",    "1M",          "1kib",
                                      "1 MiB", "-1",  "1.5MiB", "1MiBx", "16777216TiB", "1TiB "};
    uint64_t n = 7;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    {
        assert_true(sb_parse_size(good[i].text, &n));
        assert_int_equal(n, good[i].bytes);
    }
    n = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (sb_parse_size(bad[i], &n) || n != 7)
            fail_msg("took \"%s\"", bad[i]);
}

/* What is shown is what can be set: the printed config file gives the same settings. */
static void
test_show_parses_back(void **state)
{
    (void)state;
    assert_int_equal(set("cursor-ttl", "90s"), 0);
    assert_int_equal(set("page-bytes", "3000"), 0);
    assert_int_equal(set("origins", " https://a.example ,https://b.example:8443,, "), 0);
    assert_int_equal(set("metrics-open", "yes"), 0);
    assert_int_equal(set("log-level", "debug"), 0);
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    sb_config_print(f, &c, SB_FOR_ALL);
    fclose(f);
    assert_non_null(strstr(text, "cursor-ttl = 90s "));
    struct sb_config copy;
    assert_int_equal(sb_config_init(&copy), 0);
    int rc = sb_config_parse_file(&copy, text, len, "shown", why);
    free(text);
    if (rc != 0)
        fail_msg("%s", why);
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        char a[4096], b[4096];
        sb_config_show(&c, &sb_config_keys[i], a, sizeof(a));
        sb_config_show(&copy, &sb_config_keys[i], b, sizeof(b));
        assert_string_equal(a, b);
    }
    assert_string_equal(copy.origins[0], "https://a.example");
    assert_string_equal(copy.origins[1], "https://b.example:8443");
    assert_null(copy.origins[2]);
    sb_config_finish(&copy);
}

static void
test_ranges(void **state)
{
    (void)state;
    refused(set("cursor-ttl", "1ms"), "cursor-ttl must be from 10ms to 30d, not 1ms");
    refused(set("max-frame", "65537"), "from 1KiB to 64KiB");
    refused(set("max-frame", "1023"), "from 1KiB");
    assert_int_equal(set("max-frame", "1KiB"), 0);
    assert_int_equal(set("max-frame", "65536"), 0);
    refused(set("max-connections", "0"), "from 1 to");
    refused(set("data", ""), "must not be empty");
    refused(set("hello-timeout", "10"), "a time with its unit");
    refused(set("metrics-open", "maybe"), "true or false");
    refused(set("log-level", "loud"), "error, warn, info or debug");
    refused(set("max-connections", "many"), "a whole number");
    char longer[4000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    refused(set("web", longer), "longer than");
    /* What was refused changed nothing. */
    assert_int_equal(c.cursor_ttl, UINT64_C(900000000));
    assert_int_equal(c.max_frame, 65536);
    char many[400];
    size_t n = 0;
    for (int i = 0; i < 65; i++)
        n += (size_t)snprintf(many + n, sizeof(many) - n, "u%d,", i);
    refused(set("demo-users", many), "more than 64 entries");
}

static void
test_lists(void **state)
{
    (void)state;
    static const char *const empty[] = {"", ",", " , ,", "  "};
    for (size_t i = 0; i < 4; i++)
    {
        assert_int_equal(set("demo-users", empty[i]), 0);
        assert_null(c.demo_users[0]);
    }
    assert_int_equal(set("demo-users", " ,\t alice b ,bob"), 0);
    assert_string_equal(c.demo_users[0], "alice b");
    assert_string_equal(c.demo_users[1], "bob");
    assert_null(c.demo_users[2]);
}

static void
test_file(void **state)
{
    (void)state;
    assert_int_equal(parse("\xef\xbb\xbf# comment\r\n"
                           "\r\n"
                           "  data=/var/lib/chat#1  # the store\r\n"
                           "cursor-ttl\t=\t10s\n"
                           "origins = https://a.example, https://b.example\n"
                           "web ="),
                     0);
    assert_string_equal(c.data, "/var/lib/chat#1");
    assert_int_equal(c.cursor_ttl, 10000000);
    assert_string_equal(c.origins[1], "https://b.example");
    assert_int_equal(parse(""), 0);
    assert_int_equal(parse("\n\n\n"), 0);
}

static void
test_file_errors_tell_the_line(void **state)
{
    (void)state;
    refused(parse("# x\ndata\n"), "test.conf, line 2: a line is `key = value`");
    refused(parse("\n\ncusor-ttl = 10s\n"), "line 3: there is no setting \"cusor-ttl\"");
    refused(parse("[sink archive]\n"), "line 1: this version knows no section [sink archive]");
    refused(parse("data = a\n\ndata = b\n"), "line 3: data is set a second time, first in line 1");
    refused(parse("cursor-ttl = soon\n"), "line 1: cursor-ttl must be a time");
    refused(parse("= 5\n"), "there is no setting \"\"");
    refused(parse("Data = x\n"), "there is no setting \"Data\"");
    refused(sb_config_parse_file(&c, "data = a\0b\n", 11, "test.conf", why), "NUL");
    char *big = malloc(SB_CONFIG_FILE_MAX + 1);
    memset(big, '\n', SB_CONFIG_FILE_MAX + 1);
    refused(sb_config_parse_file(&c, big, SB_CONFIG_FILE_MAX + 1, "test.conf", why), "too long");
    memset(big, 'a', 5000);
    refused(sb_config_parse_file(&c, big, 6000, "test.conf", why), "the line is too long");
    free(big);
    assert_int_equal(sb_config_load_file(&c, "/nonexistent/x.conf", why), SB_ERR_IO);
    assert_non_null(strstr(why, "/nonexistent/x.conf"));
}

static char *
fake_env(const char *name)
{
    if (strcmp(name, "SCROLLBACK_CURSOR_TTL") == 0)
        return (char *)"20s";
    if (strcmp(name, "SCROLLBACK_DATA") == 0)
        return (char *)"from-env";
    return NULL;
}

static char *
bad_env(const char *name)
{
    return strcmp(name, "SCROLLBACK_MAX_FRAME") == 0 ? (char *)"huge" : NULL;
}

static void
test_who_beats_whom(void **state)
{
    (void)state;
    /* In whatever order they are read. */
    assert_int_equal(set("cursor-ttl", "30s"), 0);
    assert_int_equal(sb_config_load_env(&c, SB_FOR_SERVE, fake_env, why), 0);
    assert_int_equal(parse("cursor-ttl = 10s\ndata = from-file\nlisten = 1.2.3.4:5\n"), 0);
    assert_int_equal(c.cursor_ttl, 30000000);
    assert_string_equal(c.data, "from-env");
    assert_string_equal(c.listen, "1.2.3.4:5");
    /* A value that does not count must still be good. */
    refused(parse("cursor-ttl = soon\n"), "line 1");
    assert_int_equal(c.cursor_ttl, 30000000);
}

static void
test_environment(void **state)
{
    (void)state;
    refused(sb_config_load_env(&c, SB_FOR_SERVE, bad_env, why),
            "environment variable SCROLLBACK_MAX_FRAME: max-frame must be");
    /* A command does not look at the keys that it does not take. */
    assert_int_equal(sb_config_load_env(&c, SB_FOR_TOKEN, bad_env, why), 0);
    assert_int_equal(sb_config_load_env(&c, SB_FOR_TOKEN, fake_env, why), 0);
    assert_string_equal(c.data, "from-env");
    assert_int_equal(c.cursor_ttl, UINT64_C(900000000));
}

static void
test_help_names_every_key(void **state)
{
    (void)state;
    char *help = NULL, *man = NULL;
    size_t len;
    FILE *f = open_memstream(&help, &len);
    sb_config_help(f, SB_FOR_ALL);
    fclose(f);
    f = open_memstream(&man, &len);
    sb_config_help_man(f);
    fclose(f);
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        char flag[64];
        snprintf(flag, sizeof(flag), "  --%s ", sb_config_keys[i].name);
        assert_non_null(strstr(help, flag));
        assert_non_null(strstr(help, sb_config_keys[i].help));
    }
    assert_non_null(strstr(man, ".BI snapshot\\-ttl \" TIME\"\n"));
    assert_null(strstr(man, "\n."
                            "/"));
    free(help);
    free(man);
}

static void
test_listen(void **state)
{
    (void)state;
    struct sb_listen l;
    char url[320];
    assert_true(sb_listen_parse("127.0.0.1:8484", &l));
    assert_string_equal(l.host, "127.0.0.1");
    assert_int_equal(l.port, 8484);
    assert_true(l.loopback);
    assert_true(sb_listen_parse("[::1]:0", &l));
    assert_string_equal(l.host, "::1");
    assert_true(l.loopback);
    sb_listen_url(&l, 4000, url, sizeof(url));
    assert_string_equal(url, "ws://[::1]:4000/v1");
    assert_true(sb_listen_parse("localhost:1", &l) && l.loopback);
    assert_true(sb_listen_parse("127.9.9.9:1", &l) && l.loopback);
    static const char *const open_to_others[] = {
        "0.0.0.0:1",  "[::]:1", "10.0.0.1:1", "localhost.evil.example:1", "[::ffff:127.0.0.1]:1",
        "128.0.0.1:1"};
    for (size_t i = 0; i < 6; i++)
        assert_true(sb_listen_parse(open_to_others[i], &l) && !l.loopback);
    static const char *const bad[] = {"",      ":1",          "127.0.0.1", "127.0.0.1:", "a:65536",
                                      "a:-1",  "a:1x",        "::1:8484",  "[::1]",      "[]:1",
                                      "[a]:1", "[1.2.3.4]:1", "a b:1",     "ws://a:1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (sb_listen_parse(bad[i], &l))
            fail_msg("took \"%s\"", bad[i]);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_defaults),
        T(test_table_is_sound),
        T(test_durations),
        T(test_sizes),
        T(test_show_parses_back),
        T(test_ranges),
        T(test_lists),
        T(test_file),
        T(test_file_errors_tell_the_line),
        T(test_who_beats_whom),
        T(test_environment),
        T(test_help_names_every_key),
        T(test_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

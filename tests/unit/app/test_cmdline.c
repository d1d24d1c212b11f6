/*
 * test_cmdline.c - a command's arguments: options, keys, operands, and what is refused.
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

#include "app/cmdline.h"

static struct sb_config c;
static struct sb_operands operands;
static const char *user;
static bool service;
static char why[SB_WHY];

static const struct sb_option options[] = {
    {"user", "USER", "who", &user, NULL},
    {"service", NULL, "is one", NULL, &service},
    {NULL, NULL, NULL, NULL, NULL},
};
static struct sb_cmdline line = {
    .command = SB_FOR_SERVE, .usage = "x", .about = "x", .options = options, .max_operands = 2};

static int
setup(void **state)
{
    (void)state;
    user = NULL;
    service = false;
    unsetenv("SCROLLBACK_CONFIG");
    return sb_config_init(&c);
}

static int
teardown(void **state)
{
    (void)state;
    sb_config_finish(&c);
    return 0;
}

/* Parses "a|b|c" as three arguments. */
static enum sb_cmdline_outcome
parse(const char *text)
{
    static char buf[4096];
    static char *argv[64];
    int argc = 0;
    snprintf(buf, sizeof(buf), "%s", text);
    for (char *p = buf; *text != '\0' && p != NULL && argc < 64;)
        argv[argc++] = strsep(&p, "|");
    why[0] = '\0';
    return sb_cmdline_parse(&line, argc, argv, &c, &operands, why);
}

static void
wrong(const char *text, const char *part)
{
    assert_int_equal(parse(text), SB_CMDLINE_WRONG);
    if (strstr(why, part) == NULL)
        fail_msg("%s: \"%s\" does not tell \"%s\"", text, why, part);
}

static void
test_forms(void **state)
{
    (void)state;
    assert_int_equal(parse("--user|alice|--service|--cursor-ttl|10s|--data=x=y|one|two"),
                     SB_CMDLINE_RUN);
    assert_string_equal(user, "alice");
    assert_true(service);
    assert_int_equal(c.cursor_ttl, 10000000);
    assert_string_equal(c.data, "x=y");
    assert_int_equal(operands.n, 2);
    assert_string_equal(operands.v[0], "one");
    assert_string_equal(operands.v[1], "two");
    assert_int_equal(parse(""), SB_CMDLINE_RUN);
    assert_int_equal(operands.n, 0);
}

static void
test_operands_between_options(void **state)
{
    (void)state;
    assert_int_equal(parse("one|--user|u|-|--|--service"), SB_CMDLINE_WRONG); /* three of them */
    line.max_operands = -1;
    assert_int_equal(parse("one|--user|u|-|--|--service"), SB_CMDLINE_RUN);
    line.max_operands = 2;
    assert_int_equal(operands.n, 3);
    assert_string_equal(operands.v[0], "one");
    assert_string_equal(operands.v[1], "-");
    assert_string_equal(operands.v[2], "--service");
    assert_false(service);
}

static void
test_last_one_counts(void **state)
{
    (void)state;
    assert_int_equal(parse("--user|a|--user=b|--data|x|--data|y"), SB_CMDLINE_RUN);
    assert_string_equal(user, "b");
    assert_string_equal(c.data, "y");
    assert_int_equal(parse("--user="), SB_CMDLINE_RUN);
    assert_string_equal(user, "");
    assert_int_equal(parse("--user=--odd"), SB_CMDLINE_RUN);
    assert_string_equal(user, "--odd");
}

static void
test_switches(void **state)
{
    (void)state;
    assert_int_equal(parse("--metrics-open|one"), SB_CMDLINE_RUN);
    assert_true(c.metrics_open);
    assert_int_equal(operands.n, 1);
    assert_int_equal(parse("--metrics-open|false|one"), SB_CMDLINE_RUN);
    assert_false(c.metrics_open);
    assert_int_equal(operands.n, 1);
    assert_int_equal(parse("--metrics-open=on"), SB_CMDLINE_RUN);
    assert_true(c.metrics_open);
    wrong("--metrics-open=1", "--metrics-open must be true or false");
    wrong("--service=yes", "--service takes no value");
}

static void
test_wrong_ones(void **state)
{
    (void)state;
    wrong("--nope|x", "--nope is not an option");
    wrong("--use|x", "--use is not an option"); /* no abbreviations */
    wrong("-x", "-x is not an option");
    assert_int_equal(parse("--"), SB_CMDLINE_RUN);
}

static void
test_missing_values(void **state)
{
    (void)state;
    wrong("--user", "--user needs a value");
    wrong("--user|--service", "--user needs a value");
    wrong("--data", "--data needs a value");
    wrong("--cursor-ttl|never", "--cursor-ttl must be a time");
    wrong("--config", "--config needs a value");
    wrong("--config|/nonexistent/file", "/nonexistent/file");
    wrong("a|b|c", "\"c\" is too much");
    line.min_operands = 1;
    wrong("--service", "something is missing");
    line.min_operands = 0;
}

static void
test_keys_of_other_commands(void **state)
{
    (void)state;
    line.command = SB_FOR_TOKEN;
    wrong("--listen|1.2.3.4:5", "--listen is not for this command");
    assert_int_equal(parse("--data|d"), SB_CMDLINE_RUN);
    line.command = SB_FOR_SERVE;
}

static void
test_data_that_must_be_named(void **state)
{
    (void)state;
    line.needs_data = true;
    wrong("one", "--data is missing");
    assert_int_equal(parse("--data|./scrollback-data"), SB_CMDLINE_RUN);
    line.needs_data = false;
}

static void
test_config_file(void **state)
{
    (void)state;
    char path[] = "/tmp/sb-cmdline-XXXXXX", text[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char body[] = "data = from-file\ncursor-ttl = 11s\n";
    assert_int_equal(write(fd, body, sizeof(body) - 1), sizeof(body) - 1);
    close(fd);
    snprintf(text, sizeof(text), "--cursor-ttl|12s|--config|%s", path);
    assert_int_equal(parse(text), SB_CMDLINE_RUN);
    assert_string_equal(c.data, "from-file");
    assert_int_equal(c.cursor_ttl, 12000000);

    sb_config_finish(&c);
    assert_int_equal(sb_config_init(&c), 0);
    setenv("SCROLLBACK_CONFIG", path, 1);
    assert_int_equal(parse(""), SB_CMDLINE_RUN);
    assert_string_equal(c.data, "from-file");
    unsetenv("SCROLLBACK_CONFIG");
    unlink(path);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_forms),
        T(test_operands_between_options),
        T(test_last_one_counts),
        T(test_switches),
        T(test_wrong_ones),
        T(test_missing_values),
        T(test_keys_of_other_commands),
        T(test_config_file),
        T(test_data_that_must_be_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

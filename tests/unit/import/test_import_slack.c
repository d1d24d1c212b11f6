/* test_import_slack.c - Slack exports: markup, stamps, zip and folder, damaged files. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include <zip.h>

#include "import/slack.h"

#define USERS "[{\"id\":\"U1\",\"name\":\"ann\"},{\"id\":\"U2\",\"name\":\"bob\"}]"

static void
stamps_are_read_by_digits(void **state)
{
    static const struct
    {
        const char *ts;
        bool ok;
        uint64_t ms;
    } cases[] = {
        {"1526494324.253344", true, 1526494324253},
        {"1526494324.253999", true, 1526494324253},
        {"1526494324", true, 1526494324000},
        {"1526494324.5", true, 1526494324500},
        {"0", true, 0},
        {"999999999999.999999999", true, 999999999999999},
        {"", false, 0},
        {"NaN", false, 0},
        {"inf", false, 0},
        {"-1.0", false, 0},
        {"1e9", false, 0},
        {"1526494324.253344x", false, 0},
        {" 1526494324", false, 0},
        {".5", false, 0},
        {"1234567890123", false, 0},
        {"1.1234567890", false, 0},
        {"1526494324.25.3", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        uint64_t ms = 0;
        assert_int_equal(sb_slack_ts(sb_bytes_str(cases[i].ts), &ms), cases[i].ok);
        if (cases[i].ok)
            assert_int_equal(ms, cases[i].ms);
    }
}

static void
markup_becomes_plain_text(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"&amp;lt; &lt;b&gt; &quot; & &am", "&lt; <b> &quot; & &am"},
        {"<@U1> <@U2|robert> <@U9> <@U8|eve>", "@ann @bob @U9 @eve"},
        {"<#C1> <#C1|other> <#C7>", "#general #other #C7"},
        {"<!here> <!channel|channel> <!subteam^S1|@ops> <!subteam^S1>",
         "@here @channel @ops @subteam^S1"},
        {"<https://e.org/?a=1&amp;b=2>", "https://e.org/?a=1&b=2"},
        {"<https://e.org|a &lt; b>", "a < b (https://e.org)"},
        {"<https://e.org|https://e.org>", "https://e.org"},
        {"<https://e.org|>", "https://e.org"},
        {"a < b", "a < b"},
        {"<", "<"},
        {"<>", "<>"},
        {"<<@U1>", "<@ann"},
        {"<@>", "@"},
    };
    struct sb_import_options o = {0};
    struct sb_import_sink sink = {0};
    struct sb_import_counts counts = {0};
    struct sb_slack s = {0};
    (void)state;
    sb_import_run_init(&s.run, &o, &sink, &counts);
    sb_names_init(&s.users);
    sb_names_init(&s.channels);
    sb_buf_init(&s.text, 65536);
    s.row = sb_import_row_create(&s.run);
    assert_non_null(s.row);
    assert_int_equal(sb_names_put(&s.users, SB_LIT("U1"), SB_LIT("ann")), 0);
    assert_int_equal(sb_names_put(&s.users, SB_LIT("U2"), SB_LIT("bob")), 0);
    assert_int_equal(sb_names_put(&s.channels, SB_LIT("C1"), SB_LIT("general")), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        sb_import_row_begin(s.row, SB_LIT("slack"));
        sb_buf_reset(&s.text, 65536);
        assert_int_equal(sb_slack_text(&s, sb_bytes_str(cases[i][0])), 0);
        struct sb_bytes got = sb_buf_view(&s.text);
        if (!sb_bytes_eq(got, sb_bytes_str(cases[i][1])))
            fail_msg("%s gave %.*s", cases[i][0], (int)got.len, (const char *)got.data);
    }
    sb_import_row_destroy(s.row);
    sb_buf_finish(&s.text);
    sb_names_finish(&s.users);
    sb_names_finish(&s.channels);
}

static void
names_are_found_among_many(void **state)
{
    struct sb_names t;
    char id[16];
    (void)state;
    sb_names_init(&t);
    for (int i = 0; i < 5000; i++)
    {
        int n = snprintf(id, sizeof(id), "U%d", i);
        assert_int_equal(sb_names_put(&t, sb_bytes(id, (size_t)n), sb_bytes(id + 1, (size_t)n - 1)),
                         0);
    }
    assert_int_equal(sb_names_put(&t, SB_LIT("U7"), SB_LIT("other")), 0);
    assert_true(sb_bytes_eq(sb_names_get(&t, SB_LIT("U7")), SB_LIT("7")));
    assert_true(sb_bytes_eq(sb_names_get(&t, SB_LIT("U4999")), SB_LIT("4999")));
    assert_int_equal(sb_names_get(&t, SB_LIT("U5000")).len, 0);
    sb_names_finish(&t);
}

/* Adds a folder of the fixtures to a zip, with entries for folders, below `prefix`. */
static void
zip_add_folder(zip_t *z, const char *folder, const char *prefix)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
    {
        char path[1200];
        char name[600];
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%.900s/%.250s", folder, e->d_name);
        (void)snprintf(name, sizeof(name), "%.300s%.250s", prefix, e->d_name);
        if (e->d_type == DT_DIR)
        {
            strcat(name, "/");
            assert_true(zip_dir_add(z, name, ZIP_FL_ENC_UTF_8) >= 0);
            zip_add_folder(z, path, name);
            continue;
        }
        zip_source_t *source = zip_source_file(z, path, 0, -1);
        assert_non_null(source);
        assert_true(zip_file_add(z, name, source, ZIP_FL_ENC_UTF_8) >= 0);
    }
    assert_int_equal(closedir(d), 0);
}

static const char *
zip_make(const char *name, const char *prefix)
{
    const char *path = work_path(name);
    int code = 0;
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(z);
    zip_add_folder(z, fixture("slack/export"), prefix);
    static const char evil[] =
        "[{\"type\":\"message\",\"user\":\"U1\",\"text\":\"x\",\"ts\":\"1.0\"}]";
    const char *const evils[] = {"../evil/2018-01-01.json", "/evil/2018-01-01.json"};
    for (size_t i = 0; i < 2; i++)
    {
        zip_source_t *source = zip_source_buffer(z, evil, sizeof(evil) - 1, 0);
        assert_true(zip_file_add(z, evils[i], source, ZIP_FL_ENC_UTF_8) >= 0);
    }
    assert_int_equal(zip_close(z), 0);
    return path;
}

static void
a_zip_reads_like_its_folder(void **state)
{
    static struct capture folder;
    static const char *const prefixes[] = {"", "My export/"};
    (void)state;
    for (size_t p = 0; p < 2; p++)
    {
        const char *zip = zip_make("export.zip", prefixes[p]);
        folder = *capture_path("slack", fixture("slack/export"), NULL);
        for (size_t i = 0; i < folder.n; i++)
            folder.rows[i].text = strdup(folder.rows[i].text);
        struct capture *c = capture_path("slack", zip, NULL);
        assert_int_equal(c->rc, 0);
        assert_int_equal(c->n, folder.n);
        assert_true(c->n > 30);
        assert_memory_equal(&c->counts, &folder.counts, sizeof(c->counts));
        for (size_t i = 0; i < c->n; i++)
        {
            assert_string_equal(c->rows[i].thread, folder.rows[i].thread);
            assert_string_equal(c->rows[i].id, folder.rows[i].id);
            assert_string_equal(c->rows[i].text, folder.rows[i].text);
            assert_string_not_equal(c->rows[i].thread, "evil");
            free(folder.rows[i].text);
        }
    }
}

static void
a_damaged_zip_is_told(void **state)
{
    (void)state;
    struct capture *c =
        capture_path("slack", write_text("bad.zip", "PK\x03\x04 and nothing"), NULL);
    assert_int_equal(c->rc, SB_ERR_IO);
    assert_non_null(strstr(c->why, "not a readable zip"));
}

static void
a_truncated_day_keeps_what_came_before(void **state)
{
    (void)state;
    (void)write_text("cutoff/users.json", USERS);
    (void)write_text("cutoff/general/2018-01-01.json",
                     "[{\"user\":\"U1\",\"text\":\"kept\",\"ts\":\"1.0\"},"
                     "{\"user\":\"U1\",\"text\":\"also\",\"ts\":\"2.0\"},{\"user\":\"U1\",\"te");
    (void)write_text("cutoff/general/2018-01-02.json", "{\"user\":\"U1\",\"ts\":\"3.0\"}");
    (void)write_text("cutoff/general/2018-01-03.json", "");
    (void)write_text("cutoff/general/2018-01-04.json",
                     "\xef\xbb\xbf[{\"user\":\"U2\",\"text\":\"next\",\"ts\":\"4.0\"}]");
    struct capture *c = capture_path("slack", work_path("cutoff"), NULL);
    assert_int_equal(c->rc, 0);
    assert_int_equal(c->n, 3);
    assert_string_equal(c->rows[1].text, "also");
    assert_string_equal(c->rows[2].text, "next");
    assert_string_equal(c->rows[2].by, "bob");
    assert_int_equal(c->counts.skipped, 3);
    assert_non_null(strstr(c->skipped[0], "general/2018-01-01.json:3: not JSON from here on"));
}

static void
private_conversations_stay_out(void **state)
{
    (void)state;
    struct capture *c = capture_path("slack", fixture("slack/export"), NULL);
    for (size_t i = 0; i < c->n; i++)
    {
        assert_string_not_equal(c->rows[i].thread, "D1");
        assert_null(strstr(c->rows[i].thread, "mpdm"));
    }
}

static void
one_thread_for_many_channels_is_refused(void **state)
{
    struct sb_import_options o = {.thread = "all"};
    (void)state;
    struct capture *c = capture_path("slack", fixture("slack/export"), &o);
    assert_int_equal(c->rc, SB_ERR_IO);
    assert_non_null(strstr(c->why, "3 channels"));
    (void)write_text("single/general/2018-01-01.json",
                     "[{\"user\":\"U1\",\"text\":\"x\",\"ts\":\"1.0\"}]");
    c = capture_path("slack", work_path("single"), &o);
    assert_int_equal(c->rc, 0);
    assert_string_equal(c->rows[0].thread, "all");
    assert_int_equal(capture_path("slack", fixture("irc/archive"), NULL)->rc, SB_ERR_IO);
}

static void
the_sinks_value_ends_the_run(void **state)
{
    static const int values[] = {SB_ERR_IO, SB_ERR_BAD_REQUEST, SB_ERR_TOO_LARGE, 5};
    (void)state;
    for (size_t i = 0; i < 4; i++)
    {
        struct capture *c = capture_stopping("slack", fixture("slack/export"), 3, values[i]);
        assert_int_equal(c->rc, values[i]);
        assert_int_equal(c->total, 3);
        assert_int_equal(c->counts.skipped, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_are_read_by_digits),
        cmocka_unit_test(markup_becomes_plain_text),
        cmocka_unit_test(names_are_found_among_many),
        cmocka_unit_test(a_zip_reads_like_its_folder),
        cmocka_unit_test(a_damaged_zip_is_told),
        cmocka_unit_test(a_truncated_day_keeps_what_came_before),
        cmocka_unit_test(private_conversations_stay_out),
        cmocka_unit_test(one_thread_for_many_channels_is_refused),
        cmocka_unit_test(the_sinks_value_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, remove_work);
}

/* test_import_irc.c - IRC logs: the clock, zones, identities, encodings. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#include "import/irc.h"
#include "import/zone.h"

/* 2010-01-02T00:00:00Z */
#define DAY_MS UINT64_C(1262390400000)
#define MINUTE UINT64_C(60000)

static struct capture *
read_log(const char *text)
{
    struct sb_import_options o = {.thread = "town"};
    return capture_path("irc", write_text("2010-01-02.log", text), &o);
}

static void
midnight_is_passed_and_small_steps_are_raised(void **state)
{
    (void)state;
    struct capture *c = read_log("[23:58] <a> 1\n[23:57] <a> 2\n[00:01] <a> 3\n[12:02] <a> 4\n"
                                 "[00:02] <a> 5\n[00:01] <a> 6\n");
    assert_int_equal(c->n, 6);
    assert_int_equal(c->rows[0].at, DAY_MS + 1438 * MINUTE);
    assert_int_equal(c->rows[1].at, c->rows[0].at);
    assert_int_equal(c->rows[2].at, DAY_MS + 1441 * MINUTE);
    assert_int_equal(c->rows[3].at, DAY_MS + (1440 + 722) * MINUTE);
    /* Exactly 12 h back: not more, so it is raised; 12 h and a minute are the next day. */
    assert_int_equal(c->rows[4].at, c->rows[3].at);
    assert_int_equal(c->rows[5].at, DAY_MS + 2881 * MINUTE);
}

static void
lines_without_a_time_have_the_one_before(void **state)
{
    (void)state;
    struct capture *c = read_log("=== a [a@h] has joined #town\n[10:00] <a> hi\nloose\n");
    assert_int_equal(c->n, 3);
    assert_int_equal(c->rows[0].at, DAY_MS + 600 * MINUTE);
    assert_string_equal(c->rows[0].by, "a");
    assert_string_equal(c->rows[0].kind, "system");
    assert_int_equal(c->rows[2].at, DAY_MS + 600 * MINUTE);
    assert_string_equal(c->rows[2].by, "*");
    assert_string_equal(c->rows[2].kind, "other");
    assert_string_equal(c->rows[2].text, "loose");
}

static void
equal_lines_are_told_apart_and_a_grown_log_keeps_its_ids(void **state)
{
    char before[3][SB_IRC_ID + 1];
    (void)state;
    struct capture *c = read_log("[10:00] <a> lol\n[10:00] <a> lol\n[10:01] <a> lol\n");
    assert_int_equal(c->n, 3);
    for (size_t i = 0; i < 3; i++)
    {
        assert_int_equal(strlen(c->rows[i].id), SB_IRC_ID);
        memcpy(before[i], c->rows[i].id, sizeof(before[i]));
    }
    assert_string_not_equal(before[0], before[1]);
    assert_string_not_equal(before[0], before[2]);
    c = read_log("[10:00] <a> lol\n[10:00] <a> lol\n[10:01] <a> lol\n[10:01] <a> lol\n");
    assert_int_equal(c->n, 4);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(c->rows[i].id, before[i]);
    assert_string_not_equal(c->rows[3].id, before[2]);
}

static void
a_log_without_a_time_yet_keeps_its_ids(void **state)
{
    char before[SB_IRC_ID + 1];
    (void)state;
    struct capture *c = read_log("=== a has joined #town\n");
    assert_int_equal(c->rows[0].at, DAY_MS);
    memcpy(before, c->rows[0].id, sizeof(before));
    c = read_log("=== a has joined #town\n[10:00] <a> hi\n");
    assert_string_equal(c->rows[0].id, before);
    assert_int_equal(c->rows[0].at, DAY_MS + 600 * MINUTE);
}

static void
another_zone_gives_the_same_ids(void **state)
{
    struct sb_import_options o = {.thread = "town", .tz = "Asia/Tokyo"};
    char id[SB_IRC_ID + 1];
    (void)state;
    struct capture *c = read_log("[10:00] <a> lol\n");
    memcpy(id, c->rows[0].id, sizeof(id));
    (void)setenv("TZ", "America/Lima", 1);
    c = capture_path("irc", work_path("2010-01-02.log"), &o);
    assert_string_equal(getenv("TZ"), "America/Lima");
    (void)unsetenv("TZ");
    assert_string_equal(c->rows[0].id, id);
    assert_int_equal(c->rows[0].at, DAY_MS + 60 * MINUTE);
}

static void
zones_are_deterministic_in_gap_and_overlap(void **state)
{
    struct sb_zone z;
    int64_t day;
    int64_t first;
    int64_t second;
    (void)state;
    assert_int_equal(sb_zone_init(&z, "Europe/Berlin"), 0);
    assert_true(sb_zone_day(2021, 3, 28, &day));
    sb_zone_instants(&z, day * 86400 + 9000, &first, &second); /* 02:30, does not exist */
    assert_int_equal(first, day * 86400 + 5400);
    assert_int_equal(second, first);
    assert_true(sb_zone_day(2021, 10, 31, &day));
    sb_zone_instants(&z, day * 86400 + 9000, &first, &second); /* 02:30, twice */
    assert_int_equal(first, day * 86400 + 1800);
    assert_int_equal(second, day * 86400 + 5400);
    sb_zone_instants(&z, day * 86400 + 43200, &first, &second);
    assert_int_equal(first, day * 86400 + 39600);
    assert_int_equal(second, first);
    assert_int_equal(sb_zone_init(&z, "Europe/Nowhere"), SB_ERR_BAD_REQUEST);
    assert_int_equal(sb_zone_init(&z, "../../etc/passwd"), SB_ERR_BAD_REQUEST);
    assert_int_equal(sb_zone_init(&z, ""), SB_ERR_BAD_REQUEST);
    assert_false(sb_zone_day(2023, 2, 29, &day));
    assert_true(sb_zone_day(2024, 2, 29, &day));
    assert_int_equal(day, 19782);
}

static void
an_unknown_zone_is_told(void **state)
{
    struct sb_import_options o = {.tz = "Mars/Olympus"};
    (void)state;
    struct capture *c = capture_path("irc", fixture("irc/archive"), &o);
    assert_int_equal(c->rc, SB_ERR_IO);
    assert_non_null(strstr(c->why, "Mars/Olympus"));
}

static void
bytes_become_clean_text(void **state)
{
    static const char *const cases[][2] = {
        {"[10:00] <a> caf\xe9 \x80", "caf\xc3\xa9 \xe2\x82\xac"},
        {"[10:00] <a> caf\xc3\xa9", "caf\xc3\xa9"},
        {"[10:00] <a> \x03"
         "04,12red\x03 \x02"
         "b\x0f \x03"
         "123 \x04"
         "00ff00x",
         "red b 3 x"},
        {"[10:00] <a> \x1b$B$F$9$H\x1b(B!", "\xe3\x81\xa6\xe3\x81\x99\xe3\x81\xa8!"},
        {"[10:00] <a> tab\tstays", "tab\tstays"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        struct capture *c = read_log(cases[i][0]);
        assert_int_equal(c->n, 1);
        assert_string_equal(c->rows[0].text, cases[i][1]);
        assert_string_equal(c->rows[0].by, "a");
    }
    assert_int_equal(read_log("[10:00] <a> caf\xe9\n[10:00] <a> plain\n")->counts.repaired, 1);
}

static void
lines_are_taken_apart(void **state)
{
    static const struct
    {
        const char *line, *kind, *by, *text;
    } cases[] = {
        {"[10:00] <a> b", "", "a", "b"},
        {"[10:00:59] <@a>  b ", "", "a", " b "},
        {"[10:00] <a>", "", "a", ""},
        {"[10:00]  * a waves", "action", "a", "waves"},
        {"[10:00] * a", "action", "a", ""},
        {"[10:00] -a:#c- b - c", "notice", "a", "b - c"},
        {"[10:00] -a-b- c", "notice", "a-b", "c"},
        {"[10:00] *** Joins: a (b@c)", "system", "a", "Joins: a (b@c)"},
        {"=== a is now known as b", "system", "a", "a is now known as b"},
        {"=== mode/#c [+o a]  by b", "system", "*", "mode/#c [+o a]  by b"},
        {"[10:00] (a/#c) b", "other", "*", "(a/#c) b"},
        {"[24:00] <a> b", "other", "*", "[24:00] <a> b"},
        {"[10:00] <> b", "other", "*", "<> b"},
        {"[10:00] * ", "other", "*", "* "},
        {"[10:00] --", "other", "*", "--"},
        {"<a> b", "other", "*", "<a> b"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        struct sb_irc_line l;
        sb_irc_line_parse(sb_bytes_str(cases[i].line), &l);
        assert_true(sb_bytes_eq(l.kind, sb_bytes_str(cases[i].kind)));
        assert_true(sb_bytes_eq(l.by, sb_bytes_str(cases[i].by)));
        assert_true(sb_bytes_eq(l.text, sb_bytes_str(cases[i].text)));
    }
}

static void
threads_are_named_by_folders(void **state)
{
    (void)state;
    (void)write_text("net/#town/2010-01-02.log", "[10:00] <a> b\n");
    struct capture *c = capture_path("irc", work_path("net"), NULL);
    assert_string_equal(c->rows[0].thread, "#town");
    c = capture_path("irc", work_path("net/#town"), NULL);
    assert_string_equal(c->rows[0].thread, "#town");
    c = capture_path("irc", work_path("net/#town/2010-01-02.log"), NULL);
    assert_string_equal(c->rows[0].thread, "#town");
    c = capture_path("irc", fixture("irc/archive"), NULL);
    assert_string_equal(c->rows[0].thread, "archive");
    assert_int_equal(c->counts.skipped, 1);
    assert_non_null(strstr(c->skipped[0], "undated.raw.txt"));
    (void)write_text("empty/readme.md", "none");
    assert_int_equal(capture_path("irc", work_path("empty"), NULL)->rc, SB_ERR_IO);
}

static void
sha256_matches_the_standard(void **state)
{
    static const char *const abc =
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct sb_sha256 h;
    uint8_t digest[32];
    char hex[65];
    (void)state;
    sb_sha256_init(&h);
    sb_sha256_add(&h, SB_LIT("a"));
    sb_sha256_add(&h, SB_LIT("bc"));
    sb_sha256_end(&h, digest);
    for (size_t i = 0; i < 32; i++)
        (void)sprintf(hex + 2 * i, "%02x", digest[i]);
    assert_string_equal(hex, abc);
}

static void
the_sinks_value_ends_the_run(void **state)
{
    (void)state;
    struct capture *c = capture_stopping("irc", fixture("irc/archive"), 3, SB_ERR_IO);
    assert_int_equal(c->rc, SB_ERR_IO);
    assert_int_equal(c->total, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(midnight_is_passed_and_small_steps_are_raised),
        cmocka_unit_test(lines_without_a_time_have_the_one_before),
        cmocka_unit_test(equal_lines_are_told_apart_and_a_grown_log_keeps_its_ids),
        cmocka_unit_test(a_log_without_a_time_yet_keeps_its_ids),
        cmocka_unit_test(another_zone_gives_the_same_ids),
        cmocka_unit_test(zones_are_deterministic_in_gap_and_overlap),
        cmocka_unit_test(an_unknown_zone_is_told),
        cmocka_unit_test(bytes_become_clean_text),
        cmocka_unit_test(lines_are_taken_apart),
        cmocka_unit_test(threads_are_named_by_folders),
        cmocka_unit_test(sha256_matches_the_standard),
        cmocka_unit_test(the_sinks_value_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, remove_work);
}

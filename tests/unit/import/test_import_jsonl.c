/* test_import_jsonl.c - JSON Lines: bounds, repair, the sink's stop, meta, progress. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE(id, rest)                                                                             \
    "{\"thread\":\"t\",\"at\":5,\"by\":\"a\",\"text\":\"x\",\"id\":\"" id "\"" rest "}\n"

static void
formats_are_listed(void **state)
{
    (void)state;
    assert_string_equal(sb_import_format_at(0)->name, "jsonl");
    assert_null(sb_import_format_at(3));
    assert_null(sb_import_format_find("nothing"));
}

static void
a_line_over_the_cap_is_passed_over(void **state)
{
    (void)state;
    size_t long_line = (size_t)9 * 1024 * 1024;
    const char *before = LINE("1", "");
    const char *after = LINE("2", "");
    char *data = malloc(long_line + 512);
    assert_non_null(data);
    size_t n = (size_t)sprintf(data, "%s", before);
    memset(data + n, 'x', long_line);
    n += long_line;
    n += (size_t)sprintf(data + n, "\n%s", after);
    struct capture *c = capture_path("jsonl", write_file("long.jsonl", data, n), NULL);
    free(data);
    assert_int_equal(c->rc, 0);
    assert_int_equal(c->n, 2);
    assert_string_equal(c->rows[1].id, "2");
    assert_int_equal(c->counts.skipped, 1);
    assert_non_null(strstr(c->skipped[0], "long.jsonl:2: the line is longer than 8 MiB"));
    assert_int_equal(c->done, n);
    assert_int_equal(c->of, n);
}

static void
long_texts_end_in_a_mark(void **state)
{
    (void)state;
    struct sb_import_options o = {.text_max = 16};
    struct capture *c = capture_path(
        "jsonl",
        write_text("cut.jsonl", "{\"thread\":\"t\",\"at\":5,\"by\":\"a\",\"id\":\"1\",\"text\":"
                                "\"123456\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}\n"
                                "{\"thread\":\"t\",\"at\":5,\"by\":\"a\",\"id\":\"2\",\"text\":"
                                "\"0123456789abcdef\"}\n"),
        &o);
    assert_string_equal(c->rows[0].text, "123456 [\xe2\x80\xa6"
                                         "cut]");
    assert_string_equal(c->rows[1].text, "0123456789abcdef");
    assert_int_equal(c->counts.cut, 1);
}

static void
the_sinks_value_ends_the_run(void **state)
{
    static const int values[] = {SB_ERR_IO, SB_ERR_BAD_REQUEST, SB_ERR_NO_MEMORY, 17};
    (void)state;
    const char *path = write_text("stop.jsonl", LINE("1", "") LINE("2", "") LINE("3", ""));
    for (size_t i = 0; i < 4; i++)
    {
        struct capture *c = capture_stopping("jsonl", path, 2, values[i]);
        assert_int_equal(c->rc, values[i]);
        assert_int_equal(c->total, 2);
        assert_int_equal(c->counts.rows, 1);
        assert_int_equal(c->counts.skipped, 0);
    }
}

static void
a_missing_file_is_told(void **state)
{
    (void)state;
    struct capture *c = capture_path("jsonl", work_path("no-such-file"), NULL);
    assert_int_equal(c->rc, SB_ERR_IO);
    assert_non_null(strstr(c->why, "No such file"));
    c = capture_path("jsonl", work_path(""), NULL);
    assert_int_equal(c->rc, SB_ERR_IO);
    assert_non_null(strstr(c->why, "directory"));
}

static void
meta_is_packed(void **state)
{
    static const uint8_t want[] = {
        0x88, 0xa1, 'a',  0xe1, 0xa1, 'b',  0x92, 0xc3, 0xc0, 0xa1, 'c',  0xcb, 0x3f, 0xf8,
        0,    0,    0,    0,    0,    0,    0xa1, 'd',  0xcb, 0x43, 0x40, 0,    0,    0,
        0,    0,    0,    0xa1, 'e',  0xcd, 0x01, 0x2c, 0xa1, 'f',  0xd0, 0xdf, 0xa1, 'g',
        0xd1, 0x80, 0x00, 0xa1, 'h',  0xd3, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff};
    (void)state;
    struct capture *c = capture_path(
        "jsonl",
        write_text(
            "meta.jsonl",
            LINE("1", ",\"meta\":{\"a\":1,\"a\":-31,\"b\":[true,null],\"c\":1.5,"
                      "\"d\":9007199254740992,\"e\":300,\"f\":-33,\"g\":-32768,\"h\":-2147483649}")
                LINE("2", ",\"meta\":[1]") LINE("3", ",\"meta\":{}")
                    LINE("4", ",\"meta\":{\"a\":[[[[[[[[[[[[1]]]]]]]]]]]]}")
                        LINE("5", ",\"meta\":{\"a\":[[[[[[[[[[[1]]]]]]]]]]]}")),
        NULL);
    assert_int_equal(c->n, 5);
    assert_int_equal(c->rows[0].meta_len, sizeof(want));
    assert_memory_equal(c->rows[0].meta, want, sizeof(want));
    assert_int_equal(c->rows[1].meta_len, 0);
    assert_int_equal(c->rows[2].meta_len, 0);
    assert_int_equal(c->rows[3].meta_len, 0);
    assert_int_not_equal(c->rows[4].meta_len, 0);
    assert_int_equal(c->counts.repaired, 2);
}

static void
meta_past_its_limit_is_left_out(void **state)
{
    (void)state;
    char *line = malloc(200000);
    assert_non_null(line);
    size_t n = (size_t)sprintf(line, "{\"thread\":\"t\",\"at\":5,\"by\":\"a\",\"text\":\"x\","
                                     "\"id\":\"1\",\"meta\":{\"k\":\"");
    memset(line + n, 'm', 70000);
    n += 70000;
    n += (size_t)sprintf(line + n, "\"}}\n");
    struct capture *c = capture_path("jsonl", write_file("big-meta.jsonl", line, n), NULL);
    free(line);
    assert_int_equal(c->n, 1);
    assert_int_equal(c->rows[0].meta_len, 0);
    assert_int_equal(c->counts.repaired, 1);
}

static void
deep_and_wide_lines_do_no_harm(void **state)
{
    (void)state;
    size_t deep = 500000;
    char *data = malloc(8 * 1024 * 1024);
    assert_non_null(data);
    size_t n = 0;
    memset(data, '[', deep);
    n += deep;
    data[n++] = '\n';
    n += (size_t)sprintf(data + n, "{\"thread\":\"t\",\"at\":1,\"by\":\"a\",\"id\":\"1\",\"w\":[1");
    for (size_t i = 0; i < 2000000; i++)
    {
        data[n++] = ',';
        data[n++] = '1';
    }
    n += (size_t)sprintf(data + n, "]}\n%s", LINE("2", ""));
    struct capture *c = capture_path("jsonl", write_file("hostile.jsonl", data, n), NULL);
    free(data);
    assert_int_equal(c->n, 1);
    assert_string_equal(c->rows[0].id, "2");
    assert_int_equal(c->n_skipped, 2);
    assert_non_null(strstr(c->skipped[1], "too large or nested too deep"));
}

static void
ids_have_a_limit(void **state)
{
    (void)state;
    char line[1200];
    int n = sprintf(
        line, "{\"thread\":\"t\",\"at\":5,\"by\":\"a\",\"text\":\"x\",\"id\":\"%0513d\"}\n", 7);
    struct capture *c = capture_path("jsonl", write_file("id.jsonl", line, (size_t)n), NULL);
    assert_int_equal(c->n, 0);
    assert_int_equal(c->counts.skipped, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_listed),
        cmocka_unit_test(a_line_over_the_cap_is_passed_over),
        cmocka_unit_test(long_texts_end_in_a_mark),
        cmocka_unit_test(the_sinks_value_ends_the_run),
        cmocka_unit_test(a_missing_file_is_told),
        cmocka_unit_test(meta_is_packed),
        cmocka_unit_test(meta_past_its_limit_is_left_out),
        cmocka_unit_test(deep_and_wide_lines_do_no_harm),
        cmocka_unit_test(ids_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, remove_work);
}

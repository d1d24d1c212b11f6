/* test_import_bytes.c - UTF-8, arena, lines and JSON at every chunk border. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#include "import/json.h"
#include "import/pieces.h"
#include "import/lines.h"
#include "import/utf8.h"
#include "protocol/utf8.h"

static void
utf8_is_told_from_bytes(void **state)
{
    static const struct
    {
        const char *in;
        size_t prefix;
        const char *repaired;
    } cases[] = {
        {"", 0, ""},
        {"ascii and more", 14, "ascii and more"},
        {"\xc3\xa9", 2, "\xc3\xa9"},
        {"12345678\xf0\x9f\x99\x82", 12, "12345678\xf0\x9f\x99\x82"},
        {"a\x80", 1, "a\xef\xbf\xbd"},
        {"\xc0\xaf", 0, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82x", 0, "\xef\xbf\xbdx"},
        {"\xf0\x9f\x99", 0, "\xef\xbf\xbd"},
        {"\xed\xa0\x80", 0, "\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xff", 0, "\xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        struct sb_buf out;
        struct sb_bytes in = sb_bytes_str(cases[i].in);
        sb_buf_init(&out, 100);
        assert_int_equal(sb_utf8_prefix(in), cases[i].prefix);
        assert_int_equal(sb_import_utf8_repair(&out, in), 0);
        assert_true(sb_bytes_eq(sb_buf_view(&out), sb_bytes_str(cases[i].repaired)));
        sb_buf_finish(&out);
    }
}

/* By RFC 3629, section 3, from the lengths alone. */
static uint32_t
decoded(const uint8_t *p, size_t n)
{
    uint32_t c = n == 1 ? p[0] : p[0] & 0x7fU >> n;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3fU);
    return c;
}

static void
every_code_point_goes_there_and_back(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++)
    {
        uint8_t bytes[4];
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        size_t n = sb_import_utf8_encode(c, bytes);
        assert_true(sb_utf8_valid(sb_bytes(bytes, n)));
        assert_int_equal(sb_utf8_prefix(sb_bytes(bytes, n - 1)), 0);
        assert_int_equal(decoded(bytes, n), c);
    }
}

static void
cuts_fall_on_borders(void **state)
{
    struct sb_bytes s = SB_LIT("a\xc3\xa9\xf0\x9f\x99\x82");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
    (void)state;
    for (size_t max = 0; max < 9; max++)
        assert_int_equal(sb_import_utf8_cut(s, max), want[max]);
}

static void
an_arena_has_a_maximum(void **state)
{
    struct sb_arena a;
    (void)state;
    sb_arena_init(&a, 200000);
    assert_non_null(sb_arena_get(&a, 150000));
    assert_null(sb_arena_get(&a, 60000));
    assert_non_null(sb_arena_get(&a, 40000));
    sb_arena_reset(&a);
    assert_non_null(sb_arena_get(&a, 190000));
    assert_null(sb_arena_get(&a, SIZE_MAX));
    sb_arena_finish(&a);
}

static void
lines_of_any_ending(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "one\r\n\n0123456789\n01234567890\nlast\r";
    static const char *const want[] = {"one", "", "0123456789", NULL, "last"};
    struct sb_input in;
    struct sb_lines l;
    struct sb_bytes line;
    (void)state;
    assert_int_equal(sb_input_file(write_file("lines", text, sizeof(text) - 1), &in), 0);
    assert_int_equal(sb_lines_init(&l, &in, NULL, 10), 0);
    for (size_t i = 0; i < 5; i++)
    {
        int rc = sb_lines_next(&l, &line);
        assert_int_equal(rc, want[i] == NULL ? SB_LINE_TOO_LONG : SB_LINE_OK);
        if (want[i] != NULL)
            assert_true(sb_bytes_eq(line, sb_bytes_str(want[i])));
        assert_int_equal(l.number, i + 1);
    }
    assert_int_equal(sb_lines_next(&l, &line), SB_LINE_END);
    assert_int_equal(sb_lines_next(&l, &line), SB_LINE_END);
    sb_lines_finish(&l);
    sb_input_close(&in);
}

struct told
{
    char out[512];
    size_t n;
    int stop;
};

static int
on_value(void *ctx, const struct sb_json *v)
{
    struct told *t = ctx;
    const struct sb_json *a = sb_json_get(v, SB_LIT("a"));
    struct sb_bytes s = sb_json_id(a);
    t->n += (size_t)snprintf(t->out + t->n, sizeof(t->out) - t->n, "%s%.*s;", v == NULL ? "?" : "",
                             (int)s.len, s.len == 0 ? "" : (const char *)s.data);
    return t->stop;
}

/* The same values come out wherever the text is split. */
static void
json_at_every_border(void **state)
{
    static const char text[] =
        "[{\"a\":\"x\\u00e9\\ud83d\\ude42\"},{\"a\":-12.5e3,\"b\":[{},[1,null,true]]},"
        "7,{\"a\":\"\xc3\xa9\"},null,{\"a\":\"1\",\"a\":\"2\"},{\"a\":\"\xff\"}]";
    static const char want[] = "x\xc3\xa9\xf0\x9f\x99\x82;-12.5e3;;\xc3\xa9;;2;\xef\xbf\xbd;";
    (void)state;
    for (size_t split = 0; split < sizeof(text); split++)
    {
        struct told t = {0};
        struct sb_json_reader *r = sb_json_create(SB_JSON_ELEMENTS, 65536, on_value, &t);
        assert_non_null(r);
        assert_int_equal(sb_json_feed(r, sb_bytes(text, split)), 0);
        assert_int_equal(sb_json_feed(r, sb_bytes(text + split, sizeof(text) - 1 - split)), 0);
        assert_int_equal(sb_json_end(r), 0);
        assert_string_equal(t.out, want);
        sb_json_destroy(r);
    }
}

static int
feed_all(struct told *t, enum sb_json_shape shape, size_t max, const char *text)
{
    struct sb_json_reader *r = sb_json_create(shape, max, on_value, t);
    assert_non_null(r);
    int rc = sb_json_feed(r, sb_bytes_str(text));
    if (rc == 0)
        rc = sb_json_end(r);
    sb_json_destroy(r);
    return rc;
}

static void
json_of_another_shape_is_refused(void **state)
{
    struct told t = {0};
    (void)state;
    assert_int_equal(feed_all(&t, SB_JSON_ELEMENTS, 65536, "{\"a\":[1]}"), SB_ERR_BAD_REQUEST);
    assert_int_equal(feed_all(&t, SB_JSON_ELEMENTS, 65536, "\"a\""), SB_ERR_BAD_REQUEST);
    assert_int_equal(feed_all(&t, SB_JSON_ELEMENTS, 65536, "[] []"), SB_ERR_BAD_REQUEST);
    assert_int_equal(feed_all(&t, SB_JSON_ELEMENTS, 65536, "[{\"a\":1}"), SB_ERR_BAD_REQUEST);
    assert_string_equal(t.out, "1;");
    t = (struct told){.stop = 9};
    assert_int_equal(feed_all(&t, SB_JSON_ELEMENTS, 65536, "[{\"a\":1},{\"a\":2}]"), 9);
    assert_string_equal(t.out, "1;");
}

static void
json_too_large_is_passed_over(void **state)
{
    struct told t = {0};
    char text[9000] = "[{\"a\":1},{\"a\":\"";
    (void)state;
    memset(text + strlen(text), 'x', 5000);
    strcat(text, "\",\"b\":{\"c\":[1,2]}},{\"a\":2},");
    for (int i = 0; i < 100; i++)
        strcat(text, "[");
    for (int i = 0; i < 100; i++)
        strcat(text, "]");
    strcat(text, ",{\"a\":3}]");
    assert_int_equal(feed_all(&t, SB_JSON_ELEMENTS, 4096, text), 0);
    assert_string_equal(t.out, "1;?;2;?;3;");
}

struct parts
{
    char text[4096];
    size_t n, taken, too_long;
};

static int
take_part(void *ctx, struct sb_bytes part, bool too_long)
{
    struct parts *p = ctx;
    assert_true(p->n + part.len < sizeof(p->text));
    memcpy(p->text + p->n, part.data, part.len);
    p->n += part.len;
    p->text[p->n] = '\0';
    p->taken++;
    p->too_long += too_long;
    return 0;
}

/* A lexer that reads an unfinished string again with each piece gets it once, whole. */
static void
strings_are_passed_on_whole(void **state)
{
    static const char text[] = "[1,\"a\\\\\",{\"k\\\"\":\"\"},\"\\u00e9 [\",-2.5e+3]";
    struct sb_pieces p;
    (void)state;
    sb_pieces_init(&p, 64);
    for (size_t step = 1; step <= sizeof(text); step++)
    {
        struct parts got = {.n = 0};
        sb_pieces_restart(&p);
        for (size_t at = 0; at < strlen(text); at += step)
        {
            size_t len = strlen(text) - at < step ? strlen(text) - at : step;
            assert_int_equal(sb_pieces_feed(&p, sb_bytes(text + at, len), take_part, &got), 0);
        }
        assert_false(p.in_string);
        assert_string_equal(got.text, text);
        assert_int_equal(got.too_long, 0);
    }
    struct parts got = {.n = 0};
    sb_pieces_restart(&p);
    for (const char *c = "[\"0123456789\"]"; *c != '\0'; c++)
        assert_int_equal(sb_pieces_feed(&p, sb_bytes(c, 1), take_part, &got), 0);
    assert_int_equal(got.taken, 3);
    sb_pieces_finish(&p);
}

/* A string without an end, as a small archive can hold it: neither kept nor passed on. */
static void
long_tokens_are_bounded(void **state)
{
    static char block[65536];
    struct told t = {0};
    struct parts got = {.n = 0};
    struct sb_pieces p;
    (void)state;
    memset(block, 'x', sizeof(block));
    sb_pieces_init(&p, 1024);
    assert_int_equal(sb_pieces_feed(&p, SB_LIT("[\"\\\""), take_part, &got), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(sb_pieces_feed(&p, sb_bytes(block, sizeof(block)), take_part, &got), 0);
    assert_true(p.held.cap <= 1024);
    assert_int_equal(sb_pieces_feed(&p, SB_LIT("\",\"y\"]"), take_part, &got), 0);
    assert_string_equal(got.text, "[\"\",\"y\"]");
    assert_int_equal(got.too_long, 1);
    memset(block, '7', sizeof(block));
    sb_pieces_restart(&p);
    assert_int_equal(sb_pieces_feed(&p, sb_bytes(block, 4000), take_part, &(struct parts){.n = 0}),
                     0);
    assert_int_equal(sb_pieces_feed(&p, sb_bytes(block, sizeof(block)), take_part, &got),
                     SB_ERR_BAD_REQUEST);
    sb_pieces_finish(&p);

    /* The value that it is in is passed over, as a value or as a key; the stream goes on. */
    struct sb_json_reader *r = sb_json_create(SB_JSON_ELEMENTS, 65536, on_value, &t);
    assert_int_equal(sb_json_feed(r, SB_LIT("[{\"a\":1},{\"b\":[{\"")), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sb_json_feed(r, sb_bytes(block, sizeof(block))), 0);
    assert_int_equal(sb_json_feed(r, SB_LIT("\":0}]},{\"a\":2},\"")), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sb_json_feed(r, sb_bytes(block, sizeof(block))), 0);
    assert_int_equal(sb_json_feed(r, SB_LIT("\",{\"a\":3}]")), 0);
    assert_int_equal(sb_json_end(r), 0);
    assert_string_equal(t.out, "1;?;2;?;3;");
    assert_int_equal(sb_json_restart(r), 0);
    assert_int_equal(sb_json_feed(r, SB_LIT("[\"open]")), 0);
    assert_int_equal(sb_json_end(r), SB_ERR_BAD_REQUEST);
    sb_json_destroy(r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_told_from_bytes),
        cmocka_unit_test(every_code_point_goes_there_and_back),
        cmocka_unit_test(cuts_fall_on_borders),
        cmocka_unit_test(an_arena_has_a_maximum),
        cmocka_unit_test(lines_of_any_ending),
        cmocka_unit_test(json_at_every_border),
        cmocka_unit_test(json_of_another_shape_is_refused),
        cmocka_unit_test(json_too_large_is_passed_over),
        cmocka_unit_test(strings_are_passed_on_whole),
        cmocka_unit_test(long_tokens_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, remove_work);
}

/*
 * test_encode.c - the writer: bounds at every capacity, shortest integers, size bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_kit.h"
#include "reply_vectors.h"

static uint8_t whole[SB_MAX_FRAME];

/* Every capacity from 0 to one short of the frame fails cleanly; the exact one succeeds. */
static void
test_every_capacity(void **state)
{
    (void)state;
    for (size_t i = 0; i < reply_vector_count(); i++)
    {
        struct sb_writer w;
        sb_writer_init(&w, whole, sizeof(whole));
        assert_true(reply_vector_write(&w, reply_vector_name(i)));
        assert_false(w.failed);
        size_t len = w.len;
        for (size_t cap = 0; cap <= len; cap++)
        {
            /* Exactly `cap` bytes, so that the address sanitizer sees a byte too many. */
            uint8_t *buf = malloc(cap == 0 ? 1 : cap);
            assert_non_null(buf);
            sb_writer_init(&w, buf, cap);
            (void)reply_vector_write(&w, reply_vector_name(i));
            assert_int_equal(w.failed, cap < len);
            assert_true(w.len <= cap);
            assert_memory_equal(buf, whole, w.len); /* what was written is a prefix */
            free(buf);
        }
    }
}

static void
test_sticky(void **state)
{
    (void)state;
    uint8_t buf[4];
    struct sb_writer w;
    sb_writer_init(&w, buf, sizeof(buf));
    sb_write_str(&w, SB_LIT("too long"));
    assert_true(w.failed);
    size_t len = w.len;
    sb_write_nil(&w);
    sb_write_uint(&w, 1);
    sb_write_raw(&w, SB_LIT("x"));
    sb_write_str(&w, SB_LIT(""));
    sb_write_bin(&w, SB_LIT(""));
    assert_true(w.failed);
    assert_int_equal(w.len, len);
    sb_writer_init(&w, NULL, 0);
    sb_write_raw(&w, sb_bytes(NULL, 0));
    assert_false(w.failed);
    sb_write_str(&w, sb_bytes(whole, (size_t)UINT32_MAX + 6)); /* refused before it is read */
    assert_true(w.failed);
}

static void
expect_hex(const struct sb_writer *w, const char *want)
{
    assert_false(w->failed);
    char *hex = kit_hex(sb_bytes(w->buf, w->len));
    assert_string_equal(hex, want);
    free(hex);
}

static void
test_primitives(void **state)
{
    (void)state;
    struct sb_writer w;
    sb_writer_init(&w, whole, sizeof(whole));
    sb_write_map(&w, 15);
    sb_write_map(&w, 16);
    sb_write_map(&w, 65536);
    sb_write_array(&w, 15);
    sb_write_array(&w, 16);
    sb_write_array(&w, 65536);
    sb_write_nil(&w);
    sb_write_bool(&w, true);
    sb_write_bool(&w, false);
    sb_write_str(&w, SB_LIT("a"));
    sb_write_str(&w, sb_bytes(NULL, 0));
    sb_write_bin(&w, SB_LIT("\xff"));
    sb_write_bin(&w, sb_bytes(NULL, 0));
    sb_write_raw(&w, SB_LIT("\x92\xc0\xc0"));
    expect_hex(&w, "8f"
                   "de0010"
                   "df00010000"
                   "9f"
                   "dc0010"
                   "dd00010000"
                   "c0c3c2a161a0c401ffc40092c0c0");
}

static void
test_lengths(void **state)
{
    (void)state;
    static const struct
    {
        size_t len;
        uint8_t str_head, bin_head;
        size_t str_more, bin_more;
    } rows[] = {{31, 0xbf, 0xc4, 0, 1},    {32, 0xd9, 0xc4, 1, 1},    {255, 0xd9, 0xc4, 1, 1},
                {256, 0xda, 0xc5, 2, 2},   {65535, 0xda, 0xc5, 2, 2}, {65536, 0xdb, 0xc6, 4, 4},
                {100000, 0xdb, 0xc6, 4, 4}};
    static uint8_t out[200000], body[100000];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    {
        struct sb_writer w;
        sb_writer_init(&w, out, sizeof(out));
        sb_write_str(&w, sb_bytes(body, rows[i].len));
        assert_int_equal(out[0], rows[i].str_head);
        assert_int_equal(w.len, 1 + rows[i].str_more + rows[i].len);
        sb_writer_init(&w, out, sizeof(out));
        sb_write_bin(&w, sb_bytes(body, rows[i].len));
        assert_int_equal(out[0], rows[i].bin_head);
        assert_int_equal(w.len, 1 + rows[i].bin_more + rows[i].len);
    }
}

static void
test_shortest_integers(void **state)
{
    (void)state;
    static const struct
    {
        uint64_t v;
        const char *hex;
    } rows[] = {{0, "00"},
                {127, "7f"},
                {128, "cc80"},
                {255, "ccff"},
                {256, "cd0100"},
                {65535, "cdffff"},
                {65536, "ce00010000"},
                {UINT32_MAX, "ceffffffff"},
                {(uint64_t)UINT32_MAX + 1, "cf0000000100000000"},
                {UINT64_MAX, "cfffffffffffffffff"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    {
        struct sb_writer w;
        sb_writer_init(&w, whole, sizeof(whole));
        sb_write_uint(&w, rows[i].v);
        expect_hex(&w, rows[i].hex);
    }
}

/* The bound holds for the largest message that a post can make, and for a bare one. */
static void
test_message_size(void **state)
{
    (void)state;
    static uint8_t out[1024 * 1024], body[SB_MAX_TEXT];
    static uint8_t meta[SB_MAX_META];
    struct sb_bytes mentions[SB_MAX_MENTIONS];
    struct sb_attachment attachments[SB_MAX_ATTACHMENTS];
    const struct sb_opt_uint most = {true, UINT64_MAX};
    memset(body, 'x', sizeof(body));
    for (size_t i = 0; i < SB_MAX_MENTIONS; i++)
        mentions[i] = sb_bytes(body, SB_MAX_NAME);
    for (size_t i = 0; i < SB_MAX_ATTACHMENTS; i++)
        attachments[i] = (struct sb_attachment){.name = sb_bytes(body, SB_MAX_ATTACHMENT_STR),
                                                .type = sb_bytes(body, SB_MAX_ATTACHMENT_STR),
                                                .url = sb_bytes(body, SB_MAX_ATTACHMENT_STR),
                                                .size = UINT64_MAX,
                                                .width = most,
                                                .height = most};
    struct sb_message m = {.seq = UINT64_MAX,
                           .at = UINT64_MAX,
                           .version = UINT64_MAX,
                           .by = sb_bytes(body, SB_MAX_NAME),
                           .text = sb_bytes(body, SB_MAX_TEXT),
                           .kind = sb_bytes(body, SB_MAX_KIND),
                           .edited_at = most,
                           .reply_to = most,
                           .n_mentions = SB_MAX_MENTIONS,
                           .mentions = mentions,
                           .n_attachments = SB_MAX_ATTACHMENTS,
                           .attachments = attachments,
                           .source_system = sb_bytes(body, 64),
                           .source_id = sb_bytes(body, 1024),
                           .meta = sb_bytes(meta, sizeof(meta))};
    for (int round = 0; round < 3; round++)
    {
        struct sb_writer w;
        sb_writer_init(&w, out, sizeof(out));
        sb_write_message(&w, &m);
        assert_false(w.failed);
        assert_true(w.len <= sb_message_size(&m));
        assert_true(sb_message_size(&m) <= w.len + 2048);
        if (round == 0)
            m.deleted = true;
        else
            m = (struct sb_message){0};
    }
}

/* Head and tail of a page, at their longest, within SB_PAGE_OVERHEAD. */
static void
test_page_overhead(void **state)
{
    (void)state;
    uint8_t cursor[SB_MAX_CURSOR] = {0};
    const struct sb_opt_bytes longest = {true, sb_bytes(cursor, sizeof(cursor))};
    const struct sb_page_tail tail = {longest, longest, true, UINT64_MAX, UINT64_MAX};
    struct sb_writer w;
    sb_writer_init(&w, whole, sizeof(whole));
    sb_write_page_head(&w, SB_OP_LOAD_AROUND, UINT64_MAX, SB_MAX_PAGE);
    sb_write_page_tail(&w, SB_OP_LOAD_AROUND, &tail);
    assert_false(w.failed);
    assert_true(w.len <= SB_PAGE_OVERHEAD);
}

static void
test_words(void **state)
{
    (void)state;
    assert_string_equal(sb_op_name(SB_OP_LOAD_AROUND), "load_around");
    assert_string_equal(sb_op_name(SB_OP_UNKNOWN), "unknown");
    assert_string_equal(sb_op_name((enum sb_op)1000), "unknown");
    assert_false(sb_op_built(SB_OP_UNKNOWN));
    assert_true(sb_op_built(SB_OP_POST));
    assert_string_equal(sb_code_name(SB_CODE_INVALID_CURSOR), "invalid_cursor");
    assert_string_equal(sb_code_name((enum sb_code)1000), "internal");
    assert_string_equal(sb_role_name(SB_ROLE_WRITER), "writer");
    assert_null(sb_role_name(SB_ROLE_NONE));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_capacity),    cmocka_unit_test(test_sticky),
        cmocka_unit_test(test_primitives),        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_shortest_integers), cmocka_unit_test(test_message_size),
        cmocka_unit_test(test_page_overhead),     cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_prescan.c - every way in which a frame is not the contract's form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_kit.h"
#include "protocol/prescan.h"

static struct sb_prescan scan;

static enum sb_prescan_result
run(struct sb_bytes frame)
{
    /* An exact copy, so that the address sanitizer sees a byte read past the end. */
    uint8_t *copy = malloc(frame.len == 0 ? 1 : frame.len);
    assert_non_null(copy);
    memcpy(copy, frame.data, frame.len);
    enum sb_prescan_result r = sb_prescan(&scan, sb_bytes(copy, frame.len));
    free(copy);
    return r;
}

static const char *
result_name(enum sb_prescan_result r)
{
    static const char *const names[] = {
#define X(id, text) #id,
        SB_PRESCANS(X)
#undef X
    };
    return names[r];
}

static void
expect_at(const char *what, struct sb_bytes frame, enum sb_prescan_result want)
{
    enum sb_prescan_result got = run(frame);
    if (got != want)
        fail_msg("%s: %s, expected %s", what, result_name(got), result_name(want));
}

struct case_row
{
    const char *what, *hex;
    enum sb_prescan_result want;
};

static const struct case_row cases[] = {
    {"empty", "", SB_PRESCAN_TRUNCATED},
    {"empty map", "80", SB_PRESCAN_OK},
    {"reserved byte as the frame", "c1", SB_PRESCAN_NOT_MAP},
    {"reserved byte as a value", "81 a1 61 c1", SB_PRESCAN_RESERVED},
    {"reserved byte as a key", "81 c1 01", SB_PRESCAN_RESERVED},
    {"array", "93 01 02 03", SB_PRESCAN_NOT_MAP},
    {"truncated array", "93 01", SB_PRESCAN_NOT_MAP},
    {"nil", "c0", SB_PRESCAN_NOT_MAP},
    {"integer", "01", SB_PRESCAN_NOT_MAP},
    {"string", "a1 61", SB_PRESCAN_NOT_MAP},
    {"bin", "c4 01 61", SB_PRESCAN_NOT_MAP},
    {"ext as the frame", "d4 01 00", SB_PRESCAN_NOT_MAP},
    {"a map head without its pairs", "81", SB_PRESCAN_TRUNCATED},
    {"key without value", "81 a1 61", SB_PRESCAN_TRUNCATED},
    {"second pair missing", "82 a1 61 01", SB_PRESCAN_TRUNCATED},
    {"string longer than the frame", "81 a1 61 a5 61 62", SB_PRESCAN_TRUNCATED},
    {"array 32 of 4 billion", "81 a1 61 dd ff ff ff ff", SB_PRESCAN_TRUNCATED},
    {"map 32 of 4 billion", "81 a1 61 df ff ff ff ff", SB_PRESCAN_TRUNCATED},
    {"map 32 of 2 billion pairs", "81 a1 61 df 80 00 00 00", SB_PRESCAN_TRUNCATED},
    {"the frame is a map of 4 billion", "df ff ff ff ff", SB_PRESCAN_TRUNCATED},
    {"string 32 of 4 billion", "81 a1 61 db ff ff ff ff", SB_PRESCAN_TRUNCATED},
    {"bin 32 of 4 billion", "81 a1 61 c6 ff ff ff ff", SB_PRESCAN_TRUNCATED},
    {"bare array 32", "dd ff ff ff ff", SB_PRESCAN_NOT_MAP},
    {"half a length", "81 a1 61 da 00", SB_PRESCAN_TRUNCATED},
    {"half an array count", "81 a1 61 dd 00 00 00", SB_PRESCAN_TRUNCATED},
    {"half a uint 64", "81 a1 61 cf 00 00 00 00 00 00 00", SB_PRESCAN_TRUNCATED},
    {"half a float", "81 a1 61 cb 00 00 00 00", SB_PRESCAN_TRUNCATED},
    {"trailing byte", "80 00", SB_PRESCAN_TRAILING},
    {"two maps", "81 a1 61 01 80", SB_PRESCAN_TRAILING},
    {"trailing reserved byte", "80 c1", SB_PRESCAN_TRAILING},
    {"duplicate key", "82 a1 74 01 a1 74 02", SB_PRESCAN_DUPLICATE_KEY},
    {"duplicate key in two encodings", "82 a1 74 01 d9 01 74 02", SB_PRESCAN_DUPLICATE_KEY},
    {"duplicate empty key", "82 a0 01 a0 02", SB_PRESCAN_DUPLICATE_KEY},
    {"duplicate key in an inner map", "81 a1 61 82 a1 74 01 a1 74 02", SB_PRESCAN_DUPLICATE_KEY},
    {"duplicate key after an inner map", "82 a1 74 81 a1 61 01 a1 74 02", SB_PRESCAN_DUPLICATE_KEY},
    {"same key in two maps", "82 a1 61 81 a1 74 01 a1 74 81 a1 74 02", SB_PRESCAN_OK},
    {"keys that differ in case", "82 a1 74 01 a1 54 02", SB_PRESCAN_OK},
    {"key that is a prefix", "82 a1 74 01 a2 74 74 02", SB_PRESCAN_OK},
    {"bad continuation", "81 a1 61 a2 c3 28", SB_PRESCAN_UTF8},
    {"surrogate", "81 a1 61 a3 ed a0 80", SB_PRESCAN_UTF8},
    {"last surrogate", "81 a1 61 a3 ed bf bf", SB_PRESCAN_UTF8},
    {"past U+10FFFF", "81 a1 61 a4 f4 90 80 80", SB_PRESCAN_UTF8},
    {"lead byte f5", "81 a1 61 a4 f5 80 80 80", SB_PRESCAN_UTF8},
    {"overlong of two", "81 a1 61 a2 c0 80", SB_PRESCAN_UTF8},
    {"overlong of two, c1", "81 a1 61 a2 c1 bf", SB_PRESCAN_UTF8},
    {"overlong of three", "81 a1 61 a3 e0 9f bf", SB_PRESCAN_UTF8},
    {"overlong of four", "81 a1 61 a4 f0 8f bf bf", SB_PRESCAN_UTF8},
    {"lone continuation", "81 a1 61 a1 80", SB_PRESCAN_UTF8},
    {"cut in the middle", "81 a1 61 a2 e2 82", SB_PRESCAN_UTF8},
    {"cut before its last byte", "81 a1 61 a3 f0 9f 98", SB_PRESCAN_UTF8},
    {"bytes of the next value are not its continuation", "82 a1 61 a1 e2 a1 62 01",
     SB_PRESCAN_UTF8},
    {"bad after eight ASCII bytes", "81 a1 61 a9 61 61 61 61 61 61 61 61 ff", SB_PRESCAN_UTF8},
    {"invalid UTF-8 in a key", "81 a2 c3 28 01", SB_PRESCAN_UTF8},
    {"smallest and largest of each length",
     "81 a1 61 b4 c2 80 df bf e0 a0 80 ed 9f bf ee 80 80 ef bf bf f4 8f bf bf", SB_PRESCAN_OK},
    {"smallest of four bytes", "81 a1 61 a4 f0 90 80 80", SB_PRESCAN_OK},
    {"NUL in a string", "81 a1 61 a1 00", SB_PRESCAN_OK},
    {"invalid UTF-8 in a bin", "81 a1 61 c4 02 c3 28", SB_PRESCAN_OK},
    {"integer key", "81 01 01", SB_PRESCAN_KEY_TYPE},
    {"nil key", "81 c0 01", SB_PRESCAN_KEY_TYPE},
    {"map key", "81 80 01", SB_PRESCAN_KEY_TYPE},
    {"bin key", "81 c4 01 61 01", SB_PRESCAN_KEY_TYPE},
    {"float key", "81 ca 00 00 00 00 01", SB_PRESCAN_KEY_TYPE},
    {"integer key in an inner map", "81 a1 61 81 01 01", SB_PRESCAN_KEY_TYPE},
    {"second key an integer", "82 a1 61 01 02 01", SB_PRESCAN_KEY_TYPE},
    {"ext key", "81 d4 01 00 01", SB_PRESCAN_KEY_TYPE},
    {"fixext 1", "81 a1 61 d4 01 00", SB_PRESCAN_EXT},
    {"timestamp 32", "81 a1 61 d6 ff 00 00 00 00", SB_PRESCAN_EXT},
    {"timestamp 64", "81 a1 61 d7 ff 00 00 00 00 00 00 00 00", SB_PRESCAN_EXT},
    {"ext 8 of nothing", "81 a1 61 c7 00 01", SB_PRESCAN_EXT},
    {"ext 32 of 4 billion", "81 a1 61 c9 ff ff ff ff 01", SB_PRESCAN_EXT},
    {"NaN 64", "81 a1 61 cb 7f f8 00 00 00 00 00 00", SB_PRESCAN_NOT_FINITE},
    {"NaN 32", "81 a1 61 ca 7f c0 00 00", SB_PRESCAN_NOT_FINITE},
    {"signalling NaN", "81 a1 61 cb 7f f0 00 00 00 00 00 01", SB_PRESCAN_NOT_FINITE},
    {"infinity", "81 a1 61 cb 7f f0 00 00 00 00 00 00", SB_PRESCAN_NOT_FINITE},
    {"minus infinity 32", "81 a1 61 ca ff 80 00 00", SB_PRESCAN_NOT_FINITE},
    {"largest float", "81 a1 61 cb 7f ef ff ff ff ff ff ff", SB_PRESCAN_OK},
    {"float 50.0", "81 a1 61 cb 40 49 00 00 00 00 00 00", SB_PRESCAN_OK},
    {"every integer head",
     "8a a1 61 7f a1 62 e0 a1 63 cc 01 a1 64 cd 00 01 a1 65 ce 00 00 00 01"
     " a1 66 cf 00 00 00 00 00 00 00 01 a1 67 d0 ff a1 68 d1 ff ff a1 69 d2 ff ff ff ff"
     " a1 6a d3 ff ff ff ff ff ff ff ff",
     SB_PRESCAN_OK},
    {"every string and bin head",
     "87 a1 61 a0 a1 62 d9 00 a1 63 da 00 00 a1 64 db 00 00 00 00"
     " a1 65 c4 00 a1 66 c5 00 00 a1 67 c6 00 00 00 00",
     SB_PRESCAN_OK},
    {"every container head",
     "86 a1 61 90 a1 62 dc 00 00 a1 63 dd 00 00 00 00 a1 64 80 a1 65 de 00 00"
     " a1 66 df 00 00 00 00",
     SB_PRESCAN_OK},
    {"the frame as map 16", "de 00 01 a1 61 c3", SB_PRESCAN_OK},
    {"the frame as map 32", "df 00 00 00 01 a1 61 c2", SB_PRESCAN_OK},
};

static void
test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        struct sb_bytes frame = kit_unhex(cases[i].hex);
        expect_at(cases[i].what, frame, cases[i].want);
        kit_free(frame);
    }
}

/* Frames that are built, with a writer over a large buffer. */
struct built
{
    struct sb_writer w;
    uint8_t *buf;
};

static struct built
begin(void)
{
    struct built b;
    b.buf = malloc(KIT_CAP);
    assert_non_null(b.buf);
    sb_writer_init(&b.w, b.buf, KIT_CAP);
    return b;
}

static void
end(struct built *b, const char *what, enum sb_prescan_result want)
{
    assert_false(b->w.failed);
    expect_at(what, sb_bytes(b->buf, b->w.len), want);
    free(b->buf);
}

/* The outer map is depth 1; `arrays` more are opened inside. */
static void
nest(const char *what, int arrays, bool maps, enum sb_prescan_result want)
{
    struct built b = begin();
    sb_write_map(&b.w, 1);
    sb_write_str(&b.w, SB_LIT("a"));
    for (int i = 0; i < arrays; i++)
    {
        if (maps)
        {
            sb_write_map(&b.w, 1);
            sb_write_str(&b.w, SB_LIT("a"));
        }
        else
            sb_write_array(&b.w, 1);
    }
    sb_write_nil(&b.w);
    end(&b, what, want);
}

static void
test_depth(void **state)
{
    (void)state;
    nest("16 deep", SB_MAX_DEPTH - 1, false, SB_PRESCAN_OK);
    nest("17 deep", SB_MAX_DEPTH, false, SB_PRESCAN_DEPTH);
    nest("16 maps deep", SB_MAX_DEPTH - 1, true, SB_PRESCAN_OK);
    nest("17 maps deep", SB_MAX_DEPTH, true, SB_PRESCAN_DEPTH);
    nest("4000 deep", 4000, false, SB_PRESCAN_DEPTH);

    struct built b = begin(); /* an empty container counts as a level, a sibling does not */
    sb_write_map(&b.w, 1);
    sb_write_str(&b.w, SB_LIT("a"));
    sb_write_array(&b.w, 40);
    for (int i = 0; i < 40; i++)
        sb_write_map(&b.w, 0);
    end(&b, "40 siblings", SB_PRESCAN_OK);
}

static void
test_declared_counts_inside(void **state)
{
    (void)state;
    struct built b = begin();
    sb_write_map(&b.w, 1);
    sb_write_str(&b.w, SB_LIT("a"));
    for (int i = 0; i < 31; i++)
        sb_write_raw(&b.w, SB_LIT("\xdd\x08\x00\x00\x00"));
    end(&b, "31 arrays of 134 million", SB_PRESCAN_TRUNCATED);
}

static void
elements(const char *what, uint32_t nils, enum sb_prescan_result want)
{
    struct built b = begin();
    sb_write_map(&b.w, 1);
    sb_write_str(&b.w, SB_LIT("a"));
    sb_write_array(&b.w, nils);
    for (uint32_t i = 0; i < nils; i++)
        sb_write_nil(&b.w);
    end(&b, what, want);
}

static void
test_elements(void **state)
{
    (void)state;
    /* The map, its key and the array are three. */
    elements("65536 values", SB_MAX_ELEMENTS - 3, SB_PRESCAN_OK);
    elements("65537 values", SB_MAX_ELEMENTS - 2, SB_PRESCAN_ELEMENTS);
    elements("a million values", 1000000, SB_PRESCAN_ELEMENTS);

    struct built b = begin(); /* spread over many arrays */
    sb_write_map(&b.w, 1);
    sb_write_str(&b.w, SB_LIT("a"));
    sb_write_array(&b.w, 60000);
    for (int i = 0; i < 60000; i++)
        sb_write_raw(&b.w, SB_LIT("\x91\xc0"));
    end(&b, "60000 arrays of one", SB_PRESCAN_ELEMENTS);
}

/* A map of n keys, the last one like key `same` when that is below n. */
static void
many_keys(const char *what, uint32_t n, uint32_t same, enum sb_prescan_result want)
{
    struct built b = begin();
    sb_write_map(&b.w, n);
    for (uint32_t i = 0; i < n; i++)
    {
        char key[16];
        int len = snprintf(key, sizeof(key), "k%u", i + 1 == n && same < n ? same : i);
        sb_write_str(&b.w, sb_bytes(key, (size_t)len));
        sb_write_nil(&b.w);
    }
    end(&b, what, want);
}

static void
test_map_keys(void **state)
{
    (void)state;
    many_keys("1024 keys", SB_MAX_MAP_KEYS, UINT32_MAX, SB_PRESCAN_OK);
    many_keys("1025 keys", SB_MAX_MAP_KEYS + 1, UINT32_MAX, SB_PRESCAN_MAP_KEYS);
    for (uint32_t n = 2; n <= 80; n++)
    {
        many_keys("distinct keys", n, UINT32_MAX, SB_PRESCAN_OK);
        many_keys("last key like the first", n, 0, SB_PRESCAN_DUPLICATE_KEY);
        many_keys("last key like the one before", n, n - 2, SB_PRESCAN_DUPLICATE_KEY);
    }
    for (uint32_t same = 0; same + 1 < SB_MAX_MAP_KEYS; same += 31)
        many_keys("one of 1024 twice", SB_MAX_MAP_KEYS, same, SB_PRESCAN_DUPLICATE_KEY);
}

static void
long_key(const char *what, size_t len, enum sb_prescan_result want)
{
    struct built b = begin();
    char *key = malloc(len);
    assert_non_null(key);
    memset(key, 'k', len);
    sb_write_map(&b.w, 1);
    sb_write_str(&b.w, sb_bytes(key, len));
    sb_write_nil(&b.w);
    free(key);
    end(&b, what, want);
}

static void
test_key_length(void **state)
{
    (void)state;
    long_key("key of 1024 bytes", SB_MAX_KEY, SB_PRESCAN_OK);
    long_key("key of 1025 bytes", SB_MAX_KEY + 1, SB_PRESCAN_KEY_LONG);
    long_key("key of 10 KiB", 10240, SB_PRESCAN_KEY_LONG);
}

/* Every prefix of a valid frame is truncated, and every frame with a byte more trails. */
static void
test_prefixes(void **state)
{
    (void)state;
    struct sb_bytes frame =
        kit_pack("{'op':'load_older','id':300,'thread':'t','filter':{'by':['a','b'],'from':70000},"
                 "'cursor':{'$bin':'0102'},'limit':-1,'x':[1.5,null,true,{'y':{}}]}");
    assert_int_equal(run(frame), SB_PRESCAN_OK);
    for (size_t n = 0; n < frame.len; n++)
        expect_at("prefix", sb_bytes(frame.data, n), SB_PRESCAN_TRUNCATED);
    kit_free(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_depth),
        cmocka_unit_test(test_elements), cmocka_unit_test(test_declared_counts_inside),
        cmocka_unit_test(test_map_keys), cmocka_unit_test(test_key_length),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

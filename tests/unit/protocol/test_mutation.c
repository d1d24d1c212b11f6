/*
 * test_mutation.c - valid frames, damaged at random: never a crash, never a wrong view.
 *
 * An accepted frame keeps the invariants of request_kit.h, and its canonical form decodes to the
 * same request. SB_SEED repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "frame_kit.h"
#include "request_kit.h"

#define ROUNDS 200000
#define CAP 4096

static uint64_t seed;

/* splitmix64 */
static uint64_t
draw(void)
{
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t
below(size_t n)
{
    return (size_t)(draw() % n);
}

static size_t
mutate(uint8_t *f, size_t len)
{
    static const uint8_t heads[] = {0xc0, 0xc1, 0xc4, 0xc7, 0xcb, 0xcf, 0xd3, 0xd9,
                                    0xdb, 0xdd, 0xdf, 0x80, 0x91, 0xa0, 0xff, 0x00};
    size_t at = below(len);
    switch (below(5))
    {
    case 0:
        f[at] ^= (uint8_t)(1U << below(8));
        return len;
    case 1:
        f[at] = heads[below(sizeof(heads))];
        return len;
    case 2: /* cut */
        return at == 0 ? len : at;
    case 3: /* double a byte */
        if (len == CAP)
            return len;
        memmove(f + at + 1, f + at, len - at);
        return len + 1;
    default: /* drop a byte */
        if (len == 1)
            return len;
        memmove(f + at, f + at + 1, len - at - 1);
        return len - 1;
    }
}

static size_t
canonical(const struct sb_request *r, uint8_t *out)
{
    struct sb_writer w;
    sb_writer_init(&w, out, 2 * CAP);
    kit_write_request(&w, r);
    assert_false(w.failed);
    return w.len;
}

/* Whether it was accepted. */
static bool
try_frame(struct sb_decoder *d, const uint8_t *f, size_t len)
{
    static uint8_t first[2 * CAP], second[2 * CAP];
    struct sb_request r;
    struct sb_decode_error err = {SB_CODE_INTERNAL, NULL};
    uint8_t *copy = malloc(len);
    assert_non_null(copy);
    memcpy(copy, f, len);
    enum sb_decode_status s = sb_request_decode(d, sb_bytes(copy, len), &r, &err);
    if (s == SB_DECODE_BAD)
    {
        assert_non_null(err.message);
        assert_true(err.code == SB_CODE_BAD_REQUEST || err.code == SB_CODE_TOO_LARGE);
    }
    if (s == SB_DECODE_OK)
    {
        assert_null(kit_check_request(&r, sb_bytes(copy, len)));
        size_t n = canonical(&r, first);
        assert_int_equal(sb_request_decode(d, sb_bytes(first, n), &r, &err), SB_DECODE_OK);
        assert_int_equal(canonical(&r, second), n);
        assert_memory_equal(first, second, n);
    }
    free(copy);
    return s == SB_DECODE_OK;
}

static void
test_mutation(void **state)
{
    (void)state;
    const char *given = getenv("SB_SEED");
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("SB_SEED=%llu\n", (unsigned long long)seed);
    json_t *rows = json_load_file(SB_VECTORS "/requests.json", JSON_ALLOW_NUL, NULL);
    assert_non_null(rows);
    struct sb_decoder *d = sb_decoder_create();
    assert_non_null(d);
    size_t accepted = 0;
    static uint8_t f[CAP];
    for (int i = 0; i < ROUNDS; i++)
    {
        const json_t *row = json_array_get(rows, below(json_array_size(rows)));
        struct sb_bytes frame = kit_unhex(json_string_value(json_object_get(row, "hex")));
        size_t len = frame.len;
        assert_true(len > 0 && len <= CAP);
        memcpy(f, frame.data, len);
        kit_free(frame);
        for (size_t n = below(4); n > 0; n--)
            len = mutate(f, len);
        accepted += try_frame(d, f, len);
    }
    print_message("%d frames, %zu accepted\n", ROUNDS, accepted);
    assert_true(accepted > ROUNDS / 5);     /* about a quarter is not damaged at all */
    assert_true(accepted < ROUNDS * 4 / 5); /* and the damage is seen */
    sb_decoder_destroy(d);
    json_decref(rows);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

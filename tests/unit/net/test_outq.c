/* test_outq.c - framing in place, chunks at frame ends, and the small rules beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"
#include "net/outq.h"

#define SEED 20240607

static uint8_t
pattern(size_t frame, size_t at)
{
    return (uint8_t)(frame * 31 + at % 251);
}

static void
raw(struct sb_outq *q, size_t frame, size_t size)
{
    const uint8_t n[4] = {(uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8),
                          (uint8_t)size};
    assert_int_equal(sb_buf_append(&q->buf, sb_bytes(n, 4)), 0);
    assert_int_equal(sb_buf_reserve(&q->buf, size), 0);
    for (size_t i = 0; i < size; i++)
        q->buf.data[q->buf.len++] = pattern(frame, i);
}

/* Reads one frame at p as a peer would; its size on the wire. */
static size_t
expect_frame(const uint8_t *p, size_t frame, size_t size)
{
    size_t at;
    assert_int_equal(p[0], 0x82);
    if (size <= 125)
    {
        assert_int_equal(p[1], size);
        at = 2;
    }
    else if (size <= 65535)
    {
        assert_int_equal(p[1], 126);
        assert_int_equal(p[2] << 8 | p[3], size);
        at = 4;
    }
    else
    {
        uint64_t n = 0;
        assert_int_equal(p[1], 127);
        for (int i = 0; i < 8; i++)
            n = n << 8 | p[2 + i];
        assert_int_equal(n, size);
        at = 10;
    }
    for (size_t i = 0; i < size; i++)
        if (p[at + i] != pattern(frame, i))
            fail_msg("frame %zu differs at %zu", frame, i);
    return at + size;
}

static struct sb_outq
opened(void)
{
    struct sb_outq q = {0};
    struct sb_buf none = {0};
    assert_int_equal(sb_outq_open(&q, &none, (size_t)1 << 28), 0);
    return q;
}

static const size_t sizes[] = {0,    1,     2,     124,   125,   126,   127,
                               1000, 65534, 65535, 65536, 65537, 300000};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void
test_each_size_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SIZES; i++)
    {
        struct sb_outq q = opened();
        raw(&q, i, sizes[i]);
        assert_int_equal(sb_outq_frame(&q, SB_OUTQ_HEAD), 0);
        assert_int_equal(expect_frame(sb_outq_at(&q), i, sizes[i]), sb_outq_waiting(&q));
        sb_buf_finish(&q.buf);
    }
}

/* Every pair in one step: the second frame follows a shrunk, an exact or a grown one. */
static void
test_pairs_in_one_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SIZES; i++)
        for (size_t j = 0; j < N_SIZES; j++)
        {
            struct sb_outq q = opened();
            raw(&q, 1, sizes[i]);
            raw(&q, 2, sizes[j]);
            assert_int_equal(sb_outq_frame(&q, SB_OUTQ_HEAD), 0);
            const uint8_t *p = sb_outq_at(&q);
            size_t n = expect_frame(p, 1, sizes[i]);
            n += expect_frame(p + n, 2, sizes[j]);
            assert_int_equal(n, sb_outq_waiting(&q));
            sb_buf_finish(&q.buf);
        }
}

/* Random steps and random writes: what leaves is what came, in whole frames. */
static void
test_random_steps_and_chunks(void **state)
{
    (void)state;
    printf("seed %d\n", SEED);
    srandom(SEED);
    struct sb_outq q = opened();
    size_t queued[4096], first = 0, last = 0, in_queue = 0;
    for (int step = 0; step < 3000; step++)
    {
        size_t from = q.buf.len;
        for (long k = random() % 3; k >= 0 && last < 4096; k--)
        {
            size_t size = sizes[(size_t)random() % N_SIZES];
            queued[last] = size;
            raw(&q, last, size);
            last++;
        }
        assert_int_equal(sb_outq_frame(&q, from), 0);
        while (first < last && random() % 4 != 0)
        {
            size_t most = (size_t)(random() % 100000);
            size_t n = sb_outq_chunk(&q, most), at = 0;
            assert_true(n > 0);
            while (at < n)
            {
                size_t size = expect_frame(sb_outq_at(&q) + at, first, queued[first]);
                /* More than one frame only if they fit. */
                assert_true(at == 0 || at + size <= most);
                at += size;
                first++;
            }
            assert_int_equal(at, n);
            sb_outq_took(&q, n);
        }
        in_queue = sb_outq_waiting(&q);
    }
    assert_true(first < last ? in_queue > 0 : in_queue == 0);
    sb_outq_drop(&q);
    assert_int_equal(sb_outq_waiting(&q), 0);
    sb_buf_finish(&q.buf);
}

static void
test_lengths_that_do_not_add_up(void **state)
{
    (void)state;
    struct sb_outq q = opened();
    raw(&q, 1, 300);
    size_t good = q.buf.len;
    const uint8_t bad[] = {0, 0, 1, 0, 'x'};
    assert_int_equal(sb_buf_append(&q.buf, sb_bytes(bad, sizeof(bad))), 0);
    assert_int_equal(sb_outq_frame(&q, SB_OUTQ_HEAD), SB_ERR_INTERNAL);
    assert_int_equal(q.buf.len, good);
    expect_frame(sb_outq_at(&q), 1, 300);
    assert_int_equal(sb_buf_append(&q.buf, sb_bytes(bad, 3)), 0);
    assert_int_equal(sb_outq_frame(&q, good), SB_ERR_INTERNAL);
    assert_int_equal(q.buf.len, good);
    sb_buf_finish(&q.buf);
}

static void
test_no_room_for_the_long_header(void **state)
{
    (void)state;
    struct sb_outq q = {0};
    struct sb_buf none = {0};
    assert_int_equal(sb_outq_open(&q, &none, SB_OUTQ_HEAD + 4 + 65536 + 5), 0);
    raw(&q, 1, 65536);
    assert_int_equal(sb_outq_frame(&q, SB_OUTQ_HEAD), SB_ERR_TOO_LARGE);
    assert_int_equal(sb_outq_waiting(&q), 0);
    sb_buf_finish(&q.buf);
}

static void
test_control_frames(void **state)
{
    (void)state;
    struct sb_outq q = opened();
    assert_int_equal(sb_outq_close_frame(&q, 4413), 0);
    assert_int_equal(sb_outq_ping_frame(&q, 0x01020304), 0);
    const uint8_t want[] = {0x88, 2, 0x11, 0x3d, 0x89, 4, 1, 2, 3, 4};
    assert_int_equal(sb_outq_waiting(&q), sizeof(want));
    assert_memory_equal(sb_outq_at(&q), want, sizeof(want));
    assert_int_equal(sb_outq_chunk(&q, 1), 4);
    sb_outq_took(&q, 4);
    assert_int_equal(sb_outq_chunk(&q, 1), 6);
    sb_buf_finish(&q.buf);
}

static void
test_sent_bytes_are_given_back(void **state)
{
    (void)state;
    struct sb_outq q = opened();
    for (size_t i = 0; i < 1000; i++)
    {
        size_t from = q.buf.len;
        raw(&q, i, 60000);
        assert_int_equal(sb_outq_frame(&q, from), 0);
        if (i >= 2)
        {
            size_t n = sb_outq_chunk(&q, 65536);
            expect_frame(sb_outq_at(&q), i - 2, 60000);
            sb_outq_took(&q, n);
        }
    }
    assert_true(q.buf.cap <= 1 << 20);
    sb_buf_finish(&q.buf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_size_class),
        cmocka_unit_test(test_pairs_in_one_step),
        cmocka_unit_test(test_random_steps_and_chunks),
        cmocka_unit_test(test_lengths_that_do_not_add_up),
        cmocka_unit_test(test_no_room_for_the_long_header),
        cmocka_unit_test(test_control_frames),
        cmocka_unit_test(test_sent_bytes_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

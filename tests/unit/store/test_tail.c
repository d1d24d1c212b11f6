/* test_tail.c - the waiting rows against a walk over an array. */
#include "fixture.h"

#define N 700

static const struct sb_tail_row *
naive_near(const struct sb_tail_row *rows, size_t n, uint64_t thread, struct sb_pos pos,
           enum sb_direction dir)
{
    const struct sb_tail_row *best = NULL;
    int want = dir == SB_NEWER ? 1 : -1;
    for (size_t i = 0; i < n; i++)
    {
        if (rows[i].thread == thread && sb_pos_cmp(rows[i].pos, pos) == want &&
            (best == NULL || sb_pos_cmp(rows[i].pos, best->pos) == -want))
            best = &rows[i];
    }
    return best;
}

static void
compare(const struct sb_tail *t, const struct sb_tail_row *rows, size_t n, uint64_t *random)
{
    struct sb_pos got;
    for (int i = 0; i < 40; i++)
    {
        uint64_t thread = fixture_random(random) % 6;
        struct sb_pos pos = {fixture_random(random) % 60, fixture_random(random) % N};
        enum sb_direction dir = fixture_random(random) % 2 ? SB_OLDER : SB_NEWER;
        const struct sb_tail_row *want = naive_near(rows, n, thread, pos, dir);
        assert_int_equal(sb_tail_near(t, thread, pos, dir, &got), want != NULL);
        if (want != NULL)
            assert_int_equal(sb_pos_cmp(got, want->pos), 0);
        uint64_t seq = 1 + fixture_random(random) % N;
        bool there = false;
        for (size_t j = 0; j < n; j++)
            there = there || (rows[j].thread == thread && rows[j].pos.seq == seq);
        assert_int_equal(sb_tail_find_seq(t, thread, seq, &got), there);
        struct sb_nonce nonce;
        const struct sb_hash key = fixture_tag(seq);
        assert_int_equal(sb_tail_find_nonce(t, &key, &nonce), seq <= n);
    }
}

static void
test_against_array(void **state)
{
    (void)state;
    static struct sb_tail_row rows[N];
    struct sb_tail pending, tail;
    uint64_t random = fixture_seed();
    size_t n = 0, taken = 0;
    assert_int_equal(sb_tail_init(&pending, 1, false), 0);
    assert_int_equal(sb_tail_init(&tail, N, true), 0);
    while (n < N)
    {
        rows[n] = (struct sb_tail_row){.thread = fixture_random(&random) % 5,
                                       .pos = {fixture_random(&random) % 50, n + 1}};
        const struct sb_hash key = fixture_tag(n + 1);
        const struct sb_nonce nonce = {.seq = n + 1};
        assert_int_equal(sb_tail_add_row(&pending, rows[n].thread, rows[n].pos, n), 0);
        assert_int_equal(sb_tail_add_nonce(&pending, &key, &nonce), 0);
        n++;
        if (fixture_random(&random) % 20 == 0 && n > taken + 3)
        {
            n -= 3; /* three are taken back */
            sb_tail_truncate(&pending, n - taken, n - taken);
        }
        if (fixture_random(&random) % 150 == 0)
        {
            sb_tail_take(&tail, &pending);
            taken = n;
            compare(&tail, rows, n, &random);
        }
    }
    struct sb_pos pos;
    assert_true(sb_tail_find_seq(&pending, rows[N - 1].thread, N, &pos));
    sb_tail_take(&tail, &pending);
    compare(&tail, rows, n, &random);
    sb_tail_clear(&tail);
    compare(&tail, rows, 0, &random);
    sb_tail_finish(&tail);
    sb_tail_finish(&pending);
}

static void
test_unordered_near(void **state)
{
    (void)state;
    struct sb_tail_row rows[60];
    struct sb_tail pending;
    uint64_t random = fixture_seed();
    assert_int_equal(sb_tail_init(&pending, 1, false), 0);
    for (size_t i = 0; i < 60; i++)
    {
        rows[i] = (struct sb_tail_row){.thread = fixture_random(&random) % 5,
                                       .pos = {fixture_random(&random) % 50, i + 1}};
        const struct sb_hash key = fixture_tag(i + 1);
        assert_int_equal(sb_tail_add_row(&pending, rows[i].thread, rows[i].pos, i), 0);
        assert_int_equal(sb_tail_add_nonce(&pending, &key, &(struct sb_nonce){0}), 0);
    }
    compare(&pending, rows, 60, &random);
    sb_tail_finish(&pending);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_array),
        cmocka_unit_test(test_unordered_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

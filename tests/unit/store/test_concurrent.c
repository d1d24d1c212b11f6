/*
 * test_concurrent.c - the loop reads while a job writes on another thread; publish comes
 * between jobs. Run under ThreadSanitizer: nothing is locked, so nothing may race.
 */
#include "fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#define JOBS 120
#define POSTS 25

struct worker
{
    struct sb_store *store;
    uint64_t thread, random;
    sem_t start;
    atomic_bool done;
    int jobs;
};

static void
job(struct worker *w)
{
    const struct sb_store_ops *ops = w->store->ops;
    struct sb_txn *t;
    uint64_t version;
    assert_int_equal(ops->write_begin(w->store, &t), 0);
    for (uint64_t i = 0; i < POSTS; i++)
    {
        struct sb_thread thread;
        struct sb_pos pos;
        assert_int_equal(ops->thread_get(t, w->thread, &thread), 0);
        const struct fixture_post p = {
            .thread = w->thread, .tag = 2, .nonce = 100 + thread.next_seq, .text = "text"};
        assert_int_equal(fixture_post(t, &p, &pos, NULL), 0);
        uint64_t seq = 1 + fixture_random(&w->random) % pos.seq; /* often one that waits */
        assert_int_equal(ops->seq_find(t, w->thread, seq, &pos), 0);
        if (i % 8 == 0)
            assert_int_equal(fixture_edit(t, w->thread, pos, "edited", 3, true, &version), 0);
    }
    assert_int_equal(ops->write_commit(t), 0);
}

static void *
work(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < w->jobs; i++)
    {
        while (sem_wait(&w->start) != 0)
            ;
        job(w);
        atomic_store_explicit(&w->done, true, memory_order_release);
    }
    return NULL;
}

/* What a turn of the loop reads: the newest rows, their seqs, a tag's rows, a nonce. */
static void
turn(struct sb_store *s, uint64_t thread, uint64_t rows)
{
    const struct sb_store_ops *ops = s->ops;
    struct sb_txn *t;
    struct sb_row row;
    struct sb_pos pos;
    struct sb_nonce nonce;
    uint32_t budget = 200;
    uint64_t version = ops->published(s), expected = rows;
    const struct sb_hash tag = fixture_tag(2), key = fixture_tag(100 + rows);
    assert_int_equal(ops->read_begin(s, &t), 0);
    assert_int_equal(ops->row_seek(t, thread, SB_POS_MAX, SB_OLDER, version), 0);
    for (int i = 0; i < 20; i++)
    {
        int rc = ops->row_step(t, &budget, &row);
        assert_int_equal(rc, expected == 0 ? SB_ERR_NOT_FOUND : 0);
        if (rc != 0)
            break;
        assert_int_equal(row.pos.seq, expected--);
        assert_true(row.changed <= version);
        assert_int_equal(ops->seq_find(t, thread, row.pos.seq, &pos), 0);
        assert_int_equal(sb_pos_cmp(pos, row.pos), 0);
    }
    if (rows != 0)
    {
        assert_int_equal(ops->posting_next(t, thread, &tag, SB_POS_MAX, SB_OLDER, &pos), 0);
        assert_true(pos.seq >= rows);
        assert_int_equal(ops->nonce_get(t, &key, &nonce), 0);
        assert_int_equal(nonce.seq, rows);
    }
    ops->read_end(t);
}

static void
loop_and_job(enum fixture_kind kind, uint32_t derive_after)
{
    struct fixture f;
    pthread_t id;
    uint64_t rows = 0, turns = 0;
    fixture_open(&f, kind, derive_after);
    struct worker w = {.store = f.store,
                       .thread = fixture_thread(f.store, "a"),
                       .random = fixture_seed(),
                       .jobs = JOBS};
    sem_init(&w.start, 0, 0);
    assert_int_equal(pthread_create(&id, NULL, work, &w), 0);
    for (int i = 0; i < JOBS; i++)
    {
        struct sb_store_stats stats;
        atomic_store(&w.done, false);
        sem_post(&w.start);
        do
        {
            turn(f.store, w.thread, rows);
            f.store->ops->stats(f.store, &stats);
            turns++;
        } while (!atomic_load_explicit(&w.done, memory_order_acquire));
        f.store->ops->publish(f.store);
        rows += POSTS;
        turn(f.store, w.thread, rows);
    }
    pthread_join(id, NULL);
    sem_destroy(&w.start);
    printf("%llu turns beside %d jobs\n", (unsigned long long)turns, JOBS);
    assert_int_equal(fixture_check(f.store, NULL), 0);
    fixture_close(&f);
}

static void
test_in_memory(void **state)
{
    (void)state;
    loop_and_job(FIXTURE_MEMORY, 0);
    loop_and_job(FIXTURE_MEMORY, 60);
}

static void
test_in_lmdb(void **state)
{
    (void)state;
    loop_and_job(FIXTURE_LMDB, 0);
    loop_and_job(FIXTURE_LMDB, 60);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_memory),
        cmocka_unit_test(test_in_lmdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_fault.c - each call into the map fails once: nothing is half-done, nothing stays open,
 * and the store goes on.
 */
#include "fixture.h"

#include <stdio.h>

/* Everything that a batch can do: a thread, members, posts, an edit, a deletion, the rest. */
static int
busy_batch(struct sb_store *s, uint64_t thread, struct sb_pos first, struct sb_pos second)
{
    const struct sb_store_ops *ops = s->ops;
    struct sb_txn *t;
    uint64_t version;
    int rc = ops->write_begin(s, &t);
    if (rc != 0)
        return rc;
    struct sb_thread fresh = {.tenant = SB_LIT("default"), .name = SB_LIT("fresh"), .next_seq = 1};
    fresh.created = ops->version_next(t);
    rc = ops->thread_put(t, &fresh);
    const struct sb_member m = {.role = SB_ROLE_READER, .join_version = fresh.created};
    if (rc == 0)
        rc = ops->member_put(t, &fresh, SB_LIT("bob"), &m);
    for (uint64_t i = 0; i < 5 && rc == 0; i++)
    {
        const struct fixture_post p = {.thread = i % 2 ? thread : fresh.id,
                                       .at = i == 3 ? 1 : 0,
                                       .tag = 2 + i,
                                       .nonce = 70 + i,
                                       .text = "text"};
        rc = fixture_post(t, &p, NULL, NULL);
    }
    if (rc == 0)
        rc = fixture_edit(t, thread, first, "edited", 9, true, &version);
    if (rc == 0)
        rc = fixture_edit(t, thread, second, NULL, 0, false, &version);
    const struct sb_hash id = fixture_tag(99);
    const struct sb_source src = {.seq = 1};
    if (rc == 0)
        rc = ops->source_put(t, thread, &id, &src);
    if (rc == 0)
        rc = ops->reaction_put(t, thread, 1, SB_LIT("+1"), SB_LIT("bob"), version);
    if (rc != 0)
    {
        ops->write_abort(t);
        return rc;
    }
    rc = ops->write_commit(t);
    if (rc == 0)
        ops->publish(s);
    return rc;
}

static void
fill(struct fixture *f, enum fixture_kind kind, uint32_t derive_after, uint64_t *thread,
     struct sb_pos pos[2])
{
    uint64_t version;
    struct sb_txn *t;
    fixture_open(f, kind, derive_after);
    *thread = fixture_thread(f->store, "a");
    pos[0] = fixture_post_now(f->store, *thread, "first");
    pos[1] = fixture_post_now(f->store, *thread, "second");
    assert_int_equal(f->store->ops->write_begin(f->store, &t), 0);
    assert_int_equal(fixture_edit(t, *thread, pos[1], "again", 3, true, &version), 0);
    fixture_commit(f->store, t);
}

static void
each_call_of_a_batch(enum fixture_kind kind, uint32_t derive_after)
{
    struct fixture f;
    uint64_t thread;
    struct sb_pos pos[2];
    bool hit = true;
    int n = 0;
    for (; hit; n++)
    {
        fill(&f, kind, derive_after, &thread, pos);
        uint64_t published = f.store->ops->published(f.store);
        kv_fault_arm(f.fault, (uint64_t)n + 1, SB_ERR_IO);
        int rc = busy_batch(f.store, thread, pos[0], pos[1]);
        hit = kv_fault_hit(f.fault);
        kv_fault_arm(f.fault, 0, 0);
        assert_int_equal(rc, hit ? SB_ERR_IO : 0);
        assert_int_equal(kv_fault_open(f.fault), 0);
        if (hit)
        {
            assert_int_equal(f.store->ops->published(f.store), published);
            struct sb_store_report report;
            assert_int_equal(fixture_check(f.store, &report), 0);
            assert_int_equal(report.threads, 1);
            assert_int_equal(report.rows, 2);
            assert_int_equal(report.past, 1);
            assert_int_equal(report.nonces, 0);
            assert_int_equal(busy_batch(f.store, thread, pos[0], pos[1]), 0);
        }
        struct sb_store_report report;
        assert_int_equal(fixture_check(f.store, &report), 0);
        assert_int_equal(report.rows, 7);
        assert_int_equal(report.nonces, 5);
        assert_int_equal(report.past, 1);
        fixture_close(&f);
    }
    assert_true(n > 30);
}

static void
test_batch_in_memory(void **state)
{
    (void)state;
    each_call_of_a_batch(FIXTURE_MEMORY, 0);
    each_call_of_a_batch(FIXTURE_MEMORY, 1);
}

static void
test_batch_in_lmdb(void **state)
{
    (void)state;
    each_call_of_a_batch(FIXTURE_LMDB, 1);
}

/* Opening a store with rows behind: a failure leaves it as it was. */
static void
test_open(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t thread;
    struct sb_pos pos[2];
    fill(&f, FIXTURE_LMDB, 0, &thread, pos);
    bool hit = true;
    uint64_t n = 1;
    for (; hit; n++)
    {
        struct sb_store_failure why = {""};
        sb_store_close(f.store);
        f.store = NULL;
        kv_fault_arm(f.fault, n, SB_ERR_IO);
        int rc = sb_store_start(kv_fault_kv(f.fault), &f.options, UINT64_MAX, &f.store, &why);
        hit = kv_fault_hit(f.fault);
        kv_fault_arm(f.fault, 0, 0);
        assert_int_equal(kv_fault_open(f.fault), 0);
        assert_int_equal(rc, hit ? SB_ERR_IO : 0);
        if (hit)
            assert_true(why.text[0] != '\0');
    }
    assert_true(n > 10);
    assert_int_equal(fixture_check(f.store, NULL), 0);
    fixture_close(&f);
}

/* A full disk does not keep a store from being opened: what is behind waits in memory. */
static void
test_open_on_full_disk(void **state)
{
    (void)state;
    bool hit = true;
    for (uint64_t n = 1; hit; n++)
    {
        struct fixture f;
        struct sb_store_failure why = {""};
        uint64_t thread;
        struct sb_pos pos[2], found;
        const struct sb_hash tag = fixture_tag(1);
        struct sb_txn *t;
        fill(&f, FIXTURE_MEMORY, 0, &thread, pos);
        sb_store_close(f.store);
        kv_fault_arm_writes(f.fault, n, SB_ERR_FULL);
        assert_int_equal(
            sb_store_start(kv_fault_kv(f.fault), &f.options, UINT64_MAX, &f.store, &why), 0);
        hit = kv_fault_hit(f.fault);
        kv_fault_arm(f.fault, 0, 0);
        struct sb_store_stats stats;
        f.store->ops->stats(f.store, &stats);
        assert_int_equal(stats.behind, hit ? 2 : 0);
        assert_int_equal(f.store->ops->read_begin(f.store, &t), 0);
        assert_int_equal(f.store->ops->seq_find(t, thread, 2, &found), 0);
        assert_int_equal(sb_pos_cmp(found, pos[1]), 0);
        assert_int_equal(f.store->ops->posting_next(t, thread, &tag, SB_POS_MAX, SB_OLDER, &found),
                         0);
        assert_int_equal(sb_pos_cmp(found, pos[1]), 0);
        f.store->ops->read_end(t);
        fixture_post_now(f.store, thread, "third");
        assert_int_equal(fixture_check(f.store, NULL), 0);
        fixture_close(&f);
    }
}

/* Reads give the failure on and leave nothing open. */
static void
test_reads(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t thread;
    struct sb_pos pos[2];
    fill(&f, FIXTURE_MEMORY, 1, &thread, pos);
    bool hit = true;
    for (uint64_t n = 1; hit; n++)
    {
        const struct sb_store_ops *ops = f.store->ops;
        struct sb_txn *t;
        struct sb_thread found;
        struct sb_row row;
        struct sb_pos p;
        uint32_t budget = 100;
        const struct sb_hash tag = fixture_tag(1);
        kv_fault_arm(f.fault, n, SB_ERR_IO);
        int rc = ops->read_begin(f.store, &t);
        if (rc == 0)
        {
            rc = ops->thread_find(t, SB_LIT("default"), SB_LIT("a"), &found);
            if (rc == 0)
                rc = ops->seq_find(t, thread, 2, &p);
            if (rc == 0)
                rc = ops->posting_next(t, thread, &tag, SB_POS_MAX, SB_OLDER, &p);
            if (rc == 0)
                rc = ops->row_get(t, thread, pos[1], 4, &row);
            if (rc == 0)
                rc = ops->row_seek(t, thread, SB_POS_MAX, SB_OLDER, 4);
            for (uint64_t seq = 2; rc == 0 && seq >= 1; seq--)
            {
                rc = ops->row_step(t, &budget, &row);
                if (rc == 0)
                    assert_int_equal(row.pos.seq, seq);
            }
            ops->read_end(t);
        }
        hit = kv_fault_hit(f.fault);
        kv_fault_arm(f.fault, 0, 0);
        assert_int_equal(rc, hit ? SB_ERR_IO : 0);
        assert_int_equal(kv_fault_open(f.fault), 0);
    }
    fixture_close(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_in_memory),
        cmocka_unit_test(test_batch_in_lmdb),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_on_full_disk),
        cmocka_unit_test(test_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

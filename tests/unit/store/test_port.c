/* test_port.c - the port, operation by operation, on both maps. */
#include "fixture.h"

#include <stdio.h>

static struct fixture fx;

static int
set_up_memory(void **state)
{
    (void)state;
    fixture_open(&fx, FIXTURE_MEMORY, 0);
    return 0;
}

static int
set_up_lmdb(void **state)
{
    (void)state;
    fixture_open(&fx, FIXTURE_LMDB, 0);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fixture_close(&fx);
    return 0;
}

static struct sb_txn *
begin_read(void)
{
    struct sb_txn *t;
    assert_int_equal(fx.store->ops->read_begin(fx.store, &t), 0);
    return t;
}

static struct sb_txn *
begin_write(void)
{
    struct sb_txn *t;
    assert_int_equal(fx.store->ops->write_begin(fx.store, &t), 0);
    return t;
}

static void
test_threads_and_members(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t b = fixture_thread(fx.store, "b"), a = fixture_thread(fx.store, "a");
    struct sb_thread thread;
    struct sb_member m;
    struct sb_bytes user;
    uint64_t id = 0;
    struct sb_txn *t = begin_write();
    assert_int_equal(ops->thread_find(t, SB_LIT("default"), SB_LIT("a"), &thread), 0);
    m = (struct sb_member){.role = SB_ROLE_READER, .join = {5, 6}, .join_version = 2};
    thread.title = SB_LIT("A title");
    assert_int_equal(ops->thread_put(t, &thread), 0);
    assert_int_equal(ops->thread_put(t, &thread), 0);
    /* its strings are views of the new record now */
    assert_int_equal(ops->member_put(t, &thread, SB_LIT("zoe"), &m), 0);
    /* put again from a view of the record itself */
    assert_int_equal(ops->thread_get(t, a, &thread), 0);
    thread.newest_at = 9;
    assert_int_equal(ops->thread_put(t, &thread), 0);
    fixture_commit(fx.store, t);

    t = begin_read();
    assert_int_equal(ops->thread_find(t, SB_LIT("default"), SB_LIT("a"), &thread), 0);
    assert_int_equal(thread.id, a);
    assert_int_equal(thread.newest_at, 9);
    assert_true(sb_bytes_eq(thread.title, SB_LIT("A title")));
    assert_int_equal(ops->thread_find(t, SB_LIT("other"), SB_LIT("a"), &thread), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->thread_get(t, 99, &thread), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->name_next(t, SB_LIT("default"), SB_LIT(""), &id), 0);
    assert_int_equal(id, a);
    assert_int_equal(ops->name_next(t, SB_LIT("default"), SB_LIT("a"), &id), 0);
    assert_int_equal(id, b);
    assert_int_equal(ops->name_next(t, SB_LIT("default"), SB_LIT("b"), &id), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->name_next(t, SB_LIT("defaul"), SB_LIT(""), &id), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->member_next(t, a, SB_LIT(""), &user, &m), 0);
    assert_true(sb_bytes_eq(user, SB_LIT("alice")));
    assert_int_equal(ops->member_next(t, a, user, &user, &m), 0);
    assert_true(sb_bytes_eq(user, SB_LIT("zoe")));
    assert_int_equal(m.role, SB_ROLE_READER);
    assert_int_equal(m.join.seq, 6);
    assert_int_equal(ops->member_next(t, a, user, &user, &m), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->membership_next(t, SB_LIT("default"), SB_LIT("alice"), 0, &id), 0);
    assert_int_equal(id, b < a ? b : a);
    assert_int_equal(ops->membership_next(t, SB_LIT("default"), SB_LIT("alice"), id, &id), 0);
    assert_int_equal(id, b < a ? a : b);
    assert_int_equal(ops->membership_next(t, SB_LIT("default"), SB_LIT("alice"), id, &id),
                     SB_ERR_NOT_FOUND);
    assert_int_equal(ops->membership_next(t, SB_LIT("default"), SB_LIT("bob"), 0, &id),
                     SB_ERR_NOT_FOUND);
    ops->read_end(t);
    t = begin_write();
    struct sb_thread again = {.tenant = SB_LIT("default"), .name = SB_LIT("a"), .next_seq = 1};
    assert_int_equal(ops->thread_put(t, &again), SB_ERR_EXISTS);
    assert_int_equal(again.id, 0);
    ops->write_abort(t);
    assert_int_equal(fixture_check(fx.store, NULL), 0);
}

/* What is committed but not published is not there for readers. */
static void
test_unpublished_is_hidden(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a");
    uint64_t before = ops->published(fx.store);
    struct sb_txn *t = begin_write();
    struct sb_thread thread = {.tenant = SB_LIT("default"), .name = SB_LIT("b"), .next_seq = 1};
    struct sb_pos pos, found;
    thread.created = ops->version_next(t);
    const struct sb_member m = {.role = SB_ROLE_WRITER, .join_version = thread.created};
    assert_int_equal(ops->thread_put(t, &thread), 0);
    assert_int_equal(ops->member_put(t, &thread, SB_LIT("bob"), &m), 0);
    const struct fixture_post p = {.thread = a, .text = "new", .tag = 5};
    assert_int_equal(fixture_post(t, &p, &pos, NULL), 0);
    assert_int_equal(ops->write_commit(t), 0);

    struct sb_row row;
    struct sb_member got;
    struct sb_bytes user;
    uint32_t budget = 10;
    t = begin_read();
    assert_int_equal(ops->published(fx.store), before);
    assert_int_equal(ops->thread_find(t, SB_LIT("default"), SB_LIT("b"), &thread),
                     SB_ERR_NOT_FOUND);
    assert_int_equal(ops->member_get(t, thread.id, SB_LIT("bob"), &got), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->member_next(t, thread.id, SB_LIT(""), &user, &got), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->row_get(t, a, pos, before, &row), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->seq_find(t, a, pos.seq, &found), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->row_seek(t, a, SB_POS_MAX, SB_OLDER, before), 0);
    assert_int_equal(ops->row_step(t, &budget, &row), SB_ERR_NOT_FOUND);
    assert_int_equal(budget, 9); /* looked at, skipped */
    ops->read_end(t);

    ops->publish(fx.store);
    t = begin_read();
    assert_int_equal(ops->thread_find(t, SB_LIT("default"), SB_LIT("b"), &thread), 0);
    assert_int_equal(ops->member_get(t, thread.id, SB_LIT("bob"), &got), 0);
    assert_int_equal(ops->row_get(t, a, pos, ops->published(fx.store), &row), 0);
    assert_int_equal(ops->seq_find(t, a, pos.seq, &found), 0);
    ops->read_end(t);
}

/* A reader's view does not move while a writer commits. */
static void
test_read_is_a_snapshot(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a");
    struct sb_pos pos = fixture_post_now(fx.store, a, "one");
    struct sb_txn *r = begin_read(), *w = begin_write();
    struct sb_row row;
    uint64_t version;
    assert_int_equal(fixture_edit(w, a, pos, "two", 0, false, &version), 0);
    assert_int_equal(ops->write_commit(w), 0);
    assert_int_equal(ops->row_get(r, a, pos, UINT64_MAX, &row), 0);
    assert_true(sb_bytes_eq(row.body, SB_LIT("one")));
    ops->read_end(r);
    r = begin_read();
    assert_int_equal(ops->row_get(r, a, pos, UINT64_MAX, &row), 0);
    assert_true(sb_bytes_eq(row.body, SB_LIT("two")));
    ops->read_end(r);
    ops->publish(fx.store);
}

static void
test_steps_keep_to_their_budget(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a");
    for (int i = 0; i < 10; i++)
        fixture_post_now(fx.store, a, "x");
    uint64_t version = ops->published(fx.store) - 6; /* four rows are there */
    struct sb_txn *t = begin_read();
    struct sb_row row;
    uint32_t budget = 4;
    assert_int_equal(ops->row_seek(t, a, SB_POS_MAX, SB_OLDER, version), 0);
    assert_int_equal(ops->row_step(t, &budget, &row), SB_ERR_BUSY);
    assert_int_equal(budget, 0);
    assert_int_equal(ops->row_step(t, &budget, &row), SB_ERR_BUSY);
    assert_int_equal(row.pos.seq, 7); /* where it stands */
    budget = 3;
    assert_int_equal(ops->row_step(t, &budget, &row), 0);
    assert_int_equal(row.pos.seq, 4);
    assert_int_equal(budget, 0);
    for (uint64_t seq = 3; seq >= 1; seq--)
    {
        budget = 1;
        struct sb_row other;
        assert_int_equal(ops->row_step(t, &budget, &row), 0);
        assert_int_equal(row.pos.seq, seq);
        /* lookups in between leave the walk where it is */
        const struct sb_hash tag = fixture_tag(1);
        struct sb_pos pos;
        assert_int_equal(ops->row_get(t, a, row.pos, version, &other), 0);
        assert_int_equal(ops->posting_next(t, a, &tag, SB_POS_MAX, SB_OLDER, &pos), 0);
        assert_int_equal(pos.seq, 10);
    }
    budget = 5;
    assert_int_equal(ops->row_step(t, &budget, &row), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->row_step(t, &budget, &row), SB_ERR_NOT_FOUND);
    assert_int_equal(budget, 5);
    ops->read_end(t);
}

static void
test_damage_is_told_and_passed(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a");
    struct sb_pos pos[5];
    for (int i = 0; i < 5; i++)
        pos[i] = fixture_post_now(fx.store, a, "text");
    struct sb_key key;
    sb_key_row(&key, a, pos[2]);
    static const size_t places[] = {0, 8, 9, 11, 15, 20, 30, 33, SB_ROW_HEAD + 4 + 15};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
    {
        fixture_flip(fx.store, SB_TABLE_MESSAGES, &key, places[i]);
        struct sb_txn *t = begin_read();
        struct sb_row row;
        uint32_t budget = 100;
        assert_int_equal(ops->row_get(t, a, pos[2], UINT64_MAX, &row), SB_ERR_CORRUPT);
        assert_int_equal(ops->row_seek(t, a, SB_POS_MIN, SB_NEWER, UINT64_MAX), 0);
        for (uint64_t seq = 1; seq <= 5; seq++)
        {
            assert_int_equal(ops->row_step(t, &budget, &row), seq == 3 ? SB_ERR_CORRUPT : 0);
            assert_int_equal(row.pos.seq, seq);
        }
        ops->read_end(t);
        fixture_flip(fx.store, SB_TABLE_MESSAGES, &key, places[i]);
    }
    /* a whole, valid row under another key is damage too */
    struct sb_kv *kv = ((struct sb_store_inner *)fx.store)->kv;
    struct sb_kv_txn *raw;
    struct sb_bytes value;
    uint8_t copy[256];
    assert_int_equal(kv->ops->begin(kv, false, &raw), 0);
    assert_int_equal(sb_kv_get(raw, SB_TABLE_MESSAGES, &key, &value), 0);
    memcpy(copy, value.data, value.len);
    size_t len = value.len;
    kv->ops->end(raw);
    sb_key_row(&key, a, pos[3]);
    fixture_raw_put(fx.store, SB_TABLE_MESSAGES, &key, sb_bytes(copy, len));
    struct sb_txn *t = begin_read();
    struct sb_row row;
    assert_int_equal(ops->row_get(t, a, pos[3], UINT64_MAX, &row), SB_ERR_CORRUPT);
    assert_int_equal(ops->row_get(t, a, pos[2], UINT64_MAX, &row), 0);
    ops->read_end(t);
}

/* Other records with sums: threads, members, by_seq, past. */
static void
test_damaged_records(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a"), version;
    struct sb_pos pos = fixture_post_now(fx.store, a, "one"), found;
    struct sb_txn *t = begin_write();
    assert_int_equal(fixture_edit(t, a, pos, "two", 0, true, &version), 0);
    fixture_commit(fx.store, t);
    assert_int_equal(sb_store_settle(fx.store), 0);
    struct sb_key key;
    sb_key_past(&key, a, pos, version);
    fixture_flip(fx.store, SB_TABLE_PAST, &key, 40);
    sb_key_seq(&key, a, pos.seq);
    fixture_flip(fx.store, SB_TABLE_BY_SEQ, &key, 12);
    sb_key_thread(&key, a);
    fixture_flip(fx.store, SB_TABLE_THREADS, &key, 30);
    assert_int_equal(sb_key_member(&key, a, SB_LIT("alice")), 0);
    fixture_flip(fx.store, SB_TABLE_MEMBERS, &key, 8);
    struct sb_thread thread;
    struct sb_member m;
    struct sb_row row;
    t = begin_read();
    assert_int_equal(ops->thread_get(t, a, &thread), SB_ERR_CORRUPT);
    assert_int_equal(ops->member_get(t, a, SB_LIT("alice"), &m), SB_ERR_CORRUPT);
    assert_int_equal(ops->seq_find(t, a, pos.seq, &found), SB_ERR_CORRUPT);
    assert_int_equal(ops->row_get(t, a, pos, version - 1, &row), SB_ERR_CORRUPT);
    assert_int_equal(ops->row_get(t, a, pos, version, &row), 0);
    ops->read_end(t);
}

static void
test_sources_reactions_times(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a");
    fixture_post_now(fx.store, a, "x");
    const struct sb_hash id = fixture_tag(77), other = fixture_tag(78);
    const struct sb_source src = {.seq = 1, .digest = fixture_tag(5)};
    struct sb_source got;
    struct sb_txn *t = begin_write();
    assert_int_equal(ops->source_put(t, a, &id, &src), 0);
    assert_int_equal(ops->source_get(t, a, &id, &got), 0);
    assert_int_equal(ops->reaction_put(t, a, 1, SB_LIT("+1"), SB_LIT("bob"), 9), 0);
    assert_int_equal(ops->reaction_put(t, a, 1, SB_LIT("+1"), SB_LIT("bob"), 9), 0);
    assert_int_equal(ops->reaction_put(t, a, 1, SB_LIT("+1"), SB_LIT("eve"), 9), 0);
    uint64_t late = ops->change_time(t, UINT64_C(1800000000000));
    assert_int_equal(late, UINT64_C(1800000000000));
    assert_int_equal(ops->change_time(t, 5), late);
    fixture_commit(fx.store, t);
    fixture_reopen(&fx);
    ops = fx.store->ops;
    t = begin_write();
    assert_int_equal(ops->change_time(t, 5), late); /* also after a restart */
    assert_int_equal(ops->source_get(t, a, &id, &got), 0);
    assert_int_equal(got.seq, 1);
    assert_memory_equal(&got.digest, &src.digest, sizeof(src.digest));
    assert_int_equal(ops->source_get(t, a, &other, &got), SB_ERR_NOT_FOUND);
    assert_int_equal(ops->source_get(t, a + 1, &id, &got), SB_ERR_NOT_FOUND);
    ops->write_abort(t);
    struct sb_store_report report;
    assert_int_equal(fixture_check(fx.store, &report), 0);
    assert_int_equal(report.reactions, 2);
    assert_int_equal(report.sources, 1);
}

/* Past the quota nothing is added, but rows can be deleted. */
static void
test_quota(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a"), version;
    struct sb_pos pos = fixture_post_now(fx.store, a, "x");
    struct sb_store_stats stats;
    ops->stats(fx.store, &stats);
    assert_true(stats.bytes_used > 0);
    ((struct sb_store_inner *)fx.store)->quota = stats.bytes_used - 1;
    struct sb_txn *t = begin_write();
    const struct fixture_post p = {.thread = a, .text = "more"};
    assert_int_equal(fixture_post(t, &p, NULL, NULL), SB_ERR_FULL);
    assert_int_equal(ops->write_commit(t), SB_ERR_FULL);
    t = begin_write();
    assert_int_equal(fixture_edit(t, a, pos, NULL, 0, false, &version), 0);
    fixture_commit(fx.store, t);
    ((struct sb_store_inner *)fx.store)->quota = UINT64_MAX;
    assert_int_equal(fixture_post_now(fx.store, a, "again").seq, 2);
    assert_int_equal(fixture_check(fx.store, NULL), 0);
}

static void
test_identity(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    struct sb_store_stats before, after;
    struct sb_hash h1, h2;
    ops->stats(fx.store, &before);
    ops->hash(fx.store, SB_LIT("by:alice"), &h1);
    assert_true(before.epoch > 0 && before.epoch <= SB_MAX_SAFE_INT);
    fixture_reopen(&fx);
    fx.store->ops->stats(fx.store, &after);
    fx.store->ops->hash(fx.store, SB_LIT("by:alice"), &h2);
    assert_int_equal(after.epoch, before.epoch);
    assert_int_equal(fx.store->ops->epoch(fx.store), before.epoch);
    assert_memory_equal(&h1, &h2, sizeof(h1));
    struct sb_store *other;
    assert_int_equal(sb_store_open_memory(&fx.options, &other), 0);
    other->ops->hash(other, SB_LIT("by:alice"), &h2);
    assert_memory_not_equal(&h1, &h2, sizeof(h1));
    sb_store_close(other);
}

/* The horizon is the transaction's own: a newer one counts before it is published. */
static void
test_horizon(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    struct sb_store_inner *s = (struct sb_store_inner *)fx.store;
    struct sb_store_stats stats;
    struct sb_key key;
    uint8_t value[SB_STATE_LEN];
    fixture_thread(fx.store, "a");
    struct sb_txn *t = begin_read();
    assert_int_equal(ops->horizon(t), 0);
    s->committed.horizon = 1;
    sb_state_encode(&s->committed, value);
    sb_key_start(&key);
    sb_key_bytes(&key, SB_LIT("state"));
    fixture_raw_put(fx.store, SB_TABLE_META, &key, sb_bytes(value, sizeof(value)));
    assert_int_equal(ops->horizon(t), 0);
    ops->read_end(t);
    t = begin_read();
    assert_int_equal(ops->horizon(t), 1);
    ops->read_end(t);
    ops->stats(fx.store, &stats);
    assert_int_equal(stats.horizon, 0);
    ops->publish(fx.store);
    ops->stats(fx.store, &stats);
    assert_int_equal(stats.horizon, 1);
    fixture_flip(fx.store, SB_TABLE_META, &key, 20);
    t = begin_read();
    assert_true(ops->horizon(t) == UINT64_MAX);
    ops->read_end(t);
}

/* Large bodies (imported texts) lie on pages of their own. */
static void
test_large_rows(void **state)
{
    (void)state;
    const struct sb_store_ops *ops = fx.store->ops;
    uint64_t a = fixture_thread(fx.store, "a"), version;
    static char text[300000];
    memset(text, 'y', sizeof(text) - 1);
    struct sb_pos pos = fixture_post_now(fx.store, a, text);
    struct sb_txn *t = begin_write();
    assert_int_equal(fixture_edit(t, a, pos, "short", 0, true, &version), 0);
    fixture_commit(fx.store, t);
    struct sb_row row;
    t = begin_read();
    assert_int_equal(ops->row_get(t, a, pos, version - 1, &row), 0);
    assert_true(sb_bytes_eq(row.body, sb_bytes_str(text)));
    assert_int_equal(ops->row_get(t, a, pos, version, &row), 0);
    assert_true(sb_bytes_eq(row.body, SB_LIT("short")));
    ops->read_end(t);
    assert_int_equal(fixture_check(fx.store, NULL), 0);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, set_up_memory, tear_down),                               \
        cmocka_unit_test_setup_teardown(test, set_up_lmdb, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_threads_and_members),
        BOTH(test_unpublished_is_hidden),
        BOTH(test_read_is_a_snapshot),
        BOTH(test_steps_keep_to_their_budget),
        BOTH(test_damage_is_told_and_passed),
        BOTH(test_damaged_records),
        BOTH(test_sources_reactions_times),
        BOTH(test_quota),
        BOTH(test_identity),
        BOTH(test_horizon),
        BOTH(test_large_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

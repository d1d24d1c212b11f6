/* test_check.c - each kind of planted damage is found, counted once, and told. */
#include "fixture.h"

#include <stdio.h>

static struct fixture fx;
static uint64_t thread;
static struct sb_pos pos[6];
static uint64_t edited; /* the version that superseded pos[1] */

static void
fill(enum fixture_kind kind)
{
    fixture_open(&fx, kind, 0);
    const struct sb_store_ops *ops = fx.store->ops;
    thread = fixture_thread(fx.store, "a");
    struct sb_txn *t;
    assert_int_equal(ops->write_begin(fx.store, &t), 0);
    for (uint64_t i = 0; i < 6; i++)
    {
        const struct fixture_post p = {
            .thread = thread, .tag = 2 + i, .nonce = 10 + i, .text = "text"};
        assert_int_equal(fixture_post(t, &p, &pos[i], NULL), 0);
    }
    assert_int_equal(fixture_edit(t, thread, pos[1], "edited", 20, true, &edited), 0);
    const struct sb_hash id = fixture_tag(1);
    const struct sb_source src = {.seq = 1};
    assert_int_equal(ops->source_put(t, thread, &id, &src), 0);
    assert_int_equal(ops->reaction_put(t, thread, 2, SB_LIT("+1"), SB_LIT("bob"), edited), 0);
    fixture_commit(fx.store, t);
    assert_int_equal(sb_store_settle(fx.store), 0);
}

static int
set_up_memory(void **state)
{
    (void)state;
    fill(FIXTURE_MEMORY);
    return 0;
}

static int
set_up_lmdb(void **state)
{
    (void)state;
    fill(FIXTURE_LMDB);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fixture_close(&fx);
    return 0;
}

static void
count_told(void *ctx, const char *text)
{
    (void)text;
    (*(int *)ctx)++;
}

/* Exactly so many problems of each kind. */
static void
finds(uint64_t bad, uint64_t lost, uint64_t missing, uint64_t extra)
{
    struct sb_store_report r;
    int told = 0;
    int rc = sb_store_check(fx.store, UINT64_MAX, count_told, &told, &r);
    assert_int_equal(rc, bad + lost + missing + extra != 0 ? SB_ERR_CORRUPT : 0);
    assert_int_equal(r.bad_checksums, bad);
    assert_int_equal(r.lost, lost);
    assert_int_equal(r.index_missing, missing);
    assert_int_equal(r.index_extra, extra);
    assert_int_equal(told, bad + lost + missing + extra);
}

static void
test_sound(void **state)
{
    (void)state;
    struct sb_store_report r;
    finds(0, 0, 0, 0);
    assert_int_equal(fixture_check(fx.store, &r), 0);
    assert_int_equal(r.threads, 1);
    assert_int_equal(r.members, 1);
    assert_int_equal(r.rows, 6);
    assert_int_equal(r.past, 1);
    assert_int_equal(r.postings, 13);
    assert_int_equal(r.changes, 8);
    assert_int_equal(r.sources, 1);
    assert_int_equal(r.nonces, 6);
    assert_int_equal(r.reactions, 1);
    assert_int_equal(r.ahead, 0);
    assert_int_equal(sb_store_check(fx.store, 1, NULL, NULL, &r), 0);
    assert_int_equal(r.ahead, 1);
}

static void
test_messages(void **state)
{
    (void)state;
    struct sb_key key;
    sb_key_row(&key, thread, pos[0]);
    fixture_flip(fx.store, SB_TABLE_MESSAGES, &key, 34);
    finds(1, 0, 0, 0);
    fixture_flip(fx.store, SB_TABLE_MESSAGES, &key, 34);
    sb_key_row(&key, thread, pos[5]);
    fixture_raw_del(fx.store, SB_TABLE_MESSAGES, &key);
    finds(0, 1, 0, 2); /* lost, and two postings lead nowhere */
}

static void
test_lost_without_a_trace(void **state)
{
    (void)state;
    struct sb_key key;
    const struct sb_hash tags[2] = {fixture_tag(1), fixture_tag(7)};
    sb_key_row(&key, thread, pos[5]);
    fixture_raw_del(fx.store, SB_TABLE_MESSAGES, &key);
    sb_key_seq(&key, thread, 6);
    fixture_raw_del(fx.store, SB_TABLE_BY_SEQ, &key);
    for (int i = 0; i < 2; i++)
    {
        sb_key_tag(&key, thread, &tags[i], pos[5]);
        fixture_raw_del(fx.store, SB_TABLE_TAGS, &key);
    }
    finds(0, 1, 0, 0);
}

static void
test_by_seq(void **state)
{
    (void)state;
    struct sb_key key;
    uint8_t value[SB_SEQ_LEN];
    sb_key_seq(&key, thread, 3);
    fixture_flip(fx.store, SB_TABLE_BY_SEQ, &key, 10);
    finds(1, 0, 0, 0);
    fixture_raw_del(fx.store, SB_TABLE_BY_SEQ, &key);
    finds(0, 0, 1, 0);
    sb_seq_encode(sb_key_view(&key), pos[2].at, value);
    fixture_raw_put(fx.store, SB_TABLE_BY_SEQ, &key, sb_bytes(value, sizeof(value)));
    finds(0, 0, 0, 0);
    sb_key_seq(&key, thread, 9);
    sb_seq_encode(sb_key_view(&key), 1, value);
    fixture_raw_put(fx.store, SB_TABLE_BY_SEQ, &key, sb_bytes(value, sizeof(value)));
    finds(0, 1, 0, 0);
}

static void
test_tags_and_past(void **state)
{
    (void)state;
    struct sb_key key;
    const struct sb_hash now = fixture_tag(20), former = fixture_tag(3), none = fixture_tag(4);
    static const uint8_t created[8] = {0};
    sb_key_tag(&key, thread, &now, pos[1]);
    fixture_raw_del(fx.store, SB_TABLE_TAGS, &key);
    sb_key_tag(&key, thread, &former, pos[1]);
    fixture_raw_del(fx.store, SB_TABLE_TAGS, &key);
    finds(0, 0, 2, 0); /* the row's and the former state's */
    sb_key_tag(&key, thread, &none, (struct sb_pos){1, 77});
    fixture_raw_put(fx.store, SB_TABLE_TAGS, &key, sb_bytes(created, 8));
    finds(0, 0, 2, 1);
    sb_key_past(&key, thread, pos[1], edited);
    fixture_flip(fx.store, SB_TABLE_PAST, &key, 33);
    finds(1, 0, 1, 1);
}

static void
test_threads_and_names(void **state)
{
    (void)state;
    struct sb_key key;
    struct sb_hash hash;
    sb_layout_hash2(((struct sb_store_inner *)fx.store)->identity.hash_key, SB_LIT("default"),
                    SB_LIT("a"), &hash);
    sb_key_name_hash(&key, &hash);
    fixture_raw_del(fx.store, SB_TABLE_NAMES, &key);
    finds(0, 0, 1, 0);
    assert_int_equal(sb_key_name(&key, SB_LIT("default"), SB_LIT("b")), 0);
    fixture_raw_put(fx.store, SB_TABLE_NAMES, &key, sb_bytes("\0\0\0\0\0\0\0\11", 8));
    finds(0, 0, 1, 1);
    sb_key_thread(&key, thread);
    fixture_flip(fx.store, SB_TABLE_THREADS, &key, 20);
    finds(1, 0, 0, 1);
}

static void
test_members(void **state)
{
    (void)state;
    struct sb_key key;
    struct sb_hash hash;
    assert_int_equal(sb_key_member(&key, thread, SB_LIT("alice")), 0);
    fixture_flip(fx.store, SB_TABLE_MEMBERS, &key, 8);
    finds(1, 0, 0, 0);
    fixture_flip(fx.store, SB_TABLE_MEMBERS, &key, 8);
    sb_layout_hash2(((struct sb_store_inner *)fx.store)->identity.hash_key, SB_LIT("default"),
                    SB_LIT("alice"), &hash);
    sb_key_reverse(&key, &hash, thread);
    fixture_raw_del(fx.store, SB_TABLE_MEMBERS, &key);
    finds(0, 0, 1, 0);
    fixture_raw_put(fx.store, SB_TABLE_MEMBERS, &key, sb_bytes(NULL, 0));
    sb_key_reverse(&key, &hash, thread + 1);
    fixture_raw_put(fx.store, SB_TABLE_MEMBERS, &key, sb_bytes(NULL, 0));
    finds(0, 0, 0, 1);
}

static void
test_the_rest(void **state)
{
    (void)state;
    struct sb_key key;
    const struct sb_hash nonce = fixture_tag(10), id = fixture_tag(9);
    static const uint8_t source[SB_SOURCE_LEN] = {0, 0, 0, 0, 0, 0, 0, 99};
    sb_key_nonce_day(&key, UINT64_C(1700000000000), &nonce);
    fixture_raw_del(fx.store, SB_TABLE_NONCES, &key);
    finds(0, 0, 1, 0);
    sb_key_nonce(&key, &nonce);
    fixture_raw_del(fx.store, SB_TABLE_NONCES, &key);
    finds(0, 0, 0, 0); /* as after its removal by age */
    sb_key_nonce_day(&key, UINT64_C(1700000000000), &nonce);
    fixture_raw_put(fx.store, SB_TABLE_NONCES, &key, sb_bytes(NULL, 0));
    finds(0, 0, 0, 1);
    sb_key_source(&key, thread, &id);
    fixture_raw_put(fx.store, SB_TABLE_SOURCES, &key, sb_bytes(source, sizeof(source)));
    finds(0, 0, 0, 2);
    sb_key_thread_change(&key, thread, edited);
    fixture_raw_del(fx.store, SB_TABLE_CHANGES, &key);
    finds(0, 0, 1, 2);
    sb_key_reaction(&key, thread, 88, &id, &id);
    fixture_raw_put(fx.store, SB_TABLE_REACTIONS, &key, sb_bytes("12345678\001ab", 11));
    finds(0, 0, 1, 3);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, set_up_memory, tear_down),                               \
        cmocka_unit_test_setup_teardown(test, set_up_lmdb, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_sound),   BOTH(test_messages),      BOTH(test_lost_without_a_trace),
        BOTH(test_by_seq),  BOTH(test_tags_and_past), BOTH(test_threads_and_names),
        BOTH(test_members), BOTH(test_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_apply.c - what is accepted and what becomes of it: posts, threads, members, nonces.
 */
#include "core_kit.h"

#include <stdio.h>

static struct ck k;

static int
setup(void **state)
{
    (void)state;
    ck_open(&k, 0);
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "t", "alice", SB_ROLE_WRITER);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ck_close(&k);
    return 0;
}

static struct sb_record
post_of(const char *user, const char *text, const char *nonce)
{
    struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", user);
    r.service = false;
    r.post.message.by = r.user;
    r.post.message.text = sb_bytes_str(text);
    r.post.nonce = sb_bytes_str(nonce);
    return r;
}

static struct sb_result
post(const char *user, const char *text, const char *nonce)
{
    struct sb_record r = post_of(user, text, nonce);
    return ck_apply(&k, &r);
}

static uint64_t
published(void)
{
    return k.store->ops->published(k.store);
}

/* A record that is refused with this, and that leaves the store's version as it was. */
static void
refuse(const struct sb_record *r, int err)
{
    uint64_t before = published();
    struct sb_result res = ck_apply(&k, r);
    if (res.err != err)
        fail_msg("%s, expected %s", sb_error_name(res.err), sb_error_name(err));
    assert_int_equal(published(), before);
}

static struct sb_member
member(const char *thread, const char *user)
{
    struct sb_txn *txn;
    struct sb_thread t;
    struct sb_member m = {0};
    assert_int_equal(k.store->ops->read_begin(k.store, &txn), 0);
    assert_int_equal(k.store->ops->thread_find(txn, SB_LIT("acme"), sb_bytes_str(thread), &t), 0);
    assert_int_equal(k.store->ops->member_get(txn, t.id, sb_bytes_str(user), &m), 0);
    k.store->ops->read_end(txn);
    return m;
}

static void
test_dense_seqs_and_versions(void **state)
{
    (void)state;
    uint64_t v = published();
    for (uint64_t i = 1; i <= 5; i++)
    {
        struct sb_result res = post("alice", "x", "");
        assert_int_equal(res.err, 0);
        assert_int_equal(res.seq, i);
        assert_int_equal(res.version, v + i);
        assert_int_equal(res.at, k.now_ms);
        assert_false(res.duplicate);
    }
    assert_int_equal(published(), v + 5);
}

/* "A post gets at = max(now, newest at)." */
static void
test_time_never_goes_back(void **state)
{
    (void)state;
    uint64_t start = k.now_ms;
    assert_int_equal(post("alice", "x", "").at, start);
    k.now_ms -= 86400 * 1000;
    assert_int_equal(post("alice", "x", "").at, start);
    k.now_ms = start + 5;
    assert_int_equal(post("alice", "x", "").at, start + 5);
}

static void
test_who_posts(void **state)
{
    (void)state;
    ck_member(&k, "t", "reader", SB_ROLE_READER);
    ck_member(&k, "t", "gone", SB_ROLE_WRITER);
    ck_member(&k, "t", "gone", SB_ROLE_NONE);
    const char *closed[] = {"reader", "gone", "stranger"};
    for (int i = 0; i < 3; i++)
    {
        struct sb_record r = post_of(closed[i], "x", "");
        refuse(&r, SB_ERR_FORBIDDEN);
    }
    struct sb_record r = post_of("alice", "x", "");
    r.thread = SB_LIT("nowhere");
    refuse(&r, SB_ERR_FORBIDDEN);
    r = post_of("alice", "x", "");
    r.tenant = SB_LIT("other");
    refuse(&r, SB_ERR_FORBIDDEN);
    r = post_of("stranger", "x", "");
    r.service = true;
    assert_int_equal(ck_apply(&k, &r).err, 0);
    /* Any user of the tenant reads an open thread; posting takes a role. */
    ck_thread(&k, "open", SB_HISTORY_ALL, SB_ACCESS_TENANT);
    r = post_of("stranger", "x", "");
    r.thread = SB_LIT("open");
    refuse(&r, SB_ERR_FORBIDDEN);
}

static void
test_reply_to(void **state)
{
    (void)state;
    ck_thread(&k, "s", SB_HISTORY_SINCE_JOIN, SB_ACCESS_MEMBERS);
    ck_post(&k, "s", "root", "before");
    ck_member(&k, "s", "alice", SB_ROLE_WRITER);
    ck_post(&k, "s", "root", "after");
    struct sb_record r = post_of("alice", "x", "");
    r.thread = SB_LIT("s");
    uint64_t missing[] = {0, 1, 3, UINT64_MAX};
    for (int i = 0; i < 4; i++) /* hidden or not there: no difference */
    {
        r.post.message.reply_to = (struct sb_opt_uint){true, missing[i]};
        refuse(&r, SB_ERR_NOT_FOUND);
    }
    r.post.message.reply_to.value = 2;
    assert_int_equal(ck_apply(&k, &r).err, 0);
}

/* ---- nonces ---- */

static void
test_nonce(void **state)
{
    (void)state;
    struct sb_result a = post("alice", "first", "n");
    assert_false(a.duplicate);
    uint64_t before = published();
    struct sb_result b = post("alice", "another text", "n");
    assert_true(b.duplicate);
    assert_int_equal(b.err, 0);
    assert_int_equal(b.seq, a.seq);
    assert_int_equal(b.at, a.at);
    assert_int_equal(b.version, a.version);
    assert_int_equal(published(), before);
    assert_int_equal(post("alice", "x", "m").seq, a.seq + 1);
    assert_int_equal(post("alice", "x", "").seq, a.seq + 2);
    assert_int_equal(post("alice", "x", "").seq, a.seq + 3); /* no nonce is not a nonce */
}

static void
test_nonce_scope(void **state)
{
    (void)state;
    ck_member(&k, "t", "ali", SB_ROLE_WRITER);
    ck_thread(&k, "u", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "u", "alice", SB_ROLE_WRITER);
    assert_int_equal(post("alice", "x", "n").seq, 1);
    assert_int_equal(post("ali", "x", "cen").seq, 2); /* ali+cen is not alice+n */
    assert_int_equal(post("ali", "x", "n").seq, 3);
    struct sb_record r = post_of("alice", "x", "n");
    r.thread = SB_LIT("u");
    assert_false(ck_apply(&k, &r).duplicate);
}

/* "A nonce counts if the record's time is within 24 h of the first." */
static void
test_nonce_life(void **state)
{
    (void)state;
    const uint64_t day = 24 * 3600 * 1000;
    struct sb_result a = post("alice", "x", "n");
    ck_pass_ms(&k, day - 1);
    assert_true(post("alice", "x", "n").duplicate);
    ck_pass_ms(&k, 1);
    struct sb_result b = post("alice", "x", "n");
    assert_false(b.duplicate);
    assert_int_equal(b.seq, a.seq + 1);
    ck_pass_ms(&k, day - 1); /* now the second one is what counts */
    struct sb_result c = post("alice", "x", "n");
    assert_true(c.duplicate);
    assert_int_equal(c.seq, b.seq);
}

static void
test_nonce_in_one_batch(void **state)
{
    (void)state;
    struct sb_record a = post_of("alice", "x", "n");
    struct sb_record b = post_of("alice", "y", "n");
    struct sb_record c = post_of("stranger", "z", "n");
    const struct sb_record *batch[] = {&a, &c, &b};
    struct sb_result res[3];
    assert_int_equal(sb_apply(k.applier, k.store, batch, res, 3), 0);
    k.store->ops->publish(k.store);
    assert_int_equal(res[0].err, 0);
    assert_false(res[0].duplicate);
    assert_int_equal(res[1].err, SB_ERR_FORBIDDEN); /* one refused row does not stop the others */
    assert_true(res[2].duplicate);
    assert_int_equal(res[2].seq, res[0].seq);
    /* A nonce tells nothing to one who may not post any more. */
    ck_member(&k, "t", "alice", SB_ROLE_READER);
    refuse(&a, SB_ERR_FORBIDDEN);
}

/* A reply to a row of the same batch, whose entries are not written yet. */
static void
test_reply_in_one_batch(void **state)
{
    (void)state;
    struct sb_record a = post_of("alice", "x", "");
    struct sb_record b = post_of("alice", "y", "");
    b.post.message.reply_to = (struct sb_opt_uint){true, 1};
    const struct sb_record *batch[] = {&a, &b};
    struct sb_result res[2];
    assert_int_equal(sb_apply(k.applier, k.store, batch, res, 2), 0);
    k.store->ops->publish(k.store);
    assert_int_equal(res[1].err, 0);
}

/* ---- threads ---- */

static void
test_create_thread(void **state)
{
    (void)state;
    struct sb_founder f[] = {{SB_LIT("bob"), SB_ROLE_MODERATOR}, {SB_LIT("carol"), SB_ROLE_READER}};
    struct sb_record r = ck_record(&k, SB_RECORD_CREATE_THREAD, "n", "root");
    r.create_thread.history = SB_HISTORY_SINCE_JOIN;
    r.create_thread.n_members = 2;
    r.create_thread.members = f;
    r.service = false;
    refuse(&r, SB_ERR_FORBIDDEN);
    r.service = true;
    r.create_thread.access = SB_ACCESS_TENANT;
    refuse(&r, SB_ERR_BAD_ACCESS);
    r.create_thread.access = SB_ACCESS_MEMBERS;
    uint64_t before = published();
    struct sb_result res = ck_apply(&k, &r);
    assert_int_equal(res.err, 0);
    assert_int_equal(res.version, before + 1);
    assert_int_equal(published(), before + 1);
    refuse(&r, SB_ERR_THREAD_EXISTS);
    assert_int_equal(member("n", "bob").role, SB_ROLE_MODERATOR);
    assert_int_equal(sb_pos_cmp(member("n", "carol").join, SB_POS_MIN), 0);
    r.tenant = SB_LIT("other"); /* names are a tenant's own */
    assert_int_equal(ck_apply(&k, &r).err, 0);
}

/* ---- members ---- */

static struct sb_record
set_member(const char *by, const char *user, enum sb_role role)
{
    struct sb_record r = ck_record(&k, SB_RECORD_SET_MEMBER, "t", by);
    r.service = false;
    r.set_member.user = sb_bytes_str(user);
    r.set_member.role = role;
    return r;
}

static void
test_set_member_rules(void **state)
{
    (void)state;
    ck_member(&k, "t", "mod", SB_ROLE_MODERATOR);
    ck_member(&k, "t", "mod2", SB_ROLE_MODERATOR);
    const struct
    {
        const char *by, *user;
        enum sb_role role;
        int err;
    } cases[] = {
        {"alice", "bob", SB_ROLE_READER, SB_ERR_FORBIDDEN},
        {"stranger", "bob", SB_ROLE_READER, SB_ERR_FORBIDDEN},
        {"mod", "bob", SB_ROLE_MODERATOR, SB_ERR_FORBIDDEN},
        {"mod", "mod2", SB_ROLE_NONE, SB_ERR_FORBIDDEN},
        {"mod", "mod2", SB_ROLE_WRITER, SB_ERR_FORBIDDEN},
        {"mod", "mod", SB_ROLE_NONE, SB_ERR_FORBIDDEN},
        {"mod", "bob", SB_ROLE_WRITER, 0},
        {"mod", "bob", SB_ROLE_READER, 0},
        {"mod", "bob", SB_ROLE_NONE, 0},
        {"bob", "bob", SB_ROLE_WRITER, SB_ERR_FORBIDDEN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    {
        struct sb_record r = set_member(cases[i].by, cases[i].user, cases[i].role);
        if (cases[i].err != 0)
            refuse(&r, cases[i].err);
        else
            assert_int_equal(ck_apply(&k, &r).err, 0);
    }
    assert_int_equal(member("t", "bob").role, SB_ROLE_NONE);
}

/* The join position is (max(now, newest at), last seq), and raises the newest at. */
static void
test_join_positions(void **state)
{
    (void)state;
    ck_thread(&k, "s", SB_HISTORY_SINCE_JOIN, SB_ACCESS_MEMBERS);
    ck_post(&k, "s", "root", "one");
    ck_pass_ms(&k, 100);
    ck_member(&k, "s", "alice", SB_ROLE_READER);
    struct sb_pos join = member("s", "alice").join;
    assert_int_equal(join.at, k.now_ms);
    assert_int_equal(join.seq, 1);
    k.now_ms -= 50; /* the clock goes back: still after the join */
    struct sb_result two = ck_post(&k, "s", "root", "two");
    assert_int_equal(two.at, join.at);
    assert_int_equal(two.seq, 2);

    ck_member(&k, "s", "alice", SB_ROLE_MODERATOR); /* a change of role keeps it */
    assert_int_equal(sb_pos_cmp(member("s", "alice").join, join), 0);
    ck_member(&k, "s", "alice", SB_ROLE_NONE);
    ck_member(&k, "s", "alice", SB_ROLE_READER); /* a return sets a new one */
    assert_int_equal(member("s", "alice").join.seq, 2);
    assert_int_equal(member("s", "alice").join.at, two.at);
}

/* ---- the store fails ---- */

static bool
same_thread(const char *name)
{
    struct sb_txn *txn;
    struct sb_thread t;
    assert_int_equal(k.store->ops->read_begin(k.store, &txn), 0);
    int rc = k.store->ops->thread_find(txn, SB_LIT("acme"), sb_bytes_str(name), &t);
    k.store->ops->read_end(txn);
    return rc == 0;
}

/* Whichever call of the store fails: nothing of the batch is stored, and all is told so. */
static void
test_each_store_failure(void **state)
{
    (void)state;
    struct sb_record a = post_of("alice", "x", "n");
    struct sb_record b = ck_record(&k, SB_RECORD_CREATE_THREAD, "new", "root");
    struct sb_founder f[] = {{SB_LIT("bob"), SB_ROLE_WRITER}};
    b.create_thread.n_members = 1;
    b.create_thread.members = f;
    struct sb_record c = set_member("root", "bob", SB_ROLE_READER);
    c.service = true;
    struct sb_record d = post_of("stranger", "x", "");
    const struct sb_record *batch[] = {&a, &d, &b, &c};
    struct sb_result res[4];
    uint64_t before = published();
    int rc = SB_ERR_IO;
    int failures = 0;
    for (uint64_t n = 1; rc != 0; n++)
    {
        assert_true(n < 1000);
        kv_fault_arm(k.fault, n, SB_ERR_IO);
        rc = sb_apply(k.applier, k.store, batch, res, 4);
        bool hit = kv_fault_hit(k.fault);
        kv_fault_arm(k.fault, 0, 0);
        assert_int_equal(kv_fault_open(k.fault), 0);
        if (rc == 0)
        {
            assert_false(hit);
            break;
        }
        failures++;
        assert_int_equal(rc, SB_ERR_IO);
        for (int i = 0; i < 4; i++)
            assert_int_equal(res[i].err, SB_ERR_IO);
        k.store->ops->publish(k.store);
        assert_int_equal(published(), before);
        assert_false(same_thread("new"));
    }
    assert_true(failures > 10);
    k.store->ops->publish(k.store);
    assert_int_equal(published(), before + 3);
    assert_int_equal(res[0].seq, 1);
    assert_false(res[0].duplicate);
    assert_int_equal(res[1].err, SB_ERR_FORBIDDEN);
    assert_true(same_thread("new"));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_dense_seqs_and_versions),
        T(test_time_never_goes_back),
        T(test_who_posts),
        T(test_reply_to),
        T(test_nonce),
        T(test_nonce_scope),
        T(test_nonce_life),
        T(test_nonce_in_one_batch),
        T(test_reply_in_one_batch),
        T(test_create_thread),
        T(test_set_member_rules),
        T(test_join_positions),
        T(test_each_store_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_session.c - the step: hello, tokens, rates, malformed frames, posts, waiting scans.
 */
#include "core_kit.h"

#include <stdio.h>

#include "frame_kit.h"

static struct ck k;

static int
setup(void **state)
{
    (void)state;
    ck_open(&k, 0);
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "t", "alice", SB_ROLE_WRITER);
    ck_member(&k, "t", "bob", SB_ROLE_WRITER);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ck_close(&k);
    return 0;
}

/* ---- hello ---- */

static void
test_hello(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, NULL);
    assert_false(sb_session_ready(c->s));
    assert_string_equal(sb_session_claims(c->s)->user, "");
    assert_int_equal(sb_session_max_frame(c->s), SB_MAX_FRAME_HELLO);
    json_t *r = ck_ask(c, "{'op':'hello','token':'alice@acme'}");
    assert_string_equal(json_string_value(json_object_get(r, "user")), "alice");
    assert_string_equal(json_string_value(json_object_get(r, "tenant")), "acme");
    assert_true(json_is_null(json_object_get(r, "resume")));
    assert_true(json_is_false(json_object_get(r, "resumed")));
    assert_int_equal(ck_uint(r, "version"), k.store->ops->published(k.store));
    assert_int_equal(ck_uint(r, "epoch"), k.store->ops->epoch(k.store));
    assert_int_equal(ck_uint(r, "heartbeat_ms"), 30000);
    json_t *limits = json_object_get(r, "limits");
    assert_int_equal(ck_uint(limits, "page"), 200);
    assert_int_equal(ck_uint(limits, "page_bytes"), 1 << 20);
    assert_int_equal(ck_uint(limits, "frame"), 65536);
    assert_int_equal(ck_uint(limits, "text"), 48 * 1024);
    assert_true(sb_session_ready(c->s));
    assert_int_equal(sb_session_max_frame(c->s), 65536);
    assert_int_equal(sb_engine_telemetry(k.engine)->sessions_ready, 1);
    ck_drop(c);
    c = ck_connect(&k, "!root");
    assert_int_equal(sb_session_max_frame(c->s), SB_MAX_FRAME_SERVICE);
    ck_drop(c);
}

static void
test_hello_deadline(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, NULL);
    ck_pass_ms(&k, 4999);
    k.now_us += 999;
    ck_tick(c);
    assert_int_equal(c->closed, 0);
    k.now_us++;
    ck_tick(c);
    assert_int_equal(c->closed, 4401);
    assert_int_equal(json_array_size(c->frames), 0);
    /* Nothing is taken after a close. */
    assert_null(ck_ask(c, "{'op':'hello','token':'alice'}"));
    assert_false(sb_session_ready(c->s));
    ck_drop(c);
}

static void
test_operation_before_hello(void **state)
{
    (void)state;
    const char *ops[] = {"{'op':'load_older','thread':'t'}",
                         "{'op':'threads'}",
                         "{'op':'post','thread':'t','text':'x'}",
                         "{'op':'no such thing'}",
                         "{'op':'load_older'}",
                         "{}"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
    {
        struct ck_client *c = ck_connect(&k, NULL);
        assert_null(ck_ask(c, "%s", ops[i]));
        assert_int_equal(c->closed, 4401);
        assert_null(c->held);
        ck_drop(c);
    }
}

static void
test_bad_token(void **state)
{
    (void)state;
    const char *tokens[] = {"bad", "", "alice#1", "alice#1700000000000"};
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
    {
        struct ck_client *c = ck_connect(&k, NULL);
        json_t *r = ck_ask(c, "{'op':'hello','token':'%s'}", tokens[i]);
        assert_string_equal(ck_error(r), "unauthenticated");
        assert_int_equal(c->closed, 4401);
        ck_drop(c);
    }
    /* A hello without its form is told so and may be sent again. */
    struct ck_client *c = ck_connect(&k, NULL);
    assert_string_equal(ck_error(ck_ask(c, "{'op':'hello'}")), "bad_request");
    assert_int_equal(c->closed, 0);
    assert_string_equal(ck_error(ck_ask(c, "{'op':'hello','token':'alice'}")), "");
    ck_drop(c);
}

static void
test_second_hello(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, "alice#1700000010000");
    assert_string_equal(ck_error(ck_ask(c, "{'op':'hello','token':'alice#1700000099000'}")), "");
    ck_pass_ms(&k, 50000);
    ck_tick(c);
    assert_int_equal(c->closed, 0);
    const char *others[] = {"bob", "alice@other", "bad", "alic"};
    for (size_t i = 0; i < 4; i++)
    {
        struct ck_client *d = ck_connect(&k, "alice");
        json_t *r = ck_ask(d, "{'op':'hello','token':'%s'}", others[i]);
        assert_string_equal(ck_error(r), "unauthenticated");
        assert_int_equal(d->closed, 4401);
        ck_drop(d);
    }
    ck_drop(c);
    assert_int_equal(sb_engine_telemetry(k.engine)->sessions_ready, 0);
}

static void
test_token_expiry(void **state)
{
    (void)state;
    for (int by_tick = 0; by_tick < 2; by_tick++)
    {
        k.now_ms = CK_START_MS;
        struct ck_client *c = ck_connect(&k, "alice#1700000010000");
        k.now_ms = CK_START_MS + 9999;
        ck_tick(c);
        assert_string_equal(ck_error(ck_ask(c, "{'op':'load_older','thread':'t'}")), "");
        k.now_ms++;
        if (by_tick != 0)
            ck_tick(c);
        else
            assert_null(ck_ask(c, "{'op':'load_older','thread':'t'}"));
        assert_int_equal(c->closed, 4403);
        ck_drop(c);
    }
    /* A renewing hello gets through although the old token has just run out. */
    k.now_ms = CK_START_MS;
    struct ck_client *c = ck_connect(&k, "alice#1700000010000");
    k.now_ms = CK_START_MS + 10500;
    assert_string_equal(ck_error(ck_ask(c, "{'op':'hello','token':'alice'}")), "");
    ck_tick(c);
    assert_int_equal(c->closed, 0);
    ck_drop(c);
}

/* ---- frames ---- */

static void
test_malformed(void **state)
{
    (void)state;
    const char *frames[] = {"",           "c1",         "9301",           "ddffffffff",
                            "dfffffffff", "c0",         "82a17401a17402", "81a17401ff",
                            "81017402",   "81a2c32801", "81a174d40000"};
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        for (int hello = 0; hello < 2; hello++)
        {
            struct ck_client *c = ck_connect(&k, hello != 0 ? "alice" : NULL);
            struct sb_bytes b = kit_unhex(frames[i]);
            ck_send_bytes(c, b);
            kit_free(b);
            assert_int_equal(c->closed, 1007);
            ck_drop(c);
        }
}

static void
test_bad_requests(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, "alice");
    const char *bad[] = {"{'op':'no such thing'}",
                         "{'op':5}",
                         "{'thread':'t'}",
                         "{'op':'load_older'}",
                         "{'op':'load_older','thread':'t','limit':0}",
                         "{'op':'load_older','thread':'t','limit':201}",
                         "{'op':'load_older','thread':'t','cursor':'text'}",
                         "{'op':'load_older','thread':'t','filter':{'what':1}}",
                         "{'op':'load_around','thread':'t'}",
                         "{'op':'subscribe','thread':'t'}",
                         "{'op':'import','rows':[]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_string_equal(ck_error(ck_ask(c, "%s", bad[i])), "bad_request");
    /* An id of another type: re is nil. */
    struct sb_bytes b = kit_pack("{'op':'threads','id':'x'}");
    size_t before = json_array_size(c->frames);
    ck_send_bytes(c, b);
    kit_free(b);
    json_t *last = json_array_get(c->frames, before);
    assert_true(json_is_null(json_object_get(last, "re")));
    assert_string_equal(ck_error(last), "bad_request");
    assert_int_equal(c->closed, 0);
    assert_int_equal(sb_engine_telemetry(k.engine)->errors[SB_CODE_BAD_REQUEST],
                     sizeof(bad) / sizeof(bad[0]) + 1);
    ck_drop(c);
}

static void
test_rate_limit(void **state)
{
    (void)state;
    k.settings.rate_limit = 5;
    struct ck_client *a = ck_connect(&k, "alice");
    struct ck_client *b = ck_connect(&k, "alice"); /* one user: one bucket */
    struct ck_client *other = ck_connect(&k, "bob");
    for (int i = 0; i < 5; i++)
        assert_string_equal(ck_error(ck_ask(i % 2 == 0 ? a : b, "{'op':'threads'}")), "");
    json_t *r = ck_ask(b, "{'op':'threads'}");
    assert_string_equal(ck_error(r), "rate_limited");
    uint64_t retry = ck_uint(json_object_get(r, "error"), "retry_ms");
    assert_in_range(retry, 1, 201);
    assert_string_equal(ck_error(ck_ask(a, "{'op':'nonsense'}")), "rate_limited");
    assert_string_equal(ck_error(ck_ask(other, "{'op':'threads'}")), "");
    ck_pass_ms(&k, retry); /* the wait that was told is enough */
    assert_string_equal(ck_error(ck_ask(a, "{'op':'threads'}")), "");
    assert_string_equal(ck_error(ck_ask(b, "{'op':'threads'}")), "rate_limited");
    ck_pass_ms(&k, 60000); /* no more than one second's worth is saved up */
    for (int i = 0; i < 5; i++)
        assert_string_equal(ck_error(ck_ask(a, "{'op':'threads'}")), "");
    assert_string_equal(ck_error(ck_ask(b, "{'op':'threads'}")), "rate_limited");
    assert_int_equal(a->closed + b->closed, 0);
    ck_drop(a);
    ck_drop(b);
    ck_drop(other);
}

/* Another connection is no way around the limit, also when it is the only one. */
static void
test_rate_limit_outlives_the_connection(void **state)
{
    (void)state;
    k.settings.rate_limit = 5;
    struct ck_client *a = ck_connect(&k, "alice");
    for (int i = 0; i < 5; i++)
        assert_string_equal(ck_error(ck_ask(a, "{'op':'threads'}")), "");
    ck_drop(a);
    a = ck_connect(&k, "alice");
    assert_string_equal(ck_error(ck_ask(a, "{'op':'threads'}")), "rate_limited");
    ck_drop(a);
    ck_pass_ms(&k, 1000); /* the bucket is full again */
    a = ck_connect(&k, "alice");
    assert_string_equal(ck_error(ck_ask(a, "{'op':'threads'}")), "");
    ck_drop(a);
}

/* ---- writes ---- */

static void
test_post_and_reply(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, "alice");
    json_t *r = ck_ask(c, "{'op':'post','thread':'t','text':'hello','nonce':'n','kind':'message',"
                          "'mentions':['bob'],'meta':{'a':1}}");
    assert_int_equal(ck_uint(r, "seq"), 1);
    assert_int_equal(ck_uint(r, "at"), k.now_ms);
    assert_int_equal(ck_uint(r, "version"), k.store->ops->published(k.store));
    assert_null(json_object_get(r, "duplicate"));
    r = ck_ask(c, "{'op':'post','thread':'t','text':'other','nonce':'n'}");
    assert_int_equal(ck_uint(r, "seq"), 1);
    assert_true(json_is_true(json_object_get(r, "duplicate")));
    r = ck_ask(c, "{'op':'load_older','thread':'t'}");
    json_t *m = json_array_get(json_object_get(r, "messages"), 0);
    char *text = json_dumps(m, JSON_COMPACT | JSON_SORT_KEYS);
    char want[256];
    snprintf(want, sizeof(want),
             "{\"at\":%llu,\"by\":\"alice\",\"mentions\":[\"bob\"],\"meta\":{\"a\":1},\"seq\":1,"
             "\"text\":\"hello\",\"version\":%llu}",
             (unsigned long long)k.now_ms, (unsigned long long)ck_uint(r, "version"));
    assert_string_equal(text, want); /* the default kind is not written */
    free(text);
    assert_string_equal(ck_error(ck_ask(c, "{'op':'post','thread':'t','text':''}")), "bad_request");
    assert_string_equal(
        ck_error(ck_ask(c, "{'op':'post','thread':'t','text':{'$repeat':['x',49153]}}")),
        "too_large");
    assert_string_equal(ck_error(ck_ask(c, "{'op':'post','thread':'u','text':'x'}")), "forbidden");
    assert_string_equal(ck_error(ck_ask(c, "{'op':'post','thread':'t','text':'x','reply_to':9}")),
                        "not_found");
    ck_drop(c);
}

static void
test_thread_and_members(void **state)
{
    (void)state;
    struct ck_client *root = ck_connect(&k, "!root");
    struct ck_client *alice = ck_connect(&k, "alice");
    json_t *r = ck_ask(root, "{'op':'create_thread','thread':'n','title':'A title',"
                             "'members':{'alice':'moderator','bob':'reader'}}");
    assert_int_equal(ck_uint(r, "version"), k.store->ops->published(k.store));
    assert_int_equal(json_object_size(r), 2);
    assert_string_equal(ck_error(ck_ask(root, "{'op':'create_thread','thread':'n'}")), "conflict");
    assert_string_equal(ck_error(ck_ask(alice, "{'op':'create_thread','thread':'m'}")),
                        "forbidden");
    r = ck_ask(alice, "{'op':'set_member','thread':'n','user':'bob','role':'writer'}");
    assert_int_equal(ck_uint(r, "version"), k.store->ops->published(k.store));
    assert_string_equal(
        ck_error(ck_ask(alice, "{'op':'set_member','thread':'n','user':'bob','role':'moderator'}")),
        "forbidden");
    r = ck_ask(alice, "{'op':'set_member','thread':'n','user':'bob','role':null}");
    assert_string_equal(ck_error(r), "");
    assert_string_equal(ck_words(ck_ask(alice, "{'op':'members','thread':'n'}"), "members", "user"),
                        "alice");
    ck_drop(root);
    ck_drop(alice);
}

/* A record that the writer's queue did not take, and one whose session is closed by then. */
static void
test_written_events(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, "alice#1700000010000");
    k.hold_writes = true;
    uint64_t id = ck_send(c, "{'op':'post','thread':'t','text':'x'}");
    assert_null(ck_reply(c, id));
    assert_int_equal(c->held->time_ms, k.now_ms);
    assert_false(c->held->service);
    ck_tell_written(c, (struct sb_result){.err = SB_ERR_OVERLOADED});
    assert_string_equal(ck_error(ck_reply(c, id)), "overloaded");
    id = ck_send(c, "{'op':'post','thread':'t','text':'x'}");
    k.now_ms += 20000;
    ck_tick(c);
    assert_int_equal(c->closed, 4403);
    ck_write_held(c);
    assert_null(ck_reply(c, id));
    ck_drop(c);
}

/* ---- what is hidden answers like what is missing ---- */

static void
same_answer(struct ck_client *c, const char *there, const char *missing)
{
    uint8_t first[1024];
    c->next_id = 1000;
    json_t *r = ck_ask(c, "%s", there);
    assert_string_not_equal(ck_error(r), "");
    size_t len = c->last_raw.len;
    memcpy(first, c->last_raw.data, len);
    json_array_clear(c->frames);
    c->next_id = 1000;
    ck_ask(c, "%s", missing);
    assert_int_equal(c->last_raw.len, len);
    assert_memory_equal(c->last_raw.data, first, len);
    json_array_clear(c->frames);
}

static void
test_hidden_is_missing(void **state)
{
    (void)state;
    ck_thread(&k, "secret", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_thread(&k, "since", SB_HISTORY_SINCE_JOIN, SB_ACCESS_MEMBERS);
    ck_post(&k, "since", "root", "before");
    ck_member(&k, "since", "alice", SB_ROLE_MODERATOR);
    ck_post(&k, "since", "root", "after");
    struct ck_client *c = ck_connect(&k, "alice");
    const char *on_thread[] = {
        "{'op':'load_older','thread':'%s'}",
        "{'op':'load_newer','thread':'%s'}",
        "{'op':'load_around','thread':'%s','seq':1}",
        "{'op':'load_around','thread':'%s','at':1}",
        "{'op':'load_older','thread':'%s','before':1}",
        "{'op':'load_older','thread':'%s','cursor':{'$bin':'00'}}",
        "{'op':'members','thread':'%s'}",
        "{'op':'post','thread':'%s','text':'x'}",
        "{'op':'set_member','thread':'%s','user':'x','role':'reader'}",
    };
    for (size_t i = 0; i < sizeof(on_thread) / sizeof(on_thread[0]); i++)
    {
        char there[256];
        char missing[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(there, sizeof(there), on_thread[i], "secret");
        snprintf(missing, sizeof(missing), on_thread[i], "nothing");
#pragma GCC diagnostic pop
        same_answer(c, there, missing);
    }
    same_answer(c, "{'op':'load_older','thread':'since','before':1}",
                "{'op':'load_older','thread':'since','before':7}");
    same_answer(c, "{'op':'load_newer','thread':'since','after':1}",
                "{'op':'load_newer','thread':'since','after':7}");
    same_answer(c, "{'op':'post','thread':'since','text':'x','reply_to':1}",
                "{'op':'post','thread':'since','text':'x','reply_to':7}");
    json_t *r = ck_ask(c, "{'op':'load_around','thread':'since','seq':1}");
    assert_true(json_is_false(json_object_get(r, "found")));
    assert_string_equal(ck_seqs(r), "");
    assert_string_equal(ck_seqs(ck_ask(c, "{'op':'load_older','thread':'since'}")), "2");
    assert_string_equal(ck_seqs(ck_ask(c, "{'op':'load_newer','thread':'since'}")), "2");
    ck_drop(c);
}

/* ---- scans that wait ---- */

/* A scan over many rows that match nothing; every slice ends at once. */
static uint64_t
slow_request(struct ck_client *c)
{
    return ck_send(c, "{'op':'load_older','thread':'t','filter':{'kind':['message'],'by':['x']}}");
}

static void
many_rows(void)
{
    for (int i = 0; i < 1500; i++)
        ck_post(&k, "t", "x", "hello");
    for (int i = 0; i < 1500; i++)
    {
        struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", "x");
        r.post.message.by = r.user;
        r.post.message.kind = SB_LIT("join");
        r.post.message.text = SB_LIT("x");
        assert_int_equal(ck_apply(&k, &r).err, 0);
    }
    k.clock_step = 1;
    k.settings.scan_slice_us = 0;
    k.hold_scans = true;
}

static void
test_scans_end_with_their_session(void **state)
{
    (void)state;
    many_rows();
    struct ck_client *a = ck_connect(&k, "alice");
    struct ck_client *b = ck_connect(&k, "bob#1700000010000");
    for (int i = 0; i < 3; i++)
    {
        slow_request(a);
        slow_request(b);
    }
    assert_int_equal(sb_engine_telemetry(k.engine)->scans_waiting, 6);
    for (int i = 0; i < 4; i++)
        assert_true(ck_slice(&k));
    ck_drop(a);
    assert_int_equal(sb_engine_telemetry(k.engine)->scans_waiting, 3);
    ck_slice(&k);
    k.now_ms += 20000;
    ck_tick(b); /* its token ran out: no page comes after the close */
    assert_int_equal(sb_engine_telemetry(k.engine)->scans_waiting, 0);
    assert_false(ck_slice(&k));
    assert_int_equal(json_array_size(b->frames), 1);
    ck_drop(b);
}

/* Fair by user, not by connection or request. */
static void
test_fair_order(void **state)
{
    (void)state;
    many_rows();
    struct ck_client *greedy[4];
    for (int i = 0; i < 4; i++)
    {
        greedy[i] = ck_connect(&k, "alice");
        for (int j = 0; j < 8; j++)
            slow_request(greedy[i]);
    }
    struct ck_client *b = ck_connect(&k, "bob");
    uint64_t id = slow_request(b);
    uint32_t slices = 0;
    while (ck_reply(b, id) == NULL)
    {
        assert_true(ck_slice(&k));
        slices++;
    }
    assert_true(slices <= 2 * b->slices + 1);
    ck_run_scans(&k);
    for (int i = 0; i < 4; i++)
    {
        assert_int_equal(json_array_size(greedy[i]->frames), 9);
        ck_drop(greedy[i]);
    }
    ck_drop(b);
}

static void
test_too_many_scans(void **state)
{
    (void)state;
    many_rows();
    struct ck_client *c = ck_connect(&k, "alice");
    for (int i = 0; i < 32; i++)
        slow_request(c);
    uint64_t id = slow_request(c);
    assert_string_equal(ck_error(ck_reply(c, id)), "overloaded");
    ck_run_scans(&k);
    for (uint64_t i = 2; i < id; i++)
        assert_string_equal(ck_error(ck_reply(c, i)), "");
    ck_drop(c);
}

/* CVE-2024-53867 and its like: access taken away between two slices of one page. */
static void
test_access_goes_during_a_scan(void **state)
{
    (void)state;
    many_rows();
    struct ck_client *c = ck_connect(&k, "alice");
    uint64_t id = slow_request(c);
    assert_true(ck_slice(&k));
    assert_null(ck_reply(c, id));
    ck_member(&k, "t", "alice", SB_ROLE_NONE);
    ck_run_scans(&k);
    assert_string_equal(ck_error(ck_reply(c, id)), "forbidden");
    /* A change of role changes nothing. */
    ck_member(&k, "t", "alice", SB_ROLE_READER);
    id = slow_request(c);
    ck_slice(&k);
    ck_member(&k, "t", "alice", SB_ROLE_MODERATOR);
    ck_run_scans(&k);
    assert_string_equal(ck_error(ck_reply(c, id)), "");
    ck_drop(c);
}

/*
 * A row that was found in one slice and deleted before the last: a tombstone in its place,
 * none of its old bytes.
 */
static void
test_delete_during_a_scan(void **state)
{
    (void)state;
    many_rows();
    ck_import(&k, "t", "x", k.now_ms, "one", "to be deleted", false);
    struct ck_client *c = ck_connect(&k, "alice");
    uint64_t id = ck_send(c, "{'op':'load_older','thread':'t','limit':2,"
                             "'filter':{'kind':['message']}}");
    assert_null(ck_reply(c, id));
    assert_true(ck_slice(&k));
    assert_null(ck_reply(c, id));
    ck_import(&k, "t", "x", k.now_ms, "one", "", true);
    ck_run_scans(&k);
    json_t *r = ck_reply(c, id);
    assert_string_equal(ck_seqs(r), "1500 3001");
    json_t *gone = json_array_get(json_object_get(r, "messages"), 1);
    assert_true(json_is_true(json_object_get(gone, "deleted")));
    assert_null(json_object_get(gone, "text"));
    ck_drop(c);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_hello),
        T(test_hello_deadline),
        T(test_operation_before_hello),
        T(test_bad_token),
        T(test_second_hello),
        T(test_token_expiry),
        T(test_malformed),
        T(test_bad_requests),
        T(test_rate_limit),
        T(test_rate_limit_outlives_the_connection),
        T(test_post_and_reply),
        T(test_thread_and_members),
        T(test_written_events),
        T(test_hidden_is_missing),
        T(test_scans_end_with_their_session),
        T(test_fair_order),
        T(test_too_many_scans),
        T(test_access_goes_during_a_scan),
        T(test_delete_during_a_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_session_cursor.c - cursors through the session: one refusal, whatever the cause.
 */
#include "core_kit.h"

#include <stdio.h>

static struct ck k;
static struct ck_client *alice;
static char cursor[256]; /* alice's, of thread t, load_older, no filter */

static int
setup(void **state)
{
    (void)state;
    ck_open(&k, 0);
    const char *threads[] = {"t", "u"};
    for (int i = 0; i < 2; i++)
    {
        ck_thread(&k, threads[i], SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
        ck_member(&k, threads[i], "alice", SB_ROLE_READER);
        ck_member(&k, threads[i], "bob", SB_ROLE_READER);
        for (int j = 0; j < 9; j++)
            ck_post(&k, threads[i], "x", "hello");
    }
    alice = ck_connect(&k, "alice");
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':2}");
    snprintf(cursor, sizeof(cursor), "%s", ck_cursor(r, "older"));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ck_drop(alice);
    ck_close(&k);
    return 0;
}

static uint8_t refusal[1024];
static size_t refusal_len;

/* invalid_cursor, byte for byte as every other one, and with this cause counted. */
static void
refuse(struct ck_client *c, enum sb_refusal cause, const char *request)
{
    const struct sb_telemetry *tel = sb_engine_telemetry(k.engine);
    uint64_t before[SB_REFUSAL_COUNT];
    memcpy(before, tel->refusals, sizeof(before));
    json_array_clear(c->frames);
    c->next_id = 1000;
    json_t *r = ck_ask(c, "%s", request);
    if (strcmp(ck_error(r), "invalid_cursor") != 0)
        fail_msg("%s: not refused: \"%s\"", request, ck_error(r));
    for (int i = 0; i < SB_REFUSAL_COUNT; i++)
        if (tel->refusals[i] != before[i] + (i == (int)cause))
            fail_msg("%s: not as %s", request, sb_refusal_names[cause]);
    if (refusal_len == 0)
    {
        refusal_len = c->last_raw.len;
        memcpy(refusal, c->last_raw.data, refusal_len);
    }
    assert_int_equal(c->last_raw.len, refusal_len);
    assert_memory_equal(c->last_raw.data, refusal, refusal_len);
}

static void
refuse_with(struct ck_client *c, enum sb_refusal cause, const char *form)
{
    char request[1024];
    const char *at = strstr(form, "CURSOR");
    assert_non_null(at);
    snprintf(request, sizeof(request), "%.*s%s%s", (int)(at - form), form, cursor, at + 6);
    refuse(c, cause, request);
}

static void
works(void)
{
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':3,'cursor':%s}", cursor);
    assert_string_equal(ck_error(r), "");
    assert_string_equal(ck_seqs(r), "5 6 7");
}

static void
test_matrix(void **state)
{
    (void)state;
    struct ck_client *bob = ck_connect(&k, "bob");
    struct ck_client *twin = ck_connect(&k, "alice");
    works();
    refuse_with(alice, SB_REFUSAL_BINDING, "{'op':'load_older','thread':'u','cursor':CURSOR}");
    refuse_with(alice, SB_REFUSAL_BINDING, "{'op':'load_newer','thread':'t','cursor':CURSOR}");
    refuse_with(alice, SB_REFUSAL_BINDING,
                "{'op':'load_older','thread':'t','cursor':CURSOR,'filter':{'by':['x']}}");
    refuse_with(alice, SB_REFUSAL_BINDING,
                "{'op':'load_older','thread':'t','cursor':CURSOR,'filter':{'from':5}}");
    refuse_with(alice, SB_REFUSAL_BINDING, "{'op':'members','thread':'t','cursor':CURSOR}");
    refuse_with(alice, SB_REFUSAL_BINDING, "{'op':'threads','cursor':CURSOR}");
    refuse_with(twin, SB_REFUSAL_UNKNOWN_HANDLE,
                "{'op':'load_older','thread':'t','cursor':CURSOR}");
    refuse_with(bob, SB_REFUSAL_UNKNOWN_HANDLE, "{'op':'load_older','thread':'t','cursor':CURSOR}");
    /* chatwoot/chatwoot#15400: absurd ones. */
    refuse(alice, SB_REFUSAL_MALFORMED, "{'op':'load_older','thread':'t','cursor':{'$bin':''}}");
    refuse(alice, SB_REFUSAL_MALFORMED, "{'op':'load_older','thread':'t','cursor':{'$bin':'01'}}");
    char longest[512];
    snprintf(longest, sizeof(longest),
             "{'op':'load_older','thread':'t','cursor':{'$bin':'%0192d'}}", 1);
    refuse(alice, SB_REFUSAL_MALFORMED, longest);
    const char *bad[] = {"5", "'x'", "-1", "4611686018427387904", "true", "[]", "{}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_string_equal(
            ck_error(ck_ask(alice, "{'op':'load_older','thread':'t','cursor':%s}", bad[i])),
            "bad_request");
    snprintf(longest, sizeof(longest),
             "{'op':'load_older','thread':'t','cursor':{'$bin':'%0194d'}}", 1);
    assert_string_equal(ck_error(ck_ask(alice, "%s", longest)), "bad_request");
    works();
    ck_drop(bob);
    ck_drop(twin);
}

/* Equivalent filters are one filter. */
static void
test_equivalent_filters(void **state)
{
    (void)state;
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':2,"
                              "'filter':{'by':['x','y','x'],'kind':[],'text':''}}");
    r = ck_ask(alice,
               "{'op':'load_older','thread':'t','limit':2,'cursor':%s,"
               "'filter':{'by':['y','x'],'from':0}}",
               ck_cursor(r, "older"));
    assert_string_equal(ck_seqs(r), "6 7");
    r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':2,'filter':{}}");
    r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':2,'filter':null,'cursor':%s}",
               ck_cursor(r, "older"));
    assert_string_equal(ck_seqs(r), "6 7");
}

static void
test_bits(void **state)
{
    (void)state;
    const char *hex = strchr(cursor, ':') + 2;
    for (size_t bit = 0; bit < 45 * 8; bit += 7)
    {
        char flipped[256];
        memcpy(flipped, cursor, sizeof(flipped));
        char *digit = flipped + (hex - cursor) + bit / 4;
        int v = *digit <= '9' ? *digit - '0' : *digit - 'a' + 10;
        *digit = "0123456789abcdef"[v ^ 1 << bit % 4];
        char request[512];
        snprintf(request, sizeof(request), "{'op':'load_older','thread':'t','cursor':%s}", flipped);
        enum sb_refusal cause = bit / 8 == 0  ? SB_REFUSAL_MALFORMED
                                : bit / 8 < 5 ? SB_REFUSAL_UNKNOWN_KEY
                                              : SB_REFUSAL_BAD_TAG;
        refuse(alice, cause, request);
    }
    works();
}

static void
test_expiry_and_eviction(void **state)
{
    (void)state;
    char later[256];
    ck_pass_ms(&k, 15 * 60 * 1000 - 1);
    works();
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':2,'cursor':%s}", cursor);
    snprintf(later, sizeof(later), "%s", ck_cursor(r, "older"));
    ck_pass_ms(&k, 1);
    refuse_with(alice, SB_REFUSAL_EXPIRED, "{'op':'load_older','thread':'t','cursor':CURSOR}");
    memcpy(cursor, later, sizeof(cursor));
    /* 63 more walks fill the table; one more and this walk, used least, is gone. */
    for (int i = 0; i < 64; i++)
        ck_ask(alice, "{'op':'load_older','thread':'t','limit':2}");
    refuse_with(alice, SB_REFUSAL_UNKNOWN_HANDLE,
                "{'op':'load_older','thread':'t','cursor':CURSOR}");
}

static void
test_keys(void **state)
{
    (void)state;
    struct sb_cursor_keys keys = {.n = 2};
    keys.v[0].id = 9;
    keys.v[1].id = 1;
    memset(keys.v[1].key, 0x55, 32);
    sb_engine_set_keys(k.engine, &keys);
    works();
    keys.n = 1;
    sb_engine_set_keys(k.engine, &keys);
    refuse_with(alice, SB_REFUSAL_UNKNOWN_KEY, "{'op':'load_older','thread':'t','cursor':CURSOR}");
}

/* Forbidden is decided before the cursor is looked at. */
static void
test_access_first(void **state)
{
    (void)state;
    ck_member(&k, "t", "alice", SB_ROLE_NONE);
    assert_string_equal(
        ck_error(ck_ask(alice, "{'op':'load_older','thread':'t','cursor':%s}", cursor)),
        "forbidden");
    assert_string_equal(
        ck_error(ck_ask(alice, "{'op':'load_older','thread':'t','cursor':{'$bin':'00'}}")),
        "forbidden");
    /* "Removal and re-adding under history: all keeps cursors", and so does a role. */
    ck_member(&k, "t", "alice", SB_ROLE_MODERATOR);
    works();
}

static void
test_scope_changes(void **state)
{
    (void)state;
    char form[512];
    ck_thread(&k, "s", SB_HISTORY_SINCE_JOIN, SB_ACCESS_MEMBERS);
    ck_member(&k, "s", "alice", SB_ROLE_READER);
    for (int i = 0; i < 4; i++)
        ck_post(&k, "s", "x", "hello");
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'s','limit':1}");
    snprintf(form, sizeof(form), "{'op':'load_older','thread':'s','cursor':%s}",
             ck_cursor(r, "older"));
    ck_member(&k, "s", "alice", SB_ROLE_WRITER);
    assert_string_equal(ck_error(ck_ask(alice, "%s", form)), "");
    ck_member(&k, "s", "alice", SB_ROLE_NONE);
    ck_member(&k, "s", "alice", SB_ROLE_WRITER); /* another join position: another scope */
    refuse(alice, SB_REFUSAL_BINDING, form);

    ck_thread(&k, "open", SB_HISTORY_ALL, SB_ACCESS_TENANT);
    for (int i = 0; i < 4; i++)
        ck_post(&k, "open", "x", "hello");
    r = ck_ask(alice, "{'op':'load_older','thread':'open','limit':1}");
    snprintf(form, sizeof(form), "{'op':'load_older','thread':'open','cursor':%s}",
             ck_cursor(r, "older"));
    assert_string_equal(ck_error(ck_ask(alice, "%s", form)), "");
    ck_member(&k, "open", "alice", SB_ROLE_READER);
    refuse(alice, SB_REFUSAL_BINDING, form);
}

/* twilio/twilio-ruby#251 and chatwoot/chatwoot#13869: writes during a walk. */
static void
test_walk_is_frozen(void **state)
{
    (void)state;
    ck_post(&k, "t", "x", "appended");
    ck_import(&k, "t", "x", CK_START_MS - 5, "b", "backdated", false);
    works();
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','cursor':%s}", cursor);
    assert_string_equal(ck_seqs(r), "1 2 3 4 5 6 7");
    assert_true(json_is_null(json_object_get(r, "older")));
    r = ck_ask(alice, "{'op':'load_older','thread':'t'}");
    assert_string_equal(ck_seqs(r), "11 1 2 3 4 5 6 7 8 9 10");
}

/*
 * A cursor that a long scan was asked with is evicted meanwhile: the walk goes on. The page
 * looks at 1,500 rows that it may not take, so that it really waits.
 */
static void
test_evicted_during_a_long_scan(void **state)
{
    (void)state;
    for (int i = 0; i < 1500; i++)
    {
        struct sb_record p = ck_record(&k, SB_RECORD_POST, "t", "x");
        p.post.message.by = p.user;
        p.post.message.kind = SB_LIT("join");
        p.post.message.text = SB_LIT("x");
        assert_int_equal(ck_apply(&k, &p).err, 0);
    }
    ck_post(&k, "t", "x", "newest");
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':1,"
                              "'filter':{'kind':['message']}}");
    assert_string_equal(ck_seqs(r), "1510");
    snprintf(cursor, sizeof(cursor), "%s", ck_cursor(r, "older"));
    k.settings.scan_slice_us = 0;
    k.clock_step = 1;
    k.hold_scans = true;
    uint64_t id = ck_send(alice,
                          "{'op':'load_older','thread':'t','limit':2,'cursor':%s,"
                          "'filter':{'kind':['message']}}",
                          cursor);
    assert_null(ck_reply(alice, id));
    for (int i = 0; i < 65; i++)
        ck_ask(alice, "{'op':'load_older','thread':'u','limit':1}");
    ck_post(&k, "t", "x", "appended");
    ck_run_scans(&k);
    r = ck_reply(alice, id);
    assert_string_equal(ck_seqs(r), "8 9");
    char next[256];
    snprintf(next, sizeof(next), "%s", ck_cursor(r, "older"));
    k.hold_scans = false;
    refuse_with(alice, SB_REFUSAL_UNKNOWN_HANDLE,
                "{'op':'load_older','thread':'t','cursor':CURSOR,'filter':{'kind':['message']}}");
    r = ck_ask(alice,
               "{'op':'load_older','thread':'t','limit':200,'cursor':%s,"
               "'filter':{'kind':['message']}}",
               next);
    assert_string_equal(ck_seqs(r), "1 2 3 4 5 6 7");
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_matrix),
        T(test_equivalent_filters),
        T(test_bits),
        T(test_expiry_and_eviction),
        T(test_keys),
        T(test_access_first),
        T(test_scope_changes),
        T(test_walk_is_frozen),
        T(test_evicted_during_a_long_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

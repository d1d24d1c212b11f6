/*
 * test_session_list.c - threads and members: order, cursors, unread counts, visibility.
 */
#include "core_kit.h"

#include <stdio.h>

static struct ck k;
static struct ck_client *alice;

static int
setup(void **state)
{
    (void)state;
    ck_open(&k, 0);
    alice = ck_connect(&k, "alice");
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

static void
tiny_slices(bool on)
{
    k.clock_step = on ? 1 : 0;
    k.settings.scan_slice_us = on ? 0 : 200;
}

/* A whole listing as "[a b] [c]". */
static const char *
list(struct ck_client *c, const char *request, const char *items, const char *key, int limit)
{
    static char text[16384];
    char cursor[256] = "null";
    size_t n = 0;
    for (int page = 0; page < 1000; page++)
    {
        json_t *r = ck_ask(c, "{%s,'limit':%d,'cursor':%s}", request, limit, cursor);
        assert_string_equal(ck_error(r), "");
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s[%s]", page == 0 ? "" : " ",
                              ck_words(r, items, key));
        snprintf(cursor, sizeof(cursor), "%s", ck_cursor(r, "next"));
        if (strcmp(cursor, "null") == 0)
            return text;
    }
    fail_msg("a listing without an end");
    return NULL;
}

#define THREADS(client, limit) list(client, "'op':'threads'", "threads", "thread", limit)

static void
some_threads(void)
{
    const char *names[] = {"zeta", "alpha", "mid", "beta", "omega"};
    for (int i = 0; i < 5; i++)
    {
        ck_thread(&k, names[i], SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
        if (i != 2)
            ck_member(&k, names[i], "alice", SB_ROLE_READER);
    }
    ck_thread(&k, "open", SB_HISTORY_ALL, SB_ACCESS_TENANT);
}

static void
test_threads_of_a_member(void **state)
{
    (void)state;
    assert_string_equal(THREADS(alice, 50), "[]");
    some_threads();
    /* By creation; what is only open to the tenant is not listed. */
    assert_string_equal(THREADS(alice, 50), "[zeta alpha beta omega]");
    for (int tiny = 0; tiny < 2; tiny++)
    {
        tiny_slices(tiny != 0);
        assert_string_equal(THREADS(alice, 1), "[zeta] [alpha] [beta] [omega]");
        assert_string_equal(THREADS(alice, 2), "[zeta alpha] [beta omega]");
        assert_string_equal(THREADS(alice, 3), "[zeta alpha beta] [omega]");
        assert_string_equal(THREADS(alice, 4), "[zeta alpha beta omega]");
    }
    tiny_slices(false);
    ck_member(&k, "beta", "alice", SB_ROLE_NONE);
    assert_string_equal(THREADS(alice, 2), "[zeta alpha] [omega]");
    ck_member(&k, "omega", "alice", SB_ROLE_NONE);
    assert_string_equal(THREADS(alice, 2), "[zeta alpha]");
    struct ck_client *other = ck_connect(&k, "alice@other");
    assert_string_equal(THREADS(other, 50), "[]");
    ck_drop(other);
}

static void
test_threads_of_a_service(void **state)
{
    (void)state;
    some_threads();
    struct ck_client *root = ck_connect(&k, "!root");
    for (int tiny = 0; tiny < 2; tiny++)
    {
        tiny_slices(tiny != 0);
        assert_string_equal(THREADS(root, 50), "[alpha beta mid omega open zeta]");
        assert_string_equal(THREADS(root, 2), "[alpha beta] [mid omega] [open zeta]");
        assert_string_equal(THREADS(root, 5), "[alpha beta mid omega open] [zeta]");
    }
    tiny_slices(false);
    json_t *r = ck_ask(root, "{'op':'threads','limit':1}");
    assert_true(
        json_is_null(json_object_get(json_array_get(json_object_get(r, "threads"), 0), "role")));
    struct ck_client *other = ck_connect(&k, "!root@other");
    assert_string_equal(THREADS(other, 50), "[]");
    ck_drop(other);
    ck_drop(root);
}

static json_t *
item(struct ck_client *c, size_t i)
{
    json_t *r = ck_ask(c, "{'op':'threads'}");
    return json_array_get(json_object_get(r, "threads"), i);
}

static void
test_unread_and_newest(void **state)
{
    (void)state;
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "t", "alice", SB_ROLE_WRITER);
    assert_int_equal(ck_uint(item(alice, 0), "unread"), 0);
    assert_null(json_object_get(item(alice, 0), "newest"));
    ck_post(&k, "t", "bob", "one");
    ck_post(&k, "t", "alice", "own");
    ck_import(&k, "t", "bob", k.now_ms, "d", "x", false);
    ck_import(&k, "t", "bob", k.now_ms, "d", "", true);
    ck_post(&k, "t", "bob", "last");
    json_t *t = item(alice, 0);
    assert_int_equal(ck_uint(t, "unread"), 2); /* neither own nor deleted ones */
    assert_int_equal(ck_uint(t, "read"), 0);
    assert_string_equal(json_string_value(json_object_get(t, "role")), "writer");
    assert_string_equal(json_string_value(json_object_get(json_object_get(t, "newest"), "text")),
                        "last");
    for (int i = 0; i < 1100; i++)
        ck_post(&k, "t", "bob", "more");
    for (int tiny = 0; tiny < 2; tiny++)
    {
        tiny_slices(tiny != 0);
        assert_int_equal(ck_uint(item(alice, 0), "unread"), 1000);
    }
    assert_true(alice->slices > 1);
}

/* CVE-2026-32620: counts and previews obey visibility. */
static void
test_unread_since_join(void **state)
{
    (void)state;
    ck_thread(&k, "s", SB_HISTORY_SINCE_JOIN, SB_ACCESS_MEMBERS);
    for (int i = 0; i < 5; i++)
        ck_post(&k, "s", "bob", "hidden");
    ck_member(&k, "s", "alice", SB_ROLE_READER);
    json_t *t = item(alice, 0);
    assert_int_equal(ck_uint(t, "unread"), 0);
    assert_null(json_object_get(t, "newest"));
    ck_post(&k, "s", "bob", "shown");
    t = item(alice, 0);
    assert_int_equal(ck_uint(t, "unread"), 1);
    assert_string_equal(json_string_value(json_object_get(json_object_get(t, "newest"), "text")),
                        "shown");
}

/* Titles, and a listing that is cut by page_bytes. */
static void
test_large_items(void **state)
{
    (void)state;
    static char big[3001];
    memset(big, 'x', 3000);
    struct ck_client *root = ck_connect(&k, "!root");
    for (int i = 0; i < 5; i++)
    {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        ck_ask(root,
               "{'op':'create_thread','thread':'%s','title':{'$repeat':['T',%d]},"
               "'members':{'alice':'reader'}}",
               name, i == 3 ? 512 : 0);
        ck_post(&k, name, "bob", i % 2 == 0 ? "s" : big);
    }
    assert_string_equal(THREADS(alice, 50), "[t0 t1 t2 t3 t4]");
    json_t *t = item(alice, 3);
    assert_int_equal(json_string_length(json_object_get(t, "title")), 512);
    assert_null(json_object_get(item(alice, 0), "title"));
    k.settings.page_bytes = 4300;
    assert_string_equal(THREADS(alice, 50), "[t0 t1 t2] [t3 t4]");
    k.settings.page_bytes = 1;
    assert_string_equal(THREADS(alice, 50), "[t0] [t1] [t2] [t3] [t4]");
    ck_drop(root);
}

/* A membership that ends between two slices takes its thread out of the reply. */
static void
test_leaves_during_a_listing(void **state)
{
    (void)state;
    some_threads();
    tiny_slices(true);
    k.hold_scans = true;
    uint64_t id = ck_send(alice, "{'op':'threads'}");
    for (int i = 0; i < 3; i++)
        assert_true(ck_slice(&k));
    assert_null(ck_reply(alice, id));
    ck_member(&k, "alpha", "alice", SB_ROLE_NONE);
    ck_run_scans(&k);
    assert_string_equal(ck_words(ck_reply(alice, id), "threads", "thread"), "zeta beta omega");
}

/* A service whose renewed token is no service's any more does not go on listing as one. */
static void
test_renewed_during_a_listing(void **state)
{
    (void)state;
    some_threads();
    struct ck_client *root = ck_connect(&k, "!alice");
    tiny_slices(true);
    k.hold_scans = true;
    uint64_t id = ck_send(root, "{'op':'threads'}");
    assert_null(ck_reply(root, id));
    assert_string_equal(ck_error(ck_ask(root, "{'op':'hello','token':'alice'}")), "");
    ck_run_scans(&k);
    json_t *r = ck_reply(root, id);
    assert_non_null(r);
    if (json_object_get(r, "threads") != NULL)
        assert_null(strstr(ck_words(r, "threads", "thread"), "mid"));
    ck_drop(root);
}

static void
test_threads_cursor_is_bound(void **state)
{
    (void)state;
    some_threads();
    struct ck_client *root = ck_connect(&k, "!alice");
    json_t *r = ck_ask(alice, "{'op':'threads','limit':1}");
    const char *own = ck_cursor(r, "next");
    assert_string_equal(ck_error(ck_ask(root, "{'op':'threads','cursor':%s}", own)),
                        "invalid_cursor");
    assert_string_equal(
        ck_error(ck_ask(alice, "{'op':'members','thread':'zeta','cursor':%s}", own)),
        "invalid_cursor");
    assert_string_equal(
        ck_error(ck_ask(alice, "{'op':'load_older','thread':'zeta','cursor':%s}", own)),
        "invalid_cursor");
    assert_string_equal(
        ck_words(ck_ask(alice, "{'op':'threads','cursor':%s}", own), "threads", "thread"),
        "alpha beta omega");
    /* Renewed as another kind of token: the cursor belongs to the service's listing. */
    own = ck_cursor(ck_ask(root, "{'op':'threads','limit':1}"), "next");
    assert_string_equal(ck_error(ck_ask(root, "{'op':'hello','token':'alice'}")), "");
    assert_string_equal(ck_error(ck_ask(root, "{'op':'threads','cursor':%s}", own)),
                        "invalid_cursor");
    ck_drop(root);
}

/* ---- members ---- */

#define MEMBERS(limit) list(alice, "'op':'members','thread':'t'", "members", "user", limit)

static void
test_members(void **state)
{
    (void)state;
    const char *users[] = {"zoe", "alice", "bob", "al", "carol", "\xc3\xa9va"};
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    for (int i = 0; i < 6; i++)
        ck_member(&k, "t", users[i], i == 2 ? SB_ROLE_MODERATOR : SB_ROLE_READER);
    char all[256];
    snprintf(all, sizeof(all), "%s", MEMBERS(50));
    assert_int_equal(strlen(all), strlen("[zoe alice bob al carol ..va]"));
    for (int limit = 1; limit < 7; limit++)
    {
        /* The same order whatever the page: take the pages apart and compare. */
        char joined[256] = "[";
        const char *w = MEMBERS(limit);
        for (; *w != '\0'; w++)
            if (*w != '[' && *w != ']')
                strncat(joined, w, 1);
        strcat(joined, "]");
        assert_string_equal(joined, all);
    }
    json_t *r = ck_ask(alice, "{'op':'members','thread':'t','limit':2}");
    ck_member(&k, "t", "bob", SB_ROLE_NONE);
    char rest[256];
    snprintf(rest, sizeof(rest), "%s %s", ck_words(r, "members", "user"), "");
    r = ck_ask(alice, "{'op':'members','thread':'t','cursor':%s}", ck_cursor(r, "next"));
    assert_null(strstr(ck_words(r, "members", "user"), "bob"));
    assert_null(strstr(MEMBERS(1), "bob"));
    /* CVE-2021-39164: one who is no member. */
    struct ck_client *eve = ck_connect(&k, "eve");
    assert_string_equal(ck_error(ck_ask(eve, "{'op':'members','thread':'t'}")), "forbidden");
    assert_string_equal(ck_error(ck_ask(eve, "{'op':'members','thread':'t','cursor':{'$bin':''}}")),
                        "forbidden");
    ck_drop(eve);
}

/* Thousands of removed ones between two: the walk through them is cut, and goes on. */
static void
test_many_removed_members(void **state)
{
    (void)state;
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "t", "alice", SB_ROLE_READER);
    ck_member(&k, "t", "zoe", SB_ROLE_READER);
    for (int i = 0; i < 9000; i++)
    {
        char name[16];
        snprintf(name, sizeof(name), "m%d", i);
        ck_member(&k, "t", name, SB_ROLE_NONE);
    }
    char joined[64] = "";
    for (const char *w = MEMBERS(10); *w != '\0'; w++)
        if (strchr("[] ", *w) == NULL)
            strncat(joined, w, 1);
    assert_true(strcmp(joined, "alicezoe") == 0 || strcmp(joined, "zoealice") == 0);
}

/* Damage is counted, whichever operation meets it. */
static void
test_damage_is_counted(void **state)
{
    (void)state;
    struct ck_client *c = ck_connect(&k, "alice");
    const struct sb_telemetry *t = sb_engine_telemetry(k.engine);
    for (int i = 0; i < 2; i++)
    {
        uint64_t before = t->corrupt_rows;
        kv_fault_arm(k.fault, 2, SB_ERR_CORRUPT); /* behind the transaction's begin */
        json_t *r = ck_ask(c, i == 0 ? "{'op':'threads'}" : "{'op':'members','thread':'t'}");
        assert_true(kv_fault_hit(k.fault));
        assert_string_equal(ck_error(r), "unavailable");
        assert_int_equal(t->corrupt_rows, before + 1);
    }
    ck_drop(c);
}

/* Threads that a commit made and the loop has not heard of yet: a listing passes over them. */
static void
test_unpublished_threads(void **state)
{
    (void)state;
    some_threads();
    const char *names[] = {"bravo", "charlie", "zz"};
    struct ck_client *root = ck_connect(&k, "!root");
    for (int i = 0; i < 3; i++)
    {
        struct sb_record r = ck_record(&k, SB_RECORD_CREATE_THREAD, names[i], "root");
        const struct sb_record *one = &r;
        struct sb_result res;
        assert_int_equal(sb_apply(k.applier, k.store, &one, &res, 1), 0);
        assert_int_equal(res.err, 0);
    }
    for (int tiny = 0; tiny < 2; tiny++)
    {
        tiny_slices(tiny != 0);
        assert_string_equal(THREADS(root, 50), "[alpha beta mid omega open zeta]");
        assert_string_equal(THREADS(root, 2), "[alpha beta] [mid omega] [open zeta]");
        assert_string_equal(THREADS(alice, 50), "[zeta alpha beta omega]");
    }
    tiny_slices(false);
    k.store->ops->publish(k.store);
    assert_string_equal(THREADS(root, 50), "[alpha beta bravo charlie mid omega open zeta zz]");
    ck_drop(root);
}

/* More rows than a step's budget that no reader sees yet: the newest of those that it does. */
static void
test_newest_below_unpublished_rows(void **state)
{
    (void)state;
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "t", "alice", SB_ROLE_READER);
    ck_post(&k, "t", "bob", "seen");
    for (int i = 0; i < 600; i++)
    {
        struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", "bob");
        const struct sb_record *one = &r;
        struct sb_result res;
        r.post.message.by = r.user;
        r.post.message.text = SB_LIT("not yet");
        assert_int_equal(sb_apply(k.applier, k.store, &one, &res, 1), 0);
        assert_int_equal(res.err, 0);
    }
    json_t *newest = json_object_get(item(alice, 0), "newest");
    assert_non_null(newest);
    assert_string_equal(json_string_value(json_object_get(newest, "text")), "seen");
    assert_int_equal(ck_uint(item(alice, 0), "unread"), 1);
    k.store->ops->publish(k.store);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_threads_of_a_member),
        T(test_damage_is_counted),
        T(test_threads_of_a_service),
        T(test_unread_and_newest),
        T(test_unread_since_join),
        T(test_large_items),
        T(test_leaves_during_a_listing),
        T(test_renewed_during_a_listing),
        T(test_threads_cursor_is_bound),
        T(test_members),
        T(test_many_removed_members),
        T(test_unpublished_threads),
        T(test_newest_below_unpublished_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

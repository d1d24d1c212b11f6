/*
 * test_faults.c - for every operation: the n-th allocation fails, or the n-th call of the
 * store's map, for n = 1, 2 ... until none fails any more.
 *
 * Each time: no crash and no leak; the request is answered, once, or its connection closed;
 * the answer is one of a trouble of ours and never "forbidden", "not_found" or
 * "invalid_cursor"; what was acknowledged is there and what was refused is not; the store
 * checks; and the same request then works.
 */
#include <stdio.h>

#include "alloc_fault.h"
#include "core_kit.h"

#define ROWS 12

static struct ck k;
static char request[4096];

/* What is made to fail, in turn. */
enum fault
{
    FAULT_MEMORY,
    FAULT_MAP_IO,
    FAULT_MAP_FULL,
    FAULT_MAP_MEMORY,
    N_FAULTS,
};

static void
arm(enum fault fault, uint64_t n)
{
    static const int codes[] = {[FAULT_MAP_IO] = SB_ERR_IO,
                                [FAULT_MAP_FULL] = SB_ERR_FULL,
                                [FAULT_MAP_MEMORY] = SB_ERR_NO_MEMORY};
    if (fault == FAULT_MEMORY)
        alloc_fault_arm(n);
    else if (fault == FAULT_MAP_FULL)
        kv_fault_arm_writes(k.fault, n, codes[fault]);
    else
        kv_fault_arm(k.fault, n, codes[fault]);
}

static bool
disarm(enum fault fault)
{
    bool hit = fault == FAULT_MEMORY ? alloc_fault_hit() : kv_fault_hit(k.fault);
    alloc_fault_arm(0);
    kv_fault_arm(k.fault, 0, 0);
    return hit;
}

/* ---- the world ---- */

static void
world(uint32_t derive_after)
{
    ck_open(&k, derive_after);
    const char *names[] = {"t", "u", "v"};
    for (int i = 0; i < 3; i++)
    {
        ck_thread(&k, names[i], SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
        ck_member(&k, names[i], "alice", SB_ROLE_MODERATOR);
        ck_member(&k, names[i], "bob", SB_ROLE_WRITER);
    }
    for (int i = 0; i < ROWS; i++)
    {
        ck_pass_ms(&k, 1);
        ck_post(&k, "t", i % 3 == 0 ? "alice" : "bob", "some text");
    }
    ck_import(&k, "t", "carol", CK_START_MS - 5, "id-1", "an older one", false);
}

/* A thread whose filtered scans take several turns: 'by' and 'kind' take turns. */
static void
long_thread(void)
{
    enum
    {
        N = 400
    };
    static struct sb_record rows[N];
    static const struct sb_record *list[N];
    static struct sb_result results[N];
    ck_thread(&k, "long", SB_HISTORY_ALL, SB_ACCESS_TENANT);
    for (int i = 0; i < N; i++)
    {
        bool matches = i == 0 || i == N / 2;
        rows[i] = ck_record(&k, SB_RECORD_POST, "long", i % 2 == 0 ? "bob" : "alice");
        rows[i].post.message.by = rows[i].user;
        rows[i].post.message.text = SB_LIT("text");
        if (i % 2 == 1 || matches)
            rows[i].post.message.kind = SB_LIT("note");
        list[i] = &rows[i];
    }
    assert_int_equal(sb_apply(k.applier, k.store, list, results, N), 0);
    k.store->ops->publish(k.store);
}

static void
problem(void *ctx, const char *text)
{
    (void)ctx;
    print_error("%s\n", text);
}

static void
check_store(void)
{
    struct sb_store_report report = {0};
    assert_int_equal(sb_store_settle(k.store), 0);
    assert_int_equal(sb_store_check(k.store, k.now_ms, problem, NULL, &report), 0);
}

/* Everything that a service reads of a thread. */
static json_t *
content(const char *op, const char *field)
{
    struct ck_client *c = ck_connect(&k, "!root");
    json_t *r = ck_ask(c, "{'op':'%s',%s'limit':200}", op, field);
    assert_string_equal(ck_error(r), "");
    json_t *items = json_object_get(r, strcmp(op, "load_newer") == 0 ? "messages"
                                       : strcmp(op, "threads") == 0  ? "threads"
                                                                     : "members");
    items = json_deep_copy(items);
    ck_drop(c);
    return items;
}

static json_t *
all_content(void)
{
    return json_pack("[o,o,o]", content("load_newer", "'thread':'t',"), content("threads", ""),
                     content("members", "'thread':'t',"));
}

/* ---- operations ---- */

struct operation
{
    const char *name, *token;
    const char *request; /* JSON without the id */
    const char *from;    /* with a %s in `request`: the request whose cursor goes there */
    const char *key;     /* of that cursor */
    bool writes;
    bool slices; /* the scan takes many turns */
};

#define OLDER "'op':'load_older','thread':'t','limit':3"
#define NEWER "'op':'load_newer','thread':'t','limit':3"
#define LONG "'op':'load_older','thread':'long','limit':1,'filter':{'by':['bob'],'kind':['note']}"
#define FILTER "'filter':{'by':['alice','carol'],'kind':['message'],'from':5}"

static const struct operation operations[] = {
    {"load_older", "alice", "{" OLDER "}", NULL, NULL, false, false},
    {"load_older next", "alice", "{" OLDER ",'cursor':%s}", "{" OLDER "}", "older", false, false},
    {"load_older before", "alice", "{" OLDER ",'before':4}", NULL, NULL, false, false},
    {"load_older filter", "alice", "{" OLDER "," FILTER "}", NULL, NULL, false, false},
    {"load_older filter next", "alice", "{" OLDER "," FILTER ",'cursor':%s}",
     "{" OLDER "," FILTER "}", "older", false, false},
    {"load_older slices", "alice", "{" LONG "}", NULL, NULL, false, true},
    {"load_older slices next", "alice", "{" LONG ",'cursor':%s}", "{" LONG "}", "older", false,
     true},
    {"load_newer", "alice", "{" NEWER "}", NULL, NULL, false, false},
    {"load_newer next", "alice", "{" NEWER ",'cursor':%s}", "{" NEWER "}", "newer", false, false},
    {"load_newer after filter", "alice", "{" NEWER ",'after':2," FILTER "}", NULL, NULL, false,
     false},
    {"load_around seq", "alice", "{'op':'load_around','thread':'t','seq':6,'limit':4}", NULL, NULL,
     false, false},
    {"load_around at", "alice",
     "{'op':'load_around','thread':'t','at':1700000000004,'limit':4," FILTER "}", NULL, NULL, false,
     true},
    {"threads", "alice", "{'op':'threads','limit':2}", NULL, NULL, false, false},
    {"threads next", "alice", "{'op':'threads','limit':1,'cursor':%s}",
     "{'op':'threads','limit':1}", "next", false, true},
    {"threads of a service", "!root", "{'op':'threads','limit':1,'cursor':%s}",
     "{'op':'threads','limit':1}", "next", false, false},
    {"members", "alice", "{'op':'members','thread':'t','limit':1}", NULL, NULL, false, false},
    {"members next", "alice", "{'op':'members','thread':'t','limit':1,'cursor':%s}",
     "{'op':'members','thread':'t','limit':1}", "next", false, false},
    {"post", "bob", "{'op':'post','thread':'t','text':'new'}", NULL, NULL, true, false},
    {"post with a nonce", "bob", "{'op':'post','thread':'t','text':'new','nonce':'n-1'}", NULL,
     NULL, true, false},
    {"post with everything", "bob",
     "{'op':'post','thread':'t','text':'new','nonce':'n-1','kind':'note','reply_to':3,"
     "'mentions':['alice','carol'],'meta':{'a':[1,2,{'b':'c'}]},"
     "'attachments':[{'name':'f','type':'image/png','size':5,'url':'https://a.example/f'}]}",
     NULL, NULL, true, false},
    {"create_thread", "!root",
     "{'op':'create_thread','thread':'w','title':'W','members':{'alice':'moderator',"
     "'zoe':'reader'}}",
     NULL, NULL, true, false},
    {"set_member joins", "alice", "{'op':'set_member','thread':'t','user':'zoe','role':'writer'}",
     NULL, NULL, true, false},
    {"set_member leaves", "alice", "{'op':'set_member','thread':'t','user':'bob','role':null}",
     NULL, NULL, true, false},
};

static void
slow(bool on)
{
    k.clock_step = on ? 1 : 0;
    k.settings.scan_slice_us = on ? 0 : 200;
}

/* The request with its cursor, from a first page that nothing disturbs. */
static void
prepare(const struct operation *op, struct ck_client *c)
{
    if (op->from == NULL)
    {
        snprintf(request, sizeof(request), "%s", op->request);
        return;
    }
    json_t *first = ck_ask(c, "%s", op->from);
    assert_string_equal(ck_error(first), "");
    char *cut = strstr(op->request, "%s");
    assert_non_null(cut);
    snprintf(request, sizeof(request), "%.*s%s%s", (int)(cut - op->request), op->request,
             ck_cursor(first, op->key), cut + 2);
}

/* An error that says that the trouble is ours and may pass. */
static bool
is_ours(const char *code)
{
    static const char *const codes[] = {"overloaded", "unavailable", "internal"};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

static void
compare(json_t *before, bool same, const char *what)
{
    json_t *after = all_content();
    if (json_equal(before, after) != (int)same)
        fail_msg("%s: the content is %s", what, same ? "another" : "the same");
    json_decref(after);
}

/* The same request again, with nothing in its way. */
static void
retry(const struct operation *op, struct ck_client *c, bool stored, const char *what)
{
    if (c->closed != 0 && op->from != NULL)
        return; /* its cursor went with the session */
    struct ck_client *again = c->closed != 0 ? ck_connect(&k, op->token) : c;
    json_t *r = ck_ask(again, "%s", request);
    bool conflicts = stored && strcmp(op->name, "create_thread") == 0;
    if (strcmp(ck_error(r), conflicts ? "conflict" : "") != 0)
        fail_msg("%s: then %s", what, ck_error(r));
    if (strstr(request, "nonce") != NULL)
        assert_int_equal(json_is_true(json_object_get(r, "duplicate")), stored);
    if (again != c)
        ck_drop(again);
}

/* False: the fault came no more. */
static bool
once(const struct operation *op, enum fault fault, uint64_t n, uint32_t derive_after)
{
    char what[128];
    snprintf(what, sizeof(what), "%s, fault %d, n %llu", op->name, (int)fault,
             (unsigned long long)n);
    world(derive_after);
    struct ck_client *c = ck_connect(&k, op->token);
    if (op->slices)
        long_thread();
    prepare(op, c);
    json_t *before = all_content();
    slow(op->slices);
    arm(fault, n);
    json_t *r = ck_ask(c, "%s", request);
    bool hit = disarm(fault);
    slow(false);

    if (r == NULL && c->closed == 0)
        fail_msg("%s: neither answered nor closed", what);
    bool refused = r != NULL && strcmp(ck_error(r), "") != 0;
    if (refused && !is_ours(ck_error(r)))
        fail_msg("%s: answered %s", what, ck_error(r));
    if (!hit && refused)
        fail_msg("%s: no fault, and yet %s", what, ck_error(r));
    if (refused || !op->writes)
        compare(before, true, what);
    else if (r != NULL)
        compare(before, false, what);
    bool stored = false;
    if (op->writes && !refused)
        stored = true; /* acknowledged, or closed with the outcome open */
    if (op->writes && r == NULL)
    {
        json_t *after = all_content();
        stored = !json_equal(before, after);
        json_decref(after);
    }
    check_store();
    retry(op, c, stored, what);
    check_store();
    json_decref(before);
    ck_drop(c);
    ck_close(&k);
    return hit;
}

static void
each(enum fault fault, uint32_t derive_after)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
    {
        uint64_t n = 1;
        /* A scan of many slices does the same a thousand times: not at each of them. */
        while (once(&operations[i], fault, n, derive_after))
            n += operations[i].slices && n > 40 ? n / 5 : 1;
        print_message("%-24s fault %d: up to place %llu\n", operations[i].name, (int)fault,
                      (unsigned long long)(n - 1));
    }
}

static void
test_operations(void **state)
{
    (void)state;
    for (int fault = 0; fault < N_FAULTS; fault++)
    {
        each((enum fault)fault, 1024);
        each((enum fault)fault, 1); /* derived entries are written by each commit */
    }
}

/* ---- hello ---- */

static void
test_hello(void **state)
{
    (void)state;
    for (int fault = 0; fault < N_FAULTS; fault++)
    {
        bool hit = true;
        for (uint64_t n = 1; hit; n++)
        {
            world(1024);
            struct ck_client *c = ck_connect(&k, NULL);
            arm((enum fault)fault, n);
            json_t *r = ck_ask(c, "{'op':'hello','token':'alice'}");
            hit = disarm((enum fault)fault);
            assert_true(r != NULL || c->closed != 0);
            if (r != NULL && strcmp(ck_error(r), "") != 0)
                assert_true(hit && is_ours(ck_error(r)));
            if (c->closed == 0) /* an unanswered hello can be sent again */
                assert_string_equal(ck_error(ck_ask(c, "{'op':'hello','token':'alice'}")), "");
            ck_drop(c);
            ck_close(&k);
        }
    }
}

/* ---- refusals ---- */

/* A refusal stays the same refusal, or says that the trouble is ours: never another one. */
static void
test_refusals(void **state)
{
    (void)state;
    static const struct
    {
        const char *request, *code;
    } cases[] = {
        {"{'op':'load_older','thread':'none'}", "forbidden"},
        {"{'op':'load_older','thread':'closed'}", "forbidden"},
        {"{'op':'members','thread':'none'}", "forbidden"},
        {"{'op':'post','thread':'none','text':'x'}", "forbidden"},
        {"{'op':'post','thread':'closed','text':'x'}", "forbidden"},
        {"{'op':'load_older','thread':'t','before':99}", "not_found"},
        {"{'op':'post','thread':'t','text':'x','reply_to':99}", "not_found"},
        {"{'op':'load_older','thread':'t','cursor':{'$bin':''}}", "invalid_cursor"},
        {"{'op':'threads','cursor':{'$bin':'01'}}", "invalid_cursor"},
        {"{'op':'set_member','thread':'t','user':'x','role':'reader'}", "forbidden"},
        {"{'op':'create_thread','thread':'t'}", "forbidden"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int fault = 0; fault < N_FAULTS; fault++)
        {
            world(1024);
            ck_thread(&k, "closed", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
            struct ck_client *c = ck_connect(&k, "bob");
            json_t *before = all_content();
            bool hit = true;
            for (uint64_t n = 1; hit && c->closed == 0; n++)
            {
                arm((enum fault)fault, n);
                json_t *r = ck_ask(c, "%s", cases[i].request);
                hit = disarm((enum fault)fault);
                if (r == NULL)
                    assert_true(hit && c->closed != 0);
                else if (strcmp(ck_error(r), cases[i].code) != 0 && !(hit && is_ours(ck_error(r))))
                    fail_msg("%s: %s, fault %d", cases[i].request, ck_error(r), fault);
            }
            compare(before, true, cases[i].request);
            json_decref(before);
            ck_drop(c);
            check_store();
            ck_close(&k);
        }
}

/* ---- records of an import ---- */

static void
import_record(struct sb_record *r, int which)
{
    static const struct sb_bytes mentions[] = {{(const uint8_t *)"bob", 3}};
    static const struct sb_record_reaction reactions[] = {
        {{(const uint8_t *)"+1", 2}, {(const uint8_t *)"bob", 3}}};
    *r = ck_record(&k, which == 3 ? SB_RECORD_LINK : SB_RECORD_IMPORT,
                   which == 0 ? "imported" : "t", "root");
    if (which == 3)
    {
        r->link.system = SB_LIT("test");
        r->link.child_id = SB_LIT("id-1");
        r->link.parent_id = SB_LIT("id-2");
        return;
    }
    r->import.message =
        (struct sb_message){.at = CK_START_MS - 3,
                            .by = SB_LIT("dora"),
                            .text = SB_LIT("imported text"),
                            .mentions = mentions,
                            .n_mentions = 1,
                            .deleted = which == 4,
                            .source_system = SB_LIT("test"),
                            .source_id = which >= 2 ? SB_LIT("id-1") : SB_LIT("id-3")};
    r->import.n_reactions = 1;
    r->import.reactions = reactions;
}

/* 0: a new thread and author; 1: a row; 2: an update; 3: a link; 4: a deletion. */
static bool
import_once(int which, enum fault fault, uint64_t n)
{
    struct sb_record r;
    world(n % 2 == 0 ? 1 : 1024);
    ck_import(&k, "t", "carol", CK_START_MS - 4, "id-2", "the parent", false);
    json_t *before = all_content();
    import_record(&r, which);
    arm(fault, n);
    struct sb_result res = ck_apply(&k, &r);
    bool hit = disarm(fault);
    if (res.err != 0)
    {
        assert_true(hit);
        assert_true(is_ours(sb_code_name(sb_error_code(res.err))));
        compare(before, true, "an import");
    }
    check_store();
    res = ck_apply(&k, &r);
    assert_int_equal(res.err, 0);
    compare(before, false, "an import again");
    check_store();
    json_decref(before);
    ck_close(&k);
    return hit;
}

static void
test_import(void **state)
{
    (void)state;
    for (int fault = 0; fault < N_FAULTS; fault++)
        for (int which = 0; which < 5; which++)
            for (uint64_t n = 1; import_once(which, (enum fault)fault, n);)
                n++;
}

/* ---- making the parts ---- */

static void
test_creation(void **state)
{
    (void)state;
    struct sb_store_options o = {.mode = SB_STORE_SERVE, .now_ms = CK_START_MS};
    int failures = 0;
    world(1024);
    for (uint64_t n = 1, done = 0; done == 0; n++)
    {
        struct sb_store *store = NULL;
        alloc_fault_arm(n);
        alloc_fault_gate(true);
        struct sb_engine *e = sb_engine_create(k.store, &k.ports, &k.settings);
        struct sb_session *s = e == NULL ? NULL : sb_session_create(e, NULL, k.now_us);
        struct sb_applier *a = sb_applier_create();
        int rc = sb_store_open_memory(&o, &store);
        alloc_fault_gate(false);
        done = !alloc_fault_hit();
        failures += e == NULL || s == NULL || a == NULL || rc != 0;
        assert_true(done == 0 || (s != NULL && a != NULL && rc == 0));
        sb_session_destroy(s);
        sb_engine_destroy(e);
        sb_applier_destroy(a);
        if (rc == 0)
            sb_store_close(store);
    }
    alloc_fault_arm(0);
    assert_true(failures > 5);
    ck_close(&k);
}

int
main(void)
{
    ck_gate = alloc_fault_gate;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_hello),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_import),
        cmocka_unit_test(test_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * driver.c - one kind of operation, N times, over core and LMDB, to be run by callgrind.
 *
 *   driver setup DIR        makes the store (not measured)
 *   driver KIND N DIR       performs N operations on it
 *   driver cpu              what instruction counts depend on
 *
 * Callgrind counts inside measured_step() and measured_apply() only. Clock, randomness and
 * keys are fixed, so that a run repeats itself.
 */
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/token.h"
#include "core/apply.h"
#include "core/session.h"
#include "protocol/limits.h"
#include "store/store.h"

#define NOW_MS UINT64_C(1700000000000)
#define NOW_US UINT64_C(9000000000)
#define THREADS 100
#define ROWS 60 /* of each thread */
#define HIDDEN 2000
#define BATCH 64

struct world
{
    struct sb_store *store;
    struct sb_store_ops ops; /* the store's, with a horizon of our own */
    struct sb_engine *engine;
    struct sb_applier *applier;
    struct sb_token_verifier *verifier;
    struct sb_keys keys;
    struct sb_cursor_keys cursor_keys;
    struct sb_buf out;
    msgpack_sbuffer frame;
    msgpack_packer pack;
    char token[SB_MAX_TOKEN + 1];
    uint64_t now_us;
};

static struct world w;
static uint64_t random_state = 88172645463325252U;
static uint64_t lowest_horizon;

static void
fill_random(void *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
    {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        ((uint8_t *)buf)[i] = (uint8_t)random_state;
    }
}

static void
must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "driver: %s: %s\n", what, sb_error_text(rc));
    exit(1);
}

/* ---- what is counted ---- */

void measured_step(struct sb_session *s, const struct sb_event *ev, struct sb_effects *fx);
int measured_apply(const struct sb_record *const *records, struct sb_result *results, size_t n);

__attribute__((noinline)) void
measured_step(struct sb_session *s, const struct sb_event *ev, struct sb_effects *fx)
{
    sb_session_step(s, ev, fx);
    __asm__ volatile("" ::: "memory"); /* no tail call: the count ends with the return */
}

__attribute__((noinline)) int
measured_apply(const struct sb_record *const *records, struct sb_result *results, size_t n)
{
    int rc = sb_apply(w.applier, w.store, records, results, n);
    __asm__ volatile("" ::: "memory");
    return rc;
}

/* ---- ports ---- */

static uint64_t
port_clock(void *ctx)
{
    (void)ctx;
    return 1;
}

static void
port_random(void *ctx, void *buf, size_t len)
{
    (void)ctx;
    fill_random(buf, len);
}

static int
port_verify(void *ctx, struct sb_bytes token, uint64_t now_ms, struct sb_claims *out)
{
    (void)ctx;
    return sb_token_verify(w.verifier, token, now_ms, out);
}

static uint64_t
horizon(struct sb_txn *t)
{
    (void)t;
    return lowest_horizon;
}

/* ---- the store ---- */

static struct sb_record
record(enum sb_record_op op, const char *thread, const char *user)
{
    return (struct sb_record){.op = op,
                              .time_ms = NOW_MS,
                              .tenant = SB_LIT("default"),
                              .user = sb_bytes_str(user),
                              .service = true,
                              .thread = sb_bytes_str(thread)};
}

static void
apply(const struct sb_record *records, size_t n)
{
    static const struct sb_record *list[1024];
    static struct sb_result results[1024];
    for (size_t i = 0; i < n; i++)
        list[i] = &records[i];
    must(measured_apply(list, results, n), "apply");
    for (size_t i = 0; i < n; i++)
        must(results[i].err, "a record");
    w.store->ops->publish(w.store);
}

static void
make_thread(const char *name, enum sb_history history, bool member)
{
    struct sb_founder alice = {.user = SB_LIT("alice"), .role = SB_ROLE_WRITER};
    struct sb_record r = record(SB_RECORD_CREATE_THREAD, name, "root");
    r.create_thread.history = history;
    r.create_thread.access = SB_ACCESS_MEMBERS;
    r.create_thread.n_members = member;
    r.create_thread.members = &alice;
    apply(&r, 1);
}

static struct sb_record
post(const char *thread, const char *text, bool with_nonce, uint64_t n)
{
    static char nonces[1024][24];
    struct sb_record r = record(SB_RECORD_POST, thread, "alice");
    r.post.message.by = r.user;
    r.post.message.text = sb_bytes_str(text);
    if (with_nonce)
    {
        snprintf(nonces[n % 1024], sizeof(nonces[0]), "nonce-%010llu", (unsigned long long)n);
        r.post.nonce = sb_bytes_str(nonces[n % 1024]);
    }
    return r;
}

static char names[4][THREADS][16]; /* read, closed, missing, posted to */

static void
make_names(void)
{
    static const char *const forms[] = {"read-%04d", "priv-%04d", "none-%04d", "post-%04d"};
    for (int f = 0; f < 4; f++)
        for (int i = 0; i < THREADS; i++)
            snprintf(names[f][i], sizeof(names[0][0]), forms[f], i);
}

static char text[260];

static void
setup(void)
{
    static struct sb_record batch[1024];
    size_t n = 0;
    for (int i = 0; i < THREADS; i++)
    {
        make_thread(names[0][i], SB_HISTORY_ALL, true);
        make_thread(names[1][i], SB_HISTORY_ALL, false);
        make_thread(names[3][i], SB_HISTORY_ALL, true);
    }
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < THREADS; i++)
        {
            batch[n++] = post(names[0][i], text, false, 0);
            if (n == BATCH)
                apply(batch, n), n = 0;
        }
    apply(batch, n);
    make_thread("late", SB_HISTORY_SINCE_JOIN, false);
    for (int row = 0; row < HIDDEN; row += 1000)
    {
        for (int i = 0; i < 1000; i++)
            batch[i] = post("late", text, false, 0);
        apply(batch, 1000);
    }
    struct sb_record r = record(SB_RECORD_SET_MEMBER, "late", "root");
    r.set_member.user = SB_LIT("alice");
    r.set_member.role = SB_ROLE_WRITER;
    apply(&r, 1);
    batch[0] = post("late", text, false, 0);
    apply(batch, 1);
    must(sb_store_settle(w.store), "settle");
}

static void
open_world(const char *dir, const char *kind)
{
    static struct sb_ports ports = {NULL, port_clock, port_random, port_verify};
    static struct sb_settings settings = {.cursor_ttl_ms = 900000,
                                          .snapshot_ttl_ms = 3600000,
                                          .hello_timeout_ms = 5000,
                                          .heartbeat_ms = 30000,
                                          .page_bytes = 1 << 20,
                                          .max_frame = 65536,
                                          .scan_budget_us = 2000000,
                                          .scan_slice_us = 200};
    struct sb_store_options o = {
        .dir = dir, .mode = SB_STORE_SERVE, .now_ms = NOW_MS, .random = fill_random};
    struct sb_store_failure why = {""};
    char reason[256];
    if (strcmp(kind, "page-repacked") == 0)
        must(sb_store_repack(dir, 0, NULL, NULL, &why), why.text);
    must(sb_store_open(&o, &w.store, &why), why.text);
    w.ops = *w.store->ops;
    w.ops.horizon = horizon;
    w.store->ops = &w.ops;
    w.keys = (struct sb_keys){.n = 1, .next_id = 2, .v = {{.id = 1, .master = "a fixed key"}}};
    w.verifier = sb_token_verifier_create(&w.keys, NULL, reason);
    w.engine = sb_engine_create(w.store, &ports, &settings);
    w.applier = sb_applier_create();
    must(w.verifier != NULL && w.engine != NULL && w.applier != NULL ? 0 : SB_ERR_NO_MEMORY,
         "parts");
    sb_keys_for_cursors(&w.keys, &w.cursor_keys);
    sb_engine_set_keys(w.engine, &w.cursor_keys);
    struct sb_claims claims = {
        .tenant = "default", .user = "alice", .expires_ms = NOW_MS + 3600000};
    must(sb_token_sign(&w.keys, &claims, w.token, sizeof(w.token)), "token");
    sb_buf_init(&w.out, 64 << 20);
    msgpack_sbuffer_init(&w.frame);
    msgpack_packer_init(&w.pack, &w.frame, msgpack_sbuffer_write);
    w.now_us = NOW_US;
}

/* ---- frames ---- */

static void
str(const char *s)
{
    msgpack_pack_str(&w.pack, strlen(s));
    msgpack_pack_str_body(&w.pack, s, strlen(s));
}

/* A map of so many fields, op and id among them. */
static void
begin(const char *op, size_t fields)
{
    msgpack_sbuffer_clear(&w.frame);
    msgpack_pack_map(&w.pack, fields);
    str("id");
    msgpack_pack_uint64(&w.pack, 7);
    str("op");
    str(op);
}

static void
field(const char *name, const char *value)
{
    str(name);
    str(value);
}

/* Steps the frame; its reply's bytes stay in w.out. Counted when `counted`. */
static void
step(struct sb_session *s, bool counted, const char *expect)
{
    static struct sb_result result;
    struct sb_effects fx = {.out = &w.out};
    struct sb_event ev = {.kind = SB_EVENT_FRAME,
                          .now_ms = NOW_MS,
                          .now_us = w.now_us,
                          .frame = sb_bytes(w.frame.data, w.frame.size)};
    w.out.len = 0;
    if (counted)
        measured_step(s, &ev, &fx);
    else
        sb_session_step(s, &ev, &fx);
    if (fx.has_record)
    {
        const struct sb_record *one = &fx.record;
        struct sb_event told = {.kind = SB_EVENT_WRITTEN, .now_ms = NOW_MS, .now_us = w.now_us};
        must(measured_apply(&one, &result, 1), "apply");
        w.store->ops->publish(w.store);
        told.written.re = fx.record_re;
        told.written.op = fx.record.op;
        told.written.result = result;
        measured_step(s, &told, &fx);
    }
    if (memmem(w.out.data, w.out.len, expect, strlen(expect)) != NULL)
        return;
    fprintf(stderr, "driver: no %s in the reply: %.*s\n", expect, (int)w.out.len,
            (const char *)w.out.data);
    exit(1);
}

static struct sb_session *
hello(bool counted)
{
    struct sb_session *s = sb_session_create(w.engine, NULL, w.now_us);
    begin("hello", 3);
    field("token", w.token);
    step(s, counted, "heartbeat_ms");
    return s;
}

static void
load(const char *thread, const uint8_t *cursor, size_t len)
{
    begin("load_older", cursor == NULL ? 3 : 4);
    field("thread", thread);
    if (cursor == NULL)
        return;
    str("cursor");
    msgpack_pack_bin(&w.pack, len);
    msgpack_pack_bin_body(&w.pack, cursor, len);
}

#define CURSOR 45

/* A first page; its cursor to `out`. */
static void
first_page(struct sb_session *s, const char *thread, bool counted, uint8_t out[CURSOR])
{
    load(thread, NULL, 0);
    step(s, counted, "older\xc4\x2d");
    const uint8_t *at = memmem(w.out.data, w.out.len, "older\xc4\x2d", 7);
    memcpy(out, at + 7, CURSOR);
}

/* ---- kinds ---- */

static void
pages(size_t n)
{
    uint8_t cursor[CURSOR];
    struct sb_session *s = hello(false);
    for (size_t i = 0; i < n; i += 2)
    {
        first_page(s, names[0][i / 2 % THREADS], true, cursor);
        load(names[0][i / 2 % THREADS], cursor, CURSOR);
        step(s, true, "older\xc0");
    }
    sb_session_destroy(s);
}

static void
posts(size_t n)
{
    static struct sb_record batch[BATCH];
    for (size_t i = 0; i < n; i++)
    {
        batch[i % BATCH] = post(names[3][i * 37 % THREADS], text, true, i);
        if (i % BATCH == BATCH - 1)
            apply(batch, BATCH);
    }
}

static void
hellos(size_t n)
{
    for (size_t i = 0; i < n; i++)
        sb_session_destroy(hello(true));
}

/* A cursor that is refused for the cause, again and again. */
static void
refusals(const char *cause, size_t n)
{
    uint8_t cursor[CURSOR];
    struct sb_session *s = hello(false), *other = hello(false);
    struct sb_cursor_keys two = {.n = 1, .v = {{.id = 2, .key = "another fixed key"}}};
    bool foreign = strcmp(cause, "unknown_handle") == 0;
    const char *thread = strcmp(cause, "binding") == 0 ? names[0][1] : names[0][0];
    if (strcmp(cause, "unknown_key") == 0)
        sb_engine_set_keys(w.engine, &two);
    first_page(other, names[0][0], false, cursor);
    if (!foreign)
        first_page(s, names[0][0], false, cursor);
    else
        first_page(s, names[0][0], false, (uint8_t[CURSOR]){0});
    sb_engine_set_keys(w.engine, &w.cursor_keys);
    if (strcmp(cause, "bad_tag") == 0)
        cursor[CURSOR - 1] ^= 1;
    if (strcmp(cause, "expired") == 0)
        w.now_us += UINT64_C(1000000) * 3000;
    if (strcmp(cause, "snapshot_gone") == 0)
        lowest_horizon = UINT64_MAX - 1;
    if (foreign)
    {
        uint8_t mine[CURSOR];
        first_page(other, names[0][0], false, mine);
        memcpy(cursor, mine, CURSOR);
    }
    size_t len = strcmp(cause, "malformed") == 0 ? CURSOR - 1 : CURSOR;
    for (size_t i = 0; i < n; i++)
    {
        load(thread, cursor, len);
        step(s, true, "invalid_cursor");
    }
    for (int i = 0; i < SB_REFUSAL_COUNT; i++)
        if (strcmp(sb_refusal_names[i], cause) == 0)
            must(sb_engine_telemetry(w.engine)->refusals[i] == n ? 0 : SB_ERR_INTERNAL, cause);
    sb_session_destroy(s);
    sb_session_destroy(other);
}

static void
closed(const char *op, const char (*which)[16], size_t n)
{
    struct sb_session *s = hello(false);
    for (size_t i = 0; i < n; i++)
    {
        begin(op, 4);
        field("thread", which[i % THREADS]);
        field(strcmp(op, "post") == 0 ? "text" : "unused", "text");
        step(s, true, "forbidden");
    }
    sb_session_destroy(s);
}

/* Rows that wait for their derived entries, hidden from alice. */
static void
make_waiting(void)
{
    static struct sb_record batch[THREADS];
    make_thread("wait", SB_HISTORY_SINCE_JOIN, false);
    for (int i = 0; i < THREADS; i++)
        batch[i] = post("wait", text, false, 0);
    apply(batch, THREADS);
    batch[0] = record(SB_RECORD_SET_MEMBER, "wait", "root");
    batch[0].set_member.user = SB_LIT("alice");
    batch[0].set_member.role = SB_ROLE_WRITER;
    apply(batch, 1);
}

/* which: hidden, missing, waiting (and hidden). */
static void
named_row(const char *op, const char *name, const char *which, size_t n)
{
    bool waiting = strcmp(which, "waiting") == 0, posting = strcmp(op, "post") == 0;
    uint64_t from = waiting ? 1 : strcmp(which, "hidden") == 0 ? 300 : 3000;
    struct sb_session *s = hello(false);
    if (waiting)
        make_waiting();
    for (size_t i = 0; i < n; i++)
    {
        begin(op, posting ? 5 : 4);
        field("thread", waiting ? "wait" : "late");
        if (posting)
            field("text", "a reply");
        str(name);
        msgpack_pack_uint64(&w.pack, from + i * 7 % (waiting ? THREADS : 1500));
        step(s, true, strcmp(op, "load_around") == 0 ? "found\xc2" : "not_found");
    }
    sb_session_destroy(s);
}

static const struct
{
    const char *prefix, *op, *name;
} named[] = {
    {"before-", "load_older", "before"},
    {"after-", "load_newer", "after"},
    {"around-", "load_around", "seq"},
    {"reply-", "post", "reply_to"},
};

static const struct
{
    const char *prefix, *op;
} at_threads[] = {{"load-", "load_older"}, {"members-", "members"}, {"post-", "post"}};

static int
refused_alike(const char *kind, size_t n)
{
    const char *which = strchr(kind, '-');
    which = which == NULL ? "" : which + 1;
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (strncmp(kind, named[i].prefix, strlen(named[i].prefix)) == 0)
        {
            named_row(named[i].op, named[i].name, which, n);
            return 0;
        }
    for (size_t i = 0; i < sizeof(at_threads) / sizeof(at_threads[0]); i++)
        if (strncmp(kind, at_threads[i].prefix, strlen(at_threads[i].prefix)) == 0)
        {
            int names_of = strcmp(which, "closed") == 0 ? 1 : 2;
            closed(at_threads[i].op, (const char(*)[16])names[names_of], n);
            return 0;
        }
    fprintf(stderr, "driver: there is no kind %s\n", kind);
    return 2;
}

static int
perform(const char *kind, size_t n)
{
    if (strncmp(kind, "page-", 5) == 0)
        pages(n);
    else if (strcmp(kind, "post") == 0)
        posts(n);
    else if (strcmp(kind, "hello") == 0)
        hellos(n);
    else if (strncmp(kind, "refused-", 8) == 0)
        refusals(kind + 8, n);
    else
        return refused_alike(kind, n);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "cpu") == 0)
    {
        printf("gcc %d, avx2 %d\n", __GNUC__, __builtin_cpu_supports("avx2") != 0);
        return 0;
    }
    bool making = argc == 3 && strcmp(argv[1], "setup") == 0;
    if (!making && argc != 4)
    {
        fprintf(stderr, "usage: driver setup DIR | KIND N DIR | cpu\n");
        return 2;
    }
    memset(text, 'x', sizeof(text) - 1);
    make_names();
    open_world(argv[argc - 1], argv[1]);
    int rc = 0;
    if (making)
        setup();
    else
        rc = perform(argv[1], strtoul(argv[2], NULL, 10));
    sb_engine_destroy(w.engine);
    sb_applier_destroy(w.applier);
    sb_token_verifier_destroy(w.verifier);
    sb_store_close(w.store);
    sb_buf_finish(&w.out);
    msgpack_sbuffer_destroy(&w.frame);
    return rc;
}

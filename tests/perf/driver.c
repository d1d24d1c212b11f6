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
#include "world.h"

#define BATCH 64

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
        first_page(s, names[READ][i / 2 % THREADS], true, cursor);
        load(names[READ][i / 2 % THREADS], cursor, CURSOR);
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
        batch[i % BATCH] = post(names[POSTED][i * 37 % THREADS], text, true, i);
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
    const char *thread = strcmp(cause, "binding") == 0 ? names[READ][1] : names[READ][0];
    if (strcmp(cause, "unknown_key") == 0)
        sb_engine_set_keys(w.engine, &two);
    first_page(other, names[READ][0], false, cursor);
    if (!foreign)
        first_page(s, names[READ][0], false, cursor);
    else
        first_page(s, names[READ][0], false, (uint8_t[CURSOR]){0});
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
        first_page(other, names[READ][0], false, mine);
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
            int names_of = strcmp(which, "closed") == 0 ? CLOSED : MISSING;
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
    open_world(argv[argc - 1], argv[1]);
    int rc = 0;
    if (making)
        setup();
    else
        rc = perform(argv[1], strtoul(argv[2], NULL, 10));
    close_world();
    return rc;
}

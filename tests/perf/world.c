/* world.c - see world.h. Clock, randomness and keys are fixed. */
#include "world.h"

#define ROWS 60 /* of each thread */
#define HIDDEN 2000
#define BATCH 64

struct world w;
static uint64_t random_state = 88172645463325252U;
uint64_t lowest_horizon;

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

void
must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "driver: %s: %s\n", what, sb_error_text(rc));
    exit(1);
}

/* ---- what is counted ---- */

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

struct sb_record
record(enum sb_record_op op, const char *thread, const char *user)
{
    return (struct sb_record){.op = op,
                              .time_ms = NOW_MS,
                              .tenant = SB_LIT("default"),
                              .user = sb_bytes_str(user),
                              .service = true,
                              .thread = sb_bytes_str(thread)};
}

void
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

void
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

struct sb_record
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

char names[N_NAMES][THREADS][16];

static void
make_names(void)
{
    static const char *const forms[] = {"read-%04d", "priv-%04d", "none-%04d", "post-%04d"};
    for (int f = 0; f < N_NAMES; f++)
        for (int i = 0; i < THREADS; i++)
            snprintf(names[f][i], sizeof(names[READ][0]), forms[f], i);
}

char text[260];

void
setup(void)
{
    static struct sb_record batch[1024];
    size_t n = 0;
    for (int i = 0; i < THREADS; i++)
    {
        make_thread(names[READ][i], SB_HISTORY_ALL, true);
        make_thread(names[CLOSED][i], SB_HISTORY_ALL, false);
        make_thread(names[POSTED][i], SB_HISTORY_ALL, true);
    }
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < THREADS; i++)
        {
            batch[n++] = post(names[READ][i], text, false, 0);
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

void
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
    memset(text, 'x', sizeof(text) - 1);
    make_names();
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

void
close_world(void)
{
    sb_engine_destroy(w.engine);
    sb_applier_destroy(w.applier);
    sb_token_verifier_destroy(w.verifier);
    sb_store_close(w.store);
    sb_buf_finish(&w.out);
    msgpack_sbuffer_destroy(&w.frame);
}

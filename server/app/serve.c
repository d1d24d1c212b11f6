/*
 * serve.c - see serve.h: the wiring. What arrives at the network is submitted to the change
 * log, what the log applied goes back to the network; between them only the core decides.
 *
 * Invariant: the change log has at most one job on the pool, and the loop thread writes to
 * the store only when there is none.
 */
#include "app/serve.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "app/command.h"
#include "app/program_metrics.h"
#include "app/web_dir.h"
#include "auth/token.h"
#include "base/log.h"
#include "log/change_log.h"
#include "net/job.h"
#include "net/server.h"
#include "store/store.h"

#define DEMO_TOKEN_MS UINT64_C(600000) /* 10 min */
#define PEM_MAX 16384

struct sb_serve
{
    const struct sb_config *config;
    uv_loop_t loop;
    bool loop_open;
    struct sb_store *store;
    struct sb_keys keys;
    struct sb_token_verifier *verifier;
    struct sb_ports ports;
    struct sb_settings settings;
    struct sb_engine *engine;
    struct sb_change_log *log;
    struct sb_server *server;
    char web[SB_WEB_DIR_MAX];
    uint64_t started_us;
    int failed; /* SB_ERR_ of a fatal outcome, or 0 */
    bool full;  /* the last write found no room */
};

/* ---- ports of the core ---- */

static uint64_t
port_clock(void *ctx)
{
    (void)ctx;
    return sb_now_us();
}

static void
port_random(void *ctx, void *buf, size_t len)
{
    (void)ctx;
    randombytes_buf(buf, len);
}

static int
port_verify(void *ctx, struct sb_bytes token, uint64_t now_ms, struct sb_claims *out)
{
    struct sb_serve *s = ctx;
    return sb_token_verify(s->verifier, token, now_ms, out);
}

/* ---- the change log on the pool ---- */

static int
run_job(void *ctx, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
    struct sb_serve *s = ctx;
    return sb_uv_run_job(&s->loop, run, done, arg);
}

static void
applied(void *ctx, uint64_t tag, const struct sb_record *record, const struct sb_result *result)
{
    struct sb_serve *s = ctx;
    if (result->err == 0 || result->err == SB_ERR_FULL)
        s->full = result->err != 0;
    sb_server_written(s->server, tag, record->op, result);
}

/* The disk may or may not hold the last batch: clients were told so, and only opening the
 * store again can tell. */
static void
fatal(void *ctx, int err)
{
    struct sb_serve *s = ctx;
    if (s->failed != 0)
        return;
    s->failed = err;
    sb_log(SB_LOG_ERROR, "serve", "a commit's outcome is not known (%s): stopping; start it again",
           sb_error_name(err));
    sb_server_stop(s->server);
}

/* ---- hooks of the network ---- */

static int
hook_submit(void *ctx, const struct sb_record *r, uint64_t tag)
{
    struct sb_serve *s = ctx;
    return s->failed != 0 ? SB_ERR_OVERLOADED : sb_change_log_append(s->log, r, tag);
}

static void
hook_turn_end(void *ctx)
{
    struct sb_serve *s = ctx;
    sb_change_log_flush(s->log);
}

static bool
hook_idle(void *ctx)
{
    const struct sb_serve *s = ctx;
    return sb_change_log_idle(s->log);
}

static bool
hook_ready(void *ctx)
{
    struct sb_serve *s = ctx;
    struct sb_store_stats stats;
    if (s->failed != 0 || !s->full)
        return s->failed == 0;
    /* The last write found no room. The exact figure costs a walk over the free list. */
    s->store->ops->stats(s->store, &stats);
    return stats.bytes_used < stats.bytes_quota;
}

static void
hook_metrics(void *ctx, struct sb_buf *out)
{
    struct sb_serve *s = ctx;
    const struct sb_program_metrics m = {s->store, s->log, s->keys.n, sb_now_us() - s->started_us};
    sb_program_metrics_write(&m, out);
}

static bool
hook_is_service(void *ctx, struct sb_bytes token)
{
    struct sb_serve *s = ctx;
    struct sb_claims claims;
    return sb_token_verify(s->verifier, token, sb_now_ms(), &claims) == 0 && claims.service;
}

static int
hook_demo_token(void *ctx, const char *user, char *out, size_t cap)
{
    struct sb_serve *s = ctx;
    struct sb_claims claims = {.tenant = "default", .expires_ms = sb_now_ms() + DEMO_TOKEN_MS};
    char **u = s->config->demo_users;
    while (*u != NULL && strcmp(*u, user) != 0)
        u++;
    if (*u == NULL)
        return SB_ERR_FORBIDDEN;
    (void)snprintf(claims.user, sizeof(claims.user), "%s", user);
    return sb_token_sign(&s->keys, &claims, out, cap);
}

/* ---- keys ---- */

/* The text of a file into heap memory (free() it); NULL with `why`. */
static char *
read_text(const char *path, size_t max, char *why)
{
    FILE *f = fopen(path, "re");
    char *text = f == NULL ? NULL : calloc(1, max + 2);
    if (text == NULL)
    {
        (void)snprintf(why, SB_WHY, "cannot read %.300s: %s", path, strerror(errno));
        if (f != NULL)
            (void)fclose(f);
        return NULL;
    }
    size_t n = fread(text, 1, max + 1, f);
    bool bad = ferror(f) != 0 || n > max;
    (void)fclose(f);
    if (!bad)
        return text;
    (void)snprintf(why, SB_WHY, "cannot read %.300s: %s", path,
                   n > max ? "too long" : "input error");
    free(text);
    return NULL;
}

/* Reads keys and public key; on failure what was there before goes on. */
static int
load_keys(struct sb_serve *s, bool create, char *why)
{
    struct sb_keys keys;
    char *pem = NULL;
    int rc = sb_keys_load(s->config->data, create, sb_now_ms(), &keys, why);
    if (rc != 0)
        return rc;
    if (s->config->token_public_key[0] != '\0' &&
        (pem = read_text(s->config->token_public_key, PEM_MAX, why)) == NULL)
        return SB_ERR_IO;
    char reason[256];
    struct sb_token_verifier *v = sb_token_verifier_create(&keys, pem, reason);
    free(pem);
    if (v == NULL)
    {
        sodium_memzero(&keys, sizeof(keys));
        (void)snprintf(why, SB_WHY, "token-public-key: %s", reason);
        return SB_ERR_BAD_REQUEST;
    }
    sb_token_verifier_destroy(s->verifier);
    s->verifier = v;
    s->keys = keys;
    sodium_memzero(&keys, sizeof(keys));
    return 0;
}

static void
use_cursor_keys(struct sb_serve *s)
{
    struct sb_cursor_keys cursor_keys;
    sb_keys_for_cursors(&s->keys, &cursor_keys);
    sb_engine_set_keys(s->engine, &cursor_keys);
    sodium_memzero(&cursor_keys, sizeof(cursor_keys));
}

static void
hook_reload(void *ctx)
{
    struct sb_serve *s = ctx;
    char why[SB_WHY];
    if (load_keys(s, false, why) != 0)
    {
        sb_log(SB_LOG_ERROR, "serve", "keys not reloaded, the old ones go on: %s", why);
        return;
    }
    use_cursor_keys(s);
    sb_log(SB_LOG_INFO, "serve", "keys reloaded: %u, key %u signs", s->keys.n, s->keys.v[0].id);
}

/* ---- opening ---- */

static int
open_store(struct sb_serve *s, char *why)
{
    struct sb_store_failure failure = {""};
    struct sb_store_options o = {
        .dir = s->config->data,
        .mode = SB_STORE_SERVE,
        .map_size = s->config->map_size,
        .quota = s->config->quota,
        .now_ms = sb_now_ms(),
        .random = randombytes_buf,
    };
    int rc = sb_store_open(&o, &s->store, &failure);
    if (rc != 0)
        (void)snprintf(why, SB_WHY, "%s",
                       failure.text[0] != '\0' ? failure.text : sb_error_text(rc));
    return rc;
}

static int
open_core(struct sb_serve *s, char *why)
{
    const struct sb_config *c = s->config;
    s->ports = (struct sb_ports){s, port_clock, port_random, port_verify};
    s->settings = (struct sb_settings){
        .cursor_ttl_ms = c->cursor_ttl / 1000,
        .snapshot_ttl_ms = c->snapshot_ttl / 1000,
        .hello_timeout_ms = c->hello_timeout / 1000,
        .heartbeat_ms = c->heartbeat / 1000,
        .page_bytes = c->page_bytes,
        .max_frame = c->max_frame,
        .scan_budget_us = c->scan_budget,
        .scan_slice_us = c->scan_slice,
        .rate_limit = c->rate_limit,
    };
    struct sb_change_log_options o = {
        .store = s->store,
        .run_job = run_job,
        .applied = applied,
        .fatal = fatal,
        .ctx = s,
        .clock_us = sb_now_us,
    };
    s->engine = sb_engine_create(s->store, &s->ports, &s->settings);
    s->log = s->engine == NULL ? NULL : sb_change_log_create(&o);
    if (s->log == NULL)
    {
        (void)snprintf(why, SB_WHY, "short of memory");
        return SB_ERR_NO_MEMORY;
    }
    use_cursor_keys(s);
    return 0;
}

static int
open_server(struct sb_serve *s, const struct sb_listen *listen, char *why)
{
    const struct sb_config *c = s->config;
    struct sb_server_hooks hooks = {s,
                                    hook_submit,
                                    hook_turn_end,
                                    hook_idle,
                                    hook_ready,
                                    hook_metrics,
                                    hook_demo_token,
                                    hook_reload,
                                    hook_is_service};
    struct sb_server_settings settings = {
        .host = listen->host,
        .port = listen->port,
        .web_dir = s->web[0] == '\0' ? NULL : s->web,
        .origins = (const char *const *)c->origins,
        .metrics_open = c->metrics_open != 0,
        .max_connections = (uint32_t)c->max_connections,
        .max_connections_per_address = (uint32_t)c->max_connections_per_address,
        .heartbeat_ms = c->heartbeat / 1000,
        .half_frame_ms = c->half_frame_timeout / 1000,
        .out_queue_max = c->out_queue_max,
        .slow_reader_ms = c->slow_reader_timeout / 1000,
        .close_ms = c->close_timeout / 1000,
        .drain_ms = c->drain_timeout / 1000,
        .scan_slice_us = c->scan_slice,
        .demo_users = c->demo_users[0] == NULL ? NULL : (const char *const *)c->demo_users,
    };
    s->server = sb_server_create(&s->loop, s->engine, &settings, &hooks, why);
    return s->server == NULL ? SB_ERR_IO : 0;
}

int
sb_serve_open(const struct sb_config *c, const struct sb_listen *listen, struct sb_serve **out,
              char *why)
{
    struct sb_serve *s = calloc(1, sizeof(*s));
    /* Each cursor draws its handle: from libsodium's generator in the process, seeded by the
     * system's, and not by a system call each. */
    (void)randombytes_set_implementation(&randombytes_internal_implementation);
    if (s == NULL || sodium_init() < 0)
    {
        free(s);
        (void)snprintf(why, SB_WHY, "short of memory");
        return SB_ERR_NO_MEMORY;
    }
    s->config = c;
    s->started_us = sb_now_us();
    sb_web_dir_find(c->web, s->web);
    int rc = uv_loop_init(&s->loop) == 0 ? 0 : SB_ERR_INTERNAL;
    s->loop_open = rc == 0;
    if (rc != 0)
        (void)snprintf(why, SB_WHY, "the event loop cannot be made");
    if (rc == 0)
        rc = open_store(s, why);
    if (rc == 0)
        rc = load_keys(s, true, why);
    if (rc == 0)
        rc = open_core(s, why);
    if (rc == 0)
        rc = open_server(s, listen, why);
    if (rc != 0)
    {
        sb_serve_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

uint16_t
sb_serve_port(const struct sb_serve *s)
{
    return sb_server_port(s->server);
}

int
sb_serve_run(struct sb_serve *s)
{
    int rc = sb_server_run(s->server);
    return s->failed != 0 ? s->failed : rc;
}

int
sb_serve_close(struct sb_serve *s)
{
    int rc = 0;
    if (s->server != NULL)
        sb_server_destroy(s->server);
    if (s->engine != NULL)
        sb_engine_destroy(s->engine);
    if (s->log != NULL)
        sb_change_log_destroy(s->log);
    sb_token_verifier_destroy(s->verifier);
    if (s->store != NULL)
    {
        if (s->failed == 0) /* after an unknown outcome nothing more is written */
            rc = sb_store_settle(s->store);
        sb_store_close(s->store);
    }
    if (s->loop_open && uv_loop_close(&s->loop) != 0)
        sb_log(SB_LOG_WARN, "serve", "the event loop still had handles at the end");
    sodium_memzero(&s->keys, sizeof(s->keys));
    free(s);
    return rc;
}

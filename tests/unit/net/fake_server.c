/*
 * fake_server.c - the real net layer over the fake core, as a program for socket tests.
 *
 * Prints "listening PORT" when ready. Options are KEY=VALUE words; see below. Writes are
 * decided after `commit-ms` by a timer that stands for the store. Exits 0 only if
 * everything was taken apart cleanly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uv.h>

#include "fake_core.h"
#include "net/server.h"

#define MAX_WAITING 1000

static struct
{
    struct sb_server *server;
    uv_loop_t loop;
    uv_timer_t commit;
    uint64_t tags[MAX_WAITING];
    size_t n, max;
    uint64_t commit_ms, seq;
    int reloads;
} app;

static void
commit_cb(uv_timer_t *t)
{
    (void)t;
    size_t n = app.n;
    uint64_t tags[MAX_WAITING];
    memcpy(tags, app.tags, sizeof(tags));
    app.n = 0;
    for (size_t i = 0; i < n; i++)
    {
        struct sb_result r = {.seq = ++app.seq};
        sb_server_written(app.server, tags[i], SB_RECORD_POST, &r);
    }
}

static int
submit(void *ctx, const struct sb_record *r, uint64_t tag)
{
    (void)ctx;
    (void)r;
    if (app.n == app.max)
        return SB_ERR_OVERLOADED;
    app.tags[app.n++] = tag;
    return 0;
}

static void
turn_end(void *ctx)
{
    (void)ctx;
    if (app.n != 0 && !uv_is_active((uv_handle_t *)&app.commit))
        uv_timer_start(&app.commit, commit_cb, app.commit_ms, 0);
}

static bool
idle(void *ctx)
{
    (void)ctx;
    return app.n == 0;
}

static bool
ready(void *ctx)
{
    (void)ctx;
    return true;
}

static void
metrics(void *ctx, struct sb_buf *out)
{
    (void)ctx;
    char line[64];
    int n = snprintf(line, sizeof(line), "fake_reloads %d\n", app.reloads);
    (void)sb_buf_append(out, sb_bytes(line, (size_t)n));
}

static int
demo_token(void *ctx, const char *user, char *out, size_t cap)
{
    (void)ctx;
    snprintf(out, cap, "token-of-%s", user);
    return 0;
}

static void
reload(void *ctx)
{
    (void)ctx;
    app.reloads++;
}

static const char *const demo_users[] = {"alice", "bob", NULL};
static const char *origins[2];

static void
option(struct sb_server_settings *set, const char *word)
{
    const char *eq = strchr(word, '=');
    if (eq == NULL)
        exit(2);
    size_t n = (size_t)(eq - word);
    const char *value = eq + 1;
    uint64_t number = strtoull(value, NULL, 10);
    const struct
    {
        const char *key;
        uint64_t *at;
    } numbers[] = {
        {"heartbeat", &set->heartbeat_ms},  {"half-frame", &set->half_frame_ms},
        {"out-queue", &set->out_queue_max}, {"slow-reader", &set->slow_reader_ms},
        {"close", &set->close_ms},          {"drain", &set->drain_ms},
        {"handshake", &set->handshake_ms},  {"commit", &app.commit_ms},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strlen(numbers[i].key) == n && strncmp(word, numbers[i].key, n) == 0)
        {
            *numbers[i].at = number;
            return;
        }
    if (strncmp(word, "hello=", 6) == 0)
        fake_core_set_hello_timeout(number);
    else if (strncmp(word, "host=", 5) == 0)
        set->host = value;
    else if (strncmp(word, "web=", 4) == 0)
        set->web_dir = value;
    else if (strncmp(word, "origin=", 7) == 0)
        origins[0] = value;
    else if (strncmp(word, "max=", 4) == 0)
        set->max_connections = (uint32_t)number;
    else if (strncmp(word, "per-address=", 12) == 0)
        set->max_connections_per_address = (uint32_t)number;
    else if (strncmp(word, "files=", 6) == 0)
    {
        const struct rlimit few = {(rlim_t)number, (rlim_t)number};
        (void)setrlimit(RLIMIT_NOFILE, &few);
    }
    else if (strncmp(word, "waiting=", 8) == 0)
        app.max = (size_t)number;
    else if (strncmp(word, "demo=", 5) == 0)
        set->demo_users = demo_users;
    else
        exit(2);
}

static void
ignore_closed(uv_handle_t *h)
{
    (void)h;
}

int
main(int argc, char **argv)
{
    char why[256] = "";
    struct sb_server_settings set = {
        .host = "127.0.0.1",
        .origins = origins,
        .heartbeat_ms = 25000,
        .out_queue_max = 1 << 20,
    };
    app.max = MAX_WAITING;
    app.commit_ms = 5;
    for (int i = 1; i < argc; i++)
        option(&set, argv[i]);
    uv_loop_init(&app.loop);
    uv_timer_init(&app.loop, &app.commit);
    struct sb_engine *engine = sb_engine_create(NULL, NULL, NULL);
    const struct sb_server_hooks hooks = {
        .submit = submit,
        .turn_end = turn_end,
        .idle = idle,
        .ready = ready,
        .metrics = metrics,
        .demo_token = demo_token,
        .reload = reload,
    };
    app.server = sb_server_create(&app.loop, engine, &set, &hooks, why);
    if (app.server == NULL)
    {
        fprintf(stderr, "%s\n", why);
        sb_engine_destroy(engine);
        uv_close((uv_handle_t *)&app.commit, ignore_closed);
        uv_run(&app.loop, UV_RUN_DEFAULT);
        return uv_loop_close(&app.loop) == 0 ? 1 : 9;
    }
    printf("listening %u\n", sb_server_port(app.server));
    fflush(stdout);
    int rc = sb_server_run(app.server);
    sb_server_destroy(app.server);
    sb_engine_destroy(engine);
    uv_close((uv_handle_t *)&app.commit, ignore_closed);
    uv_run(&app.loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&app.loop) != 0)
    {
        fprintf(stderr, "the loop did not close\n");
        return 9;
    }
    printf("clean\n");
    return rc;
}

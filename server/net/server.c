/*
 * server.c - putting the loop's parts together and taking them apart.
 *
 * Teardown follows what libwebsockets needs on a foreign loop: it is told twice, and the
 * loop runs after each so that handles can close. Afterwards uv_loop_close() returns 0 if
 * the program around closed its own.
 */
#include "net/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define CLOSING_TURNS 16

static void
set_default(uint64_t *value, uint64_t fallback)
{
    if (*value == 0)
        *value = fallback;
}

static void
fill_defaults(struct sb_server_settings *set)
{
    set_default(&set->handshake_ms, 10000);
    set_default(&set->half_frame_ms, 10000);
    set_default(&set->out_queue_max, (uint64_t)1 << 20);
    set_default(&set->slow_reader_ms, 10000);
    set_default(&set->close_ms, 10000);
    set_default(&set->drain_ms, 2000);
    set_default(&set->scan_slice_us, 200);
    if (set->host == NULL)
        set->host = "127.0.0.1";
}

static void
handle_closed(uv_handle_t *h)
{
    struct sb_server *s = h->data;
    s->open_handles--;
}

static void
close_handle(uv_handle_t *h)
{
    if (h->data != NULL && !uv_is_closing(h))
        uv_close(h, handle_closed);
}

void
sb_server_own(struct sb_server *s, uv_handle_t *h)
{
    h->data = s;
    s->open_handles++;
}

/* May be called half-way through creation and twice. */
static void
teardown(struct sb_server *s)
{
    sb_listen_close(s);
    struct sb_link *at = s->all.next;
    while (at != &s->all)
    {
        struct sb_conn *c = SB_LINK_OF(at, struct sb_conn, all);
        at = at->next;
        if (c->greet != NULL)
            sb_greet_drop(c);
    }
    if (s->lws != NULL)
        lws_context_destroy(s->lws);
    uv_handle_t *own[] = {
        (uv_handle_t *)&s->listen_poll, (uv_handle_t *)&s->accept_retry,
        (uv_handle_t *)&s->check,       (uv_handle_t *)&s->prepare,
        (uv_handle_t *)&s->scan_idle,   (uv_handle_t *)&s->wheel_timer,
        (uv_handle_t *)&s->drain_timer, (uv_handle_t *)&s->signals[0],
        (uv_handle_t *)&s->signals[1],  (uv_handle_t *)&s->signals[2],
    };
    if (s->open_handles != 0)
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            close_handle(own[i]);
    for (int i = 0; i < CLOSING_TURNS && (s->open_handles != 0 || s->lws != NULL); i++)
    {
        (void)uv_run(s->loop, UV_RUN_NOWAIT);
        if (i == 1 && s->lws != NULL)
            lws_context_destroy(s->lws);
    }
    (void)uv_run(s->loop, UV_RUN_NOWAIT);
    s->phase = SB_STOPPED;
}

struct sb_server *
sb_server_create(void *loop, struct sb_engine *engine, const struct sb_server_settings *settings,
                 const struct sb_server_hooks *hooks, char *why)
{
    struct sb_server *s = calloc(1, sizeof(*s));
    if (s == NULL)
    {
        snprintf(why, 256, "short of memory");
        return NULL;
    }
    s->loop = loop;
    s->engine = engine;
    s->settings = *settings;
    s->hooks = *hooks;
    s->listen_fd = -1;
    s->log_limit.burst = 5;
    fill_defaults(&s->settings);
    sb_link_init(&s->all);
    sb_table_init(&s->table);
    uint64_t seed = 0;
    (void)!getrandom(&seed, sizeof(seed), 0);
    sb_addresses_init(&s->addresses, seed);
    snprintf(why, 256, "an event loop handle could not be made");
    if (sb_turn_init(s) == 0 && sb_timers_init(s) == 0 && sb_stop_init(s) == 0 &&
        sb_ws_create(s, why) == 0 && sb_listen_open(s, why) == 0)
    {
        why[0] = '\0';
        return s;
    }
    sb_server_destroy(s);
    return NULL;
}

uint16_t
sb_server_port(const struct sb_server *s)
{
    return s->port;
}

int
sb_server_run(struct sb_server *s)
{
    while (s->phase != SB_STOPPED)
        (void)uv_run(s->loop, UV_RUN_DEFAULT);
    teardown(s);
    return 0;
}

void
sb_server_destroy(struct sb_server *s)
{
    if (s == NULL)
        return;
    teardown(s);
    for (uint32_t i = 0; i < s->n_spare; i++)
        sb_buf_finish(&s->spare[i]);
    sb_table_finish(&s->table);
    sb_addresses_finish(&s->addresses);
    free(s);
}

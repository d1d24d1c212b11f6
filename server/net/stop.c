/*
 * stop.c - the staged stop.
 *
 *      RUNNING ──signal──▶ DRAIN_CHANGES ──all decided──▶ DRAIN_CLOSE ──all gone──▶ STOPPED
 *                                                              └── or drain_ms ──────┘
 *
 * In the first stage no new connection and no new request is taken; what was submitted is
 * waited for, for its outcome decides what the client may believe. In the second each
 * connection gets its replies, then close 1001. A second signal exits at once.
 */
#include "net/internal.h"

#include <signal.h>
#include <unistd.h>

#define DRAIN_POLL_MS 10

static void
drain_timer_cb(uv_timer_t *timer)
{
    struct sb_server *s = timer->data;
    if (s->phase == SB_DRAIN_CLOSE)
    {
        sb_log(SB_LOG_WARN, "net", "%u connections did not take their close in time",
               s->n_web_sockets);
        s->phase = SB_STOPPED;
        uv_stop(s->loop);
    }
    /* In DRAIN_CHANGES it only wakes the loop: sb_stop_turn asks whether all is decided. */
}

void
sb_server_stop(struct sb_server *s)
{
    if (s->phase != SB_RUNNING)
        return;
    s->phase = SB_DRAIN_CHANGES;
    sb_log(SB_LOG_INFO, "net", "stopping: %u connections", s->n_web_sockets);
    sb_listen_close(s);
    uv_timer_start(&s->drain_timer, drain_timer_cb, 0, DRAIN_POLL_MS);
}

static void
close_all(struct sb_server *s)
{
    struct sb_link *at = s->all.next;
    while (at != &s->all)
    {
        struct sb_conn *c = SB_LINK_OF(at, struct sb_conn, all);
        at = at->next;
        sb_conn_close(c, 1001);
    }
}

void
sb_stop_turn(struct sb_server *s)
{
    if (s->phase == SB_DRAIN_CHANGES && s->hooks.idle(s->hooks.ctx))
    {
        s->phase = SB_DRAIN_CLOSE;
        close_all(s);
        uv_timer_start(&s->drain_timer, drain_timer_cb, s->settings.drain_ms, 0);
        sb_turn_flush(s);
    }
    if (s->phase == SB_DRAIN_CLOSE && s->n_web_sockets == 0)
    {
        s->phase = SB_STOPPED;
        uv_stop(s->loop);
    }
}

static void
signal_cb(uv_signal_t *h, int number)
{
    struct sb_server *s = h->data;
    if (number == SIGHUP)
    {
        if (s->hooks.reload != NULL)
            s->hooks.reload(s->hooks.ctx);
        return;
    }
    if (s->phase != SB_RUNNING)
    {
        sb_log(SB_LOG_WARN, "net", "second signal: exiting at once");
        _exit(1);
    }
    sb_server_stop(s);
}

int
sb_stop_init(struct sb_server *s)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
    {
        if (uv_signal_init(s->loop, &s->signals[i]) != 0)
            return SB_ERR_INTERNAL;
        sb_server_own(s, (uv_handle_t *)&s->signals[i]);
        if (uv_signal_start(&s->signals[i], signal_cb, numbers[i]) != 0)
            return SB_ERR_INTERNAL;
        uv_unref((uv_handle_t *)&s->signals[i]);
    }
    if (uv_timer_init(s->loop, &s->drain_timer) != 0)
        return SB_ERR_INTERNAL;
    sb_server_own(s, (uv_handle_t *)&s->drain_timer);
    return 0;
}

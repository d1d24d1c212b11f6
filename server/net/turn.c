/*
 * turn.c - what is done once per turn of the loop, before and after it waits for events.
 *
 * Input handled in a turn only queues output; here changes are started, each connection's
 * output leaves in one write, and scans get their share of the turn. The check handle runs
 * behind events, the prepare handle behind timers and before waiting, so nothing that was
 * queued waits for the next event. Both are unreferenced: they keep no loop alive.
 */
#include "net/internal.h"

#include <time.h>

uint64_t
sb_wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t
sb_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void
sb_turn_dirty(struct sb_server *s, struct sb_conn *c)
{
    if (sb_link_empty(&c->dirty))
        sb_link_append(&s->dirty, &c->dirty);
}

void
sb_turn_flush(struct sb_server *s)
{
    struct sb_link now;
    sb_link_init(&now);
    sb_link_splice(&now, &s->dirty);
    while (!sb_link_empty(&now))
    {
        struct sb_conn *c = SB_LINK_OF(now.next, struct sb_conn, dirty);
        sb_link_remove(&c->dirty);
        sb_conn_flush(c);
    }
}

static void
scan_idle_cb(uv_idle_t *idle)
{
    (void)idle; /* an active idle handle keeps the loop from sleeping while scans wait */
}

/* All scans together get one slice of a turn. */
static void
run_scans(struct sb_server *s)
{
    struct sb_session *session = NULL;
    uint64_t deadline = 0;
    if (s->phase == SB_RUNNING)
        session = sb_engine_scan_next(s->engine);
    if (session != NULL)
        deadline = sb_mono_us() + s->settings.scan_slice_us;
    while (session != NULL)
    {
        struct sb_event ev = {.kind = SB_EVENT_SCAN, .deadline_us = deadline};
        sb_conn_step(sb_session_owner(session), &ev);
        if (sb_mono_us() >= deadline)
        {
            uv_idle_start(&s->scan_idle, scan_idle_cb);
            return;
        }
        session = sb_engine_scan_next(s->engine);
    }
    uv_idle_stop(&s->scan_idle);
}

static void
turn(struct sb_server *s)
{
    /* Changes first: their commit runs elsewhere while replies are written here. */
    s->hooks.turn_end(s->hooks.ctx);
    sb_turn_flush(s);
}

static void
check_cb(uv_check_t *h)
{
    struct sb_server *s = h->data;
    turn(s);
    run_scans(s);
    sb_turn_flush(s);
    sb_stop_turn(s);
}

static void
prepare_cb(uv_prepare_t *h)
{
    struct sb_server *s = h->data;
    turn(s);
    /* A timer may have let a scan in; while the idle handle runs, check_cb sees to them. */
    if (!uv_is_active((uv_handle_t *)&s->scan_idle))
    {
        run_scans(s);
        sb_turn_flush(s);
    }
    sb_stop_turn(s);
}

int
sb_turn_init(struct sb_server *s)
{
    sb_link_init(&s->dirty);
    if (uv_check_init(s->loop, &s->check) != 0 || uv_prepare_init(s->loop, &s->prepare) != 0 ||
        uv_idle_init(s->loop, &s->scan_idle) != 0)
        return SB_ERR_INTERNAL;
    sb_server_own(s, (uv_handle_t *)&s->check);
    sb_server_own(s, (uv_handle_t *)&s->prepare);
    sb_server_own(s, (uv_handle_t *)&s->scan_idle);
    uv_check_start(&s->check, check_cb);
    uv_prepare_start(&s->prepare, prepare_cb);
    uv_unref((uv_handle_t *)&s->check);
    uv_unref((uv_handle_t *)&s->prepare);
    return 0;
}

/*
 * timers.c - deadlines of connections on one timer.
 *
 * A wheel of buckets, 50 ms each: a connection lies in the bucket of its next look, so a
 * tick touches only those that are due. The library's own timers are one sorted list and
 * are used between HTTP requests only. The timer stands still while the wheel
 * is empty.
 */
#include "net/internal.h"

static void
tick_cb(uv_timer_t *timer)
{
    struct sb_server *s = timer->data;
    uint64_t now = sb_loop_ms(s);
    /* After a long turn several buckets are due; none is skipped. */
    uint64_t target = now / SB_WHEEL_MS;
    if (target - s->wheel_at > SB_WHEEL_BUCKETS)
        s->wheel_at = target - SB_WHEEL_BUCKETS;
    struct sb_link due;
    sb_link_init(&due);
    for (; s->wheel_at <= target; s->wheel_at++)
        sb_link_splice(&due, &s->wheel[s->wheel_at % SB_WHEEL_BUCKETS]);
    while (!sb_link_empty(&due))
    {
        struct sb_conn *c = SB_LINK_OF(due.next, struct sb_conn, wheel);
        sb_link_remove(&c->wheel);
        uint64_t again = sb_conn_check(c, now);
        if (again != SB_CHECK_NEVER)
            sb_timers_put(s, c, again);
    }
    if (s->n_sockets == 0)
        uv_timer_stop(timer);
}

void
sb_timers_put(struct sb_server *s, struct sb_conn *c, uint64_t in_ms)
{
    uint64_t at = (sb_loop_ms(s) + in_ms) / SB_WHEEL_MS + 1;
    if (!uv_is_active((uv_handle_t *)&s->wheel_timer))
    {
        s->wheel_at = sb_loop_ms(s) / SB_WHEEL_MS;
        uv_timer_start(&s->wheel_timer, tick_cb, SB_WHEEL_MS, SB_WHEEL_MS);
    }
    if (at >= s->wheel_at + SB_WHEEL_BUCKETS)
        at = s->wheel_at + SB_WHEEL_BUCKETS - 1;
    sb_link_append(&s->wheel[at % SB_WHEEL_BUCKETS], &c->wheel);
}

int
sb_timers_init(struct sb_server *s)
{
    for (size_t i = 0; i < SB_WHEEL_BUCKETS; i++)
        sb_link_init(&s->wheel[i]);
    if (uv_timer_init(s->loop, &s->wheel_timer) != 0)
        return SB_ERR_INTERNAL;
    sb_server_own(s, (uv_handle_t *)&s->wheel_timer);
    return 0;
}

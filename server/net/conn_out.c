/*
 * conn_out.c - a connection's output and its deadlines.
 *
 * Output leaves in whole frames, at most one socket write's worth at a time. Close frames
 * are queued like replies, so they arrive behind what was already answered. Invariant: a
 * connection in CLOSING ends by its deadline, with or without the peer's help.
 */
#include "net/internal.h"

#include <sys/ioctl.h>

/* The session is waiting for hello, or a close for its end: looked at more often. */
#define CHECK_SOON_MS 100
/* An expired token is closed within a second, the wheel's own step included. */
#define CHECK_MS 900
/* After the close frame is out: for the peer's own. */
#define LINGER_MS 2000

bool
sb_conn_open_queue(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    if (sb_outq_is_open(&c->out))
        return true;
    struct sb_buf none = {0};
    struct sb_buf *spare = &none;
    if (s->n_spare > 0)
    {
        spare = &s->spare[--s->n_spare];
        s->spare_bytes -= spare->cap;
    }
    /* Replies may exceed the queue's maximum; what bounds them is that reading stops. */
    return sb_outq_open(&c->out, spare, SIZE_MAX / 4) == 0;
}

void
sb_conn_close(struct sb_conn *c, uint16_t code)
{
    struct sb_server *s = c->server;
    if (c->state != SB_CONN_OPEN)
        return;
    c->state = SB_CONN_CLOSING;
    c->close_code = code;
    c->deadline_ms = sb_loop_ms(s) + s->settings.close_ms;
    s->counters.closes[sb_close_index(code)]++;
    sb_conn_end_session(c);
    sb_buf_finish(&c->in);
    if (c->rx_off)
    {
        c->rx_off = false;
        (void)lws_rx_flow_control(c->wsi, 1);
    }
    if (!sb_conn_open_queue(c) || sb_outq_close_frame(&c->out, code) != 0)
    {
        sb_conn_reset(c);
        return;
    }
    sb_turn_dirty(s, c);
    sb_timers_put(s, c, CHECK_SOON_MS);
}

void
sb_conn_reset(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    if (c->state == SB_CONN_GONE || c->wsi == NULL)
        return;
    sb_conn_end_session(c);
    enum sb_conn_state was = c->state;
    if (was != SB_CONN_HTTP)
        s->counters.resets++;
    sb_outq_drop(&c->out);
    sb_link_remove(&c->dirty);
    sb_link_remove(&c->wheel);
    c->state = SB_CONN_GONE;
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (was != SB_CONN_HTTP)
        (void)setsockopt(lws_get_socket_fd(c->wsi), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    /* The library's own timeout is the one way that drops unsent bytes; armed outside its
     * callbacks it fires only at its next service, hence the wake-up. */
    lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
    lws_cancel_service(s->lws);
}

/* The queue is empty: its memory goes back. */
static void
give_back(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    size_t cap = c->out.buf.cap;
    if (s->n_spare < SB_SPARE_BUFFERS && cap <= SB_SPARE_BYTES &&
        s->spare_bytes + cap <= SB_SPARE_ALL)
    {
        s->spare_bytes += cap;
        s->spare[s->n_spare++] = c->out.buf;
        c->out.buf = (struct sb_buf){0};
    }
    else
        sb_buf_finish(&c->out.buf);
    c->out.pos = 0;
}

static void
after_flush(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    uint64_t now = sb_loop_ms(s);
    size_t queued = sb_outq_queued(&c->out);
    if (queued <= s->settings.out_queue_max)
        c->over_ms = 0;
    else if (c->over_ms == 0)
        c->over_ms = now;
    if (c->rx_off && queued <= s->settings.out_queue_max / 4)
    {
        c->rx_off = false;
        (void)lws_rx_flow_control(c->wsi, 1);
    }
    if (c->state == SB_CONN_CLOSING && queued == 0 && !c->close_written)
    {
        c->close_written = true;
        if (c->deadline_ms > now + LINGER_MS)
            c->deadline_ms = now + LINGER_MS;
    }
}

void
sb_conn_flush(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    if (c->state != SB_CONN_OPEN && c->state != SB_CONN_CLOSING)
        return;
    while (true)
    {
        if (lws_partial_buffered(c->wsi))
        {
            (void)lws_callback_on_writable(c->wsi);
            break;
        }
        if (c->out.handed != 0)
        {
            /* The peer's side takes bytes: it lives, however slowly. */
            c->out.handed = 0;
            c->heard_ms = sb_loop_ms(s);
        }
        if (sb_outq_waiting(&c->out) == 0)
            break;
        size_t n = sb_outq_chunk(&c->out, SB_WRITE_MAX);
        if (lws_write(c->wsi, sb_outq_at(&c->out), n, LWS_WRITE_RAW) < 0)
        {
            sb_conn_reset(c);
            return;
        }
        s->counters.bytes_out += n;
        sb_outq_took(&c->out, n);
        if (lws_partial_buffered(c->wsi))
            c->out.handed = n;
    }
    after_flush(c);
    if (sb_outq_is_open(&c->out) && sb_outq_waiting(&c->out) == 0)
        give_back(c);
}

/* ---- deadlines ---- */

/* A message begun and not ended. The library hands a small frame on only when it is whole,
 * so an unfinished one shows in what it says is still to come. */
static bool
check_half_message(struct sb_conn *c, uint64_t now_ms)
{
    const struct sb_server *s = c->server;
    size_t rest = lws_remaining_packet_payload(c->wsi);
    if (c->rx_off || (rest == 0 && !c->assembling))
    {
        c->half_ms = 0;
        return true;
    }
    size_t max = sb_session_max_frame(c->session);
    if (c->in.len > max || rest > max - c->in.len)
    {
        sb_conn_close(c, 1009);
        return false;
    }
    if (c->half_ms == 0)
        c->half_ms = now_ms;
    if (now_ms - c->half_ms < s->settings.half_frame_ms)
        return true;
    sb_conn_close(c, 4408);
    return false;
}

/* A peer on a slow link that takes a large page cannot answer pings that wait behind it, nor
 * be faster: the kernel's queue for it, growing shorter or refilled, is the sign of life. */
static void
note_progress(struct sb_conn *c, uint64_t now_ms)
{
    int unsent = 0;
    if (c->out.handed == 0 || ioctl(lws_get_socket_fd(c->wsi), TIOCOUTQ, &unsent) != 0)
        return;
    if (unsent != c->kernel_queue)
    {
        c->heard_ms = now_ms;
        if (c->over_ms != 0)
            c->over_ms = now_ms;
    }
    c->kernel_queue = unsent;
}

static bool
check_heartbeat(struct sb_conn *c, uint64_t now_ms)
{
    struct sb_server *s = c->server;
    uint64_t period = s->settings.heartbeat_ms;
    if (period == 0)
        return true;
    if (now_ms - c->heard_ms >= 2 * period)
    {
        sb_conn_close(c, 4408);
        return false;
    }
    if (now_ms - c->pinged_ms >= period)
    {
        c->pinged_ms = now_ms;
        if (sb_conn_open_queue(c) && sb_outq_ping_frame(&c->out, ++c->pings) == 0)
            sb_turn_dirty(s, c);
    }
    return true;
}

static bool
check_slow_reader(struct sb_conn *c, uint64_t now_ms)
{
    if (c->over_ms == 0 || now_ms - c->over_ms < c->server->settings.slow_reader_ms)
        return true;
    /* The frame in progress is the socket layer's; the rest is dropped. */
    sb_outq_drop(&c->out);
    sb_conn_close(c, 4413);
    return false;
}

static uint64_t
check_period(const struct sb_server *s)
{
    uint64_t period = CHECK_MS;
    const uint64_t limits[] = {s->settings.heartbeat_ms, s->settings.half_frame_ms,
                               s->settings.slow_reader_ms};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i] != 0 && limits[i] / 4 < period)
            period = limits[i] / 4;
    return period < SB_WHEEL_MS ? SB_WHEEL_MS : period;
}

/* From accept to a whole request; drips count as silence. Between later requests the
 * library's keep-alive timeout holds. */
static uint64_t
check_first_request(struct sb_conn *c, uint64_t now_ms)
{
    if (c->requested)
        return SB_CHECK_NEVER;
    if (now_ms < c->deadline_ms)
        return c->deadline_ms - now_ms;
    if (c->greet != NULL)
        sb_greet_drop(c);
    else
        sb_conn_reset(c);
    return SB_CHECK_NEVER;
}

uint64_t
sb_conn_check(struct sb_conn *c, uint64_t now_ms)
{
    if (c->state == SB_CONN_HTTP)
        return check_first_request(c, now_ms);
    if (c->state == SB_CONN_CLOSING)
    {
        if (now_ms < c->deadline_ms)
            return CHECK_SOON_MS;
        sb_conn_reset(c);
        return SB_CHECK_NEVER;
    }
    struct sb_event ev = {.kind = SB_EVENT_TICK};
    note_progress(c, now_ms);
    sb_conn_step(c, &ev);
    if (c->state == SB_CONN_GONE)
        return SB_CHECK_NEVER;
    if (c->state != SB_CONN_OPEN || !check_half_message(c, now_ms) ||
        !check_slow_reader(c, now_ms) || !check_heartbeat(c, now_ms))
        return CHECK_SOON_MS;
    bool soon = !sb_session_ready(c->session) || c->half_ms != 0;
    uint64_t period = check_period(c->server);
    return soon && period > CHECK_SOON_MS ? CHECK_SOON_MS : period;
}

/*
 * conn.c - a connection's life and its input: chunks become messages, messages events.
 *
 * A message that arrives in one piece is handed on without a copy; only an incomplete one
 * is kept. Invariant: nothing is copied before its declared length was compared with what
 * the session may send.
 */
#include "net/internal.h"

#include <stdlib.h>

struct sb_conn *
sb_conn_create(struct sb_server *s, struct sb_address *address)
{
    struct sb_conn *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->server = s;
    c->address = address;
    sb_link_init(&c->all);
    sb_link_init(&c->dirty);
    sb_link_init(&c->wheel);
    sb_link_append(&s->all, &c->all);
    s->n_sockets++;
    return c;
}

void
sb_conn_end_session(struct sb_conn *c)
{
    if (c->session == NULL)
        return;
    sb_table_remove(&c->server->table, c->slot);
    sb_session_destroy(c->session);
    c->session = NULL;
}

void
sb_conn_gone(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    sb_conn_end_session(c);
    sb_link_remove(&c->dirty);
    sb_link_remove(&c->wheel);
    sb_buf_finish(&c->in);
    sb_buf_finish(&c->out.buf);
    c->out = (struct sb_outq){0};
    if (c->web_socket)
    {
        c->web_socket = false;
        c->address->web_sockets--;
        s->n_web_sockets--;
    }
    c->state = SB_CONN_GONE;
}

void
sb_conn_release(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    sb_conn_gone(c);
    sb_link_remove(&c->all);
    sb_address_drop(&s->addresses, c->address);
    s->n_sockets--;
    free(c);
}

int
sb_conn_established(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    const struct sb_server_settings *set = &s->settings;
    sb_buf_finish(&c->in);
    c->session = sb_session_create(s->engine, c, sb_mono_us());
    if (c->session == NULL)
        return -1;
    if (sb_table_add(&s->table, c, &c->slot) != 0)
    {
        sb_session_destroy(c->session);
        c->session = NULL;
        return -1;
    }
    c->state = SB_CONN_OPEN;
    c->web_socket = true;
    c->heard_ms = c->pinged_ms = sb_loop_ms(s);
    s->n_web_sockets++;
    c->address->web_sockets++;
    s->counters.upgrades++;
    sb_timers_put(s, c, 0);
    if ((set->max_connections != 0 && s->n_web_sockets > set->max_connections) ||
        (set->max_connections_per_address != 0 &&
         c->address->web_sockets > set->max_connections_per_address))
        sb_conn_close(c, 4429);
    return 0;
}

static void
submit(struct sb_conn *c, const struct sb_record *record, struct sb_opt_uint re)
{
    struct sb_server *s = c->server;
    enum sb_record_op op = record->op;
    uint64_t tag;
    int rc = sb_table_tag(&s->table, c->slot, re, &tag);
    if (rc == 0)
    {
        rc = s->hooks.submit(s->hooks.ctx, record, tag);
        if (rc == 0)
            return;
        struct sb_opt_uint back;
        (void)sb_table_untag(&s->table, tag, &back);
    }
    /* Not taken: the session answers at once. */
    struct sb_event ev = {.kind = SB_EVENT_WRITTEN};
    ev.written.re = re;
    ev.written.op = op;
    ev.written.result.err = SB_ERR_OVERLOADED;
    sb_conn_step(c, &ev);
}

void
sb_conn_step(struct sb_conn *c, struct sb_event *ev)
{
    struct sb_server *s = c->server;
    if (c->state != SB_CONN_OPEN)
        return;
    if (!sb_conn_open_queue(c))
    {
        sb_conn_reset(c);
        return;
    }
    size_t from = c->out.buf.len;
    struct sb_effects fx = {.out = &c->out.buf};
    ev->now_ms = sb_wall_ms();
    ev->now_us = sb_mono_us();
    sb_session_step(c->session, ev, &fx);
    if (c->out.buf.len != from)
    {
        int rc = sb_outq_frame(&c->out, from);
        if (rc != 0)
        {
            /* A reply is lost: the client must not wait for it. */
            s->counters.frames_lost++;
            sb_log_limited(&s->log_limit, ev->now_ms, SB_LOG_ERROR, "net",
                           "a reply could not be queued: %s", sb_error_name(rc));
            sb_conn_reset(c);
            return;
        }
    }
    sb_turn_dirty(s, c);
    if (fx.has_record)
        submit(c, &fx.record, fx.record_re);
    if (fx.close_code != 0)
        sb_conn_close(c, fx.close_code);
}

static void
whole_message(struct sb_conn *c, const void *data, size_t len)
{
    struct sb_server *s = c->server;
    struct sb_event ev = {.kind = SB_EVENT_FRAME, .frame = sb_bytes(data, len)};
    s->counters.frames_in++;
    sb_conn_step(c, &ev);
    if (c->state != SB_CONN_OPEN || c->rx_off)
        return;
    /* While more than half of the maximum is queued, further requests are not read. */
    if (sb_outq_queued(&c->out) > s->settings.out_queue_max / 2)
    {
        c->rx_off = true;
        (void)lws_rx_flow_control(c->wsi, 0);
    }
}

int
sb_conn_receive(struct sb_conn *c, const void *data, size_t len)
{
    struct sb_server *s = c->server;
    s->counters.bytes_in += len;
    if (c->state != SB_CONN_OPEN || s->phase != SB_RUNNING)
        return 0;
    c->heard_ms = sb_loop_ms(s);
    if (!lws_frame_is_binary(c->wsi))
    {
        sb_conn_close(c, 1003);
        return 0;
    }
    bool first = lws_is_first_fragment(c->wsi), final = lws_is_final_fragment(c->wsi);
    size_t rest = lws_remaining_packet_payload(c->wsi);
    size_t max = sb_session_max_frame(c->session);
    if (first)
    {
        c->in.len = 0;
        c->fragments = 0;
    }
    if (rest == 0)
        c->fragments++;
    if (c->fragments > SB_MAX_FRAGMENTS || (c->fragments == SB_MAX_FRAGMENTS && !final))
    {
        sb_conn_close(c, SB_CLOSE_POLICY);
        return 0;
    }
    if (len > max || c->in.len > max - len || rest > max - len - c->in.len)
    {
        sb_conn_close(c, 1009);
        return 0;
    }
    c->assembling = !final;
    if (final)
        c->half_ms = 0;
    if (first && final)
    {
        whole_message(c, data, len);
        return 0;
    }
    c->in.max = max;
    if (sb_buf_append(&c->in, sb_bytes(data, len)) != 0)
    {
        sb_conn_reset(c);
        return 0;
    }
    if (!final)
    {
        if (c->half_ms == 0)
            c->half_ms = c->heard_ms;
        return 0;
    }
    struct sb_buf message = c->in;
    c->in = (struct sb_buf){0};
    whole_message(c, message.data, message.len);
    sb_buf_finish(&message);
    return 0;
}

int
sb_conn_peer_close(struct sb_conn *c)
{
    /* Our close frame goes out, theirs is here: the handshake is complete. */
    if (c->state == SB_CONN_CLOSING)
    {
        sb_conn_flush(c);
        return -1;
    }
    /* Replies to what came before the close frame go out; then the library echoes it. */
    if (c->state == SB_CONN_OPEN)
    {
        sb_conn_flush(c);
        sb_conn_end_session(c);
        sb_outq_drop(&c->out);
        sb_link_remove(&c->dirty);
        sb_link_remove(&c->wheel);
        c->state = SB_CONN_GONE;
    }
    return 0;
}

void
sb_conn_pong(struct sb_conn *c)
{
    c->heard_ms = sb_loop_ms(c->server);
}

/* ---- from the program around ---- */

void
sb_server_written(struct sb_server *s, uint64_t tag, enum sb_record_op op,
                  const struct sb_result *result)
{
    struct sb_event ev = {.kind = SB_EVENT_WRITTEN};
    struct sb_conn *c = sb_table_untag(&s->table, tag, &ev.written.re);
    if (c == NULL)
        return;
    ev.written.op = op;
    ev.written.result = *result;
    sb_conn_step(c, &ev);
}

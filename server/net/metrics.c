/*
 * metrics.c - what /metrics says, as Prometheus text.
 *
 * Every label comes from a closed set that is fixed at compile time: no user, thread or
 * address can become one.
 */
#include "net/internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

static const char *const close_labels[SB_CLOSE_COUNT] = {
#define X(code) #code,
    SB_CLOSE_CODES(X)
#undef X
        "other",
};

static const char *const upgrade_labels[SB_UPGRADE_REFUSAL_COUNT] = {
#define X(id, status, label) label,
    SB_UPGRADE_REFUSALS(X)
#undef X
};

enum sb_close_index
sb_close_index(uint16_t code)
{
    switch (code)
    {
#define X(n)                                                                                       \
    case n:                                                                                        \
        return SB_CLOSE_##n;
        SB_CLOSE_CODES(X)
#undef X
    default:
        return SB_CLOSE_OTHER;
    }
}

static void
labelled(struct sb_buf *out, const char *name, const char *label, const char *value, uint64_t n)
{
    (void)sb_text_put(out, "scrollback_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, value, n);
}

static void
write_net(const struct sb_server *s, struct sb_buf *out)
{
    const struct sb_net_counters *n = &s->counters;
    sb_metric(out, "connections", "gauge", "WebSockets open now", s->n_web_sockets);
    sb_metric(out, "sockets", "gauge", "TCP connections open now", s->n_sockets);
    sb_metric(out, "sockets_accepted_total", "counter", "TCP connections taken", n->accepted);
    sb_metric(out, "sockets_refused_total", "counter", "TCP connections over a cap",
              n->refused_sockets);
    sb_metric(out, "accept_errors_total", "counter",
              "pauses of accepting, such as out of descriptors", n->accept_errors);
    sb_metric(out, "upgrades_total", "counter", "WebSockets opened", n->upgrades);
    sb_metric_head(out, "upgrades_refused_total", "counter", "upgrade requests refused");
    for (size_t i = 0; i < SB_UPGRADE_REFUSAL_COUNT; i++)
        labelled(out, "upgrades_refused_total", "cause", upgrade_labels[i], n->refused_upgrades[i]);
    sb_metric_head(out, "closes_total", "counter", "close frames that this server began");
    for (size_t i = 0; i < SB_CLOSE_COUNT; i++)
        labelled(out, "closes_total", "code", close_labels[i], n->closes[i]);
    sb_metric(out, "resets_total", "counter", "connections reset", n->resets);
    sb_metric(out, "frames_received_total", "counter", "whole messages received", n->frames_in);
    sb_metric(out, "received_bytes_total", "counter", "payload bytes received", n->bytes_in);
    sb_metric(out, "sent_bytes_total", "counter", "bytes of frames handed to sockets",
              n->bytes_out);
    sb_metric(out, "frames_lost_total", "counter", "replies that could not be queued",
              n->frames_lost);
}

static void
write_core(const struct sb_telemetry *t, struct sb_buf *out)
{
    sb_metric_head(out, "requests_total", "counter", "requests by operation");
    for (int i = 0; i < SB_N_OPS; i++)
        labelled(out, "requests_total", "op", sb_op_name((enum sb_op)i), t->requests[i]);
    sb_metric_head(out, "errors_total", "counter", "error replies by code");
    for (int i = 0; i < SB_N_CODES; i++)
        labelled(out, "errors_total", "code", sb_code_name((enum sb_code)i), t->errors[i]);
    sb_metric_head(out, "cursors_refused_total", "counter", "cursors refused by cause");
    for (int i = 0; i < SB_REFUSAL_COUNT; i++)
        labelled(out, "cursors_refused_total", "cause", sb_refusal_names[i], t->refusals[i]);
    sb_metric(out, "rows_total", "counter", "messages sent in pages", t->rows);
    sb_metric(out, "corrupt_rows_total", "counter", "checksum failures met", t->corrupt_rows);
    sb_metric(out, "scan_slices_total", "counter", "slices of filtered scans", t->scan_slices);
    sb_metric(out, "cursors", "gauge", "cursors alive", t->cursors_live);
    sb_metric(out, "sessions", "gauge", "sessions past hello", t->sessions_ready);
    sb_metric(out, "scans_waiting", "gauge", "filtered scans waiting", t->scans_waiting);
}

void
sb_metrics_write(struct sb_server *s, struct sb_buf *out)
{
    write_net(s, out);
    write_core(sb_engine_telemetry(s->engine), out);
}

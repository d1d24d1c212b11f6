/*
 * internal.h - the server's own state and what its files offer each other.
 *
 * Only server/net includes it. One thread: the loop's.
 */
#ifndef SB_NET_INTERNAL_H
#define SB_NET_INTERNAL_H

#include <libwebsockets.h>
#include <uv.h>

#include "base/log.h"
#include "net/conn.h"
#include "net/server.h"

#define SB_SUBPROTOCOL "scrollback.v1"
#define SB_WS_PATH "/v1"

/* One socket write; also the library's tx_packet_size. */
#define SB_WRITE_MAX 65536
/* What the library reads at a time, and keeps per connection. */
#define SB_RX_BUFFER 1024
#define SB_WHEEL_MS 50
#define SB_WHEEL_BUCKETS 64
/* Output buffers kept for the next turn: so many, each at most, all together at most. */
#define SB_SPARE_BUFFERS 256
#define SB_SPARE_BYTES 65536
#define SB_SPARE_ALL ((size_t)4 << 20)
#define SB_BODY_MAX 1024

/* Why an upgrade was refused: HTTP status, label of the counter. */
#define SB_UPGRADE_REFUSALS(X)                                                                     \
    X(PATH, 404, "path")                                                                           \
    X(METHOD, 400, "method")                                                                       \
    X(HEADERS, 400, "headers")                                                                     \
    X(BODY, 400, "body")                                                                           \
    X(VERSION, 426, "version")                                                                     \
    X(KEY, 400, "key")                                                                             \
    X(SUBPROTOCOL, 400, "subprotocol")                                                             \
    X(ORIGIN, 403, "origin")                                                                       \
    X(DRAINING, 503, "draining")

enum sb_upgrade_refusal
{
#define X(id, status, label) SB_UPGRADE_##id,
    SB_UPGRADE_REFUSALS(X)
#undef X
        SB_UPGRADE_REFUSAL_COUNT,
};

#define SB_CLOSE_CODES(X)                                                                          \
    X(1001) X(1003) X(1007) X(1008) X(1009) X(4401) X(4403) X(4408) X(4409) X(4413) X(4429)

enum sb_close_index
{
#define X(code) SB_CLOSE_##code,
    SB_CLOSE_CODES(X)
#undef X
        SB_CLOSE_OTHER,
    SB_CLOSE_COUNT,
};

struct sb_net_counters
{
    uint64_t accepted, refused_sockets, accept_errors;
    uint64_t upgrades, refused_upgrades[SB_UPGRADE_REFUSAL_COUNT];
    uint64_t closes[SB_CLOSE_COUNT], resets;
    uint64_t frames_in, bytes_in, bytes_out, frames_lost;
};

/* A submitted record: whose reply its outcome is. */
struct sb_pending
{
    uint32_t generation; /* raised when the entry is freed: a stale tag finds nothing */
    uint32_t slot, slot_generation;
    uint32_t next_free;
    struct sb_opt_uint re;
    bool used;
};

struct sb_slot
{
    struct sb_conn *conn; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

#define SB_NO_INDEX UINT32_MAX

struct sb_table
{
    struct sb_slot *slots;
    uint32_t n_slots, free_slot;
    struct sb_pending *pending;
    uint32_t n_pending, free_pending;
};

enum sb_server_phase
{
    SB_RUNNING,
    SB_DRAIN_CHANGES, /* nothing is read; submitted changes are waited for */
    SB_DRAIN_CLOSE,   /* replies and close frames are flushed */
    SB_STOPPED,
};

struct sb_server
{
    uv_loop_t *loop;
    struct sb_engine *engine;
    struct sb_server_settings settings; /* zeros replaced by defaults */
    struct sb_server_hooks hooks;
    enum sb_server_phase phase;

    struct lws_context *lws; /* the library sets it to NULL when it is done */
    struct lws_vhost *vhost;
    struct lws_protocols protocols[2];
    struct lws_http_mount mounts[8];
    struct lws_protocol_vhost_options headers[4];
    struct lws_protocol_vhost_options mime_types[6];
    lws_retry_bo_t no_retry;

    int listen_fd;
    uint16_t port;
    uv_poll_t listen_poll;
    uv_timer_t accept_retry;
    uv_check_t check;
    uv_prepare_t prepare;
    uv_idle_t scan_idle;
    uv_timer_t wheel_timer;
    uv_timer_t drain_timer;
    uv_signal_t signals[3];
    uint32_t open_handles;

    struct sb_addresses addresses;
    struct sb_conn *adopting; /* given to the library, which has not made its side yet */
    struct sb_link all;
    uint32_t n_sockets, n_web_sockets;
    struct sb_table table;
    struct sb_link dirty;
    struct sb_link wheel[SB_WHEEL_BUCKETS];
    uint64_t wheel_at; /* bucket that the next tick looks at */
    struct sb_buf spare[SB_SPARE_BUFFERS];
    uint32_t n_spare;
    size_t spare_bytes; /* their capacities together */
    struct sb_net_counters counters;
    struct sb_log_limit log_limit;
};

static inline uint64_t
sb_loop_ms(const struct sb_server *s)
{
    return uv_now(s->loop);
}

/* Wall clock, Unix ms; monotonic us. */
uint64_t sb_wall_ms(void);
uint64_t sb_mono_us(void);

/* server.c: handles that teardown closes and waits for. */
void sb_server_own(struct sb_server *s, uv_handle_t *h);

/* listen.c */
int sb_listen_open(struct sb_server *s, char *why);
void sb_listen_close(struct sb_server *s);
/* Gives the library the connection and its socket. */
void sb_listen_adopt(struct sb_conn *c, int fd);

/* greet.c */
enum sb_greet_verdict
{
    SB_GREET_MORE, /* the request line is not whole */
    SB_GREET_PASS,
    SB_GREET_REFUSE,
};
enum sb_greet_verdict sb_greet_judge(const char *line, size_t n);
/* 0 or SB_ERR_: then the socket is still the caller's. */
int sb_greet_start(struct sb_conn *c, int fd);
/* Closes the socket and frees the connection. */
void sb_greet_drop(struct sb_conn *c);

/* ws.c: the library's one callback. */
int sb_ws_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len);
int sb_ws_create(struct sb_server *s, char *why);

/* upgrade.c: what LWS_CALLBACK_HTTP_CONFIRM_UPGRADE returns. */
int sb_upgrade_filter(struct sb_conn *c);

/* origin.c */
/* The contract's Origin rule for a present header. */
bool sb_origin_allowed(const char *origin, const char *const *allowlist, const char *host,
                       uint16_t port);
/* "host:port" of a Host header names this machine's loopback and our port. */
bool sb_host_is_loopback(const char *host, uint16_t port);

/* http.c */
/* The request has that header (or method), if only an empty one. */
bool sb_http_has(struct lws *wsi, enum lws_token_indexes token);
int sb_http_request(struct sb_conn *c);
/* A request's head is whole: whether its body is waited for, and until when. */
void sb_http_head_came(struct sb_conn *c);
int sb_http_body(struct sb_conn *c, const void *data, size_t len);
int sb_http_body_end(struct sb_conn *c);
/* Answers and ends the transaction's response; `type` NULL: plain text. 0 or -1 (hang up). */
int sb_http_reply(struct lws *wsi, unsigned status, const char *type, const char *body, size_t len,
                  const char *extra_name, const char *extra_value);

/* demo.c: the value of "user" of `{"user": "NAME"}`; 0 or SB_ERR_BAD_REQUEST. */
int sb_demo_parse(const char *body, size_t len, char *user, size_t cap);

/* debug.c: GET /debug/refusals. */
/* The caller is near enough and holds a service's token. */
bool sb_debug_allowed(struct sb_conn *c);
/* JSON: the causes' counts, and the last refusals, oldest first. 0 or SB_ERR_. */
int sb_debug_refusals(const struct sb_telemetry *t, struct sb_buf *out);

/* metrics.c */
void sb_metrics_write(struct sb_server *s, struct sb_buf *out);
enum sb_close_index sb_close_index(uint16_t code);

/* table.c: slots of connections, tags of submitted records. */
void sb_table_init(struct sb_table *t);
void sb_table_finish(struct sb_table *t);
int sb_table_add(struct sb_table *t, struct sb_conn *c, uint32_t *slot);
void sb_table_remove(struct sb_table *t, uint32_t slot);
/* A tag for the answer of request `re` of the connection in `slot`. */
int sb_table_tag(struct sb_table *t, uint32_t slot, struct sb_opt_uint re, uint64_t *tag);
/* Takes the tag back: its connection and `re`, or NULL when that is gone or the tag stale. */
struct sb_conn *sb_table_untag(struct sb_table *t, uint64_t tag, struct sb_opt_uint *re);

/* turn.c */
int sb_turn_init(struct sb_server *s);
/* Has it flushed at the end of the turn. */
void sb_turn_dirty(struct sb_server *s, struct sb_conn *c);
/* Writes what all dirty connections have queued. */
void sb_turn_flush(struct sb_server *s);

/* timers.c */
int sb_timers_init(struct sb_server *s);
/* Looks at the connection in about `in_ms`. */
void sb_timers_put(struct sb_server *s, struct sb_conn *c, uint64_t in_ms);

/* stop.c */
int sb_stop_init(struct sb_server *s);
/* Moves the drain on; called at the end of each turn. */
void sb_stop_turn(struct sb_server *s);

#endif

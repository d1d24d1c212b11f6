/*
 * server.h - the loop: libuv and libwebsockets around the core.
 *
 * Accepts connections, turns messages into session events, queues effects, runs timers,
 * serves the HTTP routes, stops in stages. It knows frames only as bytes and never looks
 * into a session. One thread.
 */
#ifndef SB_NET_SERVER_H
#define SB_NET_SERVER_H

#include "core/session.h"

/* What it points to is borrowed and outlives the server. */
struct sb_server_settings
{
    const char *host;           /* address to listen on */
    uint16_t port;              /* 0: any free one */
    const char *web_dir;        /* static files at /, or NULL */
    const char *const *origins; /* NULL-terminated allowlist; NULL or empty: loopback forms */
    bool metrics_open;          /* /metrics also off loopback */
    uint32_t max_connections;   /* WebSockets; 0: as many as descriptors allow */
    uint32_t max_connections_per_address; /* an IPv6 /64 counts as one; 0: no limit */
    uint64_t heartbeat_ms;         /* ping period; a connection silent for two is closed 4408 */
    uint64_t handshake_ms;         /* from accept to a whole HTTP request; 0: 10 s */
    uint64_t half_frame_ms;        /* a message begun and not ended is closed after it: 10 s */
    uint64_t out_queue_max;        /* bytes queued per connection */
    uint64_t slow_reader_ms;       /* queue above its maximum for so long: 4413; 0: 10 s */
    uint64_t close_ms;             /* a close frame not delivered after it: reset; 0: 10 s */
    uint64_t drain_ms;             /* for flushing and closing at a stop; 0: 2 s */
    uint64_t scan_slice_us;        /* of a turn for all scans, as in sb_settings; 0: 200 */
    const char *const *demo_users; /* NULL-terminated; NULL: no /demo/token */
};

/* What the HTTP routes and the stop sequence ask of the program around. */
struct sb_server_hooks
{
    void *ctx;
    /* Submits a record (copied). 0 or SB_ERR_OVERLOADED. `tag` comes back in sb_server_written. */
    int (*submit)(void *ctx, const struct sb_record *r, uint64_t tag);
    /* End of a turn: start what was submitted. */
    void (*turn_end)(void *ctx);
    /* No change waits or runs: the drain may go on. */
    bool (*idle)(void *ctx);
    bool (*ready)(void *ctx); /* for /readyz: writes work too */
    /* Appends program metrics (store, log) to the Prometheus text. */
    void (*metrics)(void *ctx, struct sb_buf *out);
    /* A demo user's token into out (NUL-terminated, cap bytes). 0 or SB_ERR_. */
    int (*demo_token)(void *ctx, const char *user, char *out, size_t cap);
    void (*reload)(void *ctx); /* SIGHUP */
    /* Whether a token is a valid service's. NULL: none is, and /debug is closed. */
    bool (*is_service)(void *ctx, struct sb_bytes token);
};

struct sb_server;

/* Binds and is ready to run; `why` (256 bytes) tells what failed. `loop` is a uv_loop_t *. */
struct sb_server *sb_server_create(void *loop, struct sb_engine *engine,
                                   const struct sb_server_settings *settings,
                                   const struct sb_server_hooks *hooks, char *why);
uint16_t sb_server_port(const struct sb_server *s);
/* Runs until stopped by SIGTERM, SIGINT or sb_server_stop; drains; returns when all is closed. */
int sb_server_run(struct sb_server *s);
void sb_server_stop(struct sb_server *s);
/* After run returned. */
void sb_server_destroy(struct sb_server *s);
/* The outcome of a submitted record; a connection that is gone is ignored. */
void sb_server_written(struct sb_server *s, uint64_t tag, enum sb_record_op op,
                       const struct sb_result *result);

#endif

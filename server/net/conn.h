/*
 * conn.h - one client connection, from accept to close.
 *
 *      (greet ─▶) HTTP ──upgrade──▶ OPEN ──sb_conn_close──▶ CLOSING
 *                   └───────────────┴── socket gone ──────────┴────▶ GONE
 *
 * HTTP is greeted (greet.c), then serves requests; OPEN has a session; CLOSING has a close frame
 * queued behind the replies and reads on only to throw away, so that the frame is not lost to a
 * reset; GONE waits for the library to let go of it.
 *
 * Life time: made at accept; freed when its greeting fails or when the library destroys its
 * side. Between, the library's opaque pointer names it.
 */
#ifndef SB_NET_CONN_H
#define SB_NET_CONN_H

#include "core/session.h"
#include "net/address.h"
#include "net/link.h"
#include "net/outq.h"

struct sb_greet;
struct sb_server;
struct lws;

enum sb_conn_state
{
    SB_CONN_HTTP,
    SB_CONN_OPEN,
    SB_CONN_CLOSING,
    SB_CONN_GONE,
};

struct sb_conn
{
    struct sb_server *server;
    struct lws *wsi;            /* NULL until the library has it */
    struct sb_greet *greet;     /* until the library has it */
    struct sb_session *session; /* while OPEN */
    struct sb_address *address;
    struct sb_link all;   /* of the server's connections */
    struct sb_link dirty; /* has output to flush in this turn */
    struct sb_link wheel; /* its bucket of the timer wheel; not between HTTP requests */
    struct sb_outq out;
    struct sb_buf in;     /* the message being assembled; an HTTP request's body */
    uint64_t heard_ms;    /* loop time of the last sign of life */
    uint64_t pinged_ms;   /* of the last ping */
    uint64_t half_ms;     /* since when a message is seen half here; 0: none is */
    uint64_t over_ms;     /* since when the queue is over its maximum; 0: it is not */
    uint64_t deadline_ms; /* CLOSING: reset after it */
    uint32_t slot;        /* in the server's table, while OPEN */
    int kernel_queue;     /* bytes the kernel held for it at the last look */
    uint32_t pings;       /* sent; the next one's mark */
    uint16_t close_code;  /* CLOSING */
    uint16_t fragments;   /* of the message being assembled */
    uint8_t state;        /* enum sb_conn_state */
    bool assembling;      /* a message began and its last chunk is not here */
    bool rx_off;          /* not reading until the queue is shorter */
    bool close_written;   /* CLOSING: the frame left our hands */
    bool requested;       /* HTTP: a whole request came */
    bool web_socket;      /* counted as one */
    bool keep_body;       /* HTTP: the body of this request is wanted */
};

/* Fragments of one message; one more is answered with close 1008. */
#define SB_MAX_FRAGMENTS 64
#define SB_CLOSE_POLICY 1008

struct sb_conn *sb_conn_create(struct sb_server *s, struct sb_address *address);
/* The library let go of it, or never took it. */
void sb_conn_release(struct sb_conn *c);

/* What the library reports; each returns what its callback shall return. */
int sb_conn_established(struct sb_conn *c);
int sb_conn_receive(struct sb_conn *c, const void *data, size_t len);
int sb_conn_peer_close(struct sb_conn *c);
void sb_conn_pong(struct sb_conn *c);
void sb_conn_gone(struct sb_conn *c);

/* Frees the session and what waits for it; harmless without one. */
void sb_conn_end_session(struct sb_conn *c);
/* Steps the session with `ev` (times are filled in) and does its effects. OPEN only. */
void sb_conn_step(struct sb_conn *c, struct sb_event *ev);
/* Queues a close frame behind what is queued and ends the session. OPEN only. */
void sb_conn_close(struct sb_conn *c, uint16_t code);
/* Resets the connection, whatever its state. */
void sb_conn_reset(struct sb_conn *c);
/* Makes the queue ready for output. False: short of memory. */
bool sb_conn_open_queue(struct sb_conn *c);
/* Writes what the socket takes. */
void sb_conn_flush(struct sb_conn *c);
/* Deadlines; returns in how many ms to look again. SB_CHECK_NEVER: not by the clock, and the
 * connection may be freed. */
#define SB_CHECK_NEVER UINT64_MAX
uint64_t sb_conn_check(struct sb_conn *c, uint64_t now_ms);

#endif

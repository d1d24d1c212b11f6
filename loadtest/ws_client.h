/*
 * ws_client.h - many WebSocket connections of one process, on epoll.
 *
 * Small on purpose: binary messages of one frame, no extensions, non-blocking after the
 * handshake. It shares nothing with the server, so that a mistake is not made twice.
 */
#ifndef SB_LOADTEST_WS_CLIENT_H
#define SB_LOADTEST_WS_CLIENT_H

#include "protocol/bytes.h"

struct sb_ws
{
    int fd;
    uint8_t *in; /* received and not yet taken */
    size_t in_len, in_cap, in_at;
    uint8_t out[1024]; /* what the kernel did not take yet */
    size_t out_len;
};

/* Connects and upgrades, blocking. 0, or -1 with a text on stderr. */
int sb_ws_open(struct sb_ws *w, const char *host, const char *port, const char *path);
void sb_ws_close(struct sb_ws *w);
/* Sends one binary message (masked) of at most 900 bytes. 0 or -1. */
int sb_ws_send(struct sb_ws *w, struct sb_bytes payload);
/* Reads what has come, without waiting. 0; -1 when the connection is gone. */
int sb_ws_fill(struct sb_ws *w);
/*
 * Takes the next whole message: true and `out`, valid until the next call on it. Pings are
 * answered. False: none yet. `closed` gets the close code when the peer closed, else 0.
 */
bool sb_ws_take(struct sb_ws *w, struct sb_bytes *out, uint16_t *closed);

#endif

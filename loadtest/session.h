/*
 * session.h - the start of every client: connect, hello, the threads it may scroll.
 *
 * Blocking, one connection after the other: what is measured comes later.
 */
#ifndef SB_LOADTEST_SESSION_H
#define SB_LOADTEST_SESSION_H

#include <msgpack.h>

#include "loadtest/options.h"
#include "loadtest/ws_client.h"

/* A request being packed. */
struct sb_packet
{
    msgpack_packer pk;
    size_t len;
    uint8_t b[5120];
};

/* Begins {op, id, ...}; `fields` counts the two. Pack the rest with the functions below. */
void sb_packet_begin(struct sb_packet *p, uint32_t fields, const char *op, uint64_t id);
void sb_packet_str(struct sb_packet *p, const char *key, const char *value);
void sb_packet_uint(struct sb_packet *p, const char *key, uint64_t value);
void sb_packet_bin(struct sb_packet *p, const char *key, struct sb_bytes value);
int sb_packet_send(struct sb_ws *w, const struct sb_packet *p);

/* Connects and says hello. 0, or -1 with a text on stderr. */
int sb_session_open(struct sb_ws *w, const struct sb_load_options *o);

struct sb_names
{
    char **v; /* heap, each too */
    uint32_t n, cap;
};
/* The threads of the token's user. 0, or -1 with a text on stderr (none, too). */
int sb_session_threads(struct sb_ws *w, struct sb_names *out);
void sb_names_finish(struct sb_names *names);

#endif

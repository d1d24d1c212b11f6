/*
 * reply.h - just enough of a reply for a load client: its rows counted, its cursor found.
 *
 * A bounded skipper over MessagePack: no tree, no allocation, so that the client is not
 * what a benchmark measures.
 */
#ifndef SB_LOADTEST_REPLY_H
#define SB_LOADTEST_REPLY_H

#include "protocol/bytes.h"

struct sb_reply_view
{
    bool is_reply; /* false: an event */
    uint64_t re;
    bool error;
    struct sb_bytes code; /* of an error */
    uint32_t rows;        /* messages or threads */
    uint64_t first_seq;   /* of the first message; 0: no rows */
    uint64_t last_seq;
    struct sb_bytes cursor; /* older, newer or next; empty: the end */
};

/* 0, or -1 for bytes that are not a frame. */
int sb_reply_read(struct sb_bytes frame, struct sb_reply_view *out);

/* Calls each(ctx, name) for every thread of a `threads` reply. 0 or -1. */
int sb_reply_threads(struct sb_bytes frame, void (*each)(void *ctx, struct sb_bytes name),
                     void *ctx);

#endif

/*
 * outq.h - what waits to be sent to one connection, as finished WebSocket frames.
 *
 * The core appends frames behind 4-byte lengths; sb_outq_frame turns these into WebSocket
 * headers in place, so a page is not copied again. Knows bytes only: no socket, no clock.
 *
 * Invariant: between `pos` and the end lie whole frames. What was handed to the socket
 * layer ended at a frame's end too, so a pong that the library sends of itself can never
 * fall into the middle of a frame of ours.
 */
#ifndef SB_NET_OUTQ_H
#define SB_NET_OUTQ_H

#include "base/buf.h"

/* Room in front that the socket library may scribble on. */
#define SB_OUTQ_HEAD 16

struct sb_outq
{
    struct sb_buf buf; /* SB_OUTQ_HEAD spare bytes, then frames; no memory while empty */
    size_t pos;        /* first byte that was not handed on */
    size_t handed;     /* bytes of the last write that the socket layer may still hold */
};

/* Opens the queue over `spare` (taken over, may be an empty buffer). 0 or SB_ERR_NO_MEMORY. */
int sb_outq_open(struct sb_outq *q, struct sb_buf *spare, size_t max);
static inline bool
sb_outq_is_open(const struct sb_outq *q)
{
    return q->buf.cap != 0;
}
/* Turns the length-prefixed frames from offset `from` on into binary WebSocket frames. On an
 * error what could not be framed is dropped: SB_ERR_INTERNAL (lengths do not add up),
 * SB_ERR_TOO_LARGE, SB_ERR_NO_MEMORY. */
int sb_outq_frame(struct sb_outq *q, size_t from);
/* Appends a close frame, or a ping whose payload is `mark`. */
int sb_outq_close_frame(struct sb_outq *q, uint16_t code);
int sb_outq_ping_frame(struct sb_outq *q, uint32_t mark);

/* The next whole frames of at most `most` bytes together, but at least one frame. */
size_t sb_outq_chunk(const struct sb_outq *q, size_t most);
static inline uint8_t *
sb_outq_at(const struct sb_outq *q)
{
    return q->buf.data + q->pos;
}
/* The next n bytes (a chunk) are the socket layer's now. */
void sb_outq_took(struct sb_outq *q, size_t n);
/* Drops all frames that were not handed on. */
void sb_outq_drop(struct sb_outq *q);

/* Bytes not handed on. */
static inline size_t
sb_outq_waiting(const struct sb_outq *q)
{
    return sb_outq_is_open(q) ? q->buf.len - q->pos : 0;
}
/* All that the peer has yet to take, as far as we can tell. */
static inline size_t
sb_outq_queued(const struct sb_outq *q)
{
    return sb_outq_waiting(q) + q->handed;
}

#endif

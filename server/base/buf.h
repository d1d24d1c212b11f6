/*
 * buf.h - a growing byte buffer with a hard maximum.
 *
 * The maximum is given at init and never exceeded: an append past it fails and
 * leaves the content as it was. Growth doubles, so appends are cheap on average.
 */
#ifndef SB_BASE_BUF_H
#define SB_BASE_BUF_H

#include "protocol/bytes.h"

struct sb_buf
{
    uint8_t *data; /* heap, NULL while empty and never grown */
    size_t len;    /* bytes in use */
    size_t cap;    /* bytes allocated */
    size_t max;    /* bytes allowed */
};

void sb_buf_init(struct sb_buf *b, size_t max);
void sb_buf_finish(struct sb_buf *b);
/* Makes room for `extra` more bytes. SB_ERR_TOO_LARGE past the maximum, SB_ERR_NO_MEMORY. */
int sb_buf_reserve(struct sb_buf *b, size_t extra);
int sb_buf_append(struct sb_buf *b, struct sb_bytes bytes);
/* Drops the first n bytes (n <= len). */
void sb_buf_consume(struct sb_buf *b, size_t n);
/* Empties it; gives the memory back if more than `keep` bytes are allocated. */
void sb_buf_reset(struct sb_buf *b, size_t keep);

static inline struct sb_bytes
sb_buf_view(const struct sb_buf *b)
{
    return sb_bytes(b->data, b->len);
}

#endif

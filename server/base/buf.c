/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdlib.h>

#include "base/error.h"

void
sb_buf_init(struct sb_buf *b, size_t max)
{
    *b = (struct sb_buf){.max = max};
}

void
sb_buf_finish(struct sb_buf *b)
{
    free(b->data);
    *b = (struct sb_buf){.max = b->max};
}

int
sb_buf_reserve(struct sb_buf *b, size_t extra)
{
    if (extra > b->max - b->len)
        return SB_ERR_TOO_LARGE;
    size_t need = b->len + extra;
    if (need <= b->cap)
        return 0;
    size_t cap = b->cap == 0 ? 256 : b->cap;
    while (cap < need)
        cap = cap > b->max / 2 ? b->max : cap * 2;
    uint8_t *data = realloc(b->data, cap);
    if (data == NULL)
        return SB_ERR_NO_MEMORY;
    b->data = data;
    b->cap = cap;
    return 0;
}

int
sb_buf_append(struct sb_buf *b, struct sb_bytes bytes)
{
    int rc = sb_buf_reserve(b, bytes.len);
    if (rc != 0)
        return rc;
    if (bytes.len != 0)
        memcpy(b->data + b->len, bytes.data, bytes.len);
    b->len += bytes.len;
    return 0;
}

void
sb_buf_consume(struct sb_buf *b, size_t n)
{
    b->len -= n;
    if (b->len != 0)
        memmove(b->data, b->data + n, b->len);
}

void
sb_buf_reset(struct sb_buf *b, size_t keep)
{
    b->len = 0;
    if (b->cap <= keep)
        return;
    free(b->data);
    b->data = NULL;
    b->cap = 0;
}

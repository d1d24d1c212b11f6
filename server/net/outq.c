/* outq.c - see outq.h. */
#include "net/outq.h"

#include "base/error.h"

#define FIN_BINARY 0x82
#define FIN_CLOSE 0x88
#define FIN_PING 0x89

/* Sent bytes in front are given back once they are more than this and more than the rest. */
#define COMPACT_AT 65536

int
sb_outq_open(struct sb_outq *q, struct sb_buf *spare, size_t max)
{
    q->buf = *spare;
    *spare = (struct sb_buf){0};
    q->buf.len = 0;
    q->buf.max = max;
    int rc = sb_buf_reserve(&q->buf, SB_OUTQ_HEAD);
    if (rc != 0)
        return rc;
    memset(q->buf.data, 0, SB_OUTQ_HEAD);
    q->buf.len = SB_OUTQ_HEAD;
    q->pos = SB_OUTQ_HEAD;
    return 0;
}

static size_t
read_be32(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

static size_t
header_size(size_t payload)
{
    return payload <= 125 ? 2 : payload <= 65535 ? 4 : 10;
}

static void
write_header(uint8_t *p, size_t payload)
{
    p[0] = FIN_BINARY;
    if (payload <= 125)
        p[1] = (uint8_t)payload;
    else if (payload <= 65535)
    {
        p[1] = 126;
        p[2] = (uint8_t)(payload >> 8);
        p[3] = (uint8_t)payload;
    }
    else
    {
        p[1] = 127;
        for (int i = 0; i < 8; i++)
            p[2 + i] = (uint8_t)((uint64_t)payload >> (56 - 8 * i));
    }
}

/* Moves everything from `at` on up by `by` bytes. */
static int
shift_up(struct sb_buf *b, size_t at, size_t by)
{
    int rc = sb_buf_reserve(b, by);
    if (rc != 0)
        return rc;
    memmove(b->data + at + by, b->data + at, b->len - at);
    b->len += by;
    return 0;
}

int
sb_outq_frame(struct sb_outq *q, size_t from)
{
    struct sb_buf *b = &q->buf;
    size_t r = from, w = from; /* w <= r: where the core's bytes are, where frames go */
    int rc = 0;
    while (r < b->len)
    {
        if (b->len - r < 4 || read_be32(b->data + r) > b->len - r - 4)
        {
            rc = SB_ERR_INTERNAL;
            break;
        }
        size_t payload = read_be32(b->data + r);
        size_t header = header_size(payload);
        r += 4;
        if (w + header > r)
        {
            size_t by = w + header - r;
            rc = shift_up(b, r, by);
            if (rc != 0)
                break;
            r += by;
        }
        if (w + header < r)
            memmove(b->data + w + header, b->data + r, payload);
        write_header(b->data + w, payload);
        w += header + payload;
        r += payload;
    }
    b->len = w;
    return rc;
}

int
sb_outq_close_frame(struct sb_outq *q, uint16_t code)
{
    const uint8_t f[] = {FIN_CLOSE, 2, (uint8_t)(code >> 8), (uint8_t)code};
    return sb_buf_append(&q->buf, sb_bytes(f, sizeof(f)));
}

int
sb_outq_ping_frame(struct sb_outq *q, uint32_t mark)
{
    const uint8_t f[] = {
        FIN_PING,     4, (uint8_t)(mark >> 24), (uint8_t)(mark >> 16), (uint8_t)(mark >> 8),
        (uint8_t)mark};
    return sb_buf_append(&q->buf, sb_bytes(f, sizeof(f)));
}

/* Size of the frame at p, header included. Frames here are ours: unmasked and whole. */
static size_t
frame_size(const uint8_t *p)
{
    size_t payload = p[1];
    if (payload < 126)
        return 2 + payload;
    if (payload == 126)
        return 4 + ((size_t)p[2] << 8 | p[3]);
    return 10 + ((size_t)read_be32(p + 2) << 32 | read_be32(p + 6));
}

size_t
sb_outq_chunk(const struct sb_outq *q, size_t most)
{
    size_t rest = q->buf.len - q->pos;
    if (rest <= most)
        return rest;
    size_t n = frame_size(sb_outq_at(q));
    while (n < rest)
    {
        size_t next = frame_size(sb_outq_at(q) + n);
        if (n + next > most)
            break;
        n += next;
    }
    return n;
}

void
sb_outq_took(struct sb_outq *q, size_t n)
{
    q->pos += n;
    size_t sent = q->pos - SB_OUTQ_HEAD;
    if (q->pos == q->buf.len)
    {
        q->buf.len = SB_OUTQ_HEAD;
        q->pos = SB_OUTQ_HEAD;
    }
    else if (sent > COMPACT_AT && sent > q->buf.len - q->pos)
    {
        memmove(q->buf.data + SB_OUTQ_HEAD, sb_outq_at(q), q->buf.len - q->pos);
        q->buf.len -= sent;
        q->pos = SB_OUTQ_HEAD;
    }
}

void
sb_outq_drop(struct sb_outq *q)
{
    if (!sb_outq_is_open(q))
        return;
    q->buf.len = SB_OUTQ_HEAD;
    q->pos = SB_OUTQ_HEAD;
}

/* reply.c - see reply.h. */
#include "loadtest/reply.h"

struct in
{
    const uint8_t *p, *end;
    bool bad;
};

struct head
{
    enum
    {
        OTHER, /* nil, bool, float: nothing follows that counts */
        UINT,
        STR,
        BIN,
        ARRAY,
        MAP,
    } type;
    uint64_t n; /* value, bytes, or elements */
};

static uint64_t
take(struct in *in, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(in->end - in->p) < bytes)
    {
        in->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | *in->p++;
    return v;
}

/* The head of the next value; payload bytes of strings and bins stand behind it. */
static struct head
next(struct in *in)
{
    uint8_t b = (uint8_t)take(in, 1);
    if (b < 0x80)
        return (struct head){UINT, b};
    if (b < 0x90)
        return (struct head){MAP, b & 0x0FU};
    if (b < 0xA0)
        return (struct head){ARRAY, b & 0x0FU};
    if (b < 0xC0)
        return (struct head){STR, b & 0x1FU};
    if (b >= 0xC4 && b <= 0xC6)
        return (struct head){BIN, take(in, 1U << (b - 0xC4))};
    if (b >= 0xCC && b <= 0xCF)
        return (struct head){UINT, take(in, 1U << (b - 0xCC))};
    if (b >= 0xD9 && b <= 0xDB)
        return (struct head){STR, take(in, 1U << (b - 0xD9))};
    if (b == 0xDC || b == 0xDD)
        return (struct head){ARRAY, take(in, b == 0xDC ? 2 : 4)};
    if (b == 0xDE || b == 0xDF)
        return (struct head){MAP, take(in, b == 0xDE ? 2 : 4)};
    static const uint8_t widths[256] = {
        [0xCA] = 4, [0xCB] = 8, [0xD0] = 1, [0xD1] = 2, [0xD2] = 4, [0xD3] = 8};
    take(in, widths[b]);
    return (struct head){OTHER, 0};
}

static struct sb_bytes
payload(struct in *in, struct head h)
{
    if ((h.type != STR && h.type != BIN) || (uint64_t)(in->end - in->p) < h.n)
    {
        in->bad = in->bad || h.type == STR || h.type == BIN;
        return (struct sb_bytes){0};
    }
    struct sb_bytes v = sb_bytes(in->p, (size_t)h.n);
    in->p += h.n;
    return v;
}

static void
skip(struct in *in, struct head h)
{
    uint64_t left = 0;
    for (;;)
    {
        payload(in, h);
        if (h.type == ARRAY)
            left += h.n;
        if (h.type == MAP)
            left += 2 * h.n;
        if (left == 0 || in->bad)
            return;
        left--;
        h = next(in);
    }
}

/* The map's value under `key`, as a head; everything of the map is consumed. */
static uint64_t
uint_of(struct in *in, struct head map, struct sb_bytes key)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < map.n && !in->bad; i++)
    {
        struct sb_bytes k = payload(in, next(in));
        struct head v = next(in);
        if (v.type == UINT && sb_bytes_eq(k, key))
            found = v.n;
        skip(in, v);
    }
    return found;
}

static void
read_rows(struct in *in, struct head h, struct sb_reply_view *out)
{
    out->rows = (uint32_t)h.n;
    for (uint64_t i = 0; i < h.n && !in->bad; i++)
    {
        struct head row = next(in);
        bool ends = i == 0 || i + 1 == h.n;
        uint64_t seq = 0;
        if (ends && row.type == MAP)
            seq = uint_of(in, row, SB_LIT("seq"));
        else
            skip(in, row);
        if (i == 0)
            out->first_seq = seq;
        if (i + 1 == h.n)
            out->last_seq = seq;
    }
}

static void
read_error(struct in *in, struct head h, struct sb_reply_view *out)
{
    out->error = true;
    for (uint64_t i = 0; i < h.n && !in->bad; i++)
    {
        struct sb_bytes k = payload(in, next(in));
        struct head v = next(in);
        if (v.type == STR && sb_bytes_eq(k, SB_LIT("code")))
            out->code = payload(in, v);
        else
            skip(in, v);
    }
}

static void
read_field(struct in *in, struct sb_bytes key, struct head v, struct sb_reply_view *out)
{
    if (sb_bytes_eq(key, SB_LIT("re")) && v.type == UINT)
    {
        out->is_reply = true;
        out->re = v.n;
    }
    else if (v.type == ARRAY &&
             (sb_bytes_eq(key, SB_LIT("messages")) || sb_bytes_eq(key, SB_LIT("threads"))))
        read_rows(in, v, out);
    else if (v.type == MAP && sb_bytes_eq(key, SB_LIT("error")))
        read_error(in, v, out);
    else if (v.type == BIN &&
             (sb_bytes_eq(key, SB_LIT("older")) || sb_bytes_eq(key, SB_LIT("newer")) ||
              sb_bytes_eq(key, SB_LIT("next"))))
        out->cursor = payload(in, v);
    else
        skip(in, v);
}

int
sb_reply_read(struct sb_bytes frame, struct sb_reply_view *out)
{
    struct in in = {frame.data, frame.data + frame.len, false};
    struct head map = next(&in);
    *out = (struct sb_reply_view){0};
    if (map.type != MAP)
        return -1;
    for (uint64_t i = 0; i < map.n && !in.bad; i++)
    {
        struct sb_bytes key = payload(&in, next(&in));
        read_field(&in, key, next(&in), out);
    }
    return in.bad ? -1 : 0;
}

static void
read_thread(struct in *in, struct head item, void (*each)(void *ctx, struct sb_bytes name),
            void *ctx)
{
    for (uint64_t i = 0; i < item.n && !in->bad; i++)
    {
        struct sb_bytes k = payload(in, next(in));
        struct head v = next(in);
        if (v.type == STR && sb_bytes_eq(k, SB_LIT("thread")))
            each(ctx, payload(in, v));
        else
            skip(in, v);
    }
}

int
sb_reply_threads(struct sb_bytes frame, void (*each)(void *ctx, struct sb_bytes name), void *ctx)
{
    struct in in = {frame.data, frame.data + frame.len, false};
    struct head map = next(&in);
    if (map.type != MAP)
        return -1;
    for (uint64_t i = 0; i < map.n && !in.bad; i++)
    {
        struct sb_bytes key = payload(&in, next(&in));
        struct head v = next(&in);
        bool list = v.type == ARRAY && sb_bytes_eq(key, SB_LIT("threads"));
        if (!list)
            skip(&in, v);
        for (uint64_t j = 0; list && j < v.n && !in.bad; j++)
            read_thread(&in, next(&in), each, ctx);
    }
    return in.bad ? -1 : 0;
}

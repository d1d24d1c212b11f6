/*
 * prescan.c - one pass over a frame, with a stack of SB_MAX_DEPTH open containers.
 *
 * It must not know operations or fields. The invariant: `at` never passes `end`, and
 * whatever is taken from the frame was compared with end - at first.
 */
#include "protocol/prescan.h"

#include <math.h>

#include "protocol/utf8.h"

enum kind
{
    KIND_SCALAR, /* nil, bool, integer: the head is all there is */
    KIND_FLOAT,
    KIND_STR,
    KIND_BIN,
    KIND_ARRAY,
    KIND_MAP,
    KIND_EXT,
    KIND_RESERVED,
};

/* What the first byte of a value tells. */
struct head
{
    enum kind kind;
    uint8_t extra;   /* bytes after the first one: a length, a count or a number */
    uint32_t length; /* of a str or bin, count of an array or map, where the first byte has it */
};

struct level
{
    uint32_t left; /* values still to come; a map's keys count as values */
    bool map, at_key;
};

struct pass
{
    struct sb_prescan *scan;
    const uint8_t *base, *at, *end;
    uint32_t depth, elements;
    struct level level[SB_MAX_DEPTH];
};

static struct head
head_of(uint8_t b)
{
    if (b <= 0x7f || b >= 0xe0)
        return (struct head){KIND_SCALAR, 0, 0};
    if (b <= 0x8f)
        return (struct head){KIND_MAP, 0, b & 0x0f};
    if (b <= 0x9f)
        return (struct head){KIND_ARRAY, 0, b & 0x0f};
    if (b <= 0xbf)
        return (struct head){KIND_STR, 0, b & 0x1f};
    static const struct head heads[0x20] = {
        [0x00] = {KIND_SCALAR, 0, 0},                                 /* nil */
        [0x01] = {KIND_RESERVED, 0, 0}, [0x02] = {KIND_SCALAR, 0, 0}, /* false, true */
        [0x03] = {KIND_SCALAR, 0, 0},   [0x04] = {KIND_BIN, 1, 0},    [0x05] = {KIND_BIN, 2, 0},
        [0x06] = {KIND_BIN, 4, 0},      [0x07] = {KIND_EXT, 0, 0},    [0x08] = {KIND_EXT, 0, 0},
        [0x09] = {KIND_EXT, 0, 0},      [0x0a] = {KIND_FLOAT, 4, 0},  [0x0b] = {KIND_FLOAT, 8, 0},
        [0x0c] = {KIND_SCALAR, 1, 0}, /* uint 8 to 64 */
        [0x0d] = {KIND_SCALAR, 2, 0},   [0x0e] = {KIND_SCALAR, 4, 0}, [0x0f] = {KIND_SCALAR, 8, 0},
        [0x10] = {KIND_SCALAR, 1, 0}, /* int 8 to 64 */
        [0x11] = {KIND_SCALAR, 2, 0},   [0x12] = {KIND_SCALAR, 4, 0}, [0x13] = {KIND_SCALAR, 8, 0},
        [0x14] = {KIND_EXT, 0, 0}, /* fixext 1 to 16 */
        [0x15] = {KIND_EXT, 0, 0},      [0x16] = {KIND_EXT, 0, 0},    [0x17] = {KIND_EXT, 0, 0},
        [0x18] = {KIND_EXT, 0, 0},      [0x19] = {KIND_STR, 1, 0},    [0x1a] = {KIND_STR, 2, 0},
        [0x1b] = {KIND_STR, 4, 0},      [0x1c] = {KIND_ARRAY, 2, 0},  [0x1d] = {KIND_ARRAY, 4, 0},
        [0x1e] = {KIND_MAP, 2, 0},      [0x1f] = {KIND_MAP, 4, 0},
    };
    return heads[b - 0xc0];
}

static uint64_t
big_endian(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

static bool
float_is_finite(uint64_t bits, unsigned bytes)
{
    if (bytes == 4)
    {
        uint32_t half = (uint32_t)bits;
        float f;
        memcpy(&f, &half, sizeof(f));
        return isfinite(f);
    }
    double d;
    memcpy(&d, &bits, sizeof(d));
    return isfinite(d);
}

static enum sb_prescan_result
take_key(struct pass *p, uint32_t len)
{
    if (len > SB_MAX_KEY)
        return SB_PRESCAN_KEY_LONG;
    uint32_t at = (uint32_t)(p->at - p->base);
    if (!sb_keyset_add(&p->scan->keys[p->depth - 1], &p->scan->secret, p->base, at, len))
        return SB_PRESCAN_DUPLICATE_KEY;
    return SB_PRESCAN_OK;
}

/* The bytes of a string or bin of `len`. */
static enum sb_prescan_result
take_bytes(struct pass *p, enum kind kind, uint32_t len, bool key)
{
    if (len > (size_t)(p->end - p->at))
        return SB_PRESCAN_TRUNCATED;
    if (kind == KIND_STR && !sb_utf8_valid(sb_bytes(p->at, len)))
        return SB_PRESCAN_UTF8;
    if (key)
    {
        enum sb_prescan_result r = take_key(p, len);
        if (r != SB_PRESCAN_OK)
            return r;
    }
    p->at += len;
    return SB_PRESCAN_OK;
}

static enum sb_prescan_result
open_container(struct pass *p, enum kind kind, uint32_t count)
{
    if (p->depth == SB_MAX_DEPTH)
        return SB_PRESCAN_DEPTH;
    uint32_t per = kind == KIND_MAP ? 2 : 1;
    if (count > (size_t)(p->end - p->at) / per) /* each value takes a byte at least */
        return SB_PRESCAN_TRUNCATED;
    if (count > (SB_MAX_ELEMENTS - p->elements) / per)
        return SB_PRESCAN_ELEMENTS;
    if (kind == KIND_MAP)
    {
        if (count > SB_MAX_MAP_KEYS)
            return SB_PRESCAN_MAP_KEYS;
        sb_keyset_begin(&p->scan->keys[p->depth], count);
    }
    p->level[p->depth++] = (struct level){count * per, kind == KIND_MAP, true};
    return SB_PRESCAN_OK;
}

static enum sb_prescan_result
take_value(struct pass *p, bool key)
{
    if (p->at == p->end)
        return SB_PRESCAN_TRUNCATED;
    if (p->elements == SB_MAX_ELEMENTS)
        return SB_PRESCAN_ELEMENTS;
    p->elements++;
    struct head h = head_of(*p->at);
    if (h.kind == KIND_RESERVED)
        return SB_PRESCAN_RESERVED;
    if (key && h.kind != KIND_STR)
        return SB_PRESCAN_KEY_TYPE;
    if (h.kind == KIND_EXT)
        return SB_PRESCAN_EXT;
    p->at++;
    if (h.extra > (size_t)(p->end - p->at))
        return SB_PRESCAN_TRUNCATED;
    uint64_t number = big_endian(p->at, h.extra);
    p->at += h.extra;
    if (h.kind == KIND_SCALAR)
        return SB_PRESCAN_OK;
    if (h.kind == KIND_FLOAT)
        return float_is_finite(number, h.extra) ? SB_PRESCAN_OK : SB_PRESCAN_NOT_FINITE;
    uint32_t length = h.extra == 0 ? h.length : (uint32_t)number;
    if (h.kind == KIND_STR || h.kind == KIND_BIN)
        return take_bytes(p, h.kind, length, key);
    return open_container(p, h.kind, length);
}

enum sb_prescan_result
sb_prescan(struct sb_prescan *scan, struct sb_bytes frame)
{
    if (frame.len == 0 || frame.len > UINT32_MAX) /* offsets of keys are 32 bits */
        return SB_PRESCAN_TRUNCATED;
    struct pass p = {.scan = scan, .base = frame.data, .at = frame.data};
    p.end = frame.data + frame.len;
    if (head_of(*p.at).kind != KIND_MAP)
        return SB_PRESCAN_NOT_MAP;
    enum sb_prescan_result r = take_value(&p, false);
    while (r == SB_PRESCAN_OK && p.depth > 0)
    {
        struct level *top = &p.level[p.depth - 1];
        if (top->left == 0)
        {
            p.depth--;
            continue;
        }
        bool key = top->map && top->at_key;
        top->left--;
        top->at_key = !top->at_key;
        r = take_value(&p, key);
    }
    if (r == SB_PRESCAN_OK && p.at != p.end)
        return SB_PRESCAN_TRAILING;
    return r;
}

/*
 * utf8.c - see utf8.h.
 *
 * One table-free classifier, `sequence`, carries the rules of RFC 3629 section 4; all else
 * asks it.
 */
#include "import/utf8.h"

/* The second byte's range and the length that a lead byte announces; length 0: no lead. */
struct lead
{
    uint8_t len, low, high;
};

static struct lead
lead_of(uint8_t c)
{
    if (c >= 0xc2 && c <= 0xdf)
        return (struct lead){2, 0x80, 0xbf};
    if (c == 0xe0)
        return (struct lead){3, 0xa0, 0xbf};
    if (c == 0xed)
        return (struct lead){3, 0x80, 0x9f};
    if (c >= 0xe1 && c <= 0xef)
        return (struct lead){3, 0x80, 0xbf};
    if (c == 0xf0)
        return (struct lead){4, 0x90, 0xbf};
    if (c == 0xf4)
        return (struct lead){4, 0x80, 0x8f};
    if (c >= 0xf1 && c <= 0xf3)
        return (struct lead){4, 0x80, 0xbf};
    return (struct lead){0, 0, 0};
}

/* Length of the sequence at p. Not valid: 0, and *bad bytes are its maximal invalid part. */
static size_t
sequence(const uint8_t *p, size_t n, size_t *bad)
{
    *bad = 1;
    if (p[0] < 0x80)
        return 1;
    struct lead l = lead_of(p[0]);
    if (l.len == 0 || n < 2 || p[1] < l.low || p[1] > l.high)
        return 0;
    for (size_t i = 2; i < l.len; i++)
    {
        if (i >= n || (p[i] & 0xc0) != 0x80)
        {
            *bad = i;
            return 0;
        }
    }
    return l.len;
}

size_t
sb_import_utf8_prefix(struct sb_bytes in)
{
    size_t i = 0;
    while (i < in.len)
    {
        uint64_t eight;
        while (in.len - i >= 8)
        {
            memcpy(&eight, in.data + i, 8);
            if ((eight & UINT64_C(0x8080808080808080)) != 0)
                break;
            i += 8;
        }
        if (i == in.len)
            break;
        size_t bad;
        size_t n = sequence(in.data + i, in.len - i, &bad);
        if (n == 0)
            break;
        i += n;
    }
    return i;
}

bool
sb_import_utf8_valid(struct sb_bytes in)
{
    return sb_import_utf8_prefix(in) == in.len;
}

size_t
sb_import_utf8_cut(struct sb_bytes in, size_t max)
{
    if (in.len <= max)
        return in.len;
    while (max > 0 && (in.data[max] & 0xc0) == 0x80)
        max--;
    return max;
}

size_t
sb_import_utf8_decode(struct sb_bytes in, uint32_t *code)
{
    size_t bad;
    size_t n = in.len == 0 ? 0 : sequence(in.data, in.len, &bad);
    if (n == 0)
        return 0;
    uint32_t c = in.data[0];
    if (n > 1)
        c &= 0x7fU >> n;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (in.data[i] & 0x3fU);
    *code = c;
    return n;
}

size_t
sb_import_utf8_encode(uint32_t code, uint8_t *out)
{
    if (code < 0x80)
    {
        out[0] = (uint8_t)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--)
    {
        out[i] = (uint8_t)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (uint8_t)((0xf00U >> n & 0xffU) | code);
    return n;
}

int
sb_import_utf8_repair(struct sb_buf *out, struct sb_bytes in)
{
    while (in.len != 0)
    {
        size_t good = sb_import_utf8_prefix(in);
        int rc = sb_buf_append(out, sb_bytes(in.data, good));
        if (rc != 0)
            return rc;
        in = sb_bytes(in.data + good, in.len - good);
        if (in.len == 0)
            break;
        size_t bad;
        (void)sequence(in.data, in.len, &bad);
        if (in.len >= 3 && in.data[0] == 0xed && in.data[1] >= 0xa0 && in.data[1] <= 0xbf &&
            (in.data[2] & 0xc0) == 0x80)
            bad = 3;
        rc = sb_buf_append(out, SB_LIT("\xef\xbf\xbd"));
        if (rc != 0)
            return rc;
        in = sb_bytes(in.data + bad, in.len - bad);
    }
    return 0;
}

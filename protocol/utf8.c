/*
 * utf8.c - UTF-8 validity and the rule for names.
 *
 * It must not know frames. Nothing here reads past the view that it was given.
 */
#include "protocol/utf8.h"

#include "protocol/frames.h"

/* Bytes of the character that `lead` begins, and the range its second byte must lie in. */
struct lead
{
    unsigned len;
    uint8_t low, high;
};

static struct lead
lead_of(uint8_t b)
{
    if (b >= 0xc2 && b <= 0xdf)
        return (struct lead){2, 0x80, 0xbf};
    if (b == 0xe0)
        return (struct lead){3, 0xa0, 0xbf}; /* below: overlong */
    if (b == 0xed)
        return (struct lead){3, 0x80, 0x9f}; /* above: surrogates */
    if (b >= 0xe1 && b <= 0xef)
        return (struct lead){3, 0x80, 0xbf};
    if (b == 0xf0)
        return (struct lead){4, 0x90, 0xbf}; /* below: overlong */
    if (b == 0xf4)
        return (struct lead){4, 0x80, 0x8f}; /* above: past U+10FFFF */
    if (b >= 0xf1 && b <= 0xf3)
        return (struct lead){4, 0x80, 0xbf};
    return (struct lead){0, 0, 0};
}

static bool
eight_ascii(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

size_t
sb_utf8_sequence(const uint8_t *p, size_t n, size_t *bad)
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
sb_utf8_prefix(struct sb_bytes s)
{
    size_t i = 0;
    while (i < s.len)
    {
        if (s.len - i >= 8 && eight_ascii(s.data + i))
        {
            i += 8;
            continue;
        }
        size_t bad;
        size_t n = sb_utf8_sequence(s.data + i, s.len - i, &bad);
        if (n == 0)
            break;
        i += n;
    }
    return i;
}

bool
sb_utf8_valid(struct sb_bytes s)
{
    return sb_utf8_prefix(s) == s.len;
}

bool
sb_utf8_has_control(struct sb_bytes s)
{
    for (size_t i = 0; i < s.len; i++)
    {
        uint8_t b = s.data[i];
        if (b < 0x20 || b == 0x7f)
            return true;
        if (b == 0xc2 && i + 1 < s.len && s.data[i + 1] < 0xa0)
            return true;
    }
    return false;
}

bool
sb_name_ok(struct sb_bytes name)
{
    return name.len >= 1 && name.len <= SB_MAX_NAME && sb_utf8_valid(name) &&
           !sb_utf8_has_control(name);
}

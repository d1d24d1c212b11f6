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

bool
sb_utf8_valid(struct sb_bytes s)
{
    const uint8_t *p = s.data;
    size_t left = s.len;
    while (left > 0)
    {
        if (left >= 8 && eight_ascii(p))
        {
            p += 8;
            left -= 8;
            continue;
        }
        if (*p < 0x80)
        {
            p++;
            left--;
            continue;
        }
        struct lead l = lead_of(*p);
        if (l.len == 0 || l.len > left || p[1] < l.low || p[1] > l.high)
            return false;
        for (unsigned i = 2; i < l.len; i++)
        {
            if ((p[i] & 0xc0) != 0x80)
                return false;
        }
        p += l.len;
        left -= l.len;
    }
    return true;
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

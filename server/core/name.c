/*
 * name.c - what a thread, user or tenant may be called.
 *
 * Names stand in ordered keys of the store, in logs' neighbourhood and on screens, so they
 * are short, valid UTF-8 and without control characters.
 */
#include "core/types.h"

/* Length of the UTF-8 sequence at p (1..4) and its code point; 0 when it is not valid. */
static size_t
code_point(const uint8_t *p, size_t left, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++)
    {
        if (p[i] >> 6 != 2)
            return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *out = c;
    return n;
}

bool
sb_name_valid(struct sb_bytes name)
{
    if (name.len == 0 || name.len > SB_MAX_NAME)
        return false;
    for (size_t i = 0; i < name.len;)
    {
        uint32_t c;
        size_t n = code_point(name.data + i, name.len - i, &c);
        if (n == 0 || c < 0x20 || (c >= 0x7F && c <= 0x9F))
            return false;
        i += n;
    }
    return true;
}

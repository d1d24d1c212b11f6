/*
 * irc_text.c - the bytes of an IRC line to clean UTF-8.
 *
 * Logs hold what each client sent. A line with ISO-2022-JP escapes is decoded as that (its
 * bytes are ASCII and would pass for text); a line that is not UTF-8 is Windows-1252, whole.
 * mIRC formatting (colours and their numbers, bold, ...) and other C0 controls but the tab
 * are taken out.
 */
#include "import/irc.h"

#include <errno.h>
#include <iconv.h>

#include "base/error.h"
#include "import/utf8.h"
#include "protocol/utf8.h"

#define ESC 0x1b

/* Code points of 0x80..0x9f in Windows-1252; the five it leaves open stay as they are. */
static const uint16_t cp1252[32] = {0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                    0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
                                    0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178};

/* ESC $ @, ESC $ B, ESC ( J, ESC ( I: a change to a Japanese set. */
static bool
has_iso2022jp(struct sb_bytes s)
{
    for (size_t i = 0; i + 2 < s.len; i++)
    {
        uint8_t b = s.data[i + 1];
        uint8_t c = s.data[i + 2];
        if (s.data[i] == ESC &&
            ((b == '$' && (c == '@' || c == 'B')) || (b == '(' && (c == 'J' || c == 'I'))))
            return true;
    }
    return false;
}

/* Bytes that do not decode become U+FFFD one by one. */
static int
decode_iso2022jp(struct sb_bytes raw, struct sb_buf *out)
{
    iconv_t cd = iconv_open("UTF-8", "ISO-2022-JP-2");
    if (cd == (iconv_t)-1)
        return sb_import_utf8_repair(out, raw);
    char *from = (char *)(uintptr_t)raw.data;
    size_t left = raw.len;
    int rc = sb_buf_reserve(out, raw.len * 4 + 16);
    while (rc == 0 && left != 0)
    {
        char *to = (char *)out->data + out->len;
        size_t room = out->cap - out->len;
        size_t n = iconv(cd, &from, &left, &to, &room);
        out->len = (size_t)(to - (char *)out->data);
        if (n != (size_t)-1)
            break;
        if (errno == E2BIG)
        {
            rc = sb_buf_reserve(out, left * 4 + 16);
            continue;
        }
        rc = sb_buf_append(out, SB_LIT("\xef\xbf\xbd"));
        from++;
        left--;
    }
    (void)iconv_close(cd);
    return rc;
}

static int
decode_cp1252(struct sb_bytes raw, struct sb_buf *out)
{
    int rc = sb_buf_reserve(out, raw.len * 3);
    for (size_t i = 0; rc == 0 && i < raw.len; i++)
    {
        uint32_t c = raw.data[i];
        if (c >= 0x80 && c < 0xa0)
            c = cp1252[c - 0x80];
        out->len += sb_import_utf8_encode(c, out->data + out->len);
    }
    return rc;
}

static bool
is_control(uint8_t c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool
is_hex(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of one colour of at most `max` digits (with `all`: exactly). */
static size_t
colour(struct sb_bytes s, size_t at, size_t max, bool (*digit)(uint8_t), bool all)
{
    size_t n = 0;
    while (n < max && at + n < s.len && digit(s.data[at + n]))
        n++;
    return all && n != max ? 0 : n;
}

/* Bytes of the formatting code at `at`: the control and the colours that belong to it. */
static size_t
code_len(struct sb_bytes s, size_t at)
{
    bool hex = s.data[at] == 0x04;
    if (s.data[at] != 0x03 && !hex)
        return 1;
    bool (*digit)(uint8_t) = hex ? is_hex : is_digit;
    size_t max = hex ? 6 : 2;
    size_t n = colour(s, at + 1, max, digit, hex);
    if (n == 0)
        return 1;
    size_t comma = at + 1 + n;
    if (comma >= s.len || s.data[comma] != ',')
        return 1 + n;
    size_t ground = colour(s, comma + 1, max, digit, hex);
    return ground == 0 ? 1 + n : 2 + n + ground;
}

/* In place. */
static void
strip_codes(struct sb_buf *b)
{
    struct sb_bytes s = sb_buf_view(b);
    size_t n = 0;
    for (size_t i = 0; i < s.len;)
    {
        if (is_control(s.data[i]))
            i += code_len(s, i);
        else
            b->data[n++] = s.data[i++];
    }
    b->len = n;
}

int
sb_irc_text_decode(struct sb_bytes raw, struct sb_buf *scratch, struct sb_bytes *out, bool *changed)
{
    bool japanese = has_iso2022jp(raw);
    bool valid = sb_utf8_valid(raw);
    bool controls = false;
    for (size_t i = 0; i < raw.len && !controls; i++)
        controls = is_control(raw.data[i]);
    *changed = japanese || !valid;
    *out = raw;
    if (!controls && valid)
        return 0;
    sb_buf_reset(scratch, 65536);
    int rc = japanese && valid ? decode_iso2022jp(raw, scratch)
             : valid           ? sb_buf_append(scratch, raw)
                               : decode_cp1252(raw, scratch);
    if (rc != 0)
        return rc;
    strip_codes(scratch);
    *out = sb_buf_view(scratch);
    return 0;
}

/* utf8.c - see utf8.h. What is valid is decided in protocol/utf8.c. */
#include "import/utf8.h"

#include "protocol/utf8.h"

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
        size_t good = sb_utf8_prefix(in);
        int rc = sb_buf_append(out, sb_bytes(in.data, good));
        if (rc != 0)
            return rc;
        in = sb_bytes(in.data + good, in.len - good);
        if (in.len == 0)
            break;
        size_t bad;
        (void)sb_utf8_sequence(in.data, in.len, &bad);
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

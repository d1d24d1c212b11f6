/*
 * pieces.c - see pieces.h. It must not know yajl, or what the text means: only where strings
 * begin and end. Invariant: `held` is empty outside of strings.
 */
#include "import/pieces.h"

#include <string.h>

#include "base/error.h"

enum
{
    NUMBER_MAX = 65536, /* characters: yajl reads an unfinished number again as well */
    HELD_KEEP = 65536,
};

void
sb_pieces_init(struct sb_pieces *p, size_t max)
{
    *p = (struct sb_pieces){0};
    sb_buf_init(&p->held, max);
}

void
sb_pieces_finish(struct sb_pieces *p)
{
    sb_buf_finish(&p->held);
}

void
sb_pieces_restart(struct sb_pieces *p)
{
    sb_buf_reset(&p->held, HELD_KEEP);
    p->number = 0;
    p->in_string = p->escaped = p->too_long = false;
}

static void
hold(struct sb_pieces *p, struct sb_bytes part)
{
    if (p->too_long || sb_buf_append(&p->held, part) == 0)
        return;
    p->too_long = true;
    sb_buf_reset(&p->held, 0);
}

/* Passes on what is held, `part` being its end. */
static int
pass_held(struct sb_pieces *p, struct sb_bytes part, sb_pieces_take take, void *ctx)
{
    hold(p, part);
    struct sb_bytes all = p->too_long ? SB_LIT("\"\"") : sb_buf_view(&p->held);
    int rc = take(ctx, all, p->too_long);
    sb_buf_reset(&p->held, HELD_KEEP);
    p->too_long = false;
    return rc;
}

/* Behind the string's closing quote, or the end of the piece. */
static size_t
string_end(struct sb_pieces *p, struct sb_bytes piece, size_t i)
{
    for (; i < piece.len; i++)
    {
        uint8_t c = piece.data[i];
        if (p->escaped)
            p->escaped = false;
        else if (c == '\\')
            p->escaped = true;
        else if (c == '"')
        {
            p->in_string = false;
            return i + 1;
        }
    }
    return i;
}

/* At the next opening quote, or the end of the piece, or where a number got too long. */
static size_t
string_start(struct sb_pieces *p, struct sb_bytes piece, size_t i)
{
    for (; i < piece.len && piece.data[i] != '"' && p->number <= NUMBER_MAX; i++)
    {
        uint8_t c = piece.data[i];
        bool digit = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e';
        p->number = digit || c == 'E' ? p->number + 1 : 0;
    }
    return i;
}

int
sb_pieces_feed(struct sb_pieces *p, struct sb_bytes piece, sb_pieces_take take, void *ctx)
{
    size_t from = 0; /* what is before it was passed on */
    size_t i = 0;
    if (p->in_string)
    {
        i = from = string_end(p, piece, 0);
        if (p->in_string)
        {
            hold(p, piece);
            return 0;
        }
        int rc = pass_held(p, sb_bytes(piece.data, i), take, ctx);
        if (rc != 0)
            return rc;
    }
    size_t quote = 0;
    while (i < piece.len)
    {
        i = quote = string_start(p, piece, i);
        if (p->number > NUMBER_MAX)
            return SB_ERR_BAD_REQUEST;
        if (i == piece.len)
            break;
        p->number = 0;
        p->in_string = true;
        i = string_end(p, piece, i + 1);
    }
    size_t whole = p->in_string ? quote : piece.len;
    int rc = whole > from ? take(ctx, sb_bytes(piece.data + from, whole - from), false) : 0;
    if (rc == 0 && p->in_string)
        hold(p, sb_bytes(piece.data + quote, piece.len - quote));
    return rc;
}

/* lines.c - see lines.h. */
#include "import/lines.h"

#include <stdlib.h>

#define CHUNK 262144

int
sb_lines_init(struct sb_lines *l, struct sb_input *in, struct sb_import_run *run, size_t max)
{
    *l = (struct sb_lines){.in = in, .run = run, .max = max};
    l->cap = CHUNK;
    l->buf = malloc(l->cap);
    return l->buf == NULL ? SB_ERR_NO_MEMORY : 0;
}

void
sb_lines_finish(struct sb_lines *l)
{
    free(l->buf);
    *l = (struct sb_lines){0};
}

/* Reads more behind what is unread. */
static int
fill(struct sb_lines *l)
{
    if (l->start > 0)
    {
        memmove(l->buf, l->buf + l->start, l->end - l->start);
        l->end -= l->start;
        l->start = 0;
    }
    if (l->end == l->cap)
    {
        uint8_t *more = realloc(l->buf, l->cap * 2);
        if (more == NULL)
            return SB_ERR_NO_MEMORY;
        l->buf = more;
        l->cap *= 2;
    }
    int64_t n = sb_input_read(l->in, l->buf + l->end, l->cap - l->end);
    if (n < 0)
        return (int)n;
    if (n == 0)
        l->eof = true;
    l->end += (size_t)n;
    if (l->run != NULL)
        sb_import_run_read(l->run, (uint64_t)n);
    return 0;
}

/* Passes over the rest of a line that is longer than max. */
static int
pass_over(struct sb_lines *l)
{
    for (;;)
    {
        uint8_t *nl = memchr(l->buf + l->start, '\n', l->end - l->start);
        if (nl != NULL)
        {
            l->start = (size_t)(nl - l->buf) + 1;
            return SB_LINE_TOO_LONG;
        }
        l->start = l->end;
        if (l->eof)
            return SB_LINE_TOO_LONG;
        int rc = fill(l);
        if (rc != 0)
            return rc;
    }
}

static struct sb_bytes
trimmed(const struct sb_lines *l, size_t len)
{
    struct sb_bytes line = sb_bytes(l->buf + l->start, len);
    if (line.len > 0 && line.data[line.len - 1] == '\r')
        line.len--;
    if (l->number == 1 && line.len >= 3 && memcmp(line.data, "\xef\xbb\xbf", 3) == 0)
        line = sb_bytes(line.data + 3, line.len - 3);
    return line;
}

int
sb_lines_next(struct sb_lines *l, struct sb_bytes *line)
{
    size_t seen = 0;
    for (;;)
    {
        size_t have = l->end - l->start;
        uint8_t *nl = have == seen ? NULL : memchr(l->buf + l->start + seen, '\n', have - seen);
        size_t len = nl != NULL ? (size_t)(nl - l->buf) - l->start : have;
        if (len > l->max)
        {
            l->number++;
            return pass_over(l);
        }
        if (nl != NULL || (l->eof && have != 0))
        {
            l->number++;
            *line = trimmed(l, len);
            l->start += nl != NULL ? len + 1 : len;
            return SB_LINE_OK;
        }
        if (l->eof)
            return SB_LINE_END;
        seen = have;
        int rc = fill(l);
        if (rc != 0)
            return rc;
    }
}

bool
sb_line_blank(struct sb_bytes line)
{
    for (size_t i = 0; i < line.len; i++)
    {
        if (line.data[i] != ' ' && line.data[i] != '\t')
            return false;
    }
    return true;
}

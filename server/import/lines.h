/*
 * lines.h - a file as lines, without holding more than one.
 *
 * A line is at most `max` bytes; a longer one is passed over as a whole and told, never cut.
 * A byte order mark at the start and the CR of CRLF are taken away.
 */
#ifndef SB_IMPORT_LINES_H
#define SB_IMPORT_LINES_H

#include "import/run.h"
#include "import/tree.h"

enum sb_line
{
    SB_LINE_END = 0,
    SB_LINE_OK = 1,
    SB_LINE_TOO_LONG = 2,
};

struct sb_lines
{
    struct sb_input *in;
    struct sb_import_run *run; /* told of the bytes read; may be NULL */
    uint8_t *buf;              /* heap */
    size_t cap, start, end;    /* bytes start..end are unread */
    size_t max;
    uint64_t number; /* of the line last given, from 1 */
    bool eof;
};

int sb_lines_init(struct sb_lines *l, struct sb_input *in, struct sb_import_run *run, size_t max);
void sb_lines_finish(struct sb_lines *l);
/* enum sb_line, or SB_ERR_IO. The view is valid until the next call. */
int sb_lines_next(struct sb_lines *l, struct sb_bytes *line);
/* Nothing but blanks and tabs. */
bool sb_line_blank(struct sb_bytes line);

#endif

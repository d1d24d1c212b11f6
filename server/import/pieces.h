/*
 * pieces.h - JSON text, fed in pieces, passed on so that no string is cut in two.
 *
 * yajl keeps an unfinished string and reads it again from its start with each further piece:
 * one long string in a small archive would take hours, and memory without a bound. Here a
 * string that a piece leaves open is held back until its end, up to a maximum; of a longer
 * one only `""` is passed on, and that it was too long.
 */
#ifndef SB_IMPORT_PIECES_H
#define SB_IMPORT_PIECES_H

#include "base/buf.h"

struct sb_pieces
{
    struct sb_buf held; /* a string from its opening quote on, not passed on yet */
    size_t number;      /* characters of the number being read */
    bool in_string;
    bool escaped;  /* the last character was a backslash */
    bool too_long; /* the string that is held does not fit; its content is gone */
};

/* Takes a part of the text. too_long: it is `""` in the place of a string too long to hold.
 * Not 0: stop. */
typedef int (*sb_pieces_take)(void *ctx, struct sb_bytes part, bool too_long);

void sb_pieces_init(struct sb_pieces *p, size_t max);
void sb_pieces_finish(struct sb_pieces *p);
void sb_pieces_restart(struct sb_pieces *p);
/* 0, `take`'s value, or SB_ERR_BAD_REQUEST: a number longer than any is. */
int sb_pieces_feed(struct sb_pieces *p, struct sb_bytes piece, sb_pieces_take take, void *ctx);

#endif

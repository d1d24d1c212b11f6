/*
 * import_progress.h - the line that tells how far an import is.
 *
 * On a terminal it is rewritten in place, elsewhere it is a new line every 5 s.
 */
#ifndef SB_APP_IMPORT_PROGRESS_H
#define SB_APP_IMPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sb_progress
{
    bool tty, shown;          /* stderr is a terminal; a line is on it */
    uint64_t start_us, at_us; /* of the run, of the last line */
    uint64_t rows;            /* read so far */
    uint64_t done, total;     /* bytes of this path; total 0: not known */
    int path, paths;          /* which path, from 1 */
};

void sb_progress_init(struct sb_progress *p, int paths);
/* Shows the line if it is time for one. */
void sb_progress_tick(struct sb_progress *p);
/* The same for a step without rows: "packing 40%". */
void sb_progress_step(struct sb_progress *p, const char *what, uint64_t done, uint64_t total);
/* Takes the line off a terminal, before something else is written there. */
void sb_progress_clear(struct sb_progress *p);

#endif

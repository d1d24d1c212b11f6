/* import_progress.c - see import_progress.h. */
#include "app/import_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "app/command.h"

#define EVERY_TTY_US 200000
#define EVERY_US 5000000

void
sb_progress_init(struct sb_progress *p, int paths)
{
    uint64_t now = sb_now_us();
    *p = (struct sb_progress){.tty = isatty(STDERR_FILENO) == 1,
                              .start_us = now,
                              .at_us = now,
                              .path = 1,
                              .paths = paths};
}

static bool
due(struct sb_progress *p)
{
    uint64_t now = sb_now_us();
    if (now - p->at_us < (p->tty ? EVERY_TTY_US : EVERY_US))
        return false;
    p->at_us = now;
    return true;
}

/* Ends the line as stderr needs it: a terminal's is cleared to the right and stays open. */
static void
end_line(struct sb_progress *p)
{
    (void)fputs(p->tty ? "\x1b[K" : "\n", stderr);
    (void)fflush(stderr);
    p->shown = p->tty;
}

void
sb_progress_tick(struct sb_progress *p)
{
    if (!due(p))
        return;
    double seconds = (double)(p->at_us - p->start_us) / 1e6;
    (void)fprintf(stderr, "%s%" PRIu64 " rows, %.0f rows/s", p->tty ? "\r" : "", p->rows,
                  (double)p->rows / (seconds > 0 ? seconds : 1));
    if (p->total != 0)
        (void)fprintf(stderr, ", %.0f%%", 100.0 * (double)p->done / (double)p->total);
    if (p->paths > 1)
        (void)fprintf(stderr, " of path %d of %d", p->path, p->paths);
    end_line(p);
}

void
sb_progress_step(struct sb_progress *p, const char *what, uint64_t done, uint64_t total)
{
    if (!due(p))
        return;
    (void)fprintf(stderr, "%s%s", p->tty ? "\r" : "", what);
    if (total != 0)
        (void)fprintf(stderr, " %.0f%%", 100.0 * (double)done / (double)total);
    end_line(p);
}

void
sb_progress_clear(struct sb_progress *p)
{
    if (p->shown)
        (void)fputs("\r\x1b[K", stderr);
    p->shown = false;
}

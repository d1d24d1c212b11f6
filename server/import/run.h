/*
 * run.h - one run over one PATH: its options, sink and counts, shared by all formats.
 *
 * Also the few helpers with which readers tell what they skipped and how far they are.
 */
#ifndef SB_IMPORT_RUN_H
#define SB_IMPORT_RUN_H

#include "import/import.h"

#define SB_IMPORT_WHY 256                    /* bytes of a `why` */
#define SB_IMPORT_TEXT_DEFAULT (1024 * 1024) /* text_max 0 */

struct sb_import_run
{
    const struct sb_import_options *options;
    const struct sb_import_sink *sink;
    struct sb_import_counts *counts;
    uint64_t text_max; /* never 0 */
    uint64_t done;     /* bytes of the source read */
    uint64_t told;     /* `done` when progress was last told */
    uint64_t total;    /* 0: not known */
    int stop;          /* the sink's value, once it was not 0: the run ends with it */
};

void sb_import_run_init(struct sb_import_run *run, const struct sb_import_options *o,
                        const struct sb_import_sink *sink, struct sb_import_counts *counts);
/* Tells and counts one skipped message: "file:place". `file` need not be UTF-8. */
void sb_import_run_skip(struct sb_import_run *run, const char *file, uint64_t place,
                        const char *reason);
/* n more bytes were read; tells the sink each MiB. */
void sb_import_run_read(struct sb_import_run *run, uint64_t n);
/* The end of the run: tells the last state. */
void sb_import_run_finish(struct sb_import_run *run);

/* The readers; see sb_import_format.read. */
int sb_import_jsonl(const char *path, const struct sb_import_options *o,
                    const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why);
int sb_import_slack(const char *path, const struct sb_import_options *o,
                    const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why);
int sb_import_irc(const char *path, const struct sb_import_options *o,
                  const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why);

#endif

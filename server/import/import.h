/*
 * import.h - export formats to import rows, streaming.
 *
 * A reader walks one source and emits rows; it never holds a whole file. A bad message is
 * skipped, counted and told to `skipped`; it never ends the run.
 */
#ifndef SB_IMPORT_IMPORT_H
#define SB_IMPORT_IMPORT_H

#include "core/record.h"

struct sb_import_sink
{
    void *ctx;
    /* One row. Views are valid during the call. Not 0: stop, the value is returned. */
    int (*row)(void *ctx, struct sb_bytes thread, const struct sb_record_import *row);
    /* One message that could not be read: where (file:line or file:offset) and why. */
    void (*skipped)(void *ctx, const char *where, const char *why);
    /* Bytes of the source read so far, of `total` (0: not known). Called now and then. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
};

struct sb_import_options
{
    const char *thread; /* --thread: the thread for formats that name none; NULL: derived */
    const char *tz;     /* --tz: IANA zone of local times; NULL: UTC */
    uint64_t text_max;  /* import-text-max: longer texts are cut with a mark; bytes */
    uint64_t now_ms;    /* rows ahead of it are skipped by the applier */
};

struct sb_import_counts
{
    uint64_t rows;    /* emitted */
    uint64_t skipped; /* told to skipped */
    uint64_t cut;     /* texts cut at text_max */
    /* Rows in which something else was changed to fit: a name, an encoding, a list's length. */
    uint64_t repaired;
};

struct sb_import_format
{
    const char *name;    /* "slack", "irc", "jsonl" */
    const char *summary; /* one line for --help */
    /* Reads one PATH (file or folder). 0, the sink's value, or SB_ERR_IO with a text in
     * `why` (256 bytes) for a path that cannot be read at all. */
    int (*read)(const char *path, const struct sb_import_options *o,
                const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why);
};

/* NULL past the end. */
const struct sb_import_format *sb_import_format_at(unsigned i);
/* NULL for an unknown name. */
const struct sb_import_format *sb_import_format_find(const char *name);

#endif

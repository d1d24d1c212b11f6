/*
 * support.h - runs a reader over text or a path and keeps what it emitted, for assertions.
 */
#ifndef SB_TEST_IMPORT_SUPPORT_H
#define SB_TEST_IMPORT_SUPPORT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "import/import.h"

#define CAPTURE_MAX 64

struct capture_row
{
    char thread[256], by[256], kind[80], id[600], reply_to[600];
    char *text; /* heap */
    size_t text_len;
    uint64_t at, edited_at;
    bool deleted;
    uint32_t n_mentions, n_attachments, n_reactions;
    char mention[8][256];
    uint8_t meta[512];
    size_t meta_len;
};

struct capture
{
    struct capture_row rows[CAPTURE_MAX];
    size_t n;
    size_t total; /* rows emitted, also those past CAPTURE_MAX */
    char skipped[CAPTURE_MAX][640];
    size_t n_skipped;
    uint64_t done, of; /* of the last progress */
    struct sb_import_counts counts;
    int rc;
    char why[256];
    int stop_with;  /* the sink returns it ... */
    size_t stop_at; /* ... for this row, from 1; 0: never */
};

/* One at a time: the capture is static, cleared by each run. */
struct capture *capture_path(const char *format, const char *path,
                             const struct sb_import_options *o);
/* The same with a sink that answers `value` to the row number `row`. */
struct capture *capture_stopping(const char *format, const char *path, size_t row, int value);
/* Writes a file below the test's own folder (made on first use) and gives its path. */
const char *write_file(const char *name, const void *data, size_t len);
const char *write_text(const char *name, const char *text);
/* The test's own folder, and a path below it. */
const char *work_path(const char *name);
/* Removes it. Use as a group teardown. */
int remove_work(void **state);
/* A folder of the fixtures. */
const char *fixture(const char *name);

#endif

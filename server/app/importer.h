/*
 * importer.h - one run of `scrollback import`: readers' rows to the store, in batches.
 *
 * Used by cmd_import.c in this order: open, read each path, finish, close.
 */
#ifndef SB_APP_IMPORTER_H
#define SB_APP_IMPORTER_H

#include <signal.h>

#include "app/import_batch.h"
#include "app/import_links.h"
#include "app/import_progress.h"
#include "app/name_set.h"
#include "core/apply.h"
#include "import/import.h"

struct sb_importer
{
    /* set by the caller */
    const char *dir;
    struct sb_bytes tenant;
    const char *report_path;
    const volatile sig_atomic_t *interrupted; /* not 0: stop at a batch's end */
    struct sb_store *store;

    /* counts */
    uint64_t added, updated, unchanged;
    uint64_t refused;           /* by the store's rules */
    uint64_t unreadable;        /* by the reader, or with a name that cannot be */
    uint64_t parentless;        /* replies whose parent never came */
    struct sb_name_set touched; /* threads with a row added or updated */
    int failed;                 /* SB_ERR_ of the store or of memory; 0 */
    bool stopped;               /* interrupted */

    /* inside */
    struct sb_applier *applier;
    struct sb_batch batch;
    struct sb_links links;
    struct sb_progress progress;
    FILE *report;
    unsigned told; /* lines of the report that stderr got too */
};

/* 0 or SB_ERR_NO_MEMORY. */
int sb_importer_open(struct sb_importer *im, int paths);
/* The sink to give to a reader. Its row function returns 1 to stop: see failed, stopped. */
struct sb_import_sink sb_importer_sink(struct sb_importer *im);
/* The last batch, then the replies whose parents came later. */
void sb_importer_finish(struct sb_importer *im);
void sb_importer_close(struct sb_importer *im);

#endif

/*
 * import_batch.h - rows waiting to be applied, copied out of the reader's buffers.
 *
 * The copies lie in blocks that are used again for the next batch: no allocation per row.
 */
#ifndef SB_APP_IMPORT_BATCH_H
#define SB_APP_IMPORT_BATCH_H

#include "core/record.h"

#define SB_BATCH_ROWS 8192
#define SB_BATCH_BYTES ((size_t)16 * 1024 * 1024) /* a row begun below it still goes in whole */

struct sb_batch_block;

struct sb_batch
{
    size_t n, bytes;
    struct sb_record *records;       /* SB_BATCH_ROWS of them */
    const struct sb_record **places; /* each record's address, as apply wants them */
    struct sb_result *results;
    struct sb_batch_block *blocks, *spare; /* in use; kept for the next batch */
};

/* 0 or SB_ERR_NO_MEMORY. */
int sb_batch_init(struct sb_batch *b);
void sb_batch_finish(struct sb_batch *b);
static inline bool
sb_batch_full(const struct sb_batch *b)
{
    return b->n == SB_BATCH_ROWS || b->bytes >= SB_BATCH_BYTES;
}
/* Copies one row; never when full. `tenant` outlives the batch. 0 or SB_ERR_NO_MEMORY. */
int sb_batch_add_row(struct sb_batch *b, struct sb_bytes tenant, struct sb_bytes thread,
                     const struct sb_record_import *row);
/* Copies one link; never when full. */
int sb_batch_add_link(struct sb_batch *b, struct sb_bytes tenant, struct sb_bytes thread,
                      struct sb_bytes system, struct sb_bytes child, struct sb_bytes parent);
/* Forgets the records. */
void sb_batch_reset(struct sb_batch *b);

#endif

/*
 * apply.h - the one place where a change is accepted or refused.
 *
 * A pure function of the store and the records: it reads no clock and draws no random
 * number. Each record is decided before its first write; a store error aborts the batch.
 */
#ifndef SB_CORE_APPLY_H
#define SB_CORE_APPLY_H

#include "core/record.h"
#include "core/store.h"

struct sb_applier; /* scratch for one writer: row bodies, tags */

struct sb_applier *sb_applier_create(void);
void sb_applier_destroy(struct sb_applier *a);

/*
 * Applies n records in order in one transaction and commits it.
 *
 * Returns 0 when the batch is durable; each results[i] then tells what became of record i
 * (a refused one has written nothing). On a store error nothing of the batch is stored,
 * every result has that error, and it is returned (SB_ERR_UNKNOWN_OUTCOME: it may be stored;
 * exit and reopen). Thread: the one writer's.
 */
int sb_apply(struct sb_applier *a, struct sb_store *store, const struct sb_record *const *records,
             struct sb_result *results, size_t n);

#endif

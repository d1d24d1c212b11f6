/*
 * check.h - what the two halves of the check share. check.c: threads, names, members, rows,
 * seqs; check_rest.c: past, tags, changes, sources, nonces, reactions.
 */
#ifndef SB_STORE_CHECK_H
#define SB_STORE_CHECK_H

#include "store/inner.h"

struct sb_check
{
    struct sb_store_inner *s;
    struct sb_kv_txn *kv;
    uint64_t now_ms;
    void (*problem)(void *ctx, const char *text);
    void *ctx;
    unsigned told;
    struct sb_store_report *report;
};

/* Counts a problem in one of the report's fields and tells it, the first 100. */
void sb_check_tell(struct sb_check *c, uint64_t *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Calls `each` for every entry of a table; a code that is not 0 ends it. */
int sb_check_table(struct sb_check *c, enum sb_table table,
                   int (*each)(struct sb_check *c, struct sb_bytes key, struct sb_bytes value));
/* Whether a key is there; SB_ERR_ of the map otherwise. */
int sb_check_has(struct sb_check *c, enum sb_table table, const struct sb_key *key, bool *there);
/* Postings of a row's tags must be there, unless it waits for them. */
int sb_check_postings(struct sb_check *c, uint64_t thread, const struct sb_row *row);

int sb_check_rest(struct sb_check *c);

#endif

/*
 * page.h - the page rule, over scans.
 *
 * Read limit + 1 rows in the direction of the walk, exclusive of its position. If there is
 * an extra row, drop the last one read; only then put the rows oldest first. The next
 * position is the last row kept: for load_older the oldest one, the first that is sent.
 * No extra row and nothing left to scan: no cursor, the end.
 *
 * load_around is two such reads from one centre.
 */
#ifndef SB_CORE_PAGE_H
#define SB_CORE_PAGE_H

#include "core/scan.h"

struct sb_page
{
    enum sb_op op; /* LOAD_OLDER, LOAD_NEWER, LOAD_AROUND */
    uint64_t thread, version;
    uint32_t limit;
    uint64_t bytes_max; /* of the rows sent; one row always fits */
    struct sb_access access;
    struct sb_filter filter;
    bool found;           /* load_around: the row that was asked for is in the page */
    bool nothing;         /* load_around by seq: not found, no rows, no cursors */
    struct sb_pos centre; /* load_around: the older side begins below it */
    struct sb_scan older, newer;
    uint64_t spent_us; /* of scanning so far */
};

/*
 * Fill op, thread, version, limit, bytes_max, access and filter, then start one of these.
 * `from`: exclusive.
 */
void sb_page_start(struct sb_page *p, struct sb_pos from);
/* The centre is the first row with at >= `at`. */
void sb_page_start_around_at(struct sb_page *p, uint64_t at);
/* The centre is that row, if the reader may see it and it matches. 0 or SB_ERR_ of the store. */
int sb_page_start_around_seq(struct sb_page *p, struct sb_txn *txn, uint64_t seq);

/*
 * Scans until the page is complete or budget_us of the page's own scanning is used up: 0.
 * SB_ERR_BUSY: the deadline has come, call again (any later transaction).
 */
int sb_page_run(struct sb_page *p, struct sb_txn *txn, const struct sb_ports *ports,
                uint64_t deadline_us, uint64_t budget_us);

/* What is sent. Rows of the older side stand in descending order: send them from the last. */
struct sb_page_rows
{
    uint32_t n_older, n_newer; /* hits of each scan that are kept, from its first */
    uint64_t bytes;            /* of their bodies */
    bool has_older, has_newer; /* a walk can go on there */
    struct sb_pos older, newer;
};
void sb_page_select(const struct sb_page *p, struct sb_page_rows *out);

/*
 * The bodies of a page that took several slices belong to transactions that ended: reads
 * them again in this one. SB_ERR_BUSY: a row fell out, run the page on.
 */
int sb_page_reread(struct sb_page *p, struct sb_txn *txn);

#endif

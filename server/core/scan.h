/*
 * scan.h - finds the next rows of a thread in one direction, in slices.
 *
 * A scan collects up to limit + 1 rows that the reader gets: visible at the snapshot,
 * allowed by sb_authz_row, matching the filter. The row past the limit is the look-ahead:
 * it only tells that there is more. A scan can stop anywhere and go on in a later turn,
 * with another read transaction: it keeps positions, and bodies only as long as the
 * transaction that they were read in.
 *
 * With a filter it leapfrogs posting lists; these give candidates, the row decides.
 */
#ifndef SB_CORE_SCAN_H
#define SB_CORE_SCAN_H

#include "core/authz.h"
#include "core/filter.h"
#include "core/ports.h"

struct sb_hit
{
    struct sb_pos pos;
    struct sb_bytes body; /* valid while `read_serial` of the scan is the current one */
};

struct sb_scan
{
    uint64_t thread, version;
    enum sb_direction dir;
    const struct sb_access *access; /* caller's, stable */
    const struct sb_filter *filter; /* caller's, stable */
    struct sb_pos pos;              /* looked at up to here; the next row lies beyond */
    struct sb_pos end;              /* exclusive: nothing at or beyond it is read */
    uint32_t limit;                 /* rows wanted, without the look-ahead */
    uint64_t bytes_max;             /* a row that would take the page past it is the look-ahead */
    uint64_t bytes;                 /* of the bodies collected, look-ahead included */
    bool ended;                     /* there is nothing beyond */
    bool full;                      /* the last hit is the look-ahead */
    uint32_t n;
    struct sb_hit hits[SB_MAX_PAGE + 1];
    struct sb_pos heads[SB_FILTER_TAGS]; /* per tag: its nearest posting at or beyond a target */
};

/* `from`: exclusive. The rest of the fields that the caller sets are arguments here. */
void sb_scan_init(struct sb_scan *s, uint64_t thread, uint64_t version, enum sb_direction dir,
                  struct sb_pos from, const struct sb_access *access,
                  const struct sb_filter *filter, uint32_t limit, uint64_t bytes_max);

/*
 * Goes on until the page is full or the thread ends: 0. SB_ERR_BUSY: deadline_us (monotonic)
 * has come, call again. SB_ERR_CORRUPT: a damaged row; other SB_ERR_ of the store.
 */
int sb_scan_run(struct sb_scan *s, struct sb_txn *txn, const struct sb_ports *ports,
                uint64_t deadline_us);

static inline bool
sb_scan_finished(const struct sb_scan *s)
{
    return s->ended || s->full;
}

/* Hits without the look-ahead. */
static inline uint32_t
sb_scan_kept(const struct sb_scan *s)
{
    return s->full ? s->n - 1 : s->n;
}

/*
 * Reads the collected rows again in a new transaction (bodies are borrowed from it). A row
 * that fell out meanwhile is dropped; the scan may then have to go on. 0 or SB_ERR_.
 */
int sb_scan_reread(struct sb_scan *s, struct sb_txn *txn);

#endif

/*
 * listing.h - the threads of a user, in slices: which, then how much is unread in each.
 *
 * Members see the threads that they are members of, by thread id (the order in which the
 * threads were created); a service sees all of its tenant, by name. Both are stable.
 */
#ifndef SB_CORE_LISTING_H
#define SB_CORE_LISTING_H

#include "core/authz.h"
#include "core/ports.h"
#include "core/store.h"

enum
{
    SB_UNREAD_MAX = 1000, /* counted up to */
};

struct sb_listing
{
    struct sb_bytes tenant, user; /* caller's, stable */
    bool service;
    uint32_t limit;
    uint64_t version;  /* rows are counted as at it */
    uint64_t after;    /* thread id of the last one told before; 0: from the start */
    struct sb_hash by; /* the user's own "by:" tag: own messages are never unread */

    bool gathered; /* ids are complete */
    bool more;     /* there is a thread behind the last id */
    uint32_t n;    /* ids */
    uint32_t counted;
    uint32_t damaged; /* records passed over because their checksum fails */
    uint32_t unread;  /* of the thread being counted */
    struct sb_pos pos;
    uint64_t ids[SB_MAX_PAGE];
    uint16_t counts[SB_MAX_PAGE];
};

void sb_listing_start(struct sb_listing *l);
/* 0: complete. SB_ERR_BUSY: call again in a later turn. SB_ERR_INVALID_CURSOR: the thread that
 * it should go on behind is gone. */
int sb_listing_run(struct sb_listing *l, struct sb_txn *txn, const struct sb_ports *ports,
                   uint64_t deadline_us);

/* One thread as it is told: access, record and the newest row that the reader may see. */
struct sb_listed
{
    struct sb_thread thread;
    struct sb_access access;
    bool has_newest;
    struct sb_row newest;
};
/* SB_ERR_NOT_FOUND: it is no longer the reader's to see. */
int sb_listing_look(const struct sb_listing *l, struct sb_txn *txn, uint64_t thread,
                    struct sb_listed *out);

#endif

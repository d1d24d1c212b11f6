/*
 * tail.h - rows and nonces whose derived entries (by_seq, tags, nonces) wait to be written.
 *
 * A bounded array with two hash chains: by (thread, seq) and by nonce. An ordered tail also
 * keeps its positions sorted, for the nearest row of a thread.
 *
 * It must not know tables or transactions. Nothing here locks: a tail has one writer, and
 * readers only while that one rests.
 */
#ifndef SB_STORE_TAIL_H
#define SB_STORE_TAIL_H

#include "core/store.h"

struct sb_tail_row
{
    uint64_t thread;
    struct sb_pos pos;
    uint64_t version; /* that created it */
    uint32_t next;    /* in its chain: place + 1, 0 at the end */
};

struct sb_tail_nonce
{
    struct sb_hash key;
    struct sb_nonce nonce;
    uint32_t next;
};

struct sb_tail_place
{
    uint64_t thread;
    struct sb_pos pos;
};

struct sb_tail
{
    struct sb_tail_row *rows;
    struct sb_tail_nonce *nonces;
    uint32_t *row_chains, *nonce_chains; /* heads; as many as `cap` */
    struct sb_tail_place *order;         /* ordered tails only: by thread, position */
    size_t n_rows, n_nonces, cap;        /* cap: a power of two, of rows and of nonces */
    bool ordered;
};

/* Room for at least `room` rows and nonces. SB_ERR_NO_MEMORY. */
int sb_tail_init(struct sb_tail *t, size_t room, bool ordered);
void sb_tail_finish(struct sb_tail *t);
void sb_tail_clear(struct sb_tail *t);
/* Makes room for as many in total. SB_ERR_NO_MEMORY: as it was. */
int sb_tail_reserve(struct sb_tail *t, size_t room);

/* Not for ordered tails. SB_ERR_NO_MEMORY. */
int sb_tail_add_row(struct sb_tail *t, uint64_t thread, struct sb_pos pos, uint64_t version);
int sb_tail_add_nonce(struct sb_tail *t, const struct sb_hash *key, const struct sb_nonce *n);
/* Takes back what was added after it had so many. Not for ordered tails. */
void sb_tail_truncate(struct sb_tail *t, size_t n_rows, size_t n_nonces);

/* Moves all of `from` behind `t` (ordered), which has the room. Cannot fail. */
void sb_tail_take(struct sb_tail *t, struct sb_tail *from);

bool sb_tail_find_seq(const struct sb_tail *t, uint64_t thread, uint64_t seq, struct sb_pos *out);
bool sb_tail_find_nonce(const struct sb_tail *t, const struct sb_hash *key, struct sb_nonce *out);
/* The nearest row of the thread strictly beyond `pos`. Ordered: two cache lines and a binary
 * search; else a walk over all rows. */
bool sb_tail_near(const struct sb_tail *t, uint64_t thread, struct sb_pos pos,
                  enum sb_direction dir, struct sb_pos *out);

#endif

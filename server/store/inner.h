/*
 * inner.h - what the files of the store share: the store, its transactions, who owns what.
 *
 *   engine.c   creates or loads a store over a map; close, settle, publish
 *   read.c     threads, members, names, nonces, sources
 *   walk.c     rows: by seq, by position, in order, by tag; the past
 *   write.c    begin, commit, abort, the puts
 *   derive.c   writes by_seq, tags and nonces of the rows that wait
 *   tail.c     the rows that wait, in memory
 *   check.c    verifies everything
 *   layout.c, records.c   bytes;   kv.h   the map below
 *
 * What is written when: the transaction of a post writes the row, the thread's record and
 * the change (with its nonce). What can be computed from these is written later, for many
 * rows at once, sorted. Until then rows wait in `pending` (committed, not published: the
 * job's) and then in `tail` (published: the loop's).
 *
 * Owners: the loop owns published, tail and the reader. The job owns committed, pending,
 * tail_derived and the writer between write_begin and publish; it may read the tail, which
 * rests until publish, and publish comes only when no job runs. So nothing is locked.
 */
#ifndef SB_STORE_INNER_H
#define SB_STORE_INNER_H

#include "base/error.h"
#include "store/kv.h"
#include "store/store.h"
#include "store/tail.h"

#define SB_DERIVE_AFTER 1024

struct sb_row_walk
{
    struct sb_kv_cursor *cursor;
    uint64_t thread, version;
    struct sb_pos pos;
    enum sb_direction dir;
    enum
    {
        SB_WALK_NONE,
        SB_WALK_SOUGHT,  /* the next step seeks from pos */
        SB_WALK_PLACED,  /* the cursor stands on the last row */
        SB_WALK_FINISHED /* there is no further row */
    } state;
};

struct sb_store_txn
{
    struct sb_txn head;
    struct sb_kv_txn *kv; /* NULL: not begun */
    bool write;
    struct sb_row_walk walk;
    /* of a write */
    int err; /* sticky: the first error of a put; the commit gives it back */
    bool over_quota;
    bool dirty;  /* something was put: else there is nothing to commit */
    bool derive; /* at commit, however few rows wait */
    struct sb_state state;
    size_t mark_rows, mark_nonces; /* of pending, at begin */
};

struct sb_store_inner
{
    struct sb_store head;
    struct sb_kv *kv;
    enum sb_store_mode mode;
    uint64_t quota;
    uint32_t derive_after;
    struct sb_identity identity;
    /* the loop's */
    uint64_t published, horizon;
    struct sb_tail tail;
    struct sb_store_txn reader;
    /* the job's */
    struct sb_state committed;
    struct sb_tail pending;
    bool tail_derived; /* the tail's entries are written: publish empties it */
    struct sb_store_txn writer;
    uint8_t *scratch; /* a copy of the row that goes to the past */
    size_t scratch_cap;
};

static inline struct sb_store_inner *
sb_inner(const struct sb_txn *t)
{
    return (struct sb_store_inner *)t->store;
}

/* engine.c: takes the map over, also when it fails. `why` may be NULL. */
int sb_store_start(struct sb_kv *kv, const struct sb_store_options *o, uint64_t quota,
                   struct sb_store **out, struct sb_store_failure *why);
void sb_store_publish(struct sb_store *s);

/* read.c */
int sb_store_read_begin(struct sb_store *s, struct sb_txn **out);
void sb_store_read_end(struct sb_txn *t);
int sb_store_thread_find(struct sb_txn *t, struct sb_bytes tenant, struct sb_bytes name,
                         struct sb_thread *out);
int sb_store_thread_get(struct sb_txn *t, uint64_t thread, struct sb_thread *out);
int sb_store_member_get(struct sb_txn *t, uint64_t thread, struct sb_bytes user,
                        struct sb_member *out);
int sb_store_member_next(struct sb_txn *t, uint64_t thread, struct sb_bytes user,
                         struct sb_bytes *user_out, struct sb_member *out);
int sb_store_membership_next(struct sb_txn *t, struct sb_bytes tenant, struct sb_bytes user,
                             uint64_t thread, uint64_t *thread_out);
int sb_store_name_next(struct sb_txn *t, struct sb_bytes tenant, struct sb_bytes name,
                       uint64_t *thread_out);
int sb_store_nonce_get(struct sb_txn *t, const struct sb_hash *hash, struct sb_nonce *out);
int sb_store_source_get(struct sb_txn *t, uint64_t thread, const struct sb_hash *id,
                        struct sb_source *out);

/* walk.c */
int sb_store_seq_find(struct sb_txn *t, uint64_t thread, uint64_t seq, struct sb_pos *out);
int sb_store_row_get(struct sb_txn *t, uint64_t thread, struct sb_pos pos, uint64_t version,
                     struct sb_row *out);
int sb_store_row_seek(struct sb_txn *t, uint64_t thread, struct sb_pos pos, enum sb_direction dir,
                      uint64_t version);
int sb_store_row_step(struct sb_txn *t, uint32_t *budget, struct sb_row *out);
int sb_store_posting_next(struct sb_txn *t, uint64_t thread, const struct sb_hash *tag,
                          struct sb_pos pos, enum sb_direction dir, struct sb_pos *out);

/* write.c */
int sb_store_write_begin(struct sb_store *s, struct sb_txn **out);
int sb_store_write_commit(struct sb_txn *t);
void sb_store_write_abort(struct sb_txn *t);
uint64_t sb_store_version_next(struct sb_txn *t);
uint64_t sb_store_change_time(struct sb_txn *t, uint64_t now_ms);
/* A put of this transaction, with its sticky error. */
int sb_store_put(struct sb_store_txn *t, enum sb_table table, const struct sb_key *key, size_t len,
                 unsigned flags, uint8_t **place);
int sb_store_del(struct sb_store_txn *t, enum sb_table table, const struct sb_key *key);
int sb_store_put_state(struct sb_store_txn *t);

/* put.c: the puts of the port */
int sb_store_thread_put(struct sb_txn *t, struct sb_thread *thread);
int sb_store_member_put(struct sb_txn *t, const struct sb_thread *thread, struct sb_bytes user,
                        const struct sb_member *m);
int sb_store_row_insert(struct sb_txn *t, uint64_t thread, const struct sb_row *row);
int sb_store_row_replace(struct sb_txn *t, uint64_t thread, const struct sb_row *row,
                         bool keep_past);
int sb_store_nonce_put(struct sb_txn *t, const struct sb_hash *key, const struct sb_nonce *n);
int sb_store_source_put(struct sb_txn *t, uint64_t thread, const struct sb_hash *id,
                        const struct sb_source *src);
int sb_store_reaction_put(struct sb_txn *t, uint64_t thread, uint64_t seq, struct sb_bytes emoji,
                          struct sb_bytes user, uint64_t version);
int sb_store_change_append(struct sb_txn *t, const struct sb_change *c);

/* derive.c */
/* Writes the derived entries of all rows that wait, the job's own included. */
int sb_store_derive(struct sb_store_txn *t);
/* Adds what the changes above `derived` tell to a tail. */
int sb_store_collect_behind(struct sb_kv_txn *t, uint64_t derived, struct sb_tail *tail);

#endif

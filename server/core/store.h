/*
 * store.h - the port to the store: what the core needs, whoever keeps it.
 *
 * server/store implements it over an ordered key-value map (LMDB, or memory in
 * tests and simulation). The store keeps and finds; it decides nothing: what may be
 * read is core/authz.h's, what may be written core/apply.h's.
 *
 * Versions: every committed change has the next version. Reading at version V: a row
 * with created > V is not there; with changed <= V it is as stored; else the first
 * `past` entry of it that was superseded after V; if none is left, as stored.
 *
 * Threads: one loop thread reads; one job at a time, on any thread, writes between
 * write_begin and write_commit. `publish` runs on the loop thread while no job runs.
 * A read transaction begins and ends inside one turn of the loop; there is at most one.
 *
 * All functions return 0 or an SB_ERR_ code; lookups and steps return SB_ERR_NOT_FOUND
 * for nothing there. A record whose checksum fails gives SB_ERR_CORRUPT.
 * Views that come out are valid until the transaction ends or, inside a write
 * transaction, until its next write.
 */
#ifndef SB_CORE_STORE_H
#define SB_CORE_STORE_H

#include "core/types.h"

struct sb_store;
struct sb_txn;

/* What a change was, in the `changes` feed. Numbers are stored: never renumber. */
enum sb_change_kind
{
    SB_CHANGE_POST = 1,      /* a row at the newest end */
    SB_CHANGE_BACKDATED = 2, /* a row imported below the newest end */
    SB_CHANGE_EDIT = 3,
    SB_CHANGE_DELETE = 4,
    SB_CHANGE_THREAD = 5, /* created or set */
    SB_CHANGE_MEMBER = 6,
    SB_CHANGE_REACTION = 7,
    SB_CHANGE_PURGE = 8,
};

struct sb_change
{
    uint64_t version, thread;
    struct sb_pos pos; /* of the row; SB_POS_MIN where there is none */
    enum sb_change_kind kind;
    uint64_t time_ms; /* commit time, never going back */
    bool has_nonce;   /* a post with a nonce: `nonce` can rebuild the nonces entry */
    struct sb_hash nonce;
    struct sb_bytes payload; /* of reaction and member changes; may be empty */
};

struct sb_nonce
{
    uint64_t seq, at, version;
    uint64_t time_ms; /* of the first post */
};

/* What was imported under one source id. */
struct sb_source
{
    uint64_t seq;
    struct sb_hash digest; /* of the imported fields */
};

struct sb_store_stats
{
    uint64_t published;  /* last version that readers may see */
    uint64_t epoch;      /* new at creation and restore */
    uint64_t horizon;    /* a snapshot below it cannot be read any more */
    uint64_t bytes_used; /* last page in use times page size, less the free list */
    uint64_t bytes_quota;
    uint64_t behind; /* rows whose derived entries are not written yet */
};

#define SB_HORIZON_UNKNOWN UINT64_MAX

struct sb_store_ops
{
    /* ---- reading (loop thread) ---- */
    int (*read_begin)(struct sb_store *s, struct sb_txn **out);
    void (*read_end)(struct sb_txn *t);

    /* Threads and members; these also read inside a write transaction. */
    int (*thread_find)(struct sb_txn *t, struct sb_bytes tenant, struct sb_bytes name,
                       struct sb_thread *out);
    int (*thread_get)(struct sb_txn *t, uint64_t thread, struct sb_thread *out);
    int (*member_get)(struct sb_txn *t, uint64_t thread, struct sb_bytes user,
                      struct sb_member *out);
    /* The next member of a thread after `user` (empty: the first), removed ones included. */
    int (*member_next)(struct sb_txn *t, uint64_t thread, struct sb_bytes user,
                       struct sb_bytes *user_out, struct sb_member *out);
    /* The next thread id above `thread` that `user` is or was a member of. */
    int (*membership_next)(struct sb_txn *t, struct sb_bytes tenant, struct sb_bytes user,
                           uint64_t thread, uint64_t *thread_out);
    /* The next thread of a tenant by name, after `name` (empty: the first). */
    int (*name_next)(struct sb_txn *t, struct sb_bytes tenant, struct sb_bytes name,
                     uint64_t *thread_out);

    /* Rows. seq_find also knows rows whose by_seq entry is not written yet. */
    int (*seq_find)(struct sb_txn *t, uint64_t thread, uint64_t seq, struct sb_pos *out);
    /* The row at exactly `pos`, as at version V. NOT_FOUND also if created > V. */
    int (*row_get)(struct sb_txn *t, uint64_t thread, struct sb_pos pos, uint64_t version,
                   struct sb_row *out);
    /*
     * Walks rows in order: seek once (exclusive of `pos`), then step. One walk at a time per
     * transaction; row_get and posting_next do not disturb it. Rows with created > V are
     * skipped inside; a step looks at no more than `budget` rows (decremented by each row
     * looked at) and returns SB_ERR_BUSY when it is used up, with the walk still in place and
     * `out->pos` the last row looked at. After SB_ERR_CORRUPT `out->pos` is set and the walk can go
     * on behind it.
     */
    int (*row_seek)(struct sb_txn *t, uint64_t thread, struct sb_pos pos, enum sb_direction dir,
                    uint64_t version);
    int (*row_step)(struct sb_txn *t, uint32_t *budget, struct sb_row *out);
    /*
     * The nearest position strictly beyond `pos` in direction `dir` that may carry the tag:
     * a posting, or a row of the thread whose postings are not written yet. A candidate only:
     * the row decides.
     */
    int (*posting_next)(struct sb_txn *t, uint64_t thread, const struct sb_hash *tag,
                        struct sb_pos pos, enum sb_direction dir, struct sb_pos *out);

    /* ---- writing (one job at a time, any thread) ---- */
    int (*write_begin)(struct sb_store *s, struct sb_txn **out);
    /* Durable when it returns 0. On any error the transaction is gone and nothing of it is
     * stored, but for SB_ERR_UNKNOWN_OUTCOME: then the process must exit and reopen.
     * SB_ERR_FULL: map, quota or disk full. */
    int (*write_commit)(struct sb_txn *t);
    void (*write_abort)(struct sb_txn *t);
    /* The version that the next change gets; each call takes one. */
    uint64_t (*version_next)(struct sb_txn *t);
    /* max(now, the time of the last change): commit times never go back. */
    uint64_t (*change_time)(struct sb_txn *t, uint64_t now_ms);

    /* Creates when thread->id is 0 (and sets it; SB_ERR_EXISTS: the name is taken), else replaces:
     * its strings are then views of the new record. */
    int (*thread_put)(struct sb_txn *t, struct sb_thread *thread);
    int (*member_put)(struct sb_txn *t, const struct sb_thread *thread, struct sb_bytes user,
                      const struct sb_member *m);
    /* A new row: the message, by_seq and the postings of its tags. created = changed = version. */
    int (*row_insert)(struct sb_txn *t, uint64_t thread, const struct sb_row *row);
    /* Replaces a row: the old one goes to `past` under row->changed (the superseding version);
     * postings of new tags are added. With keep_past false no past entry is made and those
     * that exist are removed (delete, erase). */
    int (*row_replace)(struct sb_txn *t, uint64_t thread, const struct sb_row *row, bool keep_past);
    int (*nonce_get)(struct sb_txn *t, const struct sb_hash *key, struct sb_nonce *out);
    int (*nonce_put)(struct sb_txn *t, const struct sb_hash *key, const struct sb_nonce *n);
    int (*source_get)(struct sb_txn *t, uint64_t thread, const struct sb_hash *key,
                      struct sb_source *out);
    int (*source_put)(struct sb_txn *t, uint64_t thread, const struct sb_hash *key,
                      const struct sb_source *src);
    /* An imported reaction, kept for the overlay. */
    int (*reaction_put)(struct sb_txn *t, uint64_t thread, uint64_t seq, struct sb_bytes emoji,
                        struct sb_bytes user, uint64_t version);
    int (*change_append)(struct sb_txn *t, const struct sb_change *c);

    /* ---- both ---- */
    /* Keyed hash under the store's own key. Any thread. */
    void (*hash)(const struct sb_store *s, struct sb_bytes in, struct sb_hash *out);
    /* Loop thread, no job running: what was committed becomes visible to readers. */
    void (*publish)(struct sb_store *s);
    /* Loop thread. The version readers read at. */
    uint64_t (*published)(const struct sb_store *s);
    void (*stats)(struct sb_store *s, struct sb_store_stats *out);
    /* As the transaction sees it: a snapshot below it cannot be read any more.
     * SB_HORIZON_UNKNOWN: the store cannot tell. */
    uint64_t (*horizon)(struct sb_txn *t);
    /* New at creation and restore; the same while the store is open. */
    uint64_t (*epoch)(const struct sb_store *s);
};

/* The head of every store; implementations embed it first. */
struct sb_store
{
    const struct sb_store_ops *ops;
};

/* The head of every transaction; implementations embed it first. */
struct sb_txn
{
    struct sb_store *store;
};

#endif

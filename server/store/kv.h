/*
 * kv.h - an ordered key-value map with transactions: all that the store asks of a database.
 *
 * kv_lmdb.c keeps it in a file, kv_mem.c in memory. It must not know what a key means.
 *
 * One write transaction at a time, on any thread, begun and ended on the same one; one read
 * transaction at a time, on another or the same. A read sees what was committed when it
 * began. Views are valid until the transaction ends or, in a write transaction, until its
 * next write. A transaction has one cursor per table; it stays in place over writes.
 *
 * Functions return 0 or SB_ERR_: NOT_FOUND; FULL (map or disk); EXISTS; NO_MEMORY; CORRUPT
 * (the database's own structure); IO; UNKNOWN_OUTCOME (commit only).
 */
#ifndef SB_STORE_KV_H
#define SB_STORE_KV_H

#include "store/layout.h"

enum sb_kv_move
{
    SB_KV_SEEK, /* the first key >= the given one */
    SB_KV_NEXT,
    SB_KV_PREV,
    SB_KV_FIRST,
    SB_KV_LAST,
};

enum sb_kv_put
{
    SB_KV_NEW = 1, /* SB_ERR_EXISTS when the key is there */
};

struct sb_kv;
struct sb_kv_txn;
struct sb_kv_cursor;

struct sb_kv_ops
{
    int (*begin)(struct sb_kv *kv, bool write, struct sb_kv_txn **out);
    /* Of a write transaction; it is gone whatever comes back. */
    int (*commit)(struct sb_kv_txn *t);
    /* Ends a read, undoes a write. */
    void (*end)(struct sb_kv_txn *t);
    int (*get)(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key,
               struct sb_bytes *value);
    /* Gives the place of a value of `len` bytes, to be filled before the next call. */
    int (*put)(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key, size_t len,
               unsigned flags, uint8_t **place);
    int (*del)(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key);
    /* The table's cursor in this transaction. */
    int (*cursor)(struct sb_kv_txn *t, enum sb_table table, struct sb_kv_cursor **out);
    /* `key` is the key to seek on the way in, the one found on the way out. After
     * NOT_FOUND the cursor has no place: seek again. */
    int (*move)(struct sb_kv_cursor *c, enum sb_kv_move move, struct sb_bytes *key,
                struct sb_bytes *value);
    /* Entries of a table. */
    int (*count)(struct sb_kv_txn *t, enum sb_table table, uint64_t *out);
    /* Bytes in use as committed. May walk a free list. Any thread. */
    int (*usage)(struct sb_kv *kv, uint64_t *out);
    /* An upper bound of the same, at no cost. */
    uint64_t (*usage_bound)(struct sb_kv *kv);
    /* False after a commit found the disk full, until there is space again: what makes the
     * store grow is to be refused, what shrinks it may use the reserve. The writer's thread. */
    bool (*roomy)(struct sb_kv *kv);
    /* Everything committed is on disk afterwards. */
    int (*sync)(struct sb_kv *kv);
    void (*close)(struct sb_kv *kv);
};

/* The heads that implementations embed first. */
struct sb_kv
{
    const struct sb_kv_ops *ops;
};

struct sb_kv_txn
{
    struct sb_kv *kv;
};

struct sb_kv_cursor
{
    struct sb_kv_txn *txn;
};

static inline int
sb_kv_get(struct sb_kv_txn *t, enum sb_table table, const struct sb_key *key,
          struct sb_bytes *value)
{
    return t->kv->ops->get(t, table, sb_key_view(key), value);
}

static inline int
sb_kv_cursor(struct sb_kv_txn *t, enum sb_table table, struct sb_kv_cursor **out)
{
    return t->kv->ops->cursor(t, table, out);
}

static inline int
sb_kv_move(struct sb_kv_cursor *c, enum sb_kv_move move, struct sb_bytes *key,
           struct sb_bytes *value)
{
    return c->txn->kv->ops->move(c, move, key, value);
}

/* The first key >= `key`. */
int sb_kv_seek(struct sb_kv_cursor *c, const struct sb_key *key, struct sb_bytes *key_out,
               struct sb_bytes *value);
/* The first key > `key`. */
int sb_kv_after(struct sb_kv_cursor *c, const struct sb_key *key, struct sb_bytes *key_out,
                struct sb_bytes *value);
/* The last key < `key`. */
int sb_kv_before(struct sb_kv_cursor *c, const struct sb_key *key, struct sb_bytes *key_out,
                 struct sb_bytes *value);

/* In memory; nothing is kept. NULL when memory is short. */
struct sb_kv *sb_kv_mem_create(void);

#endif

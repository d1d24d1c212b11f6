/*
 * write.c - the write transaction: begin, commit, abort.
 *
 * The first error of a put sticks: the commit then undoes everything and gives it back, so
 * nothing is ever half-done. What a transaction added to `pending` goes with it.
 */
#include "store/inner.h"

int
sb_store_write_begin(struct sb_store *store, struct sb_txn **out)
{
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    struct sb_store_txn *t = &s->writer;
    if (s->mode == SB_STORE_READ || t->kv != NULL)
        return SB_ERR_INTERNAL;
    struct sb_kv_txn *kv;
    int rc = s->kv->ops->begin(s->kv, true, &kv);
    if (rc != 0)
        return rc;
    uint64_t used = s->kv->ops->usage_bound(s->kv);
    if (used > s->quota)
        rc = s->kv->ops->usage(s->kv, &used);
    if (rc != 0)
    {
        s->kv->ops->end(kv);
        return rc;
    }
    t->kv = kv;
    t->walk.state = SB_WALK_NONE;
    t->err = 0;
    t->over_quota = used > s->quota || !s->kv->ops->roomy(s->kv);
    t->dirty = t->derive = false;
    t->state = s->committed;
    t->mark_rows = s->pending.n_rows;
    t->mark_nonces = s->pending.n_nonces;
    *out = &t->head;
    return 0;
}

void
sb_store_write_abort(struct sb_txn *txn)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    t->kv->kv->ops->end(t->kv);
    t->kv = NULL;
    sb_tail_truncate(&sb_inner(txn)->pending, t->mark_rows, t->mark_nonces);
}

int
sb_store_put(struct sb_store_txn *t, enum sb_table table, const struct sb_key *key, size_t len,
             unsigned flags, uint8_t **place)
{
    if (t->err != 0)
        return t->err;
    t->dirty = true;
    int rc = t->kv->kv->ops->put(t->kv, table, sb_key_view(key), len, flags, place);
    if (rc != 0 && rc != SB_ERR_EXISTS)
        t->err = rc;
    return rc;
}

int
sb_store_del(struct sb_store_txn *t, enum sb_table table, const struct sb_key *key)
{
    if (t->err != 0)
        return t->err;
    t->dirty = true;
    int rc = t->kv->kv->ops->del(t->kv, table, sb_key_view(key));
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        t->err = rc;
    return rc;
}

int
sb_store_put_state(struct sb_store_txn *t)
{
    struct sb_key key;
    uint8_t *place;
    sb_key_start(&key);
    sb_key_bytes(&key, SB_LIT("state"));
    int rc = sb_store_put(t, SB_TABLE_META, &key, SB_STATE_LEN, 0, &place);
    if (rc == 0)
        sb_state_encode(&t->state, place);
    return rc;
}

/* How many rows or nonces wait, whichever are more. */
static size_t
waiting(const struct sb_store_inner *s)
{
    size_t rows = s->pending.n_rows, nonces = s->pending.n_nonces;
    if (!s->tail_derived)
    {
        rows += s->tail.n_rows;
        nonces += s->tail.n_nonces;
    }
    return rows > nonces ? rows : nonces;
}

int
sb_store_write_commit(struct sb_txn *txn)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_store_inner *s = sb_inner(txn);
    size_t n = waiting(s);
    bool derive = n != 0 && (s->mode == SB_STORE_BULK || t->derive || n >= s->derive_after);
    int rc = t->err;
    if (rc == 0 && derive)
        rc = sb_store_derive(t);
    if (n == 0)
        t->state.derived = t->state.last_version;
    if (rc == 0 && t->dirty)
        rc = sb_store_put_state(t);
    if (rc != 0 || !t->dirty)
    {
        sb_store_write_abort(txn);
        return rc;
    }
    rc = t->kv->kv->ops->commit(t->kv);
    t->kv = NULL;
    if (rc != 0)
    {
        sb_tail_truncate(&s->pending, t->mark_rows, t->mark_nonces);
        return rc;
    }
    s->committed = t->state;
    if (derive)
    {
        s->tail_derived = true;
        sb_tail_clear(&s->pending);
    }
    return 0;
}

uint64_t
sb_store_version_next(struct sb_txn *txn)
{
    return ++((struct sb_store_txn *)txn)->state.last_version;
}

uint64_t
sb_store_change_time(struct sb_txn *txn, uint64_t now_ms)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    if (now_ms > t->state.last_time)
        t->state.last_time = now_ms;
    return t->state.last_time;
}

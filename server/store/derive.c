/*
 * derive.c - writes by_seq, tags and nonces of the rows that wait, sorted.
 *
 * Everything here can be computed again from rows and changes: after a crash the same code
 * runs over the changes above `derived`. Tags come from the row as it is now; a row that is
 * replaced while it waits has had its older tags written then (put.c).
 */
#include "store/inner.h"

#include <stdlib.h>

struct posting
{
    uint8_t key[SB_TAG_KEY_LEN];
    uint64_t created;
};

struct batch
{
    struct sb_tail_row *rows;
    size_t n_rows;
    struct sb_tail_nonce *nonces;
    size_t n_nonces;
    struct posting *postings;
    size_t n_postings, cap_postings;
};

static int
by_position(const void *a, const void *b)
{
    const struct sb_tail_row *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return sb_pos_cmp(x->pos, y->pos);
}

static int
by_seq(const void *a, const void *b)
{
    const struct sb_tail_row *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->pos.seq > y->pos.seq) - (x->pos.seq < y->pos.seq);
}

static int
by_posting(const void *a, const void *b)
{
    return memcmp(((const struct posting *)a)->key, ((const struct posting *)b)->key,
                  SB_TAG_KEY_LEN);
}

static int
by_nonce(const void *a, const void *b)
{
    return memcmp(&((const struct sb_tail_nonce *)a)->key, &((const struct sb_tail_nonce *)b)->key,
                  sizeof(struct sb_hash));
}

static void
batch_take(struct batch *b, const struct sb_tail *t)
{
    if (t->n_rows != 0)
        memcpy(b->rows + b->n_rows, t->rows, t->n_rows * sizeof(*t->rows));
    b->n_rows += t->n_rows;
    if (t->n_nonces != 0)
        memcpy(b->nonces + b->n_nonces, t->nonces, t->n_nonces * sizeof(*t->nonces));
    b->n_nonces += t->n_nonces;
}

static int
batch_init(struct batch *b, const struct sb_store_inner *s)
{
    const struct sb_tail *tail = s->tail_derived ? NULL : &s->tail;
    size_t rows = s->pending.n_rows + (tail != NULL ? tail->n_rows : 0);
    size_t nonces = s->pending.n_nonces + (tail != NULL ? tail->n_nonces : 0);
    *b = (struct batch){0};
    b->rows = malloc((rows + 1) * sizeof(*b->rows));
    b->nonces = malloc((nonces + 1) * sizeof(*b->nonces));
    if (b->rows == NULL || b->nonces == NULL)
        return SB_ERR_NO_MEMORY;
    if (tail != NULL)
        batch_take(b, tail);
    batch_take(b, &s->pending);
    return 0;
}

static void
batch_finish(struct batch *b)
{
    free(b->rows);
    free(b->nonces);
    free(b->postings);
}

static int
batch_add_postings(struct batch *b, uint64_t thread, const struct sb_row *row)
{
    size_t need = b->n_postings + row->n_tags;
    if (need > b->cap_postings)
    {
        size_t cap = need + need / 2 + 256;
        struct posting *more = realloc(b->postings, cap * sizeof(*more));
        if (more == NULL)
            return SB_ERR_NO_MEMORY;
        b->postings = more;
        b->cap_postings = cap;
    }
    for (uint32_t i = 0; i < row->n_tags; i++)
    {
        struct sb_key key;
        struct posting *p = &b->postings[b->n_postings++];
        sb_key_tag(&key, thread, &row->tags[i], row->pos);
        memcpy(p->key, key.b, sizeof(p->key));
        p->created = row->created;
    }
    return 0;
}

/* Reads the rows for their tags. A damaged one keeps its by_seq entry, one that is not there
 * gets none: check tells both. */
static int
batch_read_rows(struct batch *b, struct sb_store_txn *t)
{
    size_t kept = 0;
    qsort(b->rows, b->n_rows, sizeof(*b->rows), by_position);
    for (size_t i = 0; i < b->n_rows; i++)
    {
        struct sb_key key;
        struct sb_bytes value;
        struct sb_row row = {.pos = b->rows[i].pos};
        sb_key_row(&key, b->rows[i].thread, row.pos);
        int rc = sb_kv_get(t->kv, SB_TABLE_MESSAGES, &key, &value);
        if (rc == SB_ERR_NOT_FOUND)
            continue;
        if (rc == 0)
            rc = sb_row_decode(SB_TABLE_MESSAGES, sb_key_view(&key), value, &row);
        if (rc == 0)
            rc = batch_add_postings(b, b->rows[i].thread, &row);
        if (rc != 0 && rc != SB_ERR_CORRUPT)
            return rc;
        b->rows[kept++] = b->rows[i];
    }
    b->n_rows = kept;
    return 0;
}

static int
put_seqs(struct batch *b, struct sb_store_txn *t)
{
    qsort(b->rows, b->n_rows, sizeof(*b->rows), by_seq);
    for (size_t i = 0; i < b->n_rows; i++)
    {
        struct sb_key key;
        uint8_t *place;
        sb_key_seq(&key, b->rows[i].thread, b->rows[i].pos.seq);
        int rc = sb_store_put(t, SB_TABLE_BY_SEQ, &key, SB_SEQ_LEN, 0, &place);
        if (rc != 0)
            return rc;
        sb_seq_encode(sb_key_view(&key), b->rows[i].pos.at, place);
    }
    return 0;
}

static int
put_postings(struct batch *b, struct sb_store_txn *t)
{
    if (b->n_postings != 0)
        qsort(b->postings, b->n_postings, sizeof(*b->postings), by_posting);
    for (size_t i = 0; i < b->n_postings; i++)
    {
        struct sb_key key;
        uint8_t *place;
        sb_key_start(&key);
        sb_key_bytes(&key, sb_bytes(b->postings[i].key, SB_TAG_KEY_LEN));
        int rc = sb_store_put(t, SB_TABLE_TAGS, &key, 8, SB_KV_NEW, &place);
        if (rc == 0)
            sb_be64(place, b->postings[i].created);
        else if (rc != SB_ERR_EXISTS)
            return rc;
    }
    return 0;
}

static int
put_nonces(struct batch *b, struct sb_store_txn *t)
{
    qsort(b->nonces, b->n_nonces, sizeof(*b->nonces), by_nonce);
    for (size_t i = 0; i < b->n_nonces; i++)
    {
        const struct sb_tail_nonce *n = &b->nonces[i];
        struct sb_key key;
        uint8_t *place;
        sb_key_nonce(&key, &n->key);
        int rc = sb_store_put(t, SB_TABLE_NONCES, &key, SB_NONCE_LEN, 0, &place);
        if (rc != 0)
            return rc;
        sb_nonce_encode(&n->nonce, place);
        sb_key_nonce_day(&key, n->nonce.time_ms, &n->key);
        rc = sb_store_put(t, SB_TABLE_NONCES, &key, 0, 0, &place);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int
sb_store_derive(struct sb_store_txn *t)
{
    struct batch b;
    int rc = batch_init(&b, sb_inner(&t->head));
    if (rc == 0)
        rc = batch_read_rows(&b, t);
    if (rc == 0)
        rc = put_seqs(&b, t);
    if (rc == 0)
        rc = put_postings(&b, t);
    if (rc == 0)
        rc = put_nonces(&b, t);
    batch_finish(&b);
    if (rc == 0)
    {
        t->state.derived = t->state.last_version;
        t->dirty = true;
    }
    return rc;
}

int
sb_store_collect_behind(struct sb_kv_txn *t, uint64_t derived, struct sb_tail *tail)
{
    struct sb_kv_cursor *c;
    struct sb_key from;
    struct sb_bytes key, value;
    int rc = sb_kv_cursor(t, SB_TABLE_CHANGES, &c);
    if (rc != 0)
        return rc;
    sb_key_change(&from, derived);
    rc = sb_kv_after(c, &from, &key, &value);
    for (; rc == 0; rc = sb_kv_move(c, SB_KV_NEXT, &key, &value))
    {
        struct sb_change change;
        if (key.len != 9 || key.data[0] != SB_KEY_FORM_1)
            return 0;
        rc = sb_change_decode(key, value, &change);
        if (rc != 0)
            return rc;
        if (change.kind != SB_CHANGE_POST && change.kind != SB_CHANGE_BACKDATED)
            continue;
        rc = sb_tail_add_row(tail, change.thread, change.pos, change.version);
        if (rc == 0 && change.has_nonce)
        {
            rc = sb_tail_add_nonce(tail, &change.nonce,
                                   &(struct sb_nonce){.seq = change.pos.seq,
                                                      .at = change.pos.at,
                                                      .version = change.version,
                                                      .time_ms = change.time_ms});
        }
        if (rc != 0)
            return rc;
    }
    return rc == SB_ERR_NOT_FOUND ? 0 : rc;
}

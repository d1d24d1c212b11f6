/*
 * engine.c - a store over a map: creates or loads it, publishes, settles, closes.
 *
 * It must not know which map it is.
 */
#include "store/inner.h"

#include <stdio.h>
#include <stdlib.h>

static void
explain(struct sb_store_failure *why, const char *text)
{
    if (why != NULL)
        snprintf(why->text, sizeof(why->text), "%s", text);
}

static void
store_hash(const struct sb_store *store, struct sb_bytes in, struct sb_hash *out)
{
    sb_layout_hash(((const struct sb_store_inner *)store)->identity.hash_key, in, out);
}

static uint64_t
store_published(const struct sb_store *store)
{
    return ((const struct sb_store_inner *)store)->published;
}

void
sb_store_publish(struct sb_store *store)
{
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    if (s->tail_derived)
        sb_tail_clear(&s->tail);
    s->tail_derived = false;
    sb_tail_take(&s->tail, &s->pending);
    s->published = s->committed.last_version;
    s->horizon = s->committed.horizon;
}

static void
store_stats(struct sb_store *store, struct sb_store_stats *out)
{
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    uint64_t used = s->kv->ops->usage_bound(s->kv);
    (void)s->kv->ops->usage(s->kv, &used); /* or the bound */
    *out = (struct sb_store_stats){
        .published = s->published,
        .epoch = s->identity.epoch,
        .horizon = s->horizon,
        .bytes_used = used,
        .bytes_quota = s->quota,
        .behind = s->tail.n_rows,
    };
}

static void
key_text(struct sb_key *k, struct sb_bytes text)
{
    sb_key_start(k);
    sb_key_bytes(k, text);
}

/* From the transaction itself: what it reads may be newer than what was published. */
static uint64_t
store_horizon(struct sb_txn *txn)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_bytes value;
    struct sb_state state;
    key_text(&key, SB_LIT("state"));
    if (sb_kv_get(t->kv, SB_TABLE_META, &key, &value) != 0 || sb_state_decode(value, &state) != 0)
        return SB_HORIZON_UNKNOWN; /* no snapshot can be vouched for */
    return state.horizon;
}

static uint64_t
store_epoch(const struct sb_store *store)
{
    return ((const struct sb_store_inner *)store)->identity.epoch;
}

static const struct sb_store_ops store_ops = {
    .read_begin = sb_store_read_begin,
    .read_end = sb_store_read_end,
    .thread_find = sb_store_thread_find,
    .thread_get = sb_store_thread_get,
    .member_get = sb_store_member_get,
    .member_next = sb_store_member_next,
    .membership_next = sb_store_membership_next,
    .name_next = sb_store_name_next,
    .seq_find = sb_store_seq_find,
    .row_get = sb_store_row_get,
    .row_seek = sb_store_row_seek,
    .row_step = sb_store_row_step,
    .posting_next = sb_store_posting_next,
    .write_begin = sb_store_write_begin,
    .write_commit = sb_store_write_commit,
    .write_abort = sb_store_write_abort,
    .version_next = sb_store_version_next,
    .change_time = sb_store_change_time,
    .thread_put = sb_store_thread_put,
    .member_put = sb_store_member_put,
    .row_insert = sb_store_row_insert,
    .row_replace = sb_store_row_replace,
    .nonce_get = sb_store_nonce_get,
    .nonce_put = sb_store_nonce_put,
    .source_get = sb_store_source_get,
    .source_put = sb_store_source_put,
    .reaction_put = sb_store_reaction_put,
    .change_append = sb_store_change_append,
    .hash = store_hash,
    .publish = sb_store_publish,
    .published = store_published,
    .stats = store_stats,
    .horizon = store_horizon,
    .epoch = store_epoch,
};

/* 0, NOT_FOUND for a map that holds nothing yet, FOREIGN, CORRUPT. */
static int
meta_load(struct sb_store_inner *s, struct sb_kv_txn *t, struct sb_store_failure *why)
{
    struct sb_key key;
    struct sb_bytes value;
    key_text(&key, SB_LIT("format"));
    int rc = sb_kv_get(t, SB_TABLE_META, &key, &value);
    if (rc == SB_ERR_NOT_FOUND)
    {
        uint64_t threads;
        rc = s->kv->ops->count(t, SB_TABLE_THREADS, &threads);
        if (rc != 0 || threads == 0)
            return rc != 0 ? rc : SB_ERR_NOT_FOUND;
        explain(why, "the store has lost its format record: restore it from a backup");
        return SB_ERR_FOREIGN;
    }
    if (rc != 0)
        return rc;
    if (value.len != 9 || memcmp(value.data, SB_LAYOUT_MAGIC, 8) != 0)
    {
        explain(why, "the store's format record is not one of ours");
        return SB_ERR_FOREIGN;
    }
    if (value.data[8] != SB_LAYOUT_FORMAT)
    {
        if (why != NULL)
        {
            snprintf(why->text, sizeof(why->text),
                     "the store has format %u, this program reads format %u: use the %s program",
                     value.data[8], SB_LAYOUT_FORMAT,
                     value.data[8] > SB_LAYOUT_FORMAT ? "newer" : "older");
        }
        return SB_ERR_FOREIGN;
    }
    key_text(&key, SB_LIT("identity"));
    rc = sb_kv_get(t, SB_TABLE_META, &key, &value);
    if (rc == 0)
        rc = sb_identity_decode(value, &s->identity);
    key_text(&key, SB_LIT("state"));
    if (rc == 0)
        rc = sb_kv_get(t, SB_TABLE_META, &key, &value);
    if (rc == 0)
        rc = sb_state_decode(value, &s->committed);
    if (rc == SB_ERR_NOT_FOUND || rc == SB_ERR_CORRUPT)
    {
        explain(why, "the store's identity or state record is damaged: restore it from a backup");
        rc = SB_ERR_FOREIGN;
    }
    return rc;
}

static int
meta_create(struct sb_store_inner *s, const struct sb_store_options *o)
{
    uint8_t low[2] = {0, 0};
    if (o->random != NULL)
    {
        o->random(s->identity.id, sizeof(s->identity.id));
        o->random(s->identity.hash_key, sizeof(s->identity.hash_key));
        o->random(low, sizeof(low));
    }
    s->identity.created_ms = o->now_ms;
    /* Later stores have higher epochs, and a client's double holds it. */
    s->identity.epoch = (o->now_ms << 12 | (sb_get16(low) & 0xfff)) & SB_MAX_SAFE_INT;
    struct sb_txn *txn;
    int rc = sb_store_write_begin(&s->head, &txn);
    if (rc != 0)
        return rc;
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    uint8_t *place;
    t->state = (struct sb_state){.last_time = o->now_ms};
    key_text(&key, SB_LIT("identity"));
    if (sb_store_put(t, SB_TABLE_META, &key, SB_IDENTITY_LEN, 0, &place) == 0)
        sb_identity_encode(&s->identity, place);
    key_text(&key, SB_LIT("format"));
    if (sb_store_put(t, SB_TABLE_META, &key, 9, 0, &place) == 0)
    {
        memcpy(place, SB_LAYOUT_MAGIC, 8);
        place[8] = SB_LAYOUT_FORMAT;
    }
    return sb_store_write_commit(txn);
}

/* Loads the meta records and collects what is behind. */
static int
load(struct sb_store_inner *s, struct sb_store_failure *why)
{
    struct sb_kv_txn *t;
    int rc = s->kv->ops->begin(s->kv, false, &t);
    if (rc != 0)
        return rc;
    rc = meta_load(s, t, why);
    if (rc == 0)
    {
        rc = sb_store_collect_behind(t, s->committed.derived, &s->pending);
        if (rc == SB_ERR_CORRUPT)
            explain(why, "the store's newest changes are damaged: restore it from a backup");
    }
    s->kv->ops->end(t);
    return rc;
}

static int
begin_service(struct sb_store_inner *s, const struct sb_store_options *o,
              struct sb_store_failure *why)
{
    int rc = load(s, why);
    if (rc == SB_ERR_NOT_FOUND)
    {
        if (s->mode == SB_STORE_READ)
        {
            explain(why, "the directory holds no store yet");
            return SB_ERR_FOREIGN;
        }
        rc = meta_create(s, o);
    }
    if (rc != 0)
        return rc;
    if (s->mode != SB_STORE_READ)
        rc = sb_store_settle(&s->head);
    /* On a full disk what is behind stays in memory, so that reading goes on. */
    if (s->mode != SB_STORE_READ && rc != SB_ERR_FULL)
        return rc;
    size_t n = s->pending.n_rows > s->pending.n_nonces ? s->pending.n_rows : s->pending.n_nonces;
    rc = sb_tail_reserve(&s->tail, n + s->derive_after);
    if (rc == 0)
        sb_store_publish(&s->head);
    return rc;
}

int
sb_store_start(struct sb_kv *kv, const struct sb_store_options *o, uint64_t quota,
               struct sb_store **out, struct sb_store_failure *why)
{
    struct sb_store_inner *s = calloc(1, sizeof(*s));
    if (s == NULL)
    {
        kv->ops->close(kv);
        return SB_ERR_NO_MEMORY;
    }
    s->head.ops = &store_ops;
    s->kv = kv;
    s->mode = o->mode;
    s->quota = quota;
    s->derive_after = o->derive_after != 0 ? o->derive_after : SB_DERIVE_AFTER;
    s->reader.head.store = s->writer.head.store = &s->head;
    s->writer.write = true;
    int rc = sb_tail_init(&s->tail, s->derive_after, true);
    if (rc == 0)
        rc = sb_tail_init(&s->pending, 64, false);
    if (rc == 0)
        rc = begin_service(s, o, why);
    if (rc != 0)
    {
        if (why != NULL && why->text[0] == '\0')
            explain(why, rc == SB_ERR_CORRUPT ? "the store is damaged: restore it from a backup"
                                              : sb_error_text(rc));
        sb_store_close(&s->head);
        return rc;
    }
    *out = &s->head;
    return 0;
}

int
sb_store_settle(struct sb_store *store)
{
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    if (s->mode == SB_STORE_READ)
        return 0;
    struct sb_txn *t;
    int rc = sb_store_write_begin(store, &t);
    if (rc != 0)
        return rc;
    ((struct sb_store_txn *)t)->derive = true;
    rc = sb_store_write_commit(t);
    if (rc != 0)
        return rc;
    sb_store_publish(store);
    return s->kv->ops->sync(s->kv);
}

void
sb_store_close(struct sb_store *store)
{
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    if (s == NULL)
        return;
    s->kv->ops->close(s->kv);
    sb_tail_finish(&s->tail);
    sb_tail_finish(&s->pending);
    free(s->scratch);
    free(s);
}

int
sb_store_open_memory(const struct sb_store_options *o, struct sb_store **out)
{
    struct sb_kv *kv = sb_kv_mem_create();
    if (kv == NULL)
        return SB_ERR_NO_MEMORY;
    return sb_store_start(kv, o, o->quota != 0 ? o->quota : UINT64_MAX, out, NULL);
}

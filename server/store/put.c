/*
 * put.c - the puts of the port: threads, members, rows, nonces, sources, changes.
 *
 * It must not decide what may be written; past the quota it refuses what makes the store
 * grow, so that deleting still works.
 */
#include "store/inner.h"

#include <stdlib.h>

/* For puts that make the store grow. */
static int
room(struct sb_store_txn *t)
{
    if (t->err == 0 && t->over_quota)
        t->err = SB_ERR_FULL;
    return t->err;
}

static int
put_u64(struct sb_store_txn *t, enum sb_table table, const struct sb_key *key, unsigned flags,
        uint64_t v)
{
    uint8_t *place;
    int rc = sb_store_put(t, table, key, 8, flags, &place);
    if (rc == 0)
        sb_be64(place, v);
    return rc;
}

static int
thread_name(struct sb_store_txn *t, const struct sb_thread *thread, uint64_t id)
{
    struct sb_hash hash;
    struct sb_key key;
    sb_layout_hash2(sb_inner(&t->head)->identity.hash_key, thread->tenant, thread->name, &hash);
    sb_key_name_hash(&key, &hash);
    int rc = put_u64(t, SB_TABLE_NAMES, &key, SB_KV_NEW, id);
    if (rc == 0)
        rc = sb_key_name(&key, thread->tenant, thread->name);
    if (rc == 0)
        rc = put_u64(t, SB_TABLE_NAMES, &key, 0, id);
    return rc;
}

int
sb_store_thread_put(struct sb_txn *txn, struct sb_thread *thread)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_thread record = *thread;
    struct sb_thread_extra extra = {0};
    struct sb_key key;
    int rc = t->err;
    if (rc != 0)
        return rc;
    if (thread->tenant.len > SB_MAX_NAME || thread->name.len > SB_MAX_NAME ||
        thread->title.len > SB_MAX_TITLE)
        return SB_ERR_TOO_LARGE;
    if (thread->id == 0)
    {
        record.id = t->state.last_thread + 1;
        rc = room(t);
        if (rc == 0)
            rc = thread_name(t, thread, record.id);
        sb_key_thread(&key, record.id);
    }
    else
    {
        struct sb_thread old;
        struct sb_bytes value;
        sb_key_thread(&key, record.id);
        rc = sb_kv_get(t->kv, SB_TABLE_THREADS, &key, &value);
        if (rc == 0)
            rc = sb_thread_decode(sb_key_view(&key), value, &old, &extra);
    }
    if (rc != 0)
        return rc;
    /* By way of the stack: the strings may be views of the record that is replaced. */
    uint8_t encoded[SB_THREAD_MAX], *place;
    size_t len = sb_thread_encode(sb_key_view(&key), &record, &extra, encoded);
    rc = sb_store_put(t, SB_TABLE_THREADS, &key, len, 0, &place);
    if (rc != 0)
        return rc;
    memcpy(place, encoded, len);
    if (thread->id == 0)
    {
        thread->id = t->state.last_thread = record.id;
        return 0;
    }
    /* What the caller holds may have been views of the record that is gone. */
    place += SB_THREAD_HEAD;
    thread->tenant.data = place;
    thread->name.data = place + thread->tenant.len;
    thread->title.data = place + thread->tenant.len + thread->name.len;
    return 0;
}

int
sb_store_member_put(struct sb_txn *txn, const struct sb_thread *thread, struct sb_bytes user,
                    const struct sb_member *m)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key, reverse;
    struct sb_hash hash;
    uint8_t *place;
    int rc = sb_key_member(&key, thread->id, user);
    if (rc != 0)
        return rc;
    sb_layout_hash2(sb_inner(txn)->identity.hash_key, thread->tenant, user, &hash);
    sb_key_reverse(&reverse, &hash, thread->id);
    rc = sb_store_put(t, SB_TABLE_MEMBERS, &key, SB_MEMBER_LEN, 0, &place);
    if (rc != 0)
        return rc;
    sb_member_encode(sb_key_view(&key), m, place);
    rc = sb_store_put(t, SB_TABLE_MEMBERS, &reverse, 0, SB_KV_NEW, &place);
    return rc == SB_ERR_EXISTS ? 0 : rc;
}

static int
row_put(struct sb_store_txn *t, const struct sb_key *key, const struct sb_row *row, unsigned flags)
{
    uint8_t *place;
    if (row->body.len > UINT32_MAX || row->n_tags > SB_ROW_MAX_TAGS)
        return t->err = SB_ERR_TOO_LARGE;
    int rc = sb_store_put(t, SB_TABLE_MESSAGES, key, sb_row_size(row), flags, &place);
    if (rc == 0)
        sb_row_encode(SB_TABLE_MESSAGES, sb_key_view(key), row, place);
    return rc;
}

int
sb_store_row_insert(struct sb_txn *txn, uint64_t thread, const struct sb_row *row)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    int rc = room(t);
    if (rc != 0)
        return rc;
    sb_key_row(&key, thread, row->pos);
    rc = row_put(t, &key, row, SB_KV_NEW);
    if (rc == 0)
        rc = t->err = sb_tail_add_row(&sb_inner(txn)->pending, thread, row->pos, row->created);
    return rc;
}

/* Copies the row as it is into the store's scratch and decodes it there. */
static int
old_row(struct sb_store_txn *t, const struct sb_key *key, struct sb_bytes *value,
        struct sb_row *out)
{
    struct sb_store_inner *s = sb_inner(&t->head);
    int rc = sb_kv_get(t->kv, SB_TABLE_MESSAGES, key, value);
    if (rc != 0)
        return rc;
    if (value->len > s->scratch_cap)
    {
        uint8_t *more = realloc(s->scratch, value->len);
        if (more == NULL)
            return SB_ERR_NO_MEMORY;
        s->scratch = more;
        s->scratch_cap = value->len;
    }
    if (value->len != 0)
        memcpy(s->scratch, value->data, value->len);
    value->data = s->scratch;
    return sb_row_decode(SB_TABLE_MESSAGES, sb_key_view(key), *value, out);
}

static int
past_put(struct sb_store_txn *t, uint64_t thread, const struct sb_row *row, struct sb_bytes old)
{
    struct sb_key key;
    uint8_t *place;
    int rc = room(t);
    if (rc != 0)
        return rc;
    sb_key_past(&key, thread, row->pos, row->changed);
    rc = sb_store_put(t, SB_TABLE_PAST, &key, old.len, 0, &place);
    if (rc != 0)
        return rc;
    memcpy(place, old.data, old.len);
    sb_layout_seal(SB_TABLE_PAST, sb_key_view(&key), place, old.len);
    return 0;
}

/* Removes a row's whole past: a collected key at a time, never under the cursor. */
static int
past_remove(struct sb_store_txn *t, uint64_t thread, struct sb_pos pos)
{
    struct sb_kv_cursor *c;
    struct sb_key from, found;
    int rc = sb_kv_cursor(t->kv, SB_TABLE_PAST, &c);
    sb_key_past(&from, thread, pos, 0);
    while (rc == 0)
    {
        struct sb_bytes key, value;
        rc = sb_kv_seek(c, &from, &key, &value);
        if (rc != 0 || key.len != SB_PAST_KEY_LEN || memcmp(key.data, from.b, SB_ROW_KEY_LEN) != 0)
            break;
        sb_key_start(&found);
        sb_key_bytes(&found, key);
        rc = sb_store_del(t, SB_TABLE_PAST, &found);
    }
    return rc == SB_ERR_NOT_FOUND ? 0 : rc;
}

static bool
has_tag(const struct sb_row *row, const struct sb_hash *tag)
{
    for (uint32_t i = 0; i < row->n_tags; i++)
        if (memcmp(&row->tags[i], tag, sizeof(*tag)) == 0)
            return true;
    return false;
}

/* Postings of the row's tags that `but` has not; NULL: all. */
static int
postings_put(struct sb_store_txn *t, uint64_t thread, const struct sb_row *row,
             const struct sb_row *but)
{
    struct sb_key key;
    int rc = 0;
    for (uint32_t i = 0; i < row->n_tags && rc == 0; i++)
    {
        if (but != NULL && has_tag(but, &row->tags[i]))
            continue;
        sb_key_tag(&key, thread, &row->tags[i], row->pos);
        rc = put_u64(t, SB_TABLE_TAGS, &key, SB_KV_NEW, row->created);
        if (rc == SB_ERR_EXISTS)
            rc = 0;
    }
    return rc;
}

int
sb_store_row_replace(struct sb_txn *txn, uint64_t thread, const struct sb_row *row, bool keep_past)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_bytes value;
    struct sb_row old = {.pos = row->pos};
    if (t->err != 0)
        return t->err;
    sb_key_row(&key, thread, row->pos);
    int rc = old_row(t, &key, &value, &old);
    if (rc != 0)
        return rc;
    rc = keep_past ? past_put(t, thread, row, value) : past_remove(t, thread, row->pos);
    if (rc == 0)
        rc = row_put(t, &key, row, 0);
    /* The tags of a row that still waits are written when its turn comes, from the row as it
     * is then: those of before must be written now. */
    if (rc == 0 && old.created > t->state.derived)
        rc = postings_put(t, thread, &old, NULL);
    if (rc == 0)
        rc = postings_put(t, thread, row, &old);
    return rc;
}

int
sb_store_nonce_put(struct sb_txn *txn, const struct sb_hash *key, const struct sb_nonce *n)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    if (t->err == 0)
        t->err = sb_tail_add_nonce(&sb_inner(txn)->pending, key, n);
    return t->err;
}

int
sb_store_source_put(struct sb_txn *txn, uint64_t thread, const struct sb_hash *id,
                    const struct sb_source *src)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    uint8_t *place;
    sb_key_source(&key, thread, id);
    int rc = sb_store_put(t, SB_TABLE_SOURCES, &key, SB_SOURCE_LEN, 0, &place);
    if (rc != 0)
        return rc;
    sb_be64(place, src->seq);
    memcpy(place + 8, src->digest.b, sizeof(src->digest));
    return 0;
}

int
sb_store_reaction_put(struct sb_txn *txn, uint64_t thread, uint64_t seq, struct sb_bytes emoji,
                      struct sb_bytes user, uint64_t version)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    const uint8_t *hash_key = sb_inner(txn)->identity.hash_key;
    struct sb_hash emoji_hash, user_hash;
    struct sb_key key;
    uint8_t *place;
    if (emoji.len > UINT8_MAX || user.len > SB_MAX_NAME)
        return SB_ERR_TOO_LARGE;
    int rc = room(t);
    if (rc != 0)
        return rc;
    sb_layout_hash(hash_key, emoji, &emoji_hash);
    sb_layout_hash(hash_key, user, &user_hash);
    sb_key_reaction(&key, thread, seq, &emoji_hash, &user_hash);
    rc = sb_store_put(t, SB_TABLE_REACTIONS, &key, 9 + emoji.len + user.len, 0, &place);
    if (rc != 0)
        return rc;
    sb_be64(place, version);
    place[8] = (uint8_t)emoji.len;
    if (emoji.len != 0)
        memcpy(place + 9, emoji.data, emoji.len);
    if (user.len != 0)
        memcpy(place + 9 + emoji.len, user.data, user.len);
    return 0;
}

int
sb_store_change_append(struct sb_txn *txn, const struct sb_change *c)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    uint8_t *place;
    sb_key_change(&key, c->version);
    int rc = sb_store_put(t, SB_TABLE_CHANGES, &key, sb_change_size(c), 0, &place);
    if (rc != 0)
        return rc;
    sb_change_encode(c, place);
    if (c->kind == SB_CHANGE_POST)
        return 0;
    sb_key_thread_change(&key, c->thread, c->version);
    rc = sb_store_put(t, SB_TABLE_CHANGES, &key, SB_THREAD_CHANGE_LEN, 0, &place);
    if (rc != 0)
        return rc;
    place[0] = (uint8_t)c->kind;
    sb_be64(place + 1, c->pos.at);
    sb_be64(place + 9, c->pos.seq);
    return 0;
}

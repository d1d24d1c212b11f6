/*
 * read.c - threads, members, names, nonces, sources: lookups that read or write
 * transactions make.
 *
 * A read transaction may see what was committed but not published: a thread or member that
 * only an unpublished version made is hidden; it must not know more about rights.
 */
#include "store/inner.h"

int
sb_store_read_begin(struct sb_store *store, struct sb_txn **out)
{
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    struct sb_store_txn *t = &s->reader;
    if (t->kv != NULL)
        return SB_ERR_INTERNAL;
    int rc = s->kv->ops->begin(s->kv, false, &t->kv);
    if (rc != 0)
    {
        t->kv = NULL;
        return rc;
    }
    t->walk.state = SB_WALK_NONE;
    *out = &t->head;
    return 0;
}

void
sb_store_read_end(struct sb_txn *txn)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    t->kv->kv->ops->end(t->kv);
    t->kv = NULL;
}

/* Versions above this are not there yet for the transaction. */
static uint64_t
visible(const struct sb_store_txn *t)
{
    return t->write ? UINT64_MAX : sb_inner(&t->head)->published;
}

int
sb_store_thread_get(struct sb_txn *txn, uint64_t thread, struct sb_thread *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_bytes value;
    struct sb_thread found;
    sb_key_thread(&key, thread);
    int rc = sb_kv_get(t->kv, SB_TABLE_THREADS, &key, &value);
    if (rc == 0)
        rc = sb_thread_decode(sb_key_view(&key), value, &found, NULL);
    if (rc == 0 && found.created > visible(t))
        rc = SB_ERR_NOT_FOUND;
    if (rc == 0)
        *out = found;
    return rc;
}

int
sb_store_thread_find(struct sb_txn *txn, struct sb_bytes tenant, struct sb_bytes name,
                     struct sb_thread *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_hash hash;
    struct sb_bytes value;
    struct sb_thread found;
    if (tenant.len > SB_MAX_NAME || name.len > SB_MAX_NAME)
        return SB_ERR_NOT_FOUND;
    sb_layout_hash2(sb_inner(txn)->identity.hash_key, tenant, name, &hash);
    sb_key_name_hash(&key, &hash);
    int rc = sb_kv_get(t->kv, SB_TABLE_NAMES, &key, &value);
    if (rc != 0)
        return rc;
    if (value.len != 8)
        return SB_ERR_CORRUPT;
    rc = sb_store_thread_get(txn, sb_get64(value.data), &found);
    if (rc != 0)
        return rc;
    if (!sb_bytes_eq(found.tenant, tenant) || !sb_bytes_eq(found.name, name))
        return SB_ERR_CORRUPT;
    *out = found;
    return 0;
}

int
sb_store_member_get(struct sb_txn *txn, uint64_t thread, struct sb_bytes user,
                    struct sb_member *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_bytes value;
    struct sb_member found;
    if (sb_key_member(&key, thread, user) != 0)
        return SB_ERR_NOT_FOUND;
    int rc = sb_kv_get(t->kv, SB_TABLE_MEMBERS, &key, &value);
    if (rc == 0)
        rc = sb_member_decode(sb_key_view(&key), value, &found);
    if (rc == 0 && found.join_version > visible(t))
        rc = SB_ERR_NOT_FOUND;
    if (rc == 0)
        *out = found;
    return rc;
}

int
sb_store_member_next(struct sb_txn *txn, uint64_t thread, struct sb_bytes user,
                     struct sb_bytes *user_out, struct sb_member *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_kv_cursor *c;
    struct sb_key key;
    struct sb_bytes k, value;
    struct sb_member found;
    int rc = sb_key_member(&key, thread, user);
    if (rc == 0)
        rc = sb_kv_cursor(t->kv, SB_TABLE_MEMBERS, &c);
    if (rc == 0)
        rc = sb_kv_after(c, &key, &k, &value);
    for (; rc == 0; rc = sb_kv_move(c, SB_KV_NEXT, &k, &value))
    {
        if (k.len <= 9 || memcmp(k.data, key.b, 9) != 0)
            return SB_ERR_NOT_FOUND;
        rc = sb_member_decode(k, value, &found);
        if (rc == 0 && found.join_version > visible(t))
            continue;
        *user_out = sb_bytes(k.data + 9, k.len - 9);
        if (rc == 0)
            *out = found;
        return rc;
    }
    return rc;
}

int
sb_store_membership_next(struct sb_txn *txn, struct sb_bytes tenant, struct sb_bytes user,
                         uint64_t thread, uint64_t *thread_out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_kv_cursor *c;
    struct sb_key key;
    struct sb_hash hash;
    struct sb_bytes k, value;
    sb_layout_hash2(sb_inner(txn)->identity.hash_key, tenant, user, &hash);
    sb_key_reverse(&key, &hash, thread);
    int rc = sb_kv_cursor(t->kv, SB_TABLE_MEMBERS, &c);
    if (rc == 0)
        rc = sb_kv_after(c, &key, &k, &value);
    if (rc != 0)
        return rc;
    if (k.len != key.len || memcmp(k.data, key.b, 17) != 0)
        return SB_ERR_NOT_FOUND;
    *thread_out = sb_get64(k.data + 17);
    return 0;
}

int
sb_store_name_next(struct sb_txn *txn, struct sb_bytes tenant, struct sb_bytes name,
                   uint64_t *thread_out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_kv_cursor *c;
    struct sb_key key;
    struct sb_bytes k, value;
    struct sb_thread found;
    int rc = sb_key_name(&key, tenant, name);
    if (rc == 0)
        rc = sb_kv_cursor(t->kv, SB_TABLE_NAMES, &c);
    if (rc == 0)
        rc = sb_kv_after(c, &key, &k, &value);
    size_t prefix = 1 + tenant.len + 1;
    for (; rc == 0; rc = sb_kv_move(c, SB_KV_NEXT, &k, &value))
    {
        if (k.len <= prefix || memcmp(k.data, key.b, prefix) != 0)
            return SB_ERR_NOT_FOUND;
        if (value.len != 8)
            return SB_ERR_CORRUPT;
        /* One that is not there yet is passed over here: a caller could not name it to go on. */
        if (sb_store_thread_get(txn, sb_get64(value.data), &found) == SB_ERR_NOT_FOUND)
            continue;
        *thread_out = sb_get64(value.data);
        return 0;
    }
    return rc;
}

int
sb_store_nonce_get(struct sb_txn *txn, const struct sb_hash *hash, struct sb_nonce *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_store_inner *s = sb_inner(txn);
    if (t->write && sb_tail_find_nonce(&s->pending, hash, out))
        return 0;
    if ((!t->write || !s->tail_derived) && sb_tail_find_nonce(&s->tail, hash, out))
        return 0;
    struct sb_key key;
    struct sb_bytes value;
    sb_key_nonce(&key, hash);
    int rc = sb_kv_get(t->kv, SB_TABLE_NONCES, &key, &value);
    return rc == 0 ? sb_nonce_decode(value, out) : rc;
}

int
sb_store_source_get(struct sb_txn *txn, uint64_t thread, const struct sb_hash *id,
                    struct sb_source *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_bytes value;
    sb_key_source(&key, thread, id);
    int rc = sb_kv_get(t->kv, SB_TABLE_SOURCES, &key, &value);
    if (rc != 0)
        return rc;
    if (value.len != SB_SOURCE_LEN)
        return SB_ERR_CORRUPT;
    out->seq = sb_get64(value.data);
    memcpy(out->digest.b, value.data + 8, sizeof(out->digest));
    return 0;
}

/*
 * walk.c - rows: by seq, by position, in order, and by tag, each as at a version.
 *
 * It must not know who may read a row. A row whose checksum fails is never given out; a walk
 * goes on behind it.
 */
#include "store/inner.h"

int
sb_store_seq_find(struct sb_txn *txn, uint64_t thread, uint64_t seq, struct sb_pos *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_store_inner *s = sb_inner(txn);
    bool waits = t->write && sb_tail_find_seq(&s->pending, thread, seq, out);
    if (!waits && (!t->write || !s->tail_derived))
        waits = sb_tail_find_seq(&s->tail, thread, seq, out);
    /* The table is asked and an entry verified, whether the row waits, is there or is not: the
     * work does not tell whether it exists. */
    static const uint8_t nothing[SB_SEQ_LEN];
    struct sb_key key;
    struct sb_bytes value = sb_bytes(nothing, sizeof(nothing));
    uint64_t at = 0;
    sb_key_seq(&key, thread, seq);
    int rc = sb_kv_get(t->kv, SB_TABLE_BY_SEQ, &key, &value);
    int damaged = sb_seq_decode(sb_key_view(&key), value, &at);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    if (waits)
        return 0;
    if (rc == 0)
        rc = damaged;
    if (rc == 0)
        *out = (struct sb_pos){at, seq};
    return rc;
}

/*
 * The state at `version` of a row that was changed after it: the first entry of its past that
 * was superseded later. None is left when the row was deleted or erased: then as it is now.
 */
static int
row_at_version(struct sb_store_txn *t, uint64_t thread, uint64_t version, struct sb_row *row)
{
    struct sb_kv_cursor *c;
    struct sb_key key;
    struct sb_bytes k, value;
    int rc = sb_kv_cursor(t->kv, SB_TABLE_PAST, &c);
    if (rc != 0)
        return rc;
    sb_key_past(&key, thread, row->pos, version);
    rc = sb_kv_after(c, &key, &k, &value);
    if (rc == SB_ERR_NOT_FOUND)
        return 0;
    if (rc != 0)
        return rc;
    if (k.len != SB_PAST_KEY_LEN || memcmp(k.data, key.b, SB_ROW_KEY_LEN) != 0)
        return 0;
    return sb_row_decode(SB_TABLE_PAST, k, value, row);
}

static int
row_read(struct sb_store_txn *t, uint64_t thread, struct sb_bytes key, struct sb_bytes value,
         uint64_t version, struct sb_row *out)
{
    int rc = sb_row_decode(SB_TABLE_MESSAGES, key, value, out);
    if (rc != 0)
        return rc;
    if (out->created > version)
        return SB_ERR_NOT_FOUND;
    if (out->changed > version)
        return row_at_version(t, thread, version, out);
    return 0;
}

int
sb_store_row_get(struct sb_txn *txn, uint64_t thread, struct sb_pos pos, uint64_t version,
                 struct sb_row *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_key key;
    struct sb_bytes value;
    struct sb_row row = {.pos = pos};
    sb_key_row(&key, thread, pos);
    int rc = sb_kv_get(t->kv, SB_TABLE_MESSAGES, &key, &value);
    if (rc == 0)
        rc = row_read(t, thread, sb_key_view(&key), value, version, &row);
    if (rc == 0)
        *out = row;
    return rc;
}

int
sb_store_row_seek(struct sb_txn *txn, uint64_t thread, struct sb_pos pos, enum sb_direction dir,
                  uint64_t version)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    t->walk = (struct sb_row_walk){
        .thread = thread, .version = version, .pos = pos, .dir = dir, .state = SB_WALK_SOUGHT};
    return sb_kv_cursor(t->kv, SB_TABLE_MESSAGES, &t->walk.cursor);
}

static int
walk_move(struct sb_row_walk *w, struct sb_bytes *key, struct sb_bytes *value)
{
    if (w->state == SB_WALK_PLACED)
        return sb_kv_move(w->cursor, w->dir == SB_OLDER ? SB_KV_PREV : SB_KV_NEXT, key, value);
    struct sb_key from;
    sb_key_row(&from, w->thread, w->pos);
    if (w->dir == SB_OLDER)
        return sb_kv_before(w->cursor, &from, key, value);
    return sb_kv_after(w->cursor, &from, key, value);
}

int
sb_store_row_step(struct sb_txn *txn, uint32_t *budget, struct sb_row *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_row_walk *w = &t->walk;
    if (w->state == SB_WALK_NONE)
        return SB_ERR_INTERNAL;
    while (w->state != SB_WALK_FINISHED)
    {
        struct sb_bytes key, value;
        if (*budget == 0)
        {
            out->pos = w->pos;
            return SB_ERR_BUSY;
        }
        int rc = walk_move(w, &key, &value);
        if (rc == SB_ERR_NOT_FOUND)
            break;
        if (rc != 0)
        {
            w->state = SB_WALK_SOUGHT; /* from the last row that was read */
            return rc;
        }
        if (key.len != SB_ROW_KEY_LEN || sb_get64(key.data) != w->thread)
            break;
        (*budget)--;
        w->state = SB_WALK_PLACED;
        out->pos = w->pos = sb_pos_at(key.data + 8);
        rc = row_read(t, w->thread, key, value, w->version, out);
        if (rc != SB_ERR_NOT_FOUND)
            return rc;
    }
    w->state = SB_WALK_FINISHED;
    return SB_ERR_NOT_FOUND;
}

/* The nearer of two candidates in the walk's direction. */
static void
take_nearer(struct sb_pos pos, enum sb_direction dir, bool *found, struct sb_pos *out)
{
    if (!*found || sb_pos_cmp(pos, *out) == (dir == SB_NEWER ? -1 : 1))
        *out = pos;
    *found = true;
}

int
sb_store_posting_next(struct sb_txn *txn, uint64_t thread, const struct sb_hash *tag,
                      struct sb_pos pos, enum sb_direction dir, struct sb_pos *out)
{
    struct sb_store_txn *t = (struct sb_store_txn *)txn;
    struct sb_store_inner *s = sb_inner(txn);
    struct sb_kv_cursor *c;
    struct sb_key from;
    struct sb_bytes key, value;
    struct sb_pos nearest, waiting;
    bool found = false;
    sb_key_tag(&from, thread, tag, pos);
    int rc = sb_kv_cursor(t->kv, SB_TABLE_TAGS, &c);
    if (rc == 0)
        rc = dir == SB_OLDER ? sb_kv_before(c, &from, &key, &value)
                             : sb_kv_after(c, &from, &key, &value);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    if (rc == 0 && key.len == SB_TAG_KEY_LEN && memcmp(key.data, from.b, 24) == 0)
        take_nearer(sb_pos_at(key.data + 24), dir, &found, &nearest);
    if (t->write && sb_tail_near(&s->pending, thread, pos, dir, &waiting))
        take_nearer(waiting, dir, &found, &nearest);
    if ((!t->write || !s->tail_derived) && sb_tail_near(&s->tail, thread, pos, dir, &waiting))
        take_nearer(waiting, dir, &found, &nearest);
    if (!found)
        return SB_ERR_NOT_FOUND;
    *out = nearest;
    return 0;
}

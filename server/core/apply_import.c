/*
 * apply_import.c - imported rows: added once, updated when the source changed.
 *
 * A row is known by hash(system, id) in its thread. What can be updated (text, attachments,
 * mentions, meta, deletion) is remembered as a digest, so that a second run of the same
 * export changes nothing.
 */
#include "core/apply_internal.h"

static int
source_key(struct sb_apply *x, struct sb_bytes system, struct sb_bytes id, struct sb_hash *out)
{
    struct sb_buf *b = &x->applier->body;
    sb_buf_reset(b, SB_BODY_KEEP);
    int rc = sb_buf_append(b, SB_LIT("source:"));
    if (rc == 0)
        rc = sb_buf_append(b, system);
    if (rc == 0)
        rc = sb_buf_append(b, sb_bytes("\0", 1)); /* a system's name holds no NUL */
    if (rc == 0)
        rc = sb_buf_append(b, id);
    if (rc == 0)
        x->ops->hash(x->store, sb_buf_view(b), out);
    return rc;
}

/* Over the fields that a later export may change, and nothing else. */
static int
digest_of(struct sb_apply *x, const struct sb_message *m, struct sb_hash *out)
{
    struct sb_message part = {
        .text = m->text,
        .deleted = m->deleted,
        .n_mentions = m->n_mentions,
        .mentions = m->mentions,
        .n_attachments = m->n_attachments,
        .attachments = m->attachments,
        .meta = m->meta,
    };
    struct sb_bytes body;
    int rc = sb_apply_body(x, &part, &body);
    if (rc == 0)
        x->ops->hash(x->store, body, out);
    return rc;
}

/* ---- thread and author ---- */

static int
find_or_make_thread(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread,
                    bool *is_new)
{
    int rc = x->ops->thread_find(x->txn, r->tenant, r->thread, thread);
    *is_new = rc == SB_ERR_NOT_FOUND;
    if (rc != 0 && !*is_new)
        return rc;
    if (*is_new)
        *thread = (struct sb_thread){.next_seq = 1, .tenant = r->tenant, .name = r->thread};
    sb_apply_hold(x, thread);
    return 0;
}

static int
make_thread(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread)
{
    thread->created = x->ops->version_next(x->txn);
    int rc = x->ops->thread_put(x->txn, thread);
    struct sb_change c = {
        .version = thread->created, .thread = thread->id, .kind = SB_CHANGE_THREAD};
    return rc == 0 ? sb_apply_change(x, r, &c) : rc;
}

/*
 * Authors who never were members become writers; a removed one stays removed. The thread is
 * written with the row: the caller's insert does it.
 */
static int
enter_author(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread)
{
    struct sb_member m;
    struct sb_bytes by = r->import.message.by;
    int rc = x->ops->member_get(x->txn, thread->id, by, &m);
    if (rc != SB_ERR_NOT_FOUND)
        return rc;
    uint64_t version = x->ops->version_next(x->txn);
    m = (struct sb_member){.role = SB_ROLE_WRITER, .join_version = version};
    if (thread->history == SB_HISTORY_SINCE_JOIN)
    {
        /* They join now, not when they wrote: what is imported lies before it. */
        if (r->time_ms > thread->newest_at)
            thread->newest_at = r->time_ms;
        m.join = (struct sb_pos){thread->newest_at, thread->next_seq - 1};
    }
    rc = x->ops->member_put(x->txn, thread, by, &m);
    uint8_t payload[1 + SB_MAX_NAME] = {SB_ROLE_WRITER};
    memcpy(payload + 1, by.data, by.len);
    struct sb_change c = {.version = version,
                          .thread = thread->id,
                          .kind = SB_CHANGE_MEMBER,
                          .payload = sb_bytes(payload, 1 + by.len)};
    return rc == 0 ? sb_apply_change(x, r, &c) : rc;
}

/* ---- a new row ---- */

static int
put_reactions(struct sb_apply *x, const struct sb_record *r, uint64_t thread, uint64_t seq,
              uint64_t version)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->import.n_reactions; i++)
        rc = x->ops->reaction_put(x->txn, thread, seq, r->import.reactions[i].emoji,
                                  r->import.reactions[i].user, version);
    return rc;
}

static int
insert(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread,
       const struct sb_opt_uint *parent, struct sb_result *res)
{
    struct sb_message m = r->import.message;
    struct sb_row row;
    m.seq = thread->next_seq++;
    m.version = x->ops->version_next(x->txn);
    m.reply_to = *parent;
    bool backdated = m.at < thread->newest_at;
    if (!backdated)
        thread->newest_at = m.at;
    int rc = sb_apply_row(x, &m, &row);
    if (rc == 0)
        rc = x->ops->row_insert(x->txn, thread->id, &row);
    if (rc == 0)
        rc = x->ops->thread_put(x->txn, thread);
    if (rc == 0)
        rc = put_reactions(x, r, thread->id, m.seq, m.version);
    struct sb_change c = {.version = m.version,
                          .thread = thread->id,
                          .pos = row.pos,
                          .kind = backdated ? SB_CHANGE_BACKDATED : SB_CHANGE_POST};
    res->seq = m.seq;
    res->at = m.at;
    res->version = m.version;
    res->outcome = SB_IMPORT_ADDED;
    return rc == 0 ? sb_apply_change(x, r, &c) : rc;
}

static int
find_parent(struct sb_apply *x, const struct sb_record *r, const struct sb_thread *thread,
            struct sb_opt_uint *out, bool *missing)
{
    struct sb_hash key;
    struct sb_source src;
    *out = (struct sb_opt_uint){0};
    *missing = false;
    if (r->import.reply_to_id.len == 0 || r->import.message.deleted)
        return 0;
    int rc = source_key(x, r->import.message.source_system, r->import.reply_to_id, &key);
    if (rc == 0 && thread->id != 0)
        rc = x->ops->source_get(x->txn, thread->id, &key, &src);
    else if (rc == 0)
        rc = SB_ERR_NOT_FOUND;
    *missing = rc == SB_ERR_NOT_FOUND;
    if (rc == 0)
        *out = (struct sb_opt_uint){true, src.seq};
    return *missing ? 0 : rc;
}

/* ---- a row that is there already ---- */

/* The stored row and its message, as now. Views hold until the next write. */
static int
stored(struct sb_apply *x, uint64_t thread, uint64_t seq, struct sb_row *row, struct sb_message *m)
{
    struct sb_pos pos;
    int rc = x->ops->seq_find(x->txn, thread, seq, &pos);
    if (rc == 0)
        rc = x->ops->row_get(x->txn, thread, pos, UINT64_MAX, row);
    if (rc == 0 && (row->flags & SB_ROW_DELETED) == 0 &&
        sb_message_decode(x->applier->decoder, row->body, m) != 0)
        rc = SB_ERR_CORRUPT;
    return rc;
}

/* Writes `m` in place of the stored row `old`. */
static int
replace(struct sb_apply *x, const struct sb_record *r, uint64_t thread, const struct sb_row *old,
        struct sb_message *m, struct sb_result *res)
{
    struct sb_row row;
    uint64_t created = old->created;
    m->version = x->ops->version_next(x->txn);
    int rc = sb_apply_row(x, m, &row);
    if (rc != 0)
        return rc;
    x->wrote = true;
    row.created = created;
    /* A deleted text is gone from the store at once; an edit keeps it for older snapshots. */
    rc = x->ops->row_replace(x->txn, thread, &row, !m->deleted);
    struct sb_change c = {.version = m->version,
                          .thread = thread,
                          .pos = row.pos,
                          .kind = m->deleted ? SB_CHANGE_DELETE : SB_CHANGE_EDIT};
    res->seq = m->seq;
    res->at = m->at;
    res->version = m->version;
    res->outcome = SB_IMPORT_UPDATED;
    return rc == 0 ? sb_apply_change(x, r, &c) : rc;
}

static int
update(struct sb_apply *x, const struct sb_record *r, uint64_t thread, const struct sb_hash *key,
       const struct sb_source *src, const struct sb_hash *digest, struct sb_result *res)
{
    const struct sb_message *from = &r->import.message;
    struct sb_row row;
    struct sb_message m;
    res->outcome = SB_IMPORT_UNCHANGED;
    res->seq = src->seq;
    if (memcmp(&src->digest, digest, sizeof(*digest)) == 0)
        return 0;
    int rc = stored(x, thread, src->seq, &row, &m);
    if (rc != 0)
        return rc;
    if ((row.flags & SB_ROW_DELETED) != 0)
        return 0; /* a deleted row stays deleted */
    m.text = from->text;
    m.n_mentions = from->n_mentions;
    m.mentions = from->mentions;
    m.n_attachments = from->n_attachments;
    m.attachments = from->attachments;
    m.meta = from->meta;
    m.deleted = from->deleted;
    if (from->edited_at.set)
        m.edited_at = from->edited_at;
    rc = replace(x, r, thread, &row, &m, res);
    struct sb_source now = {.seq = src->seq, .digest = *digest};
    return rc == 0 ? x->ops->source_put(x->txn, thread, key, &now) : rc;
}

/* ---- the records ---- */

/* A record may come from elsewhere than our own reader: what a row cannot hold is refused. */
static int
check_import(const struct sb_record *r)
{
    const struct sb_message *m = &r->import.message;
    if (!r->service)
        return SB_ERR_FORBIDDEN;
    if (m->by.len == 0 || m->by.len > SB_MAX_NAME)
        return SB_ERR_BAD_NAME;
    if (m->n_mentions > SB_MAX_MENTIONS || m->n_attachments > SB_MAX_ATTACHMENTS ||
        sb_message_size(m) + 64 > SB_BODY_MAX)
        return SB_ERR_TOO_LARGE;
    return 0;
}

int
sb_apply_import(struct sb_apply *x, const struct sb_record *r, struct sb_result *res)
{
    const struct sb_message *m = &r->import.message;
    struct sb_thread thread;
    struct sb_hash key;
    struct sb_hash digest;
    struct sb_source src;
    struct sb_opt_uint parent;
    bool new_thread;
    bool missing;
    int rc = check_import(r);
    if (rc == 0 && m->at > r->time_ms)
    {
        res->outcome = SB_IMPORT_AHEAD;
        return 0;
    }
    if (rc == 0)
        rc = find_or_make_thread(x, r, &thread, &new_thread);
    if (rc == 0)
        rc = source_key(x, m->source_system, m->source_id, &key);
    if (rc == 0)
        rc = digest_of(x, m, &digest);
    if (rc != 0)
        return rc;
    rc = new_thread ? SB_ERR_NOT_FOUND : x->ops->source_get(x->txn, thread.id, &key, &src);
    if (rc == 0)
        return update(x, r, thread.id, &key, &src, &digest, res);
    if (rc == SB_ERR_NOT_FOUND)
        rc = find_parent(x, r, &thread, &parent, &missing);
    if (rc != 0)
        return rc;

    x->wrote = true;
    if (new_thread)
        rc = make_thread(x, r, &thread);
    if (rc == 0)
        rc = enter_author(x, r, &thread);
    if (rc == 0)
        rc = insert(x, r, &thread, &parent, res);
    struct sb_source now = {.seq = res->seq, .digest = digest};
    res->parent_missing = missing;
    return rc == 0 ? x->ops->source_put(x->txn, thread.id, &key, &now) : rc;
}

int
sb_apply_link(struct sb_apply *x, const struct sb_record *r, struct sb_result *res)
{
    struct sb_thread thread;
    struct sb_hash key;
    struct sb_source child;
    struct sb_source parent;
    struct sb_row row;
    struct sb_message m;
    int rc =
        r->service ? x->ops->thread_find(x->txn, r->tenant, r->thread, &thread) : SB_ERR_FORBIDDEN;
    if (rc == 0)
        rc = source_key(x, r->link.system, r->link.child_id, &key);
    if (rc == 0)
        rc = x->ops->source_get(x->txn, thread.id, &key, &child);
    if (rc == 0)
        rc = source_key(x, r->link.system, r->link.parent_id, &key);
    if (rc == 0)
        rc = x->ops->source_get(x->txn, thread.id, &key, &parent);
    if (rc == 0)
        rc = stored(x, thread.id, child.seq, &row, &m);
    if (rc != 0)
        return rc;
    res->outcome = SB_IMPORT_UNCHANGED;
    if ((row.flags & SB_ROW_DELETED) != 0 || m.reply_to.set)
        return 0;
    m.reply_to = (struct sb_opt_uint){true, parent.seq};
    return replace(x, r, thread.id, &row, &m, res);
}

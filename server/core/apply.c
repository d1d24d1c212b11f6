/*
 * apply.c - see apply.h. Posts, threads and members; imported rows are in apply_import.c.
 *
 * The pattern of every record: look, decide, and only then write.
 */
#include "core/apply_internal.h"

#include <stdlib.h>

enum
{
    NONCE_LIFE_MS = 24 * 3600 * 1000,
};

struct sb_applier *
sb_applier_create(void)
{
    struct sb_applier *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    sb_buf_init(&a->body, SB_BODY_MAX);
    a->decoder = sb_decoder_create();
    if (a->decoder == NULL)
    {
        free(a);
        return NULL;
    }
    return a;
}

void
sb_applier_destroy(struct sb_applier *a)
{
    if (a == NULL)
        return;
    sb_decoder_destroy(a->decoder);
    sb_buf_finish(&a->body);
    free(a);
}

/* ---- shared with apply_import.c ---- */

static size_t
hold(uint8_t *to, size_t room, struct sb_bytes *v)
{
    size_t n = v->len < room ? v->len : room;
    if (n != 0)
        memcpy(to, v->data, n);
    *v = sb_bytes(to, n);
    return n;
}

void
sb_apply_hold(struct sb_apply *x, struct sb_thread *thread)
{
    uint8_t *to = x->applier->names;
    to += hold(to, SB_MAX_NAME, &thread->tenant);
    to += hold(to, SB_MAX_NAME, &thread->name);
    hold(to, SB_MAX_TITLE, &thread->title);
}

int
sb_apply_find(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread,
              struct sb_access *access)
{
    struct sb_member m;
    int rc = x->ops->thread_find(x->txn, r->tenant, r->thread, thread);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    bool missing = rc == SB_ERR_NOT_FOUND;
    if (missing)
    {
        rc = x->ops->thread_get(x->txn, SB_THREAD_STAND_IN, thread);
        if (!sb_authz_stood_in(rc))
            return rc;
        *thread = (struct sb_thread){.access = SB_ACCESS_MEMBERS};
    }
    sb_apply_hold(x, thread);
    rc = x->ops->member_get(x->txn, thread->id, r->user, &m);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    int allowed = sb_authz_thread(r->service, thread, rc == 0 ? &m : NULL, access);
    return missing ? SB_ERR_FORBIDDEN : allowed;
}

int
sb_apply_body(struct sb_apply *x, const struct sb_message *m, struct sb_bytes *out)
{
    struct sb_applier *a = x->applier;
    struct sb_writer w;
    sb_buf_reset(&a->body, SB_BODY_KEEP);
    size_t size = sb_message_size(m);
    int rc = sb_buf_reserve(&a->body, size);
    if (rc != 0)
        return rc;
    sb_writer_init(&w, a->body.data, size);
    sb_write_message(&w, m);
    if (w.failed)
        return SB_ERR_INTERNAL;
    *out = sb_bytes(a->body.data, w.len);
    return 0;
}

int
sb_apply_row(struct sb_apply *x, const struct sb_message *m, struct sb_row *row)
{
    struct sb_bytes body;
    int rc = sb_apply_body(x, m, &body);
    if (rc != 0)
        return rc;
    *row = (struct sb_row){
        .pos = {m->at, m->seq},
        .created = m->version,
        .changed = m->version,
        .tags = x->applier->tags,
        .body = body,
    };
    row->n_tags = sb_tags_of(x->store, m, x->applier->tags, &row->flags);
    return 0;
}

int
sb_apply_change(struct sb_apply *x, const struct sb_record *r, struct sb_change *c)
{
    c->time_ms = x->ops->change_time(x->txn, r->time_ms);
    return x->ops->change_append(x->txn, c);
}

/* ---- post ---- */

static void
nonce_key(const struct sb_apply *x, const struct sb_record *r, uint64_t thread, struct sb_hash *out)
{
    uint8_t buf[16 + 2 * (SB_MAX_NAME + 1) + SB_MAX_NONCE];
    size_t n = 0;
    memcpy(buf, "nonce:", 6);
    n += 6;
    for (int i = 0; i < 8; i++)
        buf[n++] = (uint8_t)(thread >> (56 - 8 * i));
    struct sb_bytes parts[] = {r->tenant, r->user, r->post.nonce};
    for (size_t i = 0; i < 3; i++)
    {
        buf[n++] = (uint8_t)parts[i].len; /* the length keeps "a"+"bc" apart from "ab"+"c" */
        memcpy(buf + n, parts[i].data, parts[i].len);
        n += parts[i].len;
    }
    x->ops->hash(x->store, sb_bytes(buf, n), out);
}

/* Whether a reply may point at that row: hidden and missing ones answer alike. */
static int
check_parent(struct sb_apply *x, const struct sb_thread *thread, const struct sb_access *access,
             const struct sb_opt_uint *reply_to)
{
    struct sb_pos pos;
    if (!reply_to->set)
        return 0;
    int rc = x->ops->seq_find(x->txn, thread->id, reply_to->value, &pos);
    if (rc == 0 && !sb_authz_row(access, pos))
        return SB_ERR_NOT_FOUND;
    return rc;
}

static int
write_post(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread,
           const struct sb_hash *nonce, struct sb_result *res)
{
    struct sb_message m = r->post.message;
    struct sb_row row;
    m.seq = thread->next_seq++;
    m.at = r->time_ms > thread->newest_at ? r->time_ms : thread->newest_at;
    m.version = x->ops->version_next(x->txn);
    thread->newest_at = m.at;
    int rc = sb_apply_row(x, &m, &row);
    if (rc == 0)
        rc = x->ops->row_insert(x->txn, thread->id, &row);
    if (rc == 0)
        rc = x->ops->thread_put(x->txn, thread);
    struct sb_nonce n = {m.seq, m.at, m.version, r->time_ms};
    if (rc == 0 && nonce != NULL)
        rc = x->ops->nonce_put(x->txn, nonce, &n);
    struct sb_change c = {
        .version = m.version, .thread = thread->id, .pos = row.pos, .kind = SB_CHANGE_POST};
    if (nonce != NULL)
    {
        c.has_nonce = true;
        c.nonce = *nonce;
    }
    if (rc == 0)
        rc = sb_apply_change(x, r, &c);
    res->seq = m.seq;
    res->at = m.at;
    res->version = m.version;
    return rc;
}

static int
apply_post(struct sb_apply *x, const struct sb_record *r, struct sb_result *res)
{
    struct sb_thread thread;
    struct sb_access access;
    struct sb_hash key;
    bool has_nonce = r->post.nonce.len != 0;
    int rc = sb_apply_find(x, r, &thread, &access);
    if (rc == 0)
        rc = sb_authz_post(&access);
    if (rc != 0)
        return rc;
    if (has_nonce)
    {
        struct sb_nonce first;
        nonce_key(x, r, thread.id, &key);
        rc = x->ops->nonce_get(x->txn, &key, &first);
        /* It counts by the records' own times, whether or not it was cleaned up by now. */
        if (rc == 0 && r->time_ms < first.time_ms + NONCE_LIFE_MS)
        {
            res->seq = first.seq;
            res->at = first.at;
            res->version = first.version;
            res->duplicate = true;
            return 0;
        }
        if (rc != 0 && rc != SB_ERR_NOT_FOUND)
            return rc;
    }
    rc = check_parent(x, &thread, &access, &r->post.message.reply_to);
    if (rc != 0)
        return rc;
    x->wrote = true;
    return write_post(x, r, &thread, has_nonce ? &key : NULL, res);
}

/* ---- threads and members ---- */

static int
apply_create_thread(struct sb_apply *x, const struct sb_record *r, struct sb_result *res)
{
    struct sb_thread thread;
    int rc = sb_authz_create_thread(r->service);
    if (rc != 0)
        return rc;
    if (r->create_thread.history == SB_HISTORY_SINCE_JOIN &&
        r->create_thread.access == SB_ACCESS_TENANT)
        return SB_ERR_BAD_ACCESS;
    rc = x->ops->thread_find(x->txn, r->tenant, r->thread, &thread);
    if (rc != SB_ERR_NOT_FOUND)
        return rc == 0 ? SB_ERR_THREAD_EXISTS : rc;

    x->wrote = true;
    res->version = x->ops->version_next(x->txn);
    thread = (struct sb_thread){
        .history = r->create_thread.history,
        .access = r->create_thread.access,
        .created = res->version,
        .next_seq = 1,
        .tenant = r->tenant,
        .name = r->thread,
        .title = r->create_thread.title,
    };
    rc = x->ops->thread_put(x->txn, &thread);
    for (uint32_t i = 0; rc == 0 && i < r->create_thread.n_members; i++)
    {
        /* Founders join at the beginning. */
        struct sb_member m = {.role = r->create_thread.members[i].role,
                              .join_version = res->version};
        rc = x->ops->member_put(x->txn, &thread, r->create_thread.members[i].user, &m);
    }
    struct sb_change c = {.version = res->version, .thread = thread.id, .kind = SB_CHANGE_THREAD};
    return rc == 0 ? sb_apply_change(x, r, &c) : rc;
}

static int
write_member(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread,
             const struct sb_member *old, struct sb_result *res)
{
    bool joins = (old == NULL || old->role == SB_ROLE_NONE) && r->set_member.role != SB_ROLE_NONE;
    struct sb_member m = old != NULL ? *old : (struct sb_member){0};
    int rc = 0;
    res->version = x->ops->version_next(x->txn);
    m.role = r->set_member.role;
    if (joins)
    {
        /* Everything up to now lies before the join, and no later row gets an older time. */
        if (r->time_ms > thread->newest_at)
            thread->newest_at = r->time_ms;
        m.join = (struct sb_pos){thread->newest_at, thread->next_seq - 1};
        m.join_version = res->version;
        rc = x->ops->thread_put(x->txn, thread);
    }
    if (rc == 0)
        rc = x->ops->member_put(x->txn, thread, r->set_member.user, &m);
    uint8_t payload[1 + SB_MAX_NAME];
    payload[0] = (uint8_t)m.role;
    memcpy(payload + 1, r->set_member.user.data, r->set_member.user.len);
    struct sb_change c = {.version = res->version,
                          .thread = thread->id,
                          .kind = SB_CHANGE_MEMBER,
                          .payload = sb_bytes(payload, 1 + r->set_member.user.len)};
    return rc == 0 ? sb_apply_change(x, r, &c) : rc;
}

static int
apply_set_member(struct sb_apply *x, const struct sb_record *r, struct sb_result *res)
{
    struct sb_thread thread;
    struct sb_access access;
    struct sb_member old;
    int rc = sb_apply_find(x, r, &thread, &access);
    if (rc != 0)
        return rc;
    rc = x->ops->member_get(x->txn, thread.id, r->set_member.user, &old);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    const struct sb_member *target = rc == 0 ? &old : NULL;
    rc = sb_authz_set_member(&access, target, r->set_member.role);
    if (rc != 0)
        return rc;
    x->wrote = true;
    return write_member(x, r, &thread, target, res);
}

/* ---- the batch ---- */

static int
apply_one(struct sb_apply *x, const struct sb_record *r, struct sb_result *res)
{
    switch (r->op)
    {
    case SB_RECORD_POST:
        return apply_post(x, r, res);
    case SB_RECORD_CREATE_THREAD:
        return apply_create_thread(x, r, res);
    case SB_RECORD_SET_MEMBER:
        return apply_set_member(x, r, res);
    case SB_RECORD_IMPORT:
        return sb_apply_import(x, r, res);
    case SB_RECORD_LINK:
        return sb_apply_link(x, r, res);
    }
    return SB_ERR_INTERNAL;
}

/* Errors that are the store's and not an answer to this record. */
static bool
is_store_error(int err)
{
    switch (err)
    {
    case SB_ERR_FULL:
    case SB_ERR_IO:
    case SB_ERR_UNAVAILABLE:
    case SB_ERR_UNKNOWN_OUTCOME:
    case SB_ERR_NO_MEMORY:
    case SB_ERR_INTERNAL:
        return true;
    default:
        return false;
    }
}

static int
fail_all(struct sb_result *results, size_t n, int err)
{
    for (size_t i = 0; i < n; i++)
        results[i] = (struct sb_result){.err = err};
    return err;
}

int
sb_apply(struct sb_applier *a, struct sb_store *store, const struct sb_record *const *records,
         struct sb_result *results, size_t n)
{
    struct sb_apply x = {.applier = a, .store = store, .ops = store->ops};
    bool any = false;
    int rc = x.ops->write_begin(store, &x.txn);
    if (rc != 0)
        return fail_all(results, n, rc);
    for (size_t i = 0; i < n; i++)
    {
        x.wrote = false;
        results[i] = (struct sb_result){0};
        rc = apply_one(&x, records[i], &results[i]);
        /* A record that fails after its first write would leave a half: all or nothing. */
        if (rc != 0 && (x.wrote || is_store_error(rc)))
        {
            x.ops->write_abort(x.txn);
            return fail_all(results, n, rc);
        }
        results[i].err = rc;
        any = any || x.wrote;
    }
    if (!any)
    {
        x.ops->write_abort(x.txn);
        return 0;
    }
    rc = x.ops->write_commit(x.txn);
    return rc == 0 ? 0 : fail_all(results, n, rc);
}

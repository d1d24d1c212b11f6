/* session_list.c - threads and members: listings in a stable order, by cursor. */
#include "core/engine.h"

#include <stdlib.h>

enum
{
    MEMBER_STEPS = 4096, /* members looked at for one page, removed ones included */
};

/* ---- threads ---- */

static struct sb_digest
threads_digest(const struct sb_step *st)
{
    struct sb_digest out;
    struct sb_binding b = sb_session_binding(st->s, SB_PURPOSE_THREADS);
    sb_binding_digest(&st->e->cursors, &b, &out);
    return out;
}

/*
 * How many of the listing fit the page, how many of these are still the reader's to see, and
 * their size: newest messages can be large.
 */
static int
measure(const struct sb_step *st, const struct sb_listing *l, struct sb_txn *txn, uint32_t *fit,
        uint32_t *listed, size_t *size)
{
    *size = 256;
    *fit = 0;
    *listed = 0;
    while (*fit < l->n)
    {
        struct sb_listed t;
        int rc = sb_listing_look(l, txn, l->ids[*fit], &t);
        if (rc != 0 && rc != SB_ERR_NOT_FOUND)
            return rc;
        size_t item = rc != 0 ? 0 : 128 + t.thread.name.len + t.thread.title.len;
        if (rc == 0 && t.has_newest)
            item += t.newest.body.len;
        if (*fit != 0 && *size + item > st->e->settings->page_bytes)
            break;
        *size += item;
        *listed += rc == 0;
        ++*fit;
    }
    return 0;
}

static void
write_item(struct sb_writer *w, const struct sb_listed *t, uint64_t unread)
{
    struct sb_thread_item item = {
        .thread = t->thread.name,
        .title = {t->thread.title.len != 0, t->thread.title},
        .role = t->access.role,
        .unread = unread,
    };
    if (t->has_newest)
        item.newest = t->newest.body;
    sb_write_thread_item(w, &item);
}

static int
reply_threads(struct sb_step *st, struct sb_txn *txn, struct sb_job *j)
{
    const struct sb_listing *l = &j->listing;
    struct sb_writer w;
    struct sb_opt_bytes next = {0};
    uint8_t buf[SB_CURSOR_BYTES];
    uint32_t fit, n;
    size_t size;
    int rc = measure(st, l, txn, &fit, &n, &size);
    if (rc == 0)
        rc = sb_reply_begin(st, &w, size);
    if (rc == 0 && (l->more || fit < l->n))
    {
        uint64_t last = fit < l->n ? l->ids[fit - 1] : l->after;
        rc = sb_issue_cursor(st, &j->digest[0], j->has_from ? &j->from : NULL,
                             (struct sb_place){.pos = {0, last}}, 0, buf, &next);
    }
    if (rc != 0)
        return rc;
    sb_write_threads_head(&w, j->re, n);
    for (uint32_t i = 0; i < fit; i++)
    {
        struct sb_listed t;
        rc = sb_listing_look(l, txn, l->ids[i], &t);
        if (rc == 0)
            write_item(&w, &t, l->counts[i]);
        else if (rc != SB_ERR_NOT_FOUND)
            return rc; /* the frame was not ended: nothing of it goes out */
    }
    sb_write_list_tail(&w, next);
    sb_reply_end(st, &w);
    st->e->telemetry.corrupt_rows += l->damaged;
    return 0;
}

static int
run_threads(struct sb_step *st, struct sb_txn *txn, struct sb_job *j, uint64_t deadline_us)
{
    int rc = sb_listing_run(&j->listing, txn, st->e->ports, deadline_us);
    return rc == 0 ? reply_threads(st, txn, j) : rc;
}

static int
start_threads(struct sb_step *st, struct sb_txn *txn, const struct sb_list_frame *f,
              struct sb_job *j)
{
    struct sb_listing *l = &j->listing;
    l->tenant = sb_bytes_str(st->s->claims.tenant);
    l->user = sb_bytes_str(st->s->claims.user);
    l->service = st->s->claims.service;
    l->limit = f->limit;
    l->version = st->e->store->ops->published(st->e->store);
    l->after = 0;
    sb_tag_hash(st->e->store, "by:", l->user, &l->by);
    j->digest[0] = threads_digest(st);
    if (f->cursor.set)
    {
        int rc = sb_present_cursor(st, txn, f->cursor.value, &j->digest[0], &j->from);
        if (rc != 0)
            return rc;
        j->has_from = true;
        l->after = j->from.place.pos.seq;
    }
    sb_listing_start(l);
    return 0;
}

void
sb_do_threads(struct sb_step *st, const struct sb_request *r)
{
    struct sb_job *j = st->e->now;
    struct sb_txn *txn;
    j->re = r->id.value;
    j->op = r->op;
    j->has_from = false;
    int rc = sb_scans_full(st->s) ? SB_ERR_OVERLOADED
                                  : st->e->store->ops->read_begin(st->e->store, &txn);
    if (rc == 0)
    {
        rc = start_threads(st, txn, &r->list, j);
        if (rc == 0)
            rc = run_threads(st, txn, j, sb_first_deadline(st));
        st->e->store->ops->read_end(txn);
    }
    if (rc == SB_ERR_BUSY)
        rc = sb_job_wait(st->e, st->s);
    if (rc != 0)
        sb_reply_error(st, r->id, rc);
}

/* A token renewed meanwhile may say another kind of user: another listing, from its start. */
static int
follow_claims(struct sb_step *st, struct sb_job *j)
{
    struct sb_listing *l = &j->listing;
    if (l->service == st->s->claims.service)
        return 0;
    if (j->has_from)
        return SB_ERR_INVALID_CURSOR;
    l->service = st->s->claims.service;
    l->after = 0;
    j->digest[0] = threads_digest(st);
    sb_listing_start(l);
    return 0;
}

void
sb_threads_slice(struct sb_step *st, struct sb_job *j)
{
    struct sb_txn *txn;
    int rc = st->e->store->ops->read_begin(st->e->store, &txn);
    if (rc == 0)
    {
        rc = follow_claims(st, j);
        if (rc == 0)
            rc = run_threads(st, txn, j, st->ev->deadline_us);
        st->e->store->ops->read_end(txn);
    }
    if (rc == SB_ERR_BUSY)
        return;
    if (rc != 0)
        sb_reply_error(st, (struct sb_opt_uint){true, j->re}, rc);
    sb_job_done(st->e, j);
}

/* ---- members ---- */

struct found_members
{
    uint32_t n;
    bool more;
    struct sb_bytes last; /* the last one looked at that the page includes */
    size_t size;
    struct sb_member_item v[SB_MAX_PAGE];
};

/* Names are views into the store: they hold while the transaction is open. */
static int
find_members(struct sb_txn *txn, uint64_t thread, struct sb_bytes after, uint32_t limit,
             struct found_members *out)
{
    const struct sb_store_ops *ops = txn->store->ops;
    struct sb_bytes user = after;
    out->n = 0;
    out->more = false;
    out->last = after;
    out->size = 256;
    for (uint32_t step = 0;; step++)
    {
        struct sb_member m;
        int rc = ops->member_next(txn, thread, user, &user, &m);
        if (rc != 0)
            return rc == SB_ERR_NOT_FOUND ? 0 : rc;
        bool told = m.role != SB_ROLE_NONE;
        if ((told && out->n == limit) || step == MEMBER_STEPS)
        {
            out->more = true;
            return 0;
        }
        if (told)
        {
            out->v[out->n++] = (struct sb_member_item){user, m.role};
            out->size += user.len + 32;
        }
        out->last = user;
    }
}

static int
reply_members(struct sb_step *st, uint64_t re, const struct found_members *m,
              const struct sb_digest *digest, const struct sb_opened *from)
{
    struct sb_writer w;
    struct sb_opt_bytes next = {0};
    uint8_t buf[SB_CURSOR_BYTES];
    int rc = sb_reply_begin(st, &w, m->size);
    if (rc == 0 && m->more)
    {
        char *name = strndup((const char *)m->last.data, m->last.len);
        if (name == NULL)
            return SB_ERR_NO_MEMORY;
        rc = sb_issue_cursor(st, digest, from, (struct sb_place){.name = name}, 0, buf, &next);
    }
    if (rc != 0)
        return rc;
    sb_write_members_head(&w, re, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        sb_write_member_item(&w, &m->v[i]);
    sb_write_list_tail(&w, next);
    sb_reply_end(st, &w);
    return 0;
}

static int
list_members(struct sb_step *st, struct sb_txn *txn, const struct sb_request *r)
{
    const struct sb_list_frame *f = &r->list;
    struct sb_thread thread;
    struct sb_access access;
    struct sb_digest digest;
    struct sb_opened from;
    struct found_members found;
    struct sb_bytes after = {0};
    int rc = sb_find_thread(st, txn, f->thread, &thread, &access);
    if (rc != 0)
        return rc;
    struct sb_binding b = sb_session_binding(st->s, SB_PURPOSE_MEMBERS);
    b.thread = thread.id;
    b.access = &access;
    sb_binding_digest(&st->e->cursors, &b, &digest);
    if (f->cursor.set)
    {
        rc = sb_present_cursor(st, txn, f->cursor.value, &digest, &from);
        if (rc != 0)
            return rc;
        after = sb_bytes_str(from.place.name);
    }
    rc = find_members(txn, thread.id, after, f->limit, &found);
    if (rc != 0)
        return rc;
    return reply_members(st, r->id.value, &found, &digest, f->cursor.set ? &from : NULL);
}

void
sb_do_members(struct sb_step *st, const struct sb_request *r)
{
    struct sb_txn *txn;
    int rc = st->e->store->ops->read_begin(st->e->store, &txn);
    if (rc == 0)
    {
        rc = list_members(st, txn, r);
        st->e->store->ops->read_end(txn);
    }
    if (rc != 0)
        sb_reply_error(st, r->id, rc);
}

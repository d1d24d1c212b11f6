/*
 * session_load.c - load_older, load_newer, load_around.
 *
 * A page that is ready within its first slice is answered in the same transaction, rows
 * copied once from the store into the reply. Else the request waits as a job: each slice
 * authorises again, and the reply is built from one last transaction.
 */
#include "core/engine.h"

static struct sb_digest
binding_digest(const struct sb_step *st, const struct sb_page *p, enum sb_direction dir)
{
    struct sb_digest out;
    struct sb_binding b = sb_session_binding(st->s, SB_PURPOSE_ROWS);
    b.direction = dir;
    b.thread = p->thread;
    b.access = &p->access;
    b.filter = &p->filter;
    sb_binding_digest(&st->e->cursors, &b, &out);
    return out;
}

/* The row that `before` or `after` names: hidden and missing rows answer alike. */
static int
named_position(const struct sb_page *p, struct sb_txn *txn, uint64_t seq, struct sb_pos *out)
{
    const struct sb_store_ops *ops = txn->store->ops;
    struct sb_pos pos;
    struct sb_row row;
    int rc = ops->seq_find(txn, p->thread, seq, &pos);
    /* Before the row is read: a hidden one costs what a missing one does. */
    if (rc == 0 && !sb_authz_row(&p->access, pos))
        rc = SB_ERR_NOT_FOUND;
    if (rc == 0)
        rc = ops->row_get(txn, p->thread, pos, p->version, &row);
    if (rc == SB_ERR_CORRUPT)
        rc = 0; /* its place is known all the same: the way around a damaged row */
    if (rc == 0)
        *out = pos;
    return rc;
}

/* Where the page starts: at a cursor, at a named row, around a centre, or at an end. */
static int
start(struct sb_step *st, struct sb_txn *txn, const struct sb_load_frame *f, struct sb_job *j)
{
    struct sb_page *p = &j->page;
    struct sb_pos from = p->op == SB_OP_LOAD_NEWER ? SB_POS_MIN : SB_POS_MAX;
    int rc = 0;
    if (f->cursor.set)
    {
        enum sb_direction dir = p->op == SB_OP_LOAD_NEWER ? SB_NEWER : SB_OLDER;
        rc = sb_present_cursor(st, txn, f->cursor.value, &j->digest[dir], &j->from);
        if (rc != 0)
            return rc;
        j->has_from = true;
        p->version = j->from.snapshot;
        from = j->from.place.pos;
    }
    else if (f->before.set || f->after.set)
        rc = named_position(p, txn, f->before.set ? f->before.value : f->after.value, &from);
    else if (f->at.set)
    {
        sb_page_start_around_at(p, f->at.value);
        return 0;
    }
    else if (f->seq.set)
        return sb_page_start_around_seq(p, txn, f->seq.value);
    if (rc == 0)
        sb_page_start(p, from);
    return rc;
}

static int
cursors(struct sb_step *st, const struct sb_job *j, const struct sb_page_rows *rows,
        uint8_t buf[2][SB_CURSOR_BYTES], struct sb_page_tail *tail)
{
    const struct sb_opened *from = j->has_from ? &j->from : NULL;
    int rc = 0;
    if (rows->has_older)
        rc = sb_issue_cursor(st, &j->digest[SB_OLDER], from, (struct sb_place){.pos = rows->older},
                             j->page.version, buf[0], &tail->older);
    if (rc == 0 && rows->has_newer)
        rc = sb_issue_cursor(st, &j->digest[SB_NEWER], from, (struct sb_place){.pos = rows->newer},
                             j->page.version, buf[1], &tail->newer);
    return rc;
}

/* Builds the reply from bodies of the transaction that is open. */
static int
reply(struct sb_step *st, const struct sb_job *j)
{
    const struct sb_page *p = &j->page;
    struct sb_page_rows rows;
    struct sb_writer w;
    uint8_t buf[2][SB_CURSOR_BYTES];
    struct sb_page_tail tail = {.found = p->found,
                                .version = p->version,
                                .now = st->e->store->ops->published(st->e->store)};
    sb_page_select(p, &rows);
    int rc = sb_reply_begin(st, &w, SB_PAGE_OVERHEAD + rows.bytes);
    if (rc == 0)
        rc = cursors(st, j, &rows, buf, &tail);
    if (rc != 0)
        return rc;
    sb_write_page_head(&w, p->op, j->re, rows.n_older + rows.n_newer);
    for (uint32_t i = rows.n_older; i-- > 0;)
        sb_write_raw(&w, p->older.hits[i].body);
    for (uint32_t i = 0; i < rows.n_newer; i++)
        sb_write_raw(&w, p->newer.hits[i].body);
    sb_write_page_tail(&w, p->op, &tail);
    sb_reply_end(st, &w);
    st->e->telemetry.rows += rows.n_older + rows.n_newer;
    return 0;
}

static int
first_slice(struct sb_step *st, struct sb_txn *txn, const struct sb_load_frame *f, struct sb_job *j)
{
    struct sb_thread thread;
    struct sb_page *p = &j->page;
    int rc = sb_find_thread(st, txn, f->thread, &thread, &p->access);
    if (rc != 0)
        return rc;
    p->thread = thread.id;
    p->version = st->e->store->ops->published(st->e->store);
    p->limit = f->limit;
    p->bytes_max = st->e->settings->page_bytes;
    sb_filter_init(&p->filter, st->e->store, &f->filter);
    if (p->filter.n_groups != 0 && sb_scans_full(st->s))
        return SB_ERR_OVERLOADED; /* before any work for it */
    /* Only the directions that this operation can continue in. */
    if (p->op != SB_OP_LOAD_NEWER)
        j->digest[SB_OLDER] = binding_digest(st, p, SB_OLDER);
    if (p->op != SB_OP_LOAD_OLDER)
        j->digest[SB_NEWER] = binding_digest(st, p, SB_NEWER);
    rc = start(st, txn, f, j);
    if (rc == 0)
        rc = sb_page_run(p, txn, st->e->ports, sb_first_deadline(st),
                         st->e->settings->scan_budget_us);
    return rc == 0 ? reply(st, j) : rc;
}

void
sb_do_load(struct sb_step *st, const struct sb_request *r)
{
    struct sb_job *j = st->e->now;
    struct sb_txn *txn;
    j->re = r->id.value;
    j->op = r->op;
    j->page.op = r->op;
    j->has_from = false;
    int rc = st->e->store->ops->read_begin(st->e->store, &txn);
    if (rc == 0)
    {
        rc = first_slice(st, txn, &r->load, j);
        st->e->store->ops->read_end(txn);
    }
    if (rc == SB_ERR_BUSY)
    {
        memcpy(j->thread, r->load.thread.data, r->load.thread.len);
        j->thread[r->load.thread.len] = 0;
        rc = sb_job_wait(st->e, st->s);
    }
    if (rc != 0)
        sb_reply_error(st, r->id, rc);
}

/*
 * Authorisation and horizon as they are now. Another access scope than the walk's is the
 * same as another walk: its cursor no longer fits.
 */
static int
still_allowed(struct sb_step *st, struct sb_txn *txn, struct sb_job *j)
{
    struct sb_thread thread;
    struct sb_access access;
    struct sb_page *p = &j->page;
    int rc = sb_find_thread(st, txn, sb_bytes_str(j->thread), &thread, &access);
    if (rc != 0)
        return rc;
    uint64_t horizon = txn->store->ops->horizon(txn);
    if (horizon == SB_HORIZON_UNKNOWN)
        return SB_ERR_UNAVAILABLE;
    if (thread.id != p->thread || p->version < horizon)
        return SB_ERR_INVALID_CURSOR;
    if (access.scope != p->access.scope || access.history != p->access.history ||
        sb_pos_cmp(access.join, p->access.join) != 0)
        return j->has_from ? SB_ERR_INVALID_CURSOR : SB_ERR_FORBIDDEN;
    p->access = access;
    return 0;
}

void
sb_load_slice(struct sb_step *st, struct sb_job *j)
{
    struct sb_txn *txn;
    int rc = st->e->store->ops->read_begin(st->e->store, &txn);
    if (rc == 0)
    {
        rc = still_allowed(st, txn, j);
        if (rc == 0)
            rc = sb_page_run(&j->page, txn, st->e->ports, st->ev->deadline_us,
                             st->e->settings->scan_budget_us);
        if (rc == 0)
            rc = sb_page_reread(&j->page, txn);
        if (rc == 0)
            rc = reply(st, j);
        st->e->store->ops->read_end(txn);
    }
    if (rc == SB_ERR_BUSY)
        return;
    if (rc != 0)
        sb_reply_error(st, (struct sb_opt_uint){true, j->re}, rc);
    sb_job_done(st->e, j);
}

/* listing.c - see listing.h. It must not know cursors, sessions or the wire. */
#include "core/listing.h"

enum
{
    ROWS_PER_CLOCK = 256,
};

void
sb_listing_start(struct sb_listing *l)
{
    l->gathered = false;
    l->more = false;
    l->n = 0;
    l->counted = 0;
    l->unread = 0;
    l->pos = SB_POS_MAX;
}

/* The thread behind `after` in the listing's order. */
static int
next_thread(const struct sb_listing *l, struct sb_txn *txn, uint64_t after, uint64_t *out)
{
    const struct sb_store_ops *ops = txn->store->ops;
    if (!l->service)
        return ops->membership_next(txn, l->tenant, l->user, after, out);
    struct sb_thread last = {0};
    if (after != 0)
    {
        int rc = ops->thread_get(txn, after, &last);
        if (rc != 0)
            return rc == SB_ERR_NOT_FOUND ? SB_ERR_INVALID_CURSOR : rc;
    }
    return ops->name_next(txn, l->tenant, last.name, out);
}

static int
access_of(const struct sb_listing *l, struct sb_txn *txn, const struct sb_thread *thread,
          struct sb_access *out)
{
    struct sb_member m;
    int rc = txn->store->ops->member_get(txn, thread->id, l->user, &m);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    bool member = rc == 0 && m.role != SB_ROLE_NONE;
    if (!member && !l->service)
        return SB_ERR_NOT_FOUND; /* a thread open to the tenant is listed for members only */
    return sb_authz_thread(l->service, thread, member ? &m : NULL, out);
}

static int
gather(struct sb_listing *l, struct sb_txn *txn, const struct sb_ports *ports, uint64_t deadline_us)
{
    for (;;)
    {
        uint64_t id;
        int rc = next_thread(l, txn, l->after, &id);
        if (rc == SB_ERR_NOT_FOUND)
            break;
        struct sb_thread thread;
        struct sb_access access;
        if (rc == 0)
            rc = txn->store->ops->thread_get(txn, id, &thread);
        if (rc == 0)
            rc = access_of(l, txn, &thread, &access);
        if (rc != 0 && rc != SB_ERR_NOT_FOUND)
            return rc;
        if (rc == 0 && l->n == l->limit)
        {
            l->more = true;
            break;
        }
        if (rc == 0)
            l->ids[l->n++] = id;
        l->after = id;
        if (ports->clock_us(ports->ctx) >= deadline_us)
            return SB_ERR_BUSY;
    }
    l->gathered = true;
    return 0;
}

static bool
is_own(const struct sb_listing *l, const struct sb_row *row)
{
    return row->n_tags != 0 && memcmp(&row->tags[0], &l->by, sizeof(l->by)) == 0;
}

/* Counts on in the thread at hand. 0: counted. */
static int
count(struct sb_listing *l, struct sb_txn *txn, uint64_t thread_id, const struct sb_ports *ports,
      uint64_t deadline_us)
{
    const struct sb_store_ops *ops = txn->store->ops;
    struct sb_listed at = {0};
    int rc = ops->thread_get(txn, thread_id, &at.thread);
    if (rc == 0)
        rc = access_of(l, txn, &at.thread, &at.access);
    if (rc == 0)
        rc = ops->row_seek(txn, thread_id, l->pos, SB_OLDER, l->version);
    while (rc == 0 && l->unread < SB_UNREAD_MAX)
    {
        uint32_t budget = ROWS_PER_CLOCK;
        struct sb_row row;
        while (l->unread < SB_UNREAD_MAX && (rc = ops->row_step(txn, &budget, &row)) == 0)
        {
            l->pos = row.pos;
            if (!sb_authz_row(&at.access, row.pos))
                return 0; /* and nothing older either */
            if ((row.flags & SB_ROW_DELETED) == 0 && !is_own(l, &row))
                l->unread++;
        }
        if (rc != SB_ERR_BUSY)
            break;
        l->pos = row.pos;
        if (ports->clock_us(ports->ctx) >= deadline_us)
            return SB_ERR_BUSY;
        rc = 0;
    }
    /* A damaged row or a thread that went away ends the count, not the listing. */
    return rc == SB_ERR_NOT_FOUND || rc == SB_ERR_CORRUPT ? 0 : rc;
}

int
sb_listing_run(struct sb_listing *l, struct sb_txn *txn, const struct sb_ports *ports,
               uint64_t deadline_us)
{
    if (!l->gathered)
    {
        int rc = gather(l, txn, ports, deadline_us);
        if (rc != 0)
            return rc;
    }
    while (l->counted < l->n)
    {
        int rc = count(l, txn, l->ids[l->counted], ports, deadline_us);
        if (rc != 0)
            return rc;
        l->counts[l->counted++] = (uint16_t)l->unread;
        l->unread = 0;
        l->pos = SB_POS_MAX;
        if (l->counted < l->n && ports->clock_us(ports->ctx) >= deadline_us)
            return SB_ERR_BUSY;
    }
    return 0;
}

int
sb_listing_look(const struct sb_listing *l, struct sb_txn *txn, uint64_t thread,
                struct sb_listed *out)
{
    const struct sb_store_ops *ops = txn->store->ops;
    out->has_newest = false;
    int rc = ops->thread_get(txn, thread, &out->thread);
    if (rc == 0)
        rc = access_of(l, txn, &out->thread, &out->access);
    if (rc == 0)
        rc = ops->row_seek(txn, thread, SB_POS_MAX, SB_OLDER, l->version);
    if (rc != 0)
        return rc;
    /* Rows that came after the version lie in front; they are few, but may be more than a budget.
     */
    do
    {
        uint32_t budget = ROWS_PER_CLOCK;
        rc = ops->row_step(txn, &budget, &out->newest);
    } while (rc == SB_ERR_BUSY);
    out->has_newest = rc == 0 && sb_authz_row(&out->access, out->newest.pos);
    return rc == 0 || rc == SB_ERR_NOT_FOUND || rc == SB_ERR_CORRUPT ? 0 : rc;
}

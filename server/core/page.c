/* page.c - see page.h. It must not know cursors, sessions or the wire. */
#include "core/page.h"

static void
start_scan(struct sb_page *p, struct sb_scan *s, enum sb_direction dir, struct sb_pos from)
{
    sb_scan_init(s, p->thread, p->version, dir, from, &p->access, &p->filter, p->limit,
                 p->bytes_max);
}

/* A side that this page does not read. */
static void
no_scan(struct sb_scan *s)
{
    s->n = 0;
    s->bytes = 0;
    s->ended = true;
    s->full = false;
}

static void
start_state(struct sb_page *p)
{
    p->found = true;
    p->nothing = false;
    p->spent_us = 0;
}

void
sb_page_start(struct sb_page *p, struct sb_pos from)
{
    start_state(p);
    if (p->op == SB_OP_LOAD_NEWER)
    {
        start_scan(p, &p->newer, SB_NEWER, from);
        no_scan(&p->older);
        return;
    }
    start_scan(p, &p->older, SB_OLDER, from);
    no_scan(&p->newer);
}

static void
start_both(struct sb_page *p, struct sb_pos newer_from, struct sb_pos older_from)
{
    p->centre = older_from;
    start_scan(p, &p->newer, SB_NEWER, newer_from);
    start_scan(p, &p->older, SB_OLDER, older_from);
}

void
sb_page_start_around_at(struct sb_page *p, uint64_t at)
{
    start_state(p);
    p->found = false; /* until the newer side has a row */
    start_both(p, (struct sb_pos){at, 0}, (struct sb_pos){at, 0});
}

int
sb_page_start_around_seq(struct sb_page *p, struct sb_txn *txn, uint64_t seq)
{
    const struct sb_store_ops *ops = txn->store->ops;
    struct sb_pos pos;
    struct sb_row row;
    start_state(p);
    int rc = ops->seq_find(txn, p->thread, seq, &pos);
    /* Before the row is read: a hidden one costs what a missing one does. */
    if (rc == 0 && !sb_authz_row(&p->access, pos))
        rc = SB_ERR_NOT_FOUND;
    if (rc == 0)
        rc = ops->row_get(txn, p->thread, pos, p->version, &row);
    if (rc == 0 && !sb_filter_matches(&p->filter, &row))
        rc = SB_ERR_NOT_FOUND;
    if (rc == SB_ERR_NOT_FOUND)
    {
        p->found = false;
        p->nothing = true;
        no_scan(&p->older);
        no_scan(&p->newer);
        return 0;
    }
    if (rc != 0)
        return rc;
    start_both(p, (struct sb_pos){pos.at, pos.seq - 1}, pos);
    return 0;
}

int
sb_page_run(struct sb_page *p, struct sb_txn *txn, const struct sb_ports *ports,
            uint64_t deadline_us, uint64_t budget_us)
{
    uint64_t began = ports->clock_us(ports->ctx);
    uint64_t left = p->spent_us < budget_us ? budget_us - p->spent_us : 0;
    uint64_t until = deadline_us < began + left ? deadline_us : began + left;
    int rc = sb_scan_run(&p->newer, txn, ports, until);
    if (rc == 0)
        rc = sb_scan_run(&p->older, txn, ports, until);
    if (p->newer.n != 0)
        p->found = true;
    if (rc != SB_ERR_BUSY)
        return rc;
    p->spent_us += ports->clock_us(ports->ctx) - began;
    return p->spent_us >= budget_us ? 0 : SB_ERR_BUSY; /* used up: the page ends early */
}

/* Where a side's walk goes on, when `kept` of its hits are sent; `start`: with none of them. */
static bool
side(const struct sb_scan *s, uint32_t kept, struct sb_pos start, struct sb_pos *next)
{
    if (kept == s->n && s->ended)
        return false;
    if (kept == s->n)
        *next = s->pos; /* the budget ended it here: everything up to here was looked at */
    else
        *next = kept == 0 ? start : s->hits[kept - 1].pos;
    return true;
}

static uint64_t
bytes_of(const struct sb_scan *s, uint32_t kept)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kept; i++)
        sum += s->hits[i].body.len;
    return sum;
}

static uint32_t
least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Half on each side, the centre on the newer one; a side that ends is filled by the other. */
static void
share_out(const struct sb_page *p, struct sb_page_rows *out)
{
    uint32_t n_older = least(p->older.n, p->limit / 2);
    uint32_t n_newer = least(p->newer.n, p->limit - n_older);
    n_older = least(p->older.n, p->limit - n_newer);
    uint64_t bytes = bytes_of(&p->older, n_older) + bytes_of(&p->newer, n_newer);
    while (bytes > p->bytes_max && n_older + n_newer > 1)
    {
        if (n_older >= n_newer || n_newer == 1)
            bytes -= p->older.hits[--n_older].body.len;
        else
            bytes -= p->newer.hits[--n_newer].body.len;
    }
    out->n_older = n_older;
    out->n_newer = n_newer;
    out->bytes = bytes;
}

void
sb_page_select(const struct sb_page *p, struct sb_page_rows *out)
{
    *out = (struct sb_page_rows){0};
    if (p->nothing)
        return;
    if (p->op == SB_OP_LOAD_AROUND)
        share_out(p, out);
    else
    {
        out->n_older = sb_scan_kept(&p->older);
        out->n_newer = sb_scan_kept(&p->newer);
        out->bytes = bytes_of(&p->older, out->n_older) + bytes_of(&p->newer, out->n_newer);
    }
    out->has_older = side(&p->older, out->n_older, p->centre, &out->older);
    out->has_newer = side(&p->newer, out->n_newer, p->centre, &out->newer);
}

int
sb_page_reread(struct sb_page *p, struct sb_txn *txn)
{
    uint32_t had = p->older.n + p->newer.n;
    int rc = sb_scan_reread(&p->older, txn);
    if (rc == 0)
        rc = sb_scan_reread(&p->newer, txn);
    if (rc != 0)
        return rc;
    bool fell_out = p->older.n + p->newer.n != had;
    bool complete = sb_scan_finished(&p->older) && sb_scan_finished(&p->newer);
    return fell_out && !complete ? SB_ERR_BUSY : 0;
}

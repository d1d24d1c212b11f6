/*
 * scan.c - see scan.h. It must not know cursors, sessions or the wire.
 *
 * Invariant: every row between the start and `pos` that the reader gets is in `hits`.
 */
#include "core/scan.h"

enum
{
    ROWS_PER_CLOCK = 256, /* rows looked at between two looks at the clock */
    /* Look-ups between two looks at the clock. Every group is asked at least once in between, so
     * that a slice always gets on. */
    SEEKS_PER_CLOCK = SB_FILTER_TAGS + 1,
};

static bool
beyond(enum sb_direction dir, struct sb_pos a, struct sb_pos b)
{
    int c = sb_pos_cmp(a, b);
    return dir == SB_OLDER ? c < 0 : c > 0;
}

/* The position just before p in the direction of the scan: exclusive of it is inclusive of p. */
static struct sb_pos
just_before(enum sb_direction dir, struct sb_pos p)
{
    /* Rows have seqs from 1 up and far below the maximum, so nothing wraps. */
    p.seq = dir == SB_OLDER ? p.seq + 1 : p.seq - 1;
    return p;
}

void
sb_scan_init(struct sb_scan *s, uint64_t thread, uint64_t version, enum sb_direction dir,
             struct sb_pos from, const struct sb_access *access, const struct sb_filter *filter,
             uint32_t limit, uint64_t bytes_max)
{
    /* Rows lie strictly between low and high: what may be read, and the filter's dates. */
    struct sb_pos low = sb_authz_bottom(access);
    struct sb_pos high = filter->to == UINT64_MAX ? SB_POS_MAX : (struct sb_pos){filter->to, 0};
    struct sb_pos from_date = {filter->from, 0};
    if (sb_pos_cmp(from_date, low) > 0)
        low = from_date;
    struct sb_pos first = dir == SB_OLDER ? high : low;

    s->thread = thread;
    s->version = version;
    s->dir = dir;
    s->access = access;
    s->filter = filter;
    s->pos = beyond(dir, from, first) ? from : first;
    s->end = dir == SB_OLDER ? low : high;
    s->limit = limit;
    s->bytes_max = bytes_max;
    s->bytes = 0;
    s->ended = !beyond(dir, s->end, s->pos);
    s->full = false;
    s->n = 0;
}

/* Takes a row that the reader gets. */
static void
take(struct sb_scan *s, const struct sb_row *row)
{
    bool past_bytes = s->n != 0 && s->bytes + row->body.len > s->bytes_max;
    s->hits[s->n++] = (struct sb_hit){row->pos, row->body};
    s->bytes += row->body.len;
    s->full = past_bytes || s->n == s->limit + 1;
}

static bool
gets(const struct sb_scan *s, const struct sb_row *row)
{
    return sb_authz_row(s->access, row->pos) && sb_filter_matches(s->filter, row);
}

/* ---- without postings: row after row ---- */

static int
walk_rows(struct sb_scan *s, struct sb_txn *txn, const struct sb_ports *ports, uint64_t deadline_us)
{
    const struct sb_store_ops *ops = txn->store->ops;
    int rc = ops->row_seek(txn, s->thread, s->pos, s->dir, s->version);
    uint32_t budget = ROWS_PER_CLOCK;
    struct sb_row row;
    while (rc == 0 && !sb_scan_finished(s))
    {
        rc = ops->row_step(txn, &budget, &row);
        if (rc == SB_ERR_BUSY)
        {
            s->pos = row.pos; /* rows that are not there yet at this version count as seen */
            if (ports->clock_us(ports->ctx) >= deadline_us)
                return SB_ERR_BUSY;
            budget = ROWS_PER_CLOCK;
            rc = 0;
            continue;
        }
        if (rc == SB_ERR_NOT_FOUND || (rc == 0 && !beyond(s->dir, s->end, row.pos)))
        {
            s->ended = true;
            return 0;
        }
        if (rc != 0)
            return rc;
        s->pos = row.pos;
        if (gets(s, &row))
            take(s, &row);
    }
    return rc;
}

/* ---- with postings: leapfrog ---- */

/* Whether a group's postings name all of its rows. */
static bool
has_postings(const struct sb_filter_group *g)
{
    return !g->default_kind;
}

static bool
any_postings(const struct sb_filter *f)
{
    for (uint32_t i = 0; i < f->n_groups; i++)
        if (has_postings(&f->groups[i]))
            return true;
    return false;
}

/* A head that lies past the last posting. */
static struct sb_pos
nowhere(enum sb_direction dir)
{
    return dir == SB_OLDER ? SB_POS_MIN : SB_POS_MAX;
}

/* Heads are of the transaction they were read in: one that lies behind everything is read anew. */
static void
forget_heads(struct sb_scan *s)
{
    for (uint32_t i = 0; i < s->filter->n_groups; i++)
    {
        const struct sb_filter_group *g = &s->filter->groups[i];
        for (uint32_t t = g->first; t < (uint32_t)(g->first + g->n); t++)
            s->heads[t] = s->dir == SB_OLDER ? SB_POS_MAX : SB_POS_MIN;
    }
}

/* The group's nearest candidate beyond `from`; tags whose head is beyond already are kept. */
static int
group_next(struct sb_scan *s, struct sb_txn *txn, const struct sb_filter_group *g,
           struct sb_pos from, uint32_t *seeks, struct sb_pos *out)
{
    struct sb_pos best = nowhere(s->dir);
    for (uint32_t t = g->first; t < (uint32_t)(g->first + g->n); t++)
    {
        if (!beyond(s->dir, s->heads[t], from))
        {
            int rc = txn->store->ops->posting_next(txn, s->thread, &s->filter->tags[t], from,
                                                   s->dir, &s->heads[t]);
            ++*seeks;
            if (rc == SB_ERR_NOT_FOUND)
                s->heads[t] = nowhere(s->dir);
            else if (rc != 0)
                return rc;
        }
        if (beyond(s->dir, best, s->heads[t]))
            best = s->heads[t];
    }
    *out = best;
    return 0;
}

/*
 * The nearest position beyond s->pos that every group may have. NOT_FOUND: none. BUSY: enough
 * look-ups for now; s->pos has moved up to where it got.
 */
static int
next_candidate(struct sb_scan *s, struct sb_txn *txn, uint32_t *seeks, struct sb_pos *out)
{
    struct sb_pos target = s->pos;
    uint32_t agreed = 0;
    uint32_t groups = s->filter->n_groups;
    bool first = true;
    for (uint32_t g = 0; agreed < groups; g = (g + 1) % groups)
    {
        const struct sb_filter_group *group = &s->filter->groups[g];
        if (!has_postings(group))
        {
            agreed++;
            continue;
        }
        if (!first && *seeks >= SEEKS_PER_CLOCK)
        {
            s->pos = just_before(s->dir, target);
            return SB_ERR_BUSY;
        }
        struct sb_pos from = first ? target : just_before(s->dir, target);
        struct sb_pos p;
        int rc = group_next(s, txn, group, from, seeks, &p);
        if (rc != 0)
            return rc;
        if (!beyond(s->dir, s->end, p))
            return SB_ERR_NOT_FOUND;
        agreed = !first && sb_pos_cmp(p, target) == 0 ? agreed + 1 : 1;
        target = p;
        first = false;
    }
    *out = target;
    return 0;
}

/* A candidate's row decides whether it is one. */
static int
try_candidate(struct sb_scan *s, struct sb_txn *txn, struct sb_pos p)
{
    struct sb_row row;
    int rc = txn->store->ops->row_get(txn, s->thread, p, s->version, &row);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    s->pos = p;
    if (rc == 0 && gets(s, &row))
        take(s, &row);
    return 0;
}

static int
leapfrog(struct sb_scan *s, struct sb_txn *txn, const struct sb_ports *ports, uint64_t deadline_us)
{
    uint32_t seeks = 0;
    forget_heads(s);
    while (!sb_scan_finished(s))
    {
        struct sb_pos p;
        int rc = next_candidate(s, txn, &seeks, &p);
        if (rc == SB_ERR_NOT_FOUND)
        {
            s->ended = true;
            return 0;
        }
        if (rc == 0)
        {
            seeks++;
            rc = try_candidate(s, txn, p);
        }
        if (rc != 0 && rc != SB_ERR_BUSY)
            return rc;
        if (seeks < SEEKS_PER_CLOCK || sb_scan_finished(s))
            continue;
        if (ports->clock_us(ports->ctx) >= deadline_us)
            return SB_ERR_BUSY;
        seeks = 0;
    }
    return 0;
}

int
sb_scan_run(struct sb_scan *s, struct sb_txn *txn, const struct sb_ports *ports,
            uint64_t deadline_us)
{
    if (sb_scan_finished(s))
        return 0;
    if (any_postings(s->filter))
        return leapfrog(s, txn, ports, deadline_us);
    return walk_rows(s, txn, ports, deadline_us);
}

int
sb_scan_reread(struct sb_scan *s, struct sb_txn *txn)
{
    uint32_t had = s->n;
    s->n = 0;
    s->bytes = 0;
    s->full = false;
    /* Taken again one by one: what fits the page is another question when a row fell out. */
    for (uint32_t i = 0; i < had && !s->full; i++)
    {
        struct sb_row row;
        int rc = txn->store->ops->row_get(txn, s->thread, s->hits[i].pos, s->version, &row);
        if (rc == SB_ERR_NOT_FOUND || (rc == 0 && !gets(s, &row)))
            continue;
        if (rc != 0)
            return rc;
        take(s, &row);
        if (s->full)
        {
            s->pos = row.pos;
            s->ended = false;
        }
    }
    return 0;
}

/* tail.c - see tail.h. */
#include "store/tail.h"

#include <stdlib.h>

#include "base/error.h"

static uint32_t
row_chain(const struct sb_tail *t, uint64_t thread, uint64_t seq)
{
    uint64_t h = (thread * UINT64_C(0x9e3779b97f4a7c15)) ^ seq;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) & (uint32_t)(t->cap - 1);
}

/* A nonce's key is a keyed hash already. */
static uint32_t
nonce_chain(const struct sb_tail *t, const struct sb_hash *key)
{
    uint32_t h;
    memcpy(&h, key->b, sizeof(h));
    return h & (uint32_t)(t->cap - 1);
}

static void
link_row(struct sb_tail *t, size_t i)
{
    uint32_t *head = &t->row_chains[row_chain(t, t->rows[i].thread, t->rows[i].pos.seq)];
    t->rows[i].next = *head;
    *head = (uint32_t)i + 1;
}

static void
link_nonce(struct sb_tail *t, size_t i)
{
    uint32_t *head = &t->nonce_chains[nonce_chain(t, &t->nonces[i].key)];
    t->nonces[i].next = *head;
    *head = (uint32_t)i + 1;
}

int
sb_tail_init(struct sb_tail *t, size_t room, bool ordered)
{
    *t = (struct sb_tail){.ordered = ordered};
    return sb_tail_reserve(t, room);
}

void
sb_tail_finish(struct sb_tail *t)
{
    free(t->rows);
    free(t->nonces);
    free(t->row_chains);
    free(t->nonce_chains);
    free(t->order);
    *t = (struct sb_tail){.ordered = t->ordered};
}

void
sb_tail_clear(struct sb_tail *t)
{
    if (t->n_rows != 0)
        memset(t->row_chains, 0, t->cap * sizeof(*t->row_chains));
    if (t->n_nonces != 0)
        memset(t->nonce_chains, 0, t->cap * sizeof(*t->nonce_chains));
    t->n_rows = t->n_nonces = 0;
}

int
sb_tail_reserve(struct sb_tail *t, size_t room)
{
    size_t cap = t->cap == 0 ? 64 : t->cap;
    while (cap < room)
        cap *= 2;
    if (cap == t->cap)
        return 0;
    struct sb_tail n = {.cap = cap, .ordered = t->ordered};
    n.rows = malloc(cap * sizeof(*n.rows));
    n.nonces = malloc(cap * sizeof(*n.nonces));
    n.row_chains = calloc(cap, sizeof(*n.row_chains));
    n.nonce_chains = calloc(cap, sizeof(*n.nonce_chains));
    n.order = t->ordered ? malloc(cap * sizeof(*n.order)) : NULL;
    if (n.rows == NULL || n.nonces == NULL || n.row_chains == NULL || n.nonce_chains == NULL ||
        (t->ordered && n.order == NULL))
    {
        sb_tail_finish(&n);
        return SB_ERR_NO_MEMORY;
    }
    for (; n.n_rows < t->n_rows; n.n_rows++)
    {
        n.rows[n.n_rows] = t->rows[n.n_rows];
        if (t->ordered)
            n.order[n.n_rows] = t->order[n.n_rows];
        link_row(&n, n.n_rows);
    }
    for (; n.n_nonces < t->n_nonces; n.n_nonces++)
    {
        n.nonces[n.n_nonces] = t->nonces[n.n_nonces];
        link_nonce(&n, n.n_nonces);
    }
    sb_tail_finish(t);
    *t = n;
    return 0;
}

int
sb_tail_add_row(struct sb_tail *t, uint64_t thread, struct sb_pos pos, uint64_t version)
{
    int rc = sb_tail_reserve(t, t->n_rows + 1);
    if (rc != 0)
        return rc;
    t->rows[t->n_rows] = (struct sb_tail_row){.thread = thread, .pos = pos, .version = version};
    link_row(t, t->n_rows++);
    return 0;
}

int
sb_tail_add_nonce(struct sb_tail *t, const struct sb_hash *key, const struct sb_nonce *n)
{
    int rc = sb_tail_reserve(t, t->n_nonces + 1);
    if (rc != 0)
        return rc;
    /* The analyzer takes the freed old arrays for the new ones that are in *t now. */
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    t->nonces[t->n_nonces] = (struct sb_tail_nonce){.key = *key, .nonce = *n};
    link_nonce(t, t->n_nonces++);
    return 0;
}

/* The youngest entry is the head of its chain: taking back in reverse order is popping. */
void
sb_tail_truncate(struct sb_tail *t, size_t n_rows, size_t n_nonces)
{
    for (; t->n_rows > n_rows; t->n_rows--)
    {
        const struct sb_tail_row *r = &t->rows[t->n_rows - 1];
        t->row_chains[row_chain(t, r->thread, r->pos.seq)] = r->next;
    }
    for (; t->n_nonces > n_nonces; t->n_nonces--)
    {
        const struct sb_tail_nonce *n = &t->nonces[t->n_nonces - 1];
        t->nonce_chains[nonce_chain(t, &n->key)] = n->next;
    }
}

static int
place_cmp(const void *a, const void *b)
{
    const struct sb_tail_place *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return sb_pos_cmp(x->pos, y->pos);
}

/* Merges `n` sorted places into `have` sorted ones, from the back: posts come at the end. */
static void
order_merge(struct sb_tail_place *order, size_t have, struct sb_tail_place *more, size_t n)
{
    size_t to = have + n;
    while (n != 0)
    {
        if (have != 0 && place_cmp(&order[have - 1], &more[n - 1]) > 0)
            order[--to] = order[--have];
        else
            order[--to] = more[--n];
    }
}

void
sb_tail_take(struct sb_tail *t, struct sb_tail *from)
{
    struct sb_tail_place more[128];
    size_t done = 0;
    while (done < from->n_rows)
    {
        size_t n = 0, have = t->n_rows;
        for (; n < 128 && done < from->n_rows; n++, done++)
        {
            t->rows[t->n_rows] = from->rows[done];
            more[n] = (struct sb_tail_place){from->rows[done].thread, from->rows[done].pos};
            link_row(t, t->n_rows++);
        }
        qsort(more, n, sizeof(more[0]), place_cmp);
        order_merge(t->order, have, more, n);
    }
    for (size_t i = 0; i < from->n_nonces; i++)
    {
        t->nonces[t->n_nonces] = from->nonces[i];
        link_nonce(t, t->n_nonces++);
    }
    sb_tail_clear(from);
}

bool
sb_tail_find_seq(const struct sb_tail *t, uint64_t thread, uint64_t seq, struct sb_pos *out)
{
    if (t->n_rows == 0)
        return false;
    for (uint32_t i = t->row_chains[row_chain(t, thread, seq)]; i != 0; i = t->rows[i - 1].next)
    {
        const struct sb_tail_row *r = &t->rows[i - 1];
        if (r->thread == thread && r->pos.seq == seq)
        {
            *out = r->pos;
            return true;
        }
    }
    return false;
}

bool
sb_tail_find_nonce(const struct sb_tail *t, const struct sb_hash *key, struct sb_nonce *out)
{
    if (t->n_nonces == 0)
        return false;
    for (uint32_t i = t->nonce_chains[nonce_chain(t, key)]; i != 0; i = t->nonces[i - 1].next)
    {
        if (memcmp(&t->nonces[i - 1].key, key, sizeof(*key)) == 0)
        {
            *out = t->nonces[i - 1].nonce;
            return true;
        }
    }
    return false;
}

static bool
near_ordered(const struct sb_tail *t, const struct sb_tail_place *from, enum sb_direction dir,
             struct sb_pos *out)
{
    size_t low = 0, high = t->n_rows; /* the first place > from (NEWER), >= from (OLDER) */
    while (low < high)
    {
        size_t mid = low + (high - low) / 2;
        int c = place_cmp(&t->order[mid], from);
        if (dir == SB_NEWER ? c <= 0 : c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (dir == SB_OLDER && low-- == 0)
        return false;
    if (low >= t->n_rows || t->order[low].thread != from->thread)
        return false;
    *out = t->order[low].pos;
    return true;
}

bool
sb_tail_near(const struct sb_tail *t, uint64_t thread, struct sb_pos pos, enum sb_direction dir,
             struct sb_pos *out)
{
    if (t->ordered)
        return near_ordered(t, &(struct sb_tail_place){thread, pos}, dir, out);
    bool found = false;
    for (size_t i = 0; i < t->n_rows; i++)
    {
        const struct sb_tail_row *r = &t->rows[i];
        int want = dir == SB_NEWER ? 1 : -1;
        if (r->thread != thread || sb_pos_cmp(r->pos, pos) != want)
            continue;
        if (!found || sb_pos_cmp(r->pos, *out) == -want)
        {
            *out = r->pos;
            found = true;
        }
    }
    return found;
}

/* reference.c - see reference.h. Slow and plain on purpose. */
#include "reference.h"

#include <stdlib.h>

int
ref_pos_cmp(struct ref_pos a, struct ref_pos b)
{
    if (a.at < b.at || (a.at == b.at && a.seq < b.seq))
        return -1;
    return a.at == b.at && a.seq == b.seq ? 0 : 1;
}

enum ref_scope
ref_access(const struct ref_thread *t, struct ref_reader who, struct ref_pos *join)
{
    const struct ref_member *m = &t->members[who.user];
    *join = (struct ref_pos){0, 0};
    if (who.service)
        return REF_SERVICE;
    if (m->role != 0)
    {
        if (t->since_join)
            *join = m->join;
        return REF_MEMBER;
    }
    return t->open ? REF_TENANT : REF_FORBIDDEN;
}

const struct ref_state *
ref_state_at(const struct ref_row *r, uint64_t version)
{
    const struct ref_state *found = NULL;
    if (r->states[0].version > version)
        return NULL;
    if (r->states[r->n_states - 1].deleted)
        return &r->states[r->n_states - 1];
    for (int i = 0; i < r->n_states; i++)
        if (r->states[i].version <= version)
            found = &r->states[i];
    return found;
}

bool
ref_matches(const struct ref_filter *f, const struct ref_row *r, const struct ref_state *s)
{
    if (f->by != 0 && (f->by & 1U << r->by) == 0)
        return false;
    if (f->kinds != 0 && (f->kinds & 1U << r->kind) == 0)
        return false;
    if (f->thread_of != 0 && r->reply_to != f->thread_of)
        return false;
    if (f->from != 0 && r->pos.at < f->from)
        return false;
    if (f->to != 0 && r->pos.at >= f->to)
        return false;
    if (f->link || f->reply)
        return (f->reply && r->reply_to != 0) || (f->link && !s->deleted && s->link);
    return true;
}

static int
by_position(const void *a, const void *b)
{
    const struct ref_row *const *x = a;
    const struct ref_row *const *y = b;
    return ref_pos_cmp((*x)->pos, (*y)->pos);
}

int
ref_page(const struct ref_thread *t, struct ref_reader who, uint64_t version,
         const struct ref_filter *f, struct ref_pos pos, bool newer, int limit,
         const struct ref_row **out, bool *more)
{
    static const struct ref_row *all[REF_ROWS];
    struct ref_pos join;
    int n = 0;
    (void)ref_access(t, who, &join);
    for (int i = 0; i < t->n_rows; i++)
    {
        const struct ref_row *r = &t->rows[i];
        const struct ref_state *s = ref_state_at(r, version);
        int side = ref_pos_cmp(r->pos, pos);
        if (s != NULL && (newer ? side > 0 : side < 0) && ref_pos_cmp(r->pos, join) > 0 &&
            ref_matches(f, r, s))
            all[n++] = r;
    }
    qsort(all, (size_t)n, sizeof(all[0]), by_position);
    *more = n > limit;
    int kept = *more ? limit : n;
    for (int i = 0; i < kept; i++)
        out[i] = newer ? all[i] : all[n - kept + i];
    return kept;
}

uint64_t
ref_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct ref_row *
ref_add(struct ref_thread *t, uint64_t at, int by)
{
    struct ref_row *r = &t->rows[t->n_rows++];
    *r = (struct ref_row){.pos = {at, (uint64_t)t->n_rows}, .by = by, .n_states = 1};
    t->newest_at = ref_later(t->newest_at, at);
    return r;
}

static void
join_now(struct ref_thread *t, struct ref_member *m, uint64_t now)
{
    t->newest_at = ref_later(t->newest_at, now);
    m->join = (struct ref_pos){t->newest_at, (uint64_t)t->n_rows};
}

void
ref_set_member(struct ref_thread *t, int user, int role, uint64_t now)
{
    struct ref_member *m = &t->members[user];
    if (m->role == 0 && role != 0)
        join_now(t, m, now);
    m->ever = true;
    m->role = role;
}

void
ref_author(struct ref_thread *t, int user, uint64_t now)
{
    struct ref_member *m = &t->members[user];
    if (m->ever)
        return;
    if (t->since_join)
        join_now(t, m, now);
    m->ever = true;
    m->role = 2;
}

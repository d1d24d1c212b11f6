/* filter.c - see filter.h. */
#include "core/filter.h"

#include <stdlib.h>

static int
compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct sb_hash));
}

/* Sorts the group's tags, drops repeats and keeps the group if anything is in it. */
static void
close_group(struct sb_filter *f, struct sb_filter_group g)
{
    struct sb_hash *v = f->tags + g.first;
    uint16_t kept = 0;
    qsort(v, g.n, sizeof(*v), compare_hashes);
    for (uint16_t i = 0; i < g.n; i++)
        if (kept == 0 || compare_hashes(&v[kept - 1], &v[i]) != 0)
            v[kept++] = v[i];
    g.n = kept;
    if (g.n != 0 || g.default_kind)
        f->groups[f->n_groups++] = g;
}

static uint16_t
next_tag(const struct sb_filter *f)
{
    if (f->n_groups == 0)
        return 0;
    const struct sb_filter_group *last = &f->groups[f->n_groups - 1];
    return (uint16_t)(last->first + last->n);
}

static void
add_list(struct sb_filter *f, const struct sb_store *s, uint8_t field, const char *prefix,
         const struct sb_str_list *list, bool kinds)
{
    struct sb_filter_group g = {.field = field, .first = next_tag(f)};
    for (uint32_t i = 0; i < list->n && i < SB_MAX_LIST; i++)
    {
        if (list->v[i].len == 0)
            continue;
        if (kinds && sb_bytes_eq(list->v[i], SB_KIND_DEFAULT))
            g.default_kind = true;
        else
            sb_tag_hash(s, prefix, list->v[i], &f->tags[g.first + g.n++]);
    }
    close_group(f, g);
}

void
sb_filter_init(struct sb_filter *f, const struct sb_store *s, const struct sb_filter_frame *frame)
{
    f->n_groups = 0;
    f->from = frame->from.set ? frame->from.value : 0;
    f->to = frame->to.set ? frame->to.value : UINT64_MAX;
    add_list(f, s, 1, "by:", &frame->by, false);
    add_list(f, s, 2, "has:", &frame->has, false);
    add_list(f, s, 3, "mention:", &frame->mentions, false);
    add_list(f, s, 4, "kind:", &frame->kind, true);
    if (frame->thread_of.set)
    {
        struct sb_filter_group g = {.field = 5, .first = next_tag(f), .n = 1};
        sb_tag_hash_reply(s, frame->thread_of.value, &f->tags[g.first]);
        close_group(f, g);
    }
}

static bool
group_matches(const struct sb_filter *f, const struct sb_filter_group *g, const struct sb_row *row)
{
    if (g->default_kind && (row->flags & SB_ROW_KIND) == 0)
        return true;
    for (uint32_t i = 0; i < row->n_tags; i++)
        for (uint16_t j = 0; j < g->n; j++)
            if (memcmp(&row->tags[i], &f->tags[g->first + j], sizeof(struct sb_hash)) == 0)
                return true;
    return false;
}

bool
sb_filter_matches(const struct sb_filter *f, const struct sb_row *row)
{
    if (row->pos.at < f->from || row->pos.at >= f->to)
        return false;
    for (uint32_t i = 0; i < f->n_groups; i++)
        if (!group_matches(f, &f->groups[i], row))
            return false;
    return true;
}

static size_t
put_u64(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> (56 - 8 * i));
    return 8;
}

size_t
sb_filter_bytes(const struct sb_filter *f, uint8_t out[SB_FILTER_BYTES])
{
    size_t n = put_u64(out, f->from);
    n += put_u64(out + n, f->to);
    for (uint32_t i = 0; i < f->n_groups; i++)
    {
        const struct sb_filter_group *g = &f->groups[i];
        out[n++] = g->field;
        out[n++] = g->default_kind;
        out[n++] = (uint8_t)(g->n >> 8);
        out[n++] = (uint8_t)g->n;
        memcpy(out + n, &f->tags[g->first], g->n * sizeof(struct sb_hash));
        n += g->n * sizeof(struct sb_hash);
    }
    return n;
}

/* names.c - see names.h. Invariant: at most half of the slots are taken. */
#include "import/names.h"

#include <stdlib.h>

#include "base/error.h"

#define MAX_MEMORY ((size_t)256 * 1024 * 1024) /* ids and names of one export */

void
sb_names_init(struct sb_names *t)
{
    *t = (struct sb_names){0};
    sb_arena_init(&t->strings, MAX_MEMORY);
}

void
sb_names_finish(struct sb_names *t)
{
    free(t->slots);
    sb_arena_finish(&t->strings);
    *t = (struct sb_names){0};
}

/* FNV-1a: ids are short. */
static size_t
hash(struct sb_bytes id)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < id.len; i++)
        h = (h ^ id.data[i]) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

/* The slot of an id, or the empty one where it would go. */
static struct sb_name_slot *
slot(const struct sb_names *t, struct sb_bytes id)
{
    size_t i = hash(id) & (t->cap - 1);
    while (t->slots[i].id.len != 0 && !sb_bytes_eq(t->slots[i].id, id))
        i = (i + 1) & (t->cap - 1);
    return &t->slots[i];
}

static int
grow(struct sb_names *t)
{
    struct sb_names bigger = *t;
    bigger.cap = t->cap == 0 ? 256 : t->cap * 2;
    bigger.slots = calloc(bigger.cap, sizeof(bigger.slots[0]));
    if (bigger.slots == NULL)
        return SB_ERR_NO_MEMORY;
    for (size_t i = 0; i < t->cap; i++)
    {
        if (t->slots[i].id.len != 0)
            *slot(&bigger, t->slots[i].id) = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
    return 0;
}

int
sb_names_put(struct sb_names *t, struct sb_bytes id, struct sb_bytes name)
{
    bool ok = true;
    if (id.len == 0 || name.len == 0)
        return 0;
    if (t->n * 2 >= t->cap)
    {
        int rc = grow(t);
        if (rc != 0)
            return rc;
    }
    struct sb_name_slot *s = slot(t, id);
    if (s->id.len != 0)
        return 0;
    struct sb_name_slot fresh = {
        .id = sb_arena_copy(&t->strings, id, &ok),
        .name = sb_arena_copy(&t->strings, name, &ok),
    };
    if (!ok)
        return SB_ERR_NO_MEMORY;
    *s = fresh;
    t->n++;
    return 0;
}

struct sb_bytes
sb_names_get(const struct sb_names *t, struct sb_bytes id)
{
    if (t->cap == 0 || id.len == 0)
        return sb_bytes(NULL, 0);
    return slot(t, id)->name;
}

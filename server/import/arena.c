/*
 * arena.c - see arena.h.
 *
 * Invariant: first .. last is a list of blocks; all before `last` are full enough that the
 * request which opened `last` did not fit them.
 */
#include "import/arena.h"

#include <stdlib.h>

#define BLOCK 65536

struct sb_arena_block
{
    struct sb_arena_block *next;
    size_t cap, len;
    uint8_t data[];
};

void
sb_arena_init(struct sb_arena *a, size_t max)
{
    *a = (struct sb_arena){.max = max};
}

static void
free_from(struct sb_arena_block *b)
{
    while (b != NULL)
    {
        struct sb_arena_block *next = b->next;
        free(b);
        b = next;
    }
}

void
sb_arena_finish(struct sb_arena *a)
{
    free_from(a->first);
    *a = (struct sb_arena){.max = a->max};
}

void
sb_arena_reset(struct sb_arena *a)
{
    a->used = 0;
    if (a->first == NULL)
        return;
    free_from(a->first->next);
    a->first->next = NULL;
    a->first->len = 0;
    a->last = a->first;
}

void *
sb_arena_get(struct sb_arena *a, size_t len)
{
    if (len > a->max - a->used)
        return NULL;
    size_t need = (len + 7) & ~(size_t)7;
    struct sb_arena_block *b = a->last;
    if (b == NULL || need > b->cap - b->len)
    {
        size_t cap = need > BLOCK ? need : BLOCK;
        struct sb_arena_block *fresh = malloc(sizeof(*fresh) + cap);
        if (fresh == NULL)
            return NULL;
        *fresh = (struct sb_arena_block){.cap = cap};
        if (b == NULL)
            a->first = fresh;
        else
            b->next = fresh;
        a->last = b = fresh;
    }
    void *out = b->data + b->len;
    b->len += need;
    a->used += need > a->max - a->used ? a->max - a->used : need;
    return out;
}

struct sb_bytes
sb_arena_copy(struct sb_arena *a, struct sb_bytes in, bool *ok)
{
    if (in.len == 0)
        return sb_bytes(NULL, 0);
    void *p = sb_arena_get(a, in.len);
    if (p == NULL)
    {
        *ok = false;
        return sb_bytes(NULL, 0);
    }
    memcpy(p, in.data, in.len);
    return sb_bytes(p, in.len);
}

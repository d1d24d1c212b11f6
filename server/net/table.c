/*
 * table.c - numbers for connections and for the changes that they wait for.
 *
 * A tag travels through the change log and comes back later, perhaps after its connection
 * is gone and another has its place. Invariant: a tag reaches only the connection that it
 * was made for; each number carries a generation that is raised when its place is freed.
 */
#include "net/internal.h"

#include <stdlib.h>

void
sb_table_init(struct sb_table *t)
{
    *t = (struct sb_table){.free_slot = SB_NO_INDEX, .free_pending = SB_NO_INDEX};
}

void
sb_table_finish(struct sb_table *t)
{
    free(t->slots);
    free(t->pending);
    sb_table_init(t);
}

int
sb_table_add(struct sb_table *t, struct sb_conn *c, uint32_t *slot)
{
    if (t->free_slot == SB_NO_INDEX)
    {
        uint32_t n = t->n_slots == 0 ? 64 : t->n_slots * 2;
        struct sb_slot *grown = realloc(t->slots, n * sizeof(*grown));
        if (grown == NULL)
            return SB_ERR_NO_MEMORY;
        t->slots = grown;
        for (uint32_t i = n; i-- > t->n_slots;)
        {
            grown[i] = (struct sb_slot){.generation = 1, .next_free = t->free_slot};
            t->free_slot = i;
        }
        t->n_slots = n;
    }
    *slot = t->free_slot;
    t->free_slot = t->slots[*slot].next_free;
    t->slots[*slot].conn = c;
    return 0;
}

void
sb_table_remove(struct sb_table *t, uint32_t slot)
{
    struct sb_slot *s = &t->slots[slot];
    s->conn = NULL;
    s->generation++;
    s->next_free = t->free_slot;
    t->free_slot = slot;
}

int
sb_table_tag(struct sb_table *t, uint32_t slot, struct sb_opt_uint re, uint64_t *tag)
{
    if (t->free_pending == SB_NO_INDEX)
    {
        uint32_t n = t->n_pending == 0 ? 64 : t->n_pending * 2;
        struct sb_pending *grown = realloc(t->pending, n * sizeof(*grown));
        if (grown == NULL)
            return SB_ERR_NO_MEMORY;
        t->pending = grown;
        for (uint32_t i = n; i-- > t->n_pending;)
        {
            grown[i] = (struct sb_pending){.generation = 1, .next_free = t->free_pending};
            t->free_pending = i;
        }
        t->n_pending = n;
    }
    uint32_t i = t->free_pending;
    struct sb_pending *p = &t->pending[i];
    t->free_pending = p->next_free;
    p->slot = slot;
    p->slot_generation = t->slots[slot].generation;
    p->re = re;
    p->used = true;
    *tag = (uint64_t)p->generation << 32 | i;
    return 0;
}

struct sb_conn *
sb_table_untag(struct sb_table *t, uint64_t tag, struct sb_opt_uint *re)
{
    uint32_t i = (uint32_t)tag;
    if (i >= t->n_pending || !t->pending[i].used || t->pending[i].generation != tag >> 32)
        return NULL;
    struct sb_pending *p = &t->pending[i];
    p->used = false;
    p->generation++;
    p->next_free = t->free_pending;
    t->free_pending = i;
    const struct sb_slot *s = &t->slots[p->slot];
    if (s->conn == NULL || s->generation != p->slot_generation)
        return NULL;
    *re = p->re;
    return s->conn;
}

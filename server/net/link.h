/*
 * link.h - an intrusive circular list: a member knows its neighbours, the list is a head.
 *
 * A link that is in no list points to itself, so removing twice is harmless.
 */
#ifndef SB_NET_LINK_H
#define SB_NET_LINK_H

#include <stdbool.h>
#include <stddef.h>

struct sb_link
{
    struct sb_link *next, *prev;
};

#define SB_LINK_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void
sb_link_init(struct sb_link *l)
{
    l->next = l->prev = l;
}

static inline bool
sb_link_empty(const struct sb_link *l)
{
    return l->next == l;
}

static inline void
sb_link_remove(struct sb_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    sb_link_init(l);
}

/* At the end of `head`'s list; out of the one that it is in. */
static inline void
sb_link_append(struct sb_link *head, struct sb_link *l)
{
    sb_link_remove(l);
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

/* Moves all members of `from` behind those of `to`. */
static inline void
sb_link_splice(struct sb_link *to, struct sb_link *from)
{
    if (sb_link_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    sb_link_init(from);
}

#endif

/*
 * names.h - a map from ids to names, built once per export and read for each message.
 */
#ifndef SB_IMPORT_NAMES_H
#define SB_IMPORT_NAMES_H

#include "import/arena.h"

struct sb_name_slot
{
    struct sb_bytes id, name;
};

struct sb_names
{
    struct sb_name_slot *slots; /* heap, open addressing, a power of two */
    size_t n, cap;
    struct sb_arena strings;
};

void sb_names_init(struct sb_names *t);
void sb_names_finish(struct sb_names *t);
/* Copies both. The first name of an id stands. SB_ERR_NO_MEMORY. */
int sb_names_put(struct sb_names *t, struct sb_bytes id, struct sb_bytes name);
/* The empty view when there is none. */
struct sb_bytes sb_names_get(const struct sb_names *t, struct sb_bytes id);

#endif

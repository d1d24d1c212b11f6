/*
 * arena.h - memory for one message: bump allocation, freed all at once.
 *
 * It has a hard maximum, so that no single message of a source can take the memory of the
 * program. Blocks are kept over a reset, up to a first few, so an import allocates once.
 */
#ifndef SB_IMPORT_ARENA_H
#define SB_IMPORT_ARENA_H

#include "protocol/bytes.h"

struct sb_arena_block;

struct sb_arena
{
    struct sb_arena_block *first, *last; /* heap; `last` is being filled */
    size_t used;                         /* bytes handed out since the last reset */
    size_t max;                          /* bytes allowed between two resets */
};

void sb_arena_init(struct sb_arena *a, size_t max);
void sb_arena_finish(struct sb_arena *a);
/* Everything handed out becomes invalid. */
void sb_arena_reset(struct sb_arena *a);
/* 8-byte aligned, not cleared. NULL past the maximum or when memory is short. */
void *sb_arena_get(struct sb_arena *a, size_t len);
/* A copy. `ok` is set to false on failure, else left alone. */
struct sb_bytes sb_arena_copy(struct sb_arena *a, struct sb_bytes in, bool *ok);

#endif

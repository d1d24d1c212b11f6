/*
 * keyset.h - the keys of one map while it is scanned, to find a key that comes twice.
 *
 * Constant work per key whatever the keys are: large maps are hashed under a random
 * key, so that a peer cannot choose keys that collide. Allocates nothing.
 */
#ifndef SB_PROTOCOL_KEYSET_H
#define SB_PROTOCOL_KEYSET_H

#include "protocol/bytes.h"
#include "protocol/limits.h"

/* Slots of the hashed form: at most half of them are ever used. */
#define SB_KEYSET_SLOTS (2 * SB_MAX_MAP_KEYS)

struct sb_keyset_slot
{
    uint32_t at;  /* offset of the key's bytes in the frame; 0: free (a map's head is there) */
    uint32_t len; /* bytes */
};

struct sb_keyset
{
    uint32_t used; /* keys so far */
    uint32_t mask; /* 0: few keys, compared one by one; else slots - 1 */
    struct sb_keyset_slot slot[SB_KEYSET_SLOTS];
};

/* The secret of the hashed form: 16 random bytes. */
struct sb_keyset_secret
{
    uint64_t k0, k1;
};

/* Starts a map of `keys` keys, at most SB_MAX_MAP_KEYS. */
void sb_keyset_begin(struct sb_keyset *set, uint32_t keys);
/* Adds frame[at, at + len); false when the map has that key already. at > 0. */
bool sb_keyset_add(struct sb_keyset *set, const struct sb_keyset_secret *secret,
                   const uint8_t *frame, uint32_t at, uint32_t len);

#endif

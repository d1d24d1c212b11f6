/*
 * keyset.c - duplicate keys: one by one in a small map, hashed in a large one.
 *
 * It must not know MessagePack: keys are byte ranges of a frame. A set never takes
 * more than the number of keys that it was begun with.
 */
#include "protocol/keyset.h"

/* Up to here comparing one by one is cheaper than hashing. */
#define FEW_KEYS 16

static uint64_t
rotate(uint64_t v, unsigned bits)
{
    return (v << bits) | (v >> (64 - bits));
}

static void
sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3. The byte order of a word does not matter: hashes never leave the process. */
static uint64_t
hash_key(const struct sb_keyset_secret *secret, const uint8_t *p, size_t len)
{
    uint64_t v[4] = {
        secret->k0 ^ UINT64_C(0x736f6d6570736575), secret->k1 ^ UINT64_C(0x646f72616e646f6d),
        secret->k0 ^ UINT64_C(0x6c7967656e657261), secret->k1 ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)len << 56;
    while (len >= 8)
    {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
        p += 8;
        len -= 8;
    }
    for (size_t i = 0; i < len; i++)
        last |= (uint64_t)p[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void
sb_keyset_begin(struct sb_keyset *set, uint32_t keys)
{
    set->used = 0;
    set->mask = 0;
    if (keys <= FEW_KEYS)
        return;
    uint32_t slots = 2 * FEW_KEYS;
    while (slots < 2 * keys && slots < SB_KEYSET_SLOTS)
        slots *= 2;
    set->mask = slots - 1;
    memset(set->slot, 0, slots * sizeof(set->slot[0]));
}

static bool
same_key(const uint8_t *frame, struct sb_keyset_slot slot, uint32_t at, uint32_t len)
{
    return slot.len == len && memcmp(frame + slot.at, frame + at, len) == 0;
}

bool
sb_keyset_add(struct sb_keyset *set, const struct sb_keyset_secret *secret, const uint8_t *frame,
              uint32_t at, uint32_t len)
{
    uint32_t i = 0;
    if (set->mask == 0)
    {
        for (; i < set->used; i++)
        {
            if (same_key(frame, set->slot[i], at, len))
                return false;
        }
    }
    else
    {
        i = (uint32_t)hash_key(secret, frame + at, len) & set->mask;
        for (; set->slot[i].at != 0; i = (i + 1) & set->mask)
        {
            if (same_key(frame, set->slot[i], at, len))
                return false;
        }
    }
    set->slot[i] = (struct sb_keyset_slot){at, len};
    set->used++;
    return true;
}

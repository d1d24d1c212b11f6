/* name_set.c - see name_set.h: open addressing, at most half full. */
#include "app/name_set.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/error.h"

static const uint8_t nothing[16];

void
sb_name_set_init(struct sb_name_set *s)
{
    *s = (struct sb_name_set){0};
}

void
sb_name_set_finish(struct sb_name_set *s)
{
    free(s->v);
    *s = (struct sb_name_set){0};
}

/* True if it was not there. There is room. */
static bool
put(struct sb_name_set *s, const uint8_t hash[16])
{
    size_t at;
    memcpy(&at, hash, sizeof(at));
    for (at &= s->cap - 1; memcmp(s->v[at], nothing, 16) != 0; at = (at + 1) & (s->cap - 1))
        if (memcmp(s->v[at], hash, 16) == 0)
            return false;
    memcpy(s->v[at], hash, 16);
    return true;
}

static int
grow(struct sb_name_set *s)
{
    struct sb_name_set old = *s;
    size_t cap = old.cap == 0 ? 64 : old.cap * 2;
    uint8_t(*v)[16] = calloc(cap, sizeof(*v));
    if (v == NULL)
        return SB_ERR_NO_MEMORY;
    s->v = v;
    s->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (memcmp(old.v[i], nothing, 16) != 0)
            (void)put(s, old.v[i]);
    free(old.v);
    return 0;
}

int
sb_name_set_add(struct sb_name_set *s, struct sb_bytes name)
{
    uint8_t hash[16];
    if (s->n >= s->cap / 2)
    {
        int rc = grow(s);
        if (rc != 0)
            return rc;
    }
    crypto_generichash(hash, sizeof(hash), name.data, name.len, NULL, 0);
    s->n += put(s, hash);
    return 0;
}

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
    struct sb_name_set bigger = {.n = s->n, .cap = s->cap == 0 ? 64 : s->cap * 2};
    bigger.v = calloc(bigger.cap, sizeof(*bigger.v));
    if (bigger.v == NULL)
        return SB_ERR_NO_MEMORY;
    for (size_t i = 0; i < s->cap; i++)
        if (memcmp(s->v[i], nothing, 16) != 0)
            put(&bigger, s->v[i]);
    free(s->v);
    *s = bigger;
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

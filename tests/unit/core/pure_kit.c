/* pure_kit.c - see pure_kit.h. */
#include "pure_kit.h"

uint64_t
pk_next(struct pk_random *r)
{
    /* splitmix64 */
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t
pk_below(struct pk_random *r, uint64_t n)
{
    return pk_next(r) % n;
}

void
pk_fill(struct pk_random *r, void *buf, size_t len)
{
    uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)pk_next(r);
}

static void
hash(const struct sb_store *s, struct sb_bytes in, struct sb_hash *out)
{
    (void)s;
    for (uint64_t half = 0; half < 2; half++)
    {
        struct pk_random h = {half + 1};
        for (size_t i = 0; i < in.len; i++)
            h.state = (h.state ^ in.data[i]) * UINT64_C(1099511628211);
        uint64_t v = pk_next(&h);
        memcpy(out->b + 8 * half, &v, 8);
    }
}

static const struct sb_store_ops hash_only = {.hash = hash};

struct sb_store pk_store = {.ops = &hash_only};

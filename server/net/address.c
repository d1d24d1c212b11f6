/* address.c - see address.h. */
#include "net/address.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* A key that no /64 has in practice marks IPv4: the discard prefix 100::/64 (RFC 6666). */
static void
make_key(const struct sockaddr *peer, uint8_t key[8], bool *loopback)
{
    memset(key, 0, 8);
    *loopback = false;
    if (peer->sa_family == AF_INET)
    {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)peer;
        key[0] = 1;
        memcpy(key + 4, &in->sin_addr, 4);
        *loopback = (ntohl(in->sin_addr.s_addr) >> 24) == 127;
    }
    else if (peer->sa_family == AF_INET6)
    {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)peer;
        const uint8_t *b = in6->sin6_addr.s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
        {
            key[0] = 1;
            memcpy(key + 4, b + 12, 4);
            *loopback = b[12] == 127;
            return;
        }
        memcpy(key, b, 8);
        *loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
    else if (peer->sa_family == AF_UNIX)
        *loopback = true;
}

static struct sb_address **
bucket_of(struct sb_addresses *a, const uint8_t key[8])
{
    uint64_t x;
    memcpy(&x, key, 8);
    x ^= a->seed;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 32;
    return &a->buckets[x % SB_ADDRESS_BUCKETS];
}

void
sb_addresses_init(struct sb_addresses *a, uint64_t seed)
{
    memset(a, 0, sizeof(*a));
    a->seed = seed;
}

void
sb_addresses_finish(struct sb_addresses *a)
{
    for (size_t i = 0; i < SB_ADDRESS_BUCKETS; i++)
        while (a->buckets[i] != NULL)
        {
            struct sb_address *e = a->buckets[i];
            a->buckets[i] = e->next;
            free(e);
        }
}

struct sb_address *
sb_address_take(struct sb_addresses *a, const struct sockaddr *peer)
{
    uint8_t key[8];
    bool loopback;
    make_key(peer, key, &loopback);
    struct sb_address **bucket = bucket_of(a, key);
    for (struct sb_address *e = *bucket; e != NULL; e = e->next)
        if (memcmp(e->key, key, 8) == 0 && e->loopback == loopback)
        {
            e->sockets++;
            return e;
        }
    struct sb_address *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    memcpy(e->key, key, 8);
    e->loopback = loopback;
    e->sockets = 1;
    e->next = *bucket;
    *bucket = e;
    return e;
}

void
sb_address_drop(struct sb_addresses *a, struct sb_address *entry)
{
    if (--entry->sockets != 0)
        return;
    struct sb_address **at = bucket_of(a, entry->key);
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    free(entry);
}

/*
 * address.h - how many connections each peer address has.
 *
 * An IPv4 address counts as itself, an IPv6 address by its /64. Entries exist only while
 * they are counted. Knows sockaddr and nothing else.
 */
#ifndef SB_NET_ADDRESS_H
#define SB_NET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define SB_ADDRESS_BUCKETS 4096

struct sb_address
{
    struct sb_address *next;
    uint8_t key[8];       /* the /64, or 4 bytes of IPv4 behind a mark */
    uint32_t sockets;     /* accepted and not closed */
    uint32_t web_sockets; /* of these upgraded */
    bool loopback;
};

struct sb_addresses
{
    uint64_t seed; /* so that a peer cannot choose its bucket */
    struct sb_address *buckets[SB_ADDRESS_BUCKETS];
};

void sb_addresses_init(struct sb_addresses *a, uint64_t seed);
/* Frees what is left. */
void sb_addresses_finish(struct sb_addresses *a);
/* The entry of `peer` with one more socket. NULL: short of memory. */
struct sb_address *sb_address_take(struct sb_addresses *a, const struct sockaddr *peer);
/* One socket less; the last one frees the entry. */
void sb_address_drop(struct sb_addresses *a, struct sb_address *entry);

#endif

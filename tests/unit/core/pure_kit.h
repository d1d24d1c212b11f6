/*
 * pure_kit.h - clock, randomness and a store that only hashes, for the core's pure tests.
 */
#ifndef SB_TESTS_PURE_KIT_H
#define SB_TESTS_PURE_KIT_H

#include "core/ports.h"
#include "core/store.h"

/* Seeded randomness: the same seed, the same bytes. */
struct pk_random
{
    uint64_t state;
};

uint64_t pk_next(struct pk_random *r);
/* 0 to n - 1. */
uint64_t pk_below(struct pk_random *r, uint64_t n);
void pk_fill(struct pk_random *r, void *buf, size_t len);

/* A store whose only operation is `hash`. */
extern struct sb_store pk_store;

#endif

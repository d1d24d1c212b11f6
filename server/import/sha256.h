/* sha256.h - SHA-256 (FIPS 180-4), for line identities that stay the same for ever. */
#ifndef SB_IMPORT_SHA256_H
#define SB_IMPORT_SHA256_H

#include "protocol/bytes.h"

struct sb_sha256
{
    uint32_t state[8];
    uint64_t len; /* bytes taken */
    uint8_t block[64];
};

void sb_sha256_init(struct sb_sha256 *h);
void sb_sha256_add(struct sb_sha256 *h, struct sb_bytes in);
void sb_sha256_end(struct sb_sha256 *h, uint8_t out[32]);

#endif

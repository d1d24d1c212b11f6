/*
 * forge.h - tokens made by hand, good and bad, without the code under test.
 *
 * Signing here follows RFC 7515 from the text of header and payload, so that a test can
 * sign what no honest issuer would.
 */
#ifndef SB_TEST_FORGE_H
#define SB_TEST_FORGE_H

#include "auth/keys.h"

#define FORGE_MAX 16384

/* Base64url without padding; NUL-terminated. Returns the length. */
size_t forge_base64(char *out, const void *data, size_t len);
/* header.payload.HMAC under any key. */
void forge_hs256(char out[FORGE_MAX], const char *header, const char *payload, const uint8_t *key,
                 size_t key_len);
/* The same with the HS256 subkey of keys->v[at]. */
void forge_own(char out[FORGE_MAX], const char *header, const char *payload,
               const struct sb_keys *keys, uint32_t at);
/* header.payload.Ed25519 signature. */
void forge_eddsa(char out[FORGE_MAX], const char *header, const char *payload,
                 const uint8_t secret_key[64]);
/* The SPKI PEM of an Ed25519 public key, lines of 64. */
void forge_pem(char out[FORGE_MAX], const uint8_t public_key[32]);

#endif

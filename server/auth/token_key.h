/* token_key.h - the HS256 subkey of a master key, for the two halves of token.h. */
#ifndef SB_AUTH_TOKEN_KEY_H
#define SB_AUTH_TOKEN_KEY_H

#include <sodium.h>

#include "auth/keys.h"

#define SB_TOKEN_MAC crypto_auth_hmacsha256_BYTES

static inline void
sb_token_key(const struct sb_key *key, uint8_t out[32])
{
    crypto_kdf_derive_from_key(out, 32, 1, "sbtokens", key->master);
}

static inline void
sb_token_mac(const uint8_t key[32], struct sb_bytes signed_part, uint8_t out[SB_TOKEN_MAC])
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, 32);
    crypto_auth_hmacsha256_update(&state, signed_part.data, signed_part.len);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof(state));
}

#endif

/*
 * token.h - JWTs: HS256 with the directory's keys, EdDSA with a configured public key.
 *
 * The algorithm is pinned by a fixed list before any crypto; `none` and unknown ones are
 * refused. Every failure looks the same to the caller: SB_ERR_UNAUTHENTICATED.
 */
#ifndef SB_AUTH_TOKEN_H
#define SB_AUTH_TOKEN_H

#include "auth/keys.h"
#include "core/types.h"

struct sb_token_verifier; /* keys and parser scratch; one per thread */

/* `keys` is copied. public_key_pem: the text of an Ed25519 SPKI PEM, or NULL. NULL with `why`
 * (256 bytes) filled when the PEM cannot be used. */
struct sb_token_verifier *sb_token_verifier_create(const struct sb_keys *keys,
                                                   const char *public_key_pem, char *why);
void sb_token_verifier_destroy(struct sb_token_verifier *v);
/* 0 and `out`, or SB_ERR_UNAUTHENTICATED. exp without leeway, nbf with 60 s. */
int sb_token_verify(struct sb_token_verifier *v, struct sb_bytes token, uint64_t now_ms,
                    struct sb_claims *out);
/* Signs an HS256 token with the newest key into `out` (NUL-terminated). SB_ERR_TOO_LARGE. */
int sb_token_sign(const struct sb_keys *keys, const struct sb_claims *claims, char *out,
                  size_t cap);

#endif

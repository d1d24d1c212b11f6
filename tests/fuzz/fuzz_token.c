/*
 * fuzz_token.c - any bytes as a token, and any header and claims under a good signature.
 *
 * What must hold: bytes without our signature are refused; what is accepted has names that
 * can be, an expiry ahead of now, and comes out the same a second time.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/token.h"

#define NOW UINT64_C(1700000000000)
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "fuzz_token: %s\n", what);
    abort();
}

static void
check_claims(const struct sb_claims *c)
{
    must(sb_name_ok(sb_bytes_str(c->user)), "accepted a user that cannot be");
    must(sb_name_ok(sb_bytes_str(c->tenant)), "accepted a tenant that cannot be");
    must(c->expires_ms > NOW, "accepted an expired token");
    must(c->expires_ms % 1000 == 0, "an expiry that is no whole second");
}

/* Input up to the first newline is the header, the rest the claims; signed with our key. */
static size_t
sign(const struct sb_keys *keys, const uint8_t *data, size_t size, char *out)
{
    const uint8_t *newline = memchr(data, '\n', size);
    size_t n = newline == NULL ? size : (size_t)(newline - data);
    size_t rest = newline == NULL ? size : n + 1;
    uint8_t key[32];
    uint8_t mac[32];
    crypto_auth_hmacsha256_state state;
    sodium_bin2base64(out, sodium_base64_encoded_len(n, VARIANT), data, n, VARIANT);
    size_t len = strlen(out);
    out[len++] = '.';
    sodium_bin2base64(out + len, sodium_base64_encoded_len(size - rest, VARIANT), data + rest,
                      size - rest, VARIANT);
    len += strlen(out + len);
    crypto_kdf_derive_from_key(key, sizeof(key), 1, "sbtokens", keys->v[0].master);
    crypto_auth_hmacsha256_init(&state, key, sizeof(key));
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)out, len);
    crypto_auth_hmacsha256_final(&state, mac);
    out[len++] = '.';
    sodium_bin2base64(out + len, sodium_base64_encoded_len(sizeof(mac), VARIANT), mac, sizeof(mac),
                      VARIANT);
    return len + strlen(out + len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sb_keys keys = {.n = 1, .next_id = 2, .v = {{.id = 1, .master = {7}}}};
    static struct sb_token_verifier *verifier;
    static char token[16384];
    char why[256];
    struct sb_claims claims;
    struct sb_claims again;
    if (verifier == NULL)
        verifier = sb_token_verifier_create(&keys, NULL, why);
    if (verifier == NULL || size > 4500)
        return 0;
    must(sb_token_verify(verifier, sb_bytes(data, size), NOW, &claims) == SB_ERR_UNAUTHENTICATED,
         "accepted what nobody signed");
    size_t len = sign(&keys, data, size, token);
    int rc = sb_token_verify(verifier, sb_bytes(token, len), NOW, &claims);
    must(rc == 0 || rc == SB_ERR_UNAUTHENTICATED, "another outcome");
    if (rc != 0)
        return 0;
    must(len <= SB_MAX_TOKEN, "accepted too long a token");
    check_claims(&claims);
    must(sb_token_verify(verifier, sb_bytes(token, len), NOW, &again) == 0, "not twice the same");
    must(strcmp(claims.user, again.user) == 0 && strcmp(claims.tenant, again.tenant) == 0 &&
             claims.service == again.service && claims.expires_ms == again.expires_ms,
         "not twice the same claims");
    token[len - 3] = token[len - 3] == 'A' ? 'B' : 'A';
    must(sb_token_verify(verifier, sb_bytes(token, len), NOW, &again) == SB_ERR_UNAUTHENTICATED,
         "accepted a changed signature");
    return 0;
}

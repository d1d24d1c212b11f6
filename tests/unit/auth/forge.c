/* forge.c - see forge.h. */
#include "forge.h"

#include <sodium.h>
#include <stdio.h>

size_t
forge_base64(char *out, const void *data, size_t len)
{
    /* It clears all of the room that it is given: give no more than it needs. */
    sodium_bin2base64(out, sodium_base64_encoded_len(len, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                      data, len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return strlen(out);
}

/* "header.payload"; returns its length. */
static size_t
start(char *out, const char *header, const char *payload)
{
    size_t n = forge_base64(out, header, strlen(header));
    out[n++] = '.';
    return n + forge_base64(out + n, payload, strlen(payload));
}

void
forge_hs256(char out[FORGE_MAX], const char *header, const char *payload, const uint8_t *key,
            size_t key_len)
{
    uint8_t mac[32];
    crypto_auth_hmacsha256_state state;
    size_t n = start(out, header, payload);
    crypto_auth_hmacsha256_init(&state, key, key_len);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)out, n);
    crypto_auth_hmacsha256_final(&state, mac);
    out[n++] = '.';
    forge_base64(out + n, mac, sizeof(mac));
}

void
forge_own(char out[FORGE_MAX], const char *header, const char *payload, const struct sb_keys *keys,
          uint32_t at)
{
    uint8_t key[32];
    crypto_kdf_derive_from_key(key, sizeof(key), 1, "sbtokens", keys->v[at].master);
    forge_hs256(out, header, payload, key, sizeof(key));
}

void
forge_eddsa(char out[FORGE_MAX], const char *header, const char *payload,
            const uint8_t secret_key[64])
{
    uint8_t signature[64];
    size_t n = start(out, header, payload);
    crypto_sign_detached(signature, NULL, (const uint8_t *)out, n, secret_key);
    out[n++] = '.';
    forge_base64(out + n, signature, sizeof(signature));
}

void
forge_pem(char out[FORGE_MAX], const uint8_t public_key[32])
{
    uint8_t der[44] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
    char text[128];
    memcpy(der + 12, public_key, 32);
    sodium_bin2base64(text, sizeof(text), der, sizeof(der), sodium_base64_VARIANT_ORIGINAL);
    snprintf(out, FORGE_MAX, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", text);
}

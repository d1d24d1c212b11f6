/*
 * token.c - the verifying half of token.h.
 *
 * Order matters: length, three parts, base64url, header, algorithm from a fixed list, then
 * crypto, and only then the claims. Nothing of the payload is parsed before its signature
 * holds. `kid` is compared as a decimal number and is never a path or a lookup; keys that a
 * token brings or points to (jwk, jku, x5c, x5u) are refused. HS256 uses only the
 * directory's derived keys, so the text of the public key can never be its secret.
 */
#include "auth/token.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/pem.h"
#include "auth/token_key.h"

#define NBF_LEEWAY_MS 60000

enum algorithm
{
    ALG_NONE, /* not on the list */
    ALG_HS256,
    ALG_EDDSA,
};

struct sb_token_verifier
{
    uint32_t n;
    struct
    {
        uint32_t id;
        uint8_t key[32];
    } v[SB_KEYS_MAX];
    bool has_public;
    uint8_t public_key[32];
    uint8_t header[SB_MAX_TOKEN], payload[SB_MAX_TOKEN]; /* decoded */
};

/* The three parts of a compact JWS, and what the signature covers. */
struct parts
{
    struct sb_bytes header, payload, signature, covered;
};

struct sb_token_verifier *
sb_token_verifier_create(const struct sb_keys *keys, const char *public_key_pem, char *why)
{
    struct sb_token_verifier *v = calloc(1, sizeof(*v));
    if (v == NULL || sodium_init() < 0)
    {
        (void)snprintf(why, 256, "short of memory");
        free(v);
        return NULL;
    }
    if (public_key_pem != NULL)
    {
        if (sb_pem_ed25519(public_key_pem, v->public_key, why) != 0)
        {
            free(v);
            return NULL;
        }
        v->has_public = true;
    }
    v->n = keys->n;
    for (uint32_t i = 0; i < keys->n; i++)
    {
        v->v[i].id = keys->v[i].id;
        sb_token_key(&keys->v[i], v->v[i].key);
    }
    return v;
}

void
sb_token_verifier_destroy(struct sb_token_verifier *v)
{
    if (v == NULL)
        return;
    sodium_memzero(v, sizeof(*v));
    free(v);
}

static bool
split(struct sb_bytes token, struct parts *out)
{
    const uint8_t *end = token.data + token.len;
    const uint8_t *a = token.len == 0 ? NULL : memchr(token.data, '.', token.len);
    const uint8_t *b = a == NULL ? NULL : memchr(a + 1, '.', (size_t)(end - a - 1));
    if (b == NULL || memchr(b + 1, '.', (size_t)(end - b - 1)) != NULL)
        return false;
    out->header = sb_bytes(token.data, (size_t)(a - token.data));
    out->payload = sb_bytes(a + 1, (size_t)(b - a - 1));
    out->signature = sb_bytes(b + 1, (size_t)(end - b - 1));
    out->covered = sb_bytes(token.data, (size_t)(b - token.data));
    return true;
}

/* base64url, no padding, no stray bits: one text per value. libsodium 1.0.18 takes bytes from
 * 0x80 on for digits (its char is signed there), so they are refused first. */
static bool
decode(struct sb_bytes text, uint8_t *out, size_t cap, size_t *len)
{
    uint8_t all = 0;
    for (size_t i = 0; i < text.len; i++)
        all |= text.data[i];
    return text.len != 0 && (all & 0x80) == 0 &&
           sodium_base642bin(out, cap, (const char *)text.data, text.len, NULL, len, NULL,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
}

static json_t *
load_object(const uint8_t *data, size_t len)
{
    json_t *o = json_loadb((const char *)data, len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

/* "1", "42": what we wrote ourselves, nothing that merely means the same. */
static bool
parse_key_id(const json_t *kid, uint32_t *out)
{
    const char *s = json_string_value(kid);
    uint64_t id = 0;
    if (s == NULL || *s < '1' || *s > '9' || json_string_length(kid) > 10)
        return false;
    for (; *s != '\0'; s++)
    {
        if (*s < '0' || *s > '9')
            return false;
        id = id * 10 + (uint64_t)(*s - '0');
    }
    *out = (uint32_t)id;
    return id <= UINT32_MAX;
}

/* An outside issuer's name for its key says nothing here, there is one key; but it has to be a
 * name: no path, no blank, nothing that could mean more to whoever logs it. */
static bool
key_name_ok(const json_t *kid)
{
    const char *s = json_string_value(kid);
    size_t len = json_string_length(kid);
    return len >= 1 && len <= 128 &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:=+~") ==
               len;
}

/* The pinned algorithm, and the key that is named (0: none is). */
static enum algorithm
read_header(const json_t *header, uint32_t *key_id)
{
    /* crit: extensions that must be understood, and none is. b64, zip, enc change what is
     * signed. The others bring or fetch a key. */
    static const char *const refused[] = {"crit", "b64", "zip", "enc", "jku",
                                          "jwk",  "x5u", "x5c", NULL};
    for (int i = 0; refused[i] != NULL; i++)
        if (json_object_get(header, refused[i]) != NULL)
            return ALG_NONE;
    const json_t *kid = json_object_get(header, "kid");
    const char *alg = json_string_value(json_object_get(header, "alg"));
    *key_id = 0;
    if (alg == NULL || (kid != NULL && !json_is_string(kid)))
        return ALG_NONE;
    if (strcmp(alg, "EdDSA") == 0)
        return kid == NULL || key_name_ok(kid) ? ALG_EDDSA : ALG_NONE;
    if (strcmp(alg, "HS256") != 0 || (kid != NULL && !parse_key_id(kid, key_id)))
        return ALG_NONE;
    return ALG_HS256;
}

static bool
check_hs256(const struct sb_token_verifier *v, uint32_t key_id, const struct parts *p)
{
    uint8_t given[SB_TOKEN_MAC], mac[SB_TOKEN_MAC];
    size_t len;
    bool good = false;
    if (!decode(p->signature, given, sizeof(given), &len) || len != sizeof(given))
        return false;
    for (uint32_t i = 0; i < v->n; i++)
    {
        if (key_id != 0 && v->v[i].id != key_id)
            continue;
        sb_token_mac(v->v[i].key, p->covered, mac);
        good |= sodium_memcmp(mac, given, sizeof(mac)) == 0;
    }
    sodium_memzero(mac, sizeof(mac));
    return good;
}

static bool
check_eddsa(const struct sb_token_verifier *v, const struct parts *p)
{
    uint8_t given[crypto_sign_BYTES];
    size_t len;
    return v->has_public && decode(p->signature, given, sizeof(given), &len) &&
           len == sizeof(given) &&
           crypto_sign_verify_detached(given, p->covered.data, p->covered.len, v->public_key) == 0;
}

/* Seconds since 1970 as a JSON integer. */
static bool
read_time(const json_t *value, uint64_t *ms)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > SB_MAX_SAFE_INT / 1000)
        return false;
    *ms = (uint64_t)json_integer_value(value) * 1000;
    return true;
}

static bool
read_name(const json_t *value, char out[SB_MAX_NAME + 1])
{
    if (!json_is_string(value))
        return false;
    struct sb_bytes name = sb_bytes(json_string_value(value), json_string_length(value));
    if (!sb_name_ok(name))
        return false;
    memcpy(out, name.data, name.len);
    out[name.len] = '\0';
    return true;
}

static bool
read_claims(const json_t *body, uint64_t now_ms, struct sb_claims *out)
{
    struct sb_claims c = {.tenant = "default"};
    uint64_t nbf;
    const json_t *not_before = json_object_get(body, "nbf");
    const json_t *tenant = json_object_get(body, "tenant");
    const json_t *role = json_object_get(body, "role");

    if (!read_time(json_object_get(body, "exp"), &c.expires_ms) || c.expires_ms <= now_ms)
        return false;
    if (not_before != NULL && (!read_time(not_before, &nbf) || nbf > now_ms + NBF_LEEWAY_MS))
        return false;
    if (!read_name(json_object_get(body, "sub"), c.user))
        return false;
    if (tenant != NULL && !read_name(tenant, c.tenant))
        return false;
    if (role != NULL)
    {
        /* A role that is not known may be meant to restrict: refuse, don't ignore. */
        if (!json_is_string(role) || strcmp(json_string_value(role), "service") != 0)
            return false;
        c.service = true;
    }
    *out = c;
    return true;
}

static bool
check_signature(struct sb_token_verifier *v, const struct parts *p)
{
    size_t len;
    uint32_t key_id;
    if (!decode(p->header, v->header, sizeof(v->header), &len))
        return false;
    json_t *header = load_object(v->header, len);
    if (header == NULL)
        return false;
    enum algorithm alg = read_header(header, &key_id);
    json_decref(header);
    switch (alg)
    {
    case ALG_HS256:
        return check_hs256(v, key_id, p);
    case ALG_EDDSA:
        return check_eddsa(v, p);
    case ALG_NONE:
        break;
    }
    return false;
}

int
sb_token_verify(struct sb_token_verifier *v, struct sb_bytes token, uint64_t now_ms,
                struct sb_claims *out)
{
    struct parts p;
    size_t len;
    if (token.len > SB_MAX_TOKEN || !split(token, &p) || !check_signature(v, &p) ||
        !decode(p.payload, v->payload, sizeof(v->payload), &len))
        return SB_ERR_UNAUTHENTICATED;
    json_t *body = load_object(v->payload, len);
    bool good = body != NULL && read_claims(body, now_ms, out);
    json_decref(body);
    return good ? 0 : SB_ERR_UNAUTHENTICATED;
}

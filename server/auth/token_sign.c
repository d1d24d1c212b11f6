/*
 * token_sign.c - the signing half of token.h.
 *
 * It signs what it is told to; who may ask for a token is the caller's affair.
 */
#include "auth/token.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "auth/token_key.h"

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static int
append_base64(char *out, size_t cap, size_t *len, const void *data, size_t n)
{
    size_t need = sodium_base64_encoded_len(n, VARIANT); /* with its NUL */
    if (need > cap - *len)
        return SB_ERR_TOO_LARGE;
    sodium_bin2base64(out + *len, cap - *len, data, n, VARIANT);
    *len += need - 1;
    return 0;
}

/* The claims as compact JSON, on jansson's heap (free() it); NULL when memory is short. */
static char *
payload(const struct sb_claims *c)
{
    json_t *o = json_pack("{s:s, s:s, s:I}", "sub", c->user, "tenant", c->tenant, "exp",
                          (json_int_t)(c->expires_ms / 1000));
    if (o == NULL)
        return NULL;
    char *text = NULL;
    if (!c->service || json_object_set_new(o, "role", json_string("service")) == 0)
        text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

int
sb_token_sign(const struct sb_keys *keys, const struct sb_claims *claims, char *out, size_t cap)
{
    if (!sb_name_ok(sb_bytes_str(claims->user)) || !sb_name_ok(sb_bytes_str(claims->tenant)))
        return SB_ERR_BAD_NAME;
    char header[64];
    int n = snprintf(header, sizeof(header),
                     "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"%" PRIu32 "\"}", keys->v[0].id);
    char *body = payload(claims);
    if (body == NULL)
        return SB_ERR_NO_MEMORY;
    size_t len = 0;
    int rc = append_base64(out, cap, &len, header, (size_t)n);
    if (rc == 0)
    {
        out[len++] = '.'; /* the NUL's place */
        rc = append_base64(out, cap, &len, body, strlen(body));
    }
    free(body);
    if (rc != 0)
        return rc;
    uint8_t key[32], mac[SB_TOKEN_MAC];
    sb_token_key(&keys->v[0], key);
    sb_token_mac(key, sb_bytes(out, len), mac);
    sodium_memzero(key, sizeof(key));
    out[len++] = '.';
    return append_base64(out, cap, &len, mac, sizeof(mac));
}

/*
 * test_token_eddsa.c - tokens of an outside issuer, whose Ed25519 public key is configured.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sodium.h>
#include <stdio.h>

#include "auth/token.h"
#include "forge.h"

#define NOW UINT64_C(1700000000000)
#define HEADER "{\"alg\":\"EdDSA\",\"kid\":\"issuer:2024\"}"
#define PAYLOAD "{\"sub\":\"alice\",\"exp\":1700000060}"

static struct sb_keys keys;
static struct sb_token_verifier *verifier;
static uint8_t public_key[32], secret_key[64];
static char pem[FORGE_MAX], token[FORGE_MAX];

static int
setup(void **state)
{
    (void)state;
    if (sodium_init() < 0)
        return -1;
    keys = (struct sb_keys){.n = 1, .next_id = 2, .v = {{.id = 1, .master = {9, 9, 9}}}};
    uint8_t seed[32] = {1, 2, 3};
    crypto_sign_seed_keypair(public_key, secret_key, seed);
    forge_pem(pem, public_key);
    char why[256];
    verifier = sb_token_verifier_create(&keys, pem, why);
    return verifier == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
    (void)state;
    sb_token_verifier_destroy(verifier);
    return 0;
}

static bool
accepted(const char *text)
{
    struct sb_claims c;
    int rc = sb_token_verify(verifier, sb_bytes_str(text), NOW, &c);
    assert_true(rc == 0 || rc == SB_ERR_UNAUTHENTICATED);
    return rc == 0;
}

static void
test_both_algorithms_side_by_side(void **state)
{
    (void)state;
    forge_eddsa(token, HEADER, PAYLOAD, secret_key);
    assert_true(accepted(token));
    forge_own(token, "{\"alg\":\"HS256\"}", PAYLOAD, &keys, 0);
    assert_true(accepted(token));
}

/* The classic confusion: the public key, in each form that a program might hold it, as the
 * secret of an HS256 token. */
static void
test_public_key_as_secret(void **state)
{
    (void)state;
    static const char *const headers[] = {"{\"alg\":\"HS256\"}",
                                          "{\"alg\":\"HS256\",\"kid\":\"1\"}"};
    for (int i = 0; i < 2; i++)
    {
        forge_hs256(token, headers[i], PAYLOAD, (const uint8_t *)pem, strlen(pem));
        assert_false(accepted(token));
        forge_hs256(token, headers[i], PAYLOAD, (const uint8_t *)pem, strlen(pem) - 1);
        assert_false(accepted(token));
        forge_hs256(token, headers[i], PAYLOAD, public_key, sizeof(public_key));
        assert_false(accepted(token));
    }
    /* And our own MAC under the other name. */
    forge_own(token, HEADER, PAYLOAD, &keys, 0);
    assert_false(accepted(token));
}

static void
test_every_signature_bit(void **state)
{
    (void)state;
    uint8_t sig[64];
    forge_eddsa(token, HEADER, PAYLOAD, secret_key);
    char *part = strrchr(token, '.') + 1;
    crypto_sign_detached(sig, NULL, (const uint8_t *)token, (size_t)(part - token) - 1, secret_key);
    for (int bit = 0; bit < 512; bit++)
    {
        sig[bit / 8] = (uint8_t)(sig[bit / 8] ^ (1 << (bit % 8)));
        forge_base64(part, sig, sizeof(sig));
        assert_false(accepted(token));
        sig[bit / 8] = (uint8_t)(sig[bit / 8] ^ (1 << (bit % 8)));
    }
    forge_base64(part, sig, 63);
    assert_false(accepted(token));
    forge_base64(part, sig, 64);
    assert_true(accepted(token));
}

static void
test_another_issuer(void **state)
{
    (void)state;
    uint8_t other_public[32], other_secret[64], seed[32] = {4};
    crypto_sign_seed_keypair(other_public, other_secret, seed);
    forge_eddsa(token, HEADER, PAYLOAD, other_secret);
    assert_false(accepted(token));
    forge_eddsa(token, "{\"alg\":\"EdDSA\",\"jwk\":{\"kty\":\"OKP\"}}", PAYLOAD, secret_key);
    assert_false(accepted(token));
    static const char *const kids[] = {"7",          "null", "\"\"",    "\"../../x\"",
                                       "\"/dev/x\"", "[]",   "\"a b\"", "\"a\\nb\""};
    for (size_t i = 0; i < sizeof(kids) / sizeof(kids[0]); i++)
    {
        char header[256];
        snprintf(header, sizeof(header), "{\"alg\":\"EdDSA\",\"kid\":%s}", kids[i]);
        forge_eddsa(token, header, PAYLOAD, secret_key);
        if (accepted(token))
            fail_msg("accepted kid %s", kids[i]);
    }
    forge_eddsa(token, "{\"alg\":\"EdDSA\",\"crit\":[\"exp\"]}", PAYLOAD, secret_key);
    assert_false(accepted(token));
}

static void
refuse_pem(const char *text, const char *part_of_why)
{
    char why[256] = "";
    struct sb_token_verifier *v = sb_token_verifier_create(&keys, text, why);
    if (v != NULL)
        fail_msg("accepted the PEM %s", text);
    if (strstr(why, part_of_why) == NULL)
        fail_msg("\"%s\" does not tell \"%s\"", why, part_of_why);
}

static void
test_pem_forms(void **state)
{
    (void)state;
    char text[FORGE_MAX], why[256];
    refuse_pem("", "no PEM block");
    refuse_pem("hello", "no PEM block");
    refuse_pem("-----BEGIN PUBLIC KEY-----\nMCow", "no PEM block");
    refuse_pem("-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n", "private key");
    refuse_pem("-----BEGIN PUBLIC KEY-----\n!!\n-----END PUBLIC KEY-----\n", "not an Ed25519");
    refuse_pem("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "not an Ed25519");
    snprintf(text, sizeof(text), "%.7000s%.7000s", pem, pem);
    refuse_pem(text, "more than one");

    /* X25519 (RFC 8410, 1.3.101.110) has the same shape and is not a signing key. */
    snprintf(text, sizeof(text), "%s", pem);
    char *body = strchr(text, '\n') + 1;
    assert_memory_equal(body, "MCowBQYDK2VwAyEA", 16);
    memcpy(body, "MCowBQYDK2VuAyEA", 16);
    refuse_pem(text, "not an Ed25519");

    uint8_t zero[32] = {0}; /* a point of small order */
    forge_pem(text, zero);
    refuse_pem(text, "not a point");

    /* CRLF, a comment before, no newline at the end. */
    size_t n = (size_t)snprintf(text, sizeof(text), "our issuer\r\n");
    for (const char *c = pem; *c != '\0'; c++)
    {
        if (*c == '\n')
            text[n++] = '\r';
        text[n++] = *c;
    }
    text[n - 2] = '\0';
    struct sb_token_verifier *v = sb_token_verifier_create(&keys, text, why);
    assert_non_null(v);
    sb_token_verifier_destroy(v);
    sb_token_verifier_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_algorithms_side_by_side),
        cmocka_unit_test(test_public_key_as_secret),
        cmocka_unit_test(test_every_signature_bit),
        cmocka_unit_test(test_another_issuer),
        cmocka_unit_test(test_pem_forms),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/*
 * test_token.c - HS256 tokens: what is signed verifies, and everything else is one refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/token.h"
#include "forge.h"

#define NOW UINT64_C(1700000000000)
#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"7\"}"
#define PAYLOAD "{\"sub\":\"alice\",\"exp\":1700000060}"

static struct sb_keys keys;
static struct sb_token_verifier *verifier;
static char token[FORGE_MAX];

static int
setup(void **state)
{
    (void)state;
    if (sodium_init() < 0)
        return -1;
    keys = (struct sb_keys){.n = 2, .next_id = 8, .v = {{.id = 7}, {.id = 3}}};
    for (int i = 0; i < 32; i++)
    {
        keys.v[0].master[i] = (uint8_t)i;
        keys.v[1].master[i] = (uint8_t)(200 - i);
    }
    char why[256];
    verifier = sb_token_verifier_create(&keys, NULL, why);
    return verifier == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
    (void)state;
    sb_token_verifier_destroy(verifier);
    return 0;
}

static int
verify(const char *text, uint64_t now, struct sb_claims *out)
{
    return sb_token_verify(verifier, sb_bytes_str(text), now, out);
}

/* Verifies at NOW; a refusal leaves the out-parameter alone. */
static bool
accepted(const char *text)
{
    struct sb_claims c, before;
    memset(&c, 0x5a, sizeof(c));
    before = c;
    int rc = verify(text, NOW, &c);
    if (rc == 0)
        return true;
    assert_int_equal(rc, SB_ERR_UNAUTHENTICATED);
    assert_memory_equal(&c, &before, sizeof(c));
    return false;
}

static bool
own_accepted(const char *header, const char *payload)
{
    forge_own(token, header, payload, &keys, 0);
    return accepted(token);
}

static void
test_sign_then_verify(void **state)
{
    (void)state;
    struct sb_claims in = {
        .tenant = "acme", .user = "zo\xc3\xab", .service = true, .expires_ms = NOW + 60000};
    struct sb_claims out;
    char text[512];
    assert_int_equal(sb_token_sign(&keys, &in, text, sizeof(text)), 0);
    assert_int_equal(verify(text, NOW, &out), 0);
    assert_string_equal(out.tenant, "acme");
    assert_string_equal(out.user, "zo\xc3\xab");
    assert_true(out.service);
    assert_int_equal(out.expires_ms, NOW + 60000);

    in.service = false;
    assert_int_equal(sb_token_sign(&keys, &in, text, sizeof(text)), 0);
    assert_int_equal(verify(text, NOW, &out), 0);
    assert_false(out.service);
}

/* The form is fixed by others: a token made from the RFC's rules alone is the same text. */
static void
test_sign_is_the_expected_text(void **state)
{
    (void)state;
    struct sb_claims in = {.tenant = "default", .user = "alice", .expires_ms = 1700000060000};
    char text[512];
    assert_int_equal(sb_token_sign(&keys, &in, text, sizeof(text)), 0);
    forge_own(token, HEADER, "{\"sub\":\"alice\",\"tenant\":\"default\",\"exp\":1700000060}", &keys,
              0);
    assert_string_equal(text, token);
}

static void
test_sign_into_a_small_buffer(void **state)
{
    (void)state;
    struct sb_claims in = {.tenant = "default", .user = "alice", .expires_ms = NOW + 1000};
    char text[512];
    assert_int_equal(sb_token_sign(&keys, &in, text, sizeof(text)), 0);
    size_t need = strlen(text) + 1;
    for (size_t cap = 0; cap < need; cap++)
    {
        char *exact = malloc(cap + 1); /* so that a sanitizer sees a byte too many */
        assert_int_equal(sb_token_sign(&keys, &in, exact, cap), SB_ERR_TOO_LARGE);
        free(exact);
    }
    char *exact = malloc(need);
    assert_int_equal(sb_token_sign(&keys, &in, exact, need), 0);
    assert_string_equal(exact, text);
    free(exact);
    in.user[0] = '\0';
    assert_int_equal(sb_token_sign(&keys, &in, text, sizeof(text)), SB_ERR_BAD_NAME);
}

static void
test_longest_claims_fit(void **state)
{
    (void)state;
    struct sb_claims in = {.service = true, .expires_ms = NOW + 1000}, out;
    memset(in.tenant, '"', SB_MAX_NAME); /* escaped in JSON: twice as long */
    memset(in.user, '\\', SB_MAX_NAME);
    char text[SB_MAX_TOKEN + 1];
    assert_int_equal(sb_token_sign(&keys, &in, text, sizeof(text)), 0);
    assert_int_equal(verify(text, NOW, &out), 0);
    assert_string_equal(out.user, in.user);
    assert_string_equal(out.tenant, in.tenant);
}

static void
test_every_bit_flipped(void **state)
{
    (void)state;
    forge_own(token, HEADER, PAYLOAD, &keys, 0);
    assert_true(accepted(token));
    size_t len = strlen(token);
    for (size_t i = 0; i < len; i++)
        for (int bit = 0; bit < 8; bit++)
        {
            char *copy = malloc(len); /* no NUL: the length is what counts */
            memcpy(copy, token, len);
            copy[i] = (char)(copy[i] ^ (1 << bit));
            struct sb_claims c;
            int rc = sb_token_verify(verifier, sb_bytes(copy, len), NOW, &c);
            free(copy);
            if (rc != SB_ERR_UNAUTHENTICATED)
                fail_msg("byte %zu bit %d flipped: %d", i, bit, rc);
        }
}

static void
test_every_truncation(void **state)
{
    (void)state;
    forge_own(token, HEADER, PAYLOAD, &keys, 0);
    struct sb_claims c;
    for (size_t len = 0; len < strlen(token); len++)
        assert_int_equal(sb_token_verify(verifier, sb_bytes(token, len), NOW, &c),
                         SB_ERR_UNAUTHENTICATED);
    assert_int_equal(sb_token_verify(verifier, sb_bytes(NULL, 0), NOW, &c), SB_ERR_UNAUTHENTICATED);
}

static void
test_signature_bits_of_the_decoded_mac(void **state)
{
    (void)state;
    uint8_t mac[32];
    size_t n;
    forge_own(token, HEADER, PAYLOAD, &keys, 0);
    char *sig = strrchr(token, '.') + 1;
    assert_int_equal(sodium_base642bin(mac, sizeof(mac), sig, strlen(sig), NULL, &n, NULL,
                                       sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                     0);
    for (int bit = 0; bit < 256; bit++)
    {
        mac[bit / 8] = (uint8_t)(mac[bit / 8] ^ (1 << (bit % 8)));
        forge_base64(sig, mac, sizeof(mac));
        assert_false(accepted(token));
        mac[bit / 8] = (uint8_t)(mac[bit / 8] ^ (1 << (bit % 8)));
    }
    /* A shorter or longer MAC, its truth included. */
    forge_base64(sig, mac, 31);
    assert_false(accepted(token));
    forge_base64(sig, mac, 16);
    assert_false(accepted(token));
    uint8_t longer[33] = {0};
    memcpy(longer, mac, 32);
    forge_base64(sig, longer, 33);
    assert_false(accepted(token));
    forge_base64(sig, mac, 32);
    assert_true(accepted(token));
}

static void
test_algorithms(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"None\"}",
        "{\"alg\":\"NONE\"}",
        "{\"alg\":\"HS384\"}",
        "{\"alg\":\"HS512\"}",
        "{\"alg\":\"RS256\"}",
        "{\"alg\":\"hs256\"}",
        "{\"alg\":\"HS256 \"}",
        "{\"alg\":\"EdDSA\"}", /* no public key is configured */
        "{\"alg\":\"\"}",
        "{\"alg\":null}",
        "{\"alg\":256}",
        "{\"alg\":[\"HS256\"]}",
        "{\"alg\":{}}",
        "{}",
        "[]",
        "\"HS256\"",
        "null",
        "{\"alg\":\"HS256\"",
        "{\"alg\":\"HS256\"} ,",
        "{\"alg\":\"none\",\"alg\":\"HS256\"}",
        "{\"alg\":\"HS256\",\"alg\":\"HS256\"}",
        "{\"alg\":\"HS256\\u0000\"}",
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (own_accepted(refused[i], PAYLOAD))
            fail_msg("accepted header %s", refused[i]);
    assert_true(own_accepted("{\"alg\":\"HS256\"}", PAYLOAD)); /* no kid: any of our keys */
}

static void
test_none_without_signature(void **state)
{
    (void)state;
    char text[FORGE_MAX];
    forge_own(text, "{\"alg\":\"none\"}", PAYLOAD, &keys, 0);
    strrchr(text, '.')[1] = '\0';
    assert_false(accepted(text));
    forge_own(text, HEADER, PAYLOAD, &keys, 0);
    strrchr(text, '.')[1] = '\0';
    assert_false(accepted(text));
}

static void
test_header_fields_that_bring_keys(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "\"crit\":[\"exp\"]", "\"crit\":[]",
        "\"crit\":null",      "\"jku\":\"https://evil/\"",
        "\"jwk\":{}",         "\"x5u\":\"https://evil/\"",
        "\"x5c\":[]",         "\"b64\":false",
        "\"zip\":\"DEF\"",    "\"enc\":\"A128GCM\"",
    };
    char header[256];
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
    {
        snprintf(header, sizeof(header), "{\"alg\":\"HS256\",\"kid\":\"7\",%s}", fields[i]);
        if (own_accepted(header, PAYLOAD))
            fail_msg("accepted header field %s", fields[i]);
    }
}

static void
test_kid(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "\"../../x\"",
        "\"/dev/null\"",
        "\"7 \"",
        "\" 7\"",
        "\"07\"",
        "\"+7\"",
        "\"-7\"",
        "\"7.0\"",
        "\"0x7\"",
        "\"\"",
        "\"0\"",
        "7",
        "null",
        "[\"7\"]",
        "\"8\"",
        "\"3\"",          /* is there, but did not sign this */
        "\"4294967303\"", /* 7 + 2^32 */
        "\"18446744073709551623\"",
        "\"7\\u0000\"",
        "\"7' OR '1'='1\"",
    };
    char header[256];
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
    {
        snprintf(header, sizeof(header), "{\"alg\":\"HS256\",\"kid\":%s}", refused[i]);
        if (own_accepted(header, PAYLOAD))
            fail_msg("accepted kid %s", refused[i]);
    }
    /* An older key still verifies, with its id and without. */
    forge_own(token, "{\"alg\":\"HS256\",\"kid\":\"3\"}", PAYLOAD, &keys, 1);
    assert_true(accepted(token));
    forge_own(token, "{\"alg\":\"HS256\"}", PAYLOAD, &keys, 1);
    assert_true(accepted(token));
}

static void
test_other_secrets(void **state)
{
    (void)state;
    uint8_t zero[32] = {0}, cursor_key[32];
    forge_hs256(token, HEADER, PAYLOAD, zero, 0);
    assert_false(accepted(token));
    forge_hs256(token, HEADER, PAYLOAD, zero, 32);
    assert_false(accepted(token));
    /* Neither the master key nor the cursors' subkey signs tokens. */
    forge_hs256(token, HEADER, PAYLOAD, keys.v[0].master, 32);
    assert_false(accepted(token));
    crypto_kdf_derive_from_key(cursor_key, 32, 1, "sbcursor", keys.v[0].master);
    forge_hs256(token, HEADER, PAYLOAD, cursor_key, 32);
    assert_false(accepted(token));
}

static void
test_expiry_to_the_millisecond(void **state)
{
    (void)state;
    struct sb_claims c;
    forge_own(token, HEADER, PAYLOAD, &keys, 0); /* exp 1700000060 */
    assert_int_equal(verify(token, 1700000059999, &c), 0);
    assert_int_equal(verify(token, 1700000060000, &c), SB_ERR_UNAUTHENTICATED);
    assert_int_equal(verify(token, 1700000060001, &c), SB_ERR_UNAUTHENTICATED);
    assert_int_equal(verify(token, 1700000121000, &c), SB_ERR_UNAUTHENTICATED); /* by 61 s */
    assert_int_equal(verify(token, UINT64_MAX, &c), SB_ERR_UNAUTHENTICATED);
}

static void
test_not_before_with_leeway(void **state)
{
    (void)state;
    struct sb_claims c;
    forge_own(token, HEADER, "{\"sub\":\"a\",\"exp\":1800000000,\"nbf\":1700000000}", &keys, 0);
    assert_int_equal(verify(token, NOW, &c), 0);
    assert_int_equal(verify(token, NOW - 60000, &c), 0);
    assert_int_equal(verify(token, NOW - 60001, &c), SB_ERR_UNAUTHENTICATED);
}

static void
test_claims_refused(void **state)
{
    (void)state;
    char long_name[256];
    snprintf(long_name, sizeof(long_name), "{\"sub\":\"%0129d\",\"exp\":1800000000}", 0);
    const char *const refused[] = {
        "{\"sub\":\"a\"}",
        "{\"sub\":\"a\",\"exp\":null}",
        "{\"sub\":\"a\",\"exp\":\"1800000000\"}",
        "{\"sub\":\"a\",\"exp\":1800000000.5}",
        "{\"sub\":\"a\",\"exp\":1.8e9}",
        "{\"sub\":\"a\",\"exp\":true}",
        "{\"sub\":\"a\",\"exp\":-1}",
        "{\"sub\":\"a\",\"exp\":0}",
        "{\"sub\":\"a\",\"exp\":9223372036854775807}",  /* times 1,000 overflows */
        "{\"sub\":\"a\",\"exp\":18446744073709551616}", /* 2^64 */
        "{\"sub\":\"a\",\"exp\":18446744073709552}",    /* times 1,000 wraps to little */
        "{\"sub\":\"a\",\"exp\":1800000000,\"exp\":1800000000}",
        "{\"sub\":\"a\",\"exp\":1600000000,\"exp\":1800000000}",
        "{\"sub\":\"a\",\"sub\":\"b\",\"exp\":1800000000}",
        "{\"sub\":\"a\",\"s\\u0075b\":\"b\",\"exp\":1800000000}", /* the same key, escaped */
        "{\"exp\":1800000000}",
        "{\"sub\":\"\",\"exp\":1800000000}",
        "{\"sub\":7,\"exp\":1800000000}",
        "{\"sub\":null,\"exp\":1800000000}",
        "{\"sub\":\"a\\u0000b\",\"exp\":1800000000}",
        "{\"sub\":\"a\\nb\",\"exp\":1800000000}",
        "{\"sub\":\"\xff\",\"exp\":1800000000}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"nbf\":1700000061}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"nbf\":null}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"nbf\":\"0\"}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"nbf\":1.5}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"tenant\":\"\"}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"tenant\":null}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"tenant\":1}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"role\":\"admin\"}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"role\":\"Service\"}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"role\":[\"service\"]}",
        "{\"sub\":\"a\",\"exp\":1800000000,\"role\":null}",
        "{\"sub\":\"a\",\"exp\":1800000000} x",
        "[{\"sub\":\"a\",\"exp\":1800000000}]",
        "\"a\"",
        long_name,
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (own_accepted(HEADER, refused[i]))
            fail_msg("accepted claims %s", refused[i]);
    /* What others add is let be. */
    assert_true(own_accepted(HEADER, "{\"sub\":\"a\",\"exp\":1800000000,\"iat\":1,\"aud\":\"x\"}"));
    assert_true(own_accepted(HEADER, "{\"sub\":\"a\",\"exp\":1800000000,\"role\":\"service\"}"));
}

static void
test_defaults(void **state)
{
    (void)state;
    struct sb_claims c;
    forge_own(token, HEADER, PAYLOAD, &keys, 0);
    assert_int_equal(verify(token, NOW, &c), 0);
    assert_string_equal(c.tenant, "default");
    assert_string_equal(c.user, "alice");
    assert_false(c.service);
}

/* Base64url has one spelling: no padding, no other alphabet, no blanks, no stray bits. */
static void
test_base64_spelling(void **state)
{
    (void)state;
    char text[2 * FORGE_MAX];
    for (int part = 0; part < 3; part++)
    {
        static const char *const inserts[] = {"=", "==", "\n", " ", "\r\n", ".", "%3D"};
        for (size_t i = 0; i < sizeof(inserts) / sizeof(inserts[0]); i++)
        {
            forge_own(token, HEADER, PAYLOAD, &keys, 0);
            char *end = token;
            for (int dot = 0; dot <= part; dot++)
            {
                end = strchr(end + 1, '.');
                end = end == NULL ? token + strlen(token) : end;
            }
            snprintf(text, sizeof(text), "%.*s%s%s", (int)(end - token), token, inserts[i], end);
            if (accepted(text))
                fail_msg("accepted \"%s\" after part %d", inserts[i], part);
        }
    }
    /* 32 bytes leave two spare bits in the last digit: all but zero are refused. */
    forge_own(token, HEADER, PAYLOAD, &keys, 0);
    char *last = token + strlen(token) - 1;
    char good = *last;
    int takers = 0;
    for (const char *c = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/"; *c;
         c++)
    {
        *last = *c;
        takers += accepted(token);
    }
    *last = good;
    assert_int_equal(takers, 1);
    assert_true(accepted(token));
}

static void
test_length_limit(void **state)
{
    (void)state;
    char payload[8192];
    for (int pad = 2800; pad < 3100; pad++)
    {
        snprintf(payload, sizeof(payload), "{\"sub\":\"a\",\"exp\":1800000000,\"x\":\"%0*d\"}", pad,
                 0);
        forge_own(token, HEADER, payload, &keys, 0);
        assert_int_equal(accepted(token), strlen(token) <= SB_MAX_TOKEN);
    }
    snprintf(payload, sizeof(payload), "{\"sub\":\"a\",\"exp\":1800000000,\"x\":\"%05120d\"}", 0);
    assert_false(own_accepted(HEADER, payload));
}

static void
test_deep_json(void **state)
{
    (void)state;
    char payload[3000];
    memset(payload, '[', sizeof(payload));
    payload[2900] = '\0';
    assert_false(own_accepted(HEADER, payload));
    assert_false(own_accepted(payload, PAYLOAD));
}

static void
test_random_bytes(void **state)
{
    (void)state;
    uint64_t seed = 20240607;
    print_message("seed %" PRIu64 "\n", seed);
    uint8_t buf[256];
    struct sb_claims c;
    for (int round = 0; round < 20000; round++)
    {
        uint8_t key[32] = {0};
        uint64_t n = seed + (uint64_t)round;
        memcpy(key, &n, sizeof(n));
        randombytes_buf_deterministic(buf, sizeof(buf), key);
        if (round % 2 == 0)
            for (size_t i = 0; i < sizeof(buf); i++)
                buf[i] = (uint8_t)("ey.AJhbGciOiJIUzI1NiJ9"[buf[i] % 22]);
        assert_int_equal(sb_token_verify(verifier, sb_bytes(buf, buf[0] % sizeof(buf)), NOW, &c),
                         SB_ERR_UNAUTHENTICATED);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sign_then_verify),
        cmocka_unit_test(test_sign_is_the_expected_text),
        cmocka_unit_test(test_sign_into_a_small_buffer),
        cmocka_unit_test(test_longest_claims_fit),
        cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_signature_bits_of_the_decoded_mac),
        cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_none_without_signature),
        cmocka_unit_test(test_header_fields_that_bring_keys),
        cmocka_unit_test(test_kid),
        cmocka_unit_test(test_other_secrets),
        cmocka_unit_test(test_expiry_to_the_millisecond),
        cmocka_unit_test(test_not_before_with_leeway),
        cmocka_unit_test(test_claims_refused),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_base64_spelling),
        cmocka_unit_test(test_length_limit),
        cmocka_unit_test(test_deep_json),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

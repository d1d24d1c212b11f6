/*
 * pem.c - see pem.h.
 *
 * RFC 8410: the SubjectPublicKeyInfo of an Ed25519 key is always the same 12 bytes of DER
 * and the 32 of the key, so it is compared and not parsed.
 */
#include "auth/pem.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define BEGIN "-----BEGIN PUBLIC KEY-----"
#define END "-----END PUBLIC KEY-----"

static const uint8_t prefix[12] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                   0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

static int
refuse(char *why, const char *text)
{
    (void)snprintf(why, 256, "%s", text);
    return SB_ERR_BAD_REQUEST;
}

int
sb_pem_ed25519(const char *pem, uint8_t out[32], char *why)
{
    uint8_t der[sizeof(prefix) + 32];
    size_t len;

    if (strstr(pem, "PRIVATE KEY") != NULL)
        return refuse(why, "that is a private key; the public one is needed");
    const char *begin = strstr(pem, BEGIN);
    const char *end = begin == NULL ? NULL : strstr(begin, END);
    if (end == NULL)
        return refuse(why, "there is no PEM block PUBLIC KEY");
    if (strstr(end, BEGIN) != NULL)
        return refuse(why, "there is more than one PUBLIC KEY");
    begin += sizeof(BEGIN) - 1;
    if (sodium_base642bin(der, sizeof(der), begin, (size_t)(end - begin), " \t\r\n", &len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        len != sizeof(der) || memcmp(der, prefix, sizeof(prefix)) != 0)
        return refuse(why, "it is not an Ed25519 public key (SPKI)");
    if (!crypto_core_ed25519_is_valid_point(der + sizeof(prefix)))
        return refuse(why, "its bytes are not a point that a key can be");
    memcpy(out, der + sizeof(prefix), 32);
    return 0;
}

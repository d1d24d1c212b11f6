/* pem.h - the public key in a PEM text: one SPKI block with an Ed25519 key, nothing else. */
#ifndef SB_AUTH_PEM_H
#define SB_AUTH_PEM_H

#include <stdint.h>

/* 0 and the key's 32 bytes, or SB_ERR_BAD_REQUEST with `why` (256 bytes). */
int sb_pem_ed25519(const char *pem, uint8_t out[32], char *why);

#endif

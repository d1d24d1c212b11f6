/*
 * utf8.h - the one UTF-8 check, of the wire and of imports.
 *
 * Valid means: shortest form, no surrogates, nothing above U+10FFFF. NUL is a character.
 */
#ifndef SB_PROTOCOL_UTF8_H
#define SB_PROTOCOL_UTF8_H

#include "protocol/bytes.h"

bool sb_utf8_valid(struct sb_bytes s);
/* Bytes of the longest valid prefix. */
size_t sb_utf8_prefix(struct sb_bytes s);
/* Length of the sequence at p[0], n >= 1. Not valid: 0, and *bad bytes are its maximal invalid
 * part. */
size_t sb_utf8_sequence(const uint8_t *p, size_t n, size_t *bad);
/* Whether a valid string has a C0, DEL or C1 (U+0080 to U+009F) control character. */
bool sb_utf8_has_control(struct sb_bytes s);

#endif

/*
 * utf8.h - the one UTF-8 check of the wire.
 *
 * Valid means: shortest form, no surrogates, nothing above U+10FFFF. NUL is a character.
 */
#ifndef SB_PROTOCOL_UTF8_H
#define SB_PROTOCOL_UTF8_H

#include "protocol/bytes.h"

bool sb_utf8_valid(struct sb_bytes s);
/* Whether a valid string has a C0, DEL or C1 (U+0080 to U+009F) control character. */
bool sb_utf8_has_control(struct sb_bytes s);

#endif

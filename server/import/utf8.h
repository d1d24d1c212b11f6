/*
 * utf8.h - validity of UTF-8, repair of what is not, cutting at a border.
 *
 * Sources are other people's files: their bytes are never trusted to be UTF-8, and never a
 * reason to lose a message.
 */
#ifndef SB_IMPORT_UTF8_H
#define SB_IMPORT_UTF8_H

#include "base/buf.h"

/* Bytes of the longest valid prefix (RFC 3629: no overlong forms, no surrogates). */
size_t sb_import_utf8_prefix(struct sb_bytes in);
bool sb_import_utf8_valid(struct sb_bytes in);
/* The largest length <= max that does not split a sequence. `in` is valid. */
size_t sb_import_utf8_cut(struct sb_bytes in, size_t max);
/* Decodes the sequence at in[0]; its length 1..4, or 0 when it is not valid. */
size_t sb_import_utf8_decode(struct sb_bytes in, uint32_t *code);
/* Encodes a code point (<= 0x10ffff) into out[4]; its length. */
size_t sb_import_utf8_encode(uint32_t code, uint8_t *out);
/* Appends `in` with each maximal invalid part replaced by U+FFFD; an encoded surrogate is one
 * part. 0 or SB_ERR_ of the buffer. */
int sb_import_utf8_repair(struct sb_buf *out, struct sb_bytes in);

#endif

/*
 * utf8.h - repair of what is not UTF-8, cutting at a border, encoding.
 *
 * Sources are other people's files: their bytes are never trusted to be UTF-8, and never a
 * reason to lose a message.
 */
#ifndef SB_IMPORT_UTF8_H
#define SB_IMPORT_UTF8_H

#include "base/buf.h"

/* The largest length <= max that does not split a sequence. `in` is valid. */
size_t sb_import_utf8_cut(struct sb_bytes in, size_t max);
/* Encodes a code point (<= 0x10ffff) into out[4]; its length. */
size_t sb_import_utf8_encode(uint32_t code, uint8_t *out);
/* Appends `in` with each maximal invalid part replaced by U+FFFD; an encoded surrogate is one
 * part. 0 or SB_ERR_ of the buffer. */
int sb_import_utf8_repair(struct sb_buf *out, struct sb_bytes in);

#endif

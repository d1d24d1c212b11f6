/*
 * key_file.h - the text of the key file, apart from where it lies.
 *
 * {"format": 1, "next_id": 3, "keys": [{"id": 2, "created": MS, "master": "64 hex digits"}, ...]}
 * newest first, ids strictly falling and below next_id.
 */
#ifndef SB_AUTH_KEY_FILE_H
#define SB_AUTH_KEY_FILE_H

#include "auth/keys.h"
#include "base/buf.h"

#define SB_KEY_FILE_FORMAT 1
#define SB_KEY_FILE_MAX 16384 /* bytes; a full file is under 2 KiB */

/* Strict: anything unexpected is refused. SB_ERR_FOREIGN with `why` (256 bytes). */
int sb_key_file_parse(struct sb_bytes text, struct sb_keys *out, char *why);
/* Appends the text. SB_ERR_NO_MEMORY, SB_ERR_TOO_LARGE. The caller wipes the buffer. */
int sb_key_file_format(const struct sb_keys *keys, struct sb_buf *out);

#endif

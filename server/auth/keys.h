/*
 * keys.h - the directory's key file: master keys with ids, subkeys by purpose.
 *
 * DIR/keys.json, mode 0600, written by rename. The newest key signs; older ones verify
 * until they are dropped. Subkeys come from crypto_kdf: one for cursors, one for tokens.
 */
#ifndef SB_AUTH_KEYS_H
#define SB_AUTH_KEYS_H

#include "core/ports.h"

#define SB_KEYS_MAX SB_CURSOR_KEYS_MAX

struct sb_key
{
    uint32_t id; /* 1, 2, ... never used twice */
    uint64_t created_ms;
    uint8_t master[32];
};

struct sb_keys
{
    uint32_t n;
    uint32_t next_id;
    struct sb_key v[SB_KEYS_MAX]; /* newest first */
};

/* Reads DIR/keys.json; `create`: makes one when it is missing. SB_ERR_NOT_FOUND, SB_ERR_FOREIGN
 * (not readable as ours, or readable by others), SB_ERR_IO; `why` (256 bytes) tells. */
int sb_keys_load(const char *dir, bool create, uint64_t now_ms, struct sb_keys *out, char *why);
/* A new newest key; SB_ERR_FULL when SB_KEYS_MAX are there already. Writes the file. */
int sb_keys_rotate(const char *dir, struct sb_keys *keys, uint64_t now_ms, char *why);
/* Removes one; not the last. SB_ERR_NOT_FOUND, SB_ERR_CONFLICT (the only one). Writes the file. */
int sb_keys_drop(const char *dir, struct sb_keys *keys, uint32_t id, char *why);
/* The cursor subkeys, newest first. */
void sb_keys_for_cursors(const struct sb_keys *keys, struct sb_cursor_keys *out);

#endif

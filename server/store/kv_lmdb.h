/*
 * kv_lmdb.h - the ordered map in an LMDB file. See kv.h.
 */
#ifndef SB_STORE_KV_LMDB_H
#define SB_STORE_KV_LMDB_H

#include "store/kv.h"

struct sb_kv_lmdb_options
{
    const char *dir;
    const char *file;  /* inside dir; other than "data.mdb": a file being built, no lock file */
    uint64_t map_size; /* 0: 1 TiB, or 16 GiB where that cannot be had */
    bool read_only;
    bool no_sync; /* nothing is on disk before sync() */
    int lock_fd;  /* of the directory's lock, closed with the map; -1: none */
};

/*
 * Opens the environment and its tables; an empty one gets them unless read_only.
 * `why` (at least 512 bytes) gets a sentence. SB_ERR_FOREIGN, IO, NO_MEMORY, FULL.
 */
int sb_kv_lmdb_open(const struct sb_kv_lmdb_options *o, struct sb_kv **out, char *why);

/* Bytes of address space that it has. */
uint64_t sb_kv_lmdb_map_size(const struct sb_kv *kv);

/* For a map that is only filled once, in key order: appends at the end of a table. */
int sb_kv_lmdb_append(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key,
                      struct sb_bytes value);

/* Whether LMDB of that version is known to be safe here. */
bool sb_kv_lmdb_version_ok(int major, int minor, int patch);

/*
 * What a failed commit means. Nothing was stored if LMDB refused before it wrote; a write
 * that the disk refused counts as "full" only if there is no space left and LMDB still
 * works; else nobody knows.
 */
int sb_kv_lmdb_commit_error(int rc, bool no_space, bool usable);

#endif

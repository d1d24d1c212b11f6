/*
 * store.h (store) - opening, checking and repacking a store.
 *
 * What is done with an open store goes through the port, core/store.h.
 */
#ifndef SB_STORE_STORE_H
#define SB_STORE_STORE_H

#include "core/store.h"

enum sb_store_mode
{
    SB_STORE_SERVE, /* read and write, full sync, takes the directory's lock */
    SB_STORE_BULK,  /* a new directory only: no sync until finished, marked unfinished */
    SB_STORE_READ,  /* check: takes the lock, writes nothing */
};

struct sb_store_options
{
    const char *dir; /* created (0700) when missing, unless READ */
    enum sb_store_mode mode;
    uint64_t map_size;     /* bytes of address space; 0: 1 TiB, or 16 GiB when that fails */
    uint64_t quota;        /* bytes in use past which writes get SB_ERR_FULL; 0: 7/8 of the map */
    uint64_t now_ms;       /* for a new store's epoch and commit times */
    uint32_t derive_after; /* rows that may wait for their derived entries; 0: the default */
    void (*random)(void *buf, size_t len); /* hash key, store id, epoch of a new store */
};

/* A clear sentence for the operator, filled when opening fails. */
struct sb_store_failure
{
    char text[512];
};

/*
 * Opens (or creates) a store. SB_ERR_BUSY: another process has the directory;
 * SB_ERR_FOREIGN: not a store of ours, truncated, unfinished, world-readable or of a newer
 * format; SB_ERR_IO; SB_ERR_NO_MEMORY. sb_store_close frees it.
 */
int sb_store_open(const struct sb_store_options *o, struct sb_store **out,
                  struct sb_store_failure *why);
void sb_store_close(struct sb_store *s);

/* A store in memory behind the same code, for tests and simulation. Links without LMDB. */
int sb_store_open_memory(const struct sb_store_options *o, struct sb_store **out);

/* Writes what is behind (derived entries) and syncs. Loop thread, no job running. */
int sb_store_settle(struct sb_store *s);

/*
 * Rewrites the store of a closed directory with full leaves: reads in key order and appends
 * to a new file, syncs, renames. `bulk_done`: takes the unfinished mark away at the end.
 * progress(ctx, done, total) in entries; may be NULL.
 */
int sb_store_repack(const char *dir, uint64_t map_size,
                    void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
                    struct sb_store_failure *why);

struct sb_store_report
{
    uint64_t threads, members, rows, past, postings, changes, sources, nonces, reactions;
    uint64_t bad_checksums; /* records whose checksum fails */
    uint64_t lost;          /* seqs that no row carries, or by_seq entries without a row */
    uint64_t index_missing; /* postings, by_seq or reverse entries that should be there */
    uint64_t index_extra;   /* postings or entries that nothing stands behind */
    uint64_t ahead;         /* threads whose newest at lies ahead of now: told, not an error */
};
/* Verifies every record and both directions of every index. Problems are told one by one,
 * at most 100, through `problem`. 0 when all is well, SB_ERR_CORRUPT when not. */
int sb_store_check(struct sb_store *s, uint64_t now_ms,
                   void (*problem)(void *ctx, const char *text), void *ctx,
                   struct sb_store_report *out);

#endif

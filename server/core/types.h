/*
 * types.h - the nouns that all of the core speaks: positions, threads, members, rows.
 */
#ifndef SB_CORE_TYPES_H
#define SB_CORE_TYPES_H

#include "base/error.h"
#include "protocol/frames.h"

/*
 * A place in a thread. The order of a thread is (at, seq).
 * at: Unix milliseconds; seq: 1, 2, 3 ... in commit order.
 */
struct sb_pos
{
    uint64_t at, seq;
};

#define SB_POS_MIN ((struct sb_pos){0, 0})
#define SB_POS_MAX ((struct sb_pos){UINT64_MAX, UINT64_MAX})

static inline int
sb_pos_cmp(struct sb_pos a, struct sb_pos b)
{
    if (a.at != b.at)
        return a.at < b.at ? -1 : 1;
    return (a.seq > b.seq) - (a.seq < b.seq);
}

/* Which way a scan walks from its position. */
enum sb_direction
{
    SB_OLDER = 0,
    SB_NEWER = 1,
};

struct sb_thread
{
    uint64_t id;
    enum sb_history history;
    enum sb_thread_access access;
    uint64_t created;    /* version that created it */
    uint64_t next_seq;   /* of the next row; 1 in a new thread */
    uint64_t newest_at;  /* ms; no later post gets an older time */
    struct sb_pos floor; /* rows at or below it are gone by retention; SB_POS_MIN: none */
    struct sb_bytes tenant, name, title; /* title empty: none */
};

struct sb_member
{
    enum sb_role role;  /* NONE: removed, kept */
    struct sb_pos join; /* rows after it are visible under since_join; SB_POS_MIN for founders */
    uint64_t join_version;
};

/* Flags of a row, as stored. */
enum sb_row_flag
{
    SB_ROW_DELETED = 1, /* a tombstone */
    SB_ROW_KIND = 2,    /* has a kind other than the default "message" */
    SB_ROW_LONG = 4,    /* more words than are indexed: a candidate of every text scan */
};

/* 128-bit keyed hash of a tag such as "by:alice". */
struct sb_hash
{
    uint8_t b[16];
};

/* A row as read: views into the store, valid until the read transaction ends. */
struct sb_row
{
    struct sb_pos pos;
    uint64_t created, changed; /* versions */
    uint32_t flags;            /* enum sb_row_flag */
    uint32_t n_tags;
    const struct sb_hash *tags; /* the author's "by:" first */
    struct sb_bytes body;       /* the packed message */
};

/* Who a token speaks for. */
struct sb_claims
{
    char tenant[SB_MAX_NAME + 1], user[SB_MAX_NAME + 1]; /* NUL-terminated */
    bool service;
    uint64_t expires_ms; /* Unix ms */
};

#endif

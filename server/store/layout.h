/*
 * layout.h - the store's format, byte by byte: tables, keys, values, checksums.
 *
 * It must not know transactions or what an entry means to the core. Every integer is
 * big-endian, so keys sort by number. Values are read with memcpy: nothing is aligned.
 *
 * FORMAT 1. u8, u16, u32, u64: unsigned integers; h128: a keyed hash (sb_layout_hash);
 * sum: u64, sb_layout_sum over table, key and the value behind the sum.
 *
 *   table      key                                     value
 *   meta       "format"                                "scrollbk" u8 format
 *              "identity"                              sum, store id[16], u64 epoch, hash key[16],
 *                                                      u64 created ms
 *              "state"                                 sum, u64 last version, last commit ms,
 *                                                      derived version, indexed version, horizon,
 *                                                      changes floor, last thread id,
 *                                                      word-analyser version, two reserved (0)
 *   names      1, h128(tenant 0 name)                  u64 thread
 *              2, tenant, 0, name                      u64 thread
 *   threads    u64 thread                              sum, u8 history, u8 access, u16 reserved,
 *                                                      u32 keep days, u64 created, next seq,
 *                                                      newest at, floor at, floor seq,
 *                                                      u16 length of tenant, name, title;
 *                                                      tenant, name, title
 *   members    1, u64 thread, user                     sum, u8 role, u64 join at, join seq,
 *                                                      join version
 *              2, h128(tenant 0 user), u64 thread      (empty)
 *   messages   u64 thread, at, seq                     row: sum, u8 format of the row (1),
 *                                                      u8 flags, u16 tags, u32 body length,
 *                                                      u64 created, changed; body; h128 per tag
 *   by_seq     u64 thread, seq                         sum, u64 at
 *   past       u64 thread, at, seq, superseded by      row
 *   tags       u64 thread, h128 tag, u64 at, seq       u64 created
 *   changes    1, u64 version                          u64 thread, at, seq, time ms, u8 kind,
 *                                                      u8 has nonce, [h128 nonce]; payload
 *              2, u64 thread, version                  u8 kind, u64 at, seq; for every kind
 *                                                      but a post, whose row tells it
 *   sources    u64 thread, h128 id                     u64 seq, digest[16]
 *   nonces     1, h128 nonce                           u64 seq, at, version, time ms
 *              2, u32 day of time, h128 nonce          (empty): by age, for removal
 *   reactions  u64 thread, seq, h128 emoji, h128 user  u64 version, u8 length of emoji, emoji, user
 *   words, debris, sessions, shares, reads             made at creation, empty in format 1
 *
 * A keyed hash is SipHashX-2-4 (128 bits) under the store's own key: 18 ns, against 278 ns
 * of a keyed BLAKE2b, and nobody without the key can make two names collide.
 * The sum is XXH3 (64 bits); it finds damage, it is no seal.
 *
 * To change the format: add what is new in a reserved field or a new table if that keeps
 * old readers right; else raise SB_LAYOUT_FORMAT, describe the new bytes above, let
 * engine.c convert an older store in one transaction at open (SERVE only) before anything
 * reads it, keep a store of the old format as a test's input, and name both numbers in
 * README.md. A store of a newer format is refused. A row has its own format byte: rows may
 * be converted when they are rewritten.
 */
#ifndef SB_STORE_LAYOUT_H
#define SB_STORE_LAYOUT_H

#include "core/store.h"

#define SB_LAYOUT_FORMAT 1
#define SB_LAYOUT_MAGIC "scrollbk"

/* The tables, in the order of their creation and repacking. */
#define SB_TABLES(X)                                                                               \
    X(META, "meta")                                                                                \
    X(NAMES, "names")                                                                              \
    X(THREADS, "threads")                                                                          \
    X(MEMBERS, "members")                                                                          \
    X(MESSAGES, "messages")                                                                        \
    X(BY_SEQ, "by_seq")                                                                            \
    X(PAST, "past")                                                                                \
    X(TAGS, "tags")                                                                                \
    X(WORDS, "words")                                                                              \
    X(CHANGES, "changes")                                                                          \
    X(DEBRIS, "debris")                                                                            \
    X(SOURCES, "sources")                                                                          \
    X(NONCES, "nonces")                                                                            \
    X(REACTIONS, "reactions")                                                                      \
    X(READS, "reads")                                                                              \
    X(SESSIONS, "sessions")                                                                        \
    X(SHARES, "shares")

enum sb_table
{
#define X(id, name) SB_TABLE_##id,
    SB_TABLES(X)
#undef X
        SB_TABLE_COUNT,
};
extern const char *const sb_table_names[SB_TABLE_COUNT];

/* A key being built. */
#define SB_KEY_MAX 511
struct sb_key
{
    uint16_t len;
    uint8_t b[SB_KEY_MAX];
};

static inline void
sb_be16(uint8_t *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof(v));
}

static inline void
sb_be32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof(v));
}

static inline void
sb_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof(v));
}

static inline uint16_t
sb_get16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap16(v);
}

static inline uint32_t
sb_get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap32(v);
}

static inline uint64_t
sb_get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap64(v);
}

static inline void
sb_key_start(struct sb_key *k)
{
    k->len = 0;
}

static inline void
sb_key_u8(struct sb_key *k, uint8_t v)
{
    k->b[k->len++] = v;
}

static inline void
sb_key_u64(struct sb_key *k, uint64_t v)
{
    sb_be64(k->b + k->len, v);
    k->len = (uint16_t)(k->len + 8);
}

static inline void
sb_key_bytes(struct sb_key *k, struct sb_bytes v)
{
    if (v.len != 0)
        memcpy(k->b + k->len, v.data, v.len);
    k->len = (uint16_t)(k->len + v.len);
}

static inline void
sb_key_hash(struct sb_key *k, const struct sb_hash *h)
{
    sb_key_bytes(k, sb_bytes(h->b, sizeof(h->b)));
}

static inline struct sb_bytes
sb_key_view(const struct sb_key *k)
{
    return sb_bytes(k->b, k->len);
}

/* ---- keys; every function starts the key anew ---- */

void sb_key_name_hash(struct sb_key *k, const struct sb_hash *h);
/* Names are at most SB_MAX_NAME bytes; longer ones give SB_ERR_BAD_NAME. */
int sb_key_name(struct sb_key *k, struct sb_bytes tenant, struct sb_bytes name);
void sb_key_thread(struct sb_key *k, uint64_t thread);
int sb_key_member(struct sb_key *k, uint64_t thread, struct sb_bytes user);
void sb_key_reverse(struct sb_key *k, const struct sb_hash *user, uint64_t thread);
void sb_key_row(struct sb_key *k, uint64_t thread, struct sb_pos pos);
void sb_key_seq(struct sb_key *k, uint64_t thread, uint64_t seq);
void sb_key_past(struct sb_key *k, uint64_t thread, struct sb_pos pos, uint64_t version);
void sb_key_tag(struct sb_key *k, uint64_t thread, const struct sb_hash *tag, struct sb_pos pos);
void sb_key_change(struct sb_key *k, uint64_t version);
void sb_key_thread_change(struct sb_key *k, uint64_t thread, uint64_t version);
void sb_key_source(struct sb_key *k, uint64_t thread, const struct sb_hash *id);
void sb_key_nonce(struct sb_key *k, const struct sb_hash *nonce);
void sb_key_nonce_day(struct sb_key *k, uint64_t time_ms, const struct sb_hash *nonce);
void sb_key_reaction(struct sb_key *k, uint64_t thread, uint64_t seq, const struct sb_hash *emoji,
                     const struct sb_hash *user);

#define SB_KEY_FORM_1 1
#define SB_KEY_FORM_2 2
#define SB_ROW_KEY_LEN 24
#define SB_SEQ_KEY_LEN 16
#define SB_PAST_KEY_LEN 32
#define SB_TAG_KEY_LEN 40

/* The position at the end of a row's or posting's key. */
static inline struct sb_pos
sb_pos_at(const uint8_t *p)
{
    return (struct sb_pos){sb_get64(p), sb_get64(p + 8)};
}

/* ---- values ---- */

/* Checksum over a table's key and the value behind its sum. */
uint64_t sb_layout_sum(enum sb_table table, struct sb_bytes key, struct sb_bytes rest);
/* Fills the first 8 bytes of a value whose rest is written. */
void sb_layout_seal(enum sb_table table, struct sb_bytes key, uint8_t *value, size_t len);
/* 0, or SB_ERR_CORRUPT. */
int sb_layout_verify(enum sb_table table, struct sb_bytes key, struct sb_bytes value);

/* 128-bit keyed hash; key: 16 bytes. */
void sb_layout_hash(const uint8_t key[16], struct sb_bytes in, struct sb_hash *out);
/* The hash of two names of one tenant: a, 0, b. Longer ones than names are cut off by the
 * caller's checks. */
void sb_layout_hash2(const uint8_t key[16], struct sb_bytes a, struct sb_bytes b,
                     struct sb_hash *out);

#define SB_ROW_HEAD 32
#define SB_ROW_FORMAT 1
#define SB_ROW_MAX_TAGS UINT16_MAX
static inline size_t
sb_row_size(const struct sb_row *r)
{
    return SB_ROW_HEAD + r->body.len + sizeof(struct sb_hash) * r->n_tags;
}
/* `place` has sb_row_size bytes. */
void sb_row_encode(enum sb_table table, struct sb_bytes key, const struct sb_row *r,
                   uint8_t *place);
/* Verifies and fills all but pos with views into `value`. 0 or SB_ERR_CORRUPT. */
int sb_row_decode(enum sb_table table, struct sb_bytes key, struct sb_bytes value,
                  struct sb_row *out);

#define SB_THREAD_HEAD 62
#define SB_THREAD_MAX (SB_THREAD_HEAD + 2 * SB_MAX_NAME + SB_MAX_TITLE)
/* What a thread's record holds beyond struct sb_thread. */
struct sb_thread_extra
{
    uint32_t keep_days; /* 0: for ever */
};
/* Returns the length written into `place` (SB_THREAD_MAX bytes). */
size_t sb_thread_encode(struct sb_bytes key, const struct sb_thread *t,
                        const struct sb_thread_extra *extra, uint8_t *place);
/* `extra` may be NULL. */
int sb_thread_decode(struct sb_bytes key, struct sb_bytes value, struct sb_thread *out,
                     struct sb_thread_extra *extra);

#define SB_MEMBER_LEN 33
void sb_member_encode(struct sb_bytes key, const struct sb_member *m, uint8_t *place);
int sb_member_decode(struct sb_bytes key, struct sb_bytes value, struct sb_member *out);

#define SB_SEQ_LEN 16
void sb_seq_encode(struct sb_bytes key, uint64_t at, uint8_t *place);
int sb_seq_decode(struct sb_bytes key, struct sb_bytes value, uint64_t *at);

#define SB_CHANGE_HEAD 34
size_t sb_change_size(const struct sb_change *c);
void sb_change_encode(const struct sb_change *c, uint8_t *place);
/* `version` comes from the key. */
int sb_change_decode(struct sb_bytes key, struct sb_bytes value, struct sb_change *out);
#define SB_THREAD_CHANGE_LEN 17

#define SB_NONCE_LEN 32
void sb_nonce_encode(const struct sb_nonce *n, uint8_t *place);
int sb_nonce_decode(struct sb_bytes value, struct sb_nonce *out);

#define SB_SOURCE_LEN 24

/* meta "state": rewritten by every commit. */
struct sb_state
{
    uint64_t last_version, last_time;
    uint64_t derived; /* by_seq, tags and nonces are written up to this version */
    uint64_t indexed; /* words likewise */
    uint64_t horizon, changes_floor;
    uint64_t last_thread;
    uint64_t analyser;
    uint64_t reserved[2];
};
#define SB_STATE_LEN 88
void sb_state_encode(const struct sb_state *s, uint8_t *place);
int sb_state_decode(struct sb_bytes value, struct sb_state *out);

struct sb_identity
{
    uint8_t id[16];
    uint64_t epoch;
    uint8_t hash_key[16];
    uint64_t created_ms;
};
#define SB_IDENTITY_LEN 56
void sb_identity_encode(const struct sb_identity *i, uint8_t *place);
int sb_identity_decode(struct sb_bytes value, struct sb_identity *out);

#endif

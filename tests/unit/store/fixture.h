/*
 * fixture.h - a store to test, on either map, and posts in a few words.
 *
 * Both maps are held by a kv_fault that outlives the store: closing without settling and
 * starting again is what a crash leaves.
 */
#ifndef SB_TEST_STORE_FIXTURE_H
#define SB_TEST_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kv_fault.h"
#include "store/inner.h"

enum fixture_kind
{
    FIXTURE_MEMORY,
    FIXTURE_LMDB,
};

struct fixture
{
    enum fixture_kind kind;
    struct sb_store_options options;
    char dir[64];
    struct kv_fault *fault;
    struct sb_store *store;
};

/* derive_after 0: the default. */
void fixture_open(struct fixture *f, enum fixture_kind kind, uint32_t derive_after);
/* Closes the store without settling it and starts another over the same map. */
void fixture_reopen(struct fixture *f);
void fixture_close(struct fixture *f);

/* A new empty directory below the system's temporary one. */
void fixture_make_dir(char out[64]);
void fixture_remove_dir(const char *dir);
/* Opens the store of a directory or fails the test with the sentence that it was refused with. */
struct sb_store *fixture_open_dir(const char *dir, enum sb_store_mode mode);
/* Options of a store in a directory. */
struct sb_store_options fixture_options(const char *dir, enum sb_store_mode mode);

/* xorshift: printed seed, same tests. */
uint64_t fixture_random(uint64_t *state);
uint64_t fixture_seed(void);

struct sb_hash fixture_tag(uint64_t n);

/* Creates a thread with one writer, "alice", in a transaction of its own; gives its id. */
uint64_t fixture_thread(struct sb_store *s, const char *name);

struct fixture_post
{
    uint64_t thread;
    uint64_t at;    /* 0: the thread's newest + 1 */
    uint64_t tag;   /* second tag; the first is tag 1 */
    uint64_t nonce; /* 0: none */
    const char *text;
};
/* Posts inside a write transaction: row, thread, change, nonce. Gives the row's place. */
int fixture_post(struct sb_txn *t, const struct fixture_post *p, struct sb_pos *pos,
                 uint64_t *version);
/* A post in a transaction of its own, published. */
struct sb_pos fixture_post_now(struct sb_store *s, uint64_t thread, const char *text);
/* Edits (or, with text NULL, deletes) inside a write transaction. */
int fixture_edit(struct sb_txn *t, uint64_t thread, struct sb_pos pos, const char *text,
                 uint64_t tag, bool keep_past, uint64_t *version);
void fixture_commit(struct sb_store *s, struct sb_txn *t);

/* Below the port, in a transaction of its own: changes the byte at `at` of an entry's value,
 * removes the entry, puts one. */
void fixture_flip(struct sb_store *s, enum sb_table table, const struct sb_key *key, size_t at);
void fixture_raw_del(struct sb_store *s, enum sb_table table, const struct sb_key *key);
void fixture_raw_put(struct sb_store *s, enum sb_table table, const struct sb_key *key,
                     struct sb_bytes value);
/* Puts another store's content, entry by entry, beside this one's: true when they are equal. */
bool fixture_same(struct sb_store *a, struct sb_store *b);

/* 0 when sb_store_check finds nothing wrong; problems are printed. */
int fixture_check(struct sb_store *s, struct sb_store_report *report);

#endif

/*
 * world.h - the store that the driver measures on, the core over it, and what is counted.
 */
#ifndef SB_TESTS_PERF_WORLD_H
#define SB_TESTS_PERF_WORLD_H

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/token.h"
#include "core/apply.h"
#include "core/session.h"
#include "protocol/limits.h"
#include "store/store.h"

#define NOW_MS UINT64_C(1700000000000)
#define NOW_US UINT64_C(9000000000)
#define THREADS 100

struct world
{
    struct sb_store *store;
    struct sb_store_ops ops; /* the store's, with a horizon of our own */
    struct sb_engine *engine;
    struct sb_applier *applier;
    struct sb_token_verifier *verifier;
    struct sb_keys keys;
    struct sb_cursor_keys cursor_keys;
    struct sb_buf out;
    msgpack_sbuffer frame;
    msgpack_packer pack;
    char token[SB_MAX_TOKEN + 1];
    uint64_t now_us;
};

extern struct world w;
/* Threads that alice reads, that are closed to her, that are missing, that are posted to. */
enum
{
    READ,
    CLOSED,
    MISSING,
    POSTED,
    N_NAMES
};
extern char names[N_NAMES][THREADS][16];
extern char text[260];
/* Snapshots below it are gone, whatever the store says. */
extern uint64_t lowest_horizon;

/* Only what runs inside these two is counted. */
void measured_step(struct sb_session *s, const struct sb_event *ev, struct sb_effects *fx);
int measured_apply(const struct sb_record *const *records, struct sb_result *results, size_t n);

/* Ends the program when rc is not 0. */
void must(int rc, const char *what);
/* A record by a service in that user's name. */
struct sb_record record(enum sb_record_op op, const char *thread, const char *user);
struct sb_record post(const char *thread, const char *text, bool with_nonce, uint64_t n);
/* Applies at most 1,024, in one counted call. */
void apply(const struct sb_record *records, size_t n);
void make_thread(const char *name, enum sb_history history, bool member);

void open_world(const char *dir, const char *kind);
void close_world(void);
/* Fills a new store. */
void setup(void);

#endif

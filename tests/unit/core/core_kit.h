/*
 * core_kit.h - the whole core over a store in memory, for tests: one engine, its clients,
 * a fake clock, seeded randomness, and requests in one line of JSON.
 *
 * Tokens are words: "alice", "alice@acme", "!root" (a service), "alice#1700000000000" (an
 * expiry in Unix ms). Everything that goes wrong in the kit itself fails the test at once.
 */
#ifndef SB_TESTS_CORE_KIT_H
#define SB_TESTS_CORE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/apply.h"
#include "core/session.h"
#include "kv_fault.h"
#include "pure_kit.h"
#include "store/store.h"

#define CK_START_MS UINT64_C(1700000000000)
#define CK_START_US UINT64_C(9000000000)

struct ck_client;

struct ck
{
    struct sb_store *store;
    struct kv_fault *fault;
    struct sb_ports ports;
    struct sb_settings settings; /* may be changed at any time */
    struct sb_engine *engine;
    struct sb_applier *applier;
    struct pk_random random;
    uint64_t now_ms, now_us; /* of the next event */
    uint64_t clock_us;       /* what the port's clock shows */
    uint64_t clock_step;     /* it goes on by this at each look */
    bool hold_writes;        /* records are kept in ck_client.held and not applied */
    bool hold_scans;         /* ck_ask leaves waiting scans alone */
};

struct ck_client
{
    struct ck *k;
    struct sb_session *s;
    struct sb_buf out;
    uint16_t closed; /* the close code, or 0 */
    uint64_t next_id;
    uint32_t slices;          /* scan slices that it got */
    json_t *frames;           /* all that it was sent, in order */
    struct sb_bytes last_raw; /* the last frame's bytes, owned */
    struct sb_record *held;
    struct sb_opt_uint held_re;
};

/* Called around each call into the core, when set: what a test makes fail, fails only there. */
extern void (*ck_gate)(bool open);

void ck_open(struct ck *k, uint32_t derive_after);
void ck_close(struct ck *k);
void ck_pass_ms(struct ck *k, uint64_t ms);

/* NULL token: no hello. */
struct ck_client *ck_connect(struct ck *k, const char *token);
void ck_drop(struct ck_client *c);

/*
 * One request: a JSON map ('single quotes' are fine) without its id, by printf. Steps it,
 * applies its record, runs waiting scans, and gives the reply: borrowed, until ck_drop. NULL:
 * there was none.
 */
json_t *ck_ask(struct ck_client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Only sends. The id of the request. */
uint64_t ck_send(struct ck_client *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
json_t *ck_reply(struct ck_client *c, uint64_t id);
void ck_send_bytes(struct ck_client *c, struct sb_bytes frame);
void ck_tick(struct ck_client *c);
/* One slice for the scan that is next; false: none waits. */
bool ck_slice(struct ck *k);
void ck_run_scans(struct ck *k);
/* Applies the record that hold_writes kept back and tells the session. */
void ck_write_held(struct ck_client *c);
void ck_tell_written(struct ck_client *c, struct sb_result result);

/* The error's code, or "" for a reply without one. */
const char *ck_error(const json_t *reply);
uint64_t ck_uint(const json_t *reply, const char *key);
/* The seqs of messages as "6 7 8", and so on: a static buffer. */
const char *ck_seqs(const json_t *reply);
/* `key` of each item of a list, with spaces between. */
const char *ck_words(const json_t *reply, const char *list, const char *key);
/* A cursor as JSON text for the next request: {"$bin": ...}, or null. A static buffer. */
const char *ck_cursor(const json_t *reply, const char *key);

/* ---- records, applied at once ---- */
struct sb_result ck_apply(struct ck *k, const struct sb_record *r);
struct sb_record ck_record(struct ck *k, enum sb_record_op op, const char *thread,
                           const char *user);
void ck_thread(struct ck *k, const char *name, enum sb_history history,
               enum sb_thread_access access);
void ck_member(struct ck *k, const char *thread, const char *user, enum sb_role role);
/* A post by a service in that user's name, at the kit's time. */
struct sb_result ck_post(struct ck *k, const char *thread, const char *user, const char *text);
/* A row at a time of its own. `id` is its source id. */
struct sb_result ck_import(struct ck *k, const char *thread, const char *user, uint64_t at,
                           const char *id, const char *text, bool deleted);

#endif

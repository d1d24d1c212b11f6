/*
 * cursor.h - cursors: signed random handles to state that a session keeps.
 *
 * On the wire:   format version 1 | key id 4 | expiry 8 (Unix ms) | handle 16 | tag 16
 *
 * The tag authenticates the bytes before it; what a handle leads to counts only if it verifies.
 * Everything that a cursor is bound to (purpose, tenant, user, thread, canonical filter,
 * access scope, direction, order version, epoch) is recomputed from the request at every
 * use and compared, as a keyed digest, in constant time with the walk's. Snapshot, position
 * and expiry are the session's own state and never come from the client.
 *
 * A refusal does the same work whatever its cause; the cause goes to telemetry only.
 */
#ifndef SB_CORE_CURSOR_H
#define SB_CORE_CURSOR_H

#include "core/authz.h"
#include "core/filter.h"
#include "core/ports.h"
#include "core/session.h"

enum
{
    SB_CURSOR_BYTES = 45,
    SB_CURSORS_PER_SESSION = 64,
    SB_ORDER_VERSION = 1, /* of the order (at, seq); bound into every cursor */
};

enum sb_purpose
{
    SB_PURPOSE_ROWS = 1,
    SB_PURPOSE_THREADS = 2,
    SB_PURPOSE_MEMBERS = 3,
};

/* What a cursor is bound to, as the request at hand has it. */
struct sb_binding
{
    enum sb_purpose purpose;
    enum sb_direction direction;
    struct sb_bytes tenant, user;
    uint64_t thread; /* id; 0 for a listing of threads */
    uint64_t epoch;
    const struct sb_access *access; /* NULL: none (threads); then `service` counts */
    bool service;
    const struct sb_filter *filter; /* NULL: none */
};

struct sb_digest
{
    uint8_t b[32];
};

/* One place of a walk: opaque to the table but for freeing the name. */
struct sb_place
{
    struct sb_pos pos; /* rows; threads: pos.seq is the thread id */
    char *name;        /* members: the last user told, heap; else NULL */
};

/*
 * All live cursors of one session. Arrays grow with use, so that a session with few cursors
 * is small. Zero-initialised is empty.
 */
struct sb_cursor_table
{
    struct sb_cursor_slot *slots;
    struct sb_walk *walks;
    uint16_t n_slots, cap_slots, n_walks, cap_walks;
    uint32_t clock; /* counts issues and uses: ages */
};

void sb_cursor_table_finish(struct sb_cursor_table *t);

/* What the bindings and tags are keyed with. `binding_key` is drawn once per process. */
struct sb_cursor_ctx
{
    const struct sb_ports *ports;
    struct sb_cursor_keys keys;
    uint8_t binding_key[32];
};

void sb_binding_digest(const struct sb_cursor_ctx *c, const struct sb_binding *b,
                       struct sb_digest *out);

/*
 * A cursor that was accepted: what its walk is at. It stays good while a scan goes on, even
 * when the table evicts the cursor meanwhile; `place.name` belongs to the table and does not.
 */
struct sb_opened
{
    struct sb_place place;
    uint64_t snapshot; /* version; 0 in listings */
    uint64_t ends_us;  /* monotonic: the end of the walk's life */
    uint8_t handle[16];
};

/*
 * Opens a presented cursor. 0 and `out`, or SB_ERR_INVALID_CURSOR and the cause.
 * now_us: monotonic; horizon: a snapshot below it is gone.
 */
int sb_cursor_open(struct sb_cursor_table *t, const struct sb_cursor_ctx *c,
                   struct sb_bytes presented, const struct sb_digest *binding, uint64_t now_us,
                   uint64_t horizon, struct sb_opened *out, enum sb_refusal *cause);

struct sb_issue
{
    const struct sb_digest *binding;
    const struct sb_opened *from; /* the cursor it was issued for; NULL: a new walk */
    struct sb_place place;        /* the table takes the name over, also on failure */
    uint64_t snapshot;
    uint64_t now_ms, now_us;
    uint64_t cursor_ttl_ms, snapshot_ttl_ms;
};

/*
 * Issues a cursor: it expires at the earlier of now + cursor_ttl and its walk's first page +
 * snapshot_ttl. Past SB_CURSORS_PER_SESSION the oldest that is neither its walk's newest nor
 * `from` goes, else all of the least recently used walk. 0 or SB_ERR_NO_MEMORY.
 */
int sb_cursor_issue(struct sb_cursor_table *t, const struct sb_cursor_ctx *c,
                    const struct sb_issue *i, uint8_t out[SB_CURSOR_BYTES]);

#endif

/*
 * session.h - one connection's session as a step function: an event in, effects out.
 *
 *      OPEN ──hello──▶ READY ──close effect──▶ CLOSED
 *        └──────────close effect──────────────────▲
 *
 * No I/O inside. Time comes with the event; randomness, token checks and the store come
 * through ports. The same engine serves all sessions of one loop; nothing here is
 * thread-safe.
 */
#ifndef SB_CORE_SESSION_H
#define SB_CORE_SESSION_H

#include "base/buf.h"
#include "core/ports.h"
#include "core/record.h"
#include "core/store.h"
#include "core/telemetry.h"

struct sb_engine;  /* what all sessions share: ports, store, decoder, scratch, scans, telemetry */
struct sb_session; /* one connection */

/* `store`, `ports`, `settings` are borrowed and outlive the engine. NULL: short of memory. */
struct sb_engine *sb_engine_create(struct sb_store *store, const struct sb_ports *ports,
                                   const struct sb_settings *settings);
/* All sessions are destroyed before it. */
void sb_engine_destroy(struct sb_engine *e);
/* Takes the keys over (start, SIGHUP). Cursors under a key that is not in it are refused. */
void sb_engine_set_keys(struct sb_engine *e, const struct sb_cursor_keys *keys);

enum sb_event_kind
{
    SB_EVENT_FRAME,   /* one whole client frame */
    SB_EVENT_TICK,    /* time went on: hello deadline, token expiry. At least once a second */
    SB_EVENT_WRITTEN, /* a record that this session submitted was decided */
    SB_EVENT_SCAN,    /* a slice for one of this session's scans (sb_engine_scan_next) */
};

struct sb_event
{
    enum sb_event_kind kind;
    uint64_t now_ms;       /* Unix ms, wall clock */
    uint64_t now_us;       /* monotonic */
    struct sb_bytes frame; /* FRAME */
    struct
    {
        struct sb_opt_uint re; /* as handed out with the record */
        enum sb_record_op op;
        struct sb_result result;
    } written;            /* WRITTEN */
    uint64_t deadline_us; /* SCAN: stop at this monotonic time */
};

/*
 * What the caller shall do, in this order: queue `out`, hand `record` on, close.
 * `out` is the caller's buffer. Each frame is appended behind a 4-byte big-endian length:
 * the caller turns the length into its own framing in place.
 */
struct sb_effects
{
    struct sb_buf *out;
    bool has_record;
    struct sb_record record; /* views into the frame and the engine: copy before the next step */
    struct sb_opt_uint record_re; /* give it back in WRITTEN */
    uint16_t close_code;          /* 0: stay open */
};

/* A session that waits for its hello. now: for the hello deadline. NULL: short of memory. */
struct sb_session *sb_session_create(struct sb_engine *e, void *owner, uint64_t now_us);
void sb_session_destroy(struct sb_session *s);
void *sb_session_owner(const struct sb_session *s);

/*
 * The step. `fx->out` is set by the caller, the rest is filled here. After a close effect
 * no further events are taken.
 */
void sb_session_step(struct sb_session *s, const struct sb_event *ev, struct sb_effects *fx);

/* The largest frame in bytes that this session may send now; a larger one is 1009. */
size_t sb_session_max_frame(const struct sb_session *s);
bool sb_session_ready(const struct sb_session *s);
/* Who a ready session speaks for; empty before hello. */
const struct sb_claims *sb_session_claims(const struct sb_session *s);

/* A submitted record was not taken (queue full): the session replies `overloaded`.
 * Done by stepping WRITTEN with result.err = SB_ERR_OVERLOADED. */

/* The session whose scan is next in fair order by user, or NULL when none waits. Step it with
 * SB_EVENT_SCAN; call until the turn's budget (settings.scan_slice_us) is used up. */
struct sb_session *sb_engine_scan_next(struct sb_engine *e);

/* What was counted so far. */
const struct sb_telemetry *sb_engine_telemetry(const struct sb_engine *e);

#endif

/*
 * engine.h - inside the core: what all sessions of a loop share, and a session's state.
 *
 * Only session*.c, listing.c and engine.c include it.
 */
#ifndef SB_CORE_ENGINE_H
#define SB_CORE_ENGINE_H

#include "core/cursor.h"
#include "core/listing.h"
#include "core/page.h"
#include "core/session.h"
#include "protocol/decode.h"
#include "protocol/encode.h"

enum
{
    SB_SCANS_PER_SESSION = 32, /* requests whose scan goes on in later turns */
    SB_SCANS_IN_ALL = 4096,
    SB_USER_BUCKETS = 1024,
};

/* One user with a ready session, or with a rate bucket that is not full yet: what is counted per
 * user and not per connection. */
struct sb_user
{
    struct sb_user *next; /* in its bucket */
    uint32_t sessions;
    uint64_t served;       /* engine->turn of its last scan slice: the fair order */
    uint64_t tokens_milli; /* of its rate bucket, in 1/1000 request */
    uint64_t refilled_us;
    char tenant[SB_MAX_NAME + 1], name[SB_MAX_NAME + 1];
};

/* A request that is answered in a later turn. Heap; linked in the engine. */
struct sb_job
{
    struct sb_job *prev, *next;
    struct sb_session *session;
    uint64_t re;
    bool has_from;
    struct sb_opened from;        /* the cursor that it was asked with */
    struct sb_digest digest[2];   /* bindings of the cursors to issue, by direction */
    char thread[SB_MAX_NAME + 1]; /* asked for: authorised again in each slice */
    enum sb_op op;
    union
    {
        struct sb_page page;       /* load_* */
        struct sb_listing listing; /* threads */
    };
};

struct sb_engine
{
    struct sb_store *store;
    const struct sb_ports *ports;
    const struct sb_settings *settings;
    struct sb_decoder *decoder;
    struct sb_cursor_ctx cursors;
    struct sb_telemetry telemetry;
    struct sb_request request; /* the frame at hand */
    struct sb_job *now;        /* the job of the request at hand, until it has to wait */
    struct sb_job *jobs;       /* circular list of those that wait */
    uint64_t turn;             /* counts slices */
    struct sb_user *users[SB_USER_BUCKETS];
};

enum sb_session_state
{
    SB_SESSION_OPEN, /* waits for hello */
    SB_SESSION_READY,
    SB_SESSION_CLOSED, /* a close effect was given */
};

struct sb_session
{
    struct sb_engine *engine;
    void *owner;
    enum sb_session_state state;
    uint32_t n_jobs;
    struct sb_user *user;       /* ready: not NULL */
    uint64_t hello_deadline_us; /* monotonic */
    struct sb_claims claims;
    struct sb_cursor_table cursors;
};

/* One step at work: passed down instead of four arguments. */
struct sb_step
{
    struct sb_engine *e;
    struct sb_session *s;
    const struct sb_event *ev;
    struct sb_effects *fx;
};

/* ---- engine.c ---- */
struct sb_user *sb_user_enter(struct sb_engine *e, const struct sb_claims *claims, uint64_t now_us);
void sb_user_leave(struct sb_engine *e, struct sb_user *u);
/* Takes one request's worth; SB_ERR_RATE_LIMITED and the wait. */
int sb_user_take(struct sb_engine *e, struct sb_user *u, uint64_t now_us, uint64_t *retry_ms);
/* Moves engine->now to the waiting ones. 0 or SB_ERR_OVERLOADED. */
int sb_job_wait(struct sb_engine *e, struct sb_session *s);
void sb_job_done(struct sb_engine *e, struct sb_job *j);

/* ---- reply.c ---- */
/* Room for a frame of at most `size` bytes behind its length. 0 or SB_ERR_. */
int sb_reply_begin(struct sb_step *st, struct sb_writer *w, size_t size);
void sb_reply_end(struct sb_step *st, const struct sb_writer *w);
void sb_reply_error(struct sb_step *st, struct sb_opt_uint re, int err);
/* As sb_reply_error, with the decoder's own code and text, or with a wait. */
void sb_reply_error_text(struct sb_step *st, struct sb_opt_uint re, enum sb_code code,
                         const char *message, uint64_t retry_ms);
void sb_close(struct sb_step *st, uint16_t code);

/* ---- session_load.c, session_list.c, session_write.c: one per group of operations ---- */
void sb_do_load(struct sb_step *st, const struct sb_request *r);
void sb_do_threads(struct sb_step *st, const struct sb_request *r);
void sb_do_members(struct sb_step *st, const struct sb_request *r);
void sb_do_post(struct sb_step *st, const struct sb_request *r);
void sb_do_create_thread(struct sb_step *st, const struct sb_request *r);
void sb_do_set_member(struct sb_step *st, const struct sb_request *r);
void sb_do_written(struct sb_step *st);
/* A slice of a waiting job; it may end with its reply. */
void sb_load_slice(struct sb_step *st, struct sb_job *j);
void sb_threads_slice(struct sb_step *st, struct sb_job *j);

/* ---- shared by them ---- */
/* The thread and the reader's access to it; a missing one and a closed one are FORBIDDEN alike,
 * after the same look-ups. */
int sb_find_thread(struct sb_step *st, struct sb_txn *txn, struct sb_bytes name,
                   struct sb_thread *thread, struct sb_access *access);
/* A binding with the session's part filled in. */
struct sb_binding sb_session_binding(const struct sb_session *s, enum sb_purpose purpose);
/* Opens a presented cursor and counts a refusal. */
int sb_present_cursor(struct sb_step *st, struct sb_txn *txn, struct sb_bytes cursor,
                      const struct sb_digest *binding, struct sb_opened *out);
/* Issues one into `buf`; `out` is set to a view of it. */
int sb_issue_cursor(struct sb_step *st, const struct sb_digest *binding,
                    const struct sb_opened *from, struct sb_place place, uint64_t snapshot,
                    uint8_t buf[SB_CURSOR_BYTES], struct sb_opt_bytes *out);

#endif

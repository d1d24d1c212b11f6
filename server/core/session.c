/*
 * session.c - the step: frames, ticks, outcomes and scan slices in, effects out.
 *
 * What an operation does stands in session_load.c, session_list.c and session_write.c.
 */
#include "core/engine.h"

#include <stdlib.h>

enum
{
    CLOSE_MALFORMED = 1007,
    CLOSE_UNAUTHENTICATED = 4401,
    CLOSE_EXPIRED = 4403,
};

struct sb_session *
sb_session_create(struct sb_engine *e, void *owner, uint64_t now_us)
{
    struct sb_session *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->engine = e;
    s->owner = owner;
    s->hello_deadline_us = now_us + e->settings->hello_timeout_ms * 1000;
    return s;
}

static void
drop_jobs(struct sb_session *s)
{
    struct sb_engine *e = s->engine;
    while (s->n_jobs != 0)
    {
        struct sb_job *j = e->jobs;
        while (j->session != s)
            j = j->next;
        sb_job_done(e, j);
    }
}

void
sb_session_destroy(struct sb_session *s)
{
    if (s == NULL)
        return;
    drop_jobs(s);
    s->engine->telemetry.cursors_live -= s->cursors.n_slots;
    sb_cursor_table_finish(&s->cursors);
    if (s->user != NULL)
        s->engine->telemetry.sessions_ready--;
    sb_user_leave(s->engine, s->user);
    free(s);
}

void *
sb_session_owner(const struct sb_session *s)
{
    return s->owner;
}

bool
sb_session_ready(const struct sb_session *s)
{
    return s->state == SB_SESSION_READY;
}

const struct sb_claims *
sb_session_claims(const struct sb_session *s)
{
    return &s->claims;
}

size_t
sb_session_max_frame(const struct sb_session *s)
{
    if (s->state != SB_SESSION_READY)
        return SB_MAX_FRAME_HELLO < s->engine->settings->max_frame
                   ? SB_MAX_FRAME_HELLO
                   : (size_t)s->engine->settings->max_frame;
    return s->claims.service ? SB_MAX_FRAME_SERVICE : (size_t)s->engine->settings->max_frame;
}

/* ---- hello ---- */

static void
reply_hello(struct sb_step *st, uint64_t re)
{
    const struct sb_settings *set = st->e->settings;
    struct sb_writer w;
    if (sb_reply_begin(st, &w, 1024) != 0)
    {
        sb_close(st, 4413);
        return;
    }
    struct sb_hello_reply reply = {
        .user = sb_bytes_str(st->s->claims.user),
        .tenant = sb_bytes_str(st->s->claims.tenant),
        .version = st->e->store->ops->published(st->e->store),
        .epoch = st->e->store->ops->epoch(st->e->store),
        .limit_page = SB_MAX_PAGE,
        .limit_page_bytes = set->page_bytes,
        .limit_frame = sb_session_max_frame(st->s),
        .limit_text = SB_MAX_TEXT,
        .heartbeat_ms = set->heartbeat_ms,
    };
    sb_write_hello(&w, re, &reply);
    sb_reply_end(st, &w);
}

/* A later hello renews the token of the same user; another user's ends the connection. */
static bool
same_user(const struct sb_session *s, const struct sb_claims *c)
{
    return strcmp(s->claims.user, c->user) == 0 && strcmp(s->claims.tenant, c->tenant) == 0;
}

static void
do_hello(struct sb_step *st, const struct sb_request *r)
{
    struct sb_session *s = st->s;
    struct sb_claims claims;
    int rc = st->e->ports->verify_token(st->e->ports->ctx, r->hello.token, st->ev->now_ms, &claims);
    if (rc == 0 && s->state == SB_SESSION_READY && !same_user(s, &claims))
        rc = SB_ERR_UNAUTHENTICATED;
    if (rc == 0 && s->state == SB_SESSION_OPEN)
    {
        s->user = sb_user_enter(st->e, &claims, st->ev->now_us);
        if (s->user == NULL)
        {
            sb_reply_error(st, r->id, SB_ERR_NO_MEMORY);
            return;
        }
        st->e->telemetry.sessions_ready++;
    }
    if (rc != 0)
    {
        sb_reply_error(st, r->id, SB_ERR_UNAUTHENTICATED);
        sb_close(st, CLOSE_UNAUTHENTICATED);
        return;
    }
    s->claims = claims;
    s->state = SB_SESSION_READY;
    reply_hello(st, r->id.value);
}

/* ---- frames ---- */

typedef void (*handler)(struct sb_step *st, const struct sb_request *r);

static const handler handlers[SB_N_OPS] = {
    [SB_OP_HELLO] = do_hello,
    [SB_OP_LOAD_OLDER] = sb_do_load,
    [SB_OP_LOAD_NEWER] = sb_do_load,
    [SB_OP_LOAD_AROUND] = sb_do_load,
    [SB_OP_POST] = sb_do_post,
    [SB_OP_THREADS] = sb_do_threads,
    [SB_OP_CREATE_THREAD] = sb_do_create_thread,
    [SB_OP_SET_MEMBER] = sb_do_set_member,
    [SB_OP_MEMBERS] = sb_do_members,
};

static bool
token_expired(struct sb_step *st)
{
    if (st->s->state != SB_SESSION_READY || st->ev->now_ms < st->s->claims.expires_ms)
        return false;
    sb_close(st, CLOSE_EXPIRED);
    return true;
}

static void
on_request(struct sb_step *st, enum sb_decode_status status, const struct sb_decode_error *err)
{
    const struct sb_request *r = &st->e->request;
    uint64_t retry_ms = 0;
    if (st->s->state == SB_SESSION_OPEN && r->op != SB_OP_HELLO)
    {
        sb_close(st, CLOSE_UNAUTHENTICATED);
        return;
    }
    /* A renewing hello must get through with a token that has run out in between. */
    if (r->op != SB_OP_HELLO && token_expired(st))
        return;
    if (st->s->user != NULL && sb_user_take(st->e, st->s->user, st->ev->now_us, &retry_ms) != 0)
    {
        sb_reply_error_text(st, r->id, SB_CODE_RATE_LIMITED, sb_error_text(SB_ERR_RATE_LIMITED),
                            retry_ms);
        return;
    }
    if (status == SB_DECODE_BAD)
        sb_reply_error_text(st, r->id, err->code, err->message, 0);
    else if (handlers[r->op] == NULL)
        sb_reply_error(st, r->id, SB_ERR_NOT_BUILT);
    else
        handlers[r->op](st, r);
}

static void
on_frame(struct sb_step *st)
{
    struct sb_decode_error err;
    enum sb_decode_status status =
        sb_request_decode(st->e->decoder, st->ev->frame, &st->e->request, &err);
    if (status == SB_DECODE_MALFORMED)
    {
        sb_close(st, CLOSE_MALFORMED);
        return;
    }
    st->e->telemetry.requests[st->e->request.op]++;
    on_request(st, status, &err);
}

static void
on_tick(struct sb_step *st)
{
    if (st->s->state == SB_SESSION_OPEN && st->ev->now_us >= st->s->hello_deadline_us)
        sb_close(st, CLOSE_UNAUTHENTICATED);
    else
        token_expired(st);
}

static void
on_scan(struct sb_step *st)
{
    struct sb_job *j = st->e->jobs;
    if (j == NULL || j->session != st->s)
        return;
    st->e->telemetry.scan_slices++;
    st->s->user->served = ++st->e->turn;
    if (j->op == SB_OP_THREADS)
        sb_threads_slice(st, j);
    else
        sb_load_slice(st, j);
}

void
sb_session_step(struct sb_session *s, const struct sb_event *ev, struct sb_effects *fx)
{
    struct sb_step st = {.e = s->engine, .s = s, .ev = ev, .fx = fx};
    fx->has_record = false;
    fx->close_code = 0;
    if (s->state == SB_SESSION_CLOSED)
        return;
    switch (ev->kind)
    {
    case SB_EVENT_FRAME:
        on_frame(&st);
        break;
    case SB_EVENT_TICK:
        on_tick(&st);
        break;
    case SB_EVENT_WRITTEN:
        sb_do_written(&st);
        break;
    case SB_EVENT_SCAN:
        on_scan(&st);
        break;
    }
    if (s->state == SB_SESSION_CLOSED)
        drop_jobs(s);
}

/* ---- shared by the operations ---- */

int
sb_find_thread(struct sb_step *st, struct sb_txn *txn, struct sb_bytes name,
               struct sb_thread *thread, struct sb_access *access)
{
    const struct sb_store_ops *ops = txn->store->ops;
    struct sb_bytes user = sb_bytes_str(st->s->claims.user);
    struct sb_member member;
    int rc = ops->thread_find(txn, sb_bytes_str(st->s->claims.tenant), name, thread);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    bool missing = rc == SB_ERR_NOT_FOUND;
    /* A missing thread is read and looked up for a member like any other: same work, same
     * answer. */
    if (missing)
    {
        rc = ops->thread_get(txn, SB_THREAD_STAND_IN, thread);
        if (!sb_authz_stood_in(rc))
            return rc;
        *thread = (struct sb_thread){.access = SB_ACCESS_MEMBERS};
    }
    rc = ops->member_get(txn, thread->id, user, &member);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    int allowed = sb_authz_thread(st->s->claims.service, thread, rc == 0 ? &member : NULL, access);
    return missing ? SB_ERR_FORBIDDEN : allowed;
}

struct sb_binding
sb_session_binding(const struct sb_session *s, enum sb_purpose purpose)
{
    return (struct sb_binding){
        .purpose = purpose,
        .tenant = sb_bytes_str(s->claims.tenant),
        .user = sb_bytes_str(s->claims.user),
        .epoch = s->engine->store->ops->epoch(s->engine->store),
        .service = s->claims.service,
    };
}

int
sb_present_cursor(struct sb_step *st, struct sb_txn *txn, struct sb_bytes cursor,
                  const struct sb_digest *binding, struct sb_opened *out)
{
    enum sb_refusal cause;
    uint64_t horizon = txn->store->ops->horizon(txn);
    int rc = sb_cursor_open(&st->s->cursors, &st->e->cursors, cursor, binding, st->ev->now_us,
                            horizon, out, &cause);
    /* The store's trouble is not the cursor's end: it can be presented again. */
    if (rc != 0 && cause == SB_REFUSAL_SNAPSHOT_GONE && horizon == SB_HORIZON_UNKNOWN)
        return SB_ERR_UNAVAILABLE;
    if (rc != 0)
        sb_telemetry_refused(&st->e->telemetry, cause, st->e->request.op, st->ev->now_ms);
    return rc;
}

int
sb_issue_cursor(struct sb_step *st, const struct sb_digest *binding, const struct sb_opened *from,
                struct sb_place place, uint64_t snapshot, uint8_t buf[SB_CURSOR_BYTES],
                struct sb_opt_bytes *out)
{
    struct sb_issue issue = {
        .binding = binding,
        .from = from,
        .place = place,
        .snapshot = snapshot,
        .now_ms = st->ev->now_ms,
        .now_us = st->ev->now_us,
        .cursor_ttl_ms = st->e->settings->cursor_ttl_ms,
        .snapshot_ttl_ms = st->e->settings->snapshot_ttl_ms,
    };
    uint64_t before = st->s->cursors.n_slots;
    int rc = sb_cursor_issue(&st->s->cursors, &st->e->cursors, &issue, buf);
    st->e->telemetry.cursors_live += st->s->cursors.n_slots - before;
    if (rc == 0)
        *out = (struct sb_opt_bytes){true, sb_bytes(buf, SB_CURSOR_BYTES)};
    return rc;
}

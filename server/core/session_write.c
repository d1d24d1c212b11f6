/*
 * session_write.c - operations that change something: form is checked here (prepare),
 * acceptance is decided in apply.c, the reply follows the outcome.
 */
#include "core/engine.h"

static struct sb_record *
prepare(struct sb_step *st, const struct sb_request *r, enum sb_record_op op,
        struct sb_bytes thread)
{
    struct sb_record *rec = &st->fx->record;
    *rec = (struct sb_record){
        .op = op,
        .time_ms = st->ev->now_ms,
        .tenant = sb_bytes_str(st->s->claims.tenant),
        .user = sb_bytes_str(st->s->claims.user),
        .service = st->s->claims.service,
        .thread = thread,
    };
    st->fx->has_record = true;
    st->fx->record_re = r->id;
    return rec;
}

void
sb_do_post(struct sb_step *st, const struct sb_request *r)
{
    struct sb_record *rec = prepare(st, r, SB_RECORD_POST, r->post.thread);
    rec->post.message = r->post.message;
    rec->post.message.by = rec->user;
    /* One spelling of the default kind: absent. */
    if (sb_bytes_eq(rec->post.message.kind, SB_KIND_DEFAULT))
        rec->post.message.kind = (struct sb_bytes){0};
    if (r->post.nonce.set)
        rec->post.nonce = r->post.nonce.value;
}

void
sb_do_create_thread(struct sb_step *st, const struct sb_request *r)
{
    const struct sb_create_thread_frame *f = &r->create_thread;
    struct sb_record *rec = prepare(st, r, SB_RECORD_CREATE_THREAD, f->thread);
    if (f->title.set)
        rec->create_thread.title = f->title.value;
    rec->create_thread.history = f->history;
    rec->create_thread.access = f->access;
    rec->create_thread.n_members = f->n_members;
    rec->create_thread.members = f->members;
}

void
sb_do_set_member(struct sb_step *st, const struct sb_request *r)
{
    struct sb_record *rec = prepare(st, r, SB_RECORD_SET_MEMBER, r->set_member.thread);
    rec->set_member.user = r->set_member.user;
    rec->set_member.role = r->set_member.role;
}

void
sb_do_written(struct sb_step *st)
{
    const struct sb_result *res = &st->ev->written.result;
    struct sb_writer w;
    if (res->err != 0)
    {
        sb_reply_error(st, st->ev->written.re, res->err);
        return;
    }
    if (sb_reply_begin(st, &w, 256) != 0)
    {
        sb_close(st, 4413);
        return;
    }
    uint64_t re = st->ev->written.re.value;
    if (st->ev->written.op == SB_RECORD_POST)
        sb_write_post_reply(&w, re, res->seq, res->at, res->version, res->duplicate);
    else
        sb_write_version_reply(&w, re, res->version);
    sb_reply_end(st, &w);
}

/*
 * request_kit.c - canonical frames and the invariants of accepted requests.
 */
#include "request_kit.h"

/* Fields are written behind a map head that is patched when their number is known. */
struct map
{
    struct sb_writer *w;
    size_t head;
    uint8_t n;
};

static struct map
open_map(struct sb_writer *w)
{
    struct map m = {w, w->len, 0};
    sb_write_map(w, 0);
    return m;
}

static void
close_map(struct map *m)
{
    if (!m->w->failed)
        m->w->buf[m->head] = (uint8_t)(0x80 | m->n); /* never more than 15 fields */
}

static void
key(struct map *m, const char *name)
{
    sb_write_str(m->w, sb_bytes_str(name));
    m->n++;
}

static void
str(struct map *m, const char *name, struct sb_bytes s)
{
    key(m, name);
    sb_write_str(m->w, s);
}

static void
opt_str(struct map *m, const char *name, struct sb_opt_bytes s)
{
    if (s.set)
        str(m, name, s.value);
}

static void
opt_bin(struct map *m, const char *name, struct sb_opt_bytes b)
{
    if (!b.set)
        return;
    key(m, name);
    sb_write_bin(m->w, b.value);
}

static void
number(struct map *m, const char *name, uint64_t v)
{
    key(m, name);
    sb_write_uint(m->w, v);
}

static void
opt_uint(struct map *m, const char *name, struct sb_opt_uint v)
{
    if (v.set)
        number(m, name, v.value);
}

static void
limit(struct map *m, uint32_t v)
{
    if (v != SB_DEFAULT_PAGE)
        number(m, "limit", v);
}

static void
list(struct map *m, const char *name, const struct sb_bytes *v, uint32_t n)
{
    if (n == 0)
        return;
    key(m, name);
    sb_write_array(m->w, n);
    for (uint32_t i = 0; i < n; i++)
        sb_write_str(m->w, v[i]);
}

static void
write_filter(struct map *m, const struct sb_filter_frame *f)
{
    if (f->by.n + f->has.n + f->mentions.n + f->kind.n == 0 && !f->thread_of.set && !f->from.set &&
        !f->to.set && !f->text.set)
        return;
    key(m, "filter");
    struct map in = open_map(m->w);
    list(&in, "by", f->by.v, f->by.n);
    list(&in, "has", f->has.v, f->has.n);
    list(&in, "mentions", f->mentions.v, f->mentions.n);
    list(&in, "kind", f->kind.v, f->kind.n);
    opt_uint(&in, "thread_of", f->thread_of);
    opt_uint(&in, "from", f->from);
    opt_uint(&in, "to", f->to);
    opt_str(&in, "text", f->text);
    close_map(&in);
}

static void
write_load(struct map *m, const struct sb_load_frame *l)
{
    str(m, "thread", l->thread);
    write_filter(m, &l->filter);
    limit(m, l->limit);
    opt_bin(m, "cursor", l->cursor);
    opt_uint(m, "before", l->before);
    opt_uint(m, "after", l->after);
    opt_uint(m, "seq", l->seq);
    opt_uint(m, "at", l->at);
}

static void
write_attachments(struct map *m, const struct sb_message *msg)
{
    if (msg->n_attachments == 0)
        return;
    key(m, "attachments");
    sb_write_array(m->w, msg->n_attachments);
    for (uint32_t i = 0; i < msg->n_attachments; i++)
    {
        const struct sb_attachment *a = &msg->attachments[i];
        struct map in = open_map(m->w);
        str(&in, "name", a->name);
        str(&in, "type", a->type);
        number(&in, "size", a->size);
        str(&in, "url", a->url);
        opt_uint(&in, "width", a->width);
        opt_uint(&in, "height", a->height);
        close_map(&in);
    }
}

static void
write_post(struct map *m, const struct sb_post_frame *p)
{
    str(m, "thread", p->thread);
    str(m, "text", p->message.text);
    opt_str(m, "nonce", p->nonce);
    if (p->message.kind.len > 0)
        str(m, "kind", p->message.kind);
    opt_uint(m, "reply_to", p->message.reply_to);
    list(m, "mentions", p->message.mentions, p->message.n_mentions);
    write_attachments(m, &p->message);
    if (p->message.meta.len > 0)
    {
        key(m, "meta");
        sb_write_raw(m->w, p->message.meta);
    }
}

static void
write_create(struct map *m, const struct sb_create_thread_frame *c)
{
    str(m, "thread", c->thread);
    opt_str(m, "title", c->title);
    if (c->history == SB_HISTORY_SINCE_JOIN)
        str(m, "history", SB_LIT("since_join"));
    if (c->access == SB_ACCESS_TENANT)
        str(m, "access", SB_LIT("tenant"));
    if (c->n_members == 0)
        return;
    key(m, "members");
    sb_write_map(m->w, c->n_members);
    for (uint32_t i = 0; i < c->n_members; i++)
    {
        sb_write_str(m->w, c->members[i].user);
        sb_write_str(m->w, sb_bytes_str(sb_role_name(c->members[i].role)));
    }
}

static void
write_hello(struct map *m, const struct sb_hello_frame *h)
{
    str(m, "token", h->token);
    opt_bin(m, "resume", h->resume);
    if (h->n_seen == 0)
        return;
    key(m, "seen");
    sb_write_map(m->w, h->n_seen);
    for (uint32_t i = 0; i < h->n_seen; i++)
    {
        sb_write_str(m->w, h->seen[i].thread);
        sb_write_uint(m->w, h->seen[i].version);
    }
}

void
kit_write_request(struct sb_writer *w, const struct sb_request *r)
{
    struct map m = open_map(w);
    str(&m, "op", sb_bytes_str(sb_op_name(r->op)));
    opt_uint(&m, "id", r->id);
    switch (r->op)
    {
    case SB_OP_HELLO:
        write_hello(&m, &r->hello);
        break;
    case SB_OP_LOAD_OLDER:
    case SB_OP_LOAD_NEWER:
    case SB_OP_LOAD_AROUND:
        write_load(&m, &r->load);
        break;
    case SB_OP_POST:
        write_post(&m, &r->post);
        break;
    case SB_OP_CREATE_THREAD:
        write_create(&m, &r->create_thread);
        break;
    case SB_OP_SET_MEMBER:
        str(&m, "thread", r->set_member.thread);
        str(&m, "user", r->set_member.user);
        if (r->set_member.role != SB_ROLE_NONE)
            str(&m, "role", sb_bytes_str(sb_role_name(r->set_member.role)));
        break;
    case SB_OP_THREADS:
    case SB_OP_MEMBERS:
        if (r->op == SB_OP_MEMBERS)
            str(&m, "thread", r->list.thread);
        opt_bin(&m, "cursor", r->list.cursor);
        limit(&m, r->list.limit);
        break;
    default:
        w->failed = true;
        break;
    }
    close_map(&m);
}

static bool
inside(struct sb_bytes frame, struct sb_bytes view)
{
    if (view.len == 0)
        return true;
    uintptr_t start = (uintptr_t)frame.data, at = (uintptr_t)view.data;
    return at >= start && view.len <= frame.len && at - start <= frame.len - view.len;
}

static bool
list_inside(struct sb_bytes frame, const struct sb_str_list *l)
{
    for (uint32_t i = 0; i < l->n && i < SB_MAX_LIST; i++)
    {
        if (!inside(frame, l->v[i]))
            return false;
    }
    return l->n <= SB_MAX_LIST;
}

static bool
safe(struct sb_opt_uint v)
{
    return !v.set || v.value <= SB_MAX_SAFE_INT;
}

static const char *
check_load(const struct sb_load_frame *l, struct sb_bytes frame)
{
    const struct sb_filter_frame *f = &l->filter;
    if (!sb_name_ok(l->thread) || !inside(frame, l->thread))
        return "thread";
    if (l->limit < 1 || l->limit > SB_MAX_PAGE)
        return "limit";
    if (l->cursor.set && (l->cursor.value.len > SB_MAX_CURSOR || !inside(frame, l->cursor.value)))
        return "cursor";
    if (!list_inside(frame, &f->by) || !list_inside(frame, &f->has) ||
        !list_inside(frame, &f->mentions) || !list_inside(frame, &f->kind))
        return "filter list";
    if (!safe(f->thread_of) || !safe(f->from) || !safe(f->to) || !safe(l->before) ||
        !safe(l->after) || !safe(l->seq) || !safe(l->at))
        return "number";
    return NULL;
}

static const char *
check_post(const struct sb_post_frame *p, struct sb_bytes frame)
{
    const struct sb_message *m = &p->message;
    if (!sb_name_ok(p->thread) || !inside(frame, p->thread))
        return "thread";
    if (m->text.len > SB_MAX_TEXT || !inside(frame, m->text))
        return "text";
    if (m->text.len == 0 && m->n_attachments == 0)
        return "empty text";
    if (m->n_mentions > SB_MAX_MENTIONS || m->n_attachments > SB_MAX_ATTACHMENTS)
        return "count";
    for (uint32_t i = 0; i < m->n_mentions; i++)
    {
        if (!sb_name_ok(m->mentions[i]) || !inside(frame, m->mentions[i]))
            return "mention";
    }
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        const struct sb_attachment *a = &m->attachments[i];
        if (!inside(frame, a->name) || !inside(frame, a->type) || !inside(frame, a->url))
            return "attachment";
    }
    if (m->meta.len > SB_MAX_META)
        return "meta";
    return NULL;
}

const char *
kit_check_request(const struct sb_request *r, struct sb_bytes frame)
{
    if (!r->id.set || !sb_op_built(r->op))
        return "id or op";
    switch (r->op)
    {
    case SB_OP_HELLO:
        return r->hello.n_seen <= SB_MAX_SEEN && inside(frame, r->hello.token) ? NULL : "hello";
    case SB_OP_POST:
        return check_post(&r->post, frame);
    case SB_OP_CREATE_THREAD:
        return sb_name_ok(r->create_thread.thread) && r->create_thread.n_members <= SB_MAX_FOUNDERS
                   ? NULL
                   : "create_thread";
    case SB_OP_SET_MEMBER:
        return sb_name_ok(r->set_member.thread) && sb_name_ok(r->set_member.user) &&
                       r->set_member.role <= SB_ROLE_MODERATOR
                   ? NULL
                   : "set_member";
    case SB_OP_THREADS:
    case SB_OP_MEMBERS:
        return r->list.limit >= 1 && r->list.limit <= SB_MAX_PAGE ? NULL : "list";
    default:
        return check_load(&r->load, frame);
    }
}

/*
 * encode_frames.c - messages and replies in the form of the contract.
 *
 * It must not know where rows come from. A map's count is written first, so each
 * function counts its optional fields before it writes them, in the same order.
 */
#include "protocol/encode.h"

static void
write_key(struct sb_writer *w, const char *key)
{
    sb_write_str(w, sb_bytes_str(key));
}

static void
write_uint_field(struct sb_writer *w, const char *key, uint64_t v)
{
    write_key(w, key);
    sb_write_uint(w, v);
}

static void
write_str_field(struct sb_writer *w, const char *key, struct sb_bytes s)
{
    write_key(w, key);
    sb_write_str(w, s);
}

static void
write_opt_uint_field(struct sb_writer *w, const char *key, struct sb_opt_uint v)
{
    if (v.set)
        write_uint_field(w, key, v.value);
}

/* A cursor or ticket: a bin, or nil. */
static void
write_bin_or_nil(struct sb_writer *w, const char *key, struct sb_opt_bytes b)
{
    write_key(w, key);
    if (b.set)
        sb_write_bin(w, b.value);
    else
        sb_write_nil(w);
}

static void
write_attachment(struct sb_writer *w, const struct sb_attachment *a)
{
    sb_write_map(w, 4 + (uint32_t)a->width.set + (uint32_t)a->height.set);
    write_str_field(w, "name", a->name);
    write_str_field(w, "type", a->type);
    write_uint_field(w, "size", a->size);
    write_str_field(w, "url", a->url);
    write_opt_uint_field(w, "width", a->width);
    write_opt_uint_field(w, "height", a->height);
}

static void
write_lists(struct sb_writer *w, const struct sb_message *m)
{
    if (m->n_mentions > 0)
    {
        write_key(w, "mentions");
        sb_write_array(w, m->n_mentions);
        for (uint32_t i = 0; i < m->n_mentions; i++)
            sb_write_str(w, m->mentions[i]);
    }
    if (m->n_attachments > 0)
    {
        write_key(w, "attachments");
        sb_write_array(w, m->n_attachments);
        for (uint32_t i = 0; i < m->n_attachments; i++)
            write_attachment(w, &m->attachments[i]);
    }
}

static bool
has_source(const struct sb_message *m)
{
    return m->source_system.len > 0 || m->source_id.len > 0;
}

static void
write_tombstone(struct sb_writer *w, const struct sb_message *m)
{
    sb_write_map(w, 4);
    write_uint_field(w, "seq", m->seq);
    write_uint_field(w, "at", m->at);
    write_uint_field(w, "version", m->version);
    write_key(w, "deleted");
    sb_write_bool(w, true);
}

void
sb_write_message(struct sb_writer *w, const struct sb_message *m)
{
    if (m->deleted)
    {
        write_tombstone(w, m);
        return;
    }
    uint32_t n = 5;
    n += (uint32_t)(m->kind.len > 0) + (uint32_t)m->edited_at.set + (uint32_t)m->reply_to.set;
    n += (uint32_t)(m->n_mentions > 0) + (uint32_t)(m->n_attachments > 0);
    n += (uint32_t)has_source(m) + (uint32_t)(m->meta.len > 0);
    sb_write_map(w, n);
    write_uint_field(w, "seq", m->seq);
    write_uint_field(w, "at", m->at);
    write_str_field(w, "by", m->by);
    write_str_field(w, "text", m->text);
    write_uint_field(w, "version", m->version);
    if (m->kind.len > 0)
        write_str_field(w, "kind", m->kind);
    write_opt_uint_field(w, "edited_at", m->edited_at);
    write_opt_uint_field(w, "reply_to", m->reply_to);
    write_lists(w, m);
    if (has_source(m))
    {
        write_key(w, "source");
        sb_write_map(w, 2);
        write_str_field(w, "system", m->source_system);
        write_str_field(w, "id", m->source_id);
    }
    if (m->meta.len > 0)
    {
        write_key(w, "meta");
        sb_write_raw(w, m->meta);
    }
}

size_t
sb_message_size(const struct sb_message *m)
{
    if (m->deleted)
        return 64;
    /* Keys and heads of all fixed fields take at most 174 bytes. */
    size_t n = 224 + m->by.len + m->text.len + m->kind.len;
    n += m->source_system.len + m->source_id.len + m->meta.len;
    for (uint32_t i = 0; i < m->n_mentions; i++)
        n += 5 + m->mentions[i].len;
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        const struct sb_attachment *a = &m->attachments[i];
        n += 80 + a->name.len + a->type.len + a->url.len;
    }
    return n;
}

static void
write_re(struct sb_writer *w, uint32_t fields, uint64_t re)
{
    sb_write_map(w, fields);
    write_uint_field(w, "re", re);
}

void
sb_write_error(struct sb_writer *w, struct sb_opt_uint re, enum sb_code code, const char *message,
               uint64_t retry_ms)
{
    sb_write_map(w, 2);
    write_key(w, "re");
    if (re.set)
        sb_write_uint(w, re.value);
    else
        sb_write_nil(w);
    write_key(w, "error");
    sb_write_map(w, retry_ms > 0 ? 3 : 2);
    write_str_field(w, "code", sb_bytes_str(sb_code_name(code)));
    write_str_field(w, "message", sb_bytes_str(message));
    if (retry_ms > 0)
        write_uint_field(w, "retry_ms", retry_ms);
}

void
sb_write_hello(struct sb_writer *w, uint64_t re, const struct sb_hello_reply *r)
{
    write_re(w, 9, re);
    write_str_field(w, "user", r->user);
    write_str_field(w, "tenant", r->tenant);
    write_bin_or_nil(w, "resume", r->resume);
    write_key(w, "resumed");
    sb_write_bool(w, r->resumed);
    write_uint_field(w, "version", r->version);
    write_uint_field(w, "epoch", r->epoch);
    write_key(w, "limits");
    sb_write_map(w, 4);
    write_uint_field(w, "page", r->limit_page);
    write_uint_field(w, "page_bytes", r->limit_page_bytes);
    write_uint_field(w, "frame", r->limit_frame);
    write_uint_field(w, "text", r->limit_text);
    write_uint_field(w, "heartbeat_ms", r->heartbeat_ms);
}

void
sb_write_page_head(struct sb_writer *w, enum sb_op op, uint64_t re, uint32_t rows)
{
    write_re(w, op == SB_OP_LOAD_AROUND ? 7 : 5, re);
    write_key(w, "messages");
    sb_write_array(w, rows);
}

void
sb_write_page_tail(struct sb_writer *w, enum sb_op op, const struct sb_page_tail *t)
{
    if (op != SB_OP_LOAD_NEWER)
        write_bin_or_nil(w, "older", t->older);
    if (op != SB_OP_LOAD_OLDER)
        write_bin_or_nil(w, "newer", t->newer);
    if (op == SB_OP_LOAD_AROUND)
    {
        write_key(w, "found");
        sb_write_bool(w, t->found);
    }
    write_uint_field(w, "version", t->version);
    write_uint_field(w, "now", t->now);
}

void
sb_write_post_reply(struct sb_writer *w, uint64_t re, uint64_t seq, uint64_t at, uint64_t version,
                    bool duplicate)
{
    write_re(w, duplicate ? 5 : 4, re);
    write_uint_field(w, "seq", seq);
    write_uint_field(w, "at", at);
    write_uint_field(w, "version", version);
    if (duplicate)
    {
        write_key(w, "duplicate");
        sb_write_bool(w, true);
    }
}

void
sb_write_version_reply(struct sb_writer *w, uint64_t re, uint64_t version)
{
    write_re(w, 2, re);
    write_uint_field(w, "version", version);
}

static void
write_role(struct sb_writer *w, enum sb_role role)
{
    const char *name = sb_role_name(role);
    write_key(w, "role");
    if (name == NULL)
        sb_write_nil(w);
    else
        sb_write_str(w, sb_bytes_str(name));
}

void
sb_write_threads_head(struct sb_writer *w, uint64_t re, uint32_t n)
{
    write_re(w, 3, re);
    write_key(w, "threads");
    sb_write_array(w, n);
}

void
sb_write_thread_item(struct sb_writer *w, const struct sb_thread_item *t)
{
    sb_write_map(w, 4 + (uint32_t)t->title.set + (uint32_t)(t->newest.len > 0));
    write_str_field(w, "thread", t->thread);
    if (t->title.set)
        write_str_field(w, "title", t->title.value);
    write_role(w, t->role);
    write_uint_field(w, "unread", t->unread);
    write_uint_field(w, "read", t->read);
    if (t->newest.len > 0)
    {
        write_key(w, "newest");
        sb_write_raw(w, t->newest);
    }
}

void
sb_write_members_head(struct sb_writer *w, uint64_t re, uint32_t n)
{
    write_re(w, 3, re);
    write_key(w, "members");
    sb_write_array(w, n);
}

void
sb_write_member_item(struct sb_writer *w, const struct sb_member_item *m)
{
    sb_write_map(w, 2);
    write_str_field(w, "user", m->user);
    write_role(w, m->role);
}

void
sb_write_list_tail(struct sb_writer *w, struct sb_opt_bytes next)
{
    write_bin_or_nil(w, "next", next);
}

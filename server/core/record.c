/*
 * record.c - a record with everything that it points to, in one block.
 *
 * The same code runs twice: first it only counts (no block yet), then it copies.
 */
#include "core/record.h"

#include <stdlib.h>

struct bump
{
    uint8_t *block; /* NULL: count only */
    size_t used;
};

/* Copies len bytes; returns where they went, or NULL while counting. */
static void *
put(struct bump *b, const void *data, size_t len)
{
    size_t at = b->used;
    b->used += (len + 15) & ~(size_t)15; /* everything stays aligned */
    if (b->block == NULL || len == 0)
        return NULL;
    memcpy(b->block + at, data, len);
    return b->block + at;
}

static void
put_bytes(struct bump *b, struct sb_bytes *v)
{
    void *copy = put(b, v->data, v->len);
    if (b->block != NULL)
        v->data = copy;
}

/* A message whose struct is already the copy (or, while counting, a scratch one). */
static void
put_message(struct bump *b, struct sb_message *m)
{
    put_bytes(b, &m->by);
    put_bytes(b, &m->text);
    put_bytes(b, &m->kind);
    put_bytes(b, &m->source_system);
    put_bytes(b, &m->source_id);
    put_bytes(b, &m->meta);
    struct sb_bytes *mentions = put(b, m->mentions, m->n_mentions * sizeof(*mentions));
    for (uint32_t i = 0; i < m->n_mentions; i++)
    {
        struct sb_bytes v = m->mentions[i];
        put_bytes(b, &v);
        if (mentions != NULL)
            mentions[i] = v;
    }
    struct sb_attachment *files = put(b, m->attachments, m->n_attachments * sizeof(*files));
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        struct sb_attachment a = m->attachments[i];
        put_bytes(b, &a.name);
        put_bytes(b, &a.type);
        put_bytes(b, &a.url);
        if (files != NULL)
            files[i] = a;
    }
    if (b->block != NULL)
    {
        m->mentions = mentions;
        m->attachments = files;
    }
}

static void
put_founders(struct bump *b, struct sb_record *r)
{
    uint32_t n = r->create_thread.n_members;
    struct sb_founder *copy = put(b, r->create_thread.members, n * sizeof(*copy));
    for (uint32_t i = 0; i < n; i++)
    {
        struct sb_founder f = r->create_thread.members[i];
        put_bytes(b, &f.user);
        if (copy != NULL)
            copy[i] = f;
    }
    if (b->block != NULL)
        r->create_thread.members = copy;
}

static void
put_import(struct bump *b, struct sb_record_import *im)
{
    put_message(b, &im->message);
    put_bytes(b, &im->reply_to_id);
    struct sb_record_reaction *copy = put(b, im->reactions, im->n_reactions * sizeof(*copy));
    for (uint32_t i = 0; i < im->n_reactions; i++)
    {
        struct sb_record_reaction v = im->reactions[i];
        put_bytes(b, &v.emoji);
        put_bytes(b, &v.user);
        if (copy != NULL)
            copy[i] = v;
    }
    if (b->block != NULL)
        im->reactions = copy;
}

static void
put_record(struct bump *b, struct sb_record *r)
{
    put_bytes(b, &r->tenant);
    put_bytes(b, &r->user);
    put_bytes(b, &r->thread);
    switch (r->op)
    {
    case SB_RECORD_POST:
        put_message(b, &r->post.message);
        put_bytes(b, &r->post.nonce);
        break;
    case SB_RECORD_CREATE_THREAD:
        put_bytes(b, &r->create_thread.title);
        put_founders(b, r);
        break;
    case SB_RECORD_SET_MEMBER:
        put_bytes(b, &r->set_member.user);
        break;
    case SB_RECORD_IMPORT:
        put_import(b, &r->import);
        break;
    case SB_RECORD_LINK:
        put_bytes(b, &r->link.system);
        put_bytes(b, &r->link.child_id);
        put_bytes(b, &r->link.parent_id);
        break;
    }
}

struct sb_record *
sb_record_copy(const struct sb_record *r)
{
    struct bump count = {0};
    struct sb_record scratch = *r;
    put(&count, r, sizeof(*r));
    put_record(&count, &scratch);

    struct bump b = {.block = malloc(count.used)};
    if (b.block == NULL)
        return NULL;
    struct sb_record *copy = put(&b, r, sizeof(*r));
    put_record(&b, copy);
    return copy;
}

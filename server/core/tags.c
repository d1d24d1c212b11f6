/* tags.c - see tags.h. */
#include "core/tags.h"

#include <stdio.h>

struct list
{
    const struct sb_store *store;
    struct sb_hash *v;
    uint32_t n;
};

void
sb_tag_hash(const struct sb_store *s, const char *prefix, struct sb_bytes value,
            struct sb_hash *out)
{
    uint8_t buf[16 + SB_MAX_NAME];
    size_t n = strlen(prefix);
    size_t len = value.len < SB_MAX_NAME ? value.len : SB_MAX_NAME;
    memcpy(buf, prefix, n);
    if (len != 0)
        memcpy(buf + n, value.data, len);
    s->ops->hash(s, sb_bytes(buf, n + len), out);
}

void
sb_tag_hash_reply(const struct sb_store *s, uint64_t seq, struct sb_hash *out)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)seq);
    sb_tag_hash(s, "thread:", sb_bytes(digits, (size_t)n), out);
}

static void
add(struct list *l, const char *prefix, struct sb_bytes value)
{
    struct sb_hash h;
    sb_tag_hash(l->store, prefix, value, &h);
    for (uint32_t i = 0; i < l->n; i++)
        if (memcmp(&l->v[i], &h, sizeof(h)) == 0)
            return;
    if (l->n < SB_MAX_TAGS)
        l->v[l->n++] = h;
}

static bool
has_link(struct sb_bytes text)
{
    for (size_t i = 0; i + 7 <= text.len; i++)
    {
        const uint8_t *h = memchr(text.data + i, 'h', text.len - i);
        if (h == NULL)
            return false;
        i = (size_t)(h - text.data);
        struct sb_bytes rest = sb_bytes(h, text.len - i);
        if (sb_bytes_starts(rest, "http://") || sb_bytes_starts(rest, "https://"))
            return true;
    }
    return false;
}

static void
add_content(struct list *l, const struct sb_message *m)
{
    bool image = false;
    bool file = false;
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        if (sb_bytes_starts(m->attachments[i].type, "image/"))
            image = true;
        else
            file = true;
    }
    if (m->n_attachments != 0)
        add(l, "has:", SB_LIT("attachment"));
    if (image)
        add(l, "has:", SB_LIT("image"));
    if (file)
        add(l, "has:", SB_LIT("file"));
    if (has_link(m->text))
        add(l, "has:", SB_LIT("link"));
    for (uint32_t i = 0; i < m->n_mentions; i++)
        add(l, "mention:", m->mentions[i]);
}

uint32_t
sb_tags_of(const struct sb_store *s, const struct sb_message *m, struct sb_hash out[SB_MAX_TAGS],
           uint32_t *flags)
{
    struct list l = {.store = s, .v = out};
    uint32_t f = m->deleted ? SB_ROW_DELETED : 0;
    add(&l, "by:", m->by);
    if (m->kind.len != 0 && !sb_bytes_eq(m->kind, SB_KIND_DEFAULT))
    {
        f |= SB_ROW_KIND;
        add(&l, "kind:", m->kind);
    }
    if (m->reply_to.set)
    {
        add(&l, "has:", SB_LIT("reply"));
        if (l.n < SB_MAX_TAGS)
            sb_tag_hash_reply(s, m->reply_to.value, &l.v[l.n++]);
    }
    if (!m->deleted)
        add_content(&l, m);
    *flags = f;
    return l.n;
}

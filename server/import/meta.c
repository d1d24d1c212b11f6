/*
 * meta.c - see meta.h.
 *
 * Keys are unique (the last of equal ones wins, as in JSON), numbers past 2^53 - 1 and
 * fractions are doubles, so that every client reads what it can keep.
 */
#include "import/meta.h"

#include <math.h>
#include <stdlib.h>

#include "protocol/encode.h"

/* A reply holds {messages: [{meta: {...}}]}: three containers around meta, 16 in all. */
#define META_DEPTH 12

static void
write_double(struct sb_writer *w, double d)
{
    uint8_t out[9] = {0xcb};
    uint64_t bits;
    if (!isfinite(d))
    {
        sb_write_nil(w);
        return;
    }
    memcpy(&bits, &d, 8);
    for (size_t i = 0; i < 8; i++)
        out[1 + i] = (uint8_t)(bits >> (56 - 8 * i));
    sb_write_raw(w, sb_bytes(out, sizeof(out)));
}

static void
write_number(struct sb_writer *w, struct sb_bytes literal)
{
    char s[64];
    if (literal.len >= sizeof(s))
    {
        w->failed = true;
        return;
    }
    memcpy(s, literal.data, literal.len);
    s[literal.len] = '\0';
    double d = strtod(s, NULL);
    bool whole = strpbrk(s, ".eE") == NULL && fabs(d) <= (double)SB_MAX_SAFE_INT;
    if (!whole)
        write_double(w, d);
    else
        sb_write_int(w, (int64_t)d);
}

/* Whether a later member has the same key. */
static bool
shadowed(const struct sb_json *member)
{
    for (const struct sb_json *c = member->next; c != NULL; c = c->next)
    {
        if (sb_bytes_eq(c->key, member->key))
            return true;
    }
    return false;
}

static void write_value(struct sb_writer *w, const struct sb_json *v, unsigned depth);

static void
write_map(struct sb_writer *w, const struct sb_json *v, unsigned depth)
{
    uint32_t n = 0;
    if (v->n > SB_MAX_MAP_KEYS)
    {
        w->failed = true;
        return;
    }
    for (const struct sb_json *c = v->first; c != NULL; c = c->next)
        n += shadowed(c) ? 0 : 1;
    sb_write_map(w, n);
    for (const struct sb_json *c = v->first; c != NULL; c = c->next)
    {
        if (shadowed(c))
            continue;
        if (c->key.len > SB_MAX_KEY)
            w->failed = true;
        sb_write_str(w, c->key);
        write_value(w, c, depth);
    }
}

static void
write_value(struct sb_writer *w, const struct sb_json *v, unsigned depth)
{
    if (w->failed)
        return;
    switch (v->type)
    {
    case SB_JSON_NULL:
        sb_write_nil(w);
        return;
    case SB_JSON_BOOL:
        sb_write_bool(w, sb_json_true(v));
        return;
    case SB_JSON_NUMBER:
        write_number(w, v->text);
        return;
    case SB_JSON_STRING:
        sb_write_str(w, v->text);
        return;
    case SB_JSON_ARRAY:
    case SB_JSON_MAP:
        break;
    }
    if (depth == META_DEPTH)
    {
        w->failed = true;
        return;
    }
    if (v->type == SB_JSON_MAP)
    {
        write_map(w, v, depth + 1);
        return;
    }
    sb_write_array(w, v->n);
    for (const struct sb_json *c = v->first; c != NULL; c = c->next)
        write_value(w, c, depth + 1);
}

size_t
sb_import_meta_pack(const struct sb_json *map, void *buf, size_t cap)
{
    struct sb_writer w;
    if (map == NULL || map->type != SB_JSON_MAP || map->n == 0)
        return 0;
    sb_writer_init(&w, buf, cap);
    write_value(&w, map, 0);
    return w.failed ? 0 : w.len;
}

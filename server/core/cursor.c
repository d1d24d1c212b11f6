/*
 * cursor.c - see cursor.h. The only file of the core that uses libsodium.
 *
 * It must not know sessions or pages. Invariant: a slot's walk exists; a walk has a slot.
 */
#include "core/cursor.h"

#include <sodium.h>
#include <stdlib.h>

enum
{
    FORMAT = 1,
    HANDLE_AT = 13,
    HANDLE = 16,
    TAG_AT = HANDLE_AT + HANDLE,
    TAG = 16,
    NONE = UINT16_MAX,
};

_Static_assert(TAG_AT + TAG == SB_CURSOR_BYTES, "layout of a cursor");

struct sb_cursor_slot
{
    uint8_t handle[HANDLE];
    struct sb_place place;
    uint64_t expires_us; /* monotonic: a jump of the wall clock moves no expiry */
    uint32_t issued;     /* table clock */
    uint16_t walk;
};

struct sb_walk
{
    struct sb_digest binding;
    uint64_t snapshot;
    uint64_t ends_us;   /* monotonic: first page + snapshot ttl */
    uint32_t last_used; /* table clock */
    uint16_t newest;    /* slot of the cursor issued last; NONE when that one is gone */
    uint16_t cursors;   /* slots of this walk */
};

/* ---- wire form ---- */

static void
put_be(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static uint32_t
get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void
make_tag(const uint8_t key[32], const uint8_t *cursor, uint8_t tag[TAG])
{
    crypto_generichash(tag, TAG, cursor, TAG_AT, key, 32);
}

/* ---- bindings ---- */

static size_t
put_bytes(uint8_t *p, struct sb_bytes b)
{
    p[0] = (uint8_t)b.len;
    if (b.len != 0)
        memcpy(p + 1, b.data, b.len);
    return 1 + b.len;
}

void
sb_binding_digest(const struct sb_cursor_ctx *c, const struct sb_binding *b, struct sb_digest *out)
{
    uint8_t buf[64 + 2 * (SB_MAX_NAME + 1) + SB_FILTER_BYTES];
    size_t n = 0;
    buf[n++] = SB_ORDER_VERSION;
    buf[n++] = (uint8_t)b->purpose;
    buf[n++] = (uint8_t)b->direction;
    buf[n++] = b->service;
    put_be(buf + n, b->epoch, 8);
    put_be(buf + n + 8, b->thread, 8);
    n += 16;
    if (b->access != NULL)
    {
        buf[n++] = (uint8_t)b->access->scope;
        buf[n++] = (uint8_t)b->access->history;
        put_be(buf + n, b->access->join.at, 8);
        put_be(buf + n + 8, b->access->join.seq, 8);
        n += 16;
    }
    n += put_bytes(buf + n, b->tenant);
    n += put_bytes(buf + n, b->user);
    if (b->filter != NULL)
        n += sb_filter_bytes(b->filter, buf + n);
    crypto_generichash(out->b, sizeof(out->b), buf, n, c->binding_key, sizeof(c->binding_key));
}

/* ---- the table ---- */

void
sb_cursor_table_finish(struct sb_cursor_table *t)
{
    for (uint16_t i = 0; i < t->n_slots; i++)
        free(t->slots[i].place.name);
    free(t->slots);
    free(t->walks);
    *t = (struct sb_cursor_table){0};
}

/* Every slot is looked at, whichever matches: the time does not tell where, or whether. */
static uint16_t
find_slot(const struct sb_cursor_table *t, const uint8_t handle[HANDLE])
{
    static const struct sb_cursor_slot nothing;
    uint64_t want[2];
    uint32_t found = NONE;
    memcpy(want, handle, sizeof(want));
    for (uint32_t i = 0; i < SB_CURSORS_PER_SESSION; i++)
    {
        const struct sb_cursor_slot *slot = i < t->n_slots ? &t->slots[i] : &nothing;
        uint64_t have[2];
        memcpy(have, slot->handle, sizeof(have));
        uint64_t diff = (have[0] ^ want[0]) | (have[1] ^ want[1]);
        uint32_t hit = (uint32_t)(diff == 0) & (uint32_t)(i < t->n_slots);
        found = hit != 0 ? i : found;
    }
    return (uint16_t)found;
}

/* Moves the last slot into the gap; fixes what points to either. */
static void
remove_slot(struct sb_cursor_table *t, uint16_t gap)
{
    uint16_t last = (uint16_t)(t->n_slots - 1);
    struct sb_walk *walk = &t->walks[t->slots[gap].walk];
    free(t->slots[gap].place.name);
    walk->cursors--;
    if (walk->newest == gap)
        walk->newest = NONE;
    if (gap != last)
    {
        t->slots[gap] = t->slots[last];
        struct sb_walk *moved = &t->walks[t->slots[gap].walk];
        if (moved->newest == last)
            moved->newest = gap;
    }
    t->n_slots = last;
}

/* Removes a walk that has no slot left. */
static void
remove_walk(struct sb_cursor_table *t, uint16_t gap)
{
    uint16_t last = (uint16_t)(t->n_walks - 1);
    if (gap != last)
    {
        t->walks[gap] = t->walks[last];
        for (uint16_t i = 0; i < t->n_slots; i++)
            if (t->slots[i].walk == last)
                t->slots[i].walk = gap;
    }
    t->n_walks = last;
}

static void
remove_empty_walks(struct sb_cursor_table *t)
{
    for (uint16_t w = t->n_walks; w-- > 0;)
        if (t->walks[w].cursors == 0)
            remove_walk(t, w);
}

static void
remove_expired(struct sb_cursor_table *t, uint64_t now_us)
{
    for (uint16_t i = t->n_slots; i-- > 0;)
        if (now_us >= t->slots[i].expires_us)
            remove_slot(t, i);
}

/* The contract's rule of eviction. Handles name slots: indices move while we remove. */
static void
evict_one(struct sb_cursor_table *t, const uint8_t *keep_handle)
{
    uint16_t oldest = NONE;
    for (uint16_t i = 0; i < t->n_slots; i++)
    {
        const struct sb_cursor_slot *s = &t->slots[i];
        bool kept = t->walks[s->walk].newest == i ||
                    (keep_handle != NULL && memcmp(s->handle, keep_handle, HANDLE) == 0);
        if (!kept && (oldest == NONE || s->issued < t->slots[oldest].issued))
            oldest = i;
    }
    if (oldest != NONE)
    {
        remove_slot(t, oldest);
        return;
    }
    uint16_t lru = 0;
    for (uint16_t w = 1; w < t->n_walks; w++)
        if (t->walks[w].last_used < t->walks[lru].last_used)
            lru = w;
    for (uint16_t i = t->n_slots; i-- > 0;)
        if (t->slots[i].walk == lru)
            remove_slot(t, i);
}

/* ---- open ---- */

static const uint8_t *
find_key(const struct sb_cursor_keys *keys, uint32_t id)
{
    for (uint32_t i = 0; i < keys->n; i++)
        if (keys->v[i].id == id)
            return keys->v[i].key;
    return NULL;
}

int
sb_cursor_open(struct sb_cursor_table *t, const struct sb_cursor_ctx *c, struct sb_bytes presented,
               const struct sb_digest *binding, uint64_t now_us, uint64_t horizon,
               struct sb_opened *out, enum sb_refusal *cause)
{
    /* Stand-ins keep the work equal when there is nothing to compare with. */
    static const uint8_t no_key[32];
    static const struct sb_walk no_walk;
    uint8_t cursor[SB_CURSOR_BYTES] = {0};
    uint8_t tag[TAG];
    bool formed = presented.len == SB_CURSOR_BYTES && presented.data[0] == FORMAT;
    if (presented.len == SB_CURSOR_BYTES)
        memcpy(cursor, presented.data, SB_CURSOR_BYTES);

    const uint8_t *key = find_key(&c->keys, get_be32(cursor + 1));
    make_tag(key != NULL ? key : no_key, cursor, tag);
    bool authentic = sodium_memcmp(tag, cursor + TAG_AT, TAG) == 0;

    uint16_t slot = find_slot(t, cursor + HANDLE_AT);
    const struct sb_cursor_slot *s = slot == NONE ? NULL : &t->slots[slot];
    const struct sb_walk *walk = s == NULL ? &no_walk : &t->walks[s->walk];
    bool bound = sodium_memcmp(walk->binding.b, binding->b, sizeof(binding->b)) == 0;

    if (!formed)
        *cause = SB_REFUSAL_MALFORMED;
    else if (key == NULL)
        *cause = SB_REFUSAL_UNKNOWN_KEY;
    else if (!authentic)
        *cause = SB_REFUSAL_BAD_TAG;
    else if (s == NULL)
        *cause = SB_REFUSAL_UNKNOWN_HANDLE;
    else if (!bound)
        *cause = SB_REFUSAL_BINDING;
    else if (now_us >= s->expires_us)
        *cause = SB_REFUSAL_EXPIRED;
    else if (walk->snapshot != 0 && walk->snapshot < horizon)
        *cause = SB_REFUSAL_SNAPSHOT_GONE;
    else
    {
        t->walks[s->walk].last_used = ++t->clock;
        *out = (struct sb_opened){
            .place = s->place, .snapshot = walk->snapshot, .ends_us = walk->ends_us};
        memcpy(out->handle, s->handle, HANDLE);
        return 0;
    }
    return SB_ERR_INVALID_CURSOR;
}

/* ---- issue ---- */

/* Room for one more element; capacities double from 2. */
static int
grow(void **array, uint16_t n, uint16_t *cap, size_t size)
{
    if (n < *cap)
        return 0;
    uint16_t more = *cap == 0 ? 2 : (uint16_t)(*cap * 2);
    void *bigger = realloc(*array, more * size);
    if (bigger == NULL)
        return SB_ERR_NO_MEMORY;
    *array = bigger;
    *cap = more;
    return 0;
}

static int
make_room(struct sb_cursor_table *t, uint64_t now_us, const uint8_t *keep_handle)
{
    if (t->n_slots == SB_CURSORS_PER_SESSION)
    {
        remove_expired(t, now_us);
        while (t->n_slots >= SB_CURSORS_PER_SESSION)
            evict_one(t, keep_handle);
    }
    remove_empty_walks(t);
    int rc = grow((void **)&t->slots, t->n_slots, &t->cap_slots, sizeof(*t->slots));
    if (rc == 0)
        rc = grow((void **)&t->walks, t->n_walks, &t->cap_walks, sizeof(*t->walks));
    return rc;
}

/* The walk that goes on, or a new one: also when every cursor of the old one was evicted. */
static uint16_t
walk_for(struct sb_cursor_table *t, const struct sb_issue *i)
{
    uint16_t slot = i->from == NULL ? NONE : find_slot(t, i->from->handle);
    if (slot != NONE)
        return t->slots[slot].walk;
    t->walks[t->n_walks] = (struct sb_walk){
        .binding = *i->binding,
        .snapshot = i->snapshot,
        .ends_us = i->from != NULL ? i->from->ends_us : i->now_us + i->snapshot_ttl_ms * 1000,
        .newest = NONE,
    };
    return t->n_walks++;
}

static void
write_cursor(const struct sb_cursor_ctx *c, const uint8_t handle[HANDLE], uint64_t expires_ms,
             uint8_t out[SB_CURSOR_BYTES])
{
    out[0] = FORMAT;
    put_be(out + 1, c->keys.v[0].id, 4);
    put_be(out + 5, expires_ms, 8);
    memcpy(out + HANDLE_AT, handle, HANDLE);
    make_tag(c->keys.v[0].key, out, out + TAG_AT);
}

int
sb_cursor_issue(struct sb_cursor_table *t, const struct sb_cursor_ctx *c, const struct sb_issue *i,
                uint8_t out[SB_CURSOR_BYTES])
{
    int rc = make_room(t, i->now_us, i->from == NULL ? NULL : i->from->handle);
    if (rc != 0)
    {
        free(i->place.name);
        return rc;
    }
    uint16_t w = walk_for(t, i);
    uint64_t expires_us = i->now_us + i->cursor_ttl_ms * 1000;
    if (expires_us > t->walks[w].ends_us)
        expires_us = t->walks[w].ends_us;
    uint64_t left_us = expires_us > i->now_us ? expires_us - i->now_us : 0;

    uint16_t n = t->n_slots++;
    t->slots[n] = (struct sb_cursor_slot){
        .place = i->place, .expires_us = expires_us, .issued = ++t->clock, .walk = w};
    c->ports->random(c->ports->ctx, t->slots[n].handle, HANDLE);
    t->walks[w].newest = n;
    t->walks[w].cursors++;
    t->walks[w].last_used = t->clock;
    write_cursor(c, t->slots[n].handle, i->now_ms + left_us / 1000, out);
    return 0;
}

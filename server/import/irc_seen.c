/*
 * irc_seen.c - line identities: a digest, and which occurrence of an equal line this is.
 *
 * Invariant: a line's wall time is never more than 12 h older than the newest one of its file
 * (irc.c makes it the next day otherwise), so counts older than a day can be forgotten.
 */
#include "import/irc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "import/zone.h"

#define DAY 86400

static void
table_clear(struct sb_irc_seen_table *t)
{
    free(t->slots);
    *t = (struct sb_irc_seen_table){0};
}

void
sb_irc_seen_reset(struct sb_irc_seen *s)
{
    sb_irc_seen_finish(s);
    s->newest = INT64_MIN;
}

void
sb_irc_seen_finish(struct sb_irc_seen *s)
{
    table_clear(&s->days[0]);
    table_clear(&s->days[1]);
}

/* The slot of a key, or the free one where it goes. The key is a digest: its bytes spread. */
static size_t
find(const struct sb_irc_seen_table *t, const uint8_t key[16])
{
    uint64_t h;
    memcpy(&h, key, sizeof(h));
    size_t i = (size_t)h & (t->cap - 1);
    while (t->slots[i].count != 0 && memcmp(t->slots[i].key, key, 16) != 0)
        i = (i + 1) & (t->cap - 1);
    return i;
}

static int
table_grow(struct sb_irc_seen_table *t)
{
    struct sb_irc_seen_table bigger = {.n = t->n, .cap = t->cap == 0 ? 1024 : t->cap * 2};
    bigger.slots = calloc(bigger.cap, sizeof(bigger.slots[0]));
    if (bigger.slots == NULL)
        return SB_ERR_NO_MEMORY;
    for (size_t i = 0; i < t->cap; i++)
    {
        if (t->slots[i].count != 0)
            bigger.slots[find(&bigger, t->slots[i].key)] = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
    return 0;
}

/* Which occurrence this is, from 1; 0 when memory is short. */
static uint32_t
count(struct sb_irc_seen *s, int64_t wall, const uint8_t key[16])
{
    int64_t day = wall / DAY;
    struct sb_irc_seen_table *t = &s->days[day & 1];
    if (day > s->newest)
    {
        table_clear(t);
        if (s->newest != INT64_MIN && day > s->newest + 1)
            table_clear(&s->days[(day + 1) & 1]);
        s->newest = day;
    }
    if (t->n * 2 >= t->cap && table_grow(t) != 0)
        return 0;
    size_t i = find(t, key);
    if (t->slots[i].count == 0)
    {
        memcpy(t->slots[i].key, key, 16);
        t->n++;
    }
    return ++t->slots[i].count;
}

static void
add_field(struct sb_sha256 *h, struct sb_bytes field)
{
    sb_sha256_add(h, field);
    sb_sha256_add(h, sb_bytes("\0", 1));
}

int
sb_irc_seen_id(struct sb_irc_seen *s, struct sb_bytes channel, int64_t wall, struct sb_bytes nick,
               struct sb_bytes text, char out[SB_IRC_ID])
{
    static const char hex[] = "0123456789abcdef";
    struct sb_sha256 h;
    uint8_t digest[32];
    char word[32];
    sb_sha256_init(&h);
    add_field(&h, channel);
    sb_zone_format(wall, word);
    add_field(&h, sb_bytes_str(word));
    add_field(&h, nick);
    add_field(&h, text);
    struct sb_sha256 line = h;
    sb_sha256_end(&line, digest);
    uint32_t n = count(s, wall, digest);
    if (n == 0)
        return SB_ERR_NO_MEMORY;
    (void)snprintf(word, sizeof(word), "%" PRIu32, n);
    add_field(&h, sb_bytes_str(word));
    sb_sha256_end(&h, digest);
    for (size_t i = 0; i < SB_IRC_ID / 2; i++)
    {
        out[2 * i] = hex[digest[i] >> 4];
        out[2 * i + 1] = hex[digest[i] & 15];
    }
    return 0;
}

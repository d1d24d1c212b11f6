/*
 * filter.h - a filter in its one canonical form: an and of ors of tags, plus a date range.
 *
 * Equivalent filters (lists in another order, with repeats, empty fields) give the same
 * struct and the same bytes, so a cursor can be bound to the bytes.
 */
#ifndef SB_CORE_FILTER_H
#define SB_CORE_FILTER_H

#include "core/store.h"
#include "core/tags.h"

enum
{
    SB_FILTER_GROUPS = 5, /* by, has, mentions, kind, thread_of */
    SB_FILTER_TAGS = 4 * SB_MAX_LIST + 1,
};

struct sb_filter_group
{
    uint8_t field;     /* which of by, has, mentions, kind, thread_of */
    bool default_kind; /* rows without a kind match too: the group has no complete postings */
    uint16_t first, n; /* its tags, sorted by hash, none twice */
};

struct sb_filter
{
    uint32_t n_groups;
    struct sb_filter_group groups[SB_FILTER_GROUPS];
    struct sb_hash tags[SB_FILTER_TAGS];
    uint64_t from; /* at >= from */
    uint64_t to;   /* at < to; UINT64_MAX: no bound */
};

void sb_filter_init(struct sb_filter *f, const struct sb_store *s,
                    const struct sb_filter_frame *frame);

/* Whether a row matches: all fields, any of each list, and the date range. */
bool sb_filter_matches(const struct sb_filter *f, const struct sb_row *row);

/* The canonical bytes into `out`; returns the length. */
#define SB_FILTER_BYTES (SB_FILTER_GROUPS * 4 + SB_FILTER_TAGS * 16 + 16)
size_t sb_filter_bytes(const struct sb_filter *f, uint8_t out[SB_FILTER_BYTES]);

#endif

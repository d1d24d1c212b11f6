/*
 * import_check.h - what must hold for every row that an import reader emits, and a digest of
 * all rows, so that two readings can be compared.
 */
#ifndef SB_FUZZ_IMPORT_CHECK_H
#define SB_FUZZ_IMPORT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "import/import.h"
#include "protocol/prescan.h"
#include "protocol/utf8.h"

#define CHECK_TEXT_MAX 4096

struct import_check
{
    uint64_t digest, rows, skipped;
};

static inline void
check_must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "import: %s\n", what);
    abort();
}

static inline void
check_mix(struct import_check *c, struct sb_bytes s)
{
    for (size_t i = 0; i < s.len; i++)
        c->digest = (c->digest ^ s.data[i]) * UINT64_C(1099511628211);
    c->digest = (c->digest ^ 0x100) * UINT64_C(1099511628211);
}

static inline void
check_name(struct import_check *c, struct sb_bytes s, size_t max)
{
    check_must(s.len >= 1 && s.len <= max, "a name of a length that the wire refuses");
    check_must(sb_utf8_valid(s), "a name that is not UTF-8");
    check_must(!sb_utf8_has_control(s), "a name with a control character");
    check_mix(c, s);
}

static inline void
check_string(struct import_check *c, struct sb_bytes s, size_t max)
{
    check_must(s.len <= max, "a string past its limit");
    check_must(sb_utf8_valid(s), "a string that is not UTF-8");
    check_mix(c, s);
}

static inline void
check_lists(struct import_check *c, const struct sb_record_import *row)
{
    const struct sb_message *m = &row->message;
    check_must(m->n_mentions <= SB_MAX_MENTIONS, "too many mentions");
    check_must(m->n_attachments <= SB_MAX_ATTACHMENTS, "too many attachments");
    for (uint32_t i = 0; i < m->n_mentions; i++)
        check_name(c, m->mentions[i], SB_MAX_NAME);
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        const struct sb_attachment *a = &m->attachments[i];
        check_string(c, a->name, SB_MAX_ATTACHMENT_STR);
        check_string(c, a->type, SB_MAX_ATTACHMENT_STR);
        check_string(c, a->url, SB_MAX_ATTACHMENT_STR);
        check_must(a->size <= SB_MAX_SAFE_INT, "a size that no client could keep");
        check_must(!a->width.set || a->width.value <= SB_MAX_SAFE_INT, "a width out of range");
        check_must(!a->height.set || a->height.value <= SB_MAX_SAFE_INT, "a height out of range");
    }
    for (uint32_t i = 0; i < row->n_reactions; i++)
    {
        check_name(c, row->reactions[i].emoji, SB_MAX_KIND);
        check_name(c, row->reactions[i].user, SB_MAX_NAME);
    }
}

static inline int
check_row(void *ctx, struct sb_bytes thread, const struct sb_record_import *row)
{
    static struct sb_prescan scan;
    struct import_check *c = ctx;
    const struct sb_message *m = &row->message;
    check_name(c, thread, SB_MAX_NAME);
    check_name(c, m->by, SB_MAX_NAME);
    if (m->kind.len != 0)
        check_name(c, m->kind, SB_MAX_KIND);
    check_must(m->source_id.len != 0, "no source id");
    check_string(c, m->source_id, 512);
    check_string(c, row->reply_to_id, 512);
    check_string(c, m->text, CHECK_TEXT_MAX);
    check_must(m->at <= SB_MAX_SAFE_INT, "a time out of range");
    check_must(!m->edited_at.set || m->edited_at.value <= SB_MAX_SAFE_INT, "an edit out of range");
    check_must(!m->deleted || m->text.len == 0, "a deleted row with a text");
    check_lists(c, row);
    if (m->meta.len != 0)
        check_must(sb_prescan(&scan, m->meta) == SB_PRESCAN_OK, "meta that the wire would refuse");
    check_mix(c, m->meta);
    c->digest += m->at;
    c->rows++;
    return 0;
}

static inline void
check_skipped(void *ctx, const char *where, const char *why)
{
    struct import_check *c = ctx;
    check_must(where[0] != '\0' && why[0] != '\0', "a skip without a place or reason");
    c->skipped++;
}

#endif

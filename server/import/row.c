/*
 * row.c - see row.h.
 *
 * Invariant: whatever reaches the sink keeps the wire's limits of names, kinds, lists and
 * numbers, so that no imported row can break the reply that carries it.
 */
#include "import/row.h"

#include <stdlib.h>

#include "import/utf8.h"
#include "protocol/utf8.h"

#define ROW_MEMORY (24 * 1024 * 1024) /* repaired strings of one row */

struct sb_import_row *
sb_import_row_create(struct sb_import_run *run)
{
    struct sb_import_row *row = calloc(1, sizeof(*row));
    if (row == NULL)
        return NULL;
    row->run = run;
    sb_arena_init(&row->arena, ROW_MEMORY);
    return row;
}

void
sb_import_row_destroy(struct sb_import_row *row)
{
    if (row == NULL)
        return;
    sb_arena_finish(&row->arena);
    free(row);
}

void
sb_import_row_begin(struct sb_import_row *row, struct sb_bytes system)
{
    sb_arena_reset(&row->arena);
    row->thread = sb_bytes(NULL, 0);
    row->rec = (struct sb_record_import){.message = {.source_system = system}};
    row->rec.message.mentions = row->mentions;
    row->rec.message.attachments = row->attachments;
    row->rec.reactions = row->reactions;
    row->has_at = false;
    row->repaired = false;
    row->exhausted = false;
}

/* The same string with each control character as '_'. */
static struct sb_bytes
without_control(struct sb_import_row *row, struct sb_bytes s)
{
    uint8_t *out = sb_arena_get(&row->arena, s.len);
    if (out == NULL)
    {
        row->exhausted = true;
        return sb_bytes(NULL, 0);
    }
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
    {
        bool c1 = s.data[i] == 0xc2 && i + 1 < s.len && s.data[i + 1] < 0xa0;
        if (c1)
            i++;
        if (c1 || s.data[i] < 0x20 || s.data[i] == 0x7f)
            out[n++] = '_';
        else
            out[n++] = s.data[i];
    }
    return sb_bytes(out, n);
}

/* A name that the wire takes: cut, cleaned, never empty. */
static struct sb_bytes
name_fit(struct sb_import_row *row, struct sb_bytes name, size_t max)
{
    struct sb_bytes out = name;
    if (out.len > max)
    {
        out.len = sb_import_utf8_cut(out, max);
        row->repaired = true;
    }
    if (sb_utf8_has_control(out))
    {
        out = without_control(row, out);
        row->repaired = true;
    }
    if (out.len != 0)
        return out;
    row->repaired = true;
    return SB_LIT("unknown");
}

void
sb_import_row_thread(struct sb_import_row *row, struct sb_bytes name)
{
    row->thread = name_fit(row, name, SB_MAX_NAME);
}

void
sb_import_row_by(struct sb_import_row *row, struct sb_bytes name)
{
    row->rec.message.by = name_fit(row, name, SB_MAX_NAME);
}

void
sb_import_row_kind(struct sb_import_row *row, struct sb_bytes kind)
{
    row->rec.message.kind = sb_bytes(NULL, 0);
    if (kind.len != 0 && !sb_bytes_eq(kind, SB_LIT("message")))
        row->rec.message.kind = name_fit(row, kind, SB_MAX_KIND);
}

void
sb_import_row_at(struct sb_import_row *row, uint64_t at)
{
    row->rec.message.at = at;
    row->has_at = true;
}

void
sb_import_row_mention(struct sb_import_row *row, struct sb_bytes user)
{
    struct sb_message *m = &row->rec.message;
    if (user.len == 0)
        return;
    if (m->n_mentions == SB_MAX_MENTIONS)
    {
        row->repaired = true;
        return;
    }
    struct sb_bytes name = name_fit(row, user, SB_MAX_NAME);
    for (uint32_t i = 0; i < m->n_mentions; i++)
    {
        if (sb_bytes_eq(row->mentions[i], name))
            return;
    }
    row->mentions[m->n_mentions++] = name;
}

static struct sb_bytes
attachment_string(struct sb_import_row *row, struct sb_bytes s)
{
    if (s.len <= SB_MAX_ATTACHMENT_STR)
        return s;
    row->repaired = true;
    s.len = sb_import_utf8_cut(s, SB_MAX_ATTACHMENT_STR);
    return s;
}

void
sb_import_row_attachment(struct sb_import_row *row, const struct sb_attachment *a)
{
    struct sb_message *m = &row->rec.message;
    if (m->n_attachments == SB_MAX_ATTACHMENTS)
    {
        row->repaired = true;
        return;
    }
    struct sb_attachment *out = &row->attachments[m->n_attachments++];
    *out = *a;
    out->name = attachment_string(row, a->name);
    out->type = attachment_string(row, a->type);
    if (a->url.len > SB_MAX_ATTACHMENT_STR)
    {
        out->url = sb_bytes(NULL, 0); /* half an address leads elsewhere */
        row->repaired = true;
    }
    if (out->size > SB_MAX_SAFE_INT)
        out->size = 0;
    if (out->width.value > SB_MAX_SAFE_INT || out->height.value > SB_MAX_SAFE_INT)
        out->width.set = out->height.set = false;
}

void
sb_import_row_reaction(struct sb_import_row *row, struct sb_bytes emoji, struct sb_bytes user)
{
    if (emoji.len == 0 || user.len == 0)
        return;
    if (row->rec.n_reactions == SB_IMPORT_MAX_REACTIONS)
    {
        row->repaired = true;
        return;
    }
    row->reactions[row->rec.n_reactions++] = (struct sb_record_reaction){
        .emoji = name_fit(row, emoji, SB_MAX_KIND),
        .user = name_fit(row, user, SB_MAX_NAME),
    };
}

static void
cut_text(struct sb_import_row *row)
{
    struct sb_bytes text = row->rec.message.text;
    uint64_t max = row->run->text_max;
    if (text.len <= max)
        return;
    struct sb_bytes mark = SB_LIT(SB_IMPORT_CUT);
    if (max < mark.len)
        mark.len = 0;
    size_t keep = sb_import_utf8_cut(text, (size_t)max - mark.len);
    uint8_t *out = sb_arena_get(&row->arena, keep + mark.len + 1);
    if (out == NULL)
    {
        row->exhausted = true;
        return;
    }
    memcpy(out, text.data, keep);
    memcpy(out + keep, mark.data, mark.len);
    row->rec.message.text = sb_bytes(out, keep + mark.len);
    row->run->counts->cut++;
}

/* A tombstone carries place, author, kind and reply: never what was said. */
static void
clear_deleted(struct sb_import_row *row)
{
    struct sb_message *m = &row->rec.message;
    m->text = sb_bytes(NULL, 0);
    m->meta = sb_bytes(NULL, 0);
    m->n_mentions = 0;
    m->n_attachments = 0;
    row->rec.n_reactions = 0;
}

/* NULL when the row can be emitted. */
static const char *
reason_to_skip(struct sb_import_row *row)
{
    const struct sb_message *m = &row->rec.message;
    if (m->source_id.len == 0)
        return "no id";
    if (m->source_id.len > SB_IMPORT_MAX_ID)
        return "the id is longer than 512 bytes";
    if (!row->has_at)
        return "no time";
    if (m->at > SB_MAX_SAFE_INT)
        return "the time is out of range";
    if (row->thread.len == 0)
        return "no thread";
    if (m->by.len == 0)
        return "no author";
    return row->exhausted ? "the message is too large" : NULL;
}

int
sb_import_row_emit(struct sb_import_row *row, const char *file, uint64_t place)
{
    struct sb_message *m = &row->rec.message;
    const char *reason = reason_to_skip(row);
    if (reason != NULL)
    {
        sb_import_run_skip(row->run, file, place, reason);
        return 0;
    }
    if (m->deleted)
        clear_deleted(row);
    if (m->edited_at.set && m->edited_at.value > SB_MAX_SAFE_INT)
        m->edited_at.set = false;
    if (row->rec.reply_to_id.len > SB_IMPORT_MAX_ID)
        row->rec.reply_to_id.len = 0;
    cut_text(row);
    if (row->exhausted)
    {
        sb_import_run_skip(row->run, file, place, "the message is too large");
        return 0;
    }
    int rc = row->run->sink->row(row->run->sink->ctx, row->thread, &row->rec);
    if (rc != 0)
    {
        row->run->stop = rc;
        return rc;
    }
    row->run->counts->rows++;
    if (row->repaired)
        row->run->counts->repaired++;
    return 0;
}

/*
 * jsonl.c - JSON Lines: one message per line, the form of the contract.
 *
 * {thread, at, by, text, id, kind?, edited_at?, deleted?, reply_to_id?, mentions?,
 * attachments?, reactions?, meta?}. Unknown members are ignored. --thread gives the thread of
 * every line; ids and reply_to_id may be numbers, taken as written. Texts are kept byte for
 * byte, so that an export read back is the same.
 */
#include "import/json.h"
#include "import/lines.h"
#include "import/meta.h"
#include "import/row.h"

#include <stdio.h>

#define MAX_LINE ((size_t)8 * 1024 * 1024)   /* bytes of one line */
#define MAX_VALUE ((size_t)64 * 1024 * 1024) /* memory of one line's tree */

struct reader
{
    struct sb_import_run run;
    struct sb_import_row *row;
    struct sb_json_reader *json;
    const char *file;
    uint64_t line;
    uint32_t values; /* seen in this line */
    const char *wrong;
};

static void
add_mentions(struct sb_import_row *row, const struct sb_json *list)
{
    if (list == NULL || list->type != SB_JSON_ARRAY)
        return;
    for (const struct sb_json *c = list->first; c != NULL; c = c->next)
        sb_import_row_mention(row, sb_json_str(c));
}

static struct sb_opt_uint
opt_uint(const struct sb_json *v)
{
    struct sb_opt_uint out = {0};
    out.set = sb_json_uint(v, &out.value);
    return out;
}

static void
add_attachments(struct sb_import_row *row, const struct sb_json *list)
{
    if (list == NULL || list->type != SB_JSON_ARRAY)
        return;
    for (const struct sb_json *c = list->first; c != NULL; c = c->next)
    {
        if (c->type != SB_JSON_MAP)
            continue;
        struct sb_attachment a = {
            .name = sb_json_str(sb_json_get(c, SB_LIT("name"))),
            .type = sb_json_str(sb_json_get(c, SB_LIT("type"))),
            .url = sb_json_str(sb_json_get(c, SB_LIT("url"))),
            .width = opt_uint(sb_json_get(c, SB_LIT("width"))),
            .height = opt_uint(sb_json_get(c, SB_LIT("height"))),
        };
        a.size = opt_uint(sb_json_get(c, SB_LIT("size"))).value;
        sb_import_row_attachment(row, &a);
    }
}

static void
add_users(struct sb_import_row *row, struct sb_bytes emoji, const struct sb_json *users)
{
    if (users == NULL || users->type != SB_JSON_ARRAY)
        return;
    for (const struct sb_json *u = users->first; u != NULL; u = u->next)
        sb_import_row_reaction(row, emoji, sb_json_str(u));
}

/* {emoji: [user]} or [{emoji, users}] */
static void
add_reactions(struct sb_import_row *row, const struct sb_json *v)
{
    if (v == NULL)
        return;
    for (const struct sb_json *c = v->first; c != NULL; c = c->next)
    {
        if (v->type == SB_JSON_MAP)
            add_users(row, c->key, c);
        else
            add_users(row, sb_json_str(sb_json_get(c, SB_LIT("emoji"))),
                      sb_json_get(c, SB_LIT("users")));
    }
}

static void
add_meta(struct sb_import_row *row, const struct sb_json *v)
{
    if (v == NULL)
        return;
    size_t n = sb_import_meta_pack(v, row->meta, sizeof(row->meta));
    if (n == 0 && !(v->type == SB_JSON_MAP && v->n == 0))
        row->repaired = true;
    row->rec.message.meta = sb_bytes(row->meta, n);
}

/* The members that every message has; the reason when one is missing or wrong. */
static const char *
fill_required(struct reader *r, const struct sb_json *v)
{
    struct sb_import_row *row = r->row;
    const char *thread = r->run.options->thread;
    struct sb_bytes name = sb_json_str(sb_json_get(v, SB_LIT("thread")));
    const struct sb_json *text = sb_json_get(v, SB_LIT("text"));
    const struct sb_json *by = sb_json_get(v, SB_LIT("by"));
    struct sb_bytes id = sb_json_id(sb_json_get(v, SB_LIT("id")));
    uint64_t at;
    if (id.len == 0)
        return "no id";
    if (!sb_json_uint(sb_json_get(v, SB_LIT("at")), &at))
        return "`at` is not a number of Unix milliseconds";
    if (by == NULL || by->type != SB_JSON_STRING)
        return "no `by`";
    if (thread == NULL && name.len == 0)
        return "no thread, and none given with --thread";
    if (text != NULL && text->type != SB_JSON_STRING)
        return "`text` is not a string";
    sb_import_row_thread(row, thread != NULL ? sb_bytes_str(thread) : name);
    sb_import_row_by(row, by->text);
    sb_import_row_at(row, at);
    row->rec.message.source_id = id;
    row->rec.message.text = sb_json_str(text);
    return NULL;
}

static int
on_value(void *ctx, const struct sb_json *v)
{
    struct reader *r = ctx;
    if (r->values++ != 0)
        return 0;
    if (v == NULL || v->type != SB_JSON_MAP)
    {
        r->wrong = v == NULL ? "the message is too large or nested too deep" : "not an object";
        return 0;
    }
    sb_import_row_begin(r->row, SB_LIT("jsonl"));
    r->wrong = fill_required(r, v);
    if (r->wrong != NULL)
        return 0;
    struct sb_message *m = &r->row->rec.message;
    sb_import_row_kind(r->row, sb_json_str(sb_json_get(v, SB_LIT("kind"))));
    m->edited_at = opt_uint(sb_json_get(v, SB_LIT("edited_at")));
    m->deleted = sb_json_true(sb_json_get(v, SB_LIT("deleted")));
    r->row->rec.reply_to_id = sb_json_id(sb_json_get(v, SB_LIT("reply_to_id")));
    add_mentions(r->row, sb_json_get(v, SB_LIT("mentions")));
    add_attachments(r->row, sb_json_get(v, SB_LIT("attachments")));
    add_reactions(r->row, sb_json_get(v, SB_LIT("reactions")));
    add_meta(r->row, sb_json_get(v, SB_LIT("meta")));
    if (sb_json_repaired(r->json))
        r->row->repaired = true;
    return sb_import_row_emit(r->row, r->file, r->line);
}

/* One line. The row is emitted inside; a line that holds no whole object is told. */
static int
read_line(struct reader *r, struct sb_bytes line)
{
    r->values = 0;
    r->wrong = NULL;
    int rc = sb_json_feed(r->json, line);
    if (rc == 0)
        rc = sb_json_feed(r->json, SB_LIT("\n"));
    if (r->run.stop != 0)
        return r->run.stop;
    bool whole = rc == 0 && sb_json_idle(r->json) && r->values == 1;
    if (!whole && r->values == 0)
        r->wrong = "not a JSON object";
    else if (!whole && r->wrong == NULL)
        r->wrong = "more than one object, or something behind it; the first was read";
    if (r->wrong != NULL)
        sb_import_run_skip(&r->run, r->file, r->line, r->wrong);
    return whole ? 0 : sb_json_restart(r->json);
}

static int
read_lines(struct reader *r, struct sb_lines *lines, char *why)
{
    struct sb_bytes line;
    int rc;
    while ((rc = sb_lines_next(lines, &line)) > 0)
    {
        r->line = lines->number;
        if (rc == SB_LINE_TOO_LONG)
        {
            sb_import_run_skip(&r->run, r->file, r->line, "the line is longer than 8 MiB");
            continue;
        }
        int stop = sb_line_blank(line) ? 0 : read_line(r, line);
        if (stop != 0)
            return stop;
    }
    if (rc == SB_ERR_IO && r->run.stop == 0)
        (void)snprintf(why, SB_IMPORT_WHY, "reading %.150s stopped after line %llu: %m", r->file,
                       (unsigned long long)r->line);
    return rc;
}

int
sb_import_jsonl(const char *path, const struct sb_import_options *o,
                const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why)
{
    struct reader r = {.file = path};
    struct sb_input in = {.fd = -1};
    struct sb_lines lines = {0};
    sb_import_run_init(&r.run, o, sink, counts);
    int rc = sb_input_file(path, &in);
    if (rc != 0)
    {
        (void)snprintf(why, SB_IMPORT_WHY, "cannot read %.150s: %m", path);
        return rc;
    }
    r.run.total = sb_input_size(&in);
    r.row = sb_import_row_create(&r.run);
    r.json = sb_json_create(SB_JSON_VALUES, MAX_VALUE, on_value, &r);
    if (r.row == NULL || r.json == NULL || sb_lines_init(&lines, &in, &r.run, MAX_LINE) != 0)
        rc = SB_ERR_NO_MEMORY;
    if (rc == 0)
        rc = read_lines(&r, &lines, why);
    if (rc == SB_ERR_NO_MEMORY && r.run.stop == 0)
        (void)snprintf(why, SB_IMPORT_WHY, "not enough memory");
    sb_import_run_finish(&r.run);
    sb_lines_finish(&lines);
    sb_json_destroy(r.json);
    sb_import_row_destroy(r.row);
    sb_input_close(&in);
    return rc;
}

/*
 * slack_message.c - one message of a Slack export to one row.
 *
 * id: the `ts` as written (unique in its channel); at: its milliseconds. Author: the user's
 * name of users.json, else the message's `username`, else the id of user or bot. Subtypes
 * become kinds by the table below, unknown ones keep their name; `file_share` and
 * `thread_broadcast` are ordinary messages. A `tombstone` is a deleted row. A message without
 * text gets that of its `attachments` (what bots and integrations write): per attachment the
 * pretext and the text, else the fallback.
 */
#include "import/slack.h"

static const struct
{
    const char *subtype;
    const char *kind; /* NULL: an ordinary message */
} kinds[] = {
    {"join", "join"},           {"leave", "leave"},        {"topic", "topic"},
    {"purpose", "purpose"},     {"name", "rename"},        {"archive", "archive"},
    {"unarchive", "unarchive"}, {"pinned_item", "pin"},    {"unpinned_item", "unpin"},
    {"bot_message", "bot"},     {"me_message", "action"},  {"file_share", NULL},
    {"thread_broadcast", NULL}, {"reply_broadcast", NULL}, {"tombstone", NULL},
};

bool
sb_slack_ts(struct sb_bytes ts, uint64_t *ms)
{
    uint64_t seconds = 0;
    uint64_t milli = 0;
    size_t i = 0;
    while (i < ts.len && ts.data[i] >= '0' && ts.data[i] <= '9')
    {
        if (i == 12)
            return false;
        seconds = seconds * 10 + (uint64_t)(ts.data[i++] - '0');
    }
    if (i == 0)
        return false;
    if (i < ts.len && ts.data[i] == '.')
        i++;
    size_t from = i;
    for (; i < ts.len && ts.data[i] >= '0' && ts.data[i] <= '9'; i++)
    {
        if (i - from < 3)
            milli = milli * 10 + (uint64_t)(ts.data[i] - '0');
    }
    if (i != ts.len || i - from > 9)
        return false;
    for (size_t digits = i - from; digits < 3; digits++)
        milli *= 10;
    *ms = seconds * 1000 + milli;
    return true;
}

static struct sb_bytes
without(struct sb_bytes s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (s.len > n && memcmp(s.data, prefix, n) == 0)
        return sb_bytes(s.data + n, s.len - n);
    return s;
}

static struct sb_bytes
kind_of(struct sb_bytes subtype)
{
    struct sb_bytes bare = without(without(subtype, "channel_"), "group_");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    {
        if (sb_bytes_eq(sb_bytes_str(kinds[i].subtype), bare))
            return sb_bytes_str(kinds[i].kind);
    }
    return subtype;
}

static struct sb_bytes
field(const struct sb_json *m, const char *name)
{
    return sb_json_str(sb_json_get(m, sb_bytes_str(name)));
}

/* A user's name, else the id itself. */
static struct sb_bytes
user_name(const struct sb_slack *s, struct sb_bytes id)
{
    struct sb_bytes name = sb_names_get(&s->users, id);
    return name.len != 0 ? name : id;
}

static struct sb_bytes
author(const struct sb_slack *s, const struct sb_json *m)
{
    struct sb_bytes id = field(m, "user");
    if (id.len == 0)
        id = field(sb_json_get(m, SB_LIT("comment")), "user");
    struct sb_bytes name = sb_names_get(&s->users, id);
    if (name.len == 0)
        name = field(m, "username");
    if (name.len == 0)
        name = id;
    return name.len != 0 ? name : field(m, "bot_id");
}

static void
add_file(struct sb_slack *s, const struct sb_json *f)
{
    struct sb_attachment a = {
        .name = field(f, "name"),
        .type = field(f, "mimetype"),
        .url = field(f, "url_private"),
    };
    if (a.name.len == 0)
        a.name = field(f, "title");
    if (a.url.len == 0)
        a.url = field(f, "permalink");
    if (a.name.len == 0 && a.url.len == 0)
        return;
    if (!sb_json_uint(sb_json_get(f, SB_LIT("size")), &a.size))
        a.size = 0;
    a.width.set = sb_json_uint(sb_json_get(f, SB_LIT("original_w")), &a.width.value);
    a.height.set = sb_json_uint(sb_json_get(f, SB_LIT("original_h")), &a.height.value);
    sb_import_row_attachment(s->row, &a);
}

static void
add_files(struct sb_slack *s, const struct sb_json *m)
{
    const struct sb_json *files = sb_json_get(m, SB_LIT("files"));
    if (files == NULL || files->type != SB_JSON_ARRAY)
    {
        add_file(s, sb_json_get(m, SB_LIT("file")));
        return;
    }
    for (const struct sb_json *f = files->first; f != NULL; f = f->next)
        add_file(s, f);
}

static void
add_reactions(struct sb_slack *s, const struct sb_json *list)
{
    if (list == NULL || list->type != SB_JSON_ARRAY)
        return;
    for (const struct sb_json *r = list->first; r != NULL; r = r->next)
    {
        const struct sb_json *users = sb_json_get(r, SB_LIT("users"));
        if (users == NULL || users->type != SB_JSON_ARRAY)
            continue;
        for (const struct sb_json *u = users->first; u != NULL; u = u->next)
            sb_import_row_reaction(s->row, field(r, "name"), user_name(s, sb_json_str(u)));
    }
}

static int
append_line(struct sb_slack *s, struct sb_bytes raw)
{
    int rc = 0;
    if (raw.len == 0)
        return 0;
    if (s->text.len != 0)
        rc = sb_buf_append(&s->text, SB_LIT("\n"));
    return rc != 0 ? rc : sb_slack_text(s, raw);
}

static int
append_unfurls(struct sb_slack *s, const struct sb_json *list)
{
    int rc = 0;
    if (list == NULL || list->type != SB_JSON_ARRAY)
        return 0;
    for (const struct sb_json *a = list->first; rc == 0 && a != NULL; a = a->next)
    {
        struct sb_bytes text = field(a, "text");
        rc = append_line(s, field(a, "pretext"));
        if (rc == 0)
            rc = append_line(s, text.len != 0 ? text : field(a, "fallback"));
    }
    return rc;
}

static int
fill_text(struct sb_slack *s, const struct sb_json *m)
{
    sb_buf_reset(&s->text, 65536);
    int rc = sb_slack_text(s, field(m, "text"));
    if (rc == 0 && s->text.len == 0)
        rc = append_unfurls(s, sb_json_get(m, SB_LIT("attachments")));
    s->row->rec.message.text = sb_buf_view(&s->text);
    return rc;
}

static const char *
fill(struct sb_slack *s, const struct sb_json *m)
{
    struct sb_import_row *row = s->row;
    uint64_t at;
    uint64_t ignored;
    if (m == NULL)
        return "the message is too large or nested too deep";
    if (m->type != SB_JSON_MAP)
        return "not an object";
    if (sb_json_get(m, SB_LIT("ts")) == NULL)
        return "no ts";
    struct sb_bytes ts = field(m, "ts");
    if (!sb_slack_ts(ts, &at))
        return "the ts is not seconds with a fraction";
    sb_import_row_begin(row, SB_LIT("slack"));
    sb_import_row_thread(row, s->thread);
    sb_import_row_at(row, at);
    sb_import_row_by(row, author(s, m));
    struct sb_bytes subtype = field(m, "subtype");
    sb_import_row_kind(row, kind_of(subtype));
    struct sb_message *out = &row->rec.message;
    out->source_id = ts;
    out->deleted = sb_bytes_eq(subtype, SB_LIT("tombstone"));
    struct sb_bytes root = field(m, "thread_ts");
    if (!sb_bytes_eq(root, ts) && sb_slack_ts(root, &ignored))
        row->rec.reply_to_id = root;
    out->edited_at.set =
        sb_slack_ts(field(sb_json_get(m, SB_LIT("edited")), "ts"), &out->edited_at.value);
    if (fill_text(s, m) != 0)
        return "the text is too large";
    add_files(s, m);
    add_reactions(s, sb_json_get(m, SB_LIT("reactions")));
    return NULL;
}

int
sb_slack_message(struct sb_slack *s, const struct sb_json *m)
{
    const char *reason = fill(s, m);
    if (reason == NULL)
        return sb_import_row_emit(s->row, s->file, s->number);
    sb_import_run_skip(&s->run, s->file, s->number, reason);
    return 0;
}

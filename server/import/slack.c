/*
 * slack.c - walks a Slack export, zip or folder.
 *
 *   users.json, channels.json, groups.json    names by id
 *   CHANNEL/YYYY-MM-DD.json                   the messages of a day, one array
 *
 * The thread is the folder's name, which Slack makes the channel's. Direct conversations
 * (folders named in dms.json and mpims.json) are not taken: an imported thread is open to
 * everyone who is added to it. The export may lie in a folder of its own inside the zip.
 * Files are read in the order of their names, each message by message. A file that stops
 * being JSON keeps the messages before that place; the rest is told.
 */
#include "import/slack.h"

#include <stdio.h>
#include <stdlib.h>

#include "import/tree.h"
#include "import/utf8.h"

#define CHUNK 65536
#define MAX_VALUE ((size_t)32 * 1024 * 1024) /* memory of one message's tree */
#define MAX_TEXT ((size_t)32 * 1024 * 1024)  /* a decoded text, before it is cut */

struct walk
{
    struct sb_slack s;
    struct sb_tree tree;
    const char *prefix; /* of the export's own folder: "" or "name/" */
    size_t prefix_len;
};

/* Which list of names is being read. */
struct list
{
    struct walk *w;
    struct sb_names *into;
    bool folders; /* dms: the folder's name is the key */
};

static int
on_list_entry(void *ctx, const struct sb_json *v)
{
    struct list *l = ctx;
    struct sb_bytes id = sb_json_str(sb_json_get(v, SB_LIT("id")));
    struct sb_bytes name = sb_json_str(sb_json_get(v, SB_LIT("name")));
    if (!l->folders)
        return sb_names_put(l->into, id, name);
    int rc = sb_names_put(l->into, id, id);
    return rc != 0 ? rc : sb_names_put(l->into, name, name);
}

static int
on_message(void *ctx, const struct sb_json *v)
{
    struct sb_slack *s = ctx;
    s->number++;
    return sb_slack_message(s, v);
}

/* Feeds one file to a reader. 0, what the reader said, or SB_ERR_IO. */
static int
feed_file(struct walk *w, size_t i, struct sb_json_reader *json)
{
    struct sb_input in;
    uint8_t *chunk = malloc(CHUNK);
    if (chunk == NULL)
        return SB_ERR_NO_MEMORY;
    int rc = sb_tree_input(&w->tree, i, &in);
    if (rc != 0)
    {
        free(chunk);
        return rc;
    }
    bool first = true;
    int64_t n;
    while ((n = sb_input_read(&in, chunk, CHUNK)) > 0)
    {
        struct sb_bytes piece = sb_bytes(chunk, (size_t)n);
        sb_import_run_read(&w->s.run, (uint64_t)n);
        if (first && n >= 3 && memcmp(chunk, "\xef\xbb\xbf", 3) == 0)
            piece = sb_bytes(chunk + 3, (size_t)n - 3);
        first = false;
        rc = sb_json_feed(json, piece);
        if (rc != 0)
            break;
    }
    if (rc == 0)
        rc = n < 0 ? (int)n : in.over ? SB_ERR_TOO_LARGE : sb_json_end(json);
    sb_input_close(&in);
    free(chunk);
    return rc;
}

/* Tells what a file's reading ended with, if that concerns only this file. */
static int
end_of_file(struct walk *w, const char *file, int rc)
{
    const char *reason = rc == SB_ERR_BAD_REQUEST ? "not JSON from here on; what follows is lost"
                         : rc == SB_ERR_TOO_LARGE ? "more than 1 GiB; what follows is not read"
                         : rc == SB_ERR_IO        ? "cannot be read from here on"
                                                  : NULL;
    if (reason == NULL || w->s.run.stop != 0)
        return rc;
    sb_import_run_skip(&w->s.run, file, w->s.number + 1, reason);
    return 0;
}

static int
read_list(struct walk *w, const char *name, struct sb_names *into, bool folders)
{
    struct list l = {w, into, folders};
    for (size_t i = 0; i < w->tree.n; i++)
    {
        const char *entry = w->tree.entries[i].name;
        if (strncmp(entry, w->prefix, w->prefix_len) != 0 ||
            strcmp(entry + w->prefix_len, name) != 0)
            continue;
        struct sb_json_reader *json =
            sb_json_create(SB_JSON_ELEMENTS, MAX_VALUE, on_list_entry, &l);
        if (json == NULL)
            return SB_ERR_NO_MEMORY;
        w->s.number = 0;
        int rc = end_of_file(w, entry, feed_file(w, i, json));
        sb_json_destroy(json);
        return rc;
    }
    return 0;
}

/* The export's own folder is where the shallowest channels.json or users.json lies. */
static void
find_prefix(struct walk *w)
{
    size_t best = SIZE_MAX;
    w->prefix = "";
    w->prefix_len = 0;
    for (size_t i = 0; i < w->tree.n; i++)
    {
        const char *name = w->tree.entries[i].name;
        const char *slash = strrchr(name, '/');
        const char *base = slash == NULL ? name : slash + 1;
        size_t len = (size_t)(base - name);
        if (len < best && (strcmp(base, "channels.json") == 0 || strcmp(base, "users.json") == 0))
        {
            best = len;
            w->prefix = name;
            w->prefix_len = len;
        }
    }
}

/* The channel of a day file; the empty view for any other file. */
static struct sb_bytes
channel_of(const struct walk *w, const char *name)
{
    if (strncmp(name, w->prefix, w->prefix_len) != 0)
        return sb_bytes(NULL, 0);
    const char *inner = name + w->prefix_len;
    const char *slash = strchr(inner, '/');
    size_t len = strlen(inner);
    if (slash == NULL || strchr(slash + 1, '/') != NULL || slash == inner || slash[1] == '.' ||
        len < 5 || strcmp(inner + len - 5, ".json") != 0)
        return sb_bytes(NULL, 0);
    return sb_bytes(inner, (size_t)(slash - inner));
}

static int
read_day(struct walk *w, size_t i, struct sb_bytes channel)
{
    struct sb_slack *s = &w->s;
    struct sb_buf name;
    sb_buf_init(&name, 65536);
    int rc = sb_import_utf8_repair(&name, channel);
    struct sb_json_reader *json = sb_json_create(SB_JSON_ELEMENTS, MAX_VALUE, on_message, s);
    if (json == NULL)
        rc = SB_ERR_NO_MEMORY;
    s->thread = sb_buf_view(&name);
    if (s->run.options->thread != NULL)
        s->thread = sb_bytes_str(s->run.options->thread);
    s->file = w->tree.entries[i].name;
    s->number = 0;
    if (rc == 0)
        rc = end_of_file(w, s->file, feed_file(w, i, json));
    sb_json_destroy(json);
    sb_buf_finish(&name);
    return rc;
}

/* Channels (not direct conversations) that the export holds; entries are sorted. */
static size_t
count_channels(const struct walk *w)
{
    size_t n = 0;
    struct sb_bytes last = {0};
    for (size_t i = 0; i < w->tree.n; i++)
    {
        struct sb_bytes c = channel_of(w, w->tree.entries[i].name);
        if (c.len == 0 || sb_names_get(&w->s.private, c).len != 0 || sb_bytes_eq(c, last))
            continue;
        last = c;
        n++;
    }
    return n;
}

static int
read_days(struct walk *w, char *why)
{
    size_t channels = count_channels(w);
    int rc = 0;
    if (channels == 0)
    {
        (void)snprintf(why, SB_IMPORT_WHY, "%.150s holds no channel of a Slack export",
                       w->tree.path);
        return SB_ERR_IO;
    }
    if (channels > 1 && w->s.run.options->thread != NULL)
    {
        (void)snprintf(why, SB_IMPORT_WHY,
                       "the export has %zu channels, whose message ids would clash in one thread;"
                       " leave --thread out",
                       channels);
        return SB_ERR_IO;
    }
    for (size_t i = 0; rc == 0 && i < w->tree.n; i++)
    {
        struct sb_bytes c = channel_of(w, w->tree.entries[i].name);
        if (c.len != 0 && sb_names_get(&w->s.private, c).len == 0)
            rc = read_day(w, i, c);
    }
    return rc;
}

static int
read_export(struct walk *w, char *why)
{
    struct sb_slack *s = &w->s;
    find_prefix(w);
    for (size_t i = 0; i < w->tree.n; i++)
        s->run.total += w->tree.entries[i].size;
    int rc = read_list(w, "users.json", &s->users, false);
    if (rc == 0)
        rc = sb_names_put(&s->users, SB_LIT("USLACKBOT"), SB_LIT("slackbot"));
    if (rc == 0)
        rc = read_list(w, "channels.json", &s->channels, false);
    if (rc == 0)
        rc = read_list(w, "groups.json", &s->channels, false);
    if (rc == 0)
        rc = read_list(w, "dms.json", &s->private, true);
    if (rc == 0)
        rc = read_list(w, "mpims.json", &s->private, true);
    return rc != 0 ? rc : read_days(w, why);
}

int
sb_import_slack(const char *path, const struct sb_import_options *o,
                const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why)
{
    struct walk w = {0};
    struct sb_slack *s = &w.s;
    why[0] = '\0';
    sb_import_run_init(&s->run, o, sink, counts);
    sb_names_init(&s->users);
    sb_names_init(&s->channels);
    sb_names_init(&s->private);
    sb_buf_init(&s->text, MAX_TEXT);
    int rc = sb_tree_open(&w.tree, path, why);
    s->row = sb_import_row_create(&s->run);
    if (rc == 0)
        rc = s->row == NULL ? SB_ERR_NO_MEMORY : read_export(&w, why);
    if (rc == SB_ERR_NO_MEMORY && s->run.stop == 0 && why[0] == '\0')
        (void)snprintf(why, SB_IMPORT_WHY, "not enough memory");
    sb_import_run_finish(&s->run);
    sb_import_row_destroy(s->row);
    sb_buf_finish(&s->text);
    sb_names_finish(&s->users);
    sb_names_finish(&s->channels);
    sb_names_finish(&s->private);
    sb_tree_close(&w.tree);
    return rc;
}

/*
 * irc.c - walks IRC logs and keeps their clock.
 *
 * A folder is walked in the order of its names: *.log (ZNC: #chan/YYYY-MM-DD.log) and
 * *.raw.txt; other files are left alone. A single file may have any name with a date in it.
 * The thread: --thread, else for *.log the name of the folder that holds it, else the name of
 * the folder given.
 *
 * The file's order holds. A time that goes back by more than 12 h is the next day, a smaller
 * step back is raised to the time before; where a zone repeats an hour, the later reading is
 * taken if that keeps the order. A line without a time has that of the line before; at the
 * start of a file that of the first line that has one.
 */
#include "import/irc.h"

#include <stdio.h>
#include <stdlib.h>

#include "import/lines.h"
#include "import/row.h"
#include "import/utf8.h"
#include "import/zone.h"

#define MAX_LINE ((size_t)1024 * 1024)
#define DAY INT64_C(86400)
#define HALF_DAY INT64_C(43200)

struct reader
{
    struct sb_import_run run;
    struct sb_import_row *row;
    struct sb_tree tree;
    struct sb_zone zone;
    struct sb_irc_seen seen;
    struct sb_buf scratch;   /* the decoded line */
    struct sb_bytes channel; /* thread of the file at hand */
    size_t entry;            /* of the file at hand */
    const char *file;
    int64_t day;         /* of the file, then of its newest line; since 1970 */
    bool started;        /* the three below are set */
    int64_t wall;        /* of the line before, as logged */
    int64_t newest_wall; /* what a step back is measured against */
    int64_t newest_at;   /* Unix seconds */
};

static bool
ends_with(const char *s, const char *end)
{
    size_t n = strlen(s);
    size_t m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The first YYYY-MM-DD in a file's name. */
static bool
date_in_name(const char *file, int64_t *day)
{
    for (const char *p = base_name(file); strlen(p) >= 10; p++)
    {
        unsigned y;
        unsigned m;
        unsigned d;
        if (strspn(p, "0123456789") == 4 && p[4] == '-' && strspn(p + 5, "0123456789") == 2 &&
            p[7] == '-' && strspn(p + 8, "0123456789") >= 2 &&
            sscanf(p, "%4u-%2u-%2u", &y, &m, &d) == 3 && sb_zone_day(y, m, d, day))
            return true;
    }
    return false;
}

/* The last component of path[0..len). */
static struct sb_bytes
last_part(const char *path, size_t len)
{
    size_t from = len;
    while (from > 0 && path[from - 1] != '/')
        from--;
    return sb_bytes(path + from, len - from);
}

static struct sb_bytes
thread_of(const struct reader *r, const char *file)
{
    const char *path = r->tree.path;
    const char *slash = strrchr(file, '/');
    if (r->run.options->thread != NULL)
        return sb_bytes_str(r->run.options->thread);
    if (r->tree.single)
        return last_part(path, (size_t)(base_name(path) - path) - 1);
    if (ends_with(file, ".log") && slash != NULL)
        return last_part(file, (size_t)(slash - file));
    return last_part(path, strlen(path));
}

/* The time of the first line that has one, in seconds of the day; 0 if none has. */
static int64_t
first_time(struct reader *r)
{
    struct sb_input in;
    struct sb_lines lines = {0};
    struct sb_bytes raw;
    struct sb_irc_line line = {0};
    struct sb_buf scratch;
    bool changed;
    if (sb_tree_input(&r->tree, r->entry, &in) != 0)
        return 0;
    sb_buf_init(&scratch, MAX_LINE * 8);
    int rc = sb_lines_init(&lines, &in, NULL, MAX_LINE);
    while (rc == 0 && !line.timed && (rc = sb_lines_next(&lines, &raw)) > 0)
    {
        if (rc == SB_LINE_OK && sb_irc_text_decode(raw, &scratch, &raw, &changed) == 0)
            sb_irc_line_parse(raw, &line);
        rc = 0;
    }
    sb_lines_finish(&lines);
    sb_input_close(&in);
    sb_buf_finish(&scratch);
    return line.timed ? line.seconds : 0;
}

/* Moves the clock to a line's time of day. */
static void
tick(struct reader *r, int64_t seconds)
{
    int64_t wall = r->day * DAY + seconds;
    int64_t at;
    int64_t later;
    if (r->started && r->newest_wall - wall > HALF_DAY)
    {
        r->day++;
        wall += DAY;
    }
    sb_zone_instants(&r->zone, wall, &at, &later);
    if (r->started && at < r->newest_at && later >= r->newest_at)
        at = later;
    r->wall = wall;
    if (r->started && at < r->newest_at)
        return;
    r->newest_at = at;
    r->newest_wall = wall;
    r->started = true;
}

/*
 * Before the first line with a time. Its own time, for the identity, is the start of the day:
 * a log that has no time yet keeps its ids when it grows.
 */
static void
tick_before_first(struct reader *r)
{
    tick(r, first_time(r));
    r->wall = r->day * DAY;
}

static int
read_line(struct reader *r, struct sb_bytes raw, uint64_t number)
{
    struct sb_irc_line line;
    char id[SB_IRC_ID];
    bool changed;
    int rc = sb_irc_text_decode(raw, &r->scratch, &raw, &changed);
    if (rc != 0)
        return rc;
    if (sb_line_blank(raw))
        return 0;
    sb_irc_line_parse(raw, &line);
    if (line.timed)
        tick(r, line.seconds);
    else if (!r->started)
        tick_before_first(r);
    struct sb_import_row *row = r->row;
    sb_import_row_begin(row, SB_LIT("irc"));
    sb_import_row_thread(row, r->channel);
    sb_import_row_by(row, line.by);
    sb_import_row_kind(row, line.kind);
    if (r->newest_at >= 0)
        sb_import_row_at(row, (uint64_t)r->newest_at * 1000);
    row->repaired = row->repaired || changed;
    rc = sb_irc_seen_id(&r->seen, row->thread, r->wall, row->rec.message.by, line.text, id);
    if (rc != 0)
        return rc;
    row->rec.message.source_id = sb_bytes(id, sizeof(id));
    row->rec.message.text = line.text;
    return sb_import_row_emit(row, r->file, number);
}

static int
read_lines(struct reader *r, struct sb_lines *lines)
{
    struct sb_bytes raw;
    int rc;
    while ((rc = sb_lines_next(lines, &raw)) > 0)
    {
        if (rc == SB_LINE_TOO_LONG)
        {
            sb_import_run_skip(&r->run, r->file, lines->number, "the line is longer than 1 MiB");
            continue;
        }
        rc = read_line(r, raw, lines->number);
        if (rc != 0)
            return rc;
    }
    if (rc != SB_ERR_IO)
        return rc;
    sb_import_run_skip(&r->run, r->file, lines->number + 1, "cannot be read from here on");
    return 0;
}

static int
read_file(struct reader *r, size_t i)
{
    struct sb_input in;
    struct sb_lines lines = {0};
    struct sb_buf channel;
    r->entry = i;
    r->file = r->tree.entries[i].name;
    r->started = false;
    sb_irc_seen_reset(&r->seen);
    if (!date_in_name(r->file, &r->day))
    {
        sb_import_run_skip(&r->run, r->file, 0, "no date (YYYY-MM-DD) in the file's name");
        return 0;
    }
    if (sb_tree_input(&r->tree, i, &in) != 0)
    {
        sb_import_run_skip(&r->run, r->file, 0, "cannot be opened");
        return 0;
    }
    sb_buf_init(&channel, 65536);
    int rc = sb_import_utf8_repair(&channel, thread_of(r, r->file));
    r->channel = sb_buf_view(&channel);
    if (rc == 0)
        rc = sb_lines_init(&lines, &in, &r->run, MAX_LINE);
    if (rc == 0)
        rc = read_lines(r, &lines);
    sb_lines_finish(&lines);
    sb_buf_finish(&channel);
    sb_input_close(&in);
    return rc;
}

static bool
is_log(const struct reader *r, size_t i)
{
    const char *name = r->tree.entries[i].name;
    return r->tree.single || ends_with(name, ".raw.txt") || ends_with(name, ".log");
}

static int
read_tree(struct reader *r, char *why)
{
    size_t logs = 0;
    int rc = 0;
    for (size_t i = 0; i < r->tree.n; i++)
    {
        if (!is_log(r, i))
            continue;
        logs++;
        r->run.total += r->tree.entries[i].size;
    }
    if (logs == 0)
    {
        (void)snprintf(why, SB_IMPORT_WHY, "%.150s holds no *.log or *.raw.txt", r->tree.path);
        return SB_ERR_IO;
    }
    for (size_t i = 0; rc == 0 && i < r->tree.n; i++)
    {
        if (is_log(r, i))
            rc = read_file(r, i);
    }
    return rc;
}

int
sb_import_irc(const char *path, const struct sb_import_options *o,
              const struct sb_import_sink *sink, struct sb_import_counts *counts, char *why)
{
    struct reader r = {0};
    why[0] = '\0';
    sb_import_run_init(&r.run, o, sink, counts);
    if (sb_zone_init(&r.zone, o->tz) != 0)
    {
        (void)snprintf(why, SB_IMPORT_WHY,
                       "no time zone %.80s here; a name such as Europe/Berlin is wanted, and the"
                       " system's zone files (tzdata)",
                       o->tz);
        return SB_ERR_IO;
    }
    sb_buf_init(&r.scratch, MAX_LINE * 8);
    int rc = sb_tree_open(&r.tree, path, why);
    r.row = sb_import_row_create(&r.run);
    if (rc == 0)
        rc = r.row == NULL ? SB_ERR_NO_MEMORY : read_tree(&r, why);
    if (rc == SB_ERR_NO_MEMORY && r.run.stop == 0 && why[0] == '\0')
        (void)snprintf(why, SB_IMPORT_WHY, "not enough memory");
    sb_import_run_finish(&r.run);
    sb_import_row_destroy(r.row);
    sb_irc_seen_finish(&r.seen);
    sb_buf_finish(&r.scratch);
    sb_tree_close(&r.tree);
    return rc;
}

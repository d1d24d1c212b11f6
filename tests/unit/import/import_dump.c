/*
 * import_dump.c - prints what a reader emits, one canonical JSON line per row.
 *
 * import_dump FORMAT PATH [--thread NAME] [--tz ZONE] [--text-max BYTES] [--quiet]
 *
 * {thread, at, by, text, id, kind?, reply_to_id?, deleted?, edited_at?, mentions?,
 * attachments?, reactions?}, in the order of emission; reactions as [emoji, user] pairs. What
 * was skipped and the counts go to stderr. compare.mjs holds it against the independent
 * parsers of tests/reference. Exit codes: 0, 1 not readable, 2 usage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "import/import.h"

static void
print_string(FILE *out, struct sb_bytes s)
{
    (void)putc('"', out);
    for (size_t i = 0; i < s.len; i++)
    {
        uint8_t c = s.data[i];
        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20)
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)putc(c, out);
    }
    (void)putc('"', out);
}

static void
print_member(FILE *out, const char *name, struct sb_bytes value)
{
    if (value.len == 0)
        return;
    (void)fprintf(out, ",\"%s\":", name);
    print_string(out, value);
}

static void
print_attachment(FILE *out, const struct sb_attachment *a)
{
    (void)fputs("{\"name\":", out);
    print_string(out, a->name);
    (void)fputs(",\"type\":", out);
    print_string(out, a->type);
    (void)fprintf(out, ",\"size\":%" PRIu64 ",\"url\":", a->size);
    print_string(out, a->url);
    if (a->width.set)
        (void)fprintf(out, ",\"width\":%" PRIu64, a->width.value);
    if (a->height.set)
        (void)fprintf(out, ",\"height\":%" PRIu64, a->height.value);
    (void)putc('}', out);
}

static void
print_lists(FILE *out, const struct sb_record_import *row)
{
    const struct sb_message *m = &row->message;
    for (uint32_t i = 0; i < m->n_mentions; i++)
    {
        (void)fputs(i == 0 ? ",\"mentions\":[" : ",", out);
        print_string(out, m->mentions[i]);
    }
    if (m->n_mentions != 0)
        (void)putc(']', out);
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        (void)fputs(i == 0 ? ",\"attachments\":[" : ",", out);
        print_attachment(out, &m->attachments[i]);
    }
    if (m->n_attachments != 0)
        (void)putc(']', out);
    for (uint32_t i = 0; i < row->n_reactions; i++)
    {
        (void)fputs(i == 0 ? ",\"reactions\":[[" : ",[", out);
        print_string(out, row->reactions[i].emoji);
        (void)putc(',', out);
        print_string(out, row->reactions[i].user);
        (void)putc(']', out);
    }
    if (row->n_reactions != 0)
        (void)putc(']', out);
}

static int
on_row(void *ctx, struct sb_bytes thread, const struct sb_record_import *row)
{
    const struct sb_message *m = &row->message;
    FILE *out = ctx;
    if (out == NULL)
        return 0;
    (void)fputs("{\"thread\":", out);
    print_string(out, thread);
    (void)fprintf(out, ",\"at\":%" PRIu64 ",\"by\":", m->at);
    print_string(out, m->by);
    (void)fputs(",\"text\":", out);
    print_string(out, m->text);
    print_member(out, "id", m->source_id);
    print_member(out, "kind", m->kind);
    print_member(out, "reply_to_id", row->reply_to_id);
    if (m->deleted)
        (void)fputs(",\"deleted\":true", out);
    if (m->edited_at.set)
        (void)fprintf(out, ",\"edited_at\":%" PRIu64, m->edited_at.value);
    print_lists(out, row);
    (void)fputs("}\n", out);
    return 0;
}

static void
on_skipped(void *ctx, const char *where, const char *why)
{
    (void)ctx;
    (void)fprintf(stderr, "skipped %s: %s\n", where, why);
}

static int
usage(void)
{
    (void)fputs("usage: import_dump FORMAT PATH [--thread NAME] [--tz ZONE] [--text-max BYTES]"
                " [--quiet]\n",
                stderr);
    return 2;
}

static double
seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
    struct sb_import_options o = {0};
    struct sb_import_sink sink = {.ctx = stdout, .row = on_row, .skipped = on_skipped};
    struct sb_import_counts counts = {0};
    char why[256] = "";
    const struct sb_import_format *f = argc < 3 ? NULL : sb_import_format_find(argv[1]);
    if (f == NULL)
        return usage();
    for (int i = 3; i < argc; i++)
    {
        if (strcmp(argv[i], "--quiet") == 0)
            sink.ctx = NULL;
        else if (i + 1 == argc)
            return usage();
        else if (strcmp(argv[i], "--thread") == 0)
            o.thread = argv[++i];
        else if (strcmp(argv[i], "--tz") == 0)
            o.tz = argv[++i];
        else if (strcmp(argv[i], "--text-max") == 0)
            o.text_max = strtoull(argv[++i], NULL, 10);
        else
            return usage();
    }
    double start = seconds();
    int rc = f->read(argv[2], &o, &sink, &counts, why);
    (void)fprintf(stderr,
                  "rows=%" PRIu64 " skipped=%" PRIu64 " cut=%" PRIu64 " repaired=%" PRIu64
                  " seconds=%.2f\n",
                  counts.rows, counts.skipped, counts.cut, counts.repaired, seconds() - start);
    if (rc != 0)
        (void)fprintf(stderr, "failed: %s\n", why);
    return rc == 0 ? 0 : 1;
}

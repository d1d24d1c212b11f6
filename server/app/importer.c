/*
 * importer.c - see importer.h.
 *
 * Invariant: every row that a reader emits is counted once, as added, updated, unchanged,
 * refused or unreadable; what was refused or unreadable is in the report with its reason.
 */
#include "app/importer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/command.h"

#define TOLD_MAX 10 /* lines for stderr */

int
sb_importer_open(struct sb_importer *im, int paths)
{
    sb_progress_init(&im->progress, paths);
    sb_links_init(&im->links, im->dir);
    sb_name_set_init(&im->touched);
    im->applier = sb_applier_create();
    if (im->applier == NULL)
        return SB_ERR_NO_MEMORY;
    return sb_batch_init(&im->batch);
}

void
sb_importer_close(struct sb_importer *im)
{
    sb_progress_clear(&im->progress);
    sb_applier_destroy(im->applier);
    sb_batch_finish(&im->batch);
    sb_links_finish(&im->links);
    sb_name_set_finish(&im->touched);
    if (im->report != NULL && fclose(im->report) != 0)
        sb_complain(0, "the report %s is not whole: %s", im->report_path, strerror(errno));
    im->report = NULL;
}

/* ---- the report ---- */

static bool
open_report(struct sb_importer *im)
{
    char when[32];
    time_t now = (time_t)(sb_now_ms() / 1000);
    struct tm tm;
    if (im->report != NULL)
        return true;
    if (im->report_path == NULL)
        return false;
    im->report = fopen(im->report_path, "ae"); /* an earlier run's report is kept */
    if (im->report == NULL)
    {
        sb_progress_clear(&im->progress);
        sb_complain(0, "cannot write the report %s: %s", im->report_path, strerror(errno));
        im->report_path = NULL; /* told once; the counts go on */
        return false;
    }
    gmtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    (void)fprintf(im->report, "# import of %s\n", when);
    return true;
}

/* Text from an export: control characters would break the report's lines. */
static void
put_text(FILE *f, struct sb_bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        (void)fputc(text.data[i] < 0x20 || text.data[i] == 0x7f ? '?' : text.data[i], f);
}

/* "PLACE, id ID: WHY"; no id: "PLACE: WHY". */
static void
put_line(FILE *f, struct sb_bytes place, struct sb_bytes id, const char *why)
{
    put_text(f, place);
    if (id.len != 0)
    {
        (void)fputs(", id ", f);
        put_text(f, id);
    }
    (void)fputs(": ", f);
    put_text(f, sb_bytes_str(why));
    (void)fputc('\n', f);
}

/* One message left out: into the report, and the first few to stderr too. */
static void
report(struct sb_importer *im, struct sb_bytes place, struct sb_bytes id, const char *why)
{
    if (open_report(im))
        put_line(im->report, place, id, why);
    if (im->told == TOLD_MAX)
        return;
    sb_progress_clear(&im->progress);
    (void)fputs("skipped: ", stderr);
    put_line(stderr, place, id, why);
    if (++im->told == TOLD_MAX)
        (void)fputs("further ones are told in the report only\n", stderr);
}

/* ---- batches ---- */

/* A reply whose parent is not there yet. */
static int
remember_link(struct sb_importer *im, const struct sb_record *r)
{
    struct sb_link link = {r->thread, r->import.message.source_system, r->import.message.source_id,
                           r->import.reply_to_id};
    return sb_links_add(&im->links, &link);
}

static int
count_row(struct sb_importer *im, const struct sb_record *r, const struct sb_result *result)
{
    if (result->err != 0)
    {
        im->refused++;
        report(im, r->thread, r->import.message.source_id, sb_error_text(result->err));
        return 0;
    }
    int rc = 0;
    switch (result->outcome)
    {
    case SB_IMPORT_ADDED:
        im->added++;
        rc = sb_name_set_add(&im->touched, r->thread);
        break;
    case SB_IMPORT_UPDATED:
        im->updated++;
        rc = sb_name_set_add(&im->touched, r->thread);
        break;
    case SB_IMPORT_UNCHANGED:
        im->unchanged++;
        break;
    case SB_IMPORT_AHEAD:
        im->refused++;
        report(im, r->thread, r->import.message.source_id, "its time is ahead of this clock");
        return 0;
    }
    /* A row that was there already may come from a run that was stopped before its parent
     * came; a link that is there is left as it is. */
    if (rc == 0 && r->import.reply_to_id.len != 0 &&
        (result->parent_missing || result->outcome != SB_IMPORT_ADDED))
        rc = remember_link(im, r);
    return rc;
}

static int
flush(struct sb_importer *im)
{
    struct sb_batch *b = &im->batch;
    uint64_t now = sb_now_ms();
    if (b->n == 0)
        return 0;
    for (size_t i = 0; i < b->n; i++)
        b->records[i].time_ms = now;
    int rc = sb_apply(im->applier, im->store, b->places, b->results, b->n);
    if (rc == 0)
        im->store->ops->publish(im->store);
    for (size_t i = 0; rc == 0 && i < b->n; i++)
    {
        if (b->records[i].op == SB_RECORD_IMPORT)
            rc = count_row(im, &b->records[i], &b->results[i]);
        else
            im->parentless += b->results[i].err != 0;
    }
    sb_batch_reset(b);
    im->failed = rc;
    return rc;
}

/* ---- the sink ---- */

static int
on_row(void *ctx, struct sb_bytes thread, const struct sb_record_import *row)
{
    struct sb_importer *im = ctx;
    im->progress.rows++;
    if ((im->progress.rows & 255) == 0)
        sb_progress_tick(&im->progress);
    if (!sb_name_ok(thread) || !sb_name_ok(row->message.by))
    {
        im->unreadable++;
        report(im, thread, row->message.source_id, sb_error_text(SB_ERR_BAD_NAME));
        return 0;
    }
    im->failed = sb_batch_add_row(&im->batch, im->tenant, thread, row);
    if (im->failed != 0)
        return 1;
    if (*im->interrupted != 0)
        im->stopped = true;
    if (sb_batch_full(&im->batch) && flush(im) != 0)
        return 1;
    return im->stopped ? 1 : 0;
}

static void
on_skipped(void *ctx, const char *where, const char *why)
{
    struct sb_importer *im = ctx;
    im->unreadable++;
    report(im, sb_bytes_str(where), sb_bytes(NULL, 0), why);
}

static void
on_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct sb_importer *im = ctx;
    im->progress.done = done;
    im->progress.total = total;
    sb_progress_tick(&im->progress);
}

struct sb_import_sink
sb_importer_sink(struct sb_importer *im)
{
    return (struct sb_import_sink){im, on_row, on_skipped, on_progress};
}

/* ---- the end ---- */

static int
apply_links(struct sb_importer *im)
{
    struct sb_link link;
    int rc = sb_links_rewind(&im->links);
    while (rc == 0 && (rc = sb_links_next(&im->links, &link)) == 0)
    {
        rc = sb_batch_add_link(&im->batch, im->tenant, link.thread, link.system, link.child,
                               link.parent);
        if (rc == 0 && sb_batch_full(&im->batch))
            rc = flush(im);
        sb_progress_step(&im->progress, "joining replies to their parents",
                         im->links.n - im->links.left, im->links.n);
    }
    return rc == SB_ERR_NOT_FOUND ? flush(im) : rc;
}

void
sb_importer_finish(struct sb_importer *im)
{
    if (im->failed == 0)
        im->failed = flush(im);
    if (im->failed == 0)
        im->failed = apply_links(im);
    sb_progress_clear(&im->progress);
}

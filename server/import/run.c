/* run.c - the list of formats, and what their readers share; see run.h. */
#include "import/run.h"

#include <inttypes.h>
#include <stdio.h>

#define PROGRESS_STEP (1024 * 1024) /* bytes between two calls of progress */

static const struct sb_import_format formats[] = {
    {"jsonl",
     "JSON Lines, one message per line: {thread, at (Unix ms), by, text, id, kind?,\n"
     "             edited_at?, deleted?, reply_to_id?, mentions?, attachments?, reactions?, meta?}",
     sb_import_jsonl},
    {"slack",
     "a Slack export: the zip or its unpacked folder; channels only, no direct\n"
     "             conversations",
     sb_import_slack},
    {"irc", "IRC logs: ZNC folders (#chan/YYYY-MM-DD.log) or dated *.raw.txt archives",
     sb_import_irc},
};

const struct sb_import_format *
sb_import_format_at(unsigned i)
{
    return i < sizeof(formats) / sizeof(formats[0]) ? &formats[i] : NULL;
}

const struct sb_import_format *
sb_import_format_find(const char *name)
{
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
    {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

void
sb_import_run_init(struct sb_import_run *run, const struct sb_import_options *o,
                   const struct sb_import_sink *sink, struct sb_import_counts *counts)
{
    *run = (struct sb_import_run){.options = o, .sink = sink, .counts = counts};
    run->text_max = o->text_max == 0 ? SB_IMPORT_TEXT_DEFAULT : o->text_max;
}

void
sb_import_run_skip(struct sb_import_run *run, const char *file, uint64_t place, const char *reason)
{
    char where[512];
    run->counts->skipped++;
    if (run->sink->skipped == NULL)
        return;
    (void)snprintf(where, sizeof(where), "%.480s:%" PRIu64, file, place);
    run->sink->skipped(run->sink->ctx, where, reason);
}

void
sb_import_run_read(struct sb_import_run *run, uint64_t n)
{
    run->done += n;
    if (run->done - run->told < PROGRESS_STEP)
        return;
    run->told = run->done;
    if (run->sink->progress != NULL)
        run->sink->progress(run->sink->ctx, run->done, run->total);
}

void
sb_import_run_finish(struct sb_import_run *run)
{
    if (run->sink->progress != NULL)
        run->sink->progress(run->sink->ctx, run->done, run->total);
}

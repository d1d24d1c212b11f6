/*
 * cmd_import.c - `scrollback import`: reads exports into a directory that nobody serves.
 *
 * A new directory is filled without syncing and packed at the end; one that is there is
 * written like a server writes. In both, a run that was stopped can be repeated: what is
 * stored already is recognised by its source's id.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/cmdline.h"
#include "app/command.h"
#include "app/importer.h"
#include "import/zone.h"
#include "store/store.h"

static volatile sig_atomic_t interrupted;

struct arguments
{
    const char *tenant, *format, *thread, *tz, *report, *url, *token;
    const struct sb_import_format *reader;
    struct sb_operands paths;
};

static void
on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void
catch_signals(void)
{
    /* The second one ends the program at once. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static void
list_formats(FILE *out)
{
    const struct sb_import_format *f;
    (void)fprintf(out, "\nformats:\n");
    for (unsigned i = 0; (f = sb_import_format_at(i)) != NULL; i++)
        (void)fprintf(out, "  %-10s %s\n", f->name, f->summary);
}

/* A directory that is not there, or holds nothing but what other commands leave in it. */
static bool
is_new(const char *dir)
{
    static const char *const known[] = {".", "..", "keys.json", "import-skipped.txt",
                                        "scrollback.lock"};
    DIR *d = opendir(dir);
    bool empty = true;
    if (d == NULL)
        return errno == ENOENT;
    for (struct dirent *e; empty && (e = readdir(d)) != NULL;)
    {
        empty = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            empty |= strcmp(e->d_name, known[i]) == 0;
    }
    closedir(d);
    return empty;
}

static int
check_arguments(struct arguments *a)
{
    if (a->url != NULL || a->token != NULL)
        return sb_complain(SB_EXIT_USAGE, "--url (import through a running server) is not in this "
                                          "version; stop the server and use --data");
    if (a->format == NULL)
        return sb_complain(SB_EXIT_USAGE, "--format is missing; see scrollback import --help");
    a->reader = sb_import_format_find(a->format);
    if (a->reader == NULL)
    {
        sb_complain(0, "there is no format \"%.60s\"", a->format);
        list_formats(stderr);
        return SB_EXIT_USAGE;
    }
    if (!sb_name_ok(sb_bytes_str(a->tenant)))
        return sb_complain(SB_EXIT_USAGE, "--tenant: %s", sb_error_text(SB_ERR_BAD_NAME));
    if (a->thread != NULL && !sb_name_ok(sb_bytes_str(a->thread)))
        return sb_complain(SB_EXIT_USAGE, "--thread: %s", sb_error_text(SB_ERR_BAD_NAME));
    struct sb_zone zone;
    if (sb_zone_init(&zone, a->tz) != 0)
    {
        return sb_complain(SB_EXIT_USAGE,
                           "--tz: there is no zone \"%.60s\" here; a name such as Europe/Berlin is "
                           "wanted, and the system's zone files (tzdata)",
                           a->tz);
    }
    for (int i = 0; i < a->paths.n; i++)
    {
        if (access(a->paths.v[i], R_OK) != 0)
            return sb_complain(SB_EXIT_FAILED, "cannot read %s: %s", a->paths.v[i],
                               strerror(errno));
    }
    return 0;
}

/* Reads every path. The number of those that could not be read. */
static int
read_paths(struct sb_importer *im, const struct arguments *a, const struct sb_config *c,
           struct sb_import_counts *counts)
{
    struct sb_import_options o = {
        .thread = a->thread, .tz = a->tz, .text_max = c->import_text_max, .now_ms = sb_now_ms()};
    struct sb_import_sink sink = sb_importer_sink(im);
    int bad = 0;
    for (int i = 0; i < a->paths.n && im->failed == 0 && !im->stopped; i++)
    {
        char why[256] = "";
        im->progress.path = i + 1;
        int rc = a->reader->read(a->paths.v[i], &o, &sink, counts, why);
        if (rc == 0 || im->failed != 0 || im->stopped)
            continue;
        bad++;
        sb_progress_clear(&im->progress);
        sb_complain(0, "cannot import %s: %s", a->paths.v[i],
                    why[0] != '\0' ? why : sb_error_text(rc));
    }
    return bad;
}

static void
tell(uint64_t n, const char *what)
{
    if (n != 0)
        (void)fprintf(stderr, "%s: %" PRIu64 "\n", what, n);
}

static void
tell_outcome(const struct sb_importer *im, const struct sb_import_counts *counts)
{
    tell(im->unchanged, "unchanged since they were imported");
    tell(im->unreadable, "could not be read");
    tell(im->refused, "refused by the store's rules");
    tell(counts->cut, "texts longer than import-text-max, cut with a mark");
    tell(counts->repaired, "names and texts that had to be mended");
    tell(im->parentless, "replies to a message that is not there, taken without their link");
    if (im->report != NULL)
        (void)fprintf(stderr, "each message left out, and why: %s\n", im->report_path);
}

static void
packing(void *ctx, uint64_t done, uint64_t total)
{
    sb_progress_step(ctx, "packing", done, total);
}

/* Settles, closes and, where it is worth it, packs the store. */
static int
finish_store(struct sb_importer *im, const struct sb_config *c, bool bulk, uint64_t used_before)
{
    struct sb_store_stats stats;
    struct sb_store_failure why = {""};
    int rc = 0;
    sb_progress_step(&im->progress, "writing indexes", 0, 0);
    if (im->failed != SB_ERR_UNKNOWN_OUTCOME)
        rc = sb_store_settle(im->store);
    im->store->ops->stats(im->store, &stats);
    sb_store_close(im->store);
    im->store = NULL;
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "cannot finish the store: %s", sb_error_text(rc));
    /* What the disk holds is not known: a new directory keeps its mark and is refused. */
    if (im->failed == SB_ERR_UNKNOWN_OUTCOME)
        return SB_EXIT_FAILED;
    /* Packing copies all of the store: not for a few rows more. */
    if (bulk || stats.bytes_used > used_before + used_before / 10)
        rc = sb_store_repack(c->data, c->map_size, packing, &im->progress, &why);
    sb_progress_clear(&im->progress);
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "cannot pack the store: %s",
                           why.text[0] != '\0' ? why.text : sb_error_text(rc));
    return 0;
}

static int
open_store(const struct sb_config *c, bool bulk, struct sb_store **out)
{
    struct sb_store_failure why = {""};
    struct sb_store_options o = {.dir = c->data,
                                 .mode = bulk ? SB_STORE_BULK : SB_STORE_SERVE,
                                 .map_size = c->map_size,
                                 .quota = c->quota,
                                 .now_ms = sb_now_ms(),
                                 .random = randombytes_buf};
    int rc = sb_store_open(&o, out, &why);
    if (rc == 0)
        return 0;
    return sb_complain(sb_exit_code(rc), "%s", why.text[0] != '\0' ? why.text : sb_error_text(rc));
}

static int
run(const struct arguments *a, const struct sb_config *c)
{
    char report[4096];
    struct sb_import_counts counts = {0};
    struct sb_store_stats stats;
    struct sb_importer im = {.dir = c->data,
                             .tenant = sb_bytes_str(a->tenant),
                             .report_path = a->report,
                             .interrupted = &interrupted};
    bool bulk = is_new(c->data);
    if (a->report == NULL)
    {
        (void)snprintf(report, sizeof(report), "%s/import-skipped.txt", c->data);
        im.report_path = report;
    }
    int code = sodium_init() < 0 ? SB_EXIT_FAILED : open_store(c, bulk, &im.store);
    if (code != 0)
        return code;
    im.store->ops->stats(im.store, &stats);
    catch_signals();
    int bad_paths = 0;
    im.failed = sb_importer_open(&im, a->paths.n);
    if (im.failed == 0)
    {
        bad_paths = read_paths(&im, a, c, &counts);
        sb_importer_finish(&im);
    }
    if (im.failed != 0)
        code = sb_complain(SB_EXIT_FAILED, "the import did not come to its end: %s",
                           sb_error_text(im.failed));
    if (im.stopped)
        code = sb_complain(SB_EXIT_FAILED, "stopped; what was read so far is stored. Run the same "
                                           "command again and it goes on");
    int finished = finish_store(&im, c, bulk, stats.bytes_used);
    if (code == 0)
        code = finished != 0 ? finished : bad_paths != 0 ? SB_EXIT_FAILED : 0;
    tell_outcome(&im, &counts);
    (void)printf("imported %" PRIu64 " messages, %" PRIu64 " updated, %" PRIu64
                 " skipped, %zu threads\n",
                 im.added, im.updated, im.unreadable + im.refused + im.unchanged, im.touched.n);
    sb_importer_close(&im);
    return code;
}

int
sb_cmd_import(int argc, char **argv)
{
    struct arguments a = {.tenant = "default"};
    const struct sb_option options[] = {
        {"format", "FORMAT", "what the export is; see the list below", &a.format, NULL},
        {"tenant", "TENANT", "the tenant that gets the threads (default \"default\")", &a.tenant,
         NULL},
        {"thread", "NAME", "the thread, for formats that name none", &a.thread, NULL},
        {"tz", "ZONE", "time zone of local times, such as Europe/Berlin (default UTC)", &a.tz,
         NULL},
        {"report", "FILE", "where each message left out is told (default DIR/import-skipped.txt)",
         &a.report, NULL},
        {"url", "WS_URL", "import through a running server: not in this version", &a.url, NULL},
        {"token", "JWT", "goes with --url", &a.token, NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    const struct sb_cmdline line = {
        .command = SB_FOR_IMPORT,
        .usage = "import --data DIR --format FORMAT [OPTION]... PATH...",
        .about = "Reads exports into a data directory that nobody serves. The same export again\n"
                 "updates what it brought before. The last line on stdout is the summary.",
        .options = options,
        .needs_data = true,
        .min_operands = 1,
        .max_operands = -1,
        .more_help = list_formats,
    };
    struct sb_config c;
    int code = sb_cmdline_begin(&line, argc, argv, &c, &a.paths);
    if (code >= 0)
        return code;
    code = check_arguments(&a);
    if (code == 0)
        code = run(&a, &c);
    sb_config_finish(&c);
    return code;
}

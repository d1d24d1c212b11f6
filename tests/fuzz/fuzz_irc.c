/*
 * fuzz_irc.c - any bytes as an IRC log. The first byte chooses the zone.
 *
 * What must hold: every row keeps the wire's limits (import_check.h), times never go back,
 * no two lines have the same id, and a line more at the end changes none of those before it.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import_check.h"

#define MAX_ROWS 4096
#define ID 32

struct log
{
    struct import_check check;
    uint64_t newest;
    char ids[MAX_ROWS][ID];
};

static int
on_row(void *ctx, struct sb_bytes thread, const struct sb_record_import *row)
{
    struct log *l = ctx;
    const struct sb_message *m = &row->message;
    check_must(m->source_id.len == ID, "an id of another length");
    check_must(m->at >= l->newest, "a time goes back");
    l->newest = m->at;
    if (l->check.rows < MAX_ROWS)
        memcpy(l->ids[l->check.rows], m->source_id.data, ID);
    return check_row(&l->check, thread, row);
}

static void
on_skipped(void *ctx, const char *where, const char *why)
{
    struct log *l = ctx;
    check_skipped(&l->check, where, why);
}

static void
read_log(const char *path, const uint8_t *data, size_t size, const char *more, struct log *l)
{
    static const char *const zones[] = {NULL, "Europe/Berlin", "America/New_York"};
    struct sb_import_options o = {.text_max = CHECK_TEXT_MAX, .thread = "t"};
    struct sb_import_sink sink = {l, on_row, on_skipped, NULL};
    struct sb_import_counts counts = {0};
    char why[256] = "";
    l->check = (struct import_check){0};
    l->newest = 0;
    o.tz = zones[(size == 0 ? 0 : data[0]) % 3];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check_must(fd >= 0, "no file to write");
    size_t skip = size == 0 ? 0 : 1;
    check_must(write(fd, data + skip, size - skip) == (ssize_t)(size - skip), "cannot write");
    check_must(write(fd, more, strlen(more)) == (ssize_t)strlen(more), "cannot write");
    check_must(close(fd) == 0, "cannot write");
    int rc = sb_import_format_find("irc")->read(path, &o, &sink, &counts, why);
    check_must(rc == 0, "the run failed");
    check_must(counts.rows == l->check.rows && counts.skipped == l->check.skipped, "counts differ");
}

static int
by_id(const void *a, const void *b)
{
    return memcmp(a, b, ID);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[32];
    static char path[64];
    static struct log first;
    static struct log grown;
    if (folder[0] == '\0')
    {
        (void)strcpy(folder, "/tmp/sb-fuzz-XXXXXX");
        check_must(mkdtemp(folder) != NULL, "no folder to write");
        (void)snprintf(path, sizeof(path), "%s/2021-10-31.log", folder);
    }
    read_log(path, data, size, "\n", &first);
    read_log(path, data, size, "\n[02:00:00] <a> more\n", &grown);
    (void)unlink(path);
    size_t n = first.check.rows < MAX_ROWS ? first.check.rows : MAX_ROWS;
    check_must(n == 0 || memcmp(first.ids, grown.ids, n * ID) == 0 ||
                   grown.check.rows == first.check.rows,
               "a line more changes the ids before it");
    qsort(first.ids, n, ID, by_id);
    for (size_t i = 1; i < n; i++)
        check_must(memcmp(first.ids[i - 1], first.ids[i], ID) != 0, "two lines have one id");
    return 0;
}

/*
 * fuzz_jsonl.c - any bytes as a JSON Lines file, through the reader as the program calls it.
 *
 * What must hold: every row keeps the wire's limits (import_check.h), the run never fails, its
 * counts are those of the sink, and a second reading gives the same.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "import_check.h"

static struct import_check
read_once(const char *path)
{
    static const struct sb_import_options o = {.text_max = CHECK_TEXT_MAX};
    struct import_check c = {0};
    struct sb_import_sink sink = {&c, check_row, check_skipped, NULL};
    struct sb_import_counts counts = {0};
    char why[256] = "";
    int rc = sb_import_format_find("jsonl")->read(path, &o, &sink, &counts, why);
    check_must(rc == 0, "the run failed");
    check_must(counts.rows == c.rows && counts.skipped == c.skipped, "counts differ");
    return c;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    if (fd < 0)
        fd = memfd_create("jsonl", MFD_CLOEXEC);
    check_must(fd >= 0 && ftruncate(fd, 0) == 0, "no memory file");
    check_must(pwrite(fd, data, size, 0) == (ssize_t)size, "no memory file");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct import_check first = read_once(path);
    struct import_check second = read_once(path);
    check_must(memcmp(&first, &second, sizeof(first)) == 0, "two readings differ");
    return 0;
}

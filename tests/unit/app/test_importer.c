/*
 * test_importer.c - a whole import run against the store in memory: counts, the report,
 * late parents, a run that is stopped and goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/importer.h"
#include "protocol/decode.h"
#include "store/store.h"

#define T0 UINT64_C(1600000000000)
#define ROWS 20000

static char dir[] = "/tmp/sb-importer-XXXXXX", report[64], text[65536];
static struct sb_store *store;
static volatile sig_atomic_t stop;
static int saved_stderr;

static int
setup(void **state)
{
    (void)state;
    if (sodium_init() < 0)
        return -1;
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(report, sizeof(report), "%s/report", dir);
    struct sb_store_options o = {.now_ms = T0, .random = randombytes_buf};
    stop = 0;
    saved_stderr = dup(STDERR_FILENO);
    int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, STDERR_FILENO);
    close(quiet);
    return sb_store_open_memory(&o, &store);
}

static int
teardown(void **state)
{
    (void)state;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    sb_store_close(store);
    unlink(report);
    return rmdir(dir);
}

static struct sb_importer
begin(void)
{
    struct sb_importer im = {.dir = dir,
                             .tenant = SB_LIT("default"),
                             .report_path = report,
                             .interrupted = &stop,
                             .store = store};
    assert_int_equal(sb_importer_open(&im, 1), 0);
    return im;
}

/* Row n of the source; every tenth answers one that comes 500 rows later. */
static int
give(struct sb_importer *im, int n, const char *body)
{
    char id[16], parent[16];
    struct sb_import_sink sink = sb_importer_sink(im);
    snprintf(id, sizeof(id), "%d", n);
    snprintf(parent, sizeof(parent), "%d", n + 500);
    struct sb_record_import row = {.message = {.at = T0 + (uint64_t)n,
                                               .by = SB_LIT("ann"),
                                               .text = sb_bytes_str(body),
                                               .source_system = SB_LIT("test"),
                                               .source_id = sb_bytes_str(id)},
                                   .reply_to_id =
                                       n % 10 == 0 ? sb_bytes_str(parent) : sb_bytes(NULL, 0)};
    return sink.row(sink.ctx, n % 2 == 0 ? SB_LIT("even") : SB_LIT("odd"), &row);
}

/* Gives rows until the importer stops. Returns how many it took. */
static int
give_all(struct sb_importer *im, int stop_at)
{
    for (int n = 0; n < ROWS; n++)
    {
        if (n == stop_at)
            stop = 1;
        if (give(im, n, "hello") != 0)
            return n + 1;
    }
    return ROWS;
}

static const char *
read_report(void)
{
    FILE *f = fopen(report, "r");
    size_t n = f == NULL ? 0 : fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    if (f != NULL)
        fclose(f);
    return text;
}

/* How many rows of a thread have the reply that they should. */
static int
count_replies(struct sb_bytes name)
{
    struct sb_txn *t;
    struct sb_thread thread;
    struct sb_row row;
    int found = 0;
    struct sb_decoder *d = sb_decoder_create();
    assert_int_equal(store->ops->read_begin(store, &t), 0);
    assert_int_equal(store->ops->thread_find(t, SB_LIT("default"), name, &thread), 0);
    assert_int_equal(store->ops->row_seek(t, thread.id, SB_POS_MIN, SB_NEWER, UINT64_MAX), 0);
    uint32_t budget = UINT32_MAX;
    while (store->ops->row_step(t, &budget, &row) == 0)
    {
        struct sb_message m;
        assert_int_equal(sb_message_decode(d, row.body, &m), 0);
        if (!m.reply_to.set)
            continue;
        struct sb_pos parent;
        assert_int_equal(store->ops->seq_find(t, thread.id, m.reply_to.value, &parent), 0);
        assert_int_equal(parent.at, m.at + 500);
        found++;
    }
    store->ops->read_end(t);
    sb_decoder_destroy(d);
    return found;
}

static void
test_a_run_and_the_same_again(void **state)
{
    (void)state;
    struct sb_importer im = begin();
    assert_int_equal(give_all(&im, -1), ROWS);
    sb_importer_finish(&im);
    assert_int_equal(im.failed, 0);
    assert_int_equal(im.added, ROWS);
    assert_int_equal(im.touched.n, 2);
    assert_int_equal(im.parentless, 50); /* of the last 500 rows every tenth */
    sb_importer_close(&im);
    assert_int_equal(count_replies(SB_LIT("even")), ROWS / 10 - 50);
    assert_int_equal(count_replies(SB_LIT("odd")), 0);
    assert_string_equal(read_report(), ""); /* nothing was left out: no file */

    im = begin();
    assert_int_equal(give(&im, 7, "changed"), 0);
    assert_int_equal(give(&im, 8, "hello"), 0);
    sb_importer_finish(&im);
    assert_int_equal(im.added, 0);
    assert_int_equal(im.updated, 1);
    assert_int_equal(im.unchanged, 1);
    assert_int_equal(im.touched.n, 1);
    sb_importer_close(&im);
}

static void
test_a_stopped_run_goes_on(void **state)
{
    (void)state;
    struct sb_importer im = begin();
    int taken = give_all(&im, 12345);
    assert_true(taken < ROWS);
    sb_importer_finish(&im);
    assert_true(im.stopped);
    assert_int_equal(im.failed, 0);
    assert_int_equal(im.added, taken); /* all that was taken is stored */
    sb_importer_close(&im);
    stop = 0;

    im = begin();
    assert_int_equal(give_all(&im, -1), ROWS);
    sb_importer_finish(&im);
    assert_false(im.stopped);
    assert_int_equal(im.added, ROWS - taken);
    assert_int_equal(im.unchanged, taken);
    sb_importer_close(&im);
    /* Also of the rows whose parents came only in the second run. */
    assert_int_equal(count_replies(SB_LIT("even")), ROWS / 10 - 50);
}

static void
test_what_is_left_out_is_told(void **state)
{
    (void)state;
    struct sb_importer im = begin();
    struct sb_import_sink sink = sb_importer_sink(&im);
    struct sb_record_import row = {.message = {.at = UINT64_MAX / 2,
                                               .by = SB_LIT("ann"),
                                               .text = SB_LIT("x"),
                                               .source_system = SB_LIT("test"),
                                               .source_id = SB_LIT("ahead\n1")}};
    assert_int_equal(sink.row(sink.ctx, SB_LIT("t"), &row), 0);
    row.message.at = T0;
    row.message.source_id = SB_LIT("bad");
    assert_int_equal(sink.row(sink.ctx, SB_LIT("t\x01"), &row), 0);
    row.message.by = sb_bytes(NULL, 0);
    assert_int_equal(sink.row(sink.ctx, SB_LIT("t"), &row), 0);
    sink.skipped(sink.ctx, "x.json:7", "no time");
    for (int i = 0; i < 100; i++)
        sink.skipped(sink.ctx, "x.json:8", "no author");
    sb_importer_finish(&im);
    assert_int_equal(im.failed, 0);
    assert_int_equal(im.added, 0);
    assert_int_equal(im.refused, 1);
    assert_int_equal(im.unreadable, 103);
    assert_int_equal(im.touched.n, 0);
    sb_importer_close(&im);
    read_report();
    assert_non_null(strstr(text, "t, id ahead?1: its time is ahead of this clock\n"));
    assert_non_null(strstr(text, "t?, id bad: "));
    assert_non_null(strstr(text, "x.json:7: no time\n"));
    int lines = 0;
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, 1 + 104); /* all of them, under one headline */
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_run_and_the_same_again),
        T(test_a_stopped_run_goes_on),
        T(test_what_is_left_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

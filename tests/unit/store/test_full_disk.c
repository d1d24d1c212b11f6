/*
 * test_full_disk.c - a file system that is really full: nothing more is stored, reading and
 * deleting go on, and with the space everything comes back.
 *
 * In a mount name space of its own; skipped where that may not be had.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define SIZE "size=24m,mode=0700"
#define ROWS_MAX 5000

static char dir[] = "/tmp/scrollback-full-XXXXXX";

static const char *
file(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

/* Takes all the space that is left, to the last block. */
static void
fill_up(void)
{
    static char block[4096];
    int fd = open(file("ballast"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, block, sizeof(block)) > 0)
        ;
    close(fd);
}

static int
post(struct sb_store *s, uint64_t thread, const char *text, struct sb_pos *pos)
{
    struct sb_txn *t;
    uint64_t version;
    const struct fixture_post p = {.thread = thread, .tag = 2, .text = text};
    int rc = s->ops->write_begin(s, &t);
    if (rc != 0)
        return rc;
    rc = fixture_post(t, &p, pos, &version);
    if (rc != 0)
    {
        s->ops->write_abort(t);
        return rc;
    }
    rc = s->ops->write_commit(t);
    if (rc == 0)
        s->ops->publish(s);
    return rc;
}

/* Into pages that the file has already, while there are any. How many rows there are then. */
static size_t
post_until_full(struct sb_store *s, uint64_t thread, const char *text, struct sb_pos *pos, size_t n)
{
    int rc = 0;
    while (rc == 0 && n < ROWS_MAX)
    {
        rc = post(s, thread, text, &pos[n]);
        n += rc == 0;
    }
    assert_int_equal(rc, SB_ERR_FULL);
    return n;
}

static void
test_full_disk(void **state)
{
    (void)state;
    static struct sb_pos pos[ROWS_MAX];
    static char text[4000];
    struct sb_store *s;
    struct sb_store_failure why = {""};
    const struct sb_store_options o = {.dir = dir, .now_ms = 1};
    assert_non_null(mkdtemp(dir));
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
        mount("tmpfs", dir, "tmpfs", 0, SIZE) != 0)
    {
        print_message("skipped: nothing can be mounted here\n");
        rmdir(dir);
        skip();
    }
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(sb_store_open(&o, &s, &why), 0);
    assert_int_equal(access(file("reserve"), F_OK), 0);
    uint64_t thread = fixture_thread(s, "t");
    size_t n = 0;
    for (; n < 200; n++)
        assert_int_equal(post(s, thread, text, &pos[n]), 0);
    fill_up();
    n = post_until_full(s, thread, text, pos, n);
    assert_int_not_equal(access(file("reserve"), F_OK), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(post(s, thread, "small", &pos[n]), SB_ERR_FULL);

    for (size_t i = 0; i < 100; i++)
    {
        struct sb_txn *t;
        uint64_t version;
        assert_int_equal(s->ops->write_begin(s, &t), 0);
        assert_int_equal(fixture_edit(t, thread, pos[i], NULL, 0, false, &version), 0);
        fixture_commit(s, t);
    }
    struct sb_store_report report;
    assert_int_equal(fixture_check(s, &report), 0);
    assert_int_equal(report.rows, n);

    /* Opened again on the full disk, it still reads. */
    sb_store_close(s);
    fill_up();
    assert_int_equal(sb_store_open(&o, &s, &why), 0);
    n = post_until_full(s, thread, text, pos, n);

    assert_int_equal(unlink(file("ballast")), 0);
    assert_int_equal(post(s, thread, text, &pos[n]), 0);
    assert_int_equal(access(file("reserve"), F_OK), 0);
    assert_int_equal(fixture_check(s, &report), 0);
    assert_int_equal(report.rows, n + 1);
    sb_store_close(s);
    umount2(dir, MNT_DETACH);
    rmdir(dir);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_full_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

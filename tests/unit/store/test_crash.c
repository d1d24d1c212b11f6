/* test_crash.c - a full map, a refused write, kill -9: what was acknowledged is kept. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static int
set_up(void **state)
{
    (void)state;
    fixture_make_dir(dir);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    fixture_remove_dir(dir);
    return 0;
}

static struct sb_store *
open_as(enum sb_store_mode mode)
{
    return fixture_open_dir(dir, mode);
}

/* A map that is full: nothing of the batch is stored, what was there can be read. */
static void
test_full_map(void **state)
{
    (void)state;
    struct sb_store *s;
    struct sb_store_failure why;
    struct sb_store_options o = fixture_options(dir, SB_STORE_SERVE);
    o.map_size = UINT64_C(1) << 20;
    o.quota = UINT64_MAX;
    assert_int_equal(sb_store_open(&o, &s, &why), 0);
    uint64_t a = fixture_thread(s, "a");
    uint64_t stored = 0;
    int rc = 0;
    while (rc == 0)
    {
        struct sb_txn *t;
        assert_int_equal(s->ops->write_begin(s, &t), 0);
        for (int i = 0; i < 20 && rc == 0; i++)
        {
            const struct fixture_post p = {.thread = a, .text = "text", .tag = 3};
            rc = fixture_post(t, &p, NULL, NULL);
        }
        if (rc != 0)
        {
            s->ops->write_abort(t);
            break;
        }
        rc = s->ops->write_commit(t);
        if (rc == 0)
            stored += 20;
        s->ops->publish(s);
    }
    assert_int_equal(rc, SB_ERR_FULL);
    assert_true(stored > 1000);
    assert_int_equal(s->ops->published(s), stored + 1);
    sb_store_close(s);
    o.map_size = UINT64_C(1) << 22;
    assert_int_equal(sb_store_open(&o, &s, &why), 0);
    struct sb_store_report report;
    assert_int_equal(fixture_check(s, &report), 0);
    assert_int_equal(report.rows, stored);
    sb_store_close(s);
}

/* Posts batches and tells each acknowledged one through a pipe. */
static void
post_until_killed(int fd)
{
    struct sb_store *s = open_as(SB_STORE_SERVE);
    struct sb_txn *t;
    struct sb_thread thread;
    assert_int_equal(s->ops->read_begin(s, &t), 0);
    assert_int_equal(s->ops->thread_find(t, SB_LIT("default"), SB_LIT("a"), &thread), 0);
    s->ops->read_end(t);
    for (;;)
    {
        uint64_t last = 0;
        struct sb_pos pos;
        assert_int_equal(s->ops->write_begin(s, &t), 0);
        for (int i = 0; i < 7; i++)
        {
            struct sb_thread now;
            assert_int_equal(s->ops->thread_get(t, thread.id, &now), 0);
            const struct fixture_post p = {
                .thread = thread.id, .text = "text", .tag = 2, .nonce = now.next_seq};
            assert_int_equal(fixture_post(t, &p, &pos, NULL), 0);
            last = pos.seq;
        }
        fixture_commit(s, t);
        if (write(fd, &last, sizeof(last)) != (ssize_t)sizeof(last))
            _exit(1);
    }
}

static void
verify_all_kept(uint64_t acknowledged)
{
    struct sb_store *s = open_as(SB_STORE_SERVE);
    struct sb_store_report report;
    assert_int_equal(fixture_check(s, &report), 0);
    assert_true(report.rows >= acknowledged && report.rows % 7 == 0);
    assert_int_equal(report.nonces, report.rows);
    struct sb_txn *t;
    assert_int_equal(s->ops->read_begin(s, &t), 0);
    for (uint64_t seq = 1; seq <= acknowledged; seq++)
    {
        const struct sb_hash key = fixture_tag(seq);
        struct sb_nonce n;
        assert_int_equal(s->ops->nonce_get(t, &key, &n), 0);
        assert_int_equal(n.seq, seq);
    }
    s->ops->read_end(t);
    sb_store_close(s);
}

static void
test_kill(void **state)
{
    (void)state;
    uint64_t random = fixture_seed(), acknowledged = 0;
    struct sb_store *s = open_as(SB_STORE_SERVE);
    fixture_thread(s, "a");
    sb_store_close(s);
    for (int round = 0; round < 5; round++)
    {
        int fds[2], status;
        assert_int_equal(pipe(fds), 0);
        pid_t child = fork();
        if (child == 0)
        {
            close(fds[0]);
            post_until_killed(fds[1]);
        }
        close(fds[1]);
        uint64_t seq;
        for (uint64_t n = 1 + fixture_random(&random) % 12; n > 0; n--)
        {
            assert_int_equal(read(fds[0], &seq, sizeof(seq)), sizeof(seq));
            acknowledged = seq;
        }
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        while (read(fds[0], &seq, sizeof(seq)) == (ssize_t)sizeof(seq))
            acknowledged = seq;
        close(fds[0]);
        verify_all_kept(acknowledged);
    }
}

/* Posts until a commit fails; gives the number of acknowledged posts, or exits. */
static uint64_t
post_until_refused(struct sb_store *s)
{
    uint64_t acknowledged = 0;
    for (;;)
    {
        struct sb_txn *t;
        if (s->ops->write_begin(s, &t) != 0)
            _exit(3);
        for (uint64_t i = 1; i <= 7; i++)
        {
            const struct fixture_post p = {.thread = 1, .text = "text", .nonce = acknowledged + i};
            if (fixture_post(t, &p, NULL, NULL) != 0)
                _exit(4);
        }
        int rc = s->ops->write_commit(t);
        if (rc == SB_ERR_UNKNOWN_OUTCOME)
            return acknowledged;
        if (rc != 0)
            _exit(5);
        acknowledged += 7;
        s->ops->publish(s);
    }
}

/* The disk refuses a write in the middle (here: a limit of the file's size) though it has
 * space: nobody knows what is stored. What was acknowledged is there after a restart. */
static void
test_refused_write(void **state)
{
    (void)state;
    int fds[2], status;
    struct sb_store *s = open_as(SB_STORE_SERVE);
    fixture_thread(s, "a");
    sb_store_close(s);
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0)
    {
        char path[128];
        struct stat st;
        signal(SIGXFSZ, SIG_IGN);
        s = open_as(SB_STORE_SERVE);
        snprintf(path, sizeof(path), "%s/data.mdb", dir);
        if (stat(path, &st) != 0)
            _exit(2);
        const struct rlimit limit = {(rlim_t)st.st_size + 40960, (rlim_t)st.st_size + 40960};
        setrlimit(RLIMIT_FSIZE, &limit);
        uint64_t acknowledged = post_until_refused(s);
        _exit(write(fds[1], &acknowledged, sizeof(acknowledged)) > 0 ? 0 : 6);
    }
    close(fds[1]);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    uint64_t acknowledged = 0;
    assert_int_equal(read(fds[0], &acknowledged, sizeof(acknowledged)), sizeof(acknowledged));
    close(fds[0]);
    assert_true(acknowledged > 0);
    verify_all_kept(acknowledged);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_full_map),
        IN_DIR(test_kill),
        IN_DIR(test_refused_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

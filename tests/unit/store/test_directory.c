/* test_directory.c - opening directories: what is made, what is refused and with which words. */
#include "fixture.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lmdb.h>

#include "store/kv_lmdb.h"

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

static const char *
file(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static struct sb_store *
open_as(enum sb_store_mode mode)
{
    return fixture_open_dir(dir, mode);
}

/* Opening fails with a code and a sentence that has `words` in it and names the directory. */
static void
refused(enum sb_store_mode mode, int code, const char *words)
{
    struct sb_store *s;
    struct sb_store_failure why;
    const struct sb_store_options o = fixture_options(dir, mode);
    assert_int_equal(sb_store_open(&o, &s, &why), code);
    if (strstr(why.text, words) == NULL || strstr(why.text, dir) == NULL)
        fail_msg("told: %s", why.text);
}

static void
make_store(void)
{
    struct sb_store *s = open_as(SB_STORE_SERVE);
    fixture_post_now(s, fixture_thread(s, "a"), "text");
    assert_int_equal(sb_store_settle(s), 0);
    sb_store_close(s);
}

static void
test_fresh(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(rmdir(dir), 0);
    make_store();
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(file("data.mdb"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct sb_store *s = open_as(SB_STORE_SERVE);
    assert_int_equal(s->ops->published(s), 2);
    sb_store_close(s);
    s = open_as(SB_STORE_READ);
    assert_int_equal(s->ops->published(s), 2);
    assert_int_equal(fixture_check(s, NULL), 0);
    sb_store_close(s);
}

static void
test_second_opener(void **state)
{
    (void)state;
    struct sb_store *s = open_as(SB_STORE_SERVE);
    struct sb_store_failure why;
    refused(SB_STORE_SERVE, SB_ERR_BUSY, "in use by another process");
    refused(SB_STORE_READ, SB_ERR_BUSY, "in use by another process");
    assert_int_equal(sb_store_repack(dir, 0, NULL, NULL, &why), SB_ERR_BUSY);
    sb_store_close(s);
    sb_store_close(open_as(SB_STORE_SERVE));
}

static void
write_file(const char *name, const char *text, size_t len)
{
    FILE *f = fopen(file(name), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
    assert_int_equal(chmod(file(name), 0600), 0);
}

static void
test_foreign_file(void **state)
{
    (void)state;
    static char junk[40000];
    memset(junk, 'j', sizeof(junk));
    write_file("data.mdb", junk, sizeof(junk));
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "is not an LMDB file");
    refused(SB_STORE_READ, SB_ERR_FOREIGN, "is not an LMDB file");
    write_file("data.mdb", junk, 10);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "is not an LMDB file");
    write_file("data.mdb", junk, 0);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "truncated");
}

static void
test_foreign_lmdb(void **state)
{
    (void)state;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
    assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "theirs", MDB_CREATE, &dbi), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "of another program");
    refused(SB_STORE_READ, SB_ERR_FOREIGN, "of another program");
}

static void
test_truncated(void **state)
{
    (void)state;
    struct stat st;
    make_store();
    assert_int_equal(stat(file("data.mdb"), &st), 0);
    assert_int_equal(truncate(file("data.mdb"), st.st_size - 4096), 0);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "is truncated");
    refused(SB_STORE_READ, SB_ERR_FOREIGN, "is truncated");
}

static void
test_readable_by_everybody(void **state)
{
    (void)state;
    make_store();
    assert_int_equal(chmod(file("data.mdb"), 0604), 0);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "chmod 600");
    assert_int_equal(chmod(file("data.mdb"), 0600), 0);
    sb_store_close(open_as(SB_STORE_SERVE));
}

static void
test_newer_format(void **state)
{
    (void)state;
    struct sb_store *s = open_as(SB_STORE_SERVE);
    struct sb_key key;
    uint8_t format[9] = "scrollbk";
    format[8] = SB_LAYOUT_FORMAT + 1;
    sb_key_start(&key);
    sb_key_bytes(&key, SB_LIT("format"));
    fixture_raw_put(s, SB_TABLE_META, &key, sb_bytes(format, 9));
    sb_store_close(s);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "format 2");
    refused(SB_STORE_READ, SB_ERR_FOREIGN, "newer program");
}

static void
test_damaged_state(void **state)
{
    (void)state;
    struct sb_store *s = open_as(SB_STORE_SERVE);
    struct sb_key key;
    sb_key_start(&key);
    sb_key_bytes(&key, SB_LIT("state"));
    fixture_flip(s, SB_TABLE_META, &key, 15);
    sb_store_close(s);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "damaged");
}

static void
test_missing(void **state)
{
    (void)state;
    refused(SB_STORE_READ, SB_ERR_FOREIGN, "holds no store");
    assert_int_not_equal(access(file("scrollback.lock"), F_OK), 0); /* nothing was left there */
    struct sb_store_failure why;
    assert_int_equal(sb_store_repack(dir, 0, NULL, NULL, &why), SB_ERR_FOREIGN);
}

static void
count_progress(void *ctx, uint64_t done, uint64_t total)
{
    assert_true(done <= total);
    ((uint64_t *)ctx)[0]++;
    ((uint64_t *)ctx)[1] = done == total;
}

static void
test_bulk_load(void **state)
{
    (void)state;
    struct sb_store_failure why;
    struct sb_store *s = open_as(SB_STORE_BULK);
    uint64_t a = fixture_thread(s, "a"), calls[2] = {0, 0};
    struct sb_store_stats stats;
    fixture_post_now(s, a, "one");
    s->ops->stats(s, &stats);
    assert_int_equal(stats.behind, 0); /* each batch is derived at once */
    sb_store_close(s);
    refused(SB_STORE_SERVE, SB_ERR_FOREIGN, "was not finished");
    refused(SB_STORE_BULK, SB_ERR_FOREIGN, "was not finished");
    assert_int_equal(sb_store_repack(dir, 0, count_progress, calls, &why), 0);
    assert_true(calls[0] >= 1 && calls[1]);
    s = open_as(SB_STORE_SERVE);
    assert_int_equal(fixture_check(s, NULL), 0);
    assert_int_equal(s->ops->published(s), 2);
    sb_store_close(s);
    refused(SB_STORE_BULK, SB_ERR_FOREIGN, "new directory");
}

/* Whatever was in it is in it afterwards, in less space; rows that waited still wait. */
static void
test_repack(void **state)
{
    (void)state;
    struct sb_store *s = open_as(SB_STORE_SERVE), *twin;
    struct sb_txn *t;
    uint64_t threads[20], version, random = fixture_seed();
    struct sb_pos pos;
    for (int i = 0; i < 20; i++)
    {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        threads[i] = fixture_thread(s, name);
    }
    for (int b = 0; b < 25; b++)
    {
        assert_int_equal(s->ops->write_begin(s, &t), 0);
        for (int i = 0; i < 300; i++)
        {
            uint64_t thread = threads[fixture_random(&random) % 20];
            const struct fixture_post p = {.thread = thread,
                                           .tag = 2 + fixture_random(&random) % 5,
                                           .nonce = 1000 + fixture_random(&random) % 1000000,
                                           .text = "a text of some length, to fill a leaf"};
            assert_int_equal(fixture_post(t, &p, &pos, NULL), 0);
            if (i % 50 == 0)
                assert_int_equal(fixture_edit(t, thread, pos, "edited", 3, true, &version), 0);
        }
        fixture_commit(s, t);
    }
    struct sb_store_stats stats, after;
    s->ops->stats(s, &stats);
    assert_true(stats.behind != 0);
    sb_store_close(s);

    char copy[128], cmd[512];
    snprintf(copy, sizeof(copy), "%s.copy", dir);
    snprintf(cmd, sizeof(cmd), "cp -r %s %s && echo junk > %s/data.mdb.new", dir, copy, dir);
    assert_int_equal(system(cmd), 0);
    struct sb_store_failure why;
    assert_int_equal(sb_store_repack(dir, 0, NULL, NULL, &why), 0);
    assert_int_not_equal(access(file("data.mdb.new"), F_OK), 0);
    s = open_as(SB_STORE_READ);
    const struct sb_store_options o = fixture_options(copy, SB_STORE_READ);
    assert_int_equal(sb_store_open(&o, &twin, &why), 0);
    assert_true(fixture_same(s, twin));
    s->ops->stats(s, &after);
    assert_int_equal(after.behind, stats.behind);
    assert_true(after.bytes_used < stats.bytes_used * 8 / 10);
    assert_int_equal(fixture_check(s, NULL), 0);
    sb_store_close(s);
    sb_store_close(twin);
    fixture_remove_dir(copy);
    s = open_as(SB_STORE_SERVE); /* and it can be written */
    fixture_post_now(s, threads[0], "after");
    assert_int_equal(fixture_check(s, NULL), 0);
    sb_store_close(s);
}

static void
exit_at_end(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    if (done == total)
        _exit(7);
}

/* A repack that dies when all is copied leaves the old file; the next start clears up. */
static void
test_repack_cut_off(void **state)
{
    (void)state;
    int status;
    struct sb_store_failure why;
    make_store();
    pid_t child = fork();
    if (child == 0)
    {
        sb_store_repack(dir, 0, exit_at_end, NULL, &why);
        _exit(1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(access(file("data.mdb.new"), F_OK), 0);
    struct sb_store *s = open_as(SB_STORE_SERVE);
    assert_int_equal(s->ops->published(s), 2);
    assert_int_equal(fixture_check(s, NULL), 0);
    sb_store_close(s);
    assert_int_not_equal(access(file("data.mdb.new"), F_OK), 0);
}

/* Where 1 TiB of address space cannot be had, 16 GiB do. */
static void
test_little_address_space(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
    {
        unsigned long pages = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (f == NULL || fscanf(f, "%lu", &pages) != 1)
            _exit(2);
        fclose(f);
        const rlim_t bytes = (rlim_t)pages * 4096 + ((rlim_t)40 << 30);
        const struct rlimit limit = {bytes, bytes};
        setrlimit(RLIMIT_AS, &limit);
        struct sb_store *s;
        struct sb_store_failure why;
        struct sb_store_stats stats;
        struct sb_store_options o = fixture_options(dir, SB_STORE_SERVE);
        o.map_size = 0;
        if (sb_store_open(&o, &s, &why) != 0)
            _exit(3);
        s->ops->stats(s, &stats);
        _exit(stats.bytes_quota == (UINT64_C(14) << 30) ? 0 : 4);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A child that is executed inherits nothing of the store. */
static void
test_descriptors(void **state)
{
    (void)state;
    struct sb_store *s = open_as(SB_STORE_SERVE);
    int found = 0;
    for (int fd = 3; fd < 64; fd++)
    {
        char link[64], target[256];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof(target) - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        if (strstr(target, dir) == NULL)
            continue;
        found++;
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    assert_true(found >= 3);
    sb_store_close(s);
}

static void
test_versions_of_lmdb(void **state)
{
    (void)state;
    assert_true(sb_kv_lmdb_version_ok(0, 9, 24));
    assert_true(sb_kv_lmdb_version_ok(0, 9, 25));
    for (int patch = 26; patch <= 31; patch++)
        assert_false(sb_kv_lmdb_version_ok(0, 9, patch));
    assert_true(sb_kv_lmdb_version_ok(0, 9, 32));
    assert_false(sb_kv_lmdb_version_ok(0, 9, 23));
    assert_false(sb_kv_lmdb_version_ok(1, 0, 0));
}

static void
test_meaning_of_failed_commits(void **state)
{
    (void)state;
    assert_int_equal(sb_kv_lmdb_commit_error(EIO, true, true), SB_ERR_FULL);
    assert_int_equal(sb_kv_lmdb_commit_error(ENOSPC, true, true), SB_ERR_FULL);
    assert_int_equal(sb_kv_lmdb_commit_error(MDB_MAP_FULL, false, true), SB_ERR_FULL);
    assert_int_equal(sb_kv_lmdb_commit_error(EIO, false, true), SB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(sb_kv_lmdb_commit_error(EIO, true, false), SB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(sb_kv_lmdb_commit_error(MDB_PANIC, true, false), SB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(sb_kv_lmdb_commit_error(ENOSPC, false, true), SB_ERR_UNKNOWN_OUTCOME);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_fresh),
        IN_DIR(test_second_opener),
        IN_DIR(test_foreign_file),
        IN_DIR(test_foreign_lmdb),
        IN_DIR(test_truncated),
        IN_DIR(test_readable_by_everybody),
        IN_DIR(test_newer_format),
        IN_DIR(test_damaged_state),
        IN_DIR(test_missing),
        IN_DIR(test_bulk_load),
        IN_DIR(test_repack),
        IN_DIR(test_repack_cut_off),
        IN_DIR(test_little_address_space),
        IN_DIR(test_descriptors),
        cmocka_unit_test(test_versions_of_lmdb),
        cmocka_unit_test(test_meaning_of_failed_commits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

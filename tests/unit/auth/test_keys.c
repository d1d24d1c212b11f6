/*
 * test_keys.c - the key file: made once, private, replaced whole, refused when strange.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/key_file.h"

static char base[64], dir[128], path[160];
static char why[256];

static int
setup(void **state)
{
    (void)state;
    snprintf(base, sizeof(base), "/tmp/sb-keys-XXXXXX");
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(dir, sizeof(dir), "%s/data", base);
    snprintf(path, sizeof(path), "%s/keys.json", dir);
    return 0;
}

static int
count_files(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d != NULL)
        closedir(d);
    return n;
}

static int
teardown(void **state)
{
    (void)state;
    unlink(path);
    rmdir(dir);
    return rmdir(base); /* fails if anything else was left behind */
}

static void
write_file(const char *text, mode_t mode)
{
    mkdir(dir, 0700);
    unlink(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void
test_created_once(void **state)
{
    (void)state;
    struct sb_keys a, b;
    struct stat st;
    assert_int_equal(sb_keys_load(dir, false, 1, &a, why), SB_ERR_NOT_FOUND);
    assert_non_null(strstr(why, path));
    assert_int_equal(sb_keys_load(dir, true, 1234, &a, why), 0);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.next_id, 2);
    assert_int_equal(a.v[0].id, 1);
    assert_int_equal(a.v[0].created_ms, 1234);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(count_files(), 1);
    assert_int_equal(sb_keys_load(dir, true, 99, &b, why), 0);
    assert_memory_equal(&a, &b, sizeof(a));
}

static void
test_two_directories_differ(void **state)
{
    (void)state;
    struct sb_keys a, b;
    assert_int_equal(sb_keys_load(dir, true, 1, &a, why), 0);
    unlink(path);
    assert_int_equal(sb_keys_load(dir, true, 1, &b, why), 0);
    assert_memory_not_equal(a.v[0].master, b.v[0].master, 32);
}

static void
test_open_to_others_refused(void **state)
{
    (void)state;
    struct sb_keys k;
    static const mode_t modes[] = {0640, 0604, 0660, 0644, 0610, 0601, 0620};
    assert_int_equal(sb_keys_load(dir, true, 1, &k, why), 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
    {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(sb_keys_load(dir, true, 1, &k, why), SB_ERR_FOREIGN);
        assert_non_null(strstr(why, "chmod 600"));
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(sb_keys_load(dir, true, 1, &k, why), 0);
}

static void
test_not_a_regular_file(void **state)
{
    (void)state;
    struct sb_keys k;
    char other[200];
    assert_int_equal(sb_keys_load(dir, true, 1, &k, why), 0);
    snprintf(other, sizeof(other), "%s/other", base);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(sb_keys_load(dir, true, 1, &k, why), SB_ERR_FOREIGN);
    unlink(path);
    unlink(other);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(sb_keys_load(dir, true, 1, &k, why), SB_ERR_FOREIGN);
    rmdir(path);
    /* Nobody writes to it: it is refused and not waited for. */
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10);
    assert_int_equal(sb_keys_load(dir, true, 1, &k, why), SB_ERR_FOREIGN);
    alarm(0);
    unlink(path);
}

static void
test_rotate_and_drop(void **state)
{
    (void)state;
    struct sb_keys k, read;
    assert_int_equal(sb_keys_load(dir, true, 10, &k, why), 0);
    assert_int_equal(sb_keys_drop(dir, &k, 1, why), SB_ERR_CONFLICT);
    assert_int_equal(sb_keys_drop(dir, &k, 5, why), SB_ERR_NOT_FOUND);
    assert_int_equal(sb_keys_rotate(dir, &k, 20, why), 0);
    assert_int_equal(k.n, 2);
    assert_int_equal(k.v[0].id, 2);
    assert_int_equal(k.v[1].id, 1);
    assert_memory_not_equal(k.v[0].master, k.v[1].master, 32);
    assert_int_equal(sb_keys_load(dir, false, 0, &read, why), 0);
    assert_memory_equal(&k, &read, sizeof(k));

    assert_int_equal(sb_keys_drop(dir, &k, 2, why), 0);
    assert_int_equal(k.n, 1);
    assert_int_equal(k.v[0].id, 1);
    /* An id is never used twice, though the newest is gone. */
    assert_int_equal(sb_keys_rotate(dir, &k, 30, why), 0);
    assert_int_equal(k.v[0].id, 3);
    while (k.n < SB_KEYS_MAX)
        assert_int_equal(sb_keys_rotate(dir, &k, 40, why), 0);
    assert_int_equal(sb_keys_rotate(dir, &k, 50, why), SB_ERR_FULL);
    assert_int_equal(sb_keys_load(dir, false, 0, &read, why), 0);
    assert_memory_equal(&k, &read, sizeof(k));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(count_files(), 1);
}

static void
test_failed_write_changes_nothing(void **state)
{
    (void)state;
    struct sb_keys k, before;
    assert_int_equal(sb_keys_load(dir, true, 10, &k, why), 0);
    before = k;
    assert_int_equal(sb_keys_rotate("/nonexistent/place", &k, 20, why), SB_ERR_IO);
    assert_non_null(strstr(why, "/nonexistent/place"));
    assert_memory_equal(&k, &before, sizeof(k));
    assert_int_equal(sb_keys_load("/nonexistent/place", true, 20, &k, why), SB_ERR_IO);
    assert_memory_equal(&k, &before, sizeof(k));
}

static void
test_strange_files_refused(void **state)
{
    (void)state;
#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY(id) "{\"id\":" #id ",\"created\":5,\"master\":\"" HEX "\"}"
#define FILE_OF(next, keys) "{\"format\":1,\"next_id\":" #next ",\"keys\":[" keys "]}"
    static const struct
    {
        const char *text, *why;
    } bad[] = {
        {"", "empty"},
        {"keys", "not JSON"},
        {"[]", "not a key file"},
        {"{}", "not a key file"},
        {"{\"format\":2,\"next_id\":2,\"keys\":[" KEY(1) "]}", "format"},
        {"{\"format\":1,\"next_id\":2,\"keys\":[" KEY(1) "],\"x\":1}", "form"},
        {"{\"format\":1,\"format\":1,\"next_id\":2,\"keys\":[" KEY(1) "]}", "not JSON"},
        {FILE_OF(2, KEY(1)) "x", "not JSON"},
        {FILE_OF(2, ""), "no key"},
        {FILE_OF(1, KEY(1)), "form"},
        {FILE_OF(2, KEY(2)), "newest first"},
        {FILE_OF(2, KEY(0)), "a key is not"},
        {FILE_OF(2, KEY(-1)), "a key is not"},
        {FILE_OF(2, KEY(1.0)), "a key is not"},
        {FILE_OF(3, KEY(1) "," KEY(2)), "newest first"},
        {FILE_OF(3, KEY(2) "," KEY(2)), "twice"},
        {FILE_OF(99, KEY(9) "," KEY(8) "," KEY(7) "," KEY(6) "," KEY(5) "," KEY(4) "," KEY(
                         3) "," KEY(2) "," KEY(1)),
         "more keys"},
        {"{\"format\":1,\"next_id\":2,\"keys\":[{\"id\":1,\"created\":5,\"master\":\"00\"}]}",
         "hex"},
        {"{\"format\":1,\"next_id\":2,\"keys\":[{\"id\":1,\"created\":5,\"master\":"
         "\"0001020304050607"
         "08090a0b0c0d0e0f101112131415161718191a1b1c1d1eXY\"}]}",
         "hex"},
        {"{\"format\":1,\"next_id\":2,\"keys\":[{\"id\":1,\"created\":5,\"master\":7}]}",
         "a key is"},
        {"{\"format\":1,\"next_id\":2,\"keys\":[7]}", "a key is"},
    };
    struct sb_keys k;
    write_file(FILE_OF(2, KEY(1)), 0600);
    assert_int_equal(sb_keys_load(dir, true, 0, &k, why), 0);
    assert_int_equal(k.v[0].master[31], 0x1f);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    {
        write_file(bad[i].text, 0600);
        if (sb_keys_load(dir, true, 0, &k, why) != SB_ERR_FOREIGN ||
            strstr(why, bad[i].why) == NULL)
            fail_msg("%s: told \"%s\", not \"%s\"", bad[i].text, why, bad[i].why);
        if (strstr(why, "0001020304") != NULL)
            fail_msg("a key was told: %s", why);
    }
    char *big = malloc(SB_KEY_FILE_MAX + 100);
    memset(big, ' ', SB_KEY_FILE_MAX + 99);
    big[SB_KEY_FILE_MAX + 99] = '\0';
    write_file(big, 0600);
    free(big);
    assert_int_equal(sb_keys_load(dir, true, 0, &k, why), SB_ERR_FOREIGN);
}

/* Programs that start at once on a new directory all end with the same key. */
static void
test_creation_race(void **state)
{
    (void)state;
    enum
    {
        N = 8
    };
    for (int round = 0; round < 20; round++)
    {
        int pipes[2], go[2];
        assert_int_equal(pipe(pipes), 0);
        assert_int_equal(pipe(go), 0);
        pid_t pids[N];
        for (int i = 0; i < N; i++)
            if ((pids[i] = fork()) == 0)
            {
                struct sb_keys k = {0};
                char byte;
                close(go[1]);
                (void)!read(go[0], &byte, 1); /* all start when the parent closes its end */
                int rc = sb_keys_load(dir, true, 1, &k, why);
                (void)!write(pipes[1], k.v[0].master, 32);
                _exit(rc != 0);
            }
        close(go[0]);
        close(go[1]);
        uint8_t first[32], master[32];
        for (int i = 0; i < N; i++)
        {
            assert_int_equal(read(pipes[0], i == 0 ? first : master, 32), 32);
            assert_memory_equal(first, i == 0 ? first : master, 32);
        }
        for (int i = 0; i < N; i++)
        {
            int status;
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_int_equal(status, 0);
        }
        close(pipes[0]);
        close(pipes[1]);
        assert_int_equal(count_files(), 1);
        unlink(path);
    }
}

static void
test_subkeys(void **state)
{
    (void)state;
    struct sb_keys k = {.n = 2, .next_id = 6, .v = {{.id = 5}, {.id = 2}}};
    memset(k.v[0].master, 1, 32);
    memset(k.v[1].master, 2, 32);
    struct sb_cursor_keys c;
    sb_keys_for_cursors(&k, &c);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.v[0].id, 5);
    assert_int_equal(c.v[1].id, 2);
    assert_memory_not_equal(c.v[0].key, c.v[1].key, 32);
    assert_memory_not_equal(c.v[0].key, k.v[0].master, 32);
    struct sb_cursor_keys again;
    sb_keys_for_cursors(&k, &again);
    assert_memory_equal(&c, &again, sizeof(c));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_created_once),
        T(test_two_directories_differ),
        T(test_open_to_others_refused),
        T(test_not_a_regular_file),
        T(test_rotate_and_drop),
        T(test_failed_write_changes_nothing),
        T(test_strange_files_refused),
        T(test_creation_race),
        T(test_subkeys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

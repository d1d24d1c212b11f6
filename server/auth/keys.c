/*
 * keys.c - see keys.h: the key file on disk, rotation, subkeys.
 *
 * Invariant: DIR/keys.json is at every instant absent or whole. A change is written to a
 * file beside it, synced, and renamed over it; a first file is linked into place, so that
 * of two programs that start at once one wins and both use its key.
 */
#include "auth/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/key_file.h"

#define PATH_MAX_LEN 4096
#define FILE_NAME "keys.json"

static int
fail(char *why, int err, const char *what, const char *path)
{
    if (errno != 0)
        (void)snprintf(why, 256, "%s %.160s: %.60s", what, path, strerror(errno));
    else
        (void)snprintf(why, 256, "%s %.200s", what, path);
    return err;
}

static int
make_path(char *out, const char *dir, const char *name, char *why)
{
    int n = snprintf(out, PATH_MAX_LEN, "%s/%s", dir, name);
    if (n > 0 && n < PATH_MAX_LEN)
        return 0;
    errno = ENAMETOOLONG;
    return fail(why, SB_ERR_IO, "cannot use", dir);
}

/* The file is ours alone: a regular file that neither group nor others can read. */
static int
check_mode(int fd, const char *path, char *why)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(why, SB_ERR_IO, "cannot look at", path);
    errno = 0;
    if (!S_ISREG(st.st_mode))
        return fail(why, SB_ERR_FOREIGN, "not a regular file:", path);
    if ((st.st_mode & 077) != 0)
    {
        (void)snprintf(why, 256, "%.160s is open to others (mode %03o); make it private: chmod 600",
                       path, st.st_mode & 0777);
        return SB_ERR_FOREIGN;
    }
    return 0;
}

static int
read_all(int fd, const char *path, uint8_t *buf, size_t cap, size_t *len, char *why)
{
    *len = 0;
    for (;;)
    {
        ssize_t n = read(fd, buf + *len, cap - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(why, SB_ERR_IO, "cannot read", path);
        *len += (size_t)n;
        if (n == 0 || *len == cap)
            return 0; /* a file that fills the buffer is too long for the parser */
    }
}

static int
load(const char *path, struct sb_keys *out, char *why)
{
    uint8_t buf[SB_KEY_FILE_MAX + 1];
    size_t len;
    /* O_NONBLOCK: a FIFO in its place is refused like a directory, and not waited for. */
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return fail(why, SB_ERR_NOT_FOUND,
                    "there is no key file (`serve` makes it at its first start):", path);
    if (fd < 0)
        return fail(why, errno == ELOOP ? SB_ERR_FOREIGN : SB_ERR_IO, "cannot open", path);
    int rc = check_mode(fd, path, why);
    if (rc == 0)
        rc = read_all(fd, path, buf, sizeof(buf), &len, why);
    close(fd);
    if (rc == 0)
    {
        char reason[256];
        rc = sb_key_file_parse(sb_bytes(buf, len), out, reason);
        if (rc != 0)
            (void)snprintf(why, 256, "cannot use %.140s: %.90s", path, reason);
    }
    sodium_memzero(buf, sizeof(buf));
    return rc;
}

static int
write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0)
    {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int
sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = fsync(fd);
    close(fd);
    return rc;
}

/* Writes the text to a fresh private file beside; its path into `temp`. */
static int
write_temp(const char *dir, const struct sb_keys *keys, char *temp, char *why)
{
    struct sb_buf text;
    int rc = make_path(temp, dir, "." FILE_NAME ".XXXXXX", why);
    if (rc != 0)
        return rc;
    sb_buf_init(&text, SB_KEY_FILE_MAX);
    rc = sb_buf_reserve(&text, SB_KEY_FILE_MAX); /* at once: no copy is left on the heap */
    if (rc == 0)
        rc = sb_key_file_format(keys, &text);
    if (rc != 0)
    {
        (void)snprintf(why, 256, "short of memory");
        goto out;
    }
    int fd = mkostemp(temp, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
    {
        rc = fail(why, SB_ERR_IO, "cannot write in", dir);
        goto out;
    }
    if (fchmod(fd, 0600) != 0 || write_all(fd, text.data, text.len) != 0 || fsync(fd) != 0)
        rc = fail(why, SB_ERR_IO, "cannot write", temp);
    if (close(fd) != 0 && rc == 0)
        rc = fail(why, SB_ERR_IO, "cannot write", temp);
    if (rc != 0)
        unlink(temp);
out:
    if (text.data != NULL)
        sodium_memzero(text.data, text.cap);
    sb_buf_finish(&text);
    return rc;
}

static int
replace(const char *dir, const struct sb_keys *keys, char *why)
{
    char path[PATH_MAX_LEN], temp[PATH_MAX_LEN];
    int rc = make_path(path, dir, FILE_NAME, why);
    if (rc == 0)
        rc = write_temp(dir, keys, temp, why);
    if (rc != 0)
        return rc;
    if (rename(temp, path) != 0)
    {
        rc = fail(why, SB_ERR_IO, "cannot replace", path);
        unlink(temp);
        return rc;
    }
    if (sync_dir(dir) != 0)
        return fail(why, SB_ERR_IO, "cannot sync", dir);
    return 0;
}

static void
new_key(struct sb_key *k, uint32_t id, uint64_t now_ms)
{
    k->id = id;
    k->created_ms = now_ms;
    randombytes_buf(k->master, sizeof(k->master));
}

/* The first key file. Another program may make one at the same time: then its file counts. */
static int
create(const char *dir, const char *path, uint64_t now_ms, struct sb_keys *out, char *why)
{
    char temp[PATH_MAX_LEN];
    struct sb_keys keys = {.n = 1, .next_id = 2};

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return fail(why, SB_ERR_IO, "cannot make", dir);
    new_key(&keys.v[0], 1, now_ms);
    int rc = write_temp(dir, &keys, temp, why);
    if (rc == 0)
    {
        if (link(temp, path) == 0)
            *out = keys;
        else if (errno == EEXIST)
            rc = load(path, out, why);
        else
            rc = fail(why, SB_ERR_IO, "cannot make", path);
        unlink(temp);
        if (rc == 0 && sync_dir(dir) != 0)
            rc = fail(why, SB_ERR_IO, "cannot sync", dir);
    }
    sodium_memzero(&keys, sizeof(keys));
    return rc;
}

int
sb_keys_load(const char *dir, bool create_missing, uint64_t now_ms, struct sb_keys *out, char *why)
{
    char path[PATH_MAX_LEN];
    if (sodium_init() < 0)
    {
        (void)snprintf(why, 256, "the cryptographic library does not start");
        return SB_ERR_INTERNAL;
    }
    int rc = make_path(path, dir, FILE_NAME, why);
    if (rc == 0)
        rc = load(path, out, why);
    if (rc == SB_ERR_NOT_FOUND && create_missing)
        rc = create(dir, path, now_ms, out, why);
    return rc;
}

int
sb_keys_rotate(const char *dir, struct sb_keys *keys, uint64_t now_ms, char *why)
{
    if (keys->n == SB_KEYS_MAX)
    {
        (void)snprintf(why, 256, "there are %d keys already: drop one first", SB_KEYS_MAX);
        return SB_ERR_FULL;
    }
    if (keys->next_id >= UINT32_MAX - 1)
    {
        (void)snprintf(why, 256, "no key id is left");
        return SB_ERR_FULL;
    }
    struct sb_keys next = {.n = keys->n + 1, .next_id = keys->next_id + 1};
    memcpy(&next.v[1], &keys->v[0], keys->n * sizeof(keys->v[0]));
    new_key(&next.v[0], keys->next_id, now_ms);
    int rc = replace(dir, &next, why);
    if (rc == 0)
        *keys = next;
    sodium_memzero(&next, sizeof(next));
    return rc;
}

int
sb_keys_drop(const char *dir, struct sb_keys *keys, uint32_t id, char *why)
{
    uint32_t at = 0;
    while (at < keys->n && keys->v[at].id != id)
        at++;
    if (at == keys->n)
    {
        (void)snprintf(why, 256, "there is no key %u", id);
        return SB_ERR_NOT_FOUND;
    }
    if (keys->n == 1)
    {
        (void)snprintf(why, 256, "key %u is the only one: rotate first", id);
        return SB_ERR_CONFLICT;
    }
    struct sb_keys next = *keys;
    memmove(&next.v[at], &next.v[at + 1], (next.n - at - 1) * sizeof(next.v[0]));
    next.n--;
    sodium_memzero(&next.v[next.n], sizeof(next.v[0]));
    int rc = replace(dir, &next, why);
    if (rc == 0)
        *keys = next;
    sodium_memzero(&next, sizeof(next));
    return rc;
}

void
sb_keys_for_cursors(const struct sb_keys *keys, struct sb_cursor_keys *out)
{
    *out = (struct sb_cursor_keys){.n = keys->n};
    for (uint32_t i = 0; i < keys->n; i++)
    {
        out->v[i].id = keys->v[i].id;
        crypto_kdf_derive_from_key(out->v[i].key, sizeof(out->v[i].key), 1, "sbcursor",
                                   keys->v[i].master);
    }
}

/* directory.c - see directory.h. It must not know what is in data.mdb. */
#include "store/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define WHY 512

static int
path_of(const char *dir, const char *file, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, file);
    return n > 0 && n < PATH_MAX ? 0 : SB_ERR_IO;
}

static int
failed(const char *what, const char *dir, char *why)
{
    snprintf(why, WHY, "%s %.256s: %s", what, dir, strerror(errno));
    return SB_ERR_IO;
}

static int
sync_directory(const char *dir, char *why)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failed("cannot open", dir, why);
    int rc = fsync(fd) == 0 ? 0 : failed("cannot sync", dir, why);
    close(fd);
    return rc;
}

int
sb_directory_make(const char *dir, char *why)
{
    bool made = mkdir(dir, 0700) == 0;
    if (!made && errno != EEXIST)
        return failed("cannot create the directory", dir, why);
    /* A power cut must not take the directory with what was acknowledged in it. */
    char above[PATH_MAX];
    int n = made ? snprintf(above, sizeof(above), "%s/..", dir) : 0;
    if (n >= (int)sizeof(above) || (n > 0 && sync_directory(above, why) != 0))
        return SB_ERR_IO;
    struct stat st;
    if (stat(dir, &st) != 0)
        return failed("cannot look at", dir, why);
    if (S_ISDIR(st.st_mode))
        return 0;
    snprintf(why, WHY, "%.256s is not a directory", dir);
    return SB_ERR_IO;
}

int
sb_directory_lock(const char *dir, int *out, char *why)
{
    char path[PATH_MAX];
    int rc = path_of(dir, "scrollback.lock", path);
    if (rc != 0)
        return rc;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed("cannot open the lock of", dir, why);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
    {
        *out = fd;
        return 0;
    }
    if (errno == EWOULDBLOCK)
    {
        snprintf(why, WHY,
                 "%.256s is in use by another process: stop it first, or name another "
                 "directory",
                 dir);
        rc = SB_ERR_BUSY;
    }
    else
        rc = failed("cannot lock", dir, why);
    close(fd);
    return rc;
}

int
sb_directory_look(const char *dir, bool *exists, char *why)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = path_of(dir, "data.mdb", path);
    if (rc != 0)
        return rc;
    *exists = lstat(path, &st) == 0;
    if (!*exists)
        return errno == ENOENT ? 0 : failed("cannot look at data.mdb in", dir, why);
    if (!S_ISREG(st.st_mode))
        snprintf(why, WHY, "%.256s/data.mdb is not a file", dir);
    else if ((st.st_mode & (S_IRWXO)) != 0)
        snprintf(why, WHY, "%.256s/data.mdb can be read by everybody: chmod 600 it", dir);
    else if (st.st_size == 0)
    {
        snprintf(why, WHY,
                 "%.256s/data.mdb is truncated: it is empty; remove it if nothing was "
                 "ever stored here, else restore a backup",
                 dir);
    }
    else
    {
        return 0;
    }
    return SB_ERR_FOREIGN;
}

bool
sb_directory_unfinished(const char *dir)
{
    char path[PATH_MAX];
    return path_of(dir, "UNFINISHED", path) == 0 && access(path, F_OK) == 0;
}

int
sb_directory_mark_unfinished(const char *dir, char *why)
{
    char path[PATH_MAX];
    int rc = path_of(dir, "UNFINISHED", path);
    if (rc != 0)
        return rc;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed("cannot mark as unfinished", dir, why);
    close(fd);
    return sync_directory(dir, why);
}

int
sb_directory_unmark_unfinished(const char *dir, char *why)
{
    char path[PATH_MAX];
    int rc = path_of(dir, "UNFINISHED", path);
    if (rc != 0)
        return rc;
    if (unlink(path) != 0)
        return errno == ENOENT ? 0 : failed("cannot remove the mark UNFINISHED in", dir, why);
    return sync_directory(dir, why);
}

int
sb_directory_replace(const char *dir, const char *from, const char *to, char *why)
{
    char old[PATH_MAX], new[PATH_MAX];
    if (path_of(dir, from, old) != 0 || path_of(dir, to, new) != 0)
        return SB_ERR_IO;
    if (rename(old, new) != 0)
        return failed("cannot put the new file in place in", dir, why);
    return sync_directory(dir, why);
}

bool
sb_directory_reserve(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    if (path_of(dir, "reserve", path) != 0)
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool whole = fstat(fd, &st) == 0 && st.st_size >= SB_RESERVE_BYTES;
    if (!whole)
        whole = posix_fallocate(fd, 0, SB_RESERVE_BYTES) == 0;
    close(fd);
    if (!whole)
        (void)unlink(path);
    return whole;
}

void
sb_directory_remove(const char *dir, const char *file)
{
    char path[PATH_MAX];
    if (path_of(dir, file, path) == 0)
        (void)unlink(path);
}

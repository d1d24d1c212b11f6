/*
 * fault_preload.c - for LD_PRELOAD: makes the disk and the clock of a program lie, on demand.
 *
 * SB_FAULT_FILE names a file of 64 bytes that the test writes while the program runs:
 *
 *   byte 0      what happens to data.mdb:
 *                 s  the disk is full: writes of pages are short
 *                 e  the disk is full: writes of pages fail with ENOSPC
 *                 y  syncs fail with EIO
 *                 w  writes of pages fail with EIO
 *                 k  the process is killed when a commit has become durable
 *   byte 1      a digit: so many matching calls go well before the fault (then all fail)
 *   bytes 8..   seconds that the wall clock is off, as decimal text
 *
 * Other files are left alone. Pages are what lies behind the two meta pages, which are
 * overwritten in place and need no space.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define META_BYTES 8192

static volatile char *control;
static int passed;

__attribute__((constructor)) static void
start(void)
{
    const char *path = getenv("SB_FAULT_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    control = map == MAP_FAILED ? NULL : map;
}

static bool
is_data(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    const char *name = strrchr(path, '/');
    return name != NULL && strcmp(name, "/data.mdb") == 0;
}

/* The mode, when it is one of `modes`, the file is the store's and enough calls went well. */
static char
mode(int fd, const char *modes)
{
    char m = control == NULL ? '-' : control[0];
    if (m == '-' || m == '\0' || strchr(modes, m) == NULL || (fd >= 0 && !is_data(fd)))
        return '-';
    char wait = control[1];
    if (wait >= '0' && wait <= '9' && __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED) < wait - '0')
        return '-';
    return m;
}

static ssize_t
fault(char m, size_t len, ssize_t (*half)(void *ctx, size_t n), void *ctx)
{
    if (m == 's')
        return half(ctx, len / 2);
    errno = m == 'e' ? ENOSPC : EIO;
    return -1;
}

struct write_at
{
    int fd;
    const void *data;
    off_t off;
};

static ssize_t
write_half(void *ctx, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    struct write_at *w = ctx;
    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    return real(w->fd, w->data, n, w->off);
}

ssize_t
pwrite(int fd, const void *data, size_t len, off_t off)
{
    struct write_at w = {fd, data, off};
    if (off >= META_BYTES)
    {
        char m = mode(fd, "sew");
        if (m != '-')
            return fault(m, len, write_half, &w);
        return write_half(&w, len);
    }
    ssize_t n = write_half(&w, len);
    /* The descriptor of meta pages writes through: here the commit is durable. */
    if (n == (ssize_t)len && mode(fd, "k") == 'k')
        raise(SIGKILL);
    return n;
}

ssize_t
pwrite64(int fd, const void *data, size_t len, off_t off)
{
    return pwrite(fd, data, len, off);
}

static ssize_t
nothing(void *ctx, size_t n)
{
    (void)ctx;
    (void)n;
    return 0;
}

ssize_t
writev(int fd, const struct iovec *v, int n)
{
    static ssize_t (*real)(int, const struct iovec *, int);
    if (real == NULL)
        real = (ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    char m = mode(fd, "sew");
    return m != '-' ? fault(m, 0, nothing, NULL) : real(fd, v, n);
}

ssize_t
pwritev(int fd, const struct iovec *v, int n, off_t off)
{
    static ssize_t (*real)(int, const struct iovec *, int, off_t);
    if (real == NULL)
        real = (ssize_t(*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    char m = mode(fd, "sew");
    return m != '-' ? fault(m, 0, nothing, NULL) : real(fd, v, n, off);
}

int
fdatasync(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (mode(fd, "y") == '-')
        return real(fd);
    errno = EIO;
    return -1;
}

int
fstatvfs(int fd, struct statvfs *out)
{
    static int (*real)(int, struct statvfs *);
    if (real == NULL)
        real = (int (*)(int, struct statvfs *))dlsym(RTLD_NEXT, "fstatvfs");
    int rc = real(fd, out);
    if (rc == 0 && control != NULL && (control[0] == 's' || control[0] == 'e') && is_data(fd))
        out->f_bavail = out->f_bfree = 0;
    return rc;
}

int
clock_gettime(clockid_t id, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, out);
    if (rc == 0 && control != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        out->tv_sec += atol((const char *)control + 8);
    return rc;
}

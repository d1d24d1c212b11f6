/*
 * tree.c - see tree.h.
 *
 * The only file that knows libzip. A zip entry is streamed and capped while it is read: what
 * its header announces is not believed.
 */
#include "import/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include "base/error.h"

#define WHY 256
#define MAX_FOLDERS_DEEP 16

static int
add(struct sb_tree *t, const char *name, uint64_t size, uint64_t index)
{
    if (t->n == t->cap)
    {
        size_t cap = t->cap == 0 ? 64 : t->cap * 2;
        struct sb_tree_entry *more = realloc(t->entries, cap * sizeof(*more));
        if (more == NULL)
            return SB_ERR_NO_MEMORY;
        t->entries = more;
        t->cap = cap;
    }
    char *copy = strdup(name);
    if (copy == NULL)
        return SB_ERR_NO_MEMORY;
    t->entries[t->n++] = (struct sb_tree_entry){copy, size, index};
    return 0;
}

static int walk(struct sb_tree *t, const char *folder, const char *relative, int deep);

static int
walk_one(struct sb_tree *t, const char *folder, const char *relative, const char *name, int deep)
{
    char *full = NULL;
    char *inner = NULL;
    struct stat st;
    int rc = SB_ERR_NO_MEMORY;
    if (asprintf(&full, "%s/%s", folder, name) < 0)
        return SB_ERR_NO_MEMORY;
    if (asprintf(&inner, "%s%s%s", relative, relative[0] == '\0' ? "" : "/", name) < 0)
    {
        free(full);
        return SB_ERR_NO_MEMORY;
    }
    rc = 0;
    if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode))
        rc = deep < MAX_FOLDERS_DEEP ? walk(t, full, inner, deep + 1) : 0;
    else if (stat(full, &st) == 0 && S_ISREG(st.st_mode))
        rc = add(t, inner, (uint64_t)st.st_size, 0);
    free(inner);
    free(full);
    return rc;
}

static int
walk(struct sb_tree *t, const char *folder, const char *relative, int deep)
{
    DIR *d = opendir(folder);
    if (d == NULL)
        return deep == 0 ? SB_ERR_IO : 0;
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(d)) != NULL;)
    {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = walk_one(t, folder, relative, e->d_name, deep);
    }
    (void)closedir(d);
    return rc;
}

/* No absolute names and no way up; folders end in '/'. */
static bool
name_is_file(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || name[0] == '/' || name[len - 1] == '/')
        return false;
    for (const char *p = name; p != NULL; p = strchr(p, '/'))
    {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return false;
    }
    return true;
}

static int
list_zip(struct sb_tree *t)
{
    zip_int64_t n = zip_get_num_entries(t->zip, 0);
    for (zip_int64_t i = 0; i < n; i++)
    {
        zip_stat_t st;
        const char *name = zip_get_name(t->zip, (zip_uint64_t)i, 0);
        if (name == NULL || !name_is_file(name))
            continue;
        uint64_t size = 0;
        if (zip_stat_index(t->zip, (zip_uint64_t)i, 0, &st) == 0 && (st.valid & ZIP_STAT_SIZE) != 0)
            size = st.size;
        int rc = add(t, name, size, (uint64_t)i);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static bool
looks_like_zip(const char *path)
{
    char head[4] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, head, sizeof(head));
    (void)close(fd);
    return n == 4 && head[0] == 'P' && head[1] == 'K' && (head[2] == 3 || head[2] == 5);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct sb_tree_entry *)a)->name, ((const struct sb_tree_entry *)b)->name);
}

static int
open_file(struct sb_tree *t, const struct stat *st, char *why)
{
    if (!looks_like_zip(t->path))
    {
        const char *slash = strrchr(t->path, '/');
        t->single = true;
        return add(t, slash == NULL ? t->path : slash + 1, (uint64_t)st->st_size, 0);
    }
    int code = 0;
    t->zip = zip_open(t->path, ZIP_RDONLY, &code);
    if (t->zip != NULL)
        return list_zip(t);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    (void)snprintf(why, WHY, "%.150s is not a readable zip: %.80s", t->path,
                   zip_error_strerror(&error));
    zip_error_fini(&error);
    return SB_ERR_IO;
}

int
sb_tree_open(struct sb_tree *t, const char *path, char *why)
{
    struct stat st;
    *t = (struct sb_tree){0};
    why[0] = '\0';
    if (stat(path, &st) != 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
    {
        (void)snprintf(why, WHY, "cannot read %.150s: %.80s", path,
                       errno != 0 ? strerror(errno) : "neither a file nor a folder");
        return SB_ERR_IO;
    }
    int rc = SB_ERR_NO_MEMORY;
    t->path = realpath(path, NULL);
    if (t->path != NULL)
        rc = S_ISDIR(st.st_mode) ? walk(t, t->path, "", 0) : open_file(t, &st, why);
    if (rc != 0)
    {
        if (why[0] == '\0')
            (void)snprintf(why, WHY, "cannot read %.150s: %.80s", path, strerror(errno));
        sb_tree_close(t);
        return rc;
    }
    if (t->n != 0)
        qsort(t->entries, t->n, sizeof(t->entries[0]), by_name);
    return 0;
}

void
sb_tree_close(struct sb_tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->entries[i].name);
    free(t->entries);
    free(t->path);
    if (t->zip != NULL)
        zip_discard(t->zip);
    *t = (struct sb_tree){0};
}

int
sb_input_file(const char *path, struct sb_input *out)
{
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return SB_ERR_IO;
    *out = (struct sb_input){.fd = fd, .left = UINT64_MAX};
    return 0;
}

int
sb_tree_input(const struct sb_tree *t, size_t i, struct sb_input *out)
{
    if (t->zip != NULL)
    {
        struct zip_file *f = zip_fopen_index(t->zip, t->entries[i].index, 0);
        if (f == NULL)
            return SB_ERR_IO;
        *out = (struct sb_input){.fd = -1, .file = f, .left = SB_TREE_MAX_ENTRY};
        return 0;
    }
    if (t->single)
        return sb_input_file(t->path, out);
    char *full;
    if (asprintf(&full, "%s/%s", t->path, t->entries[i].name) < 0)
        return SB_ERR_NO_MEMORY;
    int rc = sb_input_file(full, out);
    free(full);
    return rc;
}

uint64_t
sb_input_size(const struct sb_input *in)
{
    struct stat st;
    if (in->fd < 0 || fstat(in->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    return (uint64_t)st.st_size;
}

int64_t
sb_input_read(struct sb_input *in, void *buf, size_t cap)
{
    if (cap > in->left)
        cap = (size_t)in->left;
    if (cap == 0)
    {
        in->over = true;
        return 0;
    }
    int64_t n;
    do
        n = in->fd >= 0 ? read(in->fd, buf, cap) : zip_fread(in->file, buf, cap);
    while (n < 0 && in->fd >= 0 && errno == EINTR);
    if (n < 0)
        return SB_ERR_IO;
    in->left -= (uint64_t)n;
    return n;
}

void
sb_input_close(struct sb_input *in)
{
    if (in->fd >= 0)
        (void)close(in->fd);
    if (in->file != NULL)
        (void)zip_fclose(in->file);
    *in = (struct sb_input){.fd = -1};
}

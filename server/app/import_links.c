/* import_links.c - see import_links.h. The file's form is four lengths, then four strings. */
#include "app/import_links.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

void
sb_links_init(struct sb_links *l, const char *dir)
{
    *l = (struct sb_links){.dir = dir};
}

void
sb_links_finish(struct sb_links *l)
{
    if (l->file != NULL)
        (void)fclose(l->file);
    free(l->buf);
    *l = (struct sb_links){0};
}

static int
open_file(struct sb_links *l)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/.import-links.XXXXXX", l->dir);
    int fd = n > 0 && (size_t)n < sizeof(path) ? mkstemp(path) : -1;
    if (fd < 0)
        return SB_ERR_IO;
    unlink(path);
    l->file = fdopen(fd, "w+");
    if (l->file != NULL)
        return 0;
    close(fd);
    return SB_ERR_IO;
}

int
sb_links_add(struct sb_links *l, const struct sb_link *link)
{
    const struct sb_bytes parts[4] = {link->thread, link->system, link->child, link->parent};
    uint64_t lengths[4];
    if (l->file == NULL)
    {
        int rc = open_file(l);
        if (rc != 0)
            return rc;
    }
    for (int i = 0; i < 4; i++)
        lengths[i] = parts[i].len;
    if (fwrite(lengths, sizeof(lengths), 1, l->file) != 1)
        return SB_ERR_IO;
    for (int i = 0; i < 4; i++)
        if (parts[i].len != 0 && fwrite(parts[i].data, parts[i].len, 1, l->file) != 1)
            return SB_ERR_IO;
    l->n++;
    return 0;
}

int
sb_links_rewind(struct sb_links *l)
{
    l->left = l->n;
    if (l->file != NULL && (fflush(l->file) != 0 || fseek(l->file, 0, SEEK_SET) != 0))
        return SB_ERR_IO;
    return 0;
}

int
sb_links_next(struct sb_links *l, struct sb_link *out)
{
    uint64_t lengths[4];
    if (l->left == 0)
        return SB_ERR_NOT_FOUND;
    if (fread(lengths, sizeof(lengths), 1, l->file) != 1)
        return SB_ERR_IO;
    size_t total = (size_t)(lengths[0] + lengths[1] + lengths[2] + lengths[3]);
    if (total > l->cap)
    {
        uint8_t *buf = realloc(l->buf, total);
        if (buf == NULL)
            return SB_ERR_NO_MEMORY;
        l->buf = buf;
        l->cap = total;
    }
    if (total != 0 && fread(l->buf, total, 1, l->file) != 1)
        return SB_ERR_IO;
    struct sb_bytes *parts[4] = {&out->thread, &out->system, &out->child, &out->parent};
    size_t at = 0;
    for (int i = 0; i < 4; i++)
    {
        *parts[i] = sb_bytes(l->buf + at, (size_t)lengths[i]);
        at += (size_t)lengths[i];
    }
    l->left--;
    return 0;
}

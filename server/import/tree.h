/*
 * tree.h - the files of an export, in a zip or a folder, in one order.
 *
 * Names are relative to PATH with '/' between folders, sorted by bytes, so that a zip and its
 * unpacked folder read alike. Names are labels only: nothing is ever written by them.
 */
#ifndef SB_IMPORT_TREE_H
#define SB_IMPORT_TREE_H

#include "protocol/bytes.h"

struct zip;
struct zip_file;

struct sb_tree_entry
{
    char *name;     /* heap */
    uint64_t size;  /* bytes, unpacked; as announced, not to be trusted */
    uint64_t index; /* in the zip */
};

struct sb_tree
{
    char *path;      /* of the folder, zip or single file; heap */
    struct zip *zip; /* NULL: a folder or a single file */
    bool single;     /* PATH is one plain file: one entry, its base name */
    struct sb_tree_entry *entries;
    size_t n, cap;
};

/* Bytes to read, from a file or out of a zip. */
struct sb_input
{
    int fd; /* -1: zip */
    struct zip_file *file;
    uint64_t left; /* bytes that may still be read: the cap of one entry */
    bool over;     /* the cap was reached */
};

#define SB_TREE_MAX_ENTRY (UINT64_C(1) << 30) /* bytes read of one zip entry */

/*
 * Lists a folder (recursively, no symbolic links to folders), a zip, or a single file. 0, or
 * SB_ERR_IO / SB_ERR_NO_MEMORY with a text in `why` (256 bytes).
 */
int sb_tree_open(struct sb_tree *t, const char *path, char *why);
void sb_tree_close(struct sb_tree *t);
/* Opens one entry. SB_ERR_IO when it cannot be read. */
int sb_tree_input(const struct sb_tree *t, size_t i, struct sb_input *out);

/* Opens a file by path; "-" is the standard input. */
int sb_input_file(const char *path, struct sb_input *out);
/* Of a plain file; 0: not known. */
uint64_t sb_input_size(const struct sb_input *in);
/* Bytes read, 0 at the end, or SB_ERR_IO. */
int64_t sb_input_read(struct sb_input *in, void *buf, size_t cap);
void sb_input_close(struct sb_input *in);

#endif

/*
 * import_links.h - replies whose parent had not come yet, kept for the end of the run.
 *
 * They wait in an unlinked temporary file in the data directory, so that memory does not
 * grow with them.
 */
#ifndef SB_APP_IMPORT_LINKS_H
#define SB_APP_IMPORT_LINKS_H

#include <stdio.h>

#include "protocol/bytes.h"

struct sb_links
{
    const char *dir;
    FILE *file; /* NULL until the first one */
    uint64_t n, left;
    uint8_t *buf; /* of the last one read */
    size_t cap;
};

struct sb_link
{
    struct sb_bytes thread, system, child, parent; /* valid until the next call */
};

void sb_links_init(struct sb_links *l, const char *dir);
void sb_links_finish(struct sb_links *l);
/* 0, or SB_ERR_IO (errno tells). */
int sb_links_add(struct sb_links *l, const struct sb_link *link);
/* Back to the first, for reading. 0 or SB_ERR_IO. */
int sb_links_rewind(struct sb_links *l);
/* 0; SB_ERR_NOT_FOUND at the end; SB_ERR_IO; SB_ERR_NO_MEMORY. */
int sb_links_next(struct sb_links *l, struct sb_link *out);

#endif

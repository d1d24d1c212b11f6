/* name_set.h - counts distinct names by a 128-bit hash of each: 16 bytes per name. */
#ifndef SB_APP_NAME_SET_H
#define SB_APP_NAME_SET_H

#include "protocol/bytes.h"

struct sb_name_set
{
    size_t n, cap; /* cap: a power of two, or 0 */
    uint8_t (*v)[16];
};

void sb_name_set_init(struct sb_name_set *s);
void sb_name_set_finish(struct sb_name_set *s);
/* 0 or SB_ERR_NO_MEMORY; n is the number of distinct names so far. */
int sb_name_set_add(struct sb_name_set *s, struct sb_bytes name);

#endif

/* sum_plain.c - where libxxhash does not choose by the processor. */
#include "store/sum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
sb_sum(struct sb_bytes value)
{
    return XXH3_64bits(value.data, value.len);
}

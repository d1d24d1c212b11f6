/* sum.h - XXH3 over a value, by the widest instructions that the processor has. */
#ifndef SB_STORE_SUM_H
#define SB_STORE_SUM_H

#include "core/types.h"

uint64_t sb_sum(struct sb_bytes value);

#endif

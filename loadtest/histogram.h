/*
 * histogram.h - latencies with a bounded relative error, in fixed memory (HDR style).
 *
 * Values are nanoseconds. Each power of two has 64 linear steps, so a percentile is off by
 * at most 1/64 of its value. Nothing is allocated after init and nothing is ever dropped:
 * values past the top count in the last step.
 */
#ifndef SB_LOADTEST_HISTOGRAM_H
#define SB_LOADTEST_HISTOGRAM_H

#include <stdint.h>

#define SB_HISTOGRAM_STEPS 64
#define SB_HISTOGRAM_CELLS (SB_HISTOGRAM_STEPS * 42)

struct sb_histogram
{
    uint64_t count, max, sum;
    uint64_t cells[SB_HISTOGRAM_CELLS];
};

void sb_histogram_add(struct sb_histogram *h, uint64_t ns);
/* The value that the share `p` (0..1) of all values does not exceed; 0 when empty. */
uint64_t sb_histogram_percentile(const struct sb_histogram *h, double p);
void sb_histogram_reset(struct sb_histogram *h);

#endif

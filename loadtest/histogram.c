/* histogram.c - see histogram.h. */
#include "loadtest/histogram.h"

#include <string.h>

static unsigned
cell_of(uint64_t ns)
{
    if (ns < SB_HISTOGRAM_STEPS)
        return (unsigned)ns;
    unsigned log = 63U - (unsigned)__builtin_clzll(ns);
    unsigned cell =
        (log - 5) * SB_HISTOGRAM_STEPS + (unsigned)((ns >> (log - 6)) & (SB_HISTOGRAM_STEPS - 1));
    return cell < SB_HISTOGRAM_CELLS ? cell : SB_HISTOGRAM_CELLS - 1;
}

/* The largest value that falls into the cell. */
static uint64_t
top_of(unsigned cell)
{
    if (cell < SB_HISTOGRAM_STEPS)
        return cell;
    unsigned log = cell / SB_HISTOGRAM_STEPS + 5;
    uint64_t step = cell % SB_HISTOGRAM_STEPS;
    return ((SB_HISTOGRAM_STEPS + step + 1) << (log - 6)) - 1;
}

void
sb_histogram_add(struct sb_histogram *h, uint64_t ns)
{
    h->cells[cell_of(ns)]++;
    h->count++;
    h->sum += ns;
    if (ns > h->max)
        h->max = ns;
}

uint64_t
sb_histogram_percentile(const struct sb_histogram *h, double p)
{
    uint64_t want = (uint64_t)((double)h->count * p);
    uint64_t seen = 0;
    for (unsigned i = 0; i < SB_HISTOGRAM_CELLS; i++)
    {
        seen += h->cells[i];
        if (h->cells[i] != 0 && seen >= want)
            return top_of(i) < h->max ? top_of(i) : h->max;
    }
    return h->max;
}

void
sb_histogram_reset(struct sb_histogram *h)
{
    memset(h, 0, sizeof(*h));
}

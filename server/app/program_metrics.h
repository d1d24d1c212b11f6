/*
 * program_metrics.h - what /metrics says of the program around: store, change log, process.
 *
 * Labels come from sets that are fixed at compile time.
 */
#ifndef SB_APP_PROGRAM_METRICS_H
#define SB_APP_PROGRAM_METRICS_H

#include "base/buf.h"
#include "log/change_log.h"

struct sb_program_metrics
{
    struct sb_store *store;
    const struct sb_change_log *log;
    uint32_t keys;
    uint64_t uptime_us;
};

void sb_program_metrics_write(const struct sb_program_metrics *m, struct sb_buf *out);

#endif

/* program_metrics.c - see program_metrics.h. */
#include "app/program_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

static void
seconds(struct sb_buf *out, const char *name, uint64_t us)
{
    (void)sb_text_put(out, "scrollback_%s %" PRIu64 ".%06" PRIu64 "\n", name, us / 1000000,
                      us % 1000000);
}

static void
write_store(struct sb_store *store, struct sb_buf *out)
{
    struct sb_store_stats s;
    store->ops->stats(store, &s);
    sb_metric(out, "store_version", "counter", "last version that readers see", s.published);
    sb_metric(out, "store_horizon", "counter", "snapshots below it are gone", s.horizon);
    sb_metric(out, "store_bytes_used", "gauge", "bytes in use", s.bytes_used);
    sb_metric(out, "store_bytes_quota", "gauge", "bytes past which writes are refused",
              s.bytes_quota);
    sb_metric(out, "store_rows_behind", "gauge", "rows whose derived entries are not written yet",
              s.behind);
}

static void
write_log(const struct sb_change_log *log, struct sb_buf *out)
{
    static const char *const bounds[] = {
#define X(us, label) label,
        SB_COMMIT_BUCKETS(X)
#undef X
            "+Inf",
    };
    struct sb_change_log_stats s;
    uint64_t sum = 0;
    sb_change_log_stats(log, &s);
    sb_metric(out, "changes_total", "counter", "changes decided, refused ones included", s.records);
    sb_metric(out, "changes_overloaded_total", "counter", "changes that the queue did not take",
              s.refused);
    sb_metric(out, "changes_waiting", "gauge", "changes that wait for a commit", s.waiting);
    sb_metric(out, "changes_waiting_bytes", "gauge", "bytes of them", s.waiting_bytes);
    sb_metric(out, "batches_failed_total", "counter", "batches of which nothing was stored",
              s.failed_batches);
    sb_metric_head(out, "commit_seconds", "histogram",
                   "time to apply and commit a batch of changes");
    for (size_t i = 0; i < SB_COMMIT_BUCKET_COUNT; i++)
    {
        sum += s.commits[i];
        (void)sb_text_put(out, "scrollback_commit_seconds_bucket{le=\"%s\"} %" PRIu64 "\n",
                          bounds[i], sum);
    }
    seconds(out, "commit_seconds_sum", s.commit_us);
    (void)sb_text_put(out, "scrollback_commit_seconds_count %" PRIu64 "\n", s.batches);
}

/* The second number of statm: resident pages. */
static uint64_t
resident_bytes(void)
{
    uint64_t size, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void
sb_program_metrics_write(const struct sb_program_metrics *m, struct sb_buf *out)
{
    write_store(m->store, out);
    write_log(m->log, out);
    sb_metric(out, "keys", "gauge", "keys that are taken", m->keys);
    sb_metric(out, "resident_bytes", "gauge", "memory of the process, mapped store included",
              resident_bytes());
    sb_metric_head(out, "uptime_seconds", "gauge", "since the start");
    seconds(out, "uptime_seconds", m->uptime_us);
    sb_metric_head(out, "build_info", "gauge", "the program's version");
    (void)sb_text_put(out, "scrollback_build_info{version=\"%s\"} 1\n", SB_VERSION);
}

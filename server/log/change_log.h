/*
 * change_log.h - the port through which every change goes: append records, get results.
 *
 * Embedded (embedded.c): records are collected per turn and applied to the local store
 * in one batch at a time on a pool thread. A replicated engine can stand here later;
 * nothing else in the server may know which.
 *
 * Records of one caller are applied in the order appended. The loop never waits.
 */
#ifndef SB_LOG_CHANGE_LOG_H
#define SB_LOG_CHANGE_LOG_H

#include "core/record.h"
#include "core/store.h"

struct sb_change_log;

/* Runs a job off the loop: calls run(arg) on another thread, then done(arg) on the loop.
 * Injected so that this layer knows no libuv; a test may run both inline. 0 or SB_ERR_. */
typedef int (*sb_run_job)(void *ctx, void (*run)(void *arg), void (*done)(void *arg), void *arg);

/* Called on the loop thread, in append order, after the batch is durable and published. */
typedef void (*sb_applied)(void *ctx, uint64_t tag, const struct sb_record *record,
                           const struct sb_result *result);

struct sb_change_log_options
{
    struct sb_store *store;
    sb_run_job run_job;
    sb_applied applied;
    /* A commit's outcome is not known (SB_ERR_UNKNOWN_OUTCOME): results were delivered; the
     * process must exit and reopen. May be NULL. */
    void (*fatal)(void *ctx, int err);
    void *ctx;
    uint64_t (*clock_us)(void); /* monotonic, any thread; NULL: times are not taken */
    size_t max_records;         /* waiting at most; more are refused. Default 65,536 */
    size_t max_bytes;           /* of records waiting. Default 64 MiB */
    size_t max_batch;           /* records per transaction. Default 1,024 */
};

struct sb_change_log *sb_change_log_create(const struct sb_change_log_options *o);
/* Only when idle. */
void sb_change_log_destroy(struct sb_change_log *l);

/* Copies the record. `tag` comes back in applied. SB_ERR_OVERLOADED: not taken. */
int sb_change_log_append(struct sb_change_log *l, const struct sb_record *r, uint64_t tag);
/* Starts a batch if records wait and none runs: call at the end of each turn. */
void sb_change_log_flush(struct sb_change_log *l);
/* Upper bounds of the histogram of commit times, in us; one more bucket has no bound. */
#define SB_COMMIT_BUCKETS(X)                                                                       \
    X(1000, "0.001")                                                                               \
    X(2500, "0.0025")                                                                              \
    X(5000, "0.005")                                                                               \
    X(10000, "0.01")                                                                               \
    X(25000, "0.025")                                                                              \
    X(50000, "0.05")                                                                               \
    X(100000, "0.1")                                                                               \
    X(250000, "0.25")                                                                              \
    X(500000, "0.5")                                                                               \
    X(1000000, "1")                                                                                \
    X(5000000, "5")
#define X(us, label) +1
enum
{
    SB_COMMIT_BUCKET_COUNT = 1 SB_COMMIT_BUCKETS(X)
};
#undef X

struct sb_change_log_stats
{
    uint64_t batches, records;                /* applied, failed ones included */
    uint64_t failed_batches;                  /* stored nothing */
    uint64_t refused;                         /* appends that were not taken */
    uint64_t waiting, waiting_bytes;          /* now */
    uint64_t commit_us;                       /* of all batches together */
    uint64_t commits[SB_COMMIT_BUCKET_COUNT]; /* batches by time, not cumulative */
};
/* Loop thread. */
void sb_change_log_stats(const struct sb_change_log *l, struct sb_change_log_stats *out);
/* Nothing waits and nothing runs. */
bool sb_change_log_idle(const struct sb_change_log *l);

#endif

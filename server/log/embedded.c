/*
 * embedded.c - the change log of a single node: append goes straight to apply.
 *
 * Records wait in one queue; a batch is taken from its head and applied by one job at a
 * time. While the job runs it alone touches `records` and `results`; everything else is
 * the loop thread's. Invariant: each appended record gets exactly one `applied`, in the
 * order of append, after its batch was published.
 *
 * It must not know event loops, connections or how the store keeps things.
 */
#include "log/change_log.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/apply.h"

#define DEFAULT_RECORDS 65536
#define DEFAULT_BYTES ((size_t)64 << 20)
#define DEFAULT_BATCH 1024

struct entry
{
    struct entry *next;
    struct sb_record *record; /* owned */
    size_t bytes;             /* of record */
    uint64_t tag;
};

struct sb_change_log
{
    struct sb_change_log_options o;
    struct sb_applier *applier;
    struct entry *head, **tail; /* waiting, oldest first */
    size_t n_waiting, bytes_waiting;
    bool running;     /* a batch is being applied or its results are being told */
    bool broken;      /* a commit's outcome is unknown: nothing more goes to the store */
    int err;          /* of the batch, written by the job */
    uint64_t took_us; /* of the batch, written by the job */
    struct sb_change_log_stats stats;
    int told_err; /* what the operator's log last said */
    size_t n;     /* records in the batch */
    const struct sb_record **records;
    struct entry **entries;
    struct sb_result *results;
};

struct sb_change_log *
sb_change_log_create(const struct sb_change_log_options *o)
{
    struct sb_change_log *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    l->o = *o;
    if (l->o.max_records == 0)
        l->o.max_records = DEFAULT_RECORDS;
    if (l->o.max_bytes == 0)
        l->o.max_bytes = DEFAULT_BYTES;
    if (l->o.max_batch == 0)
        l->o.max_batch = DEFAULT_BATCH;
    l->tail = &l->head;
    l->applier = sb_applier_create();
    l->records = calloc(l->o.max_batch, sizeof(struct sb_record *));
    l->entries = calloc(l->o.max_batch, sizeof(struct entry *));
    l->results = calloc(l->o.max_batch, sizeof(*l->results));
    if (l->applier == NULL || l->records == NULL || l->entries == NULL || l->results == NULL)
    {
        sb_change_log_destroy(l);
        return NULL;
    }
    return l;
}

static void
free_entry(struct entry *e)
{
    free(e->record);
    free(e);
}

void
sb_change_log_destroy(struct sb_change_log *l)
{
    if (l == NULL)
        return;
    /* Only when idle: the queue is empty unless creation failed half-way. */
    while (l->head != NULL)
    {
        struct entry *e = l->head;
        l->head = e->next;
        free_entry(e);
    }
    sb_applier_destroy(l->applier);
    free(l->records);
    free(l->entries);
    free(l->results);
    free(l);
}

static int
append(struct sb_change_log *l, const struct sb_record *r, uint64_t tag)
{
    if (l->broken)
        return SB_ERR_OVERLOADED;
    if (l->n_waiting >= l->o.max_records || l->bytes_waiting >= l->o.max_bytes)
        return SB_ERR_OVERLOADED;
    struct entry *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return SB_ERR_OVERLOADED;
    e->record = sb_record_copy(r);
    if (e->record == NULL)
    {
        free(e);
        return SB_ERR_OVERLOADED;
    }
    e->bytes = malloc_usable_size(e->record);
    e->tag = tag;
    /* An empty queue takes any record, so that none can be refused for ever. */
    if (l->n_waiting != 0 && e->bytes > l->o.max_bytes - l->bytes_waiting)
    {
        free_entry(e);
        return SB_ERR_OVERLOADED;
    }
    *l->tail = e;
    l->tail = &e->next;
    l->n_waiting++;
    l->bytes_waiting += e->bytes;
    return 0;
}

int
sb_change_log_append(struct sb_change_log *l, const struct sb_record *r, uint64_t tag)
{
    int rc = append(l, r, tag);
    l->stats.refused += rc != 0;
    return rc;
}

static void
take_batch(struct sb_change_log *l)
{
    l->n = 0;
    while (l->head != NULL && l->n < l->o.max_batch)
    {
        struct entry *e = l->head;
        l->head = e->next;
        l->entries[l->n] = e;
        l->records[l->n] = e->record;
        l->results[l->n] = (struct sb_result){0};
        l->n++;
        l->n_waiting--;
        l->bytes_waiting -= e->bytes;
    }
    if (l->head == NULL)
        l->tail = &l->head;
}

/* On the job's thread. */
static void
run_batch(void *arg)
{
    struct sb_change_log *l = arg;
    uint64_t began = l->o.clock_us != NULL ? l->o.clock_us() : 0;
    l->err = sb_apply(l->applier, l->o.store, l->records, l->results, l->n);
    l->took_us = l->o.clock_us != NULL ? l->o.clock_us() - began : 0;
}

static void
tell_batch(struct sb_change_log *l)
{
    for (size_t i = 0; i < l->n; i++)
    {
        struct entry *e = l->entries[i];
        l->o.applied(l->o.ctx, e->tag, e->record, &l->results[i]);
        free_entry(e);
    }
    l->n = 0;
}

/* These never reached the store, so their outcome is known: not stored. */
static void
refuse_waiting(struct sb_change_log *l)
{
    l->broken = true;
    while (l->head != NULL)
    {
        take_batch(l);
        for (size_t i = 0; i < l->n; i++)
            l->results[i].err = SB_ERR_UNAVAILABLE;
        tell_batch(l);
    }
}

static void
count_batch(struct sb_change_log *l)
{
    static const uint64_t bounds[] = {
#define X(us, label) us,
        SB_COMMIT_BUCKETS(X)
#undef X
    };
    size_t i = 0;
    while (i < sizeof(bounds) / sizeof(bounds[0]) && l->took_us > bounds[i])
        i++;
    l->stats.batches++;
    l->stats.records += l->n;
    l->stats.failed_batches += l->err != 0;
    l->stats.commits[i]++;
    l->stats.commit_us += l->took_us;
}

void
sb_change_log_stats(const struct sb_change_log *l, struct sb_change_log_stats *out)
{
    *out = l->stats;
    out->waiting = l->n_waiting;
    out->waiting_bytes = l->bytes_waiting;
}

/* On the loop thread. `running` stays set until all results are told: a callback may append
 * and flush, and must not start a batch over the arrays that are being read. */
static void
batch_done(void *arg)
{
    struct sb_change_log *l = arg;
    int err = l->err;
    count_batch(l);
    if (err == 0)
        l->o.store->ops->publish(l->o.store);
    /* A full disk fails every batch: the state is told, not each batch. */
    if (err != 0 && err != l->told_err)
        sb_log(SB_LOG_ERROR, "log", "changes are not being stored: %s", sb_error_name(err));
    else if (err == 0 && l->told_err != 0)
        sb_log(SB_LOG_INFO, "log", "changes are being stored again");
    l->told_err = err;
    tell_batch(l);
    if (err == SB_ERR_UNKNOWN_OUTCOME)
    {
        refuse_waiting(l);
        l->running = false;
        if (l->o.fatal != NULL)
            l->o.fatal(l->o.ctx, err);
        return;
    }
    l->running = false;
    sb_change_log_flush(l);
}

void
sb_change_log_flush(struct sb_change_log *l)
{
    if (l->running || l->head == NULL)
        return;
    l->running = true;
    take_batch(l);
    int err = l->o.run_job(l->o.ctx, run_batch, batch_done, l);
    if (err == 0)
        return;
    /* No thread took the job: nothing was stored, which each caller is told. */
    for (size_t i = 0; i < l->n; i++)
        l->results[i].err = err;
    l->err = err;
    l->took_us = 0;
    batch_done(l);
}

bool
sb_change_log_idle(const struct sb_change_log *l)
{
    return !l->running && l->head == NULL;
}

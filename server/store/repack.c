/*
 * repack.c - rewrites a store's file in key order, with full leaves.
 *
 * Rows that came in time order over many threads leave leaves half full and a thread's rows
 * scattered; appended in key order they take about half the space and a page's rows lie
 * together. The old file is whole until the new one, synced, takes its name. Memory is
 * bounded by the bytes of one transaction.
 */
#include <stdio.h>
#include <unistd.h>

#include "store/directory.h"
#include "store/inner.h"
#include "store/kv_lmdb.h"

#define NEW_FILE "data.mdb.new"
#define TXN_BYTES (UINT64_C(16) << 20)
#define PROGRESS_EVERY 65536

struct repack
{
    struct sb_kv_txn *from; /* one read of the old store */
    struct sb_kv *to;
    struct sb_kv_txn *write; /* NULL: none open */
    uint64_t bytes;          /* in it */
    uint64_t done, total;    /* entries */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
};

static int
end_txn(struct repack *r)
{
    if (r->write == NULL)
        return 0;
    struct sb_kv_txn *t = r->write;
    r->write = NULL;
    r->bytes = 0;
    return r->to->ops->commit(t);
}

static int
append(struct repack *r, enum sb_table table, struct sb_bytes key, struct sb_bytes value)
{
    int rc = 0;
    if (r->write == NULL)
        rc = r->to->ops->begin(r->to, true, &r->write);
    if (rc != 0)
        return rc;
    rc = sb_kv_lmdb_append(r->write, table, key, value);
    if (rc != 0)
        return rc;
    r->bytes += key.len + value.len;
    if (++r->done % PROGRESS_EVERY == 0 && r->progress != NULL)
        r->progress(r->ctx, r->done, r->total);
    return r->bytes < TXN_BYTES ? 0 : end_txn(r);
}

static int
copy_table(struct repack *r, enum sb_table table)
{
    struct sb_kv_cursor *c;
    struct sb_bytes key = {0}, value;
    int rc = sb_kv_cursor(r->from, table, &c);
    if (rc == 0)
        rc = sb_kv_move(c, SB_KV_FIRST, &key, &value);
    while (rc == 0)
    {
        rc = append(r, table, key, value);
        if (rc == 0)
            rc = sb_kv_move(c, SB_KV_NEXT, &key, &value);
    }
    return rc == SB_ERR_NOT_FOUND ? 0 : rc;
}

/* The new file must have as many entries in each table as the old one. */
static int
compare_counts(struct repack *r)
{
    struct sb_kv_txn *t;
    int rc = r->to->ops->begin(r->to, false, &t);
    if (rc != 0)
        return rc;
    for (int i = 0; i < SB_TABLE_COUNT && rc == 0; i++)
    {
        uint64_t old = 0, new = 0;
        rc = r->from->kv->ops->count(r->from, (enum sb_table)i, &old);
        if (rc == 0)
            rc = r->to->ops->count(t, (enum sb_table)i, &new);
        if (rc == 0 && old != new)
            rc = SB_ERR_CORRUPT;
    }
    r->to->ops->end(t);
    return rc;
}

static int
copy_all(struct repack *r)
{
    int rc = 0;
    for (int i = 0; i < SB_TABLE_COUNT && rc == 0; i++)
    {
        uint64_t n = 0;
        rc = r->from->kv->ops->count(r->from, (enum sb_table)i, &n);
        r->total += n;
    }
    for (int i = 0; i < SB_TABLE_COUNT && rc == 0; i++)
        rc = copy_table(r, (enum sb_table)i);
    if (rc == 0)
        rc = end_txn(r);
    if (r->write != NULL)
        r->to->ops->end(r->write);
    if (rc == 0)
        rc = compare_counts(r);
    if (rc == 0)
        rc = r->to->ops->sync(r->to);
    if (rc == 0 && r->progress != NULL)
        r->progress(r->ctx, r->total, r->total);
    return rc;
}

/* Copies from an open store into a new file. */
static int
copy_store(struct sb_store *store, const char *dir, uint64_t map_size, struct repack *r, char *why)
{
    const struct sb_kv_lmdb_options k = {
        .dir = dir, .file = NEW_FILE, .map_size = map_size, .no_sync = true, .lock_fd = -1};
    struct sb_store_inner *s = (struct sb_store_inner *)store;
    sb_directory_remove(dir, NEW_FILE);
    int rc = sb_kv_lmdb_open(&k, &r->to, why);
    if (rc != 0)
        return rc;
    rc = s->kv->ops->begin(s->kv, false, &r->from);
    if (rc == 0)
    {
        rc = copy_all(r);
        s->kv->ops->end(r->from);
    }
    r->to->ops->close(r->to);
    if (rc != 0)
        snprintf(why, 512, "%.256s cannot be rewritten: %s; the old file is as it was", dir,
                 sb_error_text(rc));
    return rc;
}

static int
repack_locked(const char *dir, uint64_t map_size, struct repack *r, struct sb_store_failure *why)
{
    bool exists;
    struct sb_kv *kv;
    struct sb_store *store;
    struct sb_store_failure inner = {""};
    const struct sb_store_options o = {.dir = dir, .mode = SB_STORE_READ};
    const struct sb_kv_lmdb_options k = {
        .dir = dir, .file = "data.mdb", .map_size = map_size, .read_only = true, .lock_fd = -1};
    int rc = sb_directory_look(dir, &exists, why->text);
    if (rc == 0 && !exists)
    {
        snprintf(why->text, sizeof(why->text), "%.256s holds no store", dir);
        rc = SB_ERR_FOREIGN;
    }
    if (rc == 0)
        rc = sb_kv_lmdb_open(&k, &kv, why->text);
    if (rc != 0)
        return rc;
    rc = sb_store_start(kv, &o, UINT64_MAX, &store, &inner);
    if (rc != 0)
    {
        snprintf(why->text, sizeof(why->text), "%.200s: %.300s", dir, inner.text);
        return rc;
    }
    rc = copy_store(store, dir, map_size, r, why->text);
    sb_store_close(store);
    if (rc != 0)
    {
        sb_directory_remove(dir, NEW_FILE);
        return rc;
    }
    rc = sb_directory_replace(dir, NEW_FILE, "data.mdb", why->text);
    if (rc != 0)
        return rc;
    /* Its table of readers speaks of the old file. */
    sb_directory_remove(dir, "lock.mdb");
    return sb_directory_unmark_unfinished(dir, why->text);
}

int
sb_store_repack(const char *dir, uint64_t map_size,
                void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
                struct sb_store_failure *why)
{
    struct repack r = {.progress = progress, .ctx = ctx};
    int lock_fd;
    bool exists;
    why->text[0] = '\0';
    int rc = sb_directory_look(dir, &exists, why->text);
    if (rc == 0)
        rc = sb_directory_lock(dir, &lock_fd, why->text);
    if (rc == 0)
    {
        rc = repack_locked(dir, map_size, &r, why);
        close(lock_fd);
    }
    if (rc != 0 && why->text[0] == '\0')
        snprintf(why->text, sizeof(why->text), "%.256s: %s", dir, sb_error_text(rc));
    return rc;
}

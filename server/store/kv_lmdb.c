/*
 * kv_lmdb.c - the ordered map in an LMDB file.
 *
 * It must not know what a key means. MDB_ codes end here. The one read transaction and its
 * cursors are made once and renewed, so that reading a page allocates nothing; a write
 * transaction's cursors die with it.
 */
#include "store/kv_lmdb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <lmdb.h>

#include "base/error.h"
#include "store/directory.h"

#define MAP_SIZE_WANTED (UINT64_C(1) << 40)
#define MAP_SIZE_MODEST (UINT64_C(1) << 34) /* what a checker of memory leaves us */
#define MAX_READERS 64

struct lmdb_cursor
{
    struct sb_kv_cursor head;
    MDB_cursor *cursor; /* NULL: not opened */
    bool fresh;         /* renewed in this transaction */
};

struct lmdb_txn
{
    struct sb_kv_txn head;
    MDB_txn *txn; /* NULL: none; a reader's is kept, reset */
    bool open, write;
    struct lmdb_cursor cursors[SB_TABLE_COUNT];
};

struct lmdb
{
    struct sb_kv head;
    MDB_env *env;
    MDB_dbi tables[SB_TABLE_COUNT];
    uint64_t map_size;
    int lock_fd;
    char *dir;  /* where the reserve is; NULL: none is kept */
    bool spent; /* the disk was full and the reserve given up */
    struct lmdb_txn reader, writer;
};

static int
error_of(int rc)
{
    switch (rc)
    {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return SB_ERR_NOT_FOUND;
    case MDB_KEYEXIST:
        return SB_ERR_EXISTS;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
        return SB_ERR_FULL;
    case ENOMEM:
        return SB_ERR_NO_MEMORY;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return SB_ERR_CORRUPT;
    case MDB_BAD_TXN:
    case MDB_BAD_VALSIZE:
    case EINVAL:
        return SB_ERR_INTERNAL;
    default:
        return SB_ERR_IO;
    }
}

bool
sb_kv_lmdb_version_ok(int major, int minor, int patch)
{
    return major == 0 && minor == 9 && patch >= 24 && (patch < 26 || patch > 31);
}

int
sb_kv_lmdb_commit_error(int rc, bool no_space, bool usable)
{
    if (usable && (rc == MDB_MAP_FULL || rc == MDB_TXN_FULL || rc == ENOMEM || rc == MDB_BAD_TXN))
        return error_of(rc);
    if (usable && no_space && (rc == EIO || rc == ENOSPC || rc == EDQUOT))
        return SB_ERR_FULL;
    return SB_ERR_UNKNOWN_OUTCOME;
}

static int
lmdb_begin(struct sb_kv *kv, bool write, struct sb_kv_txn **out)
{
    struct lmdb *l = (struct lmdb *)kv;
    struct lmdb_txn *t = write ? &l->writer : &l->reader;
    if (t->open)
        return SB_ERR_INTERNAL;
    int rc;
    if (!write && t->txn != NULL)
        rc = mdb_txn_renew(t->txn);
    else
        rc = mdb_txn_begin(l->env, NULL, write ? 0 : MDB_RDONLY, &t->txn);
    if (rc != 0)
        return rc == MDB_PANIC ? SB_ERR_UNKNOWN_OUTCOME : error_of(rc);
    for (int i = 0; i < SB_TABLE_COUNT; i++)
        t->cursors[i].fresh = false;
    t->open = true;
    *out = &t->head;
    return 0;
}

/* LMDB has closed the cursors of a write transaction. */
static void
write_ended(struct lmdb_txn *t)
{
    for (int i = 0; i < SB_TABLE_COUNT; i++)
        t->cursors[i].cursor = NULL;
    t->txn = NULL;
    t->open = false;
}

static void
lmdb_end(struct sb_kv_txn *txn)
{
    struct lmdb_txn *t = (struct lmdb_txn *)txn;
    if (t->write)
    {
        mdb_txn_abort(t->txn);
        write_ended(t);
        return;
    }
    mdb_txn_reset(t->txn);
    t->open = false;
}

/* What the disk has left for us; all of the world when it does not tell. */
static uint64_t
disk_space(MDB_env *env)
{
    int fd;
    struct statvfs v;
    if (mdb_env_get_fd(env, &fd) != 0 || fstatvfs(fd, &v) != 0)
        return UINT64_MAX;
    return (uint64_t)v.f_bavail * v.f_frsize;
}

/* Space comes back only with the reserve: and as much again, so that it is not at once gone. */
static bool
lmdb_roomy(struct sb_kv *kv)
{
    struct lmdb *l = (struct lmdb *)kv;
    if (l->spent && disk_space(l->env) >= 2 * SB_RESERVE_BYTES && sb_directory_reserve(l->dir))
        l->spent = false;
    return !l->spent;
}

static int
lmdb_commit(struct sb_kv_txn *txn)
{
    struct lmdb_txn *t = (struct lmdb_txn *)txn;
    struct lmdb *l = (struct lmdb *)txn->kv;
    int rc = mdb_txn_commit(t->txn);
    write_ended(t);
    if (rc == 0)
        return 0;
    bool no_space = disk_space(l->env) == 0;
    MDB_txn *probe;
    bool usable = mdb_txn_begin(l->env, NULL, 0, &probe) == 0;
    if (usable)
        mdb_txn_abort(probe);
    if (no_space && l->dir != NULL)
    {
        sb_directory_remove(l->dir, "reserve");
        l->spent = true;
    }
    return sb_kv_lmdb_commit_error(rc, no_space, usable);
}

static MDB_val
val_of(struct sb_bytes b)
{
    return (MDB_val){.mv_size = b.len, .mv_data = (void *)b.data};
}

static int
lmdb_get(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key, struct sb_bytes *value)
{
    MDB_val k = val_of(key), v;
    int rc =
        mdb_get(((struct lmdb_txn *)txn)->txn, ((struct lmdb *)txn->kv)->tables[table], &k, &v);
    if (rc != 0)
        return error_of(rc);
    *value = sb_bytes(v.mv_data, v.mv_size);
    return 0;
}

static int
lmdb_put(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key, size_t len,
         unsigned flags, uint8_t **place)
{
    MDB_val k = val_of(key), v = {.mv_size = len};
    unsigned how = MDB_RESERVE | ((flags & SB_KV_NEW) != 0 ? MDB_NOOVERWRITE : 0);
    int rc = mdb_put(((struct lmdb_txn *)txn)->txn, ((struct lmdb *)txn->kv)->tables[table], &k, &v,
                     how);
    if (rc != 0)
        return error_of(rc);
    *place = v.mv_data;
    return 0;
}

int
sb_kv_lmdb_append(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key,
                  struct sb_bytes value)
{
    struct sb_kv_cursor *c;
    int rc = txn->kv->ops->cursor(txn, table, &c);
    if (rc != 0)
        return rc;
    MDB_val k = val_of(key), v = val_of(value);
    return error_of(mdb_cursor_put(((struct lmdb_cursor *)c)->cursor, &k, &v, MDB_APPEND));
}

static int
lmdb_del(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key)
{
    MDB_val k = val_of(key);
    return error_of(
        mdb_del(((struct lmdb_txn *)txn)->txn, ((struct lmdb *)txn->kv)->tables[table], &k, NULL));
}

static int
lmdb_cursor(struct sb_kv_txn *txn, enum sb_table table, struct sb_kv_cursor **out)
{
    struct lmdb_txn *t = (struct lmdb_txn *)txn;
    struct lmdb_cursor *c = &t->cursors[table];
    int rc = 0;
    if (c->cursor == NULL)
        rc = mdb_cursor_open(t->txn, ((struct lmdb *)txn->kv)->tables[table], &c->cursor);
    else if (!c->fresh && !t->write)
        rc = mdb_cursor_renew(t->txn, c->cursor);
    if (rc != 0)
        return error_of(rc);
    c->fresh = true;
    *out = &c->head;
    return 0;
}

static int
lmdb_move(struct sb_kv_cursor *cursor, enum sb_kv_move move, struct sb_bytes *key,
          struct sb_bytes *value)
{
    static const MDB_cursor_op ops[] = {
        [SB_KV_SEEK] = MDB_SET_RANGE, [SB_KV_NEXT] = MDB_NEXT, [SB_KV_PREV] = MDB_PREV,
        [SB_KV_FIRST] = MDB_FIRST,    [SB_KV_LAST] = MDB_LAST,
    };
    MDB_val k = val_of(*key), v;
    int rc = mdb_cursor_get(((struct lmdb_cursor *)cursor)->cursor, &k, &v, ops[move]);
    if (rc != 0)
        return error_of(rc);
    *key = sb_bytes(k.mv_data, k.mv_size);
    *value = sb_bytes(v.mv_data, v.mv_size);
    return 0;
}

static int
lmdb_count(struct sb_kv_txn *txn, enum sb_table table, uint64_t *out)
{
    MDB_stat st;
    int rc = mdb_stat(((struct lmdb_txn *)txn)->txn, ((struct lmdb *)txn->kv)->tables[table], &st);
    if (rc != 0)
        return error_of(rc);
    *out = st.ms_entries;
    return 0;
}

static uint64_t
lmdb_usage_bound(struct sb_kv *kv)
{
    MDB_envinfo info;
    MDB_stat st;
    mdb_env_info(((struct lmdb *)kv)->env, &info);
    mdb_env_stat(((struct lmdb *)kv)->env, &st);
    return (info.me_last_pgno + 1) * st.ms_psize;
}

/* The free list is LMDB's table 0: transaction id → count and page numbers. Only a read
 * transaction may look at it. */
static int
lmdb_usage(struct sb_kv *kv, uint64_t *out)
{
    struct lmdb *l = (struct lmdb *)kv;
    MDB_txn *txn;
    MDB_cursor *c;
    MDB_val k, v;
    MDB_stat st;
    uint64_t pages = 0, all = lmdb_usage_bound(kv);
    int rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn);
    if (rc != 0)
        return error_of(rc);
    rc = mdb_cursor_open(txn, 0, &c);
    if (rc == 0)
    {
        while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0)
        {
            size_t n;
            memcpy(&n, v.mv_data, sizeof(n));
            pages += n;
        }
        mdb_cursor_close(c);
    }
    mdb_txn_abort(txn);
    if (rc != MDB_NOTFOUND)
        return error_of(rc);
    mdb_env_stat(l->env, &st);
    pages *= st.ms_psize;
    *out = pages < all ? all - pages : all;
    return 0;
}

static int
lmdb_sync(struct sb_kv *kv)
{
    return error_of(mdb_env_sync(((struct lmdb *)kv)->env, 1));
}

static void
lmdb_close(struct sb_kv *kv)
{
    struct lmdb *l = (struct lmdb *)kv;
    for (int i = 0; i < SB_TABLE_COUNT; i++)
        if (l->reader.cursors[i].cursor != NULL)
            mdb_cursor_close(l->reader.cursors[i].cursor);
    if (l->reader.txn != NULL)
        mdb_txn_abort(l->reader.txn);
    mdb_env_close(l->env);
    if (l->lock_fd >= 0)
        close(l->lock_fd);
    free(l->dir);
    free(l);
}

static const struct sb_kv_ops lmdb_ops = {
    .begin = lmdb_begin,
    .commit = lmdb_commit,
    .end = lmdb_end,
    .get = lmdb_get,
    .put = lmdb_put,
    .del = lmdb_del,
    .cursor = lmdb_cursor,
    .move = lmdb_move,
    .count = lmdb_count,
    .usage = lmdb_usage,
    .usage_bound = lmdb_usage_bound,
    .roomy = lmdb_roomy,
    .sync = lmdb_sync,
    .close = lmdb_close,
};

uint64_t
sb_kv_lmdb_map_size(const struct sb_kv *kv)
{
    return ((const struct lmdb *)kv)->map_size;
}

static int
env_open(const struct sb_kv_lmdb_options *o, uint64_t map_size, MDB_env **out)
{
    MDB_env *env;
    int rc = mdb_env_create(&env);
    if (rc != 0)
        return rc;
    char path[4096];
    bool building = strcmp(o->file, "data.mdb") != 0;
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD | (o->read_only ? MDB_RDONLY : 0) |
                     (o->no_sync ? MDB_NOSYNC : 0) | (building ? MDB_NOSUBDIR | MDB_NOLOCK : 0);
    if (building)
        snprintf(path, sizeof(path), "%s/%s", o->dir, o->file);
    else
        snprintf(path, sizeof(path), "%s", o->dir);
    mdb_env_set_maxdbs(env, SB_TABLE_COUNT + 1);
    mdb_env_set_maxreaders(env, MAX_READERS);
    rc = mdb_env_set_mapsize(env, map_size);
    if (rc == 0)
        rc = mdb_env_open(env, path, flags, 0600);
    if (rc != 0)
    {
        mdb_env_close(env);
        return rc;
    }
    *out = env;
    return 0;
}

/* Opens the tables. An environment with none gets them; one with others is not ours. */
static int
tables_open(struct lmdb *l, bool read_only)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(l->env, NULL, read_only ? MDB_RDONLY : 0, &txn);
    if (rc != 0)
        return rc;
    MDB_dbi main_table;
    MDB_stat st;
    rc = mdb_dbi_open(txn, NULL, 0, &main_table);
    if (rc == 0)
        rc = mdb_stat(txn, main_table, &st);
    unsigned flags = rc == 0 && st.ms_entries == 0 && !read_only ? MDB_CREATE : 0;
    for (int i = 0; rc == 0 && i < SB_TABLE_COUNT; i++)
        rc = mdb_dbi_open(txn, sb_table_names[i], flags, &l->tables[i]);
    if (rc == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

/* Every page that the newest meta page speaks of must be in the file. */
static int
check_length(MDB_env *env, const char *dir, char *why)
{
    int fd;
    struct stat st;
    MDB_envinfo info;
    MDB_stat pages;
    if (mdb_env_get_fd(env, &fd) != 0 || fstat(fd, &st) != 0 || mdb_env_info(env, &info) != 0 ||
        mdb_env_stat(env, &pages) != 0)
        return SB_ERR_IO;
    uint64_t need = (info.me_last_pgno + 1) * pages.ms_psize;
    if ((uint64_t)st.st_size >= need)
        return 0;
    snprintf(why, 512, "%.256s/data.mdb is truncated: it has %llu bytes and should have %llu", dir,
             (unsigned long long)st.st_size, (unsigned long long)need);
    return SB_ERR_FOREIGN;
}

static int
explain(int rc, const char *dir, char *why)
{
    switch (rc)
    {
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
        snprintf(why, 512, "%.256s/data.mdb is not an LMDB file", dir);
        return SB_ERR_FOREIGN;
    case MDB_NOTFOUND:
    case MDB_INCOMPATIBLE:
        snprintf(why, 512, "%.256s/data.mdb is an LMDB file of another program", dir);
        return SB_ERR_FOREIGN;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        snprintf(why, 512, "%.256s/data.mdb is damaged in its first tables", dir);
        return SB_ERR_FOREIGN;
    default:
        snprintf(why, 512, "%.256s/data.mdb cannot be opened: %s", dir, mdb_strerror(rc));
        return error_of(rc);
    }
}

static int
env_finish_open(struct lmdb *l, const struct sb_kv_lmdb_options *o, char *why)
{
    int fd;
    if (mdb_env_get_fd(l->env, &fd) == 0)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    int rc = check_length(l->env, o->dir, why);
    if (rc != 0)
        return rc;
    int dead;
    mdb_reader_check(l->env, &dead);
    rc = tables_open(l, o->read_only);
    return rc == 0 ? 0 : explain(rc, o->dir, why);
}

int
sb_kv_lmdb_open(const struct sb_kv_lmdb_options *o, struct sb_kv **out, char *why)
{
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    if (!sb_kv_lmdb_version_ok(major, minor, patch))
    {
        snprintf(why, 512,
                 "LMDB %d.%d.%d cannot be used: 0.9.26 to 0.9.31 have a race between readers and "
                 "writers; 0.9.24, 0.9.25, 0.9.32 and later 0.9 are fine",
                 major, minor, patch);
        return SB_ERR_FOREIGN;
    }
    struct lmdb *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return SB_ERR_NO_MEMORY;
    l->head.ops = &lmdb_ops;
    l->lock_fd = -1;
    l->reader.head.kv = l->writer.head.kv = &l->head;
    l->writer.write = true;
    for (int i = 0; i < SB_TABLE_COUNT; i++)
    {
        l->reader.cursors[i].head.txn = &l->reader.head;
        l->writer.cursors[i].head.txn = &l->writer.head;
    }
    l->map_size = o->map_size != 0 ? o->map_size : MAP_SIZE_WANTED;
    int rc = env_open(o, l->map_size, &l->env);
    if (o->map_size == 0 && (rc == ENOMEM || rc == EINVAL))
    {
        l->map_size = MAP_SIZE_MODEST;
        rc = env_open(o, l->map_size, &l->env);
    }
    if (rc != 0)
    {
        free(l);
        return explain(rc, o->dir, why);
    }
    rc = env_finish_open(l, o, why);
    if (rc != 0)
    {
        lmdb_close(&l->head);
        return rc;
    }
    l->lock_fd = o->lock_fd;
    /* Without memory for it the store has no reserve; without space it has none yet. */
    if (!o->read_only && !o->no_sync && strcmp(o->file, "data.mdb") == 0 &&
        (l->dir = strdup(o->dir)) != NULL)
        (void)sb_directory_reserve(l->dir);
    *out = &l->head;
    return 0;
}

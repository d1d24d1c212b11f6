/*
 * open.c - opens the store of a directory: lock first, then look, then open.
 *
 * It must not know what is in the tables.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "store/directory.h"
#include "store/inner.h"
#include "store/kv_lmdb.h"

/* Refuses what is not whole or not ours, before anything is opened. */
static int
look(const struct sb_store_options *o, char *why)
{
    bool exists;
    int rc = sb_directory_look(o->dir, &exists, why);
    if (rc != 0)
        return rc;
    if (sb_directory_unfinished(o->dir))
    {
        snprintf(why, 512,
                 "%.256s holds an import that was not finished: remove the directory and import "
                 "again",
                 o->dir);
        return SB_ERR_FOREIGN;
    }
    if (o->mode == SB_STORE_READ && !exists)
    {
        snprintf(why, 512, "%.256s holds no store", o->dir);
        return SB_ERR_FOREIGN;
    }
    if (o->mode == SB_STORE_BULK && exists)
    {
        snprintf(why, 512, "%.256s holds a store already: a bulk load needs a new directory",
                 o->dir);
        return SB_ERR_FOREIGN;
    }
    if (o->mode == SB_STORE_BULK)
        return sb_directory_mark_unfinished(o->dir, why);
    if (o->mode == SB_STORE_SERVE)
        sb_directory_remove(o->dir, "data.mdb.new"); /* of a repack that was cut off */
    return 0;
}

/* The lock goes over to the map, or is closed. */
static int
open_locked(const struct sb_store_options *o, int lock_fd, struct sb_store **out,
            struct sb_store_failure *why)
{
    const struct sb_kv_lmdb_options k = {
        .dir = o->dir,
        .file = "data.mdb",
        .map_size = o->map_size,
        .read_only = o->mode == SB_STORE_READ,
        .no_sync = o->mode == SB_STORE_BULK,
        .lock_fd = lock_fd,
    };
    struct sb_kv *kv;
    int rc = look(o, why->text);
    if (rc == 0)
        rc = sb_kv_lmdb_open(&k, &kv, why->text);
    if (rc != 0)
    {
        close(lock_fd);
        return rc;
    }
    struct sb_store_failure inner = {""};
    uint64_t quota = o->quota != 0 ? o->quota : sb_kv_lmdb_map_size(kv) / 8 * 7;
    rc = sb_store_start(kv, o, quota, out, &inner);
    if (rc != 0)
        snprintf(why->text, sizeof(why->text), "%.200s: %.300s", o->dir, inner.text);
    return rc;
}

int
sb_store_open(const struct sb_store_options *o, struct sb_store **out, struct sb_store_failure *why)
{
    int lock_fd = -1, rc;
    why->text[0] = '\0';
    if (o->mode == SB_STORE_READ)
        rc = look(o, why->text); /* a directory that is not ours does not even get a lock file */
    else
        rc = sb_directory_make(o->dir, why->text);
    if (rc == 0)
        rc = sb_directory_lock(o->dir, &lock_fd, why->text);
    if (rc == 0)
        rc = open_locked(o, lock_fd, out, why);
    if (rc != 0 && why->text[0] == '\0')
        snprintf(why->text, sizeof(why->text), "%.256s: %s", o->dir, sb_error_text(rc));
    return rc;
}

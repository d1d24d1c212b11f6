/* kv_fault.c - see kv_fault.h. */
#include "kv_fault.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

struct fault_cursor
{
    struct sb_kv_cursor head;
    struct sb_kv_cursor *inner;
};

struct fault_txn
{
    struct sb_kv_txn head;
    struct sb_kv_txn *inner;
    bool write;
    struct fault_cursor cursors[SB_TABLE_COUNT];
};

struct kv_fault
{
    struct sb_kv head;
    struct sb_kv *inner;
    bool keep, hit, writes_only;
    uint64_t left; /* calls until one fails; 0: none will */
    int code;
    atomic_int open; /* a reader and a writer may be on two threads */
    struct fault_txn txns[2];
};

static int
fault(struct sb_kv *kv, bool write)
{
    struct kv_fault *f = (struct kv_fault *)kv;
    if (f->left == 0 || (f->writes_only && !write) || --f->left != 0)
        return 0;
    f->hit = true;
    return f->code;
}

static struct sb_kv_txn *
inner_txn(struct sb_kv_txn *t)
{
    return ((struct fault_txn *)t)->inner;
}

static int
fault_begin(struct sb_kv *kv, bool write, struct sb_kv_txn **out)
{
    struct kv_fault *f = (struct kv_fault *)kv;
    struct fault_txn *t = &f->txns[write];
    int rc = fault(kv, false);
    if (rc == 0)
        rc = f->inner->ops->begin(f->inner, write, &t->inner);
    if (rc != 0)
        return rc;
    t->head.kv = kv;
    t->write = write;
    f->open++;
    *out = &t->head;
    return 0;
}

static void
fault_end(struct sb_kv_txn *t)
{
    ((struct kv_fault *)t->kv)->open--;
    inner_txn(t)->kv->ops->end(inner_txn(t));
}

static int
fault_commit(struct sb_kv_txn *t)
{
    int rc = fault(t->kv, true);
    if (rc != 0)
    {
        fault_end(t);
        return rc;
    }
    ((struct kv_fault *)t->kv)->open--;
    return inner_txn(t)->kv->ops->commit(inner_txn(t));
}

static int
fault_get(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key, struct sb_bytes *value)
{
    int rc = fault(t->kv, false);
    return rc != 0 ? rc : inner_txn(t)->kv->ops->get(inner_txn(t), table, key, value);
}

static int
fault_put(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key, size_t len, unsigned flags,
          uint8_t **place)
{
    int rc = fault(t->kv, true);
    return rc != 0 ? rc : inner_txn(t)->kv->ops->put(inner_txn(t), table, key, len, flags, place);
}

static int
fault_del(struct sb_kv_txn *t, enum sb_table table, struct sb_bytes key)
{
    int rc = fault(t->kv, false);
    return rc != 0 ? rc : inner_txn(t)->kv->ops->del(inner_txn(t), table, key);
}

static int
fault_cursor(struct sb_kv_txn *txn, enum sb_table table, struct sb_kv_cursor **out)
{
    struct fault_txn *t = (struct fault_txn *)txn;
    struct fault_cursor *c = &t->cursors[table];
    int rc = fault(txn->kv, false);
    if (rc == 0)
        rc = t->inner->kv->ops->cursor(t->inner, table, &c->inner);
    if (rc != 0)
        return rc;
    c->head.txn = txn;
    *out = &c->head;
    return 0;
}

static int
fault_move(struct sb_kv_cursor *cursor, enum sb_kv_move move, struct sb_bytes *key,
           struct sb_bytes *value)
{
    struct sb_kv_cursor *inner = ((struct fault_cursor *)cursor)->inner;
    int rc = fault(cursor->txn->kv, false);
    return rc != 0 ? rc : inner->txn->kv->ops->move(inner, move, key, value);
}

static int
fault_count(struct sb_kv_txn *t, enum sb_table table, uint64_t *out)
{
    return inner_txn(t)->kv->ops->count(inner_txn(t), table, out);
}

static int
fault_usage(struct sb_kv *kv, uint64_t *out)
{
    struct sb_kv *inner = ((struct kv_fault *)kv)->inner;
    return inner->ops->usage(inner, out);
}

static uint64_t
fault_usage_bound(struct sb_kv *kv)
{
    struct sb_kv *inner = ((struct kv_fault *)kv)->inner;
    return inner->ops->usage_bound(inner);
}

static bool
fault_roomy(struct sb_kv *kv)
{
    struct sb_kv *inner = ((struct kv_fault *)kv)->inner;
    return inner->ops->roomy(inner);
}

static int
fault_sync(struct sb_kv *kv)
{
    struct sb_kv *inner = ((struct kv_fault *)kv)->inner;
    return inner->ops->sync(inner);
}

static void
fault_close(struct sb_kv *kv)
{
    struct kv_fault *f = (struct kv_fault *)kv;
    if (f->keep)
        return;
    f->inner->ops->close(f->inner);
    free(f);
}

static const struct sb_kv_ops fault_ops = {
    .begin = fault_begin,
    .commit = fault_commit,
    .end = fault_end,
    .get = fault_get,
    .put = fault_put,
    .del = fault_del,
    .cursor = fault_cursor,
    .move = fault_move,
    .count = fault_count,
    .usage = fault_usage,
    .usage_bound = fault_usage_bound,
    .roomy = fault_roomy,
    .sync = fault_sync,
    .close = fault_close,
};

struct kv_fault *
kv_fault_create(struct sb_kv *inner, bool keep)
{
    struct kv_fault *f = calloc(1, sizeof(*f));
    f->head.ops = &fault_ops;
    f->inner = inner;
    f->keep = keep;
    return f;
}

struct sb_kv *
kv_fault_kv(struct kv_fault *f)
{
    return &f->head;
}

void
kv_fault_destroy(struct kv_fault *f)
{
    f->inner->ops->close(f->inner);
    free(f);
}

void
kv_fault_arm(struct kv_fault *f, uint64_t n, int code)
{
    f->left = n;
    f->code = code;
    f->hit = f->writes_only = false;
}

void
kv_fault_arm_writes(struct kv_fault *f, uint64_t n, int code)
{
    kv_fault_arm(f, n, code);
    f->writes_only = true;
}

bool
kv_fault_hit(const struct kv_fault *f)
{
    return f->hit;
}

int
kv_fault_open(const struct kv_fault *f)
{
    return f->open;
}

/*
 * kv_mem.c - the ordered map in memory: tests and simulation run the store's code on it.
 *
 * Each table is a treap whose nodes are never changed while two trees share them: a writer
 * copies the path that it changes. So a reader's tree stays as it was, an undone write just
 * drops its root, and a commit is a swap of roots. A node's priority is a hash of its key:
 * the same content always has the same shape.
 *
 * It must not know what a key means.
 */
#include "store/kv.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

struct item
{
    _Atomic uint32_t refs;
    uint32_t key_len;
    size_t value_len;
    uint8_t b[]; /* key, value */
};

struct node
{
    _Atomic uint32_t refs;
    uint32_t priority;
    struct node *left, *right;
    struct item *item;
};

struct tree
{
    struct node *root;
    uint64_t count;
};

struct mem_cursor
{
    struct sb_kv_cursor head;
    enum sb_table table;
    bool placed;
    struct sb_key key; /* of the entry it stands on */
};

struct mem_txn
{
    struct sb_kv_txn head;
    bool open, write;
    struct tree tables[SB_TABLE_COUNT];
    uint64_t bytes;
    struct mem_cursor cursors[SB_TABLE_COUNT];
};

struct mem
{
    struct sb_kv head;
    pthread_mutex_t lock; /* of the committed roots */
    struct tree tables[SB_TABLE_COUNT];
    uint64_t bytes;
    struct mem_txn reader, writer;
};

static struct sb_bytes
item_key(const struct item *i)
{
    return sb_bytes(i->b, i->key_len);
}

static void
item_release(struct item *i)
{
    if (atomic_fetch_sub_explicit(&i->refs, 1, memory_order_acq_rel) == 1)
        free(i);
}

static struct node *
node_retain(struct node *n)
{
    if (n != NULL)
        atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

static void
node_release(struct node *n)
{
    if (n == NULL || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1)
        return;
    node_release(n->left);
    node_release(n->right);
    item_release(n->item);
    free(n);
}

/* Makes the node in a slot ours alone, so that it can be changed in place. */
static int
node_own(struct node **slot)
{
    struct node *n = *slot;
    if (atomic_load_explicit(&n->refs, memory_order_acquire) == 1)
        return 0;
    struct node *copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return SB_ERR_NO_MEMORY;
    atomic_init(&copy->refs, 1);
    copy->priority = n->priority;
    copy->left = node_retain(n->left);
    copy->right = node_retain(n->right);
    copy->item = n->item;
    atomic_fetch_add_explicit(&n->item->refs, 1, memory_order_relaxed);
    node_release(n);
    *slot = copy;
    return 0;
}

static uint32_t
key_priority(struct sb_bytes key)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.len; i++)
        h = (h ^ key.data[i]) * UINT64_C(1099511628211);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32);
}

/* Moves the left (or right) child of an owned node up; the child is owned too. */
static void
rotate(struct node **slot, bool left_up)
{
    struct node *n = *slot, *c = left_up ? n->left : n->right;
    if (left_up)
    {
        n->left = c->right;
        c->right = n;
    }
    else
    {
        n->right = c->left;
        c->left = n;
    }
    *slot = c;
}

/* Takes the item over on success. */
static int
tree_put(struct node **slot, struct item *item, uint32_t priority)
{
    if (*slot == NULL)
    {
        struct node *n = malloc(sizeof(*n));
        if (n == NULL)
            return SB_ERR_NO_MEMORY;
        *n = (struct node){.priority = priority, .item = item};
        atomic_init(&n->refs, 1);
        *slot = n;
        return 0;
    }
    int rc = node_own(slot);
    if (rc != 0)
        return rc;
    struct node *n = *slot;
    int c = sb_bytes_cmp(item_key(item), item_key(n->item));
    if (c == 0)
    {
        item_release(n->item);
        n->item = item;
        return 0;
    }
    struct node **child = c < 0 ? &n->left : &n->right;
    rc = tree_put(child, item, priority);
    if (rc == 0 && (*child)->priority > n->priority)
        rotate(slot, c < 0);
    return rc;
}

/* Lets the node in the slot sink to a leaf and takes it out. */
static int
node_remove(struct node **slot)
{
    for (;;)
    {
        int rc = node_own(slot);
        if (rc != 0)
            return rc;
        struct node *n = *slot;
        if (n->left == NULL || n->right == NULL)
        {
            *slot = node_retain(n->left != NULL ? n->left : n->right);
            node_release(n);
            return 0;
        }
        bool left_up = n->left->priority > n->right->priority;
        rc = node_own(left_up ? &n->left : &n->right);
        if (rc != 0)
            return rc;
        rotate(slot, left_up);
        slot = left_up ? &(*slot)->right : &(*slot)->left;
    }
}

static const struct item *
tree_find(const struct node *n, struct sb_bytes key)
{
    while (n != NULL)
    {
        int c = sb_bytes_cmp(key, item_key(n->item));
        if (c == 0)
            return n->item;
        n = c < 0 ? n->left : n->right;
    }
    return NULL;
}

/* The nearest entry above (or below) a key, or at it when `with` is set. */
static const struct item *
tree_near(const struct node *n, struct sb_bytes key, bool above, bool with)
{
    const struct item *best = NULL;
    while (n != NULL)
    {
        int c = sb_bytes_cmp(item_key(n->item), key);
        if (c == 0 && with)
            return n->item;
        bool beyond = above ? c > 0 : c < 0;
        if (beyond)
            best = n->item;
        n = beyond == above ? n->left : n->right;
    }
    return best;
}

static const struct item *
tree_end(const struct node *n, bool last)
{
    while (n != NULL && (last ? n->right : n->left) != NULL)
        n = last ? n->right : n->left;
    return n == NULL ? NULL : n->item;
}

static int
mem_begin(struct sb_kv *kv, bool write, struct sb_kv_txn **out)
{
    struct mem *m = (struct mem *)kv;
    struct mem_txn *t = write ? &m->writer : &m->reader;
    if (t->open)
        return SB_ERR_INTERNAL;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < SB_TABLE_COUNT; i++)
    {
        t->tables[i] = m->tables[i];
        node_retain(t->tables[i].root);
        t->cursors[i].placed = false;
    }
    t->bytes = m->bytes;
    pthread_mutex_unlock(&m->lock);
    t->open = true;
    *out = &t->head;
    return 0;
}

static void
mem_end(struct sb_kv_txn *txn)
{
    struct mem_txn *t = (struct mem_txn *)txn;
    for (int i = 0; i < SB_TABLE_COUNT; i++)
        node_release(t->tables[i].root);
    t->open = false;
}

static int
mem_commit(struct sb_kv_txn *txn)
{
    struct mem_txn *t = (struct mem_txn *)txn;
    struct mem *m = (struct mem *)txn->kv;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < SB_TABLE_COUNT; i++)
    {
        struct tree old = m->tables[i];
        m->tables[i] = t->tables[i];
        t->tables[i] = old;
    }
    m->bytes = t->bytes;
    pthread_mutex_unlock(&m->lock);
    mem_end(txn);
    return 0;
}

static int
mem_get(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key, struct sb_bytes *value)
{
    const struct item *i = tree_find(((struct mem_txn *)txn)->tables[table].root, key);
    if (i == NULL)
        return SB_ERR_NOT_FOUND;
    *value = sb_bytes(i->b + i->key_len, i->value_len);
    return 0;
}

static int
mem_put(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key, size_t len, unsigned flags,
        uint8_t **place)
{
    struct mem_txn *t = (struct mem_txn *)txn;
    struct tree *tree = &t->tables[table];
    if (key.len == 0 || key.len > SB_KEY_MAX)
        return SB_ERR_INTERNAL;
    const struct item *old = tree_find(tree->root, key);
    if (old != NULL && (flags & SB_KV_NEW) != 0)
        return SB_ERR_EXISTS;
    uint64_t freed = old == NULL ? 0 : old->key_len + old->value_len;
    struct item *item = malloc(sizeof(*item) + key.len + len);
    if (item == NULL)
        return SB_ERR_NO_MEMORY;
    atomic_init(&item->refs, 1);
    item->key_len = (uint32_t)key.len;
    item->value_len = len;
    memcpy(item->b, key.data, key.len);
    int rc = tree_put(&tree->root, item, key_priority(key));
    if (rc != 0)
    {
        free(item);
        return rc;
    }
    tree->count += old == NULL;
    t->bytes += key.len + len - freed;
    *place = item->b + key.len;
    return 0;
}

static int
mem_del(struct sb_kv_txn *txn, enum sb_table table, struct sb_bytes key)
{
    struct mem_txn *t = (struct mem_txn *)txn;
    struct tree *tree = &t->tables[table];
    const struct item *old = tree_find(tree->root, key);
    if (old == NULL)
        return SB_ERR_NOT_FOUND;
    uint64_t freed = old->key_len + old->value_len;
    struct node **slot = &tree->root;
    for (;;)
    {
        int c = sb_bytes_cmp(key, item_key((*slot)->item));
        int rc = c == 0 ? node_remove(slot) : node_own(slot);
        if (rc != 0)
            return rc;
        if (c == 0)
            break;
        slot = c < 0 ? &(*slot)->left : &(*slot)->right;
    }
    tree->count--;
    t->bytes -= freed;
    return 0;
}

static int
mem_cursor(struct sb_kv_txn *txn, enum sb_table table, struct sb_kv_cursor **out)
{
    struct mem_cursor *c = &((struct mem_txn *)txn)->cursors[table];
    c->head.txn = txn;
    c->table = table;
    *out = &c->head;
    return 0;
}

static int
mem_move(struct sb_kv_cursor *cursor, enum sb_kv_move move, struct sb_bytes *key,
         struct sb_bytes *value)
{
    struct mem_cursor *c = (struct mem_cursor *)cursor;
    const struct node *root = ((struct mem_txn *)cursor->txn)->tables[c->table].root;
    const struct item *i = NULL;
    if (move == SB_KV_SEEK)
        i = tree_near(root, *key, true, true);
    else if (move == SB_KV_FIRST || move == SB_KV_LAST)
        i = tree_end(root, move == SB_KV_LAST);
    else if (c->placed)
        i = tree_near(root, sb_key_view(&c->key), move == SB_KV_NEXT, false);
    c->placed = i != NULL;
    if (i == NULL)
        return SB_ERR_NOT_FOUND;
    sb_key_start(&c->key);
    sb_key_bytes(&c->key, item_key(i));
    *key = item_key(i);
    *value = sb_bytes(i->b + i->key_len, i->value_len);
    return 0;
}

static int
mem_count(struct sb_kv_txn *txn, enum sb_table table, uint64_t *out)
{
    *out = ((struct mem_txn *)txn)->tables[table].count;
    return 0;
}

static uint64_t
mem_usage_bound(struct sb_kv *kv)
{
    struct mem *m = (struct mem *)kv;
    pthread_mutex_lock(&m->lock);
    uint64_t bytes = m->bytes;
    pthread_mutex_unlock(&m->lock);
    return bytes;
}

static int
mem_usage(struct sb_kv *kv, uint64_t *out)
{
    *out = mem_usage_bound(kv);
    return 0;
}

static bool
mem_roomy(struct sb_kv *kv)
{
    (void)kv;
    return true;
}

static int
mem_sync(struct sb_kv *kv)
{
    (void)kv;
    return 0;
}

static void
mem_close(struct sb_kv *kv)
{
    struct mem *m = (struct mem *)kv;
    for (int i = 0; i < SB_TABLE_COUNT; i++)
        node_release(m->tables[i].root);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const struct sb_kv_ops mem_ops = {
    .begin = mem_begin,
    .commit = mem_commit,
    .end = mem_end,
    .get = mem_get,
    .put = mem_put,
    .del = mem_del,
    .cursor = mem_cursor,
    .move = mem_move,
    .count = mem_count,
    .usage = mem_usage,
    .usage_bound = mem_usage_bound,
    .roomy = mem_roomy,
    .sync = mem_sync,
    .close = mem_close,
};

struct sb_kv *
sb_kv_mem_create(void)
{
    struct mem *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->head.ops = &mem_ops;
    m->reader.head.kv = m->writer.head.kv = &m->head;
    pthread_mutex_init(&m->lock, NULL);
    return &m->head;
}

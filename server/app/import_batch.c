/*
 * import_batch.c - see import_batch.h.
 *
 * A record's pointers all go into this batch's blocks, or to the tenant's name.
 */
#include "app/import_batch.h"

#include <stdlib.h>

#define BLOCK_SIZE ((size_t)1024 * 1024)
#define ALIGN 16

struct sb_batch_block
{
    struct sb_batch_block *next;
    size_t used, size;
    _Alignas(ALIGN) uint8_t data[];
};

int
sb_batch_init(struct sb_batch *b)
{
    *b = (struct sb_batch){0};
    b->records = calloc(SB_BATCH_ROWS, sizeof(*b->records));
    b->places = calloc(SB_BATCH_ROWS, sizeof(const struct sb_record *));
    b->results = calloc(SB_BATCH_ROWS, sizeof(*b->results));
    if (b->records == NULL || b->places == NULL || b->results == NULL)
    {
        sb_batch_finish(b);
        return SB_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < SB_BATCH_ROWS; i++)
        b->places[i] = &b->records[i];
    return 0;
}

static void
free_blocks(struct sb_batch_block *list)
{
    while (list != NULL)
    {
        struct sb_batch_block *next = list->next;
        free(list);
        list = next;
    }
}

void
sb_batch_finish(struct sb_batch *b)
{
    free_blocks(b->blocks);
    free_blocks(b->spare);
    free(b->records);
    free(b->places);
    free(b->results);
    *b = (struct sb_batch){0};
}

void
sb_batch_reset(struct sb_batch *b)
{
    while (b->blocks != NULL)
    {
        struct sb_batch_block *block = b->blocks;
        b->blocks = block->next;
        if (block->size != BLOCK_SIZE)
        {
            free(block); /* made for one large row */
            continue;
        }
        block->used = 0;
        block->next = b->spare;
        b->spare = block;
    }
    b->n = 0;
    b->bytes = 0;
}

static struct sb_batch_block *
new_block(struct sb_batch *b, size_t size)
{
    struct sb_batch_block *block = b->spare;
    if (size <= BLOCK_SIZE && block != NULL)
        b->spare = block->next;
    else
    {
        size = size < BLOCK_SIZE ? BLOCK_SIZE : size;
        block = malloc(sizeof(*block) + size);
        if (block == NULL)
            return NULL;
        block->size = size;
        block->used = 0;
    }
    block->next = b->blocks;
    b->blocks = block;
    return block;
}

static void *
alloc(struct sb_batch *b, size_t size)
{
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct sb_batch_block *block = b->blocks;
    if (block == NULL || block->size - block->used < size)
        block = new_block(b, size);
    if (block == NULL)
        return NULL;
    void *out = block->data + block->used;
    block->used += size;
    b->bytes += size;
    return out;
}

/* Copies the bytes of a view. An empty one needs none. */
static bool
keep(struct sb_batch *b, struct sb_bytes *view)
{
    if (view->len == 0)
    {
        *view = sb_bytes(NULL, 0);
        return true;
    }
    uint8_t *copy = alloc(b, view->len);
    if (copy == NULL)
        return false;
    memcpy(copy, view->data, view->len);
    view->data = copy;
    return true;
}

/* The thread's name: rows of one thread come together, so the last copy often serves. */
static bool
keep_thread(struct sb_batch *b, struct sb_bytes *thread)
{
    if (b->n > 0 && sb_bytes_eq(b->records[b->n - 1].thread, *thread))
    {
        *thread = b->records[b->n - 1].thread;
        return true;
    }
    return keep(b, thread);
}

static bool
keep_mentions(struct sb_batch *b, struct sb_message *m)
{
    if (m->n_mentions == 0)
        return true;
    struct sb_bytes *copy = alloc(b, m->n_mentions * sizeof(*copy));
    if (copy == NULL)
        return false;
    bool good = true;
    for (uint32_t i = 0; good && i < m->n_mentions; i++)
    {
        copy[i] = m->mentions[i];
        good = keep(b, &copy[i]);
    }
    m->mentions = copy;
    return good;
}

static bool
keep_attachments(struct sb_batch *b, struct sb_message *m)
{
    if (m->n_attachments == 0)
        return true;
    struct sb_attachment *copy = alloc(b, m->n_attachments * sizeof(*copy));
    if (copy == NULL)
        return false;
    bool good = true;
    for (uint32_t i = 0; good && i < m->n_attachments; i++)
    {
        copy[i] = m->attachments[i];
        good = keep(b, &copy[i].name) && keep(b, &copy[i].type) && keep(b, &copy[i].url);
    }
    m->attachments = copy;
    return good;
}

static bool
keep_reactions(struct sb_batch *b, struct sb_record_import *row)
{
    if (row->n_reactions == 0)
        return true;
    struct sb_record_reaction *copy = alloc(b, row->n_reactions * sizeof(*copy));
    if (copy == NULL)
        return false;
    bool good = true;
    for (uint32_t i = 0; good && i < row->n_reactions; i++)
    {
        copy[i] = row->reactions[i];
        good = keep(b, &copy[i].emoji) && keep(b, &copy[i].user);
    }
    row->reactions = copy;
    return good;
}

/* An import is the operator's doing: a service in its tenant. */
static struct sb_record
new_record(enum sb_record_op op, struct sb_bytes tenant, struct sb_bytes thread)
{
    return (struct sb_record){
        .op = op, .tenant = tenant, .user = SB_LIT("import"), .service = true, .thread = thread};
}

int
sb_batch_add_row(struct sb_batch *b, struct sb_bytes tenant, struct sb_bytes thread,
                 const struct sb_record_import *row)
{
    struct sb_record r = new_record(SB_RECORD_IMPORT, tenant, thread);
    r.import = *row;
    struct sb_message *m = &r.import.message;
    if (!keep_thread(b, &r.thread) || !keep(b, &m->by) || !keep(b, &m->text) ||
        !keep(b, &m->kind) || !keep(b, &m->source_system) || !keep(b, &m->source_id) ||
        !keep(b, &m->meta) || !keep(b, &r.import.reply_to_id) || !keep_mentions(b, m) ||
        !keep_attachments(b, m) || !keep_reactions(b, &r.import))
        return SB_ERR_NO_MEMORY;
    b->records[b->n++] = r;
    return 0;
}

int
sb_batch_add_link(struct sb_batch *b, struct sb_bytes tenant, struct sb_bytes thread,
                  struct sb_bytes system, struct sb_bytes child, struct sb_bytes parent)
{
    struct sb_record r = new_record(SB_RECORD_LINK, tenant, thread);
    r.link.system = system;
    r.link.child_id = child;
    r.link.parent_id = parent;
    if (!keep_thread(b, &r.thread) || !keep(b, &r.link.system) || !keep(b, &r.link.child_id) ||
        !keep(b, &r.link.parent_id))
        return SB_ERR_NO_MEMORY;
    b->records[b->n++] = r;
    return 0;
}

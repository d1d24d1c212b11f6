/*
 * check.c - verifies a store: threads, names, members, rows, seqs. See check.h.
 *
 * It changes nothing and trusts nothing: a damaged record is told and the check goes on.
 */
#include "store/check.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_TOLD 100

void
sb_check_tell(struct sb_check *c, uint64_t *count, const char *format, ...)
{
    char text[256];
    va_list args;
    (*count)++;
    if (c->problem == NULL || c->told++ >= MAX_TOLD)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    c->problem(c->ctx, text);
}

int
sb_check_table(struct sb_check *c, enum sb_table table,
               int (*each)(struct sb_check *c, struct sb_bytes key, struct sb_bytes value))
{
    struct sb_kv_cursor *cursor;
    struct sb_bytes key = {0}, value;
    int rc = sb_kv_cursor(c->kv, table, &cursor);
    if (rc == 0)
        rc = sb_kv_move(cursor, SB_KV_FIRST, &key, &value);
    while (rc == 0)
    {
        rc = each(c, key, value);
        if (rc == 0)
            rc = sb_kv_move(cursor, SB_KV_NEXT, &key, &value);
    }
    return rc == SB_ERR_NOT_FOUND ? 0 : rc;
}

int
sb_check_has(struct sb_check *c, enum sb_table table, const struct sb_key *key, bool *there)
{
    struct sb_bytes value;
    int rc = sb_kv_get(c->kv, table, key, &value);
    *there = rc == 0;
    return rc == SB_ERR_NOT_FOUND ? 0 : rc;
}

/* A name's entry must be there and lead to the thread. */
static int
check_name(struct sb_check *c, const struct sb_key *key, uint64_t thread, const char *what)
{
    struct sb_bytes value;
    int rc = sb_kv_get(c->kv, SB_TABLE_NAMES, key, &value);
    if (rc != 0 && rc != SB_ERR_NOT_FOUND)
        return rc;
    if (rc != 0 || value.len != 8 || sb_get64(value.data) != thread)
        sb_check_tell(c, &c->report->index_missing, "thread %llu: its %s does not lead to it",
                      (unsigned long long)thread, what);
    return 0;
}

static int
check_thread(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_thread t;
    struct sb_key key;
    struct sb_hash hash;
    c->report->threads++;
    if (sb_thread_decode(k, value, &t, NULL) != 0)
    {
        sb_check_tell(c, &c->report->bad_checksums, "thread %llu: its record is damaged",
                      k.len == 8 ? (unsigned long long)sb_get64(k.data) : 0);
        return 0;
    }
    if (t.newest_at > c->now_ms)
    {
        uint64_t *ahead = &c->report->ahead;
        sb_check_tell(c, ahead, "thread %llu: its newest time is %llu ms ahead of now",
                      (unsigned long long)t.id, (unsigned long long)(t.newest_at - c->now_ms));
    }
    sb_layout_hash2(c->s->identity.hash_key, t.tenant, t.name, &hash);
    sb_key_name_hash(&key, &hash);
    int rc = check_name(c, &key, t.id, "name");
    if (rc == 0 && sb_key_name(&key, t.tenant, t.name) == 0)
        rc = check_name(c, &key, t.id, "name in the ordered list");
    return rc;
}

/* A name must lead to a thread that is there; its own side is checked by check_thread. */
static int
check_name_entry(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_key key;
    bool there = false;
    int rc = 0;
    (void)k;
    if (value.len == 8)
    {
        sb_key_thread(&key, sb_get64(value.data));
        rc = sb_check_has(c, SB_TABLE_THREADS, &key, &there);
    }
    if (rc == 0 && !there)
        sb_check_tell(c, &c->report->index_extra, "a name leads to no thread");
    return rc;
}

static uint64_t
key_thread(struct sb_bytes key, size_t from)
{
    return key.len >= from + 8 ? sb_get64(key.data + from) : 0;
}

static int
check_member(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_member m;
    struct sb_thread thread;
    struct sb_key key;
    struct sb_hash hash;
    struct sb_bytes record;
    bool there;
    if (k.len <= 9 || k.data[0] != SB_KEY_FORM_1)
        return 0;
    c->report->members++;
    unsigned long long id = key_thread(k, 1);
    if (sb_member_decode(k, value, &m) != 0)
        sb_check_tell(c, &c->report->bad_checksums, "thread %llu: a member's record is damaged",
                      id);
    sb_key_thread(&key, id);
    int rc = sb_kv_get(c->kv, SB_TABLE_THREADS, &key, &record);
    if (rc == SB_ERR_NOT_FOUND)
    {
        sb_check_tell(c, &c->report->index_extra, "thread %llu: has a member but no record", id);
        return 0;
    }
    if (rc != 0 || sb_thread_decode(sb_key_view(&key), record, &thread, NULL) != 0)
        return rc;
    sb_layout_hash2(c->s->identity.hash_key, thread.tenant, sb_bytes(k.data + 9, k.len - 9), &hash);
    sb_key_reverse(&key, &hash, id);
    rc = sb_check_has(c, SB_TABLE_MEMBERS, &key, &there);
    if (rc == 0 && !there)
        sb_check_tell(c, &c->report->index_missing,
                      "thread %llu: a member's reverse entry is missing", id);
    return rc;
}

/* Reverse entries hold hashes: they cannot be followed back, but there are as many. */
static int
check_reverse_count(struct sb_check *c)
{
    uint64_t all;
    int rc = c->kv->kv->ops->count(c->kv, SB_TABLE_MEMBERS, &all);
    if (rc != 0)
        return rc;
    uint64_t reverse = all - c->report->members;
    for (uint64_t more = reverse; more > c->report->members; more--)
        sb_check_tell(c, &c->report->index_extra, "a reverse member entry has no member");
    return 0;
}

int
sb_check_postings(struct sb_check *c, uint64_t thread, const struct sb_row *row)
{
    struct sb_pos pos;
    struct sb_key key;
    bool there;
    if (sb_tail_find_seq(&c->s->tail, thread, row->pos.seq, &pos))
        return 0;
    for (uint32_t i = 0; i < row->n_tags; i++)
    {
        sb_key_tag(&key, thread, &row->tags[i], row->pos);
        int rc = sb_check_has(c, SB_TABLE_TAGS, &key, &there);
        if (rc != 0)
            return rc;
        if (!there)
        {
            sb_check_tell(c, &c->report->index_missing,
                          "thread %llu, seq %llu: a tag's entry is missing",
                          (unsigned long long)thread, (unsigned long long)row->pos.seq);
        }
    }
    return 0;
}

static int
check_row(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    if (k.len != SB_ROW_KEY_LEN)
    {
        sb_check_tell(c, &c->report->bad_checksums, "a message's key is damaged");
        return 0;
    }
    unsigned long long thread = sb_get64(k.data);
    struct sb_row row = {.pos = sb_pos_at(k.data + 8)};
    struct sb_txn *t = &c->s->reader.head;
    struct sb_pos pos;
    c->report->rows++;
    int rc = sb_row_decode(SB_TABLE_MESSAGES, k, value, &row);
    if (rc != 0)
    {
        sb_check_tell(c, &c->report->bad_checksums, "thread %llu, seq %llu: the message is damaged",
                      thread, (unsigned long long)row.pos.seq);
    }
    else
    {
        rc = sb_check_postings(c, thread, &row);
    }
    if (rc != 0 && rc != SB_ERR_CORRUPT)
        return rc;
    rc = sb_store_seq_find(t, thread, row.pos.seq, &pos);
    if (rc == SB_ERR_NOT_FOUND || (rc == 0 && sb_pos_cmp(pos, row.pos) != 0))
    {
        sb_check_tell(c, &c->report->index_missing,
                      "thread %llu, seq %llu: its seq does not lead to it", thread,
                      (unsigned long long)row.pos.seq);
        return 0;
    }
    return rc == SB_ERR_CORRUPT ? 0 : rc; /* told by check_seq */
}

static int
check_seq(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    uint64_t at = 0;
    struct sb_key key;
    bool there;
    if (k.len != SB_SEQ_KEY_LEN || sb_seq_decode(k, value, &at) != 0)
    {
        sb_check_tell(c, &c->report->bad_checksums, "thread %llu: a seq's entry is damaged",
                      (unsigned long long)key_thread(k, 0));
        return 0;
    }
    uint64_t seq = sb_get64(k.data + 8);
    sb_key_row(&key, sb_get64(k.data), (struct sb_pos){at, seq});
    int rc = sb_check_has(c, SB_TABLE_MESSAGES, &key, &there);
    if (rc == 0 && !there)
        sb_check_tell(c, &c->report->lost, "thread %llu, seq %llu: the message is lost",
                      (unsigned long long)sb_get64(k.data), (unsigned long long)seq);
    return rc;
}

/* Every seq from 1 to the next must be carried by a row. What by_seq leads to is checked by
 * check_seq; here are the seqs that nothing leads to. */
static int
check_seqs_of(struct sb_check *c, const struct sb_thread *thread, uint64_t rows)
{
    struct sb_txn *t = &c->s->reader.head;
    uint64_t missing = 0, first = 0;
    /* A thread cannot have lost more than it ever had; a count beyond reason is not walked. */
    uint64_t end = thread->next_seq;
    if (end > UINT64_C(1) << 40)
        return 0;
    for (uint64_t seq = 1; seq < end && missing <= rows + MAX_TOLD; seq++)
    {
        struct sb_pos pos;
        int rc = sb_store_seq_find(t, thread->id, seq, &pos);
        if (rc != 0 && rc != SB_ERR_NOT_FOUND && rc != SB_ERR_CORRUPT)
            return rc;
        if (rc == SB_ERR_NOT_FOUND && missing++ == 0)
            first = seq;
    }
    if (missing == 0)
        return 0;
    /* Rows whose by_seq entry alone is gone are there all the same: count rows. */
    uint64_t have = 0;
    uint32_t budget = UINT32_MAX;
    struct sb_row row;
    int rc = sb_store_row_seek(t, thread->id, SB_POS_MIN, SB_NEWER, UINT64_MAX);
    while (rc == 0 || rc == SB_ERR_CORRUPT)
    {
        rc = sb_store_row_step(t, &budget, &row);
        struct sb_pos pos;
        if ((rc == 0 || rc == SB_ERR_CORRUPT) &&
            sb_store_seq_find(t, thread->id, row.pos.seq, &pos) == SB_ERR_NOT_FOUND)
            have++;
    }
    if (rc != SB_ERR_NOT_FOUND)
        return rc;
    for (; missing > have; missing--)
    {
        sb_check_tell(c, &c->report->lost,
                      "thread %llu: a message is lost, the first missing seq is "
                      "%llu",
                      (unsigned long long)thread->id, (unsigned long long)first);
    }
    return 0;
}

static int
check_seqs(struct sb_check *c)
{
    struct sb_kv_cursor *cursor;
    struct sb_bytes key = {0}, value;
    int rc = sb_kv_cursor(c->kv, SB_TABLE_THREADS, &cursor);
    if (rc == 0)
        rc = sb_kv_move(cursor, SB_KV_FIRST, &key, &value);
    while (rc == 0)
    {
        struct sb_thread thread;
        if (sb_thread_decode(key, value, &thread, NULL) == 0)
            rc = check_seqs_of(c, &thread, c->report->rows);
        if (rc == 0)
            rc = sb_kv_move(cursor, SB_KV_NEXT, &key, &value);
    }
    return rc == SB_ERR_NOT_FOUND ? 0 : rc;
}

static int
check_all(struct sb_check *c)
{
    int rc = sb_check_table(c, SB_TABLE_THREADS, check_thread);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_NAMES, check_name_entry);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_MEMBERS, check_member);
    if (rc == 0)
        rc = check_reverse_count(c);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_MESSAGES, check_row);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_BY_SEQ, check_seq);
    if (rc == 0)
        rc = check_seqs(c);
    if (rc == 0)
        rc = sb_check_rest(c);
    return rc;
}

int
sb_store_check(struct sb_store *store, uint64_t now_ms,
               void (*problem)(void *ctx, const char *text), void *ctx, struct sb_store_report *out)
{
    struct sb_check c = {.s = (struct sb_store_inner *)store,
                         .now_ms = now_ms,
                         .problem = problem,
                         .ctx = ctx,
                         .report = out};
    struct sb_txn *t;
    *out = (struct sb_store_report){0};
    int rc = sb_store_settle(store);
    if (rc == 0)
        rc = sb_store_read_begin(store, &t);
    if (rc != 0)
        return rc;
    c.kv = c.s->reader.kv;
    rc = check_all(&c);
    sb_store_read_end(t);
    if (rc != 0)
        return rc;
    bool bad = out->bad_checksums + out->lost + out->index_missing + out->index_extra != 0;
    return bad ? SB_ERR_CORRUPT : 0;
}

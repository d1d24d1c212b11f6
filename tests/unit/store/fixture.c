/* fixture.c - see fixture.h. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "store/kv_lmdb.h"

static uint64_t random_state = 1;

static void
fill_random(void *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)buf)[i] = (uint8_t)fixture_random(&random_state);
}

struct sb_store_options
fixture_options(const char *dir, enum sb_store_mode mode)
{
    return (struct sb_store_options){
        .dir = dir,
        .mode = mode,
        .map_size = UINT64_C(1) << 30,
        .now_ms = UINT64_C(1700000000000),
        .random = fill_random,
    };
}

struct sb_store *
fixture_open_dir(const char *dir, enum sb_store_mode mode)
{
    struct sb_store *s;
    struct sb_store_failure why;
    const struct sb_store_options o = fixture_options(dir, mode);
    if (sb_store_open(&o, &s, &why) != 0)
        fail_msg("%s", why.text);
    return s;
}

void
fixture_make_dir(char out[64])
{
    snprintf(out, 64, "/tmp/scrollback-test-XXXXXX");
    assert_non_null(mkdtemp(out));
}

void
fixture_remove_dir(const char *dir)
{
    static const char *const files[] = {"data.mdb",        "lock.mdb",   "data.mdb.new",
                                        "scrollback.lock", "UNFINISHED", "data.mdb.new-lock",
                                        "reserve"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
    {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

void
fixture_open(struct fixture *f, enum fixture_kind kind, uint32_t derive_after)
{
    *f = (struct fixture){.kind = kind};
    struct sb_kv *kv;
    if (kind == FIXTURE_LMDB)
    {
        char why[512] = "";
        fixture_make_dir(f->dir);
        const struct sb_kv_lmdb_options k = {.dir = f->dir,
                                             .file = "data.mdb",
                                             .map_size = UINT64_C(1) << 30,
                                             .no_sync = true,
                                             .lock_fd = -1};
        if (sb_kv_lmdb_open(&k, &kv, why) != 0)
            fail_msg("%s", why);
    }
    else
        kv = sb_kv_mem_create();
    assert_non_null(kv);
    f->fault = kv_fault_create(kv, true);
    f->options = fixture_options(f->dir, SB_STORE_SERVE);
    f->options.derive_after = derive_after;
    fixture_reopen(f);
}

void
fixture_reopen(struct fixture *f)
{
    struct sb_store_failure why = {""};
    sb_store_close(f->store);
    f->store = NULL;
    if (sb_store_start(kv_fault_kv(f->fault), &f->options, UINT64_MAX, &f->store, &why) != 0)
        fail_msg("%s", why.text);
}

void
fixture_close(struct fixture *f)
{
    assert_int_equal(kv_fault_open(f->fault), 0);
    sb_store_close(f->store);
    kv_fault_destroy(f->fault);
    if (f->kind == FIXTURE_LMDB)
        fixture_remove_dir(f->dir);
}

uint64_t
fixture_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

uint64_t
fixture_seed(void)
{
    const char *given = getenv("SB_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761U;
    printf("seed %llu (SB_SEED)\n", (unsigned long long)(seed | 1));
    return seed | 1;
}

struct sb_hash
fixture_tag(uint64_t n)
{
    struct sb_hash h = {{0}};
    n *= UINT64_C(0x9e3779b97f4a7c15);
    memcpy(h.b, &n, sizeof(n));
    return h;
}

uint64_t
fixture_thread(struct sb_store *s, const char *name)
{
    struct sb_txn *t;
    assert_int_equal(s->ops->write_begin(s, &t), 0);
    struct sb_thread thread = {
        .tenant = SB_LIT("default"), .name = sb_bytes_str(name), .next_seq = 1};
    thread.created = s->ops->version_next(t);
    assert_int_equal(s->ops->thread_put(t, &thread), 0);
    const struct sb_member m = {.role = SB_ROLE_WRITER, .join_version = thread.created};
    assert_int_equal(s->ops->member_put(t, &thread, SB_LIT("alice"), &m), 0);
    const struct sb_change c = {.version = thread.created,
                                .thread = thread.id,
                                .kind = SB_CHANGE_THREAD,
                                .time_ms = s->ops->change_time(t, 0)};
    assert_int_equal(s->ops->change_append(t, &c), 0);
    fixture_commit(s, t);
    return thread.id;
}

void
fixture_commit(struct sb_store *s, struct sb_txn *t)
{
    assert_int_equal(s->ops->write_commit(t), 0);
    s->ops->publish(s);
}

int
fixture_post(struct sb_txn *t, const struct fixture_post *p, struct sb_pos *pos, uint64_t *version)
{
    const struct sb_store_ops *ops = t->store->ops;
    struct sb_thread thread;
    int rc = ops->thread_get(t, p->thread, &thread);
    if (rc != 0)
        return rc;
    bool backdated = p->at != 0 && p->at < thread.newest_at;
    struct sb_hash tags[2] = {fixture_tag(1), fixture_tag(p->tag)};
    struct sb_row row = {.pos = {p->at != 0 ? p->at : thread.newest_at + 1, thread.next_seq},
                         .n_tags = p->tag != 0 ? 2 : 1,
                         .tags = tags,
                         .body = sb_bytes_str(p->text)};
    row.created = row.changed = ops->version_next(t);
    thread.next_seq++;
    if (row.pos.at > thread.newest_at)
        thread.newest_at = row.pos.at;
    struct sb_change c = {.version = row.created,
                          .thread = p->thread,
                          .pos = row.pos,
                          .kind = backdated ? SB_CHANGE_BACKDATED : SB_CHANGE_POST,
                          .time_ms = ops->change_time(t, 0),
                          .has_nonce = p->nonce != 0,
                          .nonce = fixture_tag(p->nonce)};
    rc = ops->row_insert(t, p->thread, &row);
    if (rc == 0)
        rc = ops->thread_put(t, &thread);
    if (rc == 0)
        rc = ops->change_append(t, &c);
    const struct sb_nonce n = {row.pos.seq, row.pos.at, row.created, c.time_ms};
    if (rc == 0 && p->nonce != 0)
        rc = ops->nonce_put(t, &c.nonce, &n);
    if (rc == 0 && pos != NULL)
        *pos = row.pos;
    if (rc == 0 && version != NULL)
        *version = row.created;
    return rc;
}

struct sb_pos
fixture_post_now(struct sb_store *s, uint64_t thread, const char *text)
{
    struct sb_txn *t;
    struct sb_pos pos = SB_POS_MIN;
    assert_int_equal(s->ops->write_begin(s, &t), 0);
    const struct fixture_post p = {.thread = thread, .text = text};
    assert_int_equal(fixture_post(t, &p, &pos, NULL), 0);
    fixture_commit(s, t);
    return pos;
}

int
fixture_edit(struct sb_txn *t, uint64_t thread, struct sb_pos pos, const char *text, uint64_t tag,
             bool keep_past, uint64_t *version)
{
    const struct sb_store_ops *ops = t->store->ops;
    struct sb_row row;
    struct sb_hash tags[2] = {fixture_tag(1), fixture_tag(tag)};
    int rc = ops->row_get(t, thread, pos, UINT64_MAX, &row);
    if (rc != 0)
        return rc;
    row.changed = *version = ops->version_next(t);
    row.flags = text == NULL ? SB_ROW_DELETED : 0;
    row.body = sb_bytes_str(text);
    row.tags = tags;
    row.n_tags = tag != 0 ? 2 : 1;
    const struct sb_change c = {.version = row.changed,
                                .thread = thread,
                                .pos = pos,
                                .kind = text == NULL ? SB_CHANGE_DELETE : SB_CHANGE_EDIT,
                                .time_ms = ops->change_time(t, 0)};
    rc = ops->row_replace(t, thread, &row, keep_past);
    return rc == 0 ? ops->change_append(t, &c) : rc;
}

void
fixture_raw_put(struct sb_store *s, enum sb_table table, const struct sb_key *key,
                struct sb_bytes value)
{
    struct sb_kv *kv = ((struct sb_store_inner *)s)->kv;
    struct sb_kv_txn *t;
    uint8_t *place;
    assert_int_equal(kv->ops->begin(kv, true, &t), 0);
    assert_int_equal(kv->ops->put(t, table, sb_key_view(key), value.len, 0, &place), 0);
    if (value.len != 0)
        memcpy(place, value.data, value.len);
    assert_int_equal(kv->ops->commit(t), 0);
}

void
fixture_raw_del(struct sb_store *s, enum sb_table table, const struct sb_key *key)
{
    struct sb_kv *kv = ((struct sb_store_inner *)s)->kv;
    struct sb_kv_txn *t;
    assert_int_equal(kv->ops->begin(kv, true, &t), 0);
    assert_int_equal(kv->ops->del(t, table, sb_key_view(key)), 0);
    assert_int_equal(kv->ops->commit(t), 0);
}

void
fixture_flip(struct sb_store *s, enum sb_table table, const struct sb_key *key, size_t at)
{
    struct sb_kv *kv = ((struct sb_store_inner *)s)->kv;
    struct sb_kv_txn *t;
    struct sb_bytes value;
    uint8_t copy[1024];
    assert_int_equal(kv->ops->begin(kv, false, &t), 0);
    assert_int_equal(kv->ops->get(t, table, sb_key_view(key), &value), 0);
    assert_true(value.len <= sizeof(copy) && at < value.len);
    memcpy(copy, value.data, value.len);
    kv->ops->end(t);
    copy[at] ^= 4;
    fixture_raw_put(s, table, key, sb_bytes(copy, value.len));
}

static bool
same_table(struct sb_kv_txn *a, struct sb_kv_txn *b, enum sb_table table)
{
    struct sb_kv_cursor *x, *y;
    struct sb_bytes key_a = {0}, key_b = {0}, value_a = {0}, value_b = {0};
    enum sb_kv_move move = SB_KV_FIRST;
    assert_int_equal(sb_kv_cursor(a, table, &x), 0);
    assert_int_equal(sb_kv_cursor(b, table, &y), 0);
    for (;; move = SB_KV_NEXT)
    {
        int rc_a = sb_kv_move(x, move, &key_a, &value_a);
        int rc_b = sb_kv_move(y, move, &key_b, &value_b);
        if (rc_a != 0 || rc_b != 0)
            return rc_a == SB_ERR_NOT_FOUND && rc_b == SB_ERR_NOT_FOUND;
        if (!sb_bytes_eq(key_a, key_b) || !sb_bytes_eq(value_a, value_b))
            return false;
    }
}

bool
fixture_same(struct sb_store *a, struct sb_store *b)
{
    struct sb_kv *kv_a = ((struct sb_store_inner *)a)->kv, *kv_b = ((struct sb_store_inner *)b)->kv;
    struct sb_kv_txn *x, *y;
    bool same = true;
    assert_int_equal(kv_a->ops->begin(kv_a, false, &x), 0);
    assert_int_equal(kv_b->ops->begin(kv_b, false, &y), 0);
    for (int i = 0; i < SB_TABLE_COUNT; i++)
        same = same && same_table(x, y, (enum sb_table)i);
    kv_a->ops->end(x);
    kv_b->ops->end(y);
    return same;
}

static void
print_problem(void *ctx, const char *text)
{
    (void)ctx;
    printf("check: %s\n", text);
}

int
fixture_check(struct sb_store *s, struct sb_store_report *report)
{
    struct sb_store_report r;
    int rc = sb_store_check(s, UINT64_MAX, print_problem, NULL, &r);
    if (report != NULL)
        *report = r;
    return rc;
}

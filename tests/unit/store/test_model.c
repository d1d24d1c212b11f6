/*
 * test_model.c - random writes on both maps against a naive array: every row at every
 * version, both directions, postings, seqs, nonces, over aborts, crashes and settles.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define MAX_ROWS 400
#define MAX_STATES 8
#define TAGS 4

struct state
{
    uint64_t version, tag;
    char text[16]; /* empty: deleted */
};

struct row
{
    struct sb_pos pos;
    uint64_t nonce;
    int n_states;
    struct state states[MAX_STATES];
};

struct model
{
    struct fixture fx;
    uint64_t random, version;
    uint64_t threads[THREADS];
    int n_rows[THREADS];
    struct row rows[THREADS][MAX_ROWS];
};

static int
below(struct model *m, int n)
{
    return (int)(fixture_random(&m->random) % (uint64_t)n);
}

/* What a reader at `version` gets of a row: NULL when it is not there. A state that was not
 * kept has been taken out of the list, so the first one reaches back to the beginning. */
static const struct state *
row_at(const struct row *r, uint64_t created, uint64_t version)
{
    if (created > version)
        return NULL;
    const struct state *s = &r->states[0];
    for (int i = 1; i < r->n_states && r->states[i].version <= version; i++)
        s = &r->states[i];
    return s;
}

static uint64_t created_of[THREADS][MAX_ROWS];

static void
random_post(struct model *m, struct sb_txn *t, int th)
{
    if (m->n_rows[th] == MAX_ROWS)
        return;
    struct row *r = &m->rows[th][m->n_rows[th]];
    struct fixture_post p = {.thread = m->threads[th], .tag = 2 + (uint64_t)below(m, TAGS)};
    if (below(m, 4) == 0)
        p.at = 1 + (uint64_t)below(m, 50);
    if (below(m, 3) == 0)
        p.nonce = 1000 + (uint64_t)th * MAX_ROWS + (uint64_t)m->n_rows[th];
    char text[16];
    snprintf(text, sizeof(text), "t%d", below(m, 100000));
    p.text = text;
    *r = (struct row){.nonce = p.nonce, .n_states = 1};
    assert_int_equal(fixture_post(t, &p, &r->pos, &r->states[0].version), 0);
    r->states[0].tag = p.tag;
    memcpy(r->states[0].text, text, sizeof(text));
    created_of[th][m->n_rows[th]++] = r->states[0].version;
    /* the same batch already finds it */
    struct sb_pos pos;
    assert_int_equal(t->store->ops->seq_find(t, p.thread, r->pos.seq, &pos), 0);
    assert_int_equal(sb_pos_cmp(pos, r->pos), 0);
    const struct sb_hash nonce = fixture_tag(p.nonce);
    struct sb_nonce n;
    if (p.nonce != 0)
        assert_int_equal(t->store->ops->nonce_get(t, &nonce, &n), 0);
}

static void
random_edit(struct model *m, struct sb_txn *t, int th)
{
    if (m->n_rows[th] == 0)
        return;
    struct row *r = &m->rows[th][below(m, m->n_rows[th])];
    bool keep = below(m, 4) != 0;
    if (keep && r->n_states == MAX_STATES)
        return;
    struct state s = {.tag = below(m, 3) == 0 ? 0 : 2 + (uint64_t)below(m, TAGS)};
    bool gone = !keep && below(m, 2) == 0;
    if (!gone)
        snprintf(s.text, sizeof(s.text), "e%d", below(m, 100000));
    assert_int_equal(
        fixture_edit(t, m->threads[th], r->pos, gone ? NULL : s.text, s.tag, keep, &s.version), 0);
    if (!keep)
        r->n_states = 0;
    r->states[r->n_states++] = s;
}

static void
compare(const struct sb_row *got, const struct row *want, const struct state *s, uint64_t version)
{
    (void)version;
    assert_int_equal(sb_pos_cmp(got->pos, want->pos), 0);
    assert_true(sb_bytes_eq(got->body, sb_bytes_str(s->text)));
    assert_int_equal((got->flags & SB_ROW_DELETED) != 0, s->text[0] == '\0');
    assert_int_equal(got->n_tags, s->tag != 0 ? 2 : 1);
}

/* The next row of the model beyond `pos` that is there at `version`. */
static const struct row *
model_next(const struct model *m, int th, struct sb_pos pos, enum sb_direction dir,
           uint64_t version, const struct state **s)
{
    const struct row *best = NULL;
    for (int i = 0; i < m->n_rows[th]; i++)
    {
        const struct row *r = &m->rows[th][i];
        int c = sb_pos_cmp(r->pos, pos);
        const struct state *state = row_at(r, created_of[th][i], version);
        if (state == NULL || c != (dir == SB_NEWER ? 1 : -1))
            continue;
        if (best == NULL || sb_pos_cmp(r->pos, best->pos) == (dir == SB_NEWER ? -1 : 1))
        {
            best = r;
            *s = state;
        }
    }
    return best;
}

static void
check_walk(struct model *m, struct sb_txn *t, int th, uint64_t version)
{
    const struct sb_store_ops *ops = t->store->ops;
    enum sb_direction dir = below(m, 2) ? SB_OLDER : SB_NEWER;
    struct sb_pos pos = dir == SB_OLDER ? SB_POS_MAX : SB_POS_MIN;
    if (below(m, 2) && m->n_rows[th] != 0)
        pos = m->rows[th][below(m, m->n_rows[th])].pos;
    assert_int_equal(ops->row_seek(t, m->threads[th], pos, dir, version), 0);
    for (;;)
    {
        uint32_t budget = 1 + (uint32_t)below(m, 3);
        struct sb_row got;
        const struct state *s = NULL;
        const struct row *want = model_next(m, th, pos, dir, version, &s);
        int rc = ops->row_step(t, &budget, &got);
        if (rc == SB_ERR_BUSY)
        {
            assert_int_equal(budget, 0);
            continue;
        }
        if (want == NULL)
        {
            assert_int_equal(rc, SB_ERR_NOT_FOUND);
            break;
        }
        assert_int_equal(rc, 0);
        compare(&got, want, s, version);
        pos = want->pos;
        assert_int_equal(ops->row_get(t, m->threads[th], pos, version, &got), 0);
        compare(&got, want, s, version);
    }
}

/* Every row that had the tag at any version is a candidate, in order, none twice. */
static void
check_postings(struct model *m, struct sb_txn *t, int th)
{
    enum sb_direction dir = below(m, 2) ? SB_OLDER : SB_NEWER;
    struct sb_pos pos = dir == SB_OLDER ? SB_POS_MAX : SB_POS_MIN;
    uint64_t tag = 2 + (uint64_t)below(m, TAGS);
    const struct sb_hash hash = fixture_tag(tag);
    bool seen[MAX_ROWS + 1] = {false};
    struct sb_pos next;
    while (t->store->ops->posting_next(t, m->threads[th], &hash, pos, dir, &next) == 0)
    {
        assert_int_equal(sb_pos_cmp(next, pos), dir == SB_NEWER ? 1 : -1);
        assert_true(next.seq >= 1 && next.seq <= (uint64_t)m->n_rows[th]);
        seen[next.seq] = true;
        pos = next;
    }
    for (int i = 0; i < m->n_rows[th]; i++)
    {
        for (int j = 0; j < m->rows[th][i].n_states; j++)
            if (m->rows[th][i].states[j].tag == tag)
                assert_true(seen[m->rows[th][i].pos.seq]);
    }
}

static void
check_finds(struct model *m, struct sb_txn *t, int th)
{
    const struct sb_store_ops *ops = t->store->ops;
    struct sb_pos pos;
    struct sb_thread thread;
    for (int i = 0; i < m->n_rows[th]; i++)
    {
        const struct row *r = &m->rows[th][i];
        assert_int_equal(r->pos.seq, i + 1);
        assert_int_equal(ops->seq_find(t, m->threads[th], r->pos.seq, &pos), 0);
        assert_int_equal(sb_pos_cmp(pos, r->pos), 0);
        struct sb_nonce n;
        const struct sb_hash hash = fixture_tag(r->nonce);
        if (r->nonce == 0)
            continue;
        assert_int_equal(ops->nonce_get(t, &hash, &n), 0);
        assert_int_equal(n.seq, r->pos.seq);
        assert_int_equal(n.at, r->pos.at);
        assert_int_equal(n.version, created_of[th][i]);
    }
    assert_int_equal(ops->seq_find(t, m->threads[th], (uint64_t)m->n_rows[th] + 1, &pos),
                     SB_ERR_NOT_FOUND);
    assert_int_equal(ops->thread_get(t, m->threads[th], &thread), 0);
    assert_int_equal(thread.next_seq, m->n_rows[th] + 1);
}

static void
check_all(struct model *m)
{
    struct sb_store *s = m->fx.store;
    struct sb_txn *t;
    assert_int_equal(s->ops->read_begin(s, &t), 0);
    int th = below(m, THREADS);
    m->version = s->ops->published(s);
    check_finds(m, t, th);
    check_postings(m, t, th);
    for (int i = 0; i < 4; i++)
        check_walk(m, t, th, i == 0 ? m->version : (uint64_t)below(m, (int)m->version + 1));
    s->ops->read_end(t);
}

static void
batch(struct model *m)
{
    struct sb_store *s = m->fx.store;
    struct sb_txn *t;
    assert_int_equal(s->ops->write_begin(s, &t), 0);
    bool undo = below(m, 10) == 0;
    struct model *before = NULL;
    static uint64_t created_before[THREADS][MAX_ROWS];
    if (undo)
    {
        before = malloc(sizeof(*before));
        *before = *m;
        memcpy(created_before, created_of, sizeof(created_of));
    }
    for (int i = 1 + below(m, 12); i > 0; i--)
    {
        int th = below(m, THREADS);
        if (below(m, 3) != 0)
            random_post(m, t, th);
        else
            random_edit(m, t, th);
    }
    if (!undo)
    {
        assert_int_equal(s->ops->write_commit(t), 0);
        return;
    }
    s->ops->write_abort(t);
    uint64_t random = m->random;
    *m = *before;
    memcpy(created_of, created_before, sizeof(created_of));
    m->random = random;
    free(before);
}

static void
run(enum fixture_kind kind, uint32_t derive_after, uint64_t seed)
{
    static const char *const names[THREADS] = {"a", "b", "c"};
    struct model *m = calloc(1, sizeof(*m));
    m->random = seed;
    fixture_open(&m->fx, kind, derive_after);
    for (int i = 0; i < THREADS; i++)
        m->threads[i] = fixture_thread(m->fx.store, names[i]);
    for (int i = 0; i < 150; i++)
    {
        for (int n = 1 + below(m, 2); n > 0;
             n--) /* now and then two batches are published at once */
            batch(m);
        m->fx.store->ops->publish(m->fx.store);
        int what = below(m, 12);
        if (what == 0)
            fixture_reopen(&m->fx);
        else if (what == 1)
            assert_int_equal(sb_store_settle(m->fx.store), 0);
        check_all(m);
        struct sb_store_stats stats;
        m->fx.store->ops->stats(m->fx.store, &stats);
        assert_true(stats.behind < (derive_after != 0 ? derive_after : SB_DERIVE_AFTER));
        if (what <= 1)
            assert_int_equal(stats.behind, 0);
    }
    assert_int_equal(fixture_check(m->fx.store, NULL), 0);
    fixture_close(&m->fx);
    free(m);
}

static const uint32_t derive_after[] = {1, 7, 40, 0};

static void
against_model(enum fixture_kind kind)
{
    uint64_t seed = fixture_seed();
    for (size_t i = 0; i < sizeof(derive_after) / sizeof(derive_after[0]); i++)
        run(kind, derive_after[i], seed + i * 2);
}

static void
test_model_in_memory(void **state)
{
    (void)state;
    against_model(FIXTURE_MEMORY);
}

static void
test_model_in_lmdb(void **state)
{
    (void)state;
    against_model(FIXTURE_LMDB);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_in_memory),
        cmocka_unit_test(test_model_in_lmdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

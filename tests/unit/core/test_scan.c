/*
 * test_scan.c - the leapfrog over posting lists against brute force.
 *
 * Sparse and dense tags, several groups, dates, both directions, postings written and not
 * written yet, whole and in slices.
 */
#include "core_kit.h"

#include <stdio.h>
#include <time.h>

#include "core/scan.h"

enum
{
    ROWS = 600,
    ROUNDS = 3000,
};

/* What the brute force knows of a row. */
struct plain
{
    uint64_t at;
    char by;      /* 'a' to 'd'; 'd' is rare */
    char kind;    /* 0: default */
    char mention; /* 0: none */
    uint64_t reply_to;
    bool link;
};

static struct ck k;
static struct plain rows[ROWS + 1]; /* by seq */
static struct sb_thread thread;

static char
pick(const char *letters)
{
    return letters[pk_below(&k.random, strlen(letters))];
}

static void
add_row(uint64_t seq)
{
    struct plain *p = &rows[seq];
    *p = (struct plain){.by = pk_below(&k.random, 200) == 0 ? 'd' : pick("abc"),
                        .kind = pick("\001\001\001\001jk"),
                        .mention = pk_below(&k.random, 20) == 0 ? pick("ab") : '\0',
                        .reply_to = seq > 1 && pk_below(&k.random, 10) == 0
                                        ? 1 + pk_below(&k.random, seq - 1 < 3 ? seq - 1 : 3)
                                        : 0,
                        .link = pk_below(&k.random, 50) == 0};
    if (p->kind == '\001')
        p->kind = '\0';
    struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", "root");
    struct sb_bytes who = sb_bytes(&p->mention, 1);
    r.post.message = (struct sb_message){.by = sb_bytes(&p->by, 1),
                                         .text = p->link ? SB_LIT("http://x") : SB_LIT("text"),
                                         .kind = sb_bytes(&p->kind, p->kind != '\0'),
                                         .reply_to = {p->reply_to != 0, p->reply_to},
                                         .n_mentions = p->mention != '\0',
                                         .mentions = &who};
    struct sb_result res = ck_apply(&k, &r);
    assert_int_equal(res.err, 0);
    assert_int_equal(res.seq, seq);
    p->at = res.at;
    ck_pass_ms(&k, pk_below(&k.random, 3)); /* ties */
}

/* A filter as letters, for the brute force, and as a frame. */
struct wanted
{
    char by[4], kind[4], mention[4]; /* '\001' in kind: the default one */
    uint64_t thread_of, from, to;
    bool link;
};

static bool
in(const char *letters, char c)
{
    return letters[0] == '\0' || (c != '\0' && strchr(letters, c) != NULL);
}

static bool
plain_matches(const struct wanted *w, const struct plain *p)
{
    return in(w->by, p->by) && in(w->kind, p->kind == '\0' ? '\001' : p->kind) &&
           in(w->mention, p->mention) && (w->thread_of == 0 || p->reply_to == w->thread_of) &&
           (!w->link || p->link) && p->at >= w->from && p->at < w->to;
}

static void
letters_to_list(const char *letters, struct sb_str_list *out)
{
    for (const char *p = letters; *p != '\0'; p++)
        out->v[out->n++] = *p == '\001' ? SB_LIT("message") : sb_bytes(p, 1);
}

static void
some(char *out, const char *letters)
{
    size_t n = pk_below(&k.random, 3);
    for (size_t i = 0; i < n; i++)
        out[i] = pick(letters);
}

static struct wanted
draw_wanted(void)
{
    struct wanted w = {.to = UINT64_MAX};
    some(w.by, "abcdx");
    some(w.kind, "\001jkx");
    if (pk_below(&k.random, 3) == 0)
        some(w.mention, "abx");
    if (pk_below(&k.random, 6) == 0)
        w.thread_of = 1 + pk_below(&k.random, 4);
    w.link = pk_below(&k.random, 10) == 0;
    if (pk_below(&k.random, 4) == 0)
        w.from = rows[1 + pk_below(&k.random, ROWS)].at;
    if (pk_below(&k.random, 4) == 0)
        w.to = rows[1 + pk_below(&k.random, ROWS)].at;
    return w;
}

static void
to_filter(const struct wanted *w, struct sb_filter *out)
{
    struct sb_filter_frame f = {0};
    letters_to_list(w->by, &f.by);
    letters_to_list(w->kind, &f.kind);
    letters_to_list(w->mention, &f.mentions);
    if (w->link)
        f.has.v[f.has.n++] = SB_LIT("link");
    f.thread_of = (struct sb_opt_uint){w->thread_of != 0, w->thread_of};
    f.from = (struct sb_opt_uint){w->from != 0, w->from};
    f.to = (struct sb_opt_uint){w->to != UINT64_MAX, w->to};
    sb_filter_init(out, k.store, &f);
}

/* The seqs that a scan must give, look-ahead included. */
static uint32_t
brute(const struct wanted *w, enum sb_direction dir, uint64_t from, struct sb_pos bottom,
      uint32_t limit, uint64_t *out)
{
    uint32_t n = 0;
    int64_t by = dir == SB_OLDER ? -1 : 1;
    for (int64_t seq = (int64_t)from + by; seq >= 1 && seq <= ROWS && n <= limit; seq += by)
        if (plain_matches(w, &rows[seq]) &&
            sb_pos_cmp((struct sb_pos){rows[seq].at, (uint64_t)seq}, bottom) > 0)
            out[n++] = (uint64_t)seq;
    return n;
}

static void
run(struct sb_scan *s, bool sliced)
{
    struct sb_txn *txn;
    int rc = SB_ERR_BUSY;
    k.clock_step = sliced ? 1 : 0;
    for (int i = 0; rc == SB_ERR_BUSY; i++)
    {
        assert_true(i < 10000);
        assert_int_equal(k.store->ops->read_begin(k.store, &txn), 0);
        rc = sb_scan_run(s, txn, &k.ports, sliced ? k.clock_us : UINT64_MAX);
        if (rc == 0)
            assert_int_equal(sb_scan_reread(s, txn), 0);
        k.store->ops->read_end(txn);
    }
    assert_int_equal(rc, 0);
}

static void
one_round(void)
{
    static struct sb_scan s;
    static struct sb_filter f;
    static uint64_t want[ROWS];
    struct wanted w = draw_wanted();
    struct sb_access access = {.scope = SB_SCOPE_MEMBER};
    enum sb_direction dir = pk_below(&k.random, 2) == 0 ? SB_OLDER : SB_NEWER;
    uint32_t limit = 1 + (uint32_t)pk_below(&k.random, 20);
    uint64_t from = pk_below(&k.random, 3) != 0 ? 1 + pk_below(&k.random, ROWS)
                    : dir == SB_OLDER           ? ROWS + 1
                                                : 0;
    struct sb_pos pos = from == 0          ? SB_POS_MIN
                        : from == ROWS + 1 ? SB_POS_MAX
                                           : (struct sb_pos){rows[from].at, from};
    if (pk_below(&k.random, 4) == 0)
    {
        uint64_t join = 1 + pk_below(&k.random, ROWS);
        access.join = (struct sb_pos){rows[join].at, join};
    }
    to_filter(&w, &f);
    sb_scan_init(&s, thread.id, k.store->ops->published(k.store), dir, pos, &access, &f, limit,
                 UINT64_MAX);
    bool sliced = pk_below(&k.random, 3) == 0;
    run(&s, sliced);
    uint32_t n = brute(&w, dir, from, access.join, limit, want);
    assert_int_equal(s.n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(s.hits[i].pos.seq, want[i]);
    assert_int_equal(s.full, n == limit + 1);
    assert_int_equal(s.ended, n <= limit);
}

static void
against_brute_force(uint32_t derive_after)
{
    uint64_t seed = (uint64_t)time(NULL) * 1000003 + derive_after;
    print_message("seed %llu\n", (unsigned long long)seed);
    ck_open(&k, derive_after);
    k.random.state = seed;
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_thread(&k, "u", SB_HISTORY_ALL, SB_ACCESS_MEMBERS); /* a neighbour, not to be met */
    for (uint64_t seq = 1; seq <= ROWS; seq++)
    {
        add_row(seq);
        if (seq % 3 == 0)
            ck_post(&k, "u", "a", "http://other");
    }
    struct sb_txn *txn;
    assert_int_equal(k.store->ops->read_begin(k.store, &txn), 0);
    assert_int_equal(k.store->ops->thread_find(txn, SB_LIT("acme"), SB_LIT("t"), &thread), 0);
    k.store->ops->read_end(txn);
    for (int i = 0; i < ROUNDS; i++)
        one_round();
    ck_close(&k);
}

static void
test_all_written(void **state)
{
    (void)state;
    against_brute_force(1);
}

static void
test_some_written(void **state)
{
    (void)state;
    against_brute_force(250);
}

static void
test_none_written(void **state)
{
    (void)state;
    against_brute_force(100000);
}

/* ---- a turn of the loop is short ---- */

static const struct sb_store_ops *real_ops;
static uint64_t seeks, most_seeks; /* between two looks at the clock */

static int
counted_posting_next(struct sb_txn *t, uint64_t id, const struct sb_hash *tag, struct sb_pos pos,
                     enum sb_direction dir, struct sb_pos *out)
{
    if (++seeks > most_seeks)
        most_seeks = seeks;
    return real_ops->posting_next(t, id, tag, pos, dir, out);
}

static uint64_t
counted_clock(void *ctx)
{
    (void)ctx;
    seeks = 0;
    return ++k.clock_us;
}

/*
 * Two tags that alternate and never meet: the leapfrog goes through all of both lists
 * without a candidate, and must look at the clock all the same.
 */
static void
test_no_candidate_for_long(void **state)
{
    (void)state;
    static struct sb_scan s;
    static struct sb_filter f;
    struct sb_access access = {.scope = SB_SCOPE_MEMBER};
    ck_open(&k, 0);
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    for (int i = 0; i < 4000; i++)
    {
        struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", i % 2 == 0 ? "a" : "b");
        r.post.message.by = r.user;
        r.post.message.text = SB_LIT("x");
        r.post.message.kind = i == 0 || i % 2 == 1 ? SB_LIT("k") : (struct sb_bytes){0};
        assert_int_equal(ck_apply(&k, &r).err, 0);
    }
    /* Written now: until then every row of the thread is a candidate. */
    assert_int_equal(sb_store_settle(k.store), 0);
    struct sb_txn *txn;
    assert_int_equal(k.store->ops->read_begin(k.store, &txn), 0);
    assert_int_equal(k.store->ops->thread_find(txn, SB_LIT("acme"), SB_LIT("t"), &thread), 0);
    k.store->ops->read_end(txn);

    struct sb_filter_frame frame = {.by = {1, {SB_LIT("a")}}, .kind = {1, {SB_LIT("k")}}};
    sb_filter_init(&f, k.store, &frame);
    sb_scan_init(&s, thread.id, k.store->ops->published(k.store), SB_OLDER, SB_POS_MAX, &access, &f,
                 5, UINT64_MAX);
    real_ops = k.store->ops;
    struct sb_store_ops counted = *real_ops;
    struct sb_ports ports = k.ports;
    counted.posting_next = counted_posting_next;
    ports.clock_us = counted_clock;
    k.store->ops = &counted;
    int rc = SB_ERR_BUSY;
    int slices = 0;
    most_seeks = 0;
    for (; rc == SB_ERR_BUSY; slices++)
    {
        seeks = 0;
        assert_true(slices < 1000);
        assert_int_equal(real_ops->read_begin(k.store, &txn), 0);
        rc = sb_scan_run(&s, txn, &ports, 0);
        real_ops->read_end(txn);
    }
    k.store->ops = real_ops;
    assert_int_equal(rc, 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.hits[0].pos.seq, 1);
    assert_true(s.ended);
    assert_in_range(most_seeks, 1, 300);
    assert_in_range(slices, 10, 1000);
    ck_close(&k);
}

/*
 * Rows that fall out between the slices and the reply: what is left still keeps to the
 * page's bytes, and a row that fits now is taken.
 */
static void
test_reread_keeps_to_the_bytes(void **state)
{
    (void)state;
    static struct sb_scan s;
    static struct sb_filter f;
    static char text[1000];
    struct sb_access access = {.scope = SB_SCOPE_MEMBER};
    const size_t lengths[] = {100, 100, 900, 100};
    ck_open(&k, 0);
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    for (int i = 0; i < 4; i++)
    {
        memset(text, 'x', lengths[i]);
        text[lengths[i]] = '\0';
        ck_post(&k, "t", "a", text);
        ck_pass_ms(&k, 1);
    }
    struct sb_txn *txn;
    assert_int_equal(k.store->ops->read_begin(k.store, &txn), 0);
    assert_int_equal(k.store->ops->thread_find(txn, SB_LIT("acme"), SB_LIT("t"), &thread), 0);
    sb_filter_init(&f, k.store, &(struct sb_filter_frame){0});
    for (uint64_t bytes_max = 300; bytes_max < 2000; bytes_max += 10)
        for (uint64_t gone = 0; gone < 4; gone++)
        {
            access.floor = SB_POS_MIN;
            sb_scan_init(&s, thread.id, k.store->ops->published(k.store), SB_NEWER, SB_POS_MIN,
                         &access, &f, 50, bytes_max);
            assert_int_equal(sb_scan_run(&s, txn, &k.ports, UINT64_MAX), 0);
            access.floor = (struct sb_pos){CK_START_MS + gone - 1, gone};
            assert_int_equal(sb_scan_reread(&s, txn), 0);
            assert_int_equal(sb_scan_run(&s, txn, &k.ports, UINT64_MAX), 0);
            uint64_t bytes = 0;
            uint32_t kept = sb_scan_kept(&s);
            for (uint32_t i = 0; i < kept; i++)
            {
                bytes += s.hits[i].body.len;
                assert_int_equal(s.hits[i].pos.seq, gone + 1 + i);
            }
            assert_true(kept == 1 || bytes <= bytes_max);
            assert_int_equal(s.ended, gone + kept == 4);
            if (s.full)
                assert_true(bytes + s.hits[kept].body.len > bytes_max);
        }
    k.store->ops->read_end(txn);
    ck_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_written),
        cmocka_unit_test(test_some_written),
        cmocka_unit_test(test_none_written),
        cmocka_unit_test(test_no_candidate_for_long),
        cmocka_unit_test(test_reread_keeps_to_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_cursor_rule.c - which of a session's 64 cursors goes, against a naive model.
 *
 * "past that the oldest that is neither its walk's newest nor the one that the new cursor
 * was issued for goes, else all of the least recently used walk's."
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/cursor.h"
#include "pure_kit.h"

#define TTL_US UINT64_C(900000000)

static struct pk_random rnd;
static struct sb_ports ports;
static struct sb_cursor_ctx ctx;
static struct sb_cursor_table table;
static struct sb_digest digest;
static uint64_t now_us;

static void
draw(void *c, void *buf, size_t len)
{
    (void)c;
    pk_fill(&rnd, buf, len);
}

static int
setup(void **state)
{
    (void)state;
    ports = (struct sb_ports){.random = draw};
    ctx = (struct sb_cursor_ctx){.ports = &ports};
    ctx.keys.n = 1;
    rnd.state = 1;
    now_us = 1000;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    sb_cursor_table_finish(&table);
    return 0;
}

struct held
{
    uint8_t bytes[SB_CURSOR_BYTES];
    uint64_t walk, issued, pos, expires_us;
    bool live; /* as the model has it */
};

static struct held
issue(const struct sb_opened *from, uint64_t walk, uint64_t pos)
{
    struct held h = {.walk = walk, .pos = pos, .live = true, .expires_us = now_us + TTL_US};
    struct sb_issue i = {.binding = &digest,
                         .from = from,
                         .place = {.pos = {pos, pos}, .name = strdup("a name")},
                         .snapshot = 1000 + walk,
                         .now_ms = 5,
                         .now_us = now_us,
                         .cursor_ttl_ms = TTL_US / 1000,
                         .snapshot_ttl_ms = 100 * TTL_US / 1000};
    assert_int_equal(sb_cursor_issue(&table, &ctx, &i, h.bytes), 0);
    assert_true(table.n_slots <= SB_CURSORS_PER_SESSION);
    return h;
}

static bool
try_open(const struct held *h, struct sb_opened *out)
{
    enum sb_refusal cause;
    struct sb_opened o;
    int rc = sb_cursor_open(&table, &ctx, sb_bytes(h->bytes, SB_CURSOR_BYTES), &digest, now_us, 0,
                            &o, &cause);
    if (rc != 0)
        return false;
    assert_int_equal(o.place.pos.at, h->pos);
    assert_int_equal(o.snapshot, 1000 + h->walk);
    assert_string_equal(o.place.name, "a name");
    if (out != NULL)
        *out = o;
    return true;
}

/* The next page of a walk from one of its cursors. */
static struct held
next(const struct held *h, uint64_t pos)
{
    struct sb_opened o;
    assert_true(try_open(h, &o));
    return issue(&o, h->walk, pos);
}

/* Looks without using: opening counts as use of the walk. */
static bool
is_live(const struct held *h)
{
    uint32_t clock = table.clock;
    enum sb_refusal cause;
    struct sb_opened o;
    struct sb_digest other = digest;
    other.b[0] ^= 1;
    int rc = sb_cursor_open(&table, &ctx, sb_bytes(h->bytes, SB_CURSOR_BYTES), &other, now_us, 0,
                            &o, &cause);
    assert_int_equal(rc, SB_ERR_INVALID_CURSOR);
    assert_int_equal(table.clock, clock);
    return cause == SB_REFUSAL_BINDING;
}

static void
test_65th_of_one_walk_evicts_the_first(void **state)
{
    (void)state;
    struct held v[66];
    v[0] = issue(NULL, 1, 0);
    for (uint64_t i = 1; i < 64; i++)
        v[i] = next(&v[i - 1], i);
    for (int i = 0; i < 64; i++)
        assert_true(is_live(&v[i]));
    v[64] = next(&v[63], 64);
    assert_false(is_live(&v[0]));
    for (int i = 1; i < 65; i++)
        assert_true(is_live(&v[i]));
    v[65] = next(&v[64], 65);
    assert_false(is_live(&v[1]));
    assert_true(is_live(&v[2]));
}

static void
test_long_walk_spares_anothers_resting_cursor(void **state)
{
    (void)state;
    struct held rest = issue(NULL, 9, 900);
    struct held h = issue(NULL, 1, 0);
    for (uint64_t i = 1; i < 300; i++)
        h = next(&h, i);
    assert_true(is_live(&rest));
    assert_true(is_live(&h));
}

static void
test_64_walks_the_least_recently_used_goes(void **state)
{
    (void)state;
    struct held v[65];
    for (uint64_t i = 0; i < 64; i++)
        v[i] = issue(NULL, i, i);
    assert_true(try_open(&v[0], NULL)); /* used: now walk 1 is the one */
    v[64] = issue(NULL, 64, 64);
    assert_true(is_live(&v[0]));
    assert_false(is_live(&v[1]));
    for (int i = 2; i < 65; i++)
        assert_true(is_live(&v[i]));
}

/* All of that walk's cursors go, not only one. */
static void
test_lru_walk_goes_whole(void **state)
{
    (void)state;
    struct held v[65];
    struct sb_opened o;
    v[0] = issue(NULL, 0, 0);
    /* A walk of two of which none can go by the first rule: presented and newest. */
    assert_true(try_open(&v[0], &o));
    v[1] = issue(&o, 0, 1);
    for (uint64_t i = 2; i < 64; i++)
        v[i] = issue(NULL, i, i);
    struct held more = issue(&o, 0, 64); /* a slow page of walk 0, the least recently used */
    assert_false(is_live(&v[0]));
    assert_false(is_live(&v[1]));
    assert_true(is_live(&more));
    for (int i = 2; i < 64; i++)
        assert_true(is_live(&v[i]));
}

static void
test_presented_cursor_stays(void **state)
{
    (void)state;
    struct held v[64];
    v[0] = issue(NULL, 1, 0);
    for (uint64_t i = 1; i < 64; i++)
        v[i] = next(&v[i - 1], i);
    struct held again = next(&v[0], 100); /* the oldest is presented: the second goes */
    assert_true(is_live(&v[0]));
    assert_false(is_live(&v[1]));
    assert_true(is_live(&v[63]));
    assert_true(is_live(&again));
}

static void
test_replays_cursor_is_the_newest(void **state)
{
    (void)state;
    struct held first = issue(NULL, 1, 0);
    struct held second = next(&first, 1);
    struct held replay = next(&first, 1);
    struct held other = issue(NULL, 2, 0);
    for (uint64_t i = 0; i < 64; i++)
        other = next(&other, i + 1);
    assert_false(is_live(&first));
    assert_false(is_live(&second));
    assert_true(is_live(&replay));
}

/* Evicted while a scan ran: the walk goes on with its old snapshot and its old end. */
static void
test_evicted_during_a_scan(void **state)
{
    (void)state;
    struct held v[65];
    struct sb_opened o;
    struct sb_opened after;
    v[0] = issue(NULL, 0, 0);
    assert_true(try_open(&v[0], &o));
    uint64_t ends = o.ends_us;
    for (uint64_t i = 1; i < 65; i++)
        v[i] = issue(NULL, i, i);
    assert_false(is_live(&v[0]));
    now_us += 5000000;
    struct held h = issue(&o, 0, 7);
    assert_true(try_open(&h, &after));
    assert_int_equal(after.ends_us, ends);
    assert_int_equal(after.snapshot, 1000);
}

/* Expired ones make room before anything live goes. */
static void
test_expired_go_first(void **state)
{
    (void)state;
    struct held v[64];
    struct held w = {0};
    for (uint64_t i = 0; i < 32; i++)
        v[i] = issue(NULL, i, i);
    now_us += TTL_US / 2;
    v[32] = issue(NULL, 32, 0);
    for (uint64_t i = 33; i < 64; i++)
        v[i] = next(&v[32], i);
    now_us += TTL_US / 2;
    w = issue(NULL, 70, 0);
    assert_true(is_live(&w));
    for (int i = 32; i < 64; i++)
        assert_true(is_live(&v[i]));
    assert_int_equal(table.n_slots, 33);
}

/* ---- against the model ---- */

enum
{
    STEPS = 60000,
    HELD = 160, /* cursors that the imagined client still has */
};

static struct held model[HELD];
static uint64_t used[STEPS]; /* by walk: when last used */
static uint64_t newest[STEPS];
static uint64_t ticks;

static int
live_count(void)
{
    int n = 0;
    for (int i = 0; i < HELD; i++)
        n += model[i].live;
    return n;
}

static void
model_expire(void)
{
    for (int i = 0; i < HELD; i++)
        if (model[i].live && now_us >= model[i].expires_us)
            model[i].live = false;
}

static void
model_evict(const struct held *from)
{
    int oldest = -1;
    for (int i = 0; i < HELD; i++)
    {
        if (!model[i].live || newest[model[i].walk] == model[i].issued || &model[i] == from)
            continue;
        if (oldest < 0 || model[i].issued < model[oldest].issued)
            oldest = i;
    }
    if (oldest >= 0)
    {
        model[oldest].live = false;
        return;
    }
    int lru = -1;
    for (int i = 0; i < HELD; i++)
        if (model[i].live && (lru < 0 || used[model[i].walk] < used[model[lru].walk]))
            lru = i;
    uint64_t walk = model[lru].walk;
    for (int i = 0; i < HELD; i++)
        if (model[i].live && model[i].walk == walk)
            model[i].live = false;
}

/* A place for another one: that of a dead one. */
static struct held *
place(void)
{
    int start = (int)pk_below(&rnd, HELD);
    for (int i = 0; i < HELD; i++)
        if (!model[(start + i) % HELD].live)
            return &model[(start + i) % HELD];
    return NULL;
}

static void
model_issue(struct held *from, uint64_t walk)
{
    struct sb_opened o;
    if (from != NULL)
    {
        assert_true(try_open(from, &o));
        used[walk] = ++ticks;
    }
    if (live_count() == SB_CURSORS_PER_SESSION)
        model_evict(from);
    struct held h = issue(from == NULL ? NULL : &o, walk, ticks);
    h.issued = ++ticks;
    used[walk] = newest[walk] = h.issued;
    struct held *to = place();
    assert_non_null(to);
    *to = h;
}

static void
test_random_operations(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL) * 1000003 ^ (uint64_t)clock();
    print_message("seed %llu\n", (unsigned long long)seed);
    rnd.state = seed;
    uint64_t walks = 0;
    for (int step = 0; step < STEPS; step++)
    {
        now_us += pk_below(&rnd, step % 1000 == 999 ? 2 * TTL_US : TTL_US / 200);
        model_expire();
        struct held *h = &model[pk_below(&rnd, HELD)];
        bool phase = (step / 700) % 2 == 0; /* many walks, or a few long ones */
        if (h->live && pk_below(&rnd, 10) < (phase ? 3 : 9))
            model_issue(h, h->walk);
        else if (pk_below(&rnd, 10) < (phase ? 7 : 2))
            model_issue(NULL, walks++);
        for (int i = 0; i < HELD; i++)
        {
            bool live = model[i].issued != 0 && is_live(&model[i]);
            /* An expired one may still be in the table: it is refused as such. */
            if (now_us < model[i].expires_us && live != model[i].live)
                fail_msg("step %d: cursor of walk %llu is %d, model %d", step,
                         (unsigned long long)model[i].walk, live, model[i].live);
        }
    }
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_65th_of_one_walk_evicts_the_first),
        T(test_long_walk_spares_anothers_resting_cursor),
        T(test_64_walks_the_least_recently_used_goes),
        T(test_lru_walk_goes_whole),
        T(test_presented_cursor_stays),
        T(test_replays_cursor_is_the_newest),
        T(test_evicted_during_a_scan),
        T(test_expired_go_first),
        T(test_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_page.c - the page rule over the store in memory, through real frames.
 *
 * "Read limit + 1 in descending order, exclusive of the position; if there is an extra row,
 * drop the last descending row, and only then reverse; the next position is the oldest kept
 * row; no extra row: older is nil."
 */
#include "core_kit.h"

#include <stdio.h>

static struct ck k;
static struct ck_client *alice;

static int
setup(void **state)
{
    (void)state;
    ck_open(&k, 0);
    ck_thread(&k, "t", SB_HISTORY_ALL, SB_ACCESS_MEMBERS);
    ck_member(&k, "t", "alice", SB_ROLE_READER);
    alice = ck_connect(&k, "alice");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ck_drop(alice);
    ck_close(&k);
    return 0;
}

static void
posts(int n)
{
    for (int i = 0; i < n; i++)
    {
        ck_post(&k, "t", "bob", "hello");
        ck_pass_ms(&k, 10);
    }
}

/* A whole walk as "[6 7 8] [3 4 5] [1 2]"; `more` is further JSON of each request. */
static const char *
walk(const char *op, int limit, const char *more)
{
    static char text[65536];
    size_t n = 0;
    char cursor[256] = "null";
    const char *key = strcmp(op, "load_older") == 0 ? "older" : "newer";
    text[0] = '\0';
    for (int page = 0; page < 10000; page++)
    {
        json_t *r = ck_ask(alice, "{'op':'%s','thread':'t','limit':%d,'cursor':%s%s}", op, limit,
                           cursor, more);
        assert_string_equal(ck_error(r), "");
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s[%s]", page == 0 ? "" : " ",
                              ck_seqs(r));
        assert_true(n < sizeof(text));
        snprintf(cursor, sizeof(cursor), "%s", ck_cursor(r, key));
        if (strcmp(cursor, "null") == 0)
            return text;
    }
    fail_msg("a walk without an end");
    return NULL;
}

static void
test_the_trace(void **state)
{
    (void)state;
    posts(8);
    assert_string_equal(walk("load_older", 3, ""), "[6 7 8] [3 4 5] [1 2]");
    assert_string_equal(walk("load_newer", 3, ""), "[1 2 3] [4 5 6] [7 8]");
}

static void
test_other_limits(void **state)
{
    (void)state;
    posts(8);
    assert_string_equal(walk("load_older", 1, ""), "[8] [7] [6] [5] [4] [3] [2] [1]");
    assert_string_equal(walk("load_older", 2, ""), "[7 8] [5 6] [3 4] [1 2]");
    assert_string_equal(walk("load_older", 4, ""), "[5 6 7 8] [1 2 3 4]");
    assert_string_equal(walk("load_older", 7, ""), "[2 3 4 5 6 7 8] [1]");
    assert_string_equal(walk("load_older", 8, ""), "[1 2 3 4 5 6 7 8]");
    assert_string_equal(walk("load_older", 9, ""), "[1 2 3 4 5 6 7 8]");
    assert_string_equal(walk("load_newer", 1, ""), "[1] [2] [3] [4] [5] [6] [7] [8]");
    assert_string_equal(walk("load_newer", 2, ""), "[1 2] [3 4] [5 6] [7 8]");
    assert_string_equal(walk("load_newer", 4, ""), "[1 2 3 4] [5 6 7 8]");
    assert_string_equal(walk("load_newer", 7, ""), "[1 2 3 4 5 6 7] [8]");
    assert_string_equal(walk("load_newer", 8, ""), "[1 2 3 4 5 6 7 8]");
}

/* matrix-org/synapse#12903: 40 messages, 20 at a time, are exactly two requests. */
static void
test_even_division_and_nothing(void **state)
{
    (void)state;
    assert_string_equal(walk("load_older", 20, ""), "[]");
    assert_string_equal(walk("load_newer", 20, ""), "[]");
    posts(40);
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':20}");
    r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':20,'cursor':%s}",
               ck_cursor(r, "older"));
    assert_true(json_is_null(json_object_get(r, "older")));
    assert_int_equal(json_array_size(json_object_get(r, "messages")), 20);
}

/* ---- what the rule is not: two variants that look right and are not ---- */

struct variant
{
    int trim;     /* where the extra row is dropped */
    int boundary; /* which row the next page begins behind */
};

enum
{
    TRIM_LAST_READ,  /* the rule: before the reversal, the last row */
    TRIM_HEAD_AFTER, /* after the reversal, the head: the same row */
    TRIM_TAIL_AFTER, /* after the reversal, the tail: the newest row is lost */
    AT_OLDEST_KEPT,
    AT_LOOK_AHEAD, /* exclusive of the extra row: it is never sent */
};

/* The trace of eight messages, limit 3, by a variant. */
static const char *
variant_walk(struct variant v)
{
    static char text[512];
    size_t n = 0;
    int from = 9;
    text[0] = '\0';
    for (int page = 0; page < 20; page++)
    {
        int rows[4];
        int got = 0;
        for (int seq = from - 1; seq >= 1 && got < 4; seq--)
            rows[got++] = seq;
        bool extra = got == 4;
        int look_ahead = extra ? rows[3] : 0;
        if (extra && v.trim == TRIM_LAST_READ)
            got--;
        for (int i = 0; i < got / 2; i++)
        {
            int swap = rows[i];
            rows[i] = rows[got - 1 - i];
            rows[got - 1 - i] = swap;
        }
        int first = 0;
        if (extra && v.trim == TRIM_HEAD_AFTER)
            first = 1;
        if (extra && v.trim == TRIM_TAIL_AFTER)
            got--;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s[", page == 0 ? "" : " ");
        for (int i = first; i < got; i++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", i == first ? "" : " ",
                                  rows[i]);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "]");
        if (!extra)
            return text;
        from = v.boundary == AT_LOOK_AHEAD ? look_ahead : rows[first];
    }
    return "endless";
}

static void
test_wrong_variants(void **state)
{
    (void)state;
    const char *rule = "[6 7 8] [3 4 5] [1 2]";
    posts(8);
    assert_string_equal(walk("load_older", 3, ""), rule);
    assert_string_equal(variant_walk((struct variant){TRIM_LAST_READ, AT_OLDEST_KEPT}), rule);
    assert_string_equal(variant_walk((struct variant){TRIM_HEAD_AFTER, AT_OLDEST_KEPT}), rule);
    assert_string_not_equal(variant_walk((struct variant){TRIM_TAIL_AFTER, AT_OLDEST_KEPT}), rule);
    assert_string_equal(variant_walk((struct variant){TRIM_TAIL_AFTER, AT_OLDEST_KEPT}),
                        "[5 6 7] [1 2 3] []"); /* 8 and 4 never come */
    assert_string_equal(variant_walk((struct variant){TRIM_LAST_READ, AT_LOOK_AHEAD}),
                        "[6 7 8] [2 3 4] []"); /* 5 and 1 never come */
}

/* RocketChat/Rocket.Chat#41947: ties in one millisecond. */
static void
test_ties(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        ck_post(&k, "t", "bob", "same ms");
    assert_string_equal(walk("load_older", 2, ""), "[4 5] [2 3] [1]");
    assert_string_equal(walk("load_newer", 2, ""), "[1 2] [3 4] [5]");
    for (int i = 5; i < 45; i++)
        ck_post(&k, "t", "bob", "same ms");
    assert_int_equal(strlen(walk("load_older", 20, "")),
                     strlen("[26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45] "
                            "[6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25] "
                            "[1 2 3 4 5]"));
}

static void
test_before_and_after(void **state)
{
    (void)state;
    posts(8);
    json_t *r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':3,'before':6}");
    assert_string_equal(ck_seqs(r), "3 4 5");
    r = ck_ask(alice, "{'op':'load_older','thread':'t','limit':3,'cursor':%s}",
               ck_cursor(r, "older"));
    assert_string_equal(ck_seqs(r), "1 2");
    r = ck_ask(alice, "{'op':'load_newer','thread':'t','limit':3,'after':4}");
    assert_string_equal(ck_seqs(r), "5 6 7");
    r = ck_ask(alice, "{'op':'load_older','thread':'t','before':1}");
    assert_string_equal(ck_seqs(r), "");
    assert_true(json_is_null(json_object_get(r, "older")));
    r = ck_ask(alice, "{'op':'load_newer','thread':'t','after':8}");
    assert_string_equal(ck_seqs(r), "");
    assert_string_equal(ck_error(ck_ask(alice, "{'op':'load_older','thread':'t','before':9}")),
                        "not_found");
    assert_string_equal(ck_error(ck_ask(alice, "{'op':'load_newer','thread':'t','after':0}")),
                        "not_found");
    /* The row itself need not match the filter. */
    r = ck_ask(alice, "{'op':'load_older','thread':'t','before':6,'filter':{'by':['nobody']}}");
    assert_string_equal(ck_seqs(r), "");
}

/* "[3 4 | 5 6 7] older newer found": the rows around, and what else the reply says. */
static const char *
around(const char *where, int limit, const char *more)
{
    static char text[2048];
    json_t *r =
        ck_ask(alice, "{'op':'load_around','thread':'t',%s,'limit':%d%s}", where, limit, more);
    assert_string_equal(ck_error(r), "");
    snprintf(text, sizeof(text), "[%s]%s%s%s", ck_seqs(r),
             json_is_null(json_object_get(r, "older")) ? "" : " older",
             json_is_null(json_object_get(r, "newer")) ? "" : " newer",
             json_is_true(json_object_get(r, "found")) ? " found" : "");
    return text;
}

static void
test_around_seq(void **state)
{
    (void)state;
    posts(9);
    assert_string_equal(around("'seq':5", 4, ""), "[3 4 5 6] older newer found");
    assert_string_equal(around("'seq':5", 5, ""), "[3 4 5 6 7] older newer found");
    assert_string_equal(around("'seq':5", 1, ""), "[5] older newer found");
    assert_string_equal(around("'seq':5", 2, ""), "[4 5] older newer found");
    assert_string_equal(around("'seq':5", 9, ""), "[1 2 3 4 5 6 7 8 9] found");
    assert_string_equal(around("'seq':5", 8, ""), "[1 2 3 4 5 6 7 8] newer found");
    /* A side that ends is filled from the other one. */
    assert_string_equal(around("'seq':1", 4, ""), "[1 2 3 4] newer found");
    assert_string_equal(around("'seq':9", 4, ""), "[6 7 8 9] older found");
    assert_string_equal(around("'seq':8", 6, ""), "[4 5 6 7 8 9] older found");
    assert_string_equal(around("'seq':2", 6, ""), "[1 2 3 4 5 6] newer found");
    assert_string_equal(around("'seq':10", 4, ""), "[]");
    assert_string_equal(around("'seq':0", 4, ""), "[]");
    assert_string_equal(around("'seq':5", 4, ",'filter':{'by':['carol']}"), "[]");
}

static void
test_around_at(void **state)
{
    (void)state;
    char where[64];
    posts(9); /* seq n is at START + 10 * (n - 1) */
    snprintf(where, sizeof(where), "'at':%llu", (unsigned long long)CK_START_MS + 40);
    assert_string_equal(around(where, 4, ""), "[3 4 5 6] older newer found");
    snprintf(where, sizeof(where), "'at':%llu", (unsigned long long)CK_START_MS + 31);
    assert_string_equal(around(where, 4, ""), "[3 4 5 6] older newer found");
    assert_string_equal(around("'at':0", 4, ""), "[1 2 3 4] newer found");
    snprintf(where, sizeof(where), "'at':%llu", (unsigned long long)CK_START_MS + 81);
    assert_string_equal(around(where, 4, ""), "[6 7 8 9] older");
    assert_string_equal(around(where, 9, ""), "[1 2 3 4 5 6 7 8 9]");
    assert_string_equal(around("'at':5", 4, ",'filter':{'by':['carol']}"), "[]");
}

/* Both cursors of an around go on exactly where its rows end. */
static void
test_around_goes_on(void **state)
{
    (void)state;
    posts(12);
    for (int centre = 1; centre <= 12; centre++)
        for (int limit = 1; limit <= 13; limit++)
        {
            char all[512];
            json_t *r = ck_ask(alice, "{'op':'load_around','thread':'t','seq':%d,'limit':%d}",
                               centre, limit);
            char middle[128];
            snprintf(middle, sizeof(middle), "%s", ck_seqs(r));
            char newer[128] = "";
            char older[128] = "";
            if (!json_is_null(json_object_get(r, "older")))
                snprintf(older, sizeof(older), "%s ",
                         ck_seqs(ck_ask(alice, "{'op':'load_older','thread':'t','cursor':%s}",
                                        ck_cursor(r, "older"))));
            if (!json_is_null(json_object_get(r, "newer")))
                snprintf(newer, sizeof(newer), " %s",
                         ck_seqs(ck_ask(alice, "{'op':'load_newer','thread':'t','cursor':%s}",
                                        ck_cursor(r, "newer"))));
            snprintf(all, sizeof(all), "%s%s%s", older, middle, newer);
            assert_string_equal(all, "1 2 3 4 5 6 7 8 9 10 11 12");
        }
}

static void
test_page_bytes(void **state)
{
    (void)state;
    static char big[3001];
    memset(big, 'x', 3000);
    for (int i = 0; i < 4; i++)
        ck_post(&k, "t", "bob", "s");
    ck_post(&k, "t", "bob", big);
    for (int i = 0; i < 3; i++)
        ck_post(&k, "t", "bob", "s");
    k.settings.page_bytes = 1000;
    assert_string_equal(walk("load_older", 50, ""), "[6 7 8] [5] [1 2 3 4]");
    assert_string_equal(walk("load_newer", 50, ""), "[1 2 3 4] [5] [6 7 8]");
    k.settings.page_bytes = 1; /* at least one row */
    assert_string_equal(walk("load_older", 50, ""), "[8] [7] [6] [5] [4] [3] [2] [1]");
    assert_string_equal(walk("load_newer", 50, ""), "[1] [2] [3] [4] [5] [6] [7] [8]");
    assert_string_equal(around("'seq':5", 5, ""), "[5] older newer found");
    k.settings.page_bytes = 3200;
    assert_string_equal(around("'seq':6", 6, ""), "[4 5 6 7] older newer found");
    assert_string_equal(around("'at':0", 6, ""), "[1 2 3 4] newer found");
}

/* Every slice ends at its first look at the clock: the same pages. */
static void
test_tiny_slices(void **state)
{
    (void)state;
    posts(8);
    for (int i = 0; i < 3000; i++)
        ck_post(&k, "t", i % 1000 == 0 ? "bob" : "carol", "hello");
    static char whole[65536];
    const char *filters[] = {"",
                             ",'filter':{'by':['bob']}",
                             ",'filter':{'by':['bob','carol']}",
                             ",'filter':{'kind':['message'],'by':['bob']}",
                             ",'filter':{'kind':['message','join']}",
                             ",'filter':{'has':['link']}"};
    for (size_t f = 0; f < sizeof(filters) / sizeof(filters[0]); f++)
        for (int dir = 0; dir < 2; dir++)
        {
            const char *op = dir == 0 ? "load_older" : "load_newer";
            k.clock_step = 0;
            snprintf(whole, sizeof(whole), "%s", walk(op, 150, filters[f]));
            k.clock_step = 1;
            k.settings.scan_slice_us = 0;
            assert_string_equal(walk(op, 150, filters[f]), whole);
            k.settings.scan_slice_us = 200;
        }
    assert_true(alice->slices > 0);
}

/* RocketChat/Rocket.Chat#18578: a page of hidden rows must not read as the end. */
static void
test_500_joins(void **state)
{
    (void)state;
    ck_post(&k, "t", "bob", "first");
    for (int i = 0; i < 500; i++)
    {
        struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", "bob");
        r.post.message.by = r.user;
        r.post.message.kind = SB_LIT("join");
        r.post.message.text = SB_LIT("joined");
        assert_int_equal(ck_apply(&k, &r).err, 0);
    }
    ck_post(&k, "t", "bob", "last");
    for (int tiny = 0; tiny < 2; tiny++)
    {
        k.clock_step = tiny == 0 ? 0 : 1;
        k.settings.scan_slice_us = tiny == 0 ? 200 : 0;
        assert_string_equal(walk("load_older", 20, ",'filter':{'kind':['message']}"), "[1 502]");
        assert_string_equal(walk("load_newer", 1, ",'filter':{'kind':['message']}"), "[1] [502]");
    }
}

/* The rows of a walk's text without its pages. */
static const char *
rows_of(const char *w)
{
    static char rows[65536];
    size_t n = 0;
    for (; *w != '\0'; w++)
        if (strchr("[]", *w) == NULL && (*w != ' ' || (n != 0 && rows[n - 1] != ' ')))
            rows[n++] = *w;
    if (n != 0 && rows[n - 1] == ' ')
        n--;
    rows[n] = '\0';
    return rows;
}

/* BasedHardware/omi#12712: a budget that is used up makes a short page, not the end. */
static void
test_budget(void **state)
{
    (void)state;
    ck_post(&k, "t", "bob", "first");
    for (int i = 0; i < 3000; i++)
    {
        struct sb_record r = ck_record(&k, SB_RECORD_POST, "t", "bob");
        r.post.message.by = r.user;
        r.post.message.kind = SB_LIT("join");
        r.post.message.text = SB_LIT("joined");
        assert_int_equal(ck_apply(&k, &r).err, 0);
    }
    ck_post(&k, "t", "bob", "last");
    k.clock_step = 100;
    k.settings.scan_slice_us = 200;
    k.settings.scan_budget_us = 500;
    const char *w = walk("load_older", 20, ",'filter':{'kind':['message']}");
    assert_non_null(strstr(w, "[]")); /* short and not the end */
    assert_string_equal(rows_of(w), "3002 1");
    assert_string_equal(rows_of(walk("load_newer", 20, ",'filter':{'kind':['message']}")),
                        "1 3002");
}

static void
tally(const json_t *reply, int *count)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(reply, "messages"), i, m)
    {
        count[ck_uint(m, "seq")]++;
    }
}

/* All at once: budgets, slices and around, with a cursor that starts where it stopped. */
static void
test_budget_around(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++)
        ck_post(&k, "t", i == 1000 || i == 5 || i == 1990 ? "bob" : "carol", "hello");
    k.clock_step = 100;
    k.settings.scan_slice_us = 0;
    k.settings.scan_budget_us = 1;
    json_t *r = ck_ask(alice, "{'op':'load_around','thread':'t','seq':1001,'limit':9,"
                              "'filter':{'kind':['message'],'by':['bob']}}");
    assert_string_equal(ck_error(r), "");
    /* Whatever was found: both cursors lead to the rest, and nothing comes twice. */
    int count[2001] = {0};
    tally(r, count);
    for (int dir = 0; dir < 2; dir++)
    {
        const char *key = dir == 0 ? "older" : "newer";
        const char *cursor = ck_cursor(r, key);
        for (int i = 0; i < 100 && strcmp(cursor, "null") != 0; i++)
        {
            json_t *p = ck_ask(alice,
                               "{'op':'load_%s','thread':'t','cursor':%s,'limit':9,"
                               "'filter':{'kind':['message'],'by':['bob']}}",
                               key, cursor);
            assert_string_equal(ck_error(p), "");
            tally(p, count);
            cursor = ck_cursor(p, key);
        }
        assert_string_equal(cursor, "null");
    }
    for (int seq = 1; seq <= 2000; seq++)
        assert_int_equal(count[seq], seq == 6 || seq == 1001 || seq == 1991);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_the_trace),      T(test_other_limits),  T(test_even_division_and_nothing),
        T(test_wrong_variants), T(test_ties),          T(test_before_and_after),
        T(test_around_seq),     T(test_around_at),     T(test_around_goes_on),
        T(test_page_bytes),     T(test_tiny_slices),   T(test_500_joins),
        T(test_budget),         T(test_budget_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

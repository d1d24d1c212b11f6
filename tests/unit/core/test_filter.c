/*
 * test_filter.c - tags of messages, and filters over them: canonical form and matching.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/filter.h"
#include "pure_kit.h"

/* ---- tags ---- */

static struct sb_hash tags[SB_MAX_TAGS + 1];
static uint32_t n_tags;
static uint32_t flags;

static void
tag(const struct sb_message *m)
{
    memset(tags, 0xee, sizeof(tags));
    n_tags = sb_tags_of(&pk_store, m, tags, &flags);
    assert_true(n_tags <= SB_MAX_TAGS);
    for (uint32_t i = 0; i < n_tags; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_memory_not_equal(&tags[i], &tags[j], sizeof(tags[0]));
    /* Nothing is written behind the last possible one. */
    for (size_t i = 0; i < sizeof(tags[0]); i++)
        assert_int_equal(tags[SB_MAX_TAGS].b[i], 0xee);
}

static bool
has(const char *prefix, struct sb_bytes value)
{
    struct sb_hash h;
    sb_tag_hash(&pk_store, prefix, value, &h);
    for (uint32_t i = 0; i < n_tags; i++)
        if (memcmp(&tags[i], &h, sizeof(h)) == 0)
            return true;
    return false;
}

#define HAS(word) has("has:", SB_LIT(word))

static void
test_plain(void **state)
{
    (void)state;
    struct sb_message m = {.by = SB_LIT("alice"), .text = SB_LIT("hello")};
    struct sb_hash by;
    tag(&m);
    assert_int_equal(n_tags, 1);
    assert_int_equal(flags, 0);
    sb_tag_hash(&pk_store, "by:", m.by, &by);
    assert_memory_equal(&tags[0], &by, sizeof(by));
}

static void
test_kind(void **state)
{
    (void)state;
    struct sb_message m = {.by = SB_LIT("alice"), .kind = SB_LIT("join")};
    tag(&m);
    assert_int_equal(n_tags, 2);
    assert_true(has("kind:", SB_LIT("join")));
    assert_int_equal(flags, SB_ROW_KIND);
    m.kind = SB_LIT("message");
    tag(&m);
    assert_int_equal(n_tags, 1);
    assert_int_equal(flags, 0);
}

static void
test_attachments(void **state)
{
    (void)state;
    struct sb_attachment files[] = {{.type = SB_LIT("image/png")},
                                    {.type = SB_LIT("image/gif")},
                                    {.type = SB_LIT("text/plain")}};
    struct sb_message m = {.by = SB_LIT("a"), .attachments = files};
    struct
    {
        struct sb_bytes type;
        bool image;
    } each[] = {{SB_LIT("image/png"), true}, {SB_LIT("image/"), true}, {SB_LIT("image"), false},
                {SB_LIT("images/x"), false}, {SB_LIT(""), false},      {SB_LIT("video/mp4"), false},
                {SB_LIT("Image/png"), false}};
    tag(&m);
    assert_false(HAS("attachment"));
    m.n_attachments = 1;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
    {
        files[0].type = each[i].type;
        tag(&m);
        assert_true(HAS("attachment"));
        assert_int_equal(HAS("image"), each[i].image);
        assert_int_equal(HAS("file"), !each[i].image);
        assert_int_equal(n_tags, 3);
    }
    files[0].type = SB_LIT("image/png");
    m.n_attachments = 2;
    tag(&m);
    assert_int_equal(n_tags, 3);
    m.n_attachments = 3;
    tag(&m);
    assert_true(HAS("image") && HAS("file"));
    assert_int_equal(n_tags, 4);
}

static bool
links(const char *text)
{
    struct sb_message m = {.by = SB_LIT("a"), .text = sb_bytes_str(text)};
    /* Exactly as long, so that a read past the end is seen. */
    char *copy = test_malloc(m.text.len + 1);
    memcpy(copy, text, m.text.len);
    m.text.data = (uint8_t *)copy;
    tag(&m);
    test_free(copy);
    return HAS("link");
}

static void
test_links(void **state)
{
    (void)state;
    assert_true(links("http://"));
    assert_true(links("https://"));
    assert_true(links("see http://a.example"));
    assert_true(links("see xhttps://a"));
    assert_true(links("hhttp://"));
    assert_true(links("hthttphttp://x"));
    assert_true(links("http:/http://"));
    assert_true(links("\xf0\x9f\x98\x80https://x"));
    assert_false(links(""));
    assert_false(links("http:/"));
    assert_false(links("https:/"));
    assert_false(links("http:/ /x"));
    assert_false(links("ttp://"));
    assert_false(links("HTTP://X"));
    assert_false(links("ftp://x"));
    assert_false(links("hhhhhhhhhhhhhhh"));
    assert_false(links("https"));
}

static void
test_reply_and_tombstone(void **state)
{
    (void)state;
    struct sb_bytes who[] = {SB_LIT("bob")};
    struct sb_attachment files[] = {{.type = SB_LIT("image/png")}};
    struct sb_message m = {.by = SB_LIT("alice"),
                           .text = SB_LIT("http://x"),
                           .kind = SB_LIT("join"),
                           .reply_to = {true, 17},
                           .n_mentions = 1,
                           .mentions = who,
                           .n_attachments = 1,
                           .attachments = files};
    struct sb_hash reply;
    tag(&m);
    sb_tag_hash_reply(&pk_store, 17, &reply);
    assert_true(HAS("reply") && has("thread:", SB_LIT("17")) && has("mention:", SB_LIT("bob")));
    assert_true(HAS("link") && HAS("image"));
    assert_int_equal(flags, SB_ROW_KIND);
    m.deleted = true;
    tag(&m);
    assert_int_equal(n_tags, 4);
    assert_true(HAS("reply") && has("thread:", SB_LIT("17")) && has("kind:", SB_LIT("join")));
    assert_true(has("by:", SB_LIT("alice")));
    assert_int_equal(flags, SB_ROW_KIND | SB_ROW_DELETED);
}

static void
test_most_tags(void **state)
{
    (void)state;
    char names[2 * SB_MAX_MENTIONS][16];
    struct sb_bytes who[2 * SB_MAX_MENTIONS];
    struct sb_attachment files[] = {{.type = SB_LIT("image/png")}, {.type = SB_LIT("x")}};
    struct sb_message m = {.by = SB_LIT("alice"),
                           .text = SB_LIT("http://x"),
                           .kind = SB_LIT("join"),
                           .reply_to = {true, UINT64_MAX},
                           .n_mentions = SB_MAX_MENTIONS,
                           .mentions = who,
                           .n_attachments = 2,
                           .attachments = files};
    for (int i = 0; i < 2 * SB_MAX_MENTIONS; i++)
    {
        snprintf(names[i], sizeof(names[i]), "u%d", i);
        who[i] = sb_bytes_str(names[i]);
    }
    tag(&m);
    assert_int_equal(n_tags, SB_MAX_TAGS);
    assert_true(has("mention:", SB_LIT("u63")) && HAS("file") && HAS("link") && HAS("reply"));
    m.n_mentions = 2 * SB_MAX_MENTIONS; /* more than a request may have */
    tag(&m);
    assert_int_equal(n_tags, SB_MAX_TAGS);
    for (int i = 1; i < SB_MAX_MENTIONS; i++)
        who[i] = who[0];
    m.n_mentions = SB_MAX_MENTIONS;
    tag(&m);
    assert_int_equal(n_tags, SB_MAX_TAGS - SB_MAX_MENTIONS + 1);
}

/* ---- filters ---- */

static struct sb_str_list
list(const char *a, const char *b, const char *c)
{
    struct sb_str_list l = {0};
    if (a != NULL)
        l.v[l.n++] = sb_bytes_str(a);
    if (b != NULL)
        l.v[l.n++] = sb_bytes_str(b);
    if (c != NULL)
        l.v[l.n++] = sb_bytes_str(c);
    return l;
}

struct canonical
{
    size_t len;
    uint8_t b[SB_FILTER_BYTES];
};

static struct canonical
bytes_of(const struct sb_filter_frame *frame)
{
    struct canonical c;
    struct sb_filter f;
    memset(&f, 0x5a, sizeof(f)); /* nothing may come from before */
    sb_filter_init(&f, &pk_store, frame);
    c.len = sb_filter_bytes(&f, c.b);
    assert_true(c.len <= sizeof(c.b));
    return c;
}

static bool
equal(const struct sb_filter_frame *a, const struct sb_filter_frame *b)
{
    struct canonical x = bytes_of(a);
    struct canonical y = bytes_of(b);
    return x.len == y.len && memcmp(x.b, y.b, x.len) == 0;
}

#define FRAME(...) (&(struct sb_filter_frame){__VA_ARGS__})

static void
test_equal_filters(void **state)
{
    (void)state;
    assert_true(equal(FRAME(.by = list("a", "b", "c")), FRAME(.by = list("c", "a", "b"))));
    assert_true(equal(FRAME(.by = list("a", "b", "a")), FRAME(.by = list("b", "a", NULL))));
    assert_true(
        equal(FRAME(.has = list("link", "link", "link")), FRAME(.has = list("link", NULL, NULL))));
    assert_true(equal(FRAME(.kind = list("message", "join", NULL)),
                      FRAME(.kind = list("join", "message", "message"))));
    assert_true(equal(FRAME(.text = {true, SB_LIT("")}), FRAME(.by = {0})));
    assert_true(equal(FRAME(.from = {true, 0}), FRAME(.by = {0})));
    struct sb_str_list full = {.n = SB_MAX_LIST};
    char names[SB_MAX_LIST][16];
    for (int i = 0; i < SB_MAX_LIST; i++)
    {
        snprintf(names[i], sizeof(names[i]), "u%d", i);
        full.v[i] = sb_bytes_str(names[i]);
    }
    struct sb_filter_frame all = {
        .by = full, .has = full, .mentions = full, .kind = full, .thread_of = {true, 1}};
    struct sb_filter_frame turned = all;
    for (int i = 0; i < SB_MAX_LIST; i++)
        turned.by.v[i] = all.by.v[SB_MAX_LIST - 1 - i];
    assert_true(equal(&all, &turned));
    assert_int_equal(bytes_of(&all).len, 16 + 5 * 4 + (4 * SB_MAX_LIST + 1) * 16);
}

static void
test_different_filters(void **state)
{
    (void)state;
    const struct sb_filter_frame frames[] = {
        {.by = {0}},
        {.by = list("a", NULL, NULL)},
        {.by = list("b", NULL, NULL)},
        {.by = list("a", "b", NULL)},
        {.mentions = list("a", NULL, NULL)},
        {.kind = list("a", NULL, NULL)},
        {.kind = list("message", NULL, NULL)},
        {.kind = list("message", "a", NULL)},
        {.has = list("link", NULL, NULL)},
        {.by = list("a", NULL, NULL), .has = list("link", NULL, NULL)},
        {.by = list("a", NULL, NULL), .mentions = list("a", NULL, NULL)},
        {.thread_of = {true, 0}},
        {.thread_of = {true, 1}},
        {.from = {true, 1}},
        {.to = {true, 1}},
        {.to = {true, 0}},
        {.from = {true, 1}, .to = {true, 1}},
    };
    size_t n = sizeof(frames) / sizeof(frames[0]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            assert_int_equal(equal(&frames[i], &frames[j]), i == j);
}

static bool
matches(const struct sb_filter_frame *frame, const struct sb_message *m)
{
    struct sb_filter f;
    tag(m);
    struct sb_row row = {.pos = {m->at, 1}, .flags = flags, .n_tags = n_tags, .tags = tags};
    sb_filter_init(&f, &pk_store, frame);
    return sb_filter_matches(&f, &row);
}

static void
test_fields(void **state)
{
    (void)state;
    struct sb_bytes who[] = {SB_LIT("bob"), SB_LIT("carol")};
    struct sb_message m = {.at = 1000,
                           .by = SB_LIT("alice"),
                           .text = SB_LIT("https://x"),
                           .reply_to = {true, 4},
                           .n_mentions = 2,
                           .mentions = who};
    assert_true(matches(FRAME(.by = {0}), &m));
    assert_true(matches(FRAME(.by = list("alice", NULL, NULL)), &m));
    assert_true(matches(FRAME(.by = list("x", "alice", "y")), &m));
    assert_false(matches(FRAME(.by = list("bob", NULL, NULL)), &m));
    assert_true(matches(FRAME(.mentions = list("bob", NULL, NULL)), &m));
    assert_true(matches(FRAME(.mentions = list("carol", "x", NULL)), &m));
    assert_false(matches(FRAME(.mentions = list("alice", NULL, NULL)), &m));
    assert_true(matches(FRAME(.has = list("link", NULL, NULL)), &m));
    assert_true(matches(FRAME(.has = list("file", "reply", NULL)), &m));
    assert_false(matches(FRAME(.has = list("file", "image", "attachment")), &m));
    assert_true(matches(FRAME(.thread_of = {true, 4}), &m));
    assert_false(matches(FRAME(.thread_of = {true, 5}), &m));
    assert_true(
        matches(FRAME(.by = list("alice", NULL, NULL), .has = list("link", NULL, NULL)), &m));
    assert_false(
        matches(FRAME(.by = list("alice", NULL, NULL), .has = list("file", NULL, NULL)), &m));
}

static void
test_kinds(void **state)
{
    (void)state;
    struct sb_message plain = {.by = SB_LIT("a")};
    struct sb_message join = {.by = SB_LIT("a"), .kind = SB_LIT("join")};
    struct sb_message spelled = {.by = SB_LIT("a"), .kind = SB_LIT("message")};
    const struct sb_filter_frame *only = FRAME(.kind = list("message", NULL, NULL));
    const struct sb_filter_frame *joins = FRAME(.kind = list("join", NULL, NULL));
    const struct sb_filter_frame *both = FRAME(.kind = list("join", "message", NULL));
    assert_true(matches(only, &plain) && matches(only, &spelled) && !matches(only, &join));
    assert_true(!matches(joins, &plain) && !matches(joins, &spelled) && matches(joins, &join));
    assert_true(matches(both, &plain) && matches(both, &spelled) && matches(both, &join));
    plain.deleted = join.deleted = true;
    assert_true(matches(only, &plain) && !matches(only, &join) && matches(joins, &join));
}

static void
test_dates(void **state)
{
    (void)state;
    struct sb_message m = {.at = 1000, .by = SB_LIT("a")};
    assert_true(matches(FRAME(.from = {true, 1000}), &m));
    assert_false(matches(FRAME(.from = {true, 1001}), &m));
    assert_false(matches(FRAME(.to = {true, 1000}), &m));
    assert_true(matches(FRAME(.to = {true, 1001}), &m));
    assert_true(matches(FRAME(.from = {true, 1000}, .to = {true, 1001}), &m));
    assert_false(matches(FRAME(.from = {true, 1001}, .to = {true, 1000}), &m));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_kind),
        cmocka_unit_test(test_attachments),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_reply_and_tombstone),
        cmocka_unit_test(test_most_tags),
        cmocka_unit_test(test_equal_filters),
        cmocka_unit_test(test_different_filters),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

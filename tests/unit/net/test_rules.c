/* test_rules.c - net's pure rules: tags, addresses, origins, request lines, the demo's body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "net/internal.h"

/* ---- tags ---- */

static void
test_tag_comes_back_once(void **state)
{
    (void)state;
    struct sb_table t;
    struct sb_conn c;
    uint32_t slot;
    uint64_t tag;
    struct sb_opt_uint re = {0};
    sb_table_init(&t);
    assert_int_equal(sb_table_add(&t, &c, &slot), 0);
    assert_int_equal(sb_table_tag(&t, slot, (struct sb_opt_uint){true, UINT64_MAX}, &tag), 0);
    assert_ptr_equal(sb_table_untag(&t, tag, &re), &c);
    assert_true(re.set);
    assert_true(re.value == UINT64_MAX);
    assert_null(sb_table_untag(&t, tag, &re));
    assert_null(sb_table_untag(&t, UINT64_MAX, &re));
    sb_table_finish(&t);
}

static void
test_stale_tag_misses_the_next_connection(void **state)
{
    (void)state;
    struct sb_table t;
    struct sb_conn a, b;
    uint32_t slot_a, slot_b;
    uint64_t tag_a, tag_b;
    struct sb_opt_uint re = {0};
    sb_table_init(&t);
    sb_table_add(&t, &a, &slot_a);
    sb_table_tag(&t, slot_a, (struct sb_opt_uint){true, 1}, &tag_a);
    sb_table_remove(&t, slot_a);
    sb_table_add(&t, &b, &slot_b);
    assert_int_equal(slot_a, slot_b);
    sb_table_tag(&t, slot_b, (struct sb_opt_uint){true, 2}, &tag_b);
    assert_null(sb_table_untag(&t, tag_a, &re));
    assert_ptr_equal(sb_table_untag(&t, tag_b, &re), &b);
    assert_int_equal(re.value, 2);
    sb_table_finish(&t);
}

/* Thousands of connections and tags against a plain model. */
static void
test_tags_against_a_model(void **state)
{
    (void)state;
    enum
    {
        CONNS = 300,
        TAGS = 3000
    };
    static struct sb_conn conns[CONNS];
    static struct
    {
        uint64_t tag, re;
        int conn, life;
        bool out;
    } tags[TAGS];
    static int life[CONNS];
    static uint32_t slots[CONNS];
    static bool open[CONNS];
    struct sb_table t;
    sb_table_init(&t);
    printf("seed 7\n");
    srandom(7);
    for (int step = 0; step < 200000; step++)
    {
        int c = (int)(random() % CONNS), k = (int)(random() % TAGS);
        if (random() % 20 == 0 && !open[c])
        {
            assert_int_equal(sb_table_add(&t, &conns[c], &slots[c]), 0);
            open[c] = true;
        }
        else if (random() % 30 == 0 && open[c])
        {
            sb_table_remove(&t, slots[c]);
            open[c] = false;
            life[c]++;
        }
        else if (!tags[k].out && open[c])
        {
            tags[k].re = (uint64_t)step;
            tags[k].conn = c;
            tags[k].life = life[c];
            tags[k].out = true;
            struct sb_opt_uint re = {true, tags[k].re};
            assert_int_equal(sb_table_tag(&t, slots[c], re, &tags[k].tag), 0);
        }
        else if (tags[k].out)
        {
            struct sb_opt_uint re = {0};
            struct sb_conn *got = sb_table_untag(&t, tags[k].tag, &re);
            int owner = tags[k].conn;
            tags[k].out = false;
            if (open[owner] && life[owner] == tags[k].life)
            {
                assert_ptr_equal(got, &conns[owner]);
                assert_true(re.value == tags[k].re);
            }
            else
                assert_null(got);
        }
    }
    sb_table_finish(&t);
}

/* ---- addresses ---- */

static struct sb_address *
take(struct sb_addresses *a, const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return sb_address_take(a, (struct sockaddr *)&in);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return sb_address_take(a, (struct sockaddr *)&in6);
}

static void
test_addresses(void **state)
{
    (void)state;
    static struct sb_addresses a;
    sb_addresses_init(&a, 12345);
    struct sb_address *v4 = take(&a, "192.0.2.1");
    assert_ptr_equal(take(&a, "192.0.2.1"), v4);
    assert_ptr_equal(take(&a, "::ffff:192.0.2.1"), v4);
    assert_int_equal(v4->sockets, 3);
    assert_ptr_not_equal(take(&a, "192.0.2.2"), v4);
    struct sb_address *v6 = take(&a, "2001:db8::1");
    assert_ptr_equal(take(&a, "2001:db8::ffff:1:2"), v6);
    assert_ptr_not_equal(take(&a, "2001:db8:0:1::1"), v6);
    assert_false(v4->loopback);
    assert_true(take(&a, "127.8.9.1")->loopback);
    assert_true(take(&a, "::1")->loopback);
    assert_true(take(&a, "::ffff:127.0.0.1")->loopback);
    /* Not loopback though in the same /64 as ::1. */
    assert_false(take(&a, "::2")->loopback);
    sb_address_drop(&a, v4);
    sb_address_drop(&a, v4);
    assert_int_equal(v4->sockets, 1);
    sb_address_drop(&a, v4);
    assert_int_equal(take(&a, "192.0.2.1")->sockets, 1);
    sb_addresses_finish(&a);
}

/* ---- origins and hosts ---- */

static void
test_origins(void **state)
{
    (void)state;
    const char *const list[] = {"https://chat.example", "http://10.0.0.1:8080", NULL};
    const char *const none[] = {NULL};
    assert_true(sb_origin_allowed("https://chat.example", list, "0.0.0.0", 8484));
    assert_true(sb_origin_allowed("http://10.0.0.1:8080", list, "0.0.0.0", 8484));
    assert_false(sb_origin_allowed("https://chat.example:443", list, "0.0.0.0", 8484));
    assert_false(sb_origin_allowed("https://chat.example.", list, "0.0.0.0", 8484));
    assert_false(sb_origin_allowed("http://localhost:8484", list, "0.0.0.0", 8484));
    assert_true(sb_origin_allowed("http://localhost:8484", none, "10.1.1.1", 8484));
    assert_true(sb_origin_allowed("https://10.1.1.1:8484", NULL, "10.1.1.1", 8484));
    assert_true(sb_origin_allowed("http://[fd00::1]:8484", NULL, "fd00::1", 8484));
    assert_true(sb_origin_allowed("http://[fd00::1]:8484", NULL, "[fd00::1]", 8484));
    assert_true(sb_origin_allowed("http://[::1]:8484", NULL, "10.1.1.1", 8484));
    assert_false(sb_origin_allowed("http://[::1]", NULL, "10.1.1.1", 8484));
    assert_true(sb_origin_allowed("http://localhost", NULL, "10.1.1.1", 80));
    assert_false(sb_origin_allowed("https://localhost", NULL, "10.1.1.1", 80));
    assert_true(sb_origin_allowed("https://localhost", NULL, "10.1.1.1", 443));
    assert_false(sb_origin_allowed("null", NULL, "10.1.1.1", 8484));
    assert_false(sb_origin_allowed("", NULL, "10.1.1.1", 8484));
    assert_false(sb_origin_allowed("http://localhost:84840", NULL, "10.1.1.1", 8484));
    assert_true(sb_host_is_loopback("localhost:8484", 8484));
    assert_true(sb_host_is_loopback("[::1]:8484", 8484));
    assert_true(sb_host_is_loopback("127.0.0.1", 80));
    assert_false(sb_host_is_loopback("127.0.0.1", 8484));
    assert_false(sb_host_is_loopback("localhost.evil:8484", 8484));
}

/* ---- request lines ---- */

static void
test_request_lines(void **state)
{
    (void)state;
    static const struct
    {
        const char *line;
        enum sb_greet_verdict want;
    } cases[] = {
        {"G", SB_GREET_MORE},
        {"GET ", SB_GREET_MORE},
        {"GET /v", SB_GREET_MORE},
        {"GET /v1", SB_GREET_MORE},
        {"GET /v1 ", SB_GREET_PASS},
        {"GET /v1\n", SB_GREET_PASS},
        {"GET /a/b.js?x=//.. ", SB_GREET_PASS},
        {"GET /a.b/c..d/e. ", SB_GREET_PASS},
        {"GET //v1", SB_GREET_REFUSE},
        {"GET /a//b HTTP/1.1", SB_GREET_REFUSE},
        {"GET /. ", SB_GREET_REFUSE},
        {"GET /.. ", SB_GREET_REFUSE},
        {"GET /.git/config ", SB_GREET_REFUSE},
        {"GET /v1%00 ", SB_GREET_REFUSE},
        {"GET /%2E%2e/x ", SB_GREET_REFUSE},
        {"GET /a%5Cb ", SB_GREET_REFUSE},
        {"GET /a\\b ", SB_GREET_REFUSE},
        {"GET /a%20b ", SB_GREET_PASS},
        {"\x16\x03\x01\x00\xc8", SB_GREET_MORE},
        {"notamethodatallreally", SB_GREET_PASS},
        {"\r\nGET //v1 HTTP/1.1", SB_GREET_PASS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (sb_greet_judge(cases[i].line, strlen(cases[i].line)) != cases[i].want)
            fail_msg("case %zu: %s", i, cases[i].line);
    char longest[512];
    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "GET /", 5);
    assert_int_equal(sb_greet_judge(longest, sizeof(longest)), SB_GREET_PASS);
}

/* ---- the demo's body ---- */

static void
test_demo_body(void **state)
{
    (void)state;
    char user[8];
    const char *good = " { \"user\"\t:\r\n\"alice\" } ";
    assert_int_equal(sb_demo_parse(good, strlen(good), user, sizeof(user)), 0);
    assert_string_equal(user, "alice");
    /* Every prefix is refused, and so is a name that does not fit. */
    for (size_t n = 0; n < strlen(good) - 1; n++)
        assert_int_equal(sb_demo_parse(good, n, user, sizeof(user)), SB_ERR_BAD_REQUEST);
    const char *longer = "{\"user\":\"12345678\"}";
    assert_int_equal(sb_demo_parse(longer, strlen(longer), user, sizeof(user)), SB_ERR_BAD_REQUEST);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tag_comes_back_once),
        cmocka_unit_test(test_stale_tag_misses_the_next_connection),
        cmocka_unit_test(test_tags_against_a_model),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_request_lines),
        cmocka_unit_test(test_demo_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

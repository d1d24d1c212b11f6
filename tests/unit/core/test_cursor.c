/*
 * test_cursor.c - cursors, byte for byte: form, authentication, expiry, bindings.
 *
 * Which cursor goes when there are too many is in test_cursor_rule.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sodium.h>

#include "core/cursor.h"
#include "pure_kit.h"

enum
{
    MINUTE_MS = 60 * 1000,
    HOUR_MS = 60 * MINUTE_MS,
};

#define START_MS UINT64_C(1700000000000)
#define START_US UINT64_C(5000000000)

static struct pk_random rnd;
static struct sb_ports ports;
static struct sb_cursor_ctx ctx;
static struct sb_cursor_table table;
static struct sb_digest digest;
static uint64_t now_ms, now_us;

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
    rnd.state = 7;
    ports = (struct sb_ports){.random = draw};
    ctx = (struct sb_cursor_ctx){.ports = &ports};
    ctx.keys.n = 1;
    ctx.keys.v[0].id = 0x01020304;
    memset(ctx.keys.v[0].key, 0x11, 32);
    memset(ctx.binding_key, 0x22, 32);
    memset(digest.b, 0x33, 32);
    now_ms = START_MS;
    now_us = START_US;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    sb_cursor_table_finish(&table);
    return 0;
}

static void
issue(const struct sb_opened *from, uint64_t at, uint8_t out[SB_CURSOR_BYTES])
{
    struct sb_issue i = {
        .binding = &digest,
        .from = from,
        .place = {.pos = {at, at}},
        .snapshot = 42,
        .now_ms = now_ms,
        .now_us = now_us,
        .cursor_ttl_ms = 15 * MINUTE_MS,
        .snapshot_ttl_ms = HOUR_MS,
    };
    assert_int_equal(sb_cursor_issue(&table, &ctx, &i, out), 0);
}

/* 0, or 1 + the cause. */
static int
open_as(struct sb_bytes cursor, const struct sb_digest *as, uint64_t horizon, struct sb_opened *out)
{
    enum sb_refusal cause = SB_REFUSAL_COUNT;
    struct sb_opened o;
    int rc = sb_cursor_open(&table, &ctx, cursor, as, now_us, horizon, &o, &cause);
    if (rc == 0)
    {
        assert_int_equal(cause, SB_REFUSAL_COUNT);
        if (out != NULL)
            *out = o;
        return 0;
    }
    assert_int_equal(rc, SB_ERR_INVALID_CURSOR);
    assert_true(cause < SB_REFUSAL_COUNT);
    return 1 + (int)cause;
}

static int
open_bytes(const uint8_t *cursor, size_t len)
{
    return open_as(sb_bytes(cursor, len), &digest, 0, NULL);
}

#define REFUSED(cause) (1 + (int)SB_REFUSAL_##cause)

static void
test_bytes(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    uint8_t handle[16];
    uint8_t tag[16];
    struct pk_random again = rnd;
    issue(NULL, 9, c);
    pk_fill(&again, handle, 16);
    assert_int_equal(c[0], 1);
    assert_memory_equal(c + 1, "\x01\x02\x03\x04", 4);
    uint64_t expiry = 0;
    for (int i = 5; i < 13; i++)
        expiry = expiry << 8 | c[i];
    assert_int_equal(expiry, START_MS + 15 * MINUTE_MS);
    assert_memory_equal(c + 13, handle, 16);
    crypto_generichash(tag, 16, c, 29, ctx.keys.v[0].key, 32);
    assert_memory_equal(c + 29, tag, 16);

    struct sb_opened o;
    assert_int_equal(open_as(sb_bytes(c, sizeof(c)), &digest, 42, &o), 0);
    assert_int_equal(o.place.pos.at, 9);
    assert_int_equal(o.place.pos.seq, 9);
    assert_int_equal(o.snapshot, 42);
    assert_int_equal(o.ends_us, START_US + UINT64_C(1000) * HOUR_MS);
    assert_memory_equal(o.handle, handle, 16);
}

static void
test_every_bit(void **state)
{
    (void)state;
    uint8_t good[SB_CURSOR_BYTES];
    issue(NULL, 9, good);
    for (size_t bit = 0; bit < 8 * SB_CURSOR_BYTES; bit++)
    {
        uint8_t c[SB_CURSOR_BYTES];
        memcpy(c, good, sizeof(c));
        c[bit / 8] = (uint8_t)(c[bit / 8] ^ 1 << bit % 8);
        int expected = bit < 8    ? REFUSED(MALFORMED)
                       : bit < 40 ? REFUSED(UNKNOWN_KEY)
                                  : REFUSED(BAD_TAG);
        assert_int_equal(open_bytes(c, sizeof(c)), expected);
    }
    assert_int_equal(open_bytes(good, sizeof(good)), 0);
}

static void
test_other_lengths(void **state)
{
    (void)state;
    uint8_t c[SB_MAX_CURSOR + 1] = {0};
    issue(NULL, 9, c);
    for (size_t len = 0; len <= SB_MAX_CURSOR; len++)
    {
        uint8_t *copy = malloc(len + 1); /* exactly as long: a read past it is seen */
        memcpy(copy, c, len);
        int expected = len == SB_CURSOR_BYTES ? 0 : REFUSED(MALFORMED);
        assert_int_equal(open_bytes(copy, len), expected);
        free(copy);
    }
    assert_int_equal(open_as((struct sb_bytes){0}, &digest, 0, NULL), REFUSED(MALFORMED));
}

static void
test_foreign_handle(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    struct sb_cursor_table other = {0};
    issue(NULL, 9, c);
    struct sb_cursor_table mine = table;
    table = other; /* another session's table, the same process keys */
    assert_int_equal(open_bytes(c, sizeof(c)), REFUSED(UNKNOWN_HANDLE));
    sb_cursor_table_finish(&table);
    table = mine;
    assert_int_equal(open_bytes(c, sizeof(c)), 0);
}

static void
test_expiry_to_the_microsecond(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    issue(NULL, 9, c);
    now_us = START_US + UINT64_C(1000) * 15 * MINUTE_MS - 1;
    assert_int_equal(open_bytes(c, sizeof(c)), 0);
    now_us++;
    assert_int_equal(open_bytes(c, sizeof(c)), REFUSED(EXPIRED));
    now_us += UINT64_C(1000) * HOUR_MS;
    assert_int_equal(open_bytes(c, sizeof(c)), REFUSED(EXPIRED));
}

static uint64_t
told_expiry(const uint8_t c[SB_CURSOR_BYTES])
{
    uint64_t v = 0;
    for (int i = 5; i < 13; i++)
        v = v << 8 | c[i];
    return v;
}

static void
pass(uint64_t ms)
{
    now_ms += ms;
    now_us += 1000 * ms;
}

/* A walk of one page each 14 minutes ends an hour after its first page. */
static void
test_walk_ends_with_its_snapshot(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    struct sb_opened o;
    issue(NULL, 1, c);
    for (uint64_t i = 2; i <= 5; i++)
    {
        pass(14 * MINUTE_MS);
        assert_int_equal(open_as(sb_bytes(c, sizeof(c)), &digest, 0, &o), 0);
        issue(&o, i, c);
    }
    /* 56 minutes have passed: 4 are left, not 15. */
    assert_int_equal(told_expiry(c), START_MS + HOUR_MS);
    pass(4 * MINUTE_MS - 1);
    assert_int_equal(open_bytes(c, sizeof(c)), 0);
    now_us += 999;
    assert_int_equal(open_bytes(c, sizeof(c)), 0);
    now_us += 1;
    assert_int_equal(open_bytes(c, sizeof(c)), REFUSED(EXPIRED));
}

static void
test_wall_clock_jumps(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    issue(NULL, 9, c);
    for (int jump = -1; jump <= 1; jump++)
    {
        now_ms = START_MS + (uint64_t)(jump * HOUR_MS);
        now_us = START_US + UINT64_C(1000) * 15 * MINUTE_MS - 1;
        assert_int_equal(open_bytes(c, sizeof(c)), 0);
        now_us++;
        assert_int_equal(open_bytes(c, sizeof(c)), REFUSED(EXPIRED));
    }
}

static void
test_key_rotation(void **state)
{
    (void)state;
    uint8_t old[SB_CURSOR_BYTES];
    uint8_t fresh[SB_CURSOR_BYTES];
    issue(NULL, 9, old);
    ctx.keys.v[1] = ctx.keys.v[0];
    ctx.keys.v[0].id = 77;
    memset(ctx.keys.v[0].key, 0x44, 32);
    ctx.keys.n = 2;
    assert_int_equal(open_bytes(old, sizeof(old)), 0);
    issue(NULL, 9, fresh);
    assert_memory_equal(fresh + 1, "\x00\x00\x00\x4d", 4);
    assert_int_equal(open_bytes(fresh, sizeof(fresh)), 0);
    ctx.keys.n = 1;
    assert_int_equal(open_bytes(old, sizeof(old)), REFUSED(UNKNOWN_KEY));
    assert_int_equal(open_bytes(fresh, sizeof(fresh)), 0);
    /* The new key's id under the old key's tag. */
    memcpy(old + 1, fresh + 1, 4);
    assert_int_equal(open_bytes(old, sizeof(old)), REFUSED(BAD_TAG));
}

static void
test_horizon(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    issue(NULL, 9, c);
    struct sb_bytes b = sb_bytes(c, sizeof(c));
    assert_int_equal(open_as(b, &digest, 41, NULL), 0);
    assert_int_equal(open_as(b, &digest, 42, NULL), 0);
    assert_int_equal(open_as(b, &digest, 43, NULL), REFUSED(SNAPSHOT_GONE));
}

static struct sb_access access_now;
static struct sb_filter filter_now;

static struct sb_binding
base_binding(void)
{
    static struct sb_filter_frame empty;
    access_now = (struct sb_access){.scope = SB_SCOPE_MEMBER,
                                    .role = SB_ROLE_READER,
                                    .history = SB_HISTORY_SINCE_JOIN,
                                    .join = {100, 5}};
    sb_filter_init(&filter_now, &pk_store, &empty);
    return (struct sb_binding){.purpose = SB_PURPOSE_ROWS,
                               .direction = SB_OLDER,
                               .tenant = SB_LIT("acme"),
                               .user = SB_LIT("alice"),
                               .thread = 7,
                               .epoch = 3,
                               .access = &access_now,
                               .filter = &filter_now};
}

static void
refused_as(const struct sb_bytes cursor, const struct sb_binding *b)
{
    struct sb_digest d;
    sb_binding_digest(&ctx, b, &d);
    assert_int_equal(open_as(cursor, &d, 0, NULL), REFUSED(BINDING));
}

#define CHANGED(...)                                                                               \
    do                                                                                             \
    {                                                                                              \
        struct sb_binding b = base_binding();                                                      \
        __VA_ARGS__;                                                                               \
        refused_as(cursor, &b);                                                                    \
    } while (0)

static void
test_each_binding(void **state)
{
    (void)state;
    uint8_t c[SB_CURSOR_BYTES];
    struct sb_bytes cursor = sb_bytes(c, sizeof(c));
    struct sb_binding same = base_binding();
    struct sb_filter_frame frame = {.by = {1, {SB_LIT("bob")}}};
    sb_binding_digest(&ctx, &same, &digest);
    issue(NULL, 9, c);
    CHANGED(b.purpose = SB_PURPOSE_MEMBERS);
    CHANGED(b.purpose = SB_PURPOSE_THREADS);
    CHANGED(b.direction = SB_NEWER);
    CHANGED(b.tenant = SB_LIT("acmf"));
    CHANGED(b.tenant = SB_LIT("acm"));
    CHANGED(b.user = SB_LIT("alic"));
    CHANGED(b.user = SB_LIT("Alice"));
    CHANGED(b.tenant = SB_LIT("acmea"), b.user = SB_LIT("lice"));
    CHANGED(b.thread = 8);
    CHANGED(b.thread = UINT64_C(7) << 32);
    CHANGED(b.epoch = 4);
    CHANGED(b.service = true);
    CHANGED(b.access = NULL);
    CHANGED(b.filter = NULL);
    CHANGED(access_now.scope = SB_SCOPE_SERVICE);
    CHANGED(access_now.scope = SB_SCOPE_TENANT);
    CHANGED(access_now.history = SB_HISTORY_ALL);
    CHANGED(access_now.join.at = 101);
    CHANGED(access_now.join.seq = 6);
    CHANGED(sb_filter_init(&filter_now, &pk_store, &frame));
    CHANGED(filter_now.from = 1);
    CHANGED(filter_now.to = 1);

    /* A mere change of role, and what retention took, are no other walk. */
    struct sb_digest d;
    access_now = (struct sb_access){.scope = SB_SCOPE_MEMBER, .role = SB_ROLE_MODERATOR};
    struct sb_binding b = base_binding();
    access_now.role = SB_ROLE_MODERATOR;
    access_now.floor = (struct sb_pos){150, 1};
    sb_binding_digest(&ctx, &b, &d);
    assert_int_equal(open_as(cursor, &d, 0, NULL), 0);

    /* The key counts: another process makes other digests. */
    memset(ctx.binding_key, 0x23, 32);
    sb_binding_digest(&ctx, &same, &d);
    assert_memory_not_equal(d.b, digest.b, sizeof(d.b));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_bytes),
        T(test_every_bit),
        T(test_other_lengths),
        T(test_foreign_handle),
        T(test_expiry_to_the_microsecond),
        T(test_walk_ends_with_its_snapshot),
        T(test_wall_clock_jumps),
        T(test_key_rotation),
        T(test_horizon),
        T(test_each_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

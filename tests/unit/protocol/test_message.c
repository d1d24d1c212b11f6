/*
 * test_message.c - a stored row's body and back, and that decoding allocates nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_kit.h"
#include "protocol/decode.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS
/* In front of libc's: counts what msgpack-c and the decoder take. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
static size_t allocations;

void *
malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    allocations++;
    return __libc_realloc(p, n);
}
#endif

static void
test_no_allocation(void **state)
{
    (void)state;
#if COUNTS_ALLOCATIONS
    static uint8_t out[4096];
    static char many[200000] = "{'op':'threads','id':1,'x':[0";
    for (size_t i = 0, at = strlen(many); i < SB_MAX_ELEMENTS - 8; i++, at += 2)
        memcpy(many + at, ",0", 3);
    memcpy(many + strlen(many), "]}", 3);
    const char *const frames[] = {
        "{'op':'load_older','id':1,'thread':'t','filter':{'by':['a','b'],'has':['image']}}",
        "{'op':'post','id':1,'thread':'t','text':{'$repeat':['x',40000]},'meta':{'a':[1,2,{}]}}",
        "{'op':'hello','id':1,'token':'t','seen':{'a':1,'b':2}}",
        "{'op':'post','id':1,'thread':'t','text':''}",
        many,
    };
    struct sb_decoder *d = sb_decoder_create();
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
    {
        struct sb_bytes f = kit_pack(frames[i]);
        struct sb_request r;
        struct sb_decode_error err;
        size_t before = allocations;
        for (int n = 0; n < 100; n++)
        {
            assert_int_not_equal(sb_request_decode(d, f, &r, &err), SB_DECODE_MALFORMED);
            struct sb_writer w;
            sb_writer_init(&w, out, sizeof(out));
            sb_write_version_reply(&w, r.id.value, 7);
            assert_false(w.failed);
        }
        assert_int_equal(allocations, before);
        kit_free(f);
    }
    sb_decoder_destroy(d);
#else
    print_message("skipped: the sanitizer owns the allocator\n");
    skip();
#endif
}

static const uint8_t packed_meta[] = {0x82, 0xa1, 'a', 0xcd, 0x01, 0x2c, 0xa1, 'b', 0x91, 0xc0};

static size_t
pack(const struct sb_message *m, uint8_t *out, size_t cap)
{
    struct sb_writer w;
    sb_writer_init(&w, out, cap);
    sb_write_message(&w, m);
    assert_false(w.failed);
    return w.len;
}

static void
test_round_trip(void **state)
{
    (void)state;
    const struct sb_bytes mentions[] = {SB_LIT("alice"), SB_LIT("bob")};
    const struct sb_attachment attachments[] = {
        {SB_LIT("a"), SB_LIT("image/png"), SB_LIT("u"), 7, {true, 3}, {true, 4}},
        {SB_LIT("b"), SB_LIT(""), SB_LIT("v"), 0, {false, 0}, {false, 0}}};
    const struct sb_message full = {.seq = 5,
                                    .at = 1700000000000,
                                    .version = 9,
                                    .by = SB_LIT("alice"),
                                    .text = SB_LIT("hello"),
                                    .kind = SB_LIT("action"),
                                    .edited_at = {true, 1700000000001},
                                    .reply_to = {true, 2},
                                    .n_mentions = 2,
                                    .mentions = mentions,
                                    .n_attachments = 2,
                                    .attachments = attachments,
                                    .source_system = SB_LIT("irc"),
                                    .source_id = SB_LIT("x1"),
                                    .meta = sb_bytes(packed_meta, sizeof(packed_meta))};
    const struct sb_message rows[] = {
        full,
        {.seq = 1, .at = 2, .version = 3, .by = SB_LIT("b"), .text = SB_LIT("")},
        {.seq = 1, .at = 2, .version = 3, .deleted = true},
    };
    static uint8_t first[1024], second[1024];
    struct sb_decoder *d = sb_decoder_create();
    assert_non_null(d);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    {
        struct sb_message m;
        size_t n = pack(&rows[i], first, sizeof(first));
        assert_int_equal(sb_message_decode(d, sb_bytes(first, n), &m), 0);
        assert_int_equal(m.deleted, rows[i].deleted);
        assert_int_equal(pack(&m, second, sizeof(second)), n);
        assert_memory_equal(first, second, n);
        for (size_t cut = 0; cut < n; cut++) /* every shorter one is damage */
            assert_int_equal(sb_message_decode(d, sb_bytes(first, cut), &m), -1);
    }
    sb_decoder_destroy(d);
}

static void
test_damaged(void **state)
{
    (void)state;
    const char *const bodies[] = {"[]",
                                  "{}",
                                  "{'seq':1,'at':2}",
                                  "{'seq':'1','at':2,'version':3}",
                                  "{'seq':1,'at':2,'version':3,'mentions':'x'}",
                                  "{'seq':1,'at':2,'version':3,'attachments':[1]}",
                                  "{'seq':1,'at':2,'version':3,'source':{'system':'x'}}",
                                  "{'seq':1,'at':2,'version':3,'deleted':1}"};
    struct sb_decoder *d = sb_decoder_create();
    struct sb_message m;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
    {
        struct sb_bytes body = kit_pack(bodies[i]);
        if (sb_message_decode(d, body, &m) != -1)
            fail_msg("accepted: %s", bodies[i]);
        kit_free(body);
    }
    struct sb_bytes body = kit_unhex("81 07 01"); /* a key that is no string */
    assert_int_equal(sb_message_decode(d, body, &m), -1);
    kit_free(body);
    sb_decoder_destroy(d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_vectors.c - the golden vectors against the decoder and the writer.
 *
 * Requests: the frame decodes to its outcome, and an accepted one means what `value` (or
 * `meaning`) says. Replies: the structs below give the frame byte for byte. Every vector
 * of a reply has a struct and the other way round.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_kit.h"
#include "reply_vectors.h"
#include "request_kit.h"

static struct sb_decoder *decoder;

static json_t *
load(const char *file)
{
    char path[4096];
    json_error_t err;
    (void)snprintf(path, sizeof(path), "%s/%s", SB_VECTORS, file);
    json_t *rows = json_load_file(path, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &err);
    if (rows == NULL)
        fail_msg("%s:%d: %s", path, err.line, err.text);
    assert_true(json_array_size(rows) > 0);
    return rows;
}

static const char *
text_of(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));
    if (s == NULL)
        fail_msg("a vector has no %s", key);
    return s;
}

static void
same_json(const char *name, const json_t *got, const json_t *want)
{
    if (json_equal(got, want))
        return;
    char *a = json_dumps(got, JSON_COMPACT), *b = json_dumps(want, JSON_COMPACT);
    fail_msg("%s: %s, expected %s", name, a, b);
}

/* `value` packs to `hex`, unless the vector shows another encoding of it. */
static void
check_value(const json_t *row, struct sb_bytes frame)
{
    const json_t *value = json_object_get(row, "value");
    if (value == NULL)
        return;
    json_t *got = kit_unpack(frame);
    same_json(text_of(row, "name"), got, value);
    json_decref(got);
}

static void
check_meaning(const json_t *row, const struct sb_request *r)
{
    static uint8_t buf[SB_MAX_FRAME];
    struct sb_writer w;
    sb_writer_init(&w, buf, sizeof(buf));
    kit_write_request(&w, r);
    assert_false(w.failed);
    json_t *got = kit_unpack(sb_bytes(buf, w.len));
    const json_t *want = json_object_get(row, "meaning");
    same_json(text_of(row, "name"), got, want == NULL ? json_object_get(row, "value") : want);
    json_decref(got);
}

static void
check_refusal(const json_t *row, const struct sb_request *r, const struct sb_decode_error *err)
{
    const char *name = text_of(row, "name");
    const json_t *re = json_object_get(row, "re");
    if (strcmp(sb_code_name(err->code), text_of(row, "outcome")) != 0)
        fail_msg("%s: %s (%s)", name, sb_code_name(err->code), err->message);
    if (r->id.set != json_is_integer(re))
        fail_msg("%s: re", name);
    if (r->id.set && (json_int_t)r->id.value != json_integer_value(re))
        fail_msg("%s: re %llu", name, (unsigned long long)r->id.value);
}

static void
check_request(const json_t *row)
{
    const char *name = text_of(row, "name"), *outcome = text_of(row, "outcome");
    struct sb_bytes frame = kit_unhex(text_of(row, "hex"));
    struct sb_request r;
    struct sb_decode_error err = {SB_CODE_INTERNAL, ""};
    assert_string_equal(text_of(row, "direction"), "client");
    enum sb_decode_status s = sb_request_decode(decoder, frame, &r, &err);
    enum sb_decode_status want = strcmp(outcome, "ok") == 0          ? SB_DECODE_OK
                                 : strcmp(outcome, "malformed") == 0 ? SB_DECODE_MALFORMED
                                                                     : SB_DECODE_BAD;
    if (s != want)
        fail_msg("%s: status %d, expected %s (%s)", name, (int)s, outcome, err.message);
    if (s == SB_DECODE_BAD)
        check_refusal(row, &r, &err);
    if (s == SB_DECODE_OK)
    {
        const char *wrong = kit_check_request(&r, frame);
        if (wrong != NULL)
            fail_msg("%s: %s", name, wrong);
        check_meaning(row, &r);
    }
    if (s != SB_DECODE_MALFORMED)
        check_value(row, frame);
    kit_free(frame);
}

static void
check_file(const char *file)
{
    json_t *rows = load(file);
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_request(json_array_get(rows, i));
    print_message("%s: %zu vectors\n", file, json_array_size(rows));
    json_decref(rows);
}

static void
test_requests(void **state)
{
    (void)state;
    check_file("requests.json");
    check_file("refused.json");
    check_file("malformed.json");
}

/* Each operation of the contract has a vector: accepted where it is built, else refused. */
static void
test_every_operation(void **state)
{
    (void)state;
    json_t *ok = load("requests.json"), *no = load("refused.json");
    for (enum sb_op op = 0; op < SB_OP_UNKNOWN; op++)
    {
        const json_t *rows = sb_op_built(op) ? ok : no;
        bool found = false;
        for (size_t i = 0; i < json_array_size(rows); i++)
        {
            const json_t *value = json_object_get(json_array_get(rows, i), "value");
            const char *name = json_string_value(json_object_get(value, "op"));
            found = found || (name != NULL && strcmp(name, sb_op_name(op)) == 0);
        }
        if (!found)
            fail_msg("no vector of %s", sb_op_name(op));
    }
    json_decref(ok);
    json_decref(no);
}

static void
test_replies(void **state)
{
    (void)state;
    static uint8_t buf[SB_MAX_FRAME];
    json_t *rows = load("replies.json");
    for (size_t i = 0; i < json_array_size(rows); i++)
    {
        const json_t *row = json_array_get(rows, i);
        const char *name = text_of(row, "name");
        struct sb_writer w;
        sb_writer_init(&w, buf, sizeof(buf));
        if (!reply_vector_write(&w, name))
            fail_msg("no struct for the vector \"%s\"", name);
        assert_false(w.failed);
        char *hex = kit_hex(sb_bytes(buf, w.len));
        if (strcmp(hex, text_of(row, "hex")) != 0)
            fail_msg("%s: %s", name, hex);
        check_value(row, sb_bytes(buf, w.len));
        free(hex);
    }
    assert_int_equal(json_array_size(rows), reply_vector_count());
    print_message("replies.json: %zu vectors\n", json_array_size(rows));
    json_decref(rows);
}

/* Events are not written by this server yet: their form alone. */
static void
test_events(void **state)
{
    (void)state;
    json_t *rows = load("events.json");
    for (size_t i = 0; i < json_array_size(rows); i++)
    {
        const json_t *row = json_array_get(rows, i);
        struct sb_bytes frame = kit_unhex(text_of(row, "hex"));
        struct sb_bytes packed = kit_pack_value(json_object_get(row, "value"));
        if (!sb_bytes_eq(frame, packed))
            fail_msg("%s: %s", text_of(row, "name"), kit_hex(packed));
        kit_free(frame);
        kit_free(packed);
    }
    json_decref(rows);
}

static int
setup(void **state)
{
    (void)state;
    decoder = sb_decoder_create();
    return decoder == NULL;
}

static int
teardown(void **state)
{
    (void)state;
    sb_decoder_destroy(decoder);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_every_operation),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

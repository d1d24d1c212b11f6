/*
 * test_document.c - PROTOCOL.md against the source: limits, words and example bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_kit.h"

static char *text; /* of PROTOCOL.md */

static int
setup(void **state)
{
    (void)state;
    FILE *f = fopen(SB_PROTOCOL_MD, "rb");
    if (f == NULL)
        return -1;
    text = calloc(1, 1024 * 1024);
    size_t n = text == NULL ? 0 : fread(text, 1, 1024 * 1024 - 1, f);
    (void)fclose(f);
    return n > 0 ? 0 : -1;
}

static int
teardown(void **state)
{
    (void)state;
    free(text);
    return 0;
}

static size_t
count(const char *needle)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, needle)) != NULL; p += strlen(needle))
        n++;
    return n;
}

static void
expect(const char *needle)
{
    if (count(needle) == 0)
        fail_msg("PROTOCOL.md has no \"%s\"", needle);
}

static void
test_limits(void **state)
{
    (void)state;
    size_t n = 0;
    char row[256];
#define X(name, value, what)                                                                       \
    (void)snprintf(row, sizeof(row), "\n| `%s` | %d | %s |\n", #name, value, what);                \
    expect(row);                                                                                   \
    n++;
    SB_LIMITS(X)
#undef X
    assert_int_equal(count("\n| `SB_"), n); /* and no other */
}

static void
test_words(void **state)
{
    (void)state;
    char word[64];
    for (enum sb_op op = 0; op < SB_OP_UNKNOWN; op++)
    {
        (void)snprintf(word, sizeof(word), "%s", sb_op_name(op));
        expect(word);
        if (!sb_op_built(op))
            continue;
        (void)snprintf(word, sizeof(word), "\n### %s\n", sb_op_name(op));
        expect(word);
    }
    for (enum sb_code code = 0; code <= SB_CODE_INTERNAL; code++)
    {
        (void)snprintf(word, sizeof(word), "\n| `%s` |", sb_code_name(code));
        expect(word);
    }
    static const int closes[] = {1001, 1003, 1007, 1009, 4401, 4403, 4408, 4409, 4413, 4429};
    for (size_t i = 0; i < sizeof(closes) / sizeof(closes[0]); i++)
    {
        (void)snprintf(word, sizeof(word), "\n| %d |", closes[i]);
        expect(word);
    }
}

static const json_t *
find_vector(json_t *const *files, size_t n, const char *name)
{
    for (size_t f = 0; f < n; f++)
    {
        for (size_t i = 0; i < json_array_size(files[f]); i++)
        {
            const json_t *row = json_array_get(files[f], i);
            if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
                return row;
        }
    }
    return NULL;
}

/* An example is "```hex NAME", a line of JSON, lines of hex, "```". */
static void
check_example(char *name, const json_t *row)
{
    char *json = strchr(name, '\n') + 1;
    char *hex = strchr(json, '\n') + 1;
    char *end = strstr(hex, "\n```");
    assert_non_null(end);
    json_t *value = json_loadb(json, (size_t)(hex - 1 - json), 0, NULL);
    if (value == NULL || !json_equal(value, json_object_get(row, "value")))
        fail_msg("the JSON of the example \"%.40s\" is not the vector's", name);
    json_decref(value);
    const char *want = json_string_value(json_object_get(row, "hex"));
    for (const char *p = hex; p < end; p++)
    {
        if (*p == '\n')
            continue;
        if (*p != *want++)
            fail_msg("the bytes of the example \"%.40s\" are not the vector's", name);
    }
    assert_int_equal(*want, '\0');
}

static void
test_examples(void **state)
{
    (void)state;
    static const char *const names[] = {"requests", "refused", "replies", "events"};
    json_t *files[4];
    for (size_t i = 0; i < 4; i++)
    {
        char path[4096];
        (void)snprintf(path, sizeof(path), SB_VECTORS "/%s.json", names[i]);
        files[i] = json_load_file(path, JSON_ALLOW_NUL, NULL);
        assert_non_null(files[i]);
    }
    static const char fence[] = "\n```hex ";
    size_t n = 0;
    for (char *p = text; (p = strstr(p, fence)) != NULL; n++)
    {
        char name[128];
        p += strlen(fence);
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, "\n"), p);
        const json_t *row = find_vector(files, 4, name);
        if (row == NULL)
            fail_msg("no vector \"%s\"", name);
        check_example(p, row);
    }
    print_message("%zu examples\n", n);
    assert_true(n >= 20);
    for (size_t i = 0; i < 4; i++)
        json_decref(files[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/*
 * test_base.c - the buffer's hard maximum, the error list, the log's form and its limiter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"

static void
test_buf_grows_to_its_maximum_and_no_further(void **state)
{
    (void)state;
    struct sb_buf b;
    sb_buf_init(&b, 1000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sb_buf_append(&b, SB_LIT("0123456789")), 0);
    assert_int_equal(b.len, 1000);
    assert_true(b.cap <= 1000);
    assert_int_equal(sb_buf_append(&b, SB_LIT("x")), SB_ERR_TOO_LARGE);
    assert_int_equal(sb_buf_append(&b, sb_bytes(NULL, 0)), 0);
    assert_int_equal(b.len, 1000);
    assert_memory_equal(b.data + 990, "0123456789", 10);
    assert_int_equal(sb_buf_reserve(&b, SIZE_MAX), SB_ERR_TOO_LARGE); /* no sum overflows */
    sb_buf_finish(&b);
    assert_null(b.data);
    assert_int_equal(b.max, 1000);
}

static void
test_buf_failed_append_changes_nothing(void **state)
{
    (void)state;
    struct sb_buf b;
    sb_buf_init(&b, 8);
    assert_int_equal(sb_buf_append(&b, SB_LIT("abcde")), 0);
    assert_int_equal(sb_buf_append(&b, SB_LIT("fghi")), SB_ERR_TOO_LARGE);
    assert_true(sb_bytes_eq(sb_buf_view(&b), SB_LIT("abcde")));
    assert_int_equal(sb_buf_append(&b, SB_LIT("fgh")), 0);
    assert_true(sb_bytes_eq(sb_buf_view(&b), SB_LIT("abcdefgh")));
    sb_buf_finish(&b);
}

static void
test_buf_consume_and_reset(void **state)
{
    (void)state;
    struct sb_buf b;
    sb_buf_init(&b, 100000);
    assert_int_equal(sb_buf_append(&b, SB_LIT("abcdef")), 0);
    sb_buf_consume(&b, 0);
    sb_buf_consume(&b, 2);
    assert_true(sb_bytes_eq(sb_buf_view(&b), SB_LIT("cdef")));
    sb_buf_consume(&b, 4);
    assert_int_equal(b.len, 0);
    uint8_t *kept = b.data;
    sb_buf_reset(&b, 4096);
    assert_ptr_equal(b.data, kept);
    assert_int_equal(sb_buf_reserve(&b, 50000), 0);
    sb_buf_reset(&b, 4096);
    assert_null(b.data);
    assert_int_equal(b.cap, 0);
    assert_int_equal(sb_buf_append(&b, SB_LIT("again")), 0);
    sb_buf_finish(&b);
}

static void
test_bytes_order(void **state)
{
    (void)state;
    assert_true(sb_bytes_cmp(SB_LIT("a"), SB_LIT("b")) < 0);
    assert_true(sb_bytes_cmp(SB_LIT("a"), SB_LIT("aa")) < 0);
    assert_true(sb_bytes_cmp(SB_LIT("\xff"), SB_LIT("a")) > 0); /* bytes are unsigned */
    assert_true(sb_bytes_cmp(SB_LIT(""), SB_LIT("a")) < 0);
    assert_int_equal(sb_bytes_cmp(sb_bytes(NULL, 0), SB_LIT("")), 0);
    assert_true(sb_bytes_eq(sb_bytes(NULL, 0), SB_LIT("")));
    assert_int_equal(sb_bytes_str(NULL).len, 0);
}

static void
test_every_error_has_a_distinct_number_and_a_text(void **state)
{
    (void)state;
    static const int all[] = {
#define X(id, code, text) SB_ERR_##id,
        SB_ERRORS(X)
#undef X
    };
    size_t n = sizeof(all) / sizeof(all[0]);
    for (size_t i = 0; i < n; i++)
    {
        assert_int_equal(all[i], -(int)i - 1);
        assert_true(strlen(sb_error_text(all[i])) > 5);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(sb_error_name(all[i]), sb_error_name(all[j]));
    }
    assert_int_equal(sb_error_code(SB_ERR_FORBIDDEN), SB_CODE_FORBIDDEN);
    assert_int_equal(sb_error_code(SB_ERR_FULL), SB_CODE_UNAVAILABLE);
    assert_string_equal(sb_error_name(SB_ERR_INVALID_CURSOR), "INVALID_CURSOR");
    /* What is not on the list is an internal error, never a read past the table. */
    static const int strange[] = {0, 1, -1000, SB_ERR_INTERNAL - 1, -2147483647 - 1};
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
        assert_int_equal(sb_error_code(strange[i]), SB_CODE_INTERNAL);
}

/* ---- log: its stderr is a pipe while a test runs ---- */

static int saved_stderr, pipe_read;
static char captured[8192];

static int
capture_start(void **state)
{
    (void)state;
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0)
        return -1;
    saved_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    pipe_read = ends[0];
    return 0;
}

static int
capture_stop(void **state)
{
    (void)state;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(pipe_read);
    sb_log_set_level(SB_LOG_INFO);
    return 0;
}

static const char *
logged(void)
{
    ssize_t n = read(pipe_read, captured, sizeof(captured) - 1);
    captured[n < 0 ? 0 : n] = '\0';
    return captured;
}

static void
test_log_line(void **state)
{
    (void)state;
    sb_log(SB_LOG_WARN, "store", "page %d of %s", 7, "x");
    const char *line = logged();
    /* 2024-01-02T03:04:05.678Z warn store: page 7 of x */
    assert_int_equal(line[4], '-');
    assert_int_equal(line[10], 'T');
    assert_int_equal(line[19], '.');
    assert_string_equal(line + 23, "Z warn store: page 7 of x\n");
}

static void
test_log_levels(void **state)
{
    (void)state;
    enum sb_log_level level;
    sb_log(SB_LOG_DEBUG, "a", "hidden by default");
    assert_string_equal(logged(), "");
    sb_log_set_level(SB_LOG_ERROR);
    sb_log(SB_LOG_WARN, "a", "hidden");
    assert_string_equal(logged(), "");
    sb_log(SB_LOG_ERROR, "a", "shown");
    assert_non_null(strstr(logged(), "shown"));
    assert_int_equal(sb_log_level_parse("debug", &level), 1);
    assert_int_equal(level, SB_LOG_DEBUG);
    assert_int_equal(sb_log_level_parse("DEBUG", &level), 0);
    assert_int_equal(sb_log_level_parse("", &level), 0);
    assert_int_equal(level, SB_LOG_DEBUG);
}

static void
test_log_long_line_is_cut(void **state)
{
    (void)state;
    char *text = malloc(5001);
    memset(text, 'y', 5000);
    text[5000] = '\0';
    struct sb_log_limit limit = {.burst = 1, .dropped = 4294967295u};
    sb_log_limited(&limit, 1000, SB_LOG_INFO, "a", "%s", text);
    free(text);
    size_t n = strlen(logged());
    assert_true(n > 900 && n <= 1024);
    assert_int_equal(captured[n - 1], '\n');
    assert_non_null(strstr(captured, "(4294967295 like it not shown)"));
}

static void
test_log_limiter(void **state)
{
    (void)state;
    struct sb_log_limit limit = {.burst = 2};
    for (int i = 0; i < 10; i++)
        sb_log_limited(&limit, 5000, SB_LOG_INFO, "a", "n%d", i);
    const char *text = logged();
    assert_non_null(strstr(text, "n0\n"));
    assert_non_null(strstr(text, "n1\n"));
    assert_null(strstr(text, "n2"));
    sb_log_limited(&limit, 6000, SB_LOG_INFO, "a", "later");
    assert_non_null(strstr(logged(), "later (8 like it not shown)\n"));
    sb_log_limited(&limit, 6000, SB_LOG_INFO, "a", "last");
    assert_non_null(strstr(logged(), "last\n")); /* told once */
}

int
main(void)
{
#define LOG(f) cmocka_unit_test_setup_teardown(f, capture_start, capture_stop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_grows_to_its_maximum_and_no_further),
        cmocka_unit_test(test_buf_failed_append_changes_nothing),
        cmocka_unit_test(test_buf_consume_and_reset),
        cmocka_unit_test(test_bytes_order),
        cmocka_unit_test(test_every_error_has_a_distinct_number_and_a_text),
        LOG(test_log_line),
        LOG(test_log_levels),
        LOG(test_log_long_line_is_cut),
        LOG(test_log_limiter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

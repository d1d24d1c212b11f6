/*
 * test_change_log.c - the embedded change log over a fake apply and jobs run by hand.
 *
 * The fake apply accepts each record and numbers it; it can be told to fail. Jobs are kept
 * until the test runs them, so that what happens while one runs is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/apply.h"
#include "log/change_log.h"

#define MAX_SEEN 4096

static struct
{
    int apply_err; /* of the next batches */
    int job_err;   /* run_job refuses */
    size_t batches, sizes[64];
    uint64_t next_version;
    size_t published, published_at[64]; /* results told when it was published */
    bool job;
    void (*run)(void *arg);
    void (*done)(void *arg);
    void *arg;
    size_t n_seen;
    uint64_t tags[MAX_SEEN], versions[MAX_SEEN];
    int errors[MAX_SEEN];
    char texts[MAX_SEEN];
    int fatal;
    size_t fatal_at; /* results told before */
    size_t append_in_callback;
    struct sb_change_log *log;
} t;

/* ---- fakes ---- */

struct sb_applier
{
    int unused;
};

struct sb_applier *
sb_applier_create(void)
{
    return calloc(1, sizeof(struct sb_applier));
}

void
sb_applier_destroy(struct sb_applier *a)
{
    free(a);
}

int
sb_apply(struct sb_applier *a, struct sb_store *store, const struct sb_record *const *records,
         struct sb_result *results, size_t n)
{
    (void)a;
    (void)store;
    t.sizes[t.batches++ % 64] = n;
    for (size_t i = 0; i < n; i++)
    {
        results[i].err = t.apply_err;
        if (t.apply_err == 0)
            results[i].version = ++t.next_version;
        if (records[i]->thread.len == 3) /* a refused record */
            results[i].err = SB_ERR_FORBIDDEN;
    }
    return t.apply_err;
}

/* Record and text in one block, as the real one does it. */
struct sb_record *
sb_record_copy(const struct sb_record *r)
{
    struct sb_record *copy = malloc(sizeof(*copy) + r->post.message.text.len);
    if (copy == NULL)
        return NULL;
    *copy = *r;
    uint8_t *text = (uint8_t *)(copy + 1);
    if (r->post.message.text.len != 0)
        memcpy(text, r->post.message.text.data, r->post.message.text.len);
    copy->post.message.text = sb_bytes(text, r->post.message.text.len);
    return copy;
}

static void
fake_publish(struct sb_store *s)
{
    (void)s;
    t.published_at[t.published++ % 64] = t.n_seen;
}

static const struct sb_store_ops ops = {.publish = fake_publish};
static struct sb_store store = {&ops};

static int
keep_job(void *ctx, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
    (void)ctx;
    if (t.job_err != 0)
        return t.job_err;
    assert_false(t.job); /* one at a time */
    t.job = true;
    t.run = run;
    t.done = done;
    t.arg = arg;
    return 0;
}

static int
run_inline(void *ctx, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
    (void)ctx;
    run(arg);
    done(arg);
    return 0;
}

static void
do_job(void)
{
    assert_true(t.job);
    t.run(t.arg);
    t.job = false;
    t.done(t.arg);
}

static int
append(uint64_t tag, const char *text)
{
    struct sb_record r = {.op = SB_RECORD_POST};
    r.post.message.text = sb_bytes_str(text);
    return sb_change_log_append(t.log, &r, tag);
}

static void
applied(void *ctx, uint64_t tag, const struct sb_record *record, const struct sb_result *result)
{
    (void)ctx;
    assert_true(t.n_seen < MAX_SEEN);
    t.tags[t.n_seen] = tag;
    t.versions[t.n_seen] = result->version;
    t.errors[t.n_seen] = result->err;
    t.texts[t.n_seen] =
        record->post.message.text.len == 0 ? 0 : (char)record->post.message.text.data[0];
    t.n_seen++;
    if (t.append_in_callback != 0)
    {
        t.append_in_callback--;
        assert_int_equal(append(1000 + tag, "x"), 0);
        sb_change_log_flush(t.log);
    }
}

static void
fatal(void *ctx, int err)
{
    (void)ctx;
    t.fatal = err;
    t.fatal_at = t.n_seen;
}

static void
start(struct sb_change_log_options o)
{
    memset(&t, 0, sizeof(t));
    o.store = &store;
    o.applied = applied;
    o.fatal = fatal;
    if (o.run_job == NULL)
        o.run_job = keep_job;
    t.log = sb_change_log_create(&o);
    assert_non_null(t.log);
}

static void
finish(void)
{
    assert_true(sb_change_log_idle(t.log));
    sb_change_log_destroy(t.log);
}

/* ---- tests ---- */

static void
test_order_over_batches(void **state)
{
    (void)state;
    start((struct sb_change_log_options){.max_batch = 3});
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(append(i, "m"), 0);
    assert_false(t.job); /* nothing starts before the turn's end */
    sb_change_log_flush(t.log);
    assert_false(sb_change_log_idle(t.log));
    assert_int_equal(t.n_seen, 0);
    while (t.job)
        do_job();
    assert_int_equal(t.n_seen, 8);
    for (uint64_t i = 0; i < 8; i++)
    {
        assert_int_equal(t.tags[i], i);
        assert_int_equal(t.versions[i], i + 1);
    }
    assert_int_equal(t.batches, 3);
    assert_int_equal(t.sizes[0], 3);
    assert_int_equal(t.sizes[2], 2);
    /* Each batch was published before its results were told. */
    assert_int_equal(t.published, 3);
    assert_int_equal(t.published_at[0], 0);
    assert_int_equal(t.published_at[1], 3);
    assert_int_equal(t.published_at[2], 6);
    finish();
}

static void
test_appends_while_a_job_runs_wait(void **state)
{
    (void)state;
    start((struct sb_change_log_options){0});
    append(1, "a");
    sb_change_log_flush(t.log);
    append(2, "b");
    append(3, "c");
    sb_change_log_flush(t.log);
    do_job();
    assert_int_equal(t.n_seen, 1);
    assert_int_equal(t.sizes[0], 1);
    do_job();
    assert_int_equal(t.n_seen, 3);
    assert_int_equal(t.sizes[1], 2);
    assert_int_equal(t.texts[2], 'c');
    finish();
}

static void
test_appends_inside_a_callback(void **state)
{
    (void)state;
    start((struct sb_change_log_options){0});
    append(1, "a");
    append(2, "b");
    t.append_in_callback = 2;
    sb_change_log_flush(t.log);
    do_job();
    assert_int_equal(t.n_seen, 2);
    do_job();
    assert_int_equal(t.n_seen, 4);
    assert_int_equal(t.tags[2], 1001);
    assert_int_equal(t.tags[3], 1002);
    finish();
}

static void
test_inline_jobs(void **state)
{
    (void)state;
    start((struct sb_change_log_options){.run_job = run_inline, .max_batch = 2});
    for (uint64_t i = 0; i < 100; i++)
        append(i, "m");
    t.append_in_callback = 50;
    sb_change_log_flush(t.log);
    assert_int_equal(t.n_seen, 150);
    for (size_t i = 0; i < 150; i++)
        assert_int_equal(t.versions[i], i + 1);
    finish();
}

static void
test_overload_by_count_and_by_bytes(void **state)
{
    (void)state;
    start((struct sb_change_log_options){.max_records = 2});
    assert_int_equal(append(1, "a"), 0);
    assert_int_equal(append(2, "b"), 0);
    assert_int_equal(append(3, "c"), SB_ERR_OVERLOADED);
    sb_change_log_flush(t.log);
    assert_int_equal(append(4, "d"), 0); /* the batch has left the queue */
    do_job();
    do_job();
    assert_int_equal(t.n_seen, 3);
    assert_int_equal(t.tags[2], 4);
    finish();

    static char big[5000];
    memset(big, 'y', sizeof(big) - 1);
    start((struct sb_change_log_options){.max_bytes = 4000});
    assert_int_equal(append(1, big), 0); /* an empty queue takes any */
    assert_int_equal(append(2, "b"), SB_ERR_OVERLOADED);
    sb_change_log_flush(t.log);
    assert_int_equal(append(3, "c"), 0);
    assert_int_equal(append(4, big), SB_ERR_OVERLOADED);
    do_job();
    do_job();
    assert_int_equal(t.n_seen, 2);
    finish();
}

static void
test_the_record_is_copied(void **state)
{
    (void)state;
    char text[] = "before";
    start((struct sb_change_log_options){0});
    append(1, text);
    text[0] = 'X';
    sb_change_log_flush(t.log);
    do_job();
    assert_int_equal(t.texts[0], 'b');
    finish();
}

static void
test_an_error_batch_is_not_published(void **state)
{
    (void)state;
    start((struct sb_change_log_options){.max_batch = 2});
    for (uint64_t i = 0; i < 4; i++)
        append(i, "m");
    t.apply_err = SB_ERR_FULL;
    sb_change_log_flush(t.log);
    do_job();
    assert_int_equal(t.published, 0);
    assert_int_equal(t.errors[0], SB_ERR_FULL);
    assert_int_equal(t.errors[1], SB_ERR_FULL);
    assert_int_equal(t.fatal, 0);
    t.apply_err = 0; /* the next batch goes on */
    do_job();
    assert_int_equal(t.published, 1);
    assert_int_equal(t.errors[2], 0);
    finish();
}

static void
test_a_refused_record_does_not_touch_its_neighbours(void **state)
{
    (void)state;
    start((struct sb_change_log_options){0});
    struct sb_record r = {.op = SB_RECORD_POST, .thread = SB_LIT("bad")};
    append(1, "a");
    assert_int_equal(sb_change_log_append(t.log, &r, 2), 0);
    append(3, "c");
    sb_change_log_flush(t.log);
    do_job();
    assert_int_equal(t.errors[0], 0);
    assert_int_equal(t.errors[1], SB_ERR_FORBIDDEN);
    assert_int_equal(t.errors[2], 0);
    assert_int_equal(t.published, 1);
    finish();
}

static void
test_unknown_outcome_is_fatal(void **state)
{
    (void)state;
    start((struct sb_change_log_options){.max_batch = 2});
    for (uint64_t i = 0; i < 5; i++)
        append(i, "m");
    t.apply_err = SB_ERR_UNKNOWN_OUTCOME;
    sb_change_log_flush(t.log);
    do_job();
    /* All results were told before: the batch's as unknown, the waiting ones as not stored. */
    assert_int_equal(t.fatal, SB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(t.fatal_at, 5);
    assert_int_equal(t.errors[1], SB_ERR_UNKNOWN_OUTCOME);
    assert_int_equal(t.errors[2], SB_ERR_UNAVAILABLE);
    assert_int_equal(t.errors[4], SB_ERR_UNAVAILABLE);
    assert_int_equal(t.batches, 1);
    assert_int_equal(t.published, 0);
    assert_int_equal(append(9, "m"), SB_ERR_OVERLOADED);
    sb_change_log_flush(t.log);
    assert_false(t.job);
    finish();
}

static void
test_a_job_that_cannot_start(void **state)
{
    (void)state;
    start((struct sb_change_log_options){0});
    append(1, "a");
    append(2, "b");
    t.job_err = SB_ERR_NO_MEMORY;
    sb_change_log_flush(t.log);
    assert_int_equal(t.n_seen, 2);
    assert_int_equal(t.errors[0], SB_ERR_NO_MEMORY);
    assert_int_equal(t.batches, 0);
    assert_int_equal(t.published, 0);
    finish();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_over_batches),
        cmocka_unit_test(test_appends_while_a_job_runs_wait),
        cmocka_unit_test(test_appends_inside_a_callback),
        cmocka_unit_test(test_inline_jobs),
        cmocka_unit_test(test_overload_by_count_and_by_bytes),
        cmocka_unit_test(test_the_record_is_copied),
        cmocka_unit_test(test_an_error_batch_is_not_published),
        cmocka_unit_test(test_a_refused_record_does_not_touch_its_neighbours),
        cmocka_unit_test(test_unknown_outcome_is_fatal),
        cmocka_unit_test(test_a_job_that_cannot_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_importer_parts.c - what an import keeps between reader and store: copies of rows,
 * replies that wait for their parents, the count of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/import_batch.h"
#include "app/import_links.h"
#include "app/name_set.h"

/* A row whose every string lies in `memory`, which is wiped after the copy. */
static struct sb_record_import
make_row(char *memory, size_t cap, int n, struct sb_bytes mentions[2],
         struct sb_attachment *attachment, struct sb_record_reaction *reaction)
{
    int len = snprintf(memory, cap, "id%06dby%06dtext%06d", n, n, n);
    assert_true(len == 26 && (size_t)len < cap);
    mentions[0] = sb_bytes(memory, 8);
    mentions[1] = sb_bytes(memory + 8, 8);
    *attachment = (struct sb_attachment){.name = sb_bytes(memory, 8),
                                         .type = sb_bytes(memory + 8, 8),
                                         .url = sb_bytes(memory + 16, 10),
                                         .size = (uint64_t)n};
    *reaction = (struct sb_record_reaction){sb_bytes(memory, 2), sb_bytes(memory + 8, 8)};
    return (struct sb_record_import){
        .message = {.at = (uint64_t)n,
                    .by = sb_bytes(memory + 8, 8),
                    .text = sb_bytes(memory + 16, 10),
                    .n_mentions = 2,
                    .mentions = mentions,
                    .n_attachments = 1,
                    .attachments = attachment,
                    .source_system = sb_bytes(memory, 2),
                    .source_id = sb_bytes(memory, 8)},
        .reply_to_id = sb_bytes(memory + 16, 4),
        .n_reactions = 1,
        .reactions = reaction,
    };
}

static void
is(struct sb_bytes got, const char *expected)
{
    if (!sb_bytes_eq(got, sb_bytes_str(expected)))
        fail_msg("%.*s is not %s", (int)got.len, (const char *)got.data, expected);
}

static void
check_row(const struct sb_record *r, int n)
{
    char id[16], by[16], text[16];
    snprintf(id, sizeof(id), "id%06d", n);
    snprintf(by, sizeof(by), "by%06d", n);
    snprintf(text, sizeof(text), "text%06d", n);
    const struct sb_message *m = &r->import.message;
    assert_int_equal(r->op, SB_RECORD_IMPORT);
    assert_true(r->service);
    is(r->tenant, "acme");
    is(r->thread, n % 2 == 0 ? "even" : "odd");
    assert_int_equal(m->at, n);
    is(m->by, by);
    is(m->text, text);
    is(m->source_id, id);
    is(m->source_system, "id");
    is(m->mentions[0], id);
    is(m->mentions[1], by);
    is(m->attachments[0].url, text);
    assert_int_equal(m->attachments[0].size, n);
    is(r->import.reply_to_id, "text");
    is(r->import.reactions[0].emoji, "id");
    is(r->import.reactions[0].user, by);
}

static void
test_batch_owns_its_copies(void **state)
{
    (void)state;
    struct sb_batch b;
    assert_int_equal(sb_batch_init(&b), 0);
    for (int round = 0; round < 3; round++)
    {
        int n = 0;
        while (!sb_batch_full(&b))
        {
            char *memory = malloc(64), *name = strdup(n % 2 == 0 ? "even" : "odd");
            struct sb_bytes mentions[2];
            struct sb_attachment attachment;
            struct sb_record_reaction reaction;
            struct sb_record_import row = make_row(memory, 64, n, mentions, &attachment, &reaction);
            assert_int_equal(sb_batch_add_row(&b, SB_LIT("acme"), sb_bytes_str(name), &row), 0);
            memset(memory, 'x', 64);
            memset(mentions, 0, sizeof(mentions));
            free(memory);
            free(name);
            n++;
        }
        assert_int_equal(n, SB_BATCH_ROWS);
        for (int i = 0; i < n; i++)
        {
            assert_ptr_equal(b.places[i], &b.records[i]);
            check_row(b.places[i], i);
        }
        sb_batch_reset(&b);
        assert_int_equal(b.n, 0);
        assert_int_equal(b.bytes, 0);
    }
    sb_batch_finish(&b);
}

static void
test_batch_is_bounded_by_bytes_too(void **state)
{
    (void)state;
    struct sb_batch b;
    size_t size = 5 * 1024 * 1024;
    char *text = malloc(size);
    memset(text, 'y', size);
    assert_int_equal(sb_batch_init(&b), 0);
    for (int round = 0; round < 2; round++)
    {
        struct sb_record_import row = {.message = {.text = sb_bytes(text, size)}};
        int n = 0;
        for (; !sb_batch_full(&b); n++)
            assert_int_equal(sb_batch_add_row(&b, SB_LIT("t"), SB_LIT("x"), &row), 0);
        assert_int_equal(n, 4);
        assert_memory_equal(b.records[3].import.message.text.data, text, size);
        sb_batch_reset(&b);
    }
    sb_batch_finish(&b);
    free(text);
}

static void
test_batch_of_links(void **state)
{
    (void)state;
    struct sb_batch b;
    char memory[] = "threadsystemchildparent";
    assert_int_equal(sb_batch_init(&b), 0);
    assert_int_equal(sb_batch_add_link(&b, SB_LIT("acme"), sb_bytes(memory, 6),
                                       sb_bytes(memory + 6, 6), sb_bytes(memory + 12, 5),
                                       sb_bytes(memory + 17, 6)),
                     0);
    memset(memory, 'x', sizeof(memory));
    assert_int_equal(b.records[0].op, SB_RECORD_LINK);
    is(b.records[0].thread, "thread");
    is(b.records[0].link.system, "system");
    is(b.records[0].link.child_id, "child");
    is(b.records[0].link.parent_id, "parent");
    sb_batch_finish(&b);
}

static void
test_links_come_back_in_order(void **state)
{
    (void)state;
    char dir[] = "/tmp/sb-links-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct sb_links l;
    struct sb_link got;
    sb_links_init(&l, dir);
    assert_int_equal(sb_links_rewind(&l), 0);
    assert_int_equal(sb_links_next(&l, &got), SB_ERR_NOT_FOUND); /* none at all */
    enum
    {
        N = 10000
    };
    for (int i = 0; i < N; i++)
    {
        char child[32], parent[600];
        int c = snprintf(child, sizeof(child), "c%d", i);
        int p = snprintf(parent, sizeof(parent), "p%0*d", i % 500 + 1, i);
        struct sb_link link = {SB_LIT("t"), sb_bytes(NULL, 0), sb_bytes(child, (size_t)c),
                               sb_bytes(parent, (size_t)p)};
        assert_int_equal(sb_links_add(&l, &link), 0);
    }
    assert_int_equal(l.n, N);
    DIR *d = opendir(dir); /* the file has no name: nothing is left behind by a crash */
    int names = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        names += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    assert_int_equal(names, 0);
    assert_int_equal(sb_links_rewind(&l), 0);
    for (int i = 0; i < N; i++)
    {
        char child[32], parent[600];
        snprintf(child, sizeof(child), "c%d", i);
        snprintf(parent, sizeof(parent), "p%0*d", i % 500 + 1, i);
        assert_int_equal(sb_links_next(&l, &got), 0);
        is(got.thread, "t");
        is(got.system, "");
        is(got.child, child);
        is(got.parent, parent);
    }
    assert_int_equal(sb_links_next(&l, &got), SB_ERR_NOT_FOUND);
    sb_links_finish(&l);
    rmdir(dir);
    sb_links_init(&l, "/nonexistent/place");
    struct sb_link link = {0};
    assert_int_equal(sb_links_add(&l, &link), SB_ERR_IO);
    sb_links_finish(&l);
}

static void
test_name_set_counts_each_once(void **state)
{
    (void)state;
    struct sb_name_set s;
    assert_true(sodium_init() >= 0);
    sb_name_set_init(&s);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++)
        {
            char name[32];
            int len = snprintf(name, sizeof(name), "thread %d", i);
            assert_int_equal(sb_name_set_add(&s, sb_bytes(name, (size_t)len)), 0);
            if (round == 0)
                assert_int_equal(s.n, i + 1);
        }
    assert_int_equal(s.n, 5000);
    assert_true(s.cap >= 10000);
    sb_name_set_finish(&s);
    sb_name_set_finish(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_owns_its_copies),
        cmocka_unit_test(test_batch_is_bounded_by_bytes_too),
        cmocka_unit_test(test_batch_of_links),
        cmocka_unit_test(test_links_come_back_in_order),
        cmocka_unit_test(test_name_set_counts_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_apply_import.c - imported rows: added once, updated when the source changed, linked.
 */
#include "core_kit.h"

#include <stdio.h>

static struct ck k;
static struct ck_client *root; /* a service: it reads everything */

static int
setup(void **state)
{
    (void)state;
    ck_open(&k, 0);
    root = ck_connect(&k, "!root");
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ck_drop(root);
    ck_close(&k);
    return 0;
}

static uint64_t
published(void)
{
    return k.store->ops->published(k.store);
}

/* A message of thread t, as a client gets it. */
static json_t *
row(uint64_t seq)
{
    json_t *r = ck_ask(root, "{'op':'load_around','thread':'t','seq':%d,'limit':1}", (int)seq);
    assert_string_equal(ck_error(r), "");
    assert_true(json_is_true(json_object_get(r, "found")));
    return json_array_get(json_object_get(r, "messages"), 0);
}

static const char *
text_of(uint64_t seq)
{
    const char *t = json_string_value(json_object_get(row(seq), "text"));
    return t == NULL ? "(none)" : t;
}

static const char *
page(const char *more)
{
    return ck_seqs(ck_ask(root, "{'op':'load_older','thread':'t'%s}", more));
}

#define AT(n) (CK_START_MS - 100000 + (n))

static void
test_order_and_outcomes(void **state)
{
    (void)state;
    uint64_t before = published();
    struct sb_result a = ck_import(&k, "t", "ann", AT(10), "1", "one", false);
    assert_int_equal(a.err, 0);
    assert_int_equal(a.outcome, SB_IMPORT_ADDED);
    assert_int_equal(a.seq, 1);
    assert_int_equal(a.at, AT(10));
    /* The thread, its member and the row: each its own version. */
    assert_int_equal(published(), before + 3);
    assert_int_equal(a.version, before + 3);
    assert_int_equal(ck_import(&k, "t", "ann", AT(30), "2", "two", false).seq, 2);
    assert_int_equal(ck_import(&k, "t", "ann", AT(20), "3", "backdated", false).seq, 3);
    assert_int_equal(ck_import(&k, "t", "ann", AT(30), "4", "tie", false).seq, 4);
    assert_int_equal(published(), before + 6);
    assert_string_equal(page(""), "1 3 2 4");
    /* A post comes after all of them. */
    struct sb_result p = ck_post(&k, "t", "root", "now");
    assert_int_equal(p.at, k.now_ms);
    assert_string_equal(page(""), "1 3 2 4 5");
}

static void
test_ahead_of_now(void **state)
{
    (void)state;
    uint64_t before = published();
    struct sb_result r = ck_import(&k, "t", "ann", k.now_ms + 1, "1", "x", false);
    assert_int_equal(r.err, 0);
    assert_int_equal(r.outcome, SB_IMPORT_AHEAD);
    assert_int_equal(published(), before);
    assert_int_equal(ck_import(&k, "t", "ann", k.now_ms, "1", "x", false).outcome, SB_IMPORT_ADDED);
}

static void
test_again(void **state)
{
    (void)state;
    ck_import(&k, "t", "ann", AT(10), "1", "one", false);
    uint64_t before = published();
    struct sb_result r = ck_import(&k, "t", "ann", AT(10), "1", "one", false);
    assert_int_equal(r.outcome, SB_IMPORT_UNCHANGED);
    /* Author and time are not what an import updates. */
    assert_int_equal(ck_import(&k, "t", "eve", AT(50), "1", "one", false).outcome,
                     SB_IMPORT_UNCHANGED);
    assert_int_equal(published(), before);
    r = ck_import(&k, "t", "ann", AT(99), "1", "one, corrected http://x", false);
    assert_int_equal(r.outcome, SB_IMPORT_UPDATED);
    assert_int_equal(r.seq, 1);
    assert_int_equal(r.at, AT(10));
    assert_int_equal(r.version, before + 1);
    assert_string_equal(text_of(1), "one, corrected http://x");
    assert_int_equal(ck_uint(row(1), "version"), before + 1);
    assert_string_equal(page(",'filter':{'has':['link']}"), "1");
    assert_int_equal(
        ck_import(&k, "t", "ann", AT(10), "1", "one, corrected http://x", false).outcome,
        SB_IMPORT_UNCHANGED);
    /* The same id in another thread, or of another system, is another row. */
    assert_int_equal(ck_import(&k, "u", "ann", AT(10), "1", "one", false).outcome, SB_IMPORT_ADDED);
}

/* An old snapshot goes on showing the old text; a deletion takes it away everywhere. */
static void
test_snapshots_over_updates(void **state)
{
    (void)state;
    for (int i = 1; i <= 4; i++)
    {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        ck_import(&k, "t", "ann", AT((uint64_t)i), id, "old", false);
    }
    json_t *first = ck_ask(root, "{'op':'load_older','thread':'t','limit':1}");
    char cursor[256];
    snprintf(cursor, sizeof(cursor), "%s", ck_cursor(first, "older"));
    ck_import(&k, "t", "ann", AT(3), "3", "new http://x", false);
    ck_import(&k, "t", "ann", AT(2), "2", "newer", false);
    ck_import(&k, "t", "ann", AT(2), "2", "", true);
    ck_import(&k, "t", "ann", AT(0), "0", "backdated", false);
    json_t *r = ck_ask(root, "{'op':'load_older','thread':'t','cursor':%s}", cursor);
    assert_string_equal(ck_seqs(r), "1 2 3");
    json_t *rows = json_object_get(r, "messages");
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 2), "text")), "old");
    json_t *gone = json_array_get(rows, 1);
    assert_true(json_is_true(json_object_get(gone, "deleted")));
    assert_int_equal(json_object_size(gone), 4);
    assert_int_equal(ck_uint(gone, "at"), AT(2));
    assert_int_equal(ck_uint(r, "version"), ck_uint(first, "version"));
    assert_true(ck_uint(r, "now") > ck_uint(r, "version"));
    assert_string_equal(page(""), "5 1 2 3 4");
    /* A tombstone is found by its author, not by what its text had. */
    assert_string_equal(page(",'filter':{'by':['ann'],'has':['link']}"), "3");
}

static void
test_deleted_stays_deleted(void **state)
{
    (void)state;
    ck_import(&k, "t", "ann", AT(1), "1", "one", false);
    assert_int_equal(ck_import(&k, "t", "ann", AT(1), "1", "", true).outcome, SB_IMPORT_UPDATED);
    uint64_t before = published();
    assert_int_equal(ck_import(&k, "t", "ann", AT(1), "1", "again", false).outcome,
                     SB_IMPORT_UNCHANGED);
    assert_int_equal(ck_import(&k, "t", "ann", AT(1), "1", "", true).outcome, SB_IMPORT_UNCHANGED);
    assert_int_equal(published(), before);
    assert_string_equal(text_of(1), "(none)");
    assert_int_equal(ck_import(&k, "t", "ann", AT(2), "2", "", true).outcome, SB_IMPORT_ADDED);
    assert_true(json_is_true(json_object_get(row(2), "deleted")));
}

static const char *
members(void)
{
    return ck_words(ck_ask(root, "{'op':'members','thread':'t'}"), "members", "user");
}

static void
test_authors_become_writers_once(void **state)
{
    (void)state;
    ck_import(&k, "t", "ann", AT(1), "1", "x", false);
    ck_import(&k, "t", "bob", AT(2), "2", "x", false);
    assert_string_equal(members(), "ann bob");
    json_t *r = ck_ask(root, "{'op':'members','thread':'t'}");
    assert_string_equal(ck_words(r, "members", "role"), "writer writer");
    ck_member(&k, "t", "ann", SB_ROLE_NONE);
    ck_member(&k, "t", "bob", SB_ROLE_READER);
    ck_import(&k, "t", "ann", AT(3), "3", "x", false);
    ck_import(&k, "t", "bob", AT(4), "4", "x", false);
    assert_string_equal(members(), "bob");
    r = ck_ask(root, "{'op':'members','thread':'t'}");
    assert_string_equal(ck_words(r, "members", "role"), "reader");
}

/* "(max(now, newest at), last seq) at joining": also when an import is what joins. */
static void
test_author_joins_now(void **state)
{
    (void)state;
    ck_thread(&k, "t", SB_HISTORY_SINCE_JOIN, SB_ACCESS_MEMBERS);
    ck_import(&k, "t", "ann", AT(1), "1", "one", false);
    ck_import(&k, "t", "bob", AT(2), "2", "two", false);
    struct ck_client *bob = ck_connect(&k, "bob");
    assert_string_equal(ck_seqs(ck_ask(bob, "{'op':'load_older','thread':'t'}")), "");
    ck_import(&k, "t", "ann", AT(3), "3", "three", false);
    assert_string_equal(ck_seqs(ck_ask(bob, "{'op':'load_older','thread':'t'}")), "");
    k.now_ms -= 10;
    ck_post(&k, "t", "root", "live");
    assert_string_equal(ck_seqs(ck_ask(bob, "{'op':'load_older','thread':'t'}")), "4");
    ck_drop(bob);
}

/* ---- replies ---- */

static struct sb_record
reply_of(const char *id, const char *parent)
{
    struct sb_record r = ck_record(&k, SB_RECORD_IMPORT, "t", "root");
    r.import.message = (struct sb_message){.at = AT(50),
                                           .by = SB_LIT("ann"),
                                           .text = SB_LIT("reply"),
                                           .kind = SB_LIT("k"),
                                           .meta = SB_LIT("\x81\xa1k\x01"),
                                           .source_system = SB_LIT("test"),
                                           .source_id = sb_bytes_str(id)};
    r.import.reply_to_id = sb_bytes_str(parent);
    return r;
}

static struct sb_record
link_of(const char *child, const char *parent)
{
    struct sb_record r = ck_record(&k, SB_RECORD_LINK, "t", "root");
    r.link.system = SB_LIT("test");
    r.link.child_id = sb_bytes_str(child);
    r.link.parent_id = sb_bytes_str(parent);
    return r;
}

static void
test_reply_to_a_known_row(void **state)
{
    (void)state;
    ck_import(&k, "t", "ann", AT(1), "p", "parent", false);
    struct sb_record r = reply_of("c", "p");
    struct sb_result res = ck_apply(&k, &r);
    assert_false(res.parent_missing);
    assert_int_equal(ck_uint(row(2), "reply_to"), 1);
    assert_string_equal(page(",'filter':{'thread_of':1}"), "2");
}

static void
test_link(void **state)
{
    (void)state;
    struct sb_record r = reply_of("c", "p");
    struct sb_result res = ck_apply(&k, &r);
    assert_true(res.parent_missing);
    assert_null(json_object_get(row(1), "reply_to"));
    struct sb_record l = link_of("c", "p");
    uint64_t before = published();
    assert_int_equal(ck_apply(&k, &l).err, SB_ERR_NOT_FOUND);
    ck_import(&k, "t", "ann", AT(1), "p", "parent", false);
    res = ck_apply(&k, &l);
    assert_int_equal(res.err, 0);
    assert_int_equal(res.outcome, SB_IMPORT_UPDATED);
    assert_int_equal(published(), before + 2);
    json_t *m = row(1);
    assert_int_equal(ck_uint(m, "reply_to"), 2);
    assert_string_equal(json_string_value(json_object_get(m, "text")), "reply");
    assert_string_equal(json_string_value(json_object_get(m, "kind")), "k");
    assert_int_equal(ck_uint(json_object_get(m, "meta"), "k"), 1);
    assert_string_equal(page(",'filter':{'thread_of':2,'has':['reply']}"), "1");
    assert_int_equal(ck_apply(&k, &l).outcome, SB_IMPORT_UNCHANGED);
    /* Linking is no update of the source: the next run finds nothing new. */
    assert_int_equal(ck_apply(&k, &r).outcome, SB_IMPORT_UNCHANGED);
    l = link_of("nobody", "p");
    assert_int_equal(ck_apply(&k, &l).err, SB_ERR_NOT_FOUND);
    l.thread = SB_LIT("nowhere");
    assert_int_equal(ck_apply(&k, &l).err, SB_ERR_NOT_FOUND);
    ck_import(&k, "t", "ann", AT(50), "c", "", true);
    l = link_of("c", "p");
    assert_int_equal(ck_apply(&k, &l).outcome, SB_IMPORT_UNCHANGED);
}

static void
test_all_fields_kept(void **state)
{
    (void)state;
    struct sb_bytes who[] = {SB_LIT("bob"), SB_LIT("carol")};
    struct sb_attachment files[] = {
        {SB_LIT("a.png"), SB_LIT("image/png"), SB_LIT("http://a"), 5, {true, 6}, {true, 7}}};
    struct sb_record r = reply_of("c", "");
    r.import.message.n_mentions = 2;
    r.import.message.mentions = who;
    r.import.message.n_attachments = 1;
    r.import.message.attachments = files;
    assert_int_equal(ck_apply(&k, &r).err, 0);
    ck_import(&k, "t", "ann", AT(1), "p", "parent", false);
    struct sb_record l = link_of("c", "p");
    assert_int_equal(ck_apply(&k, &l).outcome, SB_IMPORT_UPDATED);
    json_t *m = row(1);
    char *text = json_dumps(json_object_get(m, "attachments"), JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "[{\"height\":7,\"name\":\"a.png\",\"size\":5,\"type\":\"image/png\","
                              "\"url\":\"http://a\",\"width\":6}]");
    free(text);
    assert_int_equal(json_array_size(json_object_get(m, "mentions")), 2);
    assert_string_equal(json_string_value(json_object_get(json_object_get(m, "source"), "system")),
                        "test");
    assert_string_equal(page(",'filter':{'has':['image']}"), "1");
    /* Only the mentions change: that is an update, and only they do. */
    r.import.message.n_mentions = 1;
    r.import.message.edited_at = (struct sb_opt_uint){true, AT(60)};
    assert_int_equal(ck_apply(&k, &r).outcome, SB_IMPORT_UPDATED);
    m = row(1);
    assert_int_equal(json_array_size(json_object_get(m, "mentions")), 1);
    assert_int_equal(ck_uint(m, "edited_at"), AT(60));
    assert_int_equal(ck_uint(m, "reply_to"), 2);
    assert_int_equal(json_array_size(json_object_get(m, "attachments")), 1);
}

/* ---- what is refused ---- */

static void
refuse(const struct sb_record *r, int err)
{
    uint64_t before = published();
    struct sb_result res = ck_apply(&k, r);
    if (res.err != err)
        fail_msg("%s, expected %s", sb_error_name(res.err), sb_error_name(err));
    assert_int_equal(published(), before);
}

static void
test_only_a_service_imports(void **state)
{
    (void)state;
    ck_import(&k, "t", "ann", AT(1), "p", "parent", false);
    struct sb_record r = reply_of("c", "");
    r.user = SB_LIT("ann");
    r.service = false;
    refuse(&r, SB_ERR_FORBIDDEN);
    struct sb_record l = link_of("p", "p");
    l.service = false;
    refuse(&l, SB_ERR_FORBIDDEN);
}

/* What does not fit a row's form would not be read back: it is refused, not cut. */
static void
test_too_much(void **state)
{
    (void)state;
    static char name[SB_MAX_NAME + 2];
    struct sb_bytes who[SB_MAX_MENTIONS + 1];
    struct sb_attachment files[SB_MAX_ATTACHMENTS + 1] = {{.type = SB_LIT("x")}};
    memset(name, 'n', SB_MAX_NAME + 1);
    for (int i = 0; i <= SB_MAX_MENTIONS; i++)
        who[i] = SB_LIT("bob");
    struct sb_record r = reply_of("c", "");
    r.import.message.by = sb_bytes_str(name);
    refuse(&r, SB_ERR_BAD_NAME);
    r.import.message.by = (struct sb_bytes){0};
    refuse(&r, SB_ERR_BAD_NAME);
    r = reply_of("c", "");
    r.import.message.mentions = who;
    r.import.message.n_mentions = SB_MAX_MENTIONS + 1;
    refuse(&r, SB_ERR_TOO_LARGE);
    r = reply_of("c", "");
    r.import.message.attachments = files;
    r.import.message.n_attachments = SB_MAX_ATTACHMENTS + 1;
    refuse(&r, SB_ERR_TOO_LARGE);
    r = reply_of("c", "");
    static char text[(8 << 20) + 1];
    memset(text, 'x', 8 << 20);
    r.import.message.text = sb_bytes(text, 8 << 20);
    refuse(&r, SB_ERR_TOO_LARGE);
    r.import.message.text = sb_bytes(text, 4 << 20);
    assert_int_equal(ck_apply(&k, &r).err, 0);
}

/* ---- the store fails ---- */

static void
test_each_store_failure(void **state)
{
    (void)state;
    struct sb_record_reaction re[] = {{SB_LIT("+1"), SB_LIT("bob")}, {SB_LIT("x"), SB_LIT("eve")}};
    ck_import(&k, "t", "ann", AT(1), "1", "one", false);
    ck_import(&k, "t", "ann", AT(2), "2", "two", false);
    struct sb_record a = reply_of("new", "1");
    a.import.message.by = SB_LIT("carol");
    a.import.n_reactions = 2;
    a.import.reactions = re;
    struct sb_record b = reply_of("1", "");
    struct sb_record c = reply_of("2", "");
    c.import.message.deleted = true;
    struct sb_record d = link_of("1", "2");
    struct sb_record e = reply_of("first", "");
    e.thread = SB_LIT("u");
    const struct sb_record *batch[] = {&a, &b, &c, &d, &e};
    struct sb_result res[5];
    uint64_t before = published();
    int failures = 0;
    for (uint64_t n = 1;; n++)
    {
        assert_true(n < 1000);
        kv_fault_arm(k.fault, n, SB_ERR_FULL);
        int rc = sb_apply(k.applier, k.store, batch, res, 5);
        kv_fault_arm(k.fault, 0, 0);
        k.store->ops->publish(k.store);
        if (rc == 0)
            break;
        failures++;
        assert_int_equal(rc, SB_ERR_FULL);
        for (int i = 0; i < 5; i++)
            assert_int_equal(res[i].err, SB_ERR_FULL);
        assert_int_equal(published(), before);
        if (n % 7 == 0)
        {
            assert_string_equal(page(""), "1 2");
            assert_string_equal(text_of(1), "one");
        }
    }
    assert_true(failures > 30);
    for (int i = 0; i < 5; i++)
        assert_int_equal(res[i].err, 0);
    assert_string_equal(page(""), "1 2 3");
    assert_string_equal(text_of(1), "reply");
    assert_string_equal(text_of(2), "(none)");
    assert_string_equal(members(), "ann carol");
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_order_and_outcomes),
        T(test_ahead_of_now),
        T(test_again),
        T(test_snapshots_over_updates),
        T(test_deleted_stays_deleted),
        T(test_authors_become_writers_once),
        T(test_author_joins_now),
        T(test_reply_to_a_known_row),
        T(test_link),
        T(test_all_fields_kept),
        T(test_only_a_service_imports),
        T(test_too_much),
        T(test_each_store_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_record.c - a copied record: deeply equal, in one block, with nothing borrowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/record.h"

/* A string of its own heap block: a copy that borrows it is found once it is freed. */
static struct sb_bytes
heap(const char *s)
{
    size_t n = strlen(s);
    uint8_t *p = malloc(n + 1);
    memcpy(p, s, n);
    return sb_bytes(p, n);
}

static void
drop(struct sb_bytes b)
{
    if (b.len != 0)
        memset((uint8_t *)(uintptr_t)b.data, 'Z', b.len);
    free((void *)(uintptr_t)b.data);
}

static void
same(struct sb_bytes a, const char *text)
{
    assert_true(sb_bytes_eq(a, sb_bytes_str(text)));
}

static struct sb_record
base(enum sb_record_op op)
{
    return (struct sb_record){.op = op,
                              .time_ms = 77,
                              .tenant = heap("acme"),
                              .user = heap("alice"),
                              .service = true,
                              .thread = heap("general")};
}

static void
drop_base(struct sb_record *r)
{
    drop(r->tenant);
    drop(r->user);
    drop(r->thread);
}

static void
check_base(const struct sb_record *r, enum sb_record_op op)
{
    assert_int_equal(r->op, op);
    assert_int_equal(r->time_ms, 77);
    assert_true(r->service);
    same(r->tenant, "acme");
    same(r->user, "alice");
    same(r->thread, "general");
}

static struct sb_message
message(void)
{
    struct sb_bytes *who = malloc(3 * sizeof(*who));
    struct sb_attachment *files = malloc(2 * sizeof(*files));
    who[0] = heap("bob");
    who[1] = heap("");
    who[2] = heap("carol");
    files[0] = (struct sb_attachment){heap("a.png"), heap("image/png"), heap("http://a"), 5,
                                      {true, 6},     {true, 7}};
    files[1] = (struct sb_attachment){heap(""), heap("x"), heap("u"), 8, {0}, {0}};
    return (struct sb_message){.at = 5,
                               .by = heap("alice"),
                               .text = heap("a longer text than sixteen bytes"),
                               .kind = heap("k"),
                               .edited_at = {true, 9},
                               .reply_to = {true, 3},
                               .n_mentions = 3,
                               .mentions = who,
                               .n_attachments = 2,
                               .attachments = files,
                               .source_system = heap("slack"),
                               .source_id = heap("id-1"),
                               .meta = heap("\x81\xa1k\x01")};
}

static void
drop_message(struct sb_message *m)
{
    for (uint32_t i = 0; i < m->n_mentions; i++)
        drop(m->mentions[i]);
    for (uint32_t i = 0; i < m->n_attachments; i++)
    {
        drop(m->attachments[i].name);
        drop(m->attachments[i].type);
        drop(m->attachments[i].url);
    }
    free((void *)(uintptr_t)m->mentions);
    free((void *)(uintptr_t)m->attachments);
    drop(m->by);
    drop(m->text);
    drop(m->kind);
    drop(m->source_system);
    drop(m->source_id);
    drop(m->meta);
}

static void
check_message(const struct sb_message *m)
{
    assert_int_equal(m->at, 5);
    same(m->by, "alice");
    same(m->text, "a longer text than sixteen bytes");
    same(m->kind, "k");
    assert_true(m->edited_at.set && m->edited_at.value == 9);
    assert_true(m->reply_to.set && m->reply_to.value == 3);
    assert_int_equal(m->n_mentions, 3);
    same(m->mentions[0], "bob");
    same(m->mentions[1], "");
    same(m->mentions[2], "carol");
    assert_int_equal(m->n_attachments, 2);
    same(m->attachments[0].name, "a.png");
    same(m->attachments[0].type, "image/png");
    same(m->attachments[0].url, "http://a");
    assert_int_equal(m->attachments[0].size, 5);
    assert_true(m->attachments[0].width.set && m->attachments[0].width.value == 6);
    assert_true(m->attachments[0].height.set && m->attachments[0].height.value == 7);
    same(m->attachments[1].url, "u");
    assert_false(m->attachments[1].width.set);
    same(m->source_system, "slack");
    same(m->source_id, "id-1");
    same(m->meta, "\x81\xa1k\x01");
}

static void
test_post(void **state)
{
    (void)state;
    struct sb_record r = base(SB_RECORD_POST);
    r.post.message = message();
    r.post.nonce = heap("n-1");
    struct sb_record *c = sb_record_copy(&r);
    drop_message(&r.post.message);
    drop(r.post.nonce);
    drop_base(&r);
    check_base(c, SB_RECORD_POST);
    check_message(&c->post.message);
    same(c->post.nonce, "n-1");
    free(c);
}

static void
test_bare_post(void **state)
{
    (void)state;
    struct sb_record r = {.op = SB_RECORD_POST};
    struct sb_record *c = sb_record_copy(&r);
    assert_int_equal(c->post.message.n_mentions, 0);
    assert_int_equal(c->post.message.text.len, 0);
    assert_int_equal(c->post.nonce.len, 0);
    free(c);
}

static void
test_create_thread(void **state)
{
    (void)state;
    struct sb_founder f[] = {{heap("bob"), SB_ROLE_READER}, {heap("carol"), SB_ROLE_MODERATOR}};
    struct sb_record r = base(SB_RECORD_CREATE_THREAD);
    r.create_thread.title = heap("A title");
    r.create_thread.history = SB_HISTORY_SINCE_JOIN;
    r.create_thread.access = SB_ACCESS_TENANT;
    r.create_thread.n_members = 2;
    r.create_thread.members = f;
    struct sb_record *c = sb_record_copy(&r);
    drop(r.create_thread.title);
    drop(f[0].user);
    drop(f[1].user);
    memset(f, 0, sizeof(f));
    drop_base(&r);
    check_base(c, SB_RECORD_CREATE_THREAD);
    same(c->create_thread.title, "A title");
    assert_int_equal(c->create_thread.history, SB_HISTORY_SINCE_JOIN);
    assert_int_equal(c->create_thread.access, SB_ACCESS_TENANT);
    assert_int_equal(c->create_thread.n_members, 2);
    same(c->create_thread.members[0].user, "bob");
    same(c->create_thread.members[1].user, "carol");
    assert_int_equal(c->create_thread.members[0].role, SB_ROLE_READER);
    assert_int_equal(c->create_thread.members[1].role, SB_ROLE_MODERATOR);
    free(c);
}

static void
test_set_member(void **state)
{
    (void)state;
    struct sb_record r = base(SB_RECORD_SET_MEMBER);
    r.set_member.user = heap("bob");
    r.set_member.role = SB_ROLE_WRITER;
    struct sb_record *c = sb_record_copy(&r);
    drop(r.set_member.user);
    drop_base(&r);
    check_base(c, SB_RECORD_SET_MEMBER);
    same(c->set_member.user, "bob");
    assert_int_equal(c->set_member.role, SB_ROLE_WRITER);
    free(c);
}

static void
test_import(void **state)
{
    (void)state;
    struct sb_record_reaction re[] = {{heap("+1"), heap("bob")}, {heap("x"), heap("carol")}};
    struct sb_record r = base(SB_RECORD_IMPORT);
    r.import.message = message();
    r.import.reply_to_id = heap("id-0");
    r.import.n_reactions = 2;
    r.import.reactions = re;
    struct sb_record *c = sb_record_copy(&r);
    drop_message(&r.import.message);
    drop(r.import.reply_to_id);
    for (int i = 0; i < 2; i++)
    {
        drop(re[i].emoji);
        drop(re[i].user);
    }
    memset(re, 0, sizeof(re));
    drop_base(&r);
    check_base(c, SB_RECORD_IMPORT);
    check_message(&c->import.message);
    same(c->import.reply_to_id, "id-0");
    assert_int_equal(c->import.n_reactions, 2);
    same(c->import.reactions[0].emoji, "+1");
    same(c->import.reactions[0].user, "bob");
    same(c->import.reactions[1].user, "carol");
    free(c);
}

static void
test_link(void **state)
{
    (void)state;
    struct sb_record r = base(SB_RECORD_LINK);
    r.link.system = heap("slack");
    r.link.child_id = heap("c");
    r.link.parent_id = heap("p");
    struct sb_record *c = sb_record_copy(&r);
    drop(r.link.system);
    drop(r.link.child_id);
    drop(r.link.parent_id);
    drop_base(&r);
    check_base(c, SB_RECORD_LINK);
    same(c->link.system, "slack");
    same(c->link.child_id, "c");
    same(c->link.parent_id, "p");
    free(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_post),          cmocka_unit_test(test_bare_post),
        cmocka_unit_test(test_create_thread), cmocka_unit_test(test_set_member),
        cmocka_unit_test(test_import),        cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

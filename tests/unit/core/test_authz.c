/*
 * test_authz.c - who may do what: every role, claim, history rule and access, as one table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/authz.h"

#define NEVER (-1) /* never was a member */

static const int roles[] = {NEVER, SB_ROLE_NONE, SB_ROLE_READER, SB_ROLE_WRITER, SB_ROLE_MODERATOR};

struct expected
{
    int scope;  /* 0: forbidden */
    bool bound; /* by the join position */
    bool posts;
};

/* The contract's sentences, written out. */
static struct expected
expect(bool service, int role, enum sb_history history, enum sb_thread_access access)
{
    bool member = role != NEVER && role != SB_ROLE_NONE;
    if (service)
        return (struct expected){SB_SCOPE_SERVICE, false, true};
    if (member)
        return (struct expected){SB_SCOPE_MEMBER, history == SB_HISTORY_SINCE_JOIN,
                                 role >= SB_ROLE_WRITER};
    if (access == SB_ACCESS_TENANT)
        return (struct expected){SB_SCOPE_TENANT, false, false};
    return (struct expected){0, false, false};
}

static void
check(bool service, int role, enum sb_history history, enum sb_thread_access open)
{
    struct sb_thread t = {.id = 1, .history = history, .access = open, .floor = {10, 1}};
    struct sb_member m = {.role = role == NEVER ? SB_ROLE_NONE : (enum sb_role)role,
                          .join = {500, 5}};
    struct sb_access a = {.scope = (enum sb_scope)99};
    struct expected want = expect(service, role, history, open);
    int rc = sb_authz_thread(service, &t, role == NEVER ? NULL : &m, &a);
    if (want.scope == 0)
    {
        assert_int_equal(rc, SB_ERR_FORBIDDEN);
        assert_int_equal(a.scope, 99); /* written only on success */
        return;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(a.scope, want.scope);
    assert_int_equal(a.history, history);
    assert_int_equal(a.role, role == NEVER ? SB_ROLE_NONE : role);
    assert_int_equal(sb_authz_post(&a), want.posts ? 0 : SB_ERR_FORBIDDEN);

    struct sb_pos bottom = want.bound ? m.join : t.floor;
    assert_int_equal(sb_pos_cmp(sb_authz_bottom(&a), bottom), 0);
    assert_false(sb_authz_row(&a, bottom));
    assert_true(sb_authz_row(&a, (struct sb_pos){bottom.at, bottom.seq + 1}));
    assert_false(sb_authz_row(&a, (struct sb_pos){bottom.at, bottom.seq - 1}));
    assert_true(sb_authz_row(&a, (struct sb_pos){bottom.at + 1, 1}));
    assert_false(sb_authz_row(&a, (struct sb_pos){bottom.at - 1, 1000}));
    assert_false(sb_authz_row(&a, SB_POS_MIN));
}

static void
test_access_table(void **state)
{
    (void)state;
    for (int service = 0; service <= 1; service++)
        for (size_t r = 0; r < sizeof(roles) / sizeof(roles[0]); r++)
            for (int history = 0; history <= 1; history++)
                for (int open = 0; open <= 1; open++)
                    check(service != 0, roles[r], (enum sb_history)history,
                          (enum sb_thread_access)open);
}

/* Whichever of join and floor is higher counts. */
static void
test_floor_above_join(void **state)
{
    (void)state;
    struct sb_thread t = {.history = SB_HISTORY_SINCE_JOIN, .floor = {900, 9}};
    struct sb_member m = {.role = SB_ROLE_MODERATOR, .join = {500, 5}};
    struct sb_access a;
    assert_int_equal(sb_authz_thread(false, &t, &m, &a), 0);
    assert_int_equal(sb_pos_cmp(sb_authz_bottom(&a), t.floor), 0);
    assert_false(sb_authz_row(&a, (struct sb_pos){600, 6}));
    assert_false(sb_authz_row(&a, (struct sb_pos){900, 9}));
    assert_true(sb_authz_row(&a, (struct sb_pos){900, 10}));
}

/* A founder's join position is the beginning. */
static void
test_founder_sees_all(void **state)
{
    (void)state;
    struct sb_thread t = {.history = SB_HISTORY_SINCE_JOIN};
    struct sb_member m = {.role = SB_ROLE_READER, .join = SB_POS_MIN};
    struct sb_access a;
    assert_int_equal(sb_authz_thread(false, &t, &m, &a), 0);
    assert_true(sb_authz_row(&a, (struct sb_pos){0, 1}));
}

static bool
may_set(bool service, int own, int target, int role)
{
    if (service)
        return true;
    return own == SB_ROLE_MODERATOR && target != SB_ROLE_MODERATOR && role != SB_ROLE_MODERATOR;
}

static void
test_set_member(void **state)
{
    (void)state;
    size_t n = sizeof(roles) / sizeof(roles[0]);
    for (int service = 0; service <= 1; service++)
        for (size_t own = 1; own < n; own++)
            for (size_t target = 0; target < n; target++)
                for (int role = SB_ROLE_NONE; role <= SB_ROLE_MODERATOR; role++)
                {
                    struct sb_access a = {.scope = service != 0                 ? SB_SCOPE_SERVICE
                                                   : roles[own] == SB_ROLE_NONE ? SB_SCOPE_TENANT
                                                                                : SB_SCOPE_MEMBER,
                                          .role = (enum sb_role)roles[own]};
                    struct sb_member m = {.role = roles[target] == NEVER
                                                      ? SB_ROLE_NONE
                                                      : (enum sb_role)roles[target]};
                    int rc = sb_authz_set_member(&a, roles[target] == NEVER ? NULL : &m,
                                                 (enum sb_role)role);
                    bool may = may_set(service != 0, roles[own], roles[target], role);
                    assert_int_equal(rc, may ? 0 : SB_ERR_FORBIDDEN);
                }
}

static void
test_create_thread(void **state)
{
    (void)state;
    assert_int_equal(sb_authz_create_thread(true), 0);
    assert_int_equal(sb_authz_create_thread(false), SB_ERR_FORBIDDEN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access_table),     cmocka_unit_test(test_floor_above_join),
        cmocka_unit_test(test_founder_sees_all), cmocka_unit_test(test_set_member),
        cmocka_unit_test(test_create_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

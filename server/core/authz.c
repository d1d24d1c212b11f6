/* authz.c - see authz.h. */
#include "core/authz.h"

int
sb_authz_thread(bool service, const struct sb_thread *thread, const struct sb_member *member,
                struct sb_access *out)
{
    struct sb_access a = {.history = thread->history, .floor = thread->floor};
    if (member != NULL)
        a.role = member->role;
    if (service)
        a.scope = SB_SCOPE_SERVICE;
    else if (a.role != SB_ROLE_NONE)
        a.scope = SB_SCOPE_MEMBER;
    else if (thread->access == SB_ACCESS_TENANT)
        a.scope = SB_SCOPE_TENANT;
    else
        return SB_ERR_FORBIDDEN;
    /* Moderators are bound by the join position like everybody; a service is not. */
    if (a.scope == SB_SCOPE_MEMBER && thread->history == SB_HISTORY_SINCE_JOIN)
        a.join = member->join;
    *out = a;
    return 0;
}

int
sb_authz_post(const struct sb_access *a)
{
    if (a->scope == SB_SCOPE_SERVICE || a->role >= SB_ROLE_WRITER)
        return 0;
    return SB_ERR_FORBIDDEN;
}

int
sb_authz_set_member(const struct sb_access *a, const struct sb_member *target, enum sb_role role)
{
    if (a->scope == SB_SCOPE_SERVICE)
        return 0;
    if (a->role != SB_ROLE_MODERATOR || role == SB_ROLE_MODERATOR)
        return SB_ERR_FORBIDDEN;
    /* A moderator never makes, changes or removes a moderator, itself included. */
    if (target != NULL && target->role == SB_ROLE_MODERATOR)
        return SB_ERR_FORBIDDEN;
    return 0;
}

int
sb_authz_create_thread(bool service)
{
    return service ? 0 : SB_ERR_FORBIDDEN;
}

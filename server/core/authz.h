/*
 * authz.h - who may do what. Pure; the one place of these rules.
 *
 * Every read path (page, around, listing, newest message, reply check) asks the same
 * sb_authz_row(). What may not be seen answers like what does not exist, which is why a
 * missing thread and a closed one are both SB_ERR_FORBIDDEN.
 */
#ifndef SB_CORE_AUTHZ_H
#define SB_CORE_AUTHZ_H

#include "core/types.h"

/* By what right a reader reads. Bound into cursors: another scope, another walk. */
enum sb_scope
{
    SB_SCOPE_SERVICE = 1, /* everything in its tenant */
    SB_SCOPE_MEMBER = 2,
    SB_SCOPE_TENANT = 3, /* any user of the tenant, on threads with access tenant */
};

struct sb_access
{
    enum sb_scope scope;
    enum sb_role role;       /* NONE for a service or a tenant reader who is no member */
    enum sb_history history; /* the thread's rule */
    struct sb_pos join;      /* where it counts (since_join, members), else SB_POS_MIN */
    struct sb_pos floor;     /* rows at or below it are gone by retention */
};

/*
 * The access of a user to a thread of the user's own tenant. `member` is NULL for one who
 * never was one. 0, or SB_ERR_FORBIDDEN.
 */
int sb_authz_thread(bool service, const struct sb_thread *thread, const struct sb_member *member,
                    struct sb_access *out);

/*
 * A missing thread is answered like a closed one, and costs the same: where none is found,
 * this one is read in its place. The first thread: what it says, or that it is damaged, is
 * not used.
 */
#define SB_THREAD_STAND_IN 1

static inline bool
sb_authz_stood_in(int rc)
{
    return rc == 0 || rc == SB_ERR_NOT_FOUND || rc == SB_ERR_CORRUPT;
}

/* Whether the row at `pos` may be read. */
static inline bool
sb_authz_row(const struct sb_access *a, struct sb_pos pos)
{
    return sb_pos_cmp(pos, a->join) > 0 && sb_pos_cmp(pos, a->floor) > 0;
}

/* The position that every readable row is after: where a scan may stop. */
static inline struct sb_pos
sb_authz_bottom(const struct sb_access *a)
{
    return sb_pos_cmp(a->join, a->floor) > 0 ? a->join : a->floor;
}

/* 0 or SB_ERR_FORBIDDEN. */
int sb_authz_post(const struct sb_access *a);
/* `target` is NULL for one who never was a member. */
int sb_authz_set_member(const struct sb_access *a, const struct sb_member *target,
                        enum sb_role role);
int sb_authz_create_thread(bool service);

#endif

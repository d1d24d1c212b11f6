/*
 * reference.h - what a reader must get, computed the naive way: arrays, copies, sorting.
 *
 * It shares no code with the core and knows nothing of cursors, slices or indexes. Every row
 * keeps all of its states; "as at version V" is the last state with a version up to V, and
 * a deleted row is a tombstone at every V.
 */
#ifndef SB_TESTS_REFERENCE_H
#define SB_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

enum
{
    REF_USERS = 6,
    REF_ROWS = 6000,
    REF_STATES = 6,
};

struct ref_pos
{
    uint64_t at, seq;
};

struct ref_state
{
    uint64_t version;
    unsigned text; /* a number that no other state has */
    bool link, deleted;
};

struct ref_row
{
    struct ref_pos pos;
    int by;
    int kind; /* 0: the default one */
    uint64_t reply_to;
    uint64_t source; /* of an imported one: its id + 1 */
    int n_states;
    struct ref_state states[REF_STATES]; /* [0] is its creation */
};

struct ref_member
{
    bool ever; /* is or was one */
    int role;  /* 0: none, 1: reader, 2: writer, 3: moderator */
    struct ref_pos join;
};

struct ref_thread
{
    bool since_join, open; /* open: access tenant */
    uint64_t newest_at;
    int n_rows; /* the last seq; rows[seq - 1] */
    struct ref_member members[REF_USERS];
    struct ref_row rows[REF_ROWS];
};

/* Sets as bits: users, kinds. 0: any. */
struct ref_filter
{
    unsigned by, kinds;
    bool link, reply;             /* any of them */
    uint64_t thread_of, from, to; /* 0: not asked for */
};

struct ref_reader
{
    int user;
    bool service;
};

enum ref_scope
{
    REF_FORBIDDEN,
    REF_SERVICE,
    REF_MEMBER,
    REF_TENANT,
};

int ref_pos_cmp(struct ref_pos a, struct ref_pos b);
/* `join`: the position that bounds the reader, (0, 0) where none does. */
enum ref_scope ref_access(const struct ref_thread *t, struct ref_reader who, struct ref_pos *join);
/* The state that a reader of snapshot V is shown, or NULL: no such row at V. */
const struct ref_state *ref_state_at(const struct ref_row *r, uint64_t version);
bool ref_matches(const struct ref_filter *f, const struct ref_row *r, const struct ref_state *s);

/*
 * The rows nearest to `pos` (exclusive) in one direction, at most `limit`, oldest first,
 * into `out`; returns how many, `more` tells whether there are further ones.
 */
int ref_page(const struct ref_thread *t, struct ref_reader who, uint64_t version,
             const struct ref_filter *f, struct ref_pos pos, bool newer, int limit,
             const struct ref_row **out, bool *more);

/* ---- writing ---- */
uint64_t ref_later(uint64_t a, uint64_t b);
struct ref_row *ref_add(struct ref_thread *t, uint64_t at, int by);
void ref_set_member(struct ref_thread *t, int user, int role, uint64_t now);
/* An imported row's author. */
void ref_author(struct ref_thread *t, int user, uint64_t now);

#endif

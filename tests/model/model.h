/*
 * model.h - one round of the model test: a world, its reference, its readers.
 *
 *   model.c   rounds, seeds, what is written
 *   walks.c   what is read, and the comparison
 */
#ifndef SB_TESTS_MODEL_H
#define SB_TESTS_MODEL_H

#include "core_kit.h"
#include "reference.h"

enum
{
    THREADS = 4,
    READERS = 7,
    HELD = 120,   /* cursors that the readers still have */
    PENDING = 12, /* requests without a reply yet */
};

struct reader
{
    struct ck_client *c; /* NULL: not connected */
    struct ref_reader who;
    uint64_t serial; /* of the connection */
    int issued;      /* cursors that it was given */
};

/* One page that was asked for: what the reply must agree with. */
struct asked
{
    int reader, thread;
    bool newer, around, has_cursor;
    uint64_t version; /* the walk's snapshot */
    struct ref_filter filter;
    struct ref_pos pos; /* exclusive; around: the older side's */
    struct ref_pos newer_pos;
    bool centre_found; /* around */
    int limit;
    enum ref_scope scope;
    struct ref_pos join;
    bool misused; /* the cursor does not belong here */
    uint64_t page_bytes;
    bool may_stop;  /* page_bytes or the budget may cut it short */
    bool may_evict; /* its cursor may be gone */
};

/* A cursor in a reader's hand. */
struct held
{
    uint64_t serial; /* of the connection it is of; 0: none */
    struct asked walk;
    char json[160];
};

struct waiting
{
    uint64_t id; /* 0: free */
    struct asked asked;
};

struct model
{
    struct ck k;
    struct pk_random random; /* the test's own draws */
    struct ref_thread threads[THREADS];
    int n_threads;
    struct reader readers[READERS];
    struct held held[HELD];
    struct waiting pending[PENDING];
    uint64_t serials, last_version;
    unsigned texts;
    bool short_pages; /* settings at present: page_bytes or budget are small */
    uint64_t pages, rows, refusals, slices; /* done so far */
};

uint64_t draw(struct model *m, uint64_t n);
bool chance(struct model *m, unsigned percent);
/* Remembers what was done, for the report of a failure. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the last notes and ends the program. */
void mismatch(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
extern const char *const user_names[REF_USERS];
extern const char *const kind_names[3];
extern const char *const thread_names[THREADS];

/* walks.c */
void start_walk(struct model *m);
void go_on(struct model *m);
/* Some slices of the waiting scans; `all`: until none waits. */
void run_slices(struct model *m, bool all);
void forget_reader(struct model *m, int reader);

#endif

/*
 * model.c - random threads, writes and readers; every page is compared with the reference.
 *
 *   model [--seed N] [--seconds S]
 *
 * A round is a fresh store and a few thousand steps from one seed. A new first seed each
 * run, printed. The seed of a round that fails is left in tests/failures/ and printed.
 */
#include "model.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum
{
    STEPS = 4000,
    NOTES = 60,
};

const char *const user_names[REF_USERS] = {"ann", "bob", "carol", "dave", "eve", "frank"};
const char *const kind_names[3] = {"message", "join", "topic"};
const char *const thread_names[THREADS] = {"general", "random", "secret", "open"};

static char notes[NOTES][512];
static unsigned n_notes;
static uint64_t current_seed;

uint64_t
draw(struct model *m, uint64_t n)
{
    return pk_below(&m->random, n);
}

bool
chance(struct model *m, unsigned percent)
{
    return pk_below(&m->random, 100) < percent;
}

void
note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(notes[n_notes++ % NOTES], sizeof(notes[0]), format, args);
    va_end(args);
}

/* ---- failures ---- */

static const char *
failure_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/model-%llu", SB_FAILURES, (unsigned long long)current_seed);
    return path;
}

/* Left behind by whatever ends the program inside a round, a sanitizer's exit too. */
static void
mark_running(bool running)
{
    if (!running)
    {
        unlink(failure_path());
        return;
    }
    mkdir(SB_FAILURES, 0777);
    FILE *f = fopen(failure_path(), "w");
    if (f == NULL)
        return;
    fprintf(f, "model --seed %llu\n", (unsigned long long)current_seed);
    fclose(f);
}

static bool finished;

static void
report(void)
{
    if (finished)
        return;
    for (unsigned i = n_notes > NOTES ? n_notes - NOTES : 0; i < n_notes; i++)
        fprintf(stderr, "  %s\n", notes[i % NOTES]);
    fprintf(stderr, "model: failed; again with: --seed %llu\n", (unsigned long long)current_seed);
}

void
mismatch(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "model: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

/* ---- writes ---- */

static void
committed(struct model *m, uint64_t versions)
{
    uint64_t now = m->k.store->ops->published(m->k.store);
    if (now != m->last_version + versions)
        mismatch("%llu versions, reference %llu", (unsigned long long)(now - m->last_version),
                 (unsigned long long)versions);
    m->last_version = now;
}

static void
new_thread(struct model *m)
{
    struct sb_founder founders[REF_USERS];
    if (m->n_threads == THREADS)
        return;
    struct ref_thread *t = &m->threads[m->n_threads];
    *t = (struct ref_thread){.since_join = chance(m, 40)};
    t->open = !t->since_join && chance(m, 40);
    struct sb_record r =
        ck_record(&m->k, SB_RECORD_CREATE_THREAD, thread_names[m->n_threads], "root");
    r.create_thread.history = t->since_join ? SB_HISTORY_SINCE_JOIN : SB_HISTORY_ALL;
    r.create_thread.access = t->open ? SB_ACCESS_TENANT : SB_ACCESS_MEMBERS;
    for (int u = 0; u < REF_USERS; u++)
    {
        if (!chance(m, 40))
            continue;
        t->members[u] = (struct ref_member){.ever = true, .role = 1 + (int)draw(m, 3)};
        founders[r.create_thread.n_members++] =
            (struct sb_founder){sb_bytes_str(user_names[u]), (enum sb_role)t->members[u].role};
    }
    r.create_thread.members = founders;
    m->n_threads++;
    note("thread %s%s", thread_names[m->n_threads - 1], t->since_join ? " since_join" : "");
    assert_int_equal(ck_apply(&m->k, &r).err, 0);
    committed(m, 1);
}

static void
fill_state(struct model *m, struct ref_state *s, char text[64])
{
    s->text = ++m->texts;
    s->link = chance(m, 15);
    snprintf(text, 64, "n%u%s", s->text, s->link ? " see https://x" : "");
}

/* A post by one of the readers, through its session. */
static void
post(struct model *m)
{
    struct ref_state s = {0};
    char text[64];
    char more[256] = "";
    struct reader *rd = &m->readers[draw(m, READERS)];
    if (m->n_threads == 0 || rd->c == NULL)
        return;
    int ti = (int)draw(m, (uint64_t)m->n_threads);
    struct ref_thread *t = &m->threads[ti];
    struct ref_pos join;
    if (t->n_rows >= REF_ROWS - 200)
        return;
    fill_state(m, &s, text);
    int kind = chance(m, 60) ? 0 : (int)draw(m, 3);
    uint64_t reply_to = chance(m, 20) ? 1 + draw(m, 5) : 0;
    if (kind != 0 || chance(m, 20))
        snprintf(more, sizeof(more), ",'kind':'%s'", kind_names[kind]);
    if (chance(m, 20))
        snprintf(more + strlen(more), 64, ",'mentions':['%s']", user_names[draw(m, REF_USERS)]);
    if (reply_to != 0)
        snprintf(more + strlen(more), 64, ",'reply_to':%llu", (unsigned long long)reply_to);
    note("post by %s%s in %s: %s%s", rd->who.service ? "!" : "", user_names[rd->who.user],
         thread_names[ti], text, more);
    json_t *reply = ck_reply(rd->c, ck_send(rd->c, "{'op':'post','thread':'%s','text':'%s'%s}",
                                            thread_names[ti], text, more));
    const char *due = "";
    ref_access(t, rd->who, &join);
    if (!rd->who.service && t->members[rd->who.user].role < 2)
        due = "forbidden";
    else if (reply_to != 0 &&
             (reply_to > (uint64_t)t->n_rows || ref_pos_cmp(t->rows[reply_to - 1].pos, join) <= 0))
        due = "not_found";
    if (strcmp(ck_error(reply), due) != 0)
        mismatch("post: \"%s\", reference \"%s\"", ck_error(reply), due);
    if (due[0] != '\0')
        return;
    struct ref_row *row = ref_add(t, ref_later(m->k.now_ms, t->newest_at), rd->who.user);
    row->kind = kind;
    row->reply_to = reply_to;
    assert_int_equal(ck_uint(reply, "seq"), row->pos.seq);
    assert_int_equal(ck_uint(reply, "at"), row->pos.at);
    s.version = ck_uint(reply, "version");
    row->states[0] = s;
    committed(m, 1);
}

/* Many rows in one batch and one millisecond. */
static void
burst(struct model *m)
{
    static struct sb_record records[64];
    static const struct sb_record *batch[64];
    static char texts[64][64];
    struct sb_result results[64];
    struct ref_state states[64] = {0};
    uint64_t n = 1 + draw(m, 64);
    if (m->n_threads == 0)
        return;
    int ti = (int)draw(m, (uint64_t)m->n_threads);
    struct ref_thread *t = &m->threads[ti];
    if (t->n_rows >= REF_ROWS - 200)
        return;
    int kind = (int)draw(m, 3);
    int by = (int)draw(m, REF_USERS);
    for (uint64_t i = 0; i < n; i++)
    {
        fill_state(m, &states[i], texts[i]);
        records[i] = ck_record(&m->k, SB_RECORD_POST, thread_names[ti], user_names[by]);
        records[i].post.message.by = records[i].user;
        records[i].post.message.text = sb_bytes_str(texts[i]);
        if (kind != 0)
            records[i].post.message.kind = sb_bytes_str(kind_names[kind]);
        batch[i] = &records[i];
    }
    note("burst of %d by %s in %s", (int)n, user_names[by], thread_names[ti]);
    assert_int_equal(sb_apply(m->k.applier, m->k.store, batch, results, n), 0);
    m->k.store->ops->publish(m->k.store);
    for (uint64_t i = 0; i < n; i++)
    {
        struct ref_row *row = ref_add(t, ref_later(m->k.now_ms, t->newest_at), by);
        row->kind = kind;
        assert_int_equal(results[i].err, 0);
        assert_int_equal(results[i].at, row->pos.at);
        states[i].version = results[i].version;
        row->states[0] = states[i];
    }
    committed(m, n);
}

/* A new row with a time of its own, or an update or deletion of an imported one. */
static void
import_one(struct model *m, int ti)
{
    struct ref_state s = {0};
    char text[64];
    char id[32];
    struct ref_thread *t = &m->threads[ti];
    uint64_t number = draw(m, 400); /* few ids: the same come again */
    struct ref_row *row = NULL;
    if (t->n_rows >= REF_ROWS - 200)
        return;
    for (int i = 0; i < t->n_rows; i++)
        if (t->rows[i].source == number + 1)
            row = &t->rows[i];
    if (row != NULL && row->n_states == REF_STATES)
        return;
    fill_state(m, &s, text);
    s.deleted = row != NULL && chance(m, 25);
    uint64_t back = draw(m, 500);
    uint64_t at = m->k.now_ms - back;
    int by = (int)draw(m, REF_USERS);
    snprintf(id, sizeof(id), "id%llu", (unsigned long long)number);
    note("import %s by %s at -%llu in %s%s", id, user_names[by], (unsigned long long)back,
         thread_names[ti], s.deleted ? ", deleted" : "");
    struct sb_result res =
        ck_import(&m->k, thread_names[ti], user_names[by], at, id, text, s.deleted);
    assert_int_equal(res.err, 0);
    s.version = res.version;
    if (row == NULL)
    {
        bool joins = !t->members[by].ever;
        assert_int_equal(res.outcome, SB_IMPORT_ADDED);
        ref_author(t, by, m->k.now_ms);
        row = ref_add(t, at, by);
        row->source = number + 1;
        row->states[0] = s;
        committed(m, joins ? 2 : 1);
        return;
    }
    if (row->states[row->n_states - 1].deleted)
    {
        assert_int_equal(res.outcome, SB_IMPORT_UNCHANGED);
        committed(m, 0);
        return;
    }
    assert_int_equal(res.outcome, SB_IMPORT_UPDATED);
    row->states[row->n_states++] = s;
    committed(m, 1);
}

/* Mostly into a thread that a page is being read of. */
static void
import(struct model *m)
{
    const struct waiting *w = &m->pending[draw(m, PENDING)];
    if (m->n_threads == 0)
        return;
    int ti = w->id != 0 ? w->asked.thread : (int)draw(m, (uint64_t)m->n_threads);
    for (uint64_t i = 1 + draw(m, 12); i > 0; i--)
        import_one(m, ti);
}

static void
set_member(struct model *m)
{
    if (m->n_threads == 0)
        return;
    int ti = (int)draw(m, (uint64_t)m->n_threads);
    int user = (int)draw(m, REF_USERS);
    int role = (int)draw(m, 4);
    note("set_member %s in %s: %d", user_names[user], thread_names[ti], role);
    ck_member(&m->k, thread_names[ti], user_names[user], (enum sb_role)role);
    ref_set_member(&m->threads[ti], user, role, m->k.now_ms);
    committed(m, 1);
}

/* ---- readers ---- */

static void
connect_one(struct model *m)
{
    int i = (int)draw(m, READERS);
    struct reader *rd = &m->readers[i];
    char token[32];
    /* Most connections end before their 64 cursors are used up; some go far beyond. */
    if (rd->c != NULL && rd->issued < 45 && !chance(m, 5))
        return;
    if (rd->c != NULL && rd->issued >= 45 && rd->serial % 4 == 0 && rd->issued < 400)
        return;
    if (rd->c != NULL)
    {
        forget_reader(m, i);
        ck_drop(rd->c);
    }
    rd->who = (struct ref_reader){.user = (int)draw(m, REF_USERS), .service = chance(m, 15)};
    rd->issued = 0;
    rd->serial = ++m->serials;
    snprintf(token, sizeof(token), "%s%s", rd->who.service ? "!" : "", user_names[rd->who.user]);
    note("reader %d is %s", i, token);
    rd->c = ck_connect(&m->k, token);
    json_array_clear(rd->c->frames);
}

static void
pass_time(struct model *m)
{
    if (chance(m, 3))
        m->k.now_ms -= draw(m, 300); /* the wall clock goes back */
    else if (chance(m, 60))
        ck_pass_ms(&m->k, draw(m, 4));
}

static void
one_step(struct model *m)
{
    static const struct
    {
        unsigned weight;
        void (*run)(struct model *m);
    } actions[] = {{2, new_thread},  {14, post},       {4, burst},  {6, import},    {5, set_member},
                   {6, connect_one}, {18, start_walk}, {45, go_on}, {12, pass_time}};
    unsigned total = 0;
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        total += actions[i].weight;
    uint64_t at = draw(m, total);
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
    {
        if (at < actions[i].weight)
        {
            actions[i].run(m);
            break;
        }
        at -= actions[i].weight;
    }
    if (chance(m, 40))
        run_slices(m, false);
}

static void
round_of(struct model *m, uint64_t seed)
{
    static const uint32_t derive_after[] = {1, 3, 7, 1024};
    uint64_t done[] = {m->pages, m->rows, m->refusals, m->slices};
    memset(m, 0, sizeof(*m));
    m->pages = done[0];
    m->rows = done[1];
    m->refusals = done[2];
    m->slices = done[3];
    m->random.state = seed;
    ck_open(&m->k, derive_after[draw(m, 4)]);
    m->k.hold_scans = true;
    m->k.settings.scan_budget_us = UINT64_C(1) << 40;
    m->last_version = m->k.store->ops->published(m->k.store);
    for (int i = 0; i < STEPS; i++)
        one_step(m);
    run_slices(m, true);
    for (int i = 0; i < READERS; i++)
        if (m->readers[i].c != NULL)
            ck_drop(m->readers[i].c);
    ck_close(&m->k);
}

static double
seconds_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
    static struct model m;
    double seconds = 0;
    bool given = false;
    uint64_t seed = (uint64_t)time(NULL) * 1000000 + (uint64_t)getpid() % 1000 * 1000;
    for (int i = 1; i < argc; i++)
    {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
        {
            seed = strtoull(argv[++i], NULL, 10);
            given = true;
        }
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtod(argv[++i], NULL);
        else
        {
            printf("usage: model [--seed N] [--seconds S]\n"
                   "One round of seed N, or rounds from a new seed on for S seconds (10).\n");
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    if (!given && seconds <= 0)
        seconds = 10;
    printf("model: seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    atexit(report);
    double end = seconds_now() + seconds;
    uint64_t rounds = 0;
    do
    {
        current_seed = seed + rounds++;
        n_notes = 0;
        mark_running(true);
        round_of(&m, current_seed);
        mark_running(false);
    } while (seconds_now() < end);
    finished = true;
    printf("model: %llu rounds, %llu pages, %llu rows, %llu refused, %llu slices: all as the "
           "reference\n",
           (unsigned long long)rounds, (unsigned long long)m.pages, (unsigned long long)m.rows,
           (unsigned long long)m.refusals, (unsigned long long)m.slices);
    return 0;
}

/*
 * engine.c - what all sessions of a loop share: users, rates, waiting scans.
 *
 * Invariant: every waiting job's session is alive; a user is there while it has a session, and
 * after that while it has used tokens that are not back yet.
 */
#include "core/engine.h"

#include <stdlib.h>

enum
{
    REFILL_US = 1000000, /* an empty rate bucket is full again */
};

static void
free_users(struct sb_engine *e)
{
    for (size_t i = 0; i < SB_USER_BUCKETS; i++)
        while (e->users[i] != NULL)
        {
            struct sb_user *u = e->users[i];
            e->users[i] = u->next;
            free(u);
        }
}

struct sb_engine *
sb_engine_create(struct sb_store *store, const struct sb_ports *ports,
                 const struct sb_settings *settings)
{
    struct sb_engine *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->store = store;
    e->ports = ports;
    e->settings = settings;
    e->cursors.ports = ports;
    e->decoder = sb_decoder_create();
    e->now = calloc(1, sizeof(*e->now));
    if (e->decoder == NULL || e->now == NULL)
    {
        sb_engine_destroy(e);
        return NULL;
    }
    ports->random(ports->ctx, e->cursors.binding_key, sizeof(e->cursors.binding_key));
    return e;
}

void
sb_engine_destroy(struct sb_engine *e)
{
    if (e == NULL)
        return;
    free_users(e);
    sb_decoder_destroy(e->decoder);
    free(e->now);
    free(e);
}

void
sb_engine_set_keys(struct sb_engine *e, const struct sb_cursor_keys *keys)
{
    e->cursors.keys = *keys;
}

const struct sb_telemetry *
sb_engine_telemetry(const struct sb_engine *e)
{
    return &e->telemetry;
}

/* ---- users ---- */

static struct sb_user **
bucket_of(struct sb_engine *e, const struct sb_claims *claims)
{
    uint8_t buf[2 * SB_MAX_NAME + 1];
    size_t n = strlen(claims->tenant);
    size_t m = strlen(claims->user);
    struct sb_hash h;
    memcpy(buf, claims->tenant, n);
    buf[n] = 0;
    memcpy(buf + n + 1, claims->user, m);
    e->store->ops->hash(e->store, sb_bytes(buf, n + 1 + m), &h);
    return &e->users[(h.b[0] | (uint32_t)h.b[1] << 8) % SB_USER_BUCKETS];
}

/* The bucket's users who have no session and whose tokens are all there again. */
static void
forget_idle(struct sb_user **at, uint64_t now_us)
{
    while (*at != NULL)
    {
        struct sb_user *u = *at;
        if (u->sessions == 0 && now_us - u->refilled_us >= REFILL_US)
        {
            *at = u->next;
            free(u);
        }
        else
            at = &u->next;
    }
}

struct sb_user *
sb_user_enter(struct sb_engine *e, const struct sb_claims *claims, uint64_t now_us)
{
    struct sb_user **bucket = bucket_of(e, claims);
    forget_idle(bucket, now_us);
    struct sb_user *u = *bucket;
    while (u != NULL &&
           (strcmp(u->tenant, claims->tenant) != 0 || strcmp(u->name, claims->user) != 0))
        u = u->next;
    if (u == NULL)
    {
        u = calloc(1, sizeof(*u));
        if (u == NULL)
            return NULL;
        strcpy(u->tenant, claims->tenant);
        strcpy(u->name, claims->user);
        u->next = *bucket;
        *bucket = u;
    }
    u->sessions++;
    return u;
}

/* One who used tokens stays known: a new connection shall not bring new ones. */
void
sb_user_leave(struct sb_engine *e, struct sb_user *u)
{
    struct sb_claims claims;
    if (u == NULL || --u->sessions != 0 || u->refilled_us != 0)
        return;
    strcpy(claims.tenant, u->tenant);
    strcpy(claims.user, u->name);
    struct sb_user **at = bucket_of(e, &claims);
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    free(u);
}

/* A token bucket of one second's worth, over all connections of the user. */
int
sb_user_take(struct sb_engine *e, struct sb_user *u, uint64_t now_us, uint64_t *retry_ms)
{
    uint64_t rate = e->settings->rate_limit;
    if (rate == 0)
        return 0;
    uint64_t full = rate * 1000;
    uint64_t passed_us = u->refilled_us == 0 ? REFILL_US : now_us - u->refilled_us;
    uint64_t gained = passed_us >= REFILL_US ? full : passed_us * rate / 1000;
    if (gained != 0)
    {
        u->tokens_milli = u->tokens_milli + gained > full ? full : u->tokens_milli + gained;
        u->refilled_us = now_us;
    }
    if (u->tokens_milli < 1000)
    {
        *retry_ms = (1000 - u->tokens_milli) / rate + 1;
        return SB_ERR_RATE_LIMITED;
    }
    u->tokens_milli -= 1000;
    return 0;
}

/* ---- waiting scans ---- */

int
sb_job_wait(struct sb_engine *e, struct sb_session *s)
{
    if (s->n_jobs >= SB_SCANS_PER_SESSION || e->telemetry.scans_waiting >= SB_SCANS_IN_ALL)
        return SB_ERR_OVERLOADED;
    struct sb_job *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL)
        return SB_ERR_NO_MEMORY;
    /* The block itself moves to the list: the page points into itself. */
    struct sb_job *j = e->now;
    e->now = fresh;
    j->session = s;
    if (e->jobs == NULL)
        e->jobs = j->prev = j->next = j;
    else
    {
        j->prev = e->jobs->prev;
        j->next = e->jobs;
        j->prev->next = j;
        e->jobs->prev = j;
    }
    s->n_jobs++;
    e->telemetry.scans_waiting++;
    return 0;
}

void
sb_job_done(struct sb_engine *e, struct sb_job *j)
{
    if (j->next == j)
        e->jobs = NULL;
    else
    {
        j->prev->next = j->next;
        j->next->prev = j->prev;
        if (e->jobs == j)
            e->jobs = j->next;
    }
    j->session->n_jobs--;
    e->telemetry.scans_waiting--;
    free(j);
}

/*
 * The job whose user was served longest ago: many connections of one user wait for each
 * other, not others for them. The list is short; the winner goes to its head.
 */
struct sb_session *
sb_engine_scan_next(struct sb_engine *e)
{
    if (e->jobs == NULL)
        return NULL;
    struct sb_job *best = e->jobs;
    for (struct sb_job *j = best->next; j != e->jobs; j = j->next)
        if (j->session->user->served < best->session->user->served)
            best = j;
    e->jobs = best;
    return best->session;
}

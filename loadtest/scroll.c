/*
 * scroll.c - clients that scroll back: each walks a random thread to its end, then another.
 *
 * Closed loop by default: a connection asks for its next page when it has the last one.
 * With --rate requests have a schedule of their own, and latency counts from the moment
 * that a request was due: a slow server cannot hide by being asked less (coordinated
 * omission). No page is asked for twice within a walk, so nothing is served that real
 * readers would not ask for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "loadtest/histogram.h"
#include "loadtest/options.h"
#include "loadtest/proc.h"
#include "loadtest/reply.h"
#include "loadtest/session.h"

enum
{
    EVENTS = 256,
};

struct client
{
    struct sb_ws ws;
    uint32_t thread;
    uint64_t id;        /* of the request under way; 0: none */
    uint64_t due_ns;    /* when it should have gone out */
    uint64_t first_seq; /* of the page before: the next one must join it */
    uint8_t cursor[96];
    size_t cursor_len; /* 0: a new walk */
};

struct run
{
    const struct sb_load_options *o;
    struct client *clients;
    struct sb_names names;
    uint64_t random, next_id;
    struct sb_histogram latency;
    uint64_t pages, rows, walks, bytes, errors, broken;
    uint64_t next_due_ns; /* open loop */
    uint32_t *idle, n_idle;
    int epoll;
};

static uint64_t
draw(struct run *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random;
}

/* ---- requests ---- */

static int
ask_page(struct run *r, struct client *c, uint64_t due_ns)
{
    struct sb_packet p;
    c->id = ++r->next_id;
    c->due_ns = due_ns;
    if (c->cursor_len == 0)
        c->thread = (uint32_t)(draw(r) % r->names.n);
    sb_packet_begin(&p, c->cursor_len != 0 ? 5 : 4, r->o->newer ? "load_newer" : "load_older",
                    c->id);
    sb_packet_str(&p, "thread", r->names.v[c->thread]);
    sb_packet_uint(&p, "limit", r->o->limit);
    if (c->cursor_len != 0)
        sb_packet_bin(&p, "cursor", sb_bytes(c->cursor, c->cursor_len));
    return sb_packet_send(&c->ws, &p);
}

/* ---- the run ---- */

static int
open_all(struct run *r)
{
    for (uint32_t i = 0; i < r->o->connections; i++)
    {
        struct client *c = &r->clients[i];
        struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
        if (sb_session_open(&c->ws, r->o) != 0)
            return -1;
        if (i == 0 && sb_session_threads(&c->ws, &r->names) != 0)
            return -1;
        if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, c->ws.fd, &ev) != 0)
            return -1;
    }
    return 0;
}

/* Pages of a walk must join: the check that no benchmark may skip. */
static bool
joins(const struct run *r, const struct client *c, const struct sb_reply_view *v)
{
    if (v->rows == 0 || c->cursor_len == 0)
        return true;
    return r->o->newer ? v->first_seq != c->first_seq : v->last_seq != c->first_seq;
}

static int
next_request(struct run *r, uint32_t i)
{
    if (r->o->rate == 0)
        return ask_page(r, &r->clients[i], sb_now_ns());
    r->idle[r->n_idle++] = i;
    return 0;
}

static int
on_reply(struct run *r, uint32_t i, struct sb_bytes frame)
{
    struct client *c = &r->clients[i];
    struct sb_reply_view v;
    if (sb_reply_read(frame, &v) != 0 || !v.is_reply || v.re != c->id)
    {
        r->broken++;
        return -1;
    }
    sb_histogram_add(&r->latency, sb_now_ns() - c->due_ns);
    r->pages++;
    r->rows += v.rows;
    r->bytes += frame.len;
    r->errors += v.error;
    r->broken += !joins(r, c, &v);
    c->first_seq = r->o->newer ? v.last_seq : v.first_seq;
    c->cursor_len = v.cursor.len <= sizeof(c->cursor) ? v.cursor.len : 0;
    if (c->cursor_len != 0)
        memcpy(c->cursor, v.cursor.data, c->cursor_len);
    else
        r->walks++;
    return next_request(r, i);
}

static int
on_readable(struct run *r, uint32_t i)
{
    struct client *c = &r->clients[i];
    struct sb_bytes frame;
    uint16_t closed;
    if (sb_ws_fill(&c->ws) != 0)
    {
        fprintf(stderr, "a connection was lost\n");
        return -1;
    }
    while (sb_ws_take(&c->ws, &frame, &closed))
        if (on_reply(r, i, frame) != 0)
            return -1;
    if (closed != 0)
        fprintf(stderr, "the server closed a connection with %u\n", closed);
    return closed != 0 ? -1 : 0;
}

/* Open loop: sends what is due. A request that finds no idle connection stays due. */
static int
send_due(struct run *r, uint64_t now)
{
    uint64_t gap = (uint64_t)(1e9 / r->o->rate);
    while (r->n_idle != 0 && r->next_due_ns <= now)
    {
        uint32_t at = (uint32_t)(draw(r) % r->n_idle);
        uint32_t i = r->idle[at];
        r->idle[at] = r->idle[--r->n_idle];
        if (ask_page(r, &r->clients[i], r->next_due_ns) != 0)
            return -1;
        r->next_due_ns += gap;
    }
    return 0;
}

static int
wait_ms(const struct run *r, uint64_t now, uint64_t end)
{
    uint64_t until = end;
    if (r->o->rate != 0 && r->n_idle != 0 && r->next_due_ns < until)
        until = r->next_due_ns;
    return until <= now ? 0 : (int)((until - now) / 1000000);
}

static int
run_for(struct run *r, double seconds, const char *what)
{
    uint64_t began = sb_now_ns();
    uint64_t end = began + (uint64_t)(seconds * 1e9);
    uint64_t told = began;
    struct epoll_event events[EVENTS];
    for (uint64_t now = began; now < end; now = sb_now_ns())
    {
        if (r->o->rate != 0 && send_due(r, now) != 0)
            return -1;
        int n = epoll_wait(r->epoll, events, EVENTS, wait_ms(r, now, end));
        for (int k = 0; k < n; k++)
            if (on_readable(r, events[k].data.u32) != 0)
                return -1;
        if (now - told > 1000000000u)
        {
            told = now;
            fprintf(stderr, "\r%s: %.0f of %.0f s, %.0f pages/s ", what,
                    (double)(now - began) / 1e9, seconds,
                    (double)r->pages * 1e9 / (double)(now - began));
        }
    }
    fprintf(stderr, "\r%60s\r", "");
    return 0;
}

static double
us(const struct run *r, double p)
{
    return (double)sb_histogram_percentile(&r->latency, p) / 1000.0;
}

struct outcome
{
    double wall, server_cpu, own_cpu;
    uint64_t rss_kib;
};

static void
tell(const struct run *r, const struct outcome *x)
{
    double per_page = x->server_cpu > 0 ? x->server_cpu * 1e6 / (double)r->pages : 0;
    printf("connections        %u, pages of %u rows, %s\n", r->o->connections, r->o->limit,
           r->o->rate == 0 ? "closed loop" : "open loop");
    printf("pages              %llu in %.1f s: %.0f/s\n", (unsigned long long)r->pages, x->wall,
           (double)r->pages / x->wall);
    printf("rows, bytes/page   %llu, %.0f\n", (unsigned long long)r->rows,
           (double)r->bytes / (double)r->pages);
    printf("walks finished     %llu\n", (unsigned long long)r->walks);
    printf("latency us         p50 %.0f, p99 %.0f, p99.9 %.0f, max %.0f\n", us(r, 0.5), us(r, 0.99),
           us(r, 0.999), (double)r->latency.max / 1000.0);
    if (r->o->pid != 0)
        printf("server             %.1f us CPU/page, %.0f pages per CPU second, RssAnon %llu KiB\n",
               per_page, (double)r->pages / x->server_cpu, (unsigned long long)x->rss_kib);
    printf("errors, broken     %llu, %llu\n", (unsigned long long)r->errors,
           (unsigned long long)r->broken);
    if (x->own_cpu > 0.9 * x->wall)
        printf("NOTE: this client was busy %.0f %% of the time: it is the bottleneck, so pages/s "
               "and latency are its own; CPU per page is still the server's\n",
               100 * x->own_cpu / x->wall);
}

static void
write_json(const struct run *r, const struct outcome *x)
{
    FILE *f = r->o->json == NULL ? NULL : fopen(r->o->json, "w");
    if (f == NULL)
    {
        if (r->o->json != NULL)
            fprintf(stderr, "cannot write %s: %s\n", r->o->json, strerror(errno));
        return;
    }
    fprintf(f,
            "{\"mode\":\"scroll\",\"connections\":%u,\"limit\":%u,\"rate\":%.0f,\"seconds\":%.3f,"
            "\"pages\":%llu,\"rows\":%llu,\"bytes\":%llu,\"walks\":%llu,\"errors\":%llu,"
            "\"broken\":%llu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,"
            "\"server_cpu_s\":%.4f,\"server_rss_anon_kib\":%llu,\"client_cpu_s\":%.4f}\n",
            r->o->connections, r->o->limit, r->o->rate, x->wall, (unsigned long long)r->pages,
            (unsigned long long)r->rows, (unsigned long long)r->bytes, (unsigned long long)r->walks,
            (unsigned long long)r->errors, (unsigned long long)r->broken, us(r, 0.5), us(r, 0.99),
            us(r, 0.999), (double)r->latency.max / 1000.0, x->server_cpu,
            (unsigned long long)x->rss_kib, x->own_cpu);
    fclose(f);
}

static void
start_counting(struct run *r)
{
    sb_histogram_reset(&r->latency);
    r->pages = r->rows = r->walks = r->bytes = 0;
}

static int
measure(struct run *r)
{
    struct outcome x = {0};
    r->next_due_ns = sb_now_ns();
    for (uint32_t i = 0; i < r->o->connections; i++)
        if (next_request(r, i) != 0)
            return -1;
    if (run_for(r, r->o->warmup, "warm-up") != 0)
        return -1;
    start_counting(r);
    double cpu = r->o->pid != 0 ? sb_proc_cpu(r->o->pid) : 0;
    double own = sb_own_cpu();
    uint64_t began = sb_now_ns();
    if (run_for(r, r->o->seconds, "measuring") != 0)
        return -1;
    x.wall = (double)(sb_now_ns() - began) / 1e9;
    x.own_cpu = sb_own_cpu() - own;
    x.server_cpu = r->o->pid != 0 ? sb_proc_cpu(r->o->pid) - cpu : 0;
    x.rss_kib = r->o->pid != 0 ? sb_proc_rss_anon(r->o->pid) : 0;
    if (r->pages == 0)
    {
        fprintf(stderr, "no page came back\n");
        return -1;
    }
    tell(r, &x);
    write_json(r, &x);
    return r->errors + r->broken == 0 ? 0 : -1;
}

int
sb_scroll_run(const struct sb_load_options *o)
{
    struct run r = {.o = o, .random = o->seed | 1, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    r.clients = calloc(o->connections, sizeof(*r.clients));
    r.idle = calloc(o->connections, sizeof(*r.idle));
    int rc = -1;
    if (r.clients != NULL && r.idle != NULL)
    {
        for (uint32_t i = 0; i < o->connections; i++)
            r.clients[i].ws.fd = -1;
        rc = open_all(&r);
        if (rc == 0)
            rc = measure(&r);
        for (uint32_t i = 0; i < o->connections; i++)
            sb_ws_close(&r.clients[i].ws);
    }
    sb_names_finish(&r.names);
    free(r.idle);
    free(r.clients);
    close(r.epoll);
    return rc == 0 ? 0 : 1;
}

/*
 * idle.c - what a connection costs that said hello and does nothing.
 *
 * Opens them all, waits a while, and tells the server's anonymous memory and CPU for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "loadtest/proc.h"
#include "loadtest/session.h"

static void
allow_descriptors(uint32_t n)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= n + 64)
        return;
    r.rlim_cur = n + 64;
    if (r.rlim_max < r.rlim_cur)
        r.rlim_max = r.rlim_cur; /* root may */
    if (setrlimit(RLIMIT_NOFILE, &r) != 0)
        fprintf(stderr, "the descriptor limit is too low for %u connections\n", n);
}

static int
open_many(struct sb_ws *all, const struct sb_load_options *o, uint32_t *n)
{
    for (*n = 0; *n < o->connections; ++*n)
    {
        if (sb_session_open(&all[*n], o) != 0)
            return -1;
        free(all[*n].in); /* it is our memory that may run short, not the server's */
        all[*n].in = NULL;
        all[*n].in_len = all[*n].in_cap = all[*n].in_at = 0;
        if ((*n + 1) % 1000 == 0)
            fprintf(stderr, "\r%u connections ", *n + 1);
    }
    fprintf(stderr, "\r%40s\r", "");
    return 0;
}

int
sb_idle_run(const struct sb_load_options *o)
{
    struct sb_ws *all = calloc(o->connections, sizeof(*all));
    uint32_t n = 0;
    if (o->pid == 0 || all == NULL)
    {
        fprintf(stderr, "idle needs --pid, the server's\n");
        free(all);
        return 2;
    }
    allow_descriptors(o->connections);
    uint64_t before = sb_proc_rss_anon(o->pid);
    int rc = open_many(all, o, &n);
    if (rc == 0)
    {
        struct timespec wait = {.tv_sec = (time_t)o->seconds};
        uint64_t after = sb_proc_rss_anon(o->pid);
        double cpu = sb_proc_cpu(o->pid);
        nanosleep(&wait, NULL);
        cpu = sb_proc_cpu(o->pid) - cpu;
        printf("connections        %u, idle after hello\n", n);
        printf("server RssAnon     %llu KiB before, %llu KiB after: %.0f bytes per connection\n",
               (unsigned long long)before, (unsigned long long)after,
               (double)(after - before) * 1024 / n);
        printf("server CPU         %.2f %% of one core while idle\n", 100 * cpu / o->seconds);
    }
    for (uint32_t i = 0; i < n; i++)
        sb_ws_close(&all[i]);
    free(all);
    return rc == 0 ? 0 : 1;
}

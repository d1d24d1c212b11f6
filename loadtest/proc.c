/* proc.c - see proc.h. */
#include "loadtest/proc.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

double
sb_proc_cpu(long pid)
{
    /* schedstat counts nanoseconds; stat's ticks of 10 ms are too coarse for short runs. */
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof(path), "/proc/%ld/schedstat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    int n = fscanf(f, "%llu", &ns);
    fclose(f);
    return n == 1 ? (double)ns / 1e9 : -1;
}

uint64_t
sb_proc_rss_anon(long pid)
{
    char path[64];
    char line[256];
    unsigned long kib = 0;
    snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "RssAnon: %lu kB", &kib) == 1)
            break;
    fclose(f);
    return kib;
}

double
sb_own_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

uint64_t
sb_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

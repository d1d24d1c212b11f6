/* options.h - what a run of scrollback-load is asked for. */
#ifndef SB_LOADTEST_OPTIONS_H
#define SB_LOADTEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct sb_load_options
{
    char host[256], port[8], path[256]; /* of --url */
    const char *token;                  /* --token, or SB_TOKEN */
    uint32_t connections;
    double seconds, warmup;
    uint32_t limit;
    double rate;      /* requests per second in all; 0: closed loop */
    bool newer;       /* walk from the oldest row up */
    long pid;         /* of the server: its CPU and memory are told; 0: not */
    const char *json; /* file that gets the result; NULL: none */
    uint64_t seed;
};

/* Runs `scroll`. The exit code. */
int sb_scroll_run(const struct sb_load_options *o);
/* Runs `idle`. The exit code. */
int sb_idle_run(const struct sb_load_options *o);

#endif

/* proc.h - a process's CPU time and memory, from /proc; our own CPU time. */
#ifndef SB_LOADTEST_PROC_H
#define SB_LOADTEST_PROC_H

#include <stdint.h>

/* CPU seconds used so far, user and system; negative when it cannot be read. */
double sb_proc_cpu(long pid);
/* Anonymous resident memory (RssAnon) in KiB; 0 when it cannot be read. */
uint64_t sb_proc_rss_anon(long pid);
double sb_own_cpu(void);
uint64_t sb_now_ns(void);

#endif

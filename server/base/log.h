/*
 * log.h - lines for the operator, on stderr: "TIME LEVEL part: text".
 *
 * Never message content, tokens or cursor bytes. A line that a peer can cause
 * goes through a limiter: past its rate lines are counted and told in one line.
 * Any thread may log; one line is one write.
 */
#ifndef SB_BASE_LOG_H
#define SB_BASE_LOG_H

#include <stdint.h>

enum sb_log_level
{
    SB_LOG_ERROR,
    SB_LOG_WARN,
    SB_LOG_INFO,
    SB_LOG_DEBUG,
};

/* Lines above the level are dropped. Default: info. */
void sb_log_set_level(enum sb_log_level level);
/* "error", "warn", "info", "debug" -> level; false for another word. */
int sb_log_level_parse(const char *name, enum sb_log_level *out);
void sb_log(enum sb_log_level level, const char *part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* At most `burst` lines per second through one limiter; zero-initialise the rest. */
struct sb_log_limit
{
    uint32_t burst;
    uint32_t used;    /* lines in this second */
    uint32_t dropped; /* since the last line that went out */
    uint64_t second;
};
void sb_log_limited(struct sb_log_limit *limit, uint64_t now_ms, enum sb_log_level level,
                    const char *part, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif

/* log.c - see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum sb_log_level max_level = SB_LOG_INFO;
static const char *const names[] = {"error", "warn", "info", "debug"};

void
sb_log_set_level(enum sb_log_level level)
{
    max_level = level;
}

int
sb_log_level_parse(const char *name, enum sb_log_level *out)
{
    for (int i = 0; i <= SB_LOG_DEBUG; i++)
        if (strcmp(name, names[i]) == 0)
        {
            *out = (enum sb_log_level)i;
            return 1;
        }
    return 0;
}

static void write_line(enum sb_log_level level, const char *part, uint32_t dropped,
                       const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void
write_line(enum sb_log_level level, const char *part, uint32_t dropped, const char *format,
           va_list args)
{
    char line[1024];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ldZ %s %s: ", now.tv_nsec / 1000000,
                          names[level], part);
    int more = vsnprintf(line + n, sizeof(line) - n - 64, format, args);
    if (more > 0)
        n += (size_t)more < sizeof(line) - n - 64 ? (size_t)more : sizeof(line) - n - 65;
    if (dropped != 0)
        n += (size_t)snprintf(line + n, 63, " (%u like it not shown)", dropped);
    line[n++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, n);
    (void)written; /* nobody is left to tell */
}

void
sb_log(enum sb_log_level level, const char *part, const char *format, ...)
{
    if (level > max_level)
        return;
    va_list args;
    va_start(args, format);
    write_line(level, part, 0, format, args);
    va_end(args);
}

void
sb_log_limited(struct sb_log_limit *limit, uint64_t now_ms, enum sb_log_level level,
               const char *part, const char *format, ...)
{
    if (level > max_level)
        return;
    if (now_ms / 1000 != limit->second)
    {
        limit->second = now_ms / 1000;
        limit->used = 0;
    }
    if (limit->used >= limit->burst)
    {
        limit->dropped++;
        return;
    }
    limit->used++;
    va_list args;
    va_start(args, format);
    write_line(level, part, limit->dropped, format, args);
    va_end(args);
    limit->dropped = 0;
}

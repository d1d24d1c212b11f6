/* command.c - what all subcommands share; see command.h. */
#include "app/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"

int
sb_exit_code(int err)
{
    return err == SB_ERR_BUSY || err == SB_ERR_FOREIGN ? SB_EXIT_DIRECTORY : SB_EXIT_FAILED;
}

int
sb_complain(int code, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)fprintf(stderr, "scrollback: %s\n", text);
    return code;
}

uint64_t
sb_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t
sb_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/*
 * command.h - the subcommands: one file each, one row each in main.c.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the data directory is in use or not ours.
 */
#ifndef SB_APP_COMMAND_H
#define SB_APP_COMMAND_H

#include <stdint.h>

#define SB_EXIT_FAILED 1
#define SB_EXIT_USAGE 2
#define SB_EXIT_DIRECTORY 3

/* argv[0] is the first argument after the command's name. Returns the exit code. */
int sb_cmd_serve(int argc, char **argv);
int sb_cmd_import(int argc, char **argv);
int sb_cmd_token(int argc, char **argv);
int sb_cmd_keys(int argc, char **argv);
int sb_cmd_check(int argc, char **argv);

/* The exit code of a failure (SB_ERR_) at opening a directory or its keys. */
int sb_exit_code(int err);
/* "scrollback: text" on stderr; returns `code`. */
int sb_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Unix milliseconds. */
uint64_t sb_now_ms(void);
/* Monotonic microseconds. */
uint64_t sb_now_us(void);

#endif

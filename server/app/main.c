/*
 * main.c - finds the subcommand in a table and runs it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/command.h"

static const struct
{
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", "run the server in the foreground", sb_cmd_serve},
    {"import", "read exports of other chat systems into a data directory", sb_cmd_import},
    {"token", "print a token for a user, signed with a directory's key", sb_cmd_token},
    {"keys", "list, rotate or drop a directory's keys", sb_cmd_keys},
    {"check", "verify every record and index of a data directory", sb_cmd_check},
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
usage(FILE *out)
{
    (void)fprintf(out, "usage: scrollback COMMAND [OPTION]...\n\n"
                       "A WebSocket server for live chat and its history.\n\ncommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        (void)fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out, "\n`scrollback COMMAND --help` tells a command's options. "
                       "--version prints the version.\n");
}

int
main(int argc, char **argv)
{
    umask(077); /* what is made here holds messages and keys: for the owner only */
    if (argc < 2)
    {
        usage(stderr);
        return SB_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
    {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0)
    {
        (void)printf("scrollback %s\n", SB_VERSION);
        return 0;
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
    {
        if (strcmp(argv[1], commands[i].name) == 0)
        {
            int code = commands[i].run(argc - 2, argv + 2);
            /* A full disk or a closed pipe behind stdout is a failure too. */
            if (fflush(stdout) != 0 && code == 0)
                code = sb_complain(SB_EXIT_FAILED, "cannot write to standard output");
            return code;
        }
    }
    return sb_complain(SB_EXIT_USAGE, "there is no command \"%.60s\"; see scrollback --help",
                       argv[1]);
}

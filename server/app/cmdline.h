/*
 * cmdline.h - a command's arguments: its own options, the config keys it takes, operands.
 *
 * Forms: --name value, --name=value, a bare --name for switches; `--` ends the options.
 * A name given twice: the last counts.
 */
#ifndef SB_APP_CMDLINE_H
#define SB_APP_CMDLINE_H

#include "app/config.h"

/* An option that is no config key. Exactly one of value and flag is set. */
struct sb_option
{
    const char *name;
    const char *placeholder; /* of its value in --help */
    const char *help;
    const char **value; /* points into argv afterwards */
    bool *flag;         /* a switch */
};

struct sb_cmdline
{
    unsigned command;                /* SB_FOR_ bit */
    const char *usage;               /* after "usage: scrollback " */
    const char *about;               /* paragraphs of --help between usage and options */
    const struct sb_option *options; /* ends with a NULL name */
    int min_operands, max_operands;  /* max -1: any number */
    bool needs_data;                 /* the directory must be named, not taken by default */
    void (*more_help)(FILE *out);    /* at the end of --help; may be NULL */
};

enum sb_cmdline_outcome
{
    SB_CMDLINE_RUN,
    SB_CMDLINE_HELPED, /* --help was answered: exit 0 */
    SB_CMDLINE_WRONG,  /* `why` tells: exit 2 */
};

struct sb_operands
{
    int n;
    char **v; /* into argv, which is reordered */
};

/* Fills an initialised config from flags, environment and the --config file. */
enum sb_cmdline_outcome sb_cmdline_parse(const struct sb_cmdline *line, int argc, char **argv,
                                         struct sb_config *c, struct sb_operands *operands,
                                         char *why);
/* For main: parses, answers --help, tells what is wrong on stderr. -1: run; else the exit code. */
int sb_cmdline_begin(const struct sb_cmdline *line, int argc, char **argv, struct sb_config *c,
                     struct sb_operands *operands);

#endif

/* cmdline.c - see cmdline.h. It knows no command; tables tell it all. */
#include "app/cmdline.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"

static int
refuse(char *why, const char *format, const char *name, size_t len)
{
    int n = snprintf(why, SB_WHY, "--%.*s ", (int)(len > 100 ? 100 : len), name);
    (void)snprintf(why + n, SB_WHY - (size_t)n, "%s", format);
    return SB_ERR_BAD_REQUEST;
}

static const struct sb_option *
find_option(const struct sb_cmdline *line, const char *name, size_t len)
{
    for (const struct sb_option *o = line->options; o->name != NULL; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static bool
is_bool_word(const char *word)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off"};
    for (size_t i = 0; word != NULL && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* State of one pass over argv. */
struct pass
{
    const struct sb_cmdline *line;
    struct sb_config *config;
    int argc, at;
    char **argv;
    const char *file; /* --config */
    char *why;
};

/* The value of the option at p->at: behind `=`, or the next argument. One that looks like an
 * option is none: a forgotten value shall not swallow its neighbour. */
static const char *
take_value(struct pass *p, const char *equals)
{
    if (equals != NULL)
        return equals + 1;
    if (p->at + 1 >= p->argc || strncmp(p->argv[p->at + 1], "--", 2) == 0)
        return NULL;
    return p->argv[++p->at];
}

static int
take_key(struct pass *p, const struct sb_config_key *key, const char *equals)
{
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    const char *value = key->type == SB_CONFIG_BOOL && equals == NULL && !is_bool_word(next)
                            ? "true"
                            : take_value(p, equals);
    if (value == NULL)
        return refuse(p->why, "needs a value", key->name, strlen(key->name));
    char reason[SB_WHY];
    int rc = sb_config_set(p->config, key, value, SB_FROM_FLAG, reason);
    if (rc != 0)
        (void)snprintf(p->why, SB_WHY, "--%.480s", reason);
    return rc;
}

static int
take_option(struct pass *p, const struct sb_option *o, const char *equals)
{
    if (o->flag != NULL)
    {
        if (equals != NULL)
            return refuse(p->why, "takes no value", o->name, strlen(o->name));
        *o->flag = true;
        return 0;
    }
    const char *value = take_value(p, equals);
    if (value == NULL)
        return refuse(p->why, "needs a value", o->name, strlen(o->name));
    *o->value = value;
    return 0;
}

static int
take_argument(struct pass *p)
{
    const char *name = p->argv[p->at] + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const struct sb_option file = {"config", NULL, NULL, &p->file, NULL};

    if (len == 6 && memcmp(name, "config", 6) == 0)
        return take_option(p, &file, equals);
    const struct sb_option *o = find_option(p->line, name, len);
    if (o != NULL)
        return take_option(p, o, equals);
    const struct sb_config_key *key = sb_config_find(name, len);
    if (key != NULL && (key->commands & p->line->command) != 0)
        return take_key(p, key, equals);
    return refuse(p->why,
                  key != NULL ? "is not for this command" : "is not an option of this command",
                  name, len);
}

static int
take_all(struct pass *p, struct sb_operands *operands)
{
    bool options = true;
    operands->n = 0;
    operands->v = p->argv;
    for (p->at = 0; p->at < p->argc; p->at++)
    {
        char *arg = p->argv[p->at];
        if (options && strcmp(arg, "--") == 0)
            options = false;
        else if (options && arg[0] == '-' && arg[1] == '-')
        {
            int rc = take_argument(p);
            if (rc != 0)
                return rc;
        }
        else if (options && arg[0] == '-' && arg[1] != '\0')
        {
            (void)snprintf(p->why, SB_WHY, "%.100s is not an option of this command", arg);
            return SB_ERR_BAD_REQUEST;
        }
        else
            operands->v[operands->n++] = arg; /* behind the reading place: nothing is lost */
    }
    return 0;
}

static int
check_operands(const struct sb_cmdline *line, const struct sb_operands *o, char *why)
{
    if (o->n < line->min_operands)
        (void)snprintf(why, SB_WHY, "something is missing; usage: scrollback %.300s", line->usage);
    else if (line->max_operands >= 0 && o->n > line->max_operands)
        (void)snprintf(why, SB_WHY, "\"%.100s\" is too much", o->v[line->max_operands]);
    else
        return 0;
    return SB_ERR_BAD_REQUEST;
}

static void
print_help(const struct sb_cmdline *line)
{
    (void)printf("usage: scrollback %s\n\n%s\n\noptions:\n", line->usage, line->about);
    for (const struct sb_option *o = line->options; o->name != NULL; o++)
        (void)printf("  --%s%s%s\n      %s\n", o->name, o->flag == NULL ? " " : "",
                     o->flag == NULL ? o->placeholder : "", o->help);
    (void)printf(
        "  --config FILE\n      settings as lines of `key = value`, each named as below\n");
    sb_config_help(stdout, line->command);
    (void)printf(
        "\nA setting is taken from the flag, else from the environment (SCROLLBACK_DATA for\n"
        "--data), else from the config file. TIME: 500ms, 10s, 15min, 1h. SIZE: 64KiB, 1MiB.\n");
    if (line->needs_data)
        (void)printf("This command does not take the default of --data: name the directory.\n");
    if (line->more_help != NULL)
        line->more_help(stdout);
}

enum sb_cmdline_outcome
sb_cmdline_parse(const struct sb_cmdline *line, int argc, char **argv, struct sb_config *c,
                 struct sb_operands *operands, char *why)
{
    struct pass p = {.line = line, .config = c, .argc = argc, .argv = argv, .why = why};
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
        {
            print_help(line); /* asked for help, whatever else is wrong */
            return SB_CMDLINE_HELPED;
        }
    }
    if (take_all(&p, operands) != 0 || check_operands(line, operands, why) != 0)
        return SB_CMDLINE_WRONG;
    if (p.file == NULL)
        p.file = getenv("SCROLLBACK_CONFIG");
    if (sb_config_load_env(c, line->command, getenv, why) != 0 ||
        (p.file != NULL && sb_config_load_file(c, p.file, why) != 0))
        return SB_CMDLINE_WRONG;
    if (line->needs_data && c->source[SB_KEY_data] == SB_FROM_DEFAULT)
    {
        (void)snprintf(why, SB_WHY, "--data is missing: which directory?");
        return SB_CMDLINE_WRONG;
    }
    return SB_CMDLINE_RUN;
}

int
sb_cmdline_begin(const struct sb_cmdline *line, int argc, char **argv, struct sb_config *c,
                 struct sb_operands *operands)
{
    char why[SB_WHY];
    if (sb_config_init(c) != 0)
    {
        (void)fprintf(stderr, "scrollback: short of memory\n");
        return 1;
    }
    switch (sb_cmdline_parse(line, argc, argv, c, operands, why))
    {
    case SB_CMDLINE_RUN:
        sb_log_set_level((enum sb_log_level)c->log_level);
        return -1;
    case SB_CMDLINE_HELPED:
        sb_config_finish(c);
        return 0;
    case SB_CMDLINE_WRONG:
        break;
    }
    (void)fprintf(stderr, "scrollback: %s\n", why);
    sb_config_finish(c);
    return 2;
}

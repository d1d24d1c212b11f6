/* config_help.c - what users read of the table: --help, --check-config, the manual's list. */
#include "app/config.h"

#include <string.h>

static const char *
placeholder(enum sb_config_type type)
{
    static const char *const words[] = {
        [SB_CONFIG_TEXT] = "TEXT",   [SB_CONFIG_LIST] = "A,B,...",  [SB_CONFIG_BOOL] = "true|false",
        [SB_CONFIG_COUNT] = "N",     [SB_CONFIG_DURATION] = "TIME", [SB_CONFIG_SIZE] = "SIZE",
        [SB_CONFIG_LEVEL] = "LEVEL",
    };
    return words[type];
}

static const char *
initial(const struct sb_config_key *key)
{
    return key->initial[0] == '\0' ? "empty" : key->initial;
}

void
sb_config_help(FILE *out, unsigned commands)
{
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        const struct sb_config_key *key = &sb_config_keys[i];
        if ((key->commands & commands) != 0)
            (void)fprintf(out, "  --%s %s\n      %s (default %s)\n", key->name,
                          placeholder(key->type), key->help, initial(key));
    }
}

/* Text for a manual page: `-` is a minus there, not a hyphen, and a leading dot is escaped. */
static void
man_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        (void)fputs("\\&", out);
    for (; *text != '\0'; text++)
    {
        if (*text == '-')
            (void)fputs("\\-", out);
        else if (*text == '\\')
            (void)fputs("\\e", out);
        else
            (void)fputc(*text, out);
    }
}

void
sb_config_help_man(FILE *out)
{
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        const struct sb_config_key *key = &sb_config_keys[i];
        (void)fputs(".TP\n.BI ", out);
        man_text(out, key->name);
        (void)fputs(" \" ", out);
        man_text(out, placeholder(key->type));
        (void)fputs("\"\n", out);
        man_text(out, key->help);
        (void)fputs(".\nDefault: ", out);
        man_text(out, initial(key));
        (void)fputs(".\n", out);
    }
}

void
sb_config_print(FILE *out, const struct sb_config *c, unsigned commands)
{
    static const char *const sources[] = {"default", "file", "environment", "flag"};
    char value[4096];
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        const struct sb_config_key *key = &sb_config_keys[i];
        if ((key->commands & commands) == 0)
            continue;
        sb_config_show(c, key, value, sizeof(value));
        int width = 52 - (int)strlen(key->name);
        (void)fprintf(out, "%s = %-*s # %s\n", key->name, width, value, sources[c->source[i]]);
    }
}

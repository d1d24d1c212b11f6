/*
 * config.c - see config.h: the table, its values, and setting one key.
 *
 * Nothing here knows what a key is for. Where texts come from is config_file.c's and
 * cmdline.c's affair.
 */
#include "app/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"

const struct sb_config_key sb_config_keys[SB_KEY_COUNT] = {
#define X(type, field, name, commands, min, max, initial, help)                                    \
    {SB_CONFIG_##type, commands, offsetof(struct sb_config, field), name, min, max, initial, help},
    SB_CONFIG(X)
#undef X
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static void *
field(const struct sb_config *c, const struct sb_config_key *key)
{
    return (char *)c + key->offset;
}

const struct sb_config_key *
sb_config_find(const char *name, size_t len)
{
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
        if (strlen(sb_config_keys[i].name) == len && memcmp(sb_config_keys[i].name, name, len) == 0)
            return &sb_config_keys[i];
    return NULL;
}

static void
free_value(struct sb_config *c, const struct sb_config_key *key)
{
    if (key->type == SB_CONFIG_TEXT)
        free(*(char **)field(c, key));
    if (key->type == SB_CONFIG_LIST)
    {
        char **list = *(char ***)field(c, key);
        if (list != NULL)
            free(list[0]);
        free(list);
    }
}

int
sb_config_init(struct sb_config *c)
{
    char why[SB_WHY];
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        int rc =
            sb_config_set(c, &sb_config_keys[i], sb_config_keys[i].initial, SB_FROM_DEFAULT, why);
        if (rc != 0)
        {
            sb_config_finish(c);
            return rc;
        }
    }
    return 0;
}

void
sb_config_finish(struct sb_config *c)
{
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
        free_value(c, &sb_config_keys[i]);
    memset(c, 0, sizeof(*c));
}

static int
no_memory(char *why)
{
    (void)snprintf(why, SB_WHY, "short of memory");
    return SB_ERR_NO_MEMORY;
}

static int
set_text(struct sb_config *c, const struct sb_config_key *key, const char *value, char *why)
{
    size_t len = strlen(value);
    if (len < key->min || len > key->max)
    {
        if (len == 0)
            (void)snprintf(why, SB_WHY, "%s must not be empty", key->name);
        else
            (void)snprintf(why, SB_WHY, "%s is longer than %" PRIu64 " bytes", key->name, key->max);
        return SB_ERR_BAD_REQUEST;
    }
    char *copy = strdup(value);
    if (copy == NULL)
        return no_memory(why);
    free_value(c, key);
    *(char **)field(c, key) = copy;
    return 0;
}

/* Splits "a, b,c" in place: blanks around an entry don't count, empty entries are dropped. */
static size_t
split(char *text, char **out)
{
    size_t n = 0;
    char *save = NULL;
    for (char *part = strtok_r(text, ",", &save); part != NULL; part = strtok_r(NULL, ",", &save))
    {
        part += strspn(part, " \t");
        size_t len = strlen(part);
        while (len > 0 && strchr(" \t", part[len - 1]) != NULL)
            part[--len] = '\0';
        if (len > 0)
            out[n++] = part;
    }
    out[n] = NULL;
    return n;
}

/* The strings of a list lie in one block behind its first entry's pointer. */
static int
set_list(struct sb_config *c, const struct sb_config_key *key, const char *value, char *why)
{
    size_t room = 2;
    for (const char *p = value; *p != '\0'; p++)
        room += *p == ',';
    char *block = strdup(value);
    char **list = calloc(room, sizeof(*list));
    if (block == NULL || list == NULL)
    {
        free(block);
        free(list);
        return no_memory(why);
    }
    size_t n = split(block, list);
    if (n > key->max)
    {
        free(block);
        free(list);
        (void)snprintf(why, SB_WHY, "%s has more than %" PRIu64 " entries", key->name, key->max);
        return SB_ERR_BAD_REQUEST;
    }
    if (n == 0)
        free(block);
    else if (list[0] != block)
    {
        /* The block's start is what is freed: the first entry moves there. */
        memmove(block, list[0], strlen(list[0]) + 1);
        list[0] = block;
    }
    free_value(c, key);
    *(char ***)field(c, key) = list;
    return 0;
}

static bool
parse_bool(const char *text, uint64_t *out)
{
    static const char *const words[2][3] = {{"false", "no", "off"}, {"true", "yes", "on"}};
    for (int i = 0; i < 6; i++)
    {
        if (strcmp(text, words[i % 2][i / 2]) == 0)
        {
            *out = (uint64_t)(i % 2);
            return true;
        }
    }
    return false;
}

static bool
parse_level(const char *text, uint64_t *out)
{
    enum sb_log_level level;
    if (!sb_log_level_parse(text, &level))
        return false;
    *out = (uint64_t)level;
    return true;
}

static bool
parse_number(enum sb_config_type type, const char *text, uint64_t *out)
{
    switch (type)
    {
    case SB_CONFIG_BOOL:
        return parse_bool(text, out);
    case SB_CONFIG_COUNT:
        return sb_parse_count(text, out);
    case SB_CONFIG_DURATION:
        return sb_parse_duration(text, out);
    case SB_CONFIG_SIZE:
        return sb_parse_size(text, out);
    case SB_CONFIG_LEVEL:
        return parse_level(text, out);
    case SB_CONFIG_TEXT:
    case SB_CONFIG_LIST:
        break;
    }
    return false;
}

static const char *
expected(enum sb_config_type type)
{
    static const char *const texts[] = {
        [SB_CONFIG_TEXT] = "a text",
        [SB_CONFIG_LIST] = "a list",
        [SB_CONFIG_BOOL] = "true or false",
        [SB_CONFIG_COUNT] = "a whole number",
        [SB_CONFIG_DURATION] = "a time with its unit (us, ms, s, min, h, d), such as 10s",
        [SB_CONFIG_SIZE] = "a number of bytes, or one with B, KiB, MiB, GiB or TiB",
        [SB_CONFIG_LEVEL] = "error, warn, info or debug",
    };
    return texts[type];
}

static void
show_number(const struct sb_config_key *key, uint64_t value, char *out, size_t cap)
{
    if (key->type == SB_CONFIG_DURATION)
        sb_show_duration(value, out, cap);
    else if (key->type == SB_CONFIG_SIZE)
        sb_show_size(value, out, cap);
    else
        (void)snprintf(out, cap, "%" PRIu64, value);
}

static int
set_number(struct sb_config *c, const struct sb_config_key *key, const char *value, char *why)
{
    uint64_t n;
    if (!parse_number(key->type, value, &n))
    {
        (void)snprintf(why, SB_WHY, "%s must be %s, not \"%.60s\"", key->name, expected(key->type),
                       value);
        return SB_ERR_BAD_REQUEST;
    }
    if (n < key->min || n > key->max)
    {
        char low[32], high[32];
        show_number(key, key->min, low, sizeof(low));
        show_number(key, key->max, high, sizeof(high));
        (void)snprintf(why, SB_WHY, "%s must be from %s to %s, not %.60s", key->name, low, high,
                       value);
        return SB_ERR_BAD_REQUEST;
    }
    *(uint64_t *)field(c, key) = n;
    return 0;
}

int
sb_config_set(struct sb_config *c, const struct sb_config_key *key, const char *value,
              enum sb_config_source source, char *why)
{
    size_t at = (size_t)(key - sb_config_keys);
    struct sb_config scratch = {0}; /* checks what is not to be kept */
    struct sb_config *to = source < c->source[at] ? &scratch : c;
    int rc;
    if (key->type == SB_CONFIG_TEXT)
        rc = set_text(to, key, value, why);
    else if (key->type == SB_CONFIG_LIST)
        rc = set_list(to, key, value, why);
    else
        rc = set_number(to, key, value, why);
    if (to == &scratch)
        sb_config_finish(&scratch);
    else if (rc == 0)
        c->source[at] = (unsigned char)source;
    return rc;
}

void
sb_config_show(const struct sb_config *c, const struct sb_config_key *key, char *out, size_t cap)
{
    if (key->type == SB_CONFIG_TEXT)
        (void)snprintf(out, cap, "%s", *(char **)field(c, key));
    else if (key->type == SB_CONFIG_LIST)
    {
        size_t n = 0;
        out[0] = '\0';
        for (char **p = *(char ***)field(c, key); *p != NULL && n < cap; p++)
            n += (size_t)snprintf(out + n, cap - n, "%s%s", n == 0 ? "" : ", ", *p);
    }
    else if (key->type == SB_CONFIG_BOOL)
        (void)snprintf(out, cap, "%s", *(uint64_t *)field(c, key) != 0 ? "true" : "false");
    else if (key->type == SB_CONFIG_LEVEL)
        (void)snprintf(out, cap, "%s", level_names[*(uint64_t *)field(c, key)]);
    else
        show_number(key, *(uint64_t *)field(c, key), out, cap);
}

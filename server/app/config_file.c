/*
 * config_file.c - settings from a file and from the environment; see config.h.
 *
 * A file is lines of `key = value`. `#` begins a comment at a line's start or after a
 * blank. An unknown key, an unknown section and a key given twice are errors with their
 * line: a setting that silently does nothing is worse than no start.
 */
#include "app/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LINE_MAX_LEN 4096

static bool
blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *
trim(char *s)
{
    while (blank(*s))
        s++;
    size_t len = strlen(s);
    while (len > 0 && blank(s[len - 1]))
        s[--len] = '\0';
    return s;
}

static void
cut_comment(char *line)
{
    for (char *p = line; *p != '\0'; p++)
    {
        if (*p == '#' && (p == line || blank(p[-1])))
        {
            *p = '\0';
            return;
        }
    }
}

static int
line_error(char *why, const char *name, unsigned line, const char *text)
{
    (void)snprintf(why, SB_WHY, "%.200s, line %u: %.280s", name, line, text);
    return SB_ERR_BAD_REQUEST;
}

/* One line, in place. `seen`: line of each key's first setting. */
static int
parse_line(struct sb_config *c, char *text, unsigned line, unsigned *seen, const char *name,
           char *why)
{
    char reason[SB_WHY];
    cut_comment(text);
    text = trim(text);
    if (*text == '\0')
        return 0;
    if (*text == '[')
    {
        (void)snprintf(reason, sizeof(reason), "this version knows no section %.100s", text);
        return line_error(why, name, line, reason);
    }
    char *equals = strchr(text, '=');
    if (equals == NULL)
        return line_error(why, name, line, "a line is `key = value`");
    *equals = '\0';
    char *key_name = trim(text);
    const struct sb_config_key *key = sb_config_find(key_name, strlen(key_name));
    if (key == NULL)
    {
        (void)snprintf(reason, sizeof(reason), "there is no setting \"%.100s\"", key_name);
        return line_error(why, name, line, reason);
    }
    size_t at = (size_t)(key - sb_config_keys);
    if (seen[at] != 0)
    {
        (void)snprintf(reason, sizeof(reason), "%s is set a second time, first in line %u",
                       key->name, seen[at]);
        return line_error(why, name, line, reason);
    }
    seen[at] = line;
    int rc = sb_config_set(c, key, trim(equals + 1), SB_FROM_FILE, reason);
    if (rc != 0)
        line_error(why, name, line, reason);
    return rc;
}

int
sb_config_parse_file(struct sb_config *c, const char *text, size_t len, const char *name, char *why)
{
    unsigned seen[SB_KEY_COUNT] = {0};
    unsigned line = 0;
    char buf[LINE_MAX_LEN];
    const char *end = text + len;

    if (len > SB_CONFIG_FILE_MAX)
    {
        (void)snprintf(why, SB_WHY, "%.200s is too long for a config file", name);
        return SB_ERR_BAD_REQUEST;
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* a byte order mark */
    while (text < end)
    {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((newline == NULL ? end : newline) - text);
        line++;
        if (n >= sizeof(buf))
            return line_error(why, name, line, "the line is too long");
        if (n > 0 && memchr(text, '\0', n) != NULL)
            return line_error(why, name, line, "there is a NUL byte");
        memcpy(buf, text, n);
        buf[n] = '\0';
        int rc = parse_line(c, buf, line, seen, name, why);
        if (rc != 0)
            return rc;
        text += n + (newline != NULL);
    }
    return 0;
}

int
sb_config_load_file(struct sb_config *c, const char *path, char *why)
{
    char *text = malloc(SB_CONFIG_FILE_MAX + 1);
    FILE *f = text == NULL ? NULL : fopen(path, "re");
    if (f == NULL)
    {
        (void)snprintf(why, SB_WHY, "cannot read the config file %.200s: %s", path,
                       strerror(errno));
        free(text);
        return SB_ERR_IO;
    }
    size_t len = fread(text, 1, SB_CONFIG_FILE_MAX + 1, f);
    int rc = SB_ERR_IO;
    if (ferror(f))
    {
        (void)snprintf(why, SB_WHY, "cannot read the config file %.200s: %s", path,
                       strerror(errno));
    }
    else
    {
        rc = sb_config_parse_file(c, text, len, path, why);
    }
    (void)fclose(f);
    free(text);
    return rc;
}

/* snapshot-ttl -> SCROLLBACK_SNAPSHOT_TTL */
static void
env_name(const struct sb_config_key *key, char out[64])
{
    size_t n = (size_t)snprintf(out, 64, "SCROLLBACK_");
    static const char from[] = "abcdefghijklmnopqrstuvwxyz-";
    static const char to[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    for (const char *p = key->name; *p != '\0' && n < 63; p++)
        out[n++] = to[strchr(from, *p) - from]; /* names have no other characters */
    out[n] = '\0';
}

int
sb_config_load_env(struct sb_config *c, unsigned commands, char *(*get)(const char *name),
                   char *why)
{
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        const struct sb_config_key *key = &sb_config_keys[i];
        char name[64], reason[SB_WHY];
        if ((key->commands & commands) == 0)
            continue;
        env_name(key, name);
        const char *value = get(name);
        if (value == NULL)
            continue;
        int rc = sb_config_set(c, key, value, SB_FROM_ENV, reason);
        if (rc != 0)
        {
            (void)snprintf(why, SB_WHY, "environment variable %s: %.400s", name, reason);
            return rc;
        }
    }
    return 0;
}

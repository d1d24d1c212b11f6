/*
 * config.h - the settings as values, and the ways they are set.
 *
 * A flag beats the environment, which beats the file, which beats the default. All
 * functions that can refuse fill `why` (SB_WHY bytes) with a sentence for the user.
 */
#ifndef SB_APP_CONFIG_H
#define SB_APP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "app/config_table.h"

#define SB_WHY 512
#define SB_CONFIG_FILE_MAX ((size_t)256 * 1024) /* bytes of a config file */

enum sb_config_type
{
    SB_CONFIG_TEXT,     /* char *; minimum and maximum are of its length */
    SB_CONFIG_LIST,     /* char **, NULL-terminated; the maximum is of its entries */
    SB_CONFIG_BOOL,     /* the types from here on are a uint64_t */
    SB_CONFIG_COUNT,    /* a plain number */
    SB_CONFIG_DURATION, /* microseconds */
    SB_CONFIG_SIZE,     /* bytes */
    SB_CONFIG_LEVEL,    /* enum sb_log_level */
};

enum sb_config_source
{
    SB_FROM_DEFAULT,
    SB_FROM_FILE,
    SB_FROM_ENV,
    SB_FROM_FLAG,
};

/* The field of each type. */
typedef char *sb_config_TEXT;
typedef char **sb_config_LIST;
typedef uint64_t sb_config_BOOL, sb_config_COUNT, sb_config_DURATION, sb_config_SIZE,
    sb_config_LEVEL;

enum sb_config_id
{
#define X(type, field, ...) SB_KEY_##field,
    SB_CONFIG(X)
#undef X
        SB_KEY_COUNT,
};

struct sb_config
{
#define X(type, field, ...) sb_config_##type field;
    SB_CONFIG(X)
#undef X
    unsigned char source[SB_KEY_COUNT]; /* enum sb_config_source of each key */
};

/* A row of the table. */
struct sb_config_key
{
    enum sb_config_type type;
    unsigned commands; /* SB_FOR_ bits */
    size_t offset;     /* of its field in struct sb_config */
    const char *name;
    uint64_t min, max;
    const char *initial, *help;
};

extern const struct sb_config_key sb_config_keys[SB_KEY_COUNT];

/* All defaults. 0 or SB_ERR_NO_MEMORY. */
int sb_config_init(struct sb_config *c);
void sb_config_finish(struct sb_config *c);

/* The row of a key's name (len bytes), or NULL. */
const struct sb_config_key *sb_config_find(const char *name, size_t len);
/* Sets a key unless it was set from a stronger source; the value is checked all the same.
 * SB_ERR_BAD_REQUEST, SB_ERR_NO_MEMORY. */
int sb_config_set(struct sb_config *c, const struct sb_config_key *key, const char *value,
                  enum sb_config_source source, char *why);
/* The text of a config file; `name` is for messages. NUL bytes are refused. */
int sb_config_parse_file(struct sb_config *c, const char *text, size_t len, const char *name,
                         char *why);
/* Reads and parses a file. Also SB_ERR_IO. */
int sb_config_load_file(struct sb_config *c, const char *path, char *why);
/* SCROLLBACK_KEY for the keys of `commands`; `get` is getenv or a test's. */
int sb_config_load_env(struct sb_config *c, unsigned commands, char *(*get)(const char *name),
                       char *why);

/* The value as a user would write it, into out (cap bytes, cut if longer). */
void sb_config_show(const struct sb_config *c, const struct sb_config_key *key, char *out,
                    size_t cap);

/* ---- numbers with units (config_units.c) ---- */

/* "500ms" -> microseconds: us, ms, s, min, h, d; a plain 0 too. False: not of that form, or
 * too large for 64 bits. */
bool sb_parse_duration(const char *text, uint64_t *out);
/* "64KiB", "1048576" -> bytes: B, KiB, MiB, GiB, TiB. */
bool sb_parse_size(const char *text, uint64_t *out);
/* Decimal digits only. */
bool sb_parse_count(const char *text, uint64_t *out);
/* The largest unit that gives a whole number. */
void sb_show_duration(uint64_t us, char *out, size_t cap);
void sb_show_size(uint64_t bytes, char *out, size_t cap);

/* ---- what users read (config_help.c) ---- */

/* The flags of a command's keys, for --help. */
void sb_config_help(FILE *out, unsigned commands);
/* The keys as a section of a manual page (man macros). */
void sb_config_help_man(FILE *out);
/* Each key, its value and where it came from, as a config file. */
void sb_config_print(FILE *out, const struct sb_config *c, unsigned commands);

#endif

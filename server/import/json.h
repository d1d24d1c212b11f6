/*
 * json.h - JSON text, fed in pieces, to small bounded value trees, one message at a time.
 *
 * The only file pair that knows yajl. Strings come out as valid UTF-8 (invalid parts as
 * U+FFFD). A value that is too large or too deep is told as such and the stream goes on.
 */
#ifndef SB_IMPORT_JSON_H
#define SB_IMPORT_JSON_H

#include "import/arena.h"

enum sb_json_type
{
    SB_JSON_NULL,
    SB_JSON_BOOL,
    SB_JSON_NUMBER,
    SB_JSON_STRING,
    SB_JSON_ARRAY,
    SB_JSON_MAP,
};

struct sb_json
{
    enum sb_json_type type;
    uint32_t n;           /* children */
    struct sb_bytes key;  /* of a map's child */
    struct sb_bytes text; /* a string's content, a number's literal; "true", "false" */
    struct sb_json *first, *next;
};

/* What a stream holds. */
enum sb_json_shape
{
    SB_JSON_VALUES,   /* values one after another: each is told */
    SB_JSON_ELEMENTS, /* one array: each of its elements is told */
};

/* One value, valid during the call; NULL: it was too large or too deep. Not 0: stop. */
typedef int (*sb_json_value)(void *ctx, const struct sb_json *value);

struct sb_json_reader;

/* `max`: bytes of memory for one value. NULL when memory is short. */
struct sb_json_reader *sb_json_create(enum sb_json_shape shape, size_t max, sb_json_value value,
                                      void *ctx);
void sb_json_destroy(struct sb_json_reader *r); /* NULL is fine */
/* 0; the callback's value; or SB_ERR_BAD_REQUEST: not JSON, or not of the shape. After an
 * error only sb_json_restart is allowed. */
int sb_json_feed(struct sb_json_reader *r, struct sb_bytes piece);
/* The end of the text: SB_ERR_BAD_REQUEST when it stops in the middle. */
int sb_json_end(struct sb_json_reader *r);
/* As if new. SB_ERR_NO_MEMORY. */
int sb_json_restart(struct sb_json_reader *r);
/* No value is open. */
bool sb_json_idle(const struct sb_json_reader *r);
/* Strings that had to be repaired, in the value being told. */
bool sb_json_repaired(const struct sb_json_reader *r);

/* The last member of that name; NULL when there is none, it is null, or v is no map. */
const struct sb_json *sb_json_get(const struct sb_json *v, struct sb_bytes key);
/* The content of a string; the empty view for anything else. */
struct sb_bytes sb_json_str(const struct sb_json *v);
/* A string's content or a number's literal, for ids; else the empty view. */
struct sb_bytes sb_json_id(const struct sb_json *v);
/* A number >= 0, its fraction dropped. False for anything else or past 2^53 - 1. */
bool sb_json_uint(const struct sb_json *v, uint64_t *out);
bool sb_json_true(const struct sb_json *v);

#endif

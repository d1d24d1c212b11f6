/*
 * json.c - see json.h.
 *
 * yajl lexes and calls back; a stack of open containers hangs the nodes together in an arena.
 * Invariant: `skipping` is set from the event that did not fit until its value is complete;
 * depth is counted all the while.
 */
#include "import/json.h"

#include <stdlib.h>

#include <yajl/yajl_parse.h>

#include "base/error.h"
#include "import/pieces.h"
#include "import/utf8.h"
#include "protocol/limits.h"
#include "protocol/utf8.h"

#define MAX_DEPTH 64 /* containers open inside one value */

struct sb_json_reader
{
    yajl_handle yajl;
    enum sb_json_shape shape;
    sb_json_value value;
    void *ctx;
    struct sb_arena arena;
    struct sb_buf scratch;   /* repaired strings */
    struct sb_pieces pieces; /* strings stay whole */
    struct
    {
        struct sb_json *node, *last;
    } stack[MAX_DEPTH];
    size_t depth; /* containers open, the outer array of ELEMENTS included */
    size_t base;  /* depth at which a value is one to tell: 0 or 1 */
    struct sb_bytes key;
    bool skipping; /* the value being read did not fit */
    bool repaired;
    bool wrong_shape;
    int stop; /* the callback's value */
};

/* Ends the value if it was the outermost one. yajl's convention: 0 stops. */
static int
complete(struct sb_json_reader *r, const struct sb_json *root)
{
    if (r->depth != r->base)
        return 1;
    r->stop = r->value(r->ctx, r->skipping ? NULL : root);
    r->skipping = false;
    r->repaired = false;
    sb_arena_reset(&r->arena);
    return r->stop == 0;
}

static struct sb_json *
node_add(struct sb_json_reader *r, enum sb_json_type type)
{
    struct sb_json *n = sb_arena_get(&r->arena, sizeof(*n));
    if (n == NULL)
    {
        r->skipping = true;
        return NULL;
    }
    *n = (struct sb_json){.type = type};
    if (r->depth == r->base)
        return n;
    size_t top = r->depth - r->base - 1;
    struct sb_json *parent = r->stack[top].node;
    if (parent->type == SB_JSON_MAP)
        n->key = r->key;
    if (r->stack[top].last == NULL)
        parent->first = n;
    else
        r->stack[top].last->next = n;
    r->stack[top].last = n;
    parent->n++;
    return n;
}

/* A scalar may stand where a value may; outside the array of ELEMENTS it is a wrong shape. */
static int
scalar(struct sb_json_reader *r, enum sb_json_type type, struct sb_bytes text)
{
    if (r->depth < r->base)
    {
        r->wrong_shape = true;
        return 0;
    }
    struct sb_json *n = r->skipping ? NULL : node_add(r, type);
    if (n != NULL)
        n->text = text;
    return complete(r, n);
}

/* A copy that lives as long as the value, valid UTF-8. */
static struct sb_bytes
keep(struct sb_json_reader *r, const void *data, size_t len)
{
    struct sb_bytes s = sb_bytes(data, len);
    if (r->skipping || r->depth < r->base)
        return sb_bytes(NULL, 0);
    if (!sb_utf8_valid(s))
    {
        sb_buf_reset(&r->scratch, 65536);
        if (sb_import_utf8_repair(&r->scratch, s) != 0)
            r->skipping = true;
        s = sb_buf_view(&r->scratch);
        r->repaired = true;
    }
    bool ok = true;
    s = sb_arena_copy(&r->arena, s, &ok);
    if (!ok)
        r->skipping = true;
    return s;
}

static int
on_null(void *ctx)
{
    return scalar(ctx, SB_JSON_NULL, sb_bytes(NULL, 0));
}

static int
on_bool(void *ctx, int v)
{
    return scalar(ctx, SB_JSON_BOOL, v != 0 ? SB_LIT("true") : SB_LIT("false"));
}

static int
on_number(void *ctx, const char *s, size_t len)
{
    return scalar(ctx, SB_JSON_NUMBER, keep(ctx, s, len));
}

static int
on_string(void *ctx, const unsigned char *s, size_t len)
{
    return scalar(ctx, SB_JSON_STRING, keep(ctx, s, len));
}

static int
on_key(void *ctx, const unsigned char *s, size_t len)
{
    struct sb_json_reader *r = ctx;
    r->key = keep(r, s, len);
    return 1;
}

static int
open_container(struct sb_json_reader *r, enum sb_json_type type)
{
    if (r->depth < r->base)
    {
        r->wrong_shape = type != SB_JSON_ARRAY;
        r->depth++;
        return !r->wrong_shape;
    }
    if (r->depth - r->base >= MAX_DEPTH)
        r->skipping = true;
    /* Deeper than any message is: the lexer's own stack must not grow with it. */
    if (r->depth - r->base >= (size_t)MAX_DEPTH * 16)
        return 0;
    struct sb_json *n = r->skipping ? NULL : node_add(r, type);
    if (n != NULL)
    {
        r->stack[r->depth - r->base].node = n;
        r->stack[r->depth - r->base].last = NULL;
    }
    r->depth++;
    return 1;
}

static int
close_container(void *ctx)
{
    struct sb_json_reader *r = ctx;
    r->depth--;
    if (r->depth < r->base)
        return 1;
    return complete(r, r->skipping ? NULL : r->stack[r->depth - r->base].node);
}

static int
on_map(void *ctx)
{
    return open_container(ctx, SB_JSON_MAP);
}

static int
on_array(void *ctx)
{
    return open_container(ctx, SB_JSON_ARRAY);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = close_container,
    .yajl_start_array = on_array,
    .yajl_end_array = close_container,
};

int
sb_json_restart(struct sb_json_reader *r)
{
    if (r->yajl != NULL)
        yajl_free(r->yajl);
    sb_arena_reset(&r->arena);
    sb_pieces_restart(&r->pieces);
    r->depth = 0;
    r->stop = 0;
    r->skipping = r->repaired = r->wrong_shape = false;
    r->yajl = yajl_alloc(&callbacks, NULL, r);
    if (r->yajl == NULL)
        return SB_ERR_NO_MEMORY;
    /* Bytes are repaired here, with a count; yajl would give up the rest of the file. */
    yajl_config(r->yajl, yajl_dont_validate_strings, 1);
    if (r->shape == SB_JSON_VALUES)
        yajl_config(r->yajl, yajl_allow_multiple_values, 1);
    return 0;
}

struct sb_json_reader *
sb_json_create(enum sb_json_shape shape, size_t max, sb_json_value value, void *ctx)
{
    struct sb_json_reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->shape = shape;
    r->base = shape == SB_JSON_ELEMENTS ? 1 : 0;
    r->value = value;
    r->ctx = ctx;
    sb_arena_init(&r->arena, max);
    sb_buf_init(&r->scratch, max);
    sb_pieces_init(&r->pieces, max);
    if (sb_json_restart(r) != 0)
    {
        sb_json_destroy(r);
        return NULL;
    }
    return r;
}

void
sb_json_destroy(struct sb_json_reader *r)
{
    if (r == NULL)
        return;
    if (r->yajl != NULL)
        yajl_free(r->yajl);
    sb_arena_finish(&r->arena);
    sb_buf_finish(&r->scratch);
    sb_pieces_finish(&r->pieces);
    free(r);
}

static int
parse(void *ctx, struct sb_bytes part, bool too_long)
{
    struct sb_json_reader *r = ctx;
    if (too_long)
        r->skipping = true; /* the value that the string is in does not fit */
    if (yajl_parse(r->yajl, part.data, part.len) == yajl_status_ok)
        return 0;
    return r->stop != 0 ? r->stop : SB_ERR_BAD_REQUEST;
}

int
sb_json_feed(struct sb_json_reader *r, struct sb_bytes piece)
{
    return piece.len == 0 ? 0 : sb_pieces_feed(&r->pieces, piece, parse, r);
}

int
sb_json_end(struct sb_json_reader *r)
{
    yajl_status s = yajl_complete_parse(r->yajl);
    if (r->stop != 0)
        return r->stop;
    bool whole = s == yajl_status_ok && r->depth == 0 && !r->pieces.in_string;
    return whole ? 0 : SB_ERR_BAD_REQUEST;
}

bool
sb_json_idle(const struct sb_json_reader *r)
{
    return r->depth == r->base && !r->pieces.in_string;
}

bool
sb_json_repaired(const struct sb_json_reader *r)
{
    return r->repaired;
}

const struct sb_json *
sb_json_get(const struct sb_json *v, struct sb_bytes key)
{
    const struct sb_json *found = NULL;
    if (v == NULL || v->type != SB_JSON_MAP)
        return NULL;
    for (const struct sb_json *c = v->first; c != NULL; c = c->next)
    {
        if (sb_bytes_eq(c->key, key))
            found = c;
    }
    return found == NULL || found->type == SB_JSON_NULL ? NULL : found;
}

struct sb_bytes
sb_json_str(const struct sb_json *v)
{
    return v != NULL && v->type == SB_JSON_STRING ? v->text : sb_bytes(NULL, 0);
}

struct sb_bytes
sb_json_id(const struct sb_json *v)
{
    return v != NULL && v->type == SB_JSON_NUMBER ? v->text : sb_json_str(v);
}

bool
sb_json_uint(const struct sb_json *v, uint64_t *out)
{
    if (v == NULL || v->type != SB_JSON_NUMBER || v->text.len == 0 || v->text.len > 300)
        return false;
    uint64_t n = 0;
    size_t i = 0;
    while (i < v->text.len && i < 16 && v->text.data[i] >= '0' && v->text.data[i] <= '9')
        n = n * 10 + (uint64_t)(v->text.data[i++] - '0');
    if (i < v->text.len)
    {
        char literal[301];
        memcpy(literal, v->text.data, v->text.len);
        literal[v->text.len] = '\0';
        double d = strtod(literal, NULL);
        if (!(d >= 0 && d <= (double)SB_MAX_SAFE_INT))
            return false;
        n = (uint64_t)d;
    }
    if (n > SB_MAX_SAFE_INT)
        return false;
    *out = n;
    return true;
}

bool
sb_json_true(const struct sb_json *v)
{
    return v != NULL && v->type == SB_JSON_BOOL && v->text.len == 4;
}

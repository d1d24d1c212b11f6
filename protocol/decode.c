/*
 * decode.c - the way of a frame: pre-scan, unpack, op and id, then the operation's table.
 *
 * It must not know what a field means. Unpacking goes into one zone that is kept between frames and
 * large enough for any of them: decoding a request allocates nothing.
 */
#include "protocol/decode.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "protocol/request_fields.h"

/*
 * Room for as many values as the pre-scan lets through, so that no frame whatever makes
 * msgpack-c allocate. Pages that are never used are never touched.
 */
#define ZONE_CHUNK (SB_MAX_ELEMENTS * sizeof(msgpack_object))

static void
draw_secret(struct sb_keyset_secret *secret)
{
    if (getrandom(secret, sizeof(*secret), GRND_NONBLOCK) == (ssize_t)sizeof(*secret))
        return;
    /* Too early after boot: an address and the clock still differ per process. */
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        now = (struct timespec){0};
    secret->k0 = (uint64_t)(uintptr_t)secret;
    secret->k1 = (uint64_t)now.tv_nsec << 32 | (uint64_t)now.tv_sec;
}

struct sb_decoder *
sb_decoder_create(void)
{
    struct sb_decoder *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return NULL;
    if (!msgpack_zone_init(&d->zone, ZONE_CHUNK))
    {
        free(d);
        return NULL;
    }
    draw_secret(&d->scan.secret);
    return d;
}

void
sb_decoder_destroy(struct sb_decoder *d)
{
    if (d == NULL)
        return;
    msgpack_zone_destroy(&d->zone);
    free(d);
}

static const struct sb_field *
find_field(const struct sb_fields *fields, const msgpack_object *key, size_t *index)
{
    if (key->type != MSGPACK_OBJECT_STR) /* only in a damaged row: frames were scanned */
        return NULL;
    for (size_t i = 0; i < fields->n; i++)
    {
        const struct sb_field *f = &fields->v[i];
        if (f->name_len == key->via.str.size && memcmp(f->name, key->via.str.ptr, f->name_len) == 0)
        {
            *index = i;
            return f;
        }
    }
    return NULL;
}

bool
sb_fields_read(struct sb_decoder *d, const struct sb_fields *fields, const msgpack_object_map *map,
               void *base, struct sb_decode_error *err)
{
    const msgpack_object *value[SB_MAX_FIELDS] = {NULL};
    for (uint32_t i = 0; i < map->size; i++)
    {
        const msgpack_object_kv *kv = &map->ptr[i];
        if (kv->val.type == MSGPACK_OBJECT_NIL) /* "a field that is nil is absent" */
            continue;
        size_t at;
        if (find_field(fields, &kv->key, &at) != NULL)
            value[at] = &kv->val;
        else if (fields->unknown != NULL)
            return sb_refuse(err, SB_CODE_BAD_REQUEST, fields->unknown);
    }
    for (size_t i = 0; i < fields->n; i++)
    {
        const struct sb_field *f = &fields->v[i];
        if (value[i] == NULL)
        {
            if (f->required)
                return sb_refuse(err, SB_CODE_BAD_REQUEST, f->text);
            continue;
        }
        if (!f->read(d, f, value[i], (char *)base + f->offset, err))
            return false;
    }
    return true;
}

static const msgpack_object *
find_value(const msgpack_object_map *map, struct sb_bytes name)
{
    for (uint32_t i = 0; i < map->size; i++)
    {
        const msgpack_object_str *key = &map->ptr[i].key.via.str;
        if (sb_bytes_eq(name, sb_bytes(key->ptr, key->size)))
            return &map->ptr[i].val;
    }
    return NULL;
}

/* Fills id and op; false when one of them is wrong. */
static bool
read_envelope(const msgpack_object_map *map, struct sb_request *out, struct sb_decode_error *err)
{
    const msgpack_object *op = find_value(map, SB_LIT("op"));
    const msgpack_object *id = find_value(map, SB_LIT("id"));
    if (op != NULL && op->type == MSGPACK_OBJECT_STR)
        out->op = sb_op_find(sb_bytes(op->via.str.ptr, op->via.str.size));
    if (id == NULL || id->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return sb_refuse(err, SB_CODE_BAD_REQUEST, "id is an unsigned integer");
    out->id = (struct sb_opt_uint){true, id->via.u64};
    if (op == NULL || op->type != MSGPACK_OBJECT_STR)
        return sb_refuse(err, SB_CODE_BAD_REQUEST, "op is a string that names an operation");
    if (out->op == SB_OP_UNKNOWN)
        return sb_refuse(err, SB_CODE_BAD_REQUEST, "op names no operation of this protocol");
    return true;
}

/* What stands for an absent field, where that is not zero. */
static void
set_defaults(struct sb_request *out)
{
    switch (out->op)
    {
    case SB_OP_LOAD_OLDER:
    case SB_OP_LOAD_NEWER:
    case SB_OP_LOAD_AROUND:
        out->load.limit = SB_DEFAULT_PAGE;
        break;
    case SB_OP_THREADS:
    case SB_OP_MEMBERS:
        out->list.limit = SB_DEFAULT_PAGE;
        break;
    default:
        break;
    }
}

static bool
read_request(struct sb_decoder *d, const msgpack_object_map *map, struct sb_request *out,
             struct sb_decode_error *err)
{
    if (!read_envelope(map, out, err))
        return false;
    const struct sb_op_form *form = sb_op_form(out->op);
    if (form == NULL)
        return sb_refuse(err, SB_CODE_BAD_REQUEST,
                         "this operation is not built into this server yet");
    set_defaults(out);
    if (!sb_fields_read(d, &form->fields, map, (char *)out + form->offset, err))
        return false;
    const char *wrong = form->check == NULL ? NULL : form->check(out);
    return wrong == NULL || sb_refuse(err, SB_CODE_BAD_REQUEST, wrong);
}

enum sb_decode_status
sb_request_decode(struct sb_decoder *d, struct sb_bytes frame, struct sb_request *out,
                  struct sb_decode_error *err)
{
    if (sb_prescan(&d->scan, frame) != SB_PRESCAN_OK)
        return SB_DECODE_MALFORMED;
    msgpack_zone_clear(&d->zone);
    msgpack_object root;
    size_t off = 0;
    msgpack_unpack_return r =
        msgpack_unpack((const char *)frame.data, frame.len, &off, &d->zone, &root);
    memset(out, 0, sizeof(*out));
    out->op = SB_OP_UNKNOWN;
    if (r != MSGPACK_UNPACK_SUCCESS || root.type != MSGPACK_OBJECT_MAP)
    {
        /* The scan passed it, so memory is short: refuse the request, keep the connection. */
        sb_refuse(err, SB_CODE_OVERLOADED, "the server is short of memory; send it again later");
        return SB_DECODE_BAD;
    }
    return read_request(d, &root.via.map, out, err) ? SB_DECODE_OK : SB_DECODE_BAD;
}

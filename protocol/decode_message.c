/*
 * decode_message.c - the body of a stored row back to a struct sb_message.
 *
 * These are our own bytes: imports may have brought longer strings than a request may,
 * so the tables here bound nothing. What does not fit the form is damage.
 */
#include "protocol/fields.h"

#define ANY UINT32_MAX
#define DAMAGED "a stored message does not have its form"

#define IN_FILE(row, field, reader) row(#field, reader, struct sb_attachment, field, ANY, DAMAGED)

static const struct sb_field file_rows[] = {
    IN_FILE(SB_REQUIRED, name, sb_read_str),       IN_FILE(SB_REQUIRED, type, sb_read_str),
    IN_FILE(SB_REQUIRED, size, sb_read_uint),      IN_FILE(SB_REQUIRED, url, sb_read_str),
    IN_FILE(SB_OPTIONAL, width, sb_read_opt_uint), IN_FILE(SB_OPTIONAL, height, sb_read_opt_uint),
};
static const struct sb_fields file_fields = {file_rows, sizeof(file_rows) / sizeof(file_rows[0]),
                                             NULL};

static const struct sb_field source_rows[] = {
    SB_REQUIRED("system", sb_read_str, struct sb_message, source_system, ANY, DAMAGED),
    SB_REQUIRED("id", sb_read_str, struct sb_message, source_id, ANY, DAMAGED),
};
static const struct sb_fields source_fields = {source_rows,
                                               sizeof(source_rows) / sizeof(source_rows[0]), NULL};

static bool
read_mentions(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
              struct sb_decode_error *err)
{
    struct sb_message *m = to;
    if (v->type != MSGPACK_OBJECT_ARRAY || v->via.array.size > SB_MAX_MENTIONS)
        return sb_refuse(err, SB_CODE_INTERNAL, f->text);
    for (uint32_t i = 0; i < v->via.array.size; i++)
    {
        if (!sb_read_str(d, f, &v->via.array.ptr[i], &d->mentions[i], err))
            return false;
    }
    m->n_mentions = v->via.array.size;
    m->mentions = d->mentions;
    return true;
}

static bool
read_attachments(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                 struct sb_decode_error *err)
{
    struct sb_message *m = to;
    if (v->type != MSGPACK_OBJECT_ARRAY || v->via.array.size > SB_MAX_ATTACHMENTS)
        return sb_refuse(err, SB_CODE_INTERNAL, f->text);
    for (uint32_t i = 0; i < v->via.array.size; i++)
    {
        const msgpack_object *item = &v->via.array.ptr[i];
        d->attachments[i] = (struct sb_attachment){0};
        if (item->type != MSGPACK_OBJECT_MAP ||
            !sb_fields_read(d, &file_fields, &item->via.map, &d->attachments[i], err))
            return sb_refuse(err, SB_CODE_INTERNAL, f->text);
    }
    m->n_attachments = v->via.array.size;
    m->attachments = d->attachments;
    return true;
}

static bool
read_source(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
            struct sb_decode_error *err)
{
    if (v->type != MSGPACK_OBJECT_MAP)
        return sb_refuse(err, SB_CODE_INTERNAL, f->text);
    return sb_fields_read(d, &source_fields, &v->via.map, to, err);
}

static bool
read_flag(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
          struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_BOOLEAN)
        return sb_refuse(err, SB_CODE_INTERNAL, f->text);
    *(bool *)to = v->via.boolean;
    return true;
}

/* Packed again into the zone: a value has no view of its own bytes. */
static bool
read_meta(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
          struct sb_decode_error *err)
{
    struct sb_writer w;
    struct sb_writer measure;
    struct sb_bytes *meta = to;
    sb_writer_init(&measure, d->meta, sizeof(d->meta));
    sb_write_object(&measure, v);
    /* Most are small; a larger one gets room for its longest spelling. */
    size_t room = measure.failed ? d->body_len : measure.len;
    void *buf = msgpack_zone_malloc(&d->zone, room);
    if (buf == NULL)
        return sb_refuse(err, SB_CODE_OVERLOADED, f->text);
    sb_writer_init(&w, buf, room);
    sb_write_object(&w, v);
    *meta = sb_bytes(buf, w.len);
    return !w.failed || sb_refuse(err, SB_CODE_INTERNAL, f->text);
}

#define IN_MESSAGE(row, field, reader) row(#field, reader, struct sb_message, field, ANY, DAMAGED)

static const struct sb_field message_rows[] = {
    IN_MESSAGE(SB_REQUIRED, seq, sb_read_uint),
    IN_MESSAGE(SB_REQUIRED, at, sb_read_uint),
    IN_MESSAGE(SB_REQUIRED, version, sb_read_uint),
    IN_MESSAGE(SB_OPTIONAL, by, sb_read_str),
    IN_MESSAGE(SB_OPTIONAL, text, sb_read_str),
    IN_MESSAGE(SB_OPTIONAL, kind, sb_read_str),
    IN_MESSAGE(SB_OPTIONAL, edited_at, sb_read_opt_uint),
    IN_MESSAGE(SB_OPTIONAL, reply_to, sb_read_opt_uint),
    IN_MESSAGE(SB_OPTIONAL, deleted, read_flag),
    IN_MESSAGE(SB_OPTIONAL, meta, read_meta),
    {"mentions", 8, false, read_mentions, 0, ANY, DAMAGED},
    {"attachments", 11, false, read_attachments, 0, ANY, DAMAGED},
    {"source", 6, false, read_source, 0, ANY, DAMAGED},
};
static const struct sb_fields message_fields = {
    message_rows, sizeof(message_rows) / sizeof(message_rows[0]), NULL};

int
sb_message_decode(struct sb_decoder *d, struct sb_bytes body, struct sb_message *out)
{
    struct sb_decode_error err;
    msgpack_object root;
    size_t off = 0;
    msgpack_zone_clear(&d->zone);
    d->body_len = body.len;
    *out = (struct sb_message){0};
    if (msgpack_unpack((const char *)body.data, body.len, &off, &d->zone, &root) !=
            MSGPACK_UNPACK_SUCCESS ||
        root.type != MSGPACK_OBJECT_MAP)
        return -1;
    return sb_fields_read(d, &message_fields, &root.via.map, out, &err) ? 0 : -1;
}

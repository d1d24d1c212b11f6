/*
 * read_lists.c - readers of lists and maps: filters, mentions, attachments, members, meta.
 *
 * They must not know operations. Counts are checked before the first entry is written;
 * entries go into the decoder's scratch or into the target itself, never to the heap.
 */
#include "protocol/fields.h"

/* An array of at most `max` entries, or NULL. */
static const msgpack_object_array *
array_of(const msgpack_object *v, uint32_t max)
{
    if (v->type != MSGPACK_OBJECT_ARRAY || v->via.array.size > max)
        return NULL;
    return &v->via.array;
}

static const msgpack_object_map *
map_of(const msgpack_object *v, uint32_t max)
{
    if (v->type != MSGPACK_OBJECT_MAP || v->via.map.size > max)
        return NULL;
    return &v->via.map;
}

/* Reads each entry of an array with `read` into out[]. The field's max is for one entry. */
static bool
read_list(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v,
          sb_field_reader *read, struct sb_str_list *out, struct sb_decode_error *err)
{
    const msgpack_object_array *a = array_of(v, SB_MAX_LIST);
    if (a == NULL)
        return sb_refuse_field(f, err);
    for (uint32_t i = 0; i < a->size; i++)
    {
        if (!read(d, f, &a->ptr[i], &out->v[i], err))
            return false;
    }
    out->n = a->size;
    return true;
}

bool
sb_read_names(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
              struct sb_decode_error *err)
{
    return read_list(d, f, v, sb_read_name, to, err);
}

bool
sb_read_words(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
              struct sb_decode_error *err)
{
    return read_list(d, f, v, sb_read_word, to, err);
}

static bool
read_has_word(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
              struct sb_decode_error *err)
{
    static const char *const words[] = {"attachment", "image", "file", "link", "reply"};
    struct sb_bytes s;
    if (!sb_read_str(d, f, v, &s, err))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    {
        if (sb_bytes_eq(s, sb_bytes_str(words[i])))
        {
            *(struct sb_bytes *)to = s;
            return true;
        }
    }
    return sb_refuse_field(f, err);
}

bool
sb_read_has(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
            struct sb_decode_error *err)
{
    return read_list(d, f, v, read_has_word, to, err);
}

#define IN_FILTER(field, reader, member, max, text)                                                \
    SB_OPTIONAL(field, reader, struct sb_filter_frame, member, max, text)

static const struct sb_field filter_rows[] = {
    IN_FILTER("by", sb_read_names, by, 0, "filter.by is a list of up to 32 user names"),
    IN_FILTER("has", sb_read_has, has, 16,
              "filter.has is a list of up to 32 of attachment, image, file, link, reply"),
    IN_FILTER("mentions", sb_refuse_names, mentions, 0,
              "filter.mentions is not built into this server yet"),
    IN_FILTER("kind", sb_read_words, kind, SB_MAX_KIND,
              "filter.kind is a list of up to 32 strings of 1 to 64 bytes"),
    IN_FILTER("thread_of", sb_read_opt_uint, thread_of, 0, "filter.thread_of is a seq"),
    IN_FILTER("from", sb_read_opt_uint, from, 0, "filter.from is a time in Unix milliseconds"),
    IN_FILTER("to", sb_read_opt_uint, to, 0, "filter.to is a time in Unix milliseconds"),
    IN_FILTER("text", sb_refuse_words, text, 0, "filter.text is not built into this server yet"),
};
static const struct sb_fields filter_fields = {filter_rows,
                                               sizeof(filter_rows) / sizeof(filter_rows[0]),
                                               "filter has a field that this server does not know"};

bool
sb_read_filter(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
               struct sb_decode_error *err)
{
    const msgpack_object_map *map = map_of(v, SB_MAX_MAP_KEYS);
    if (map == NULL)
        return sb_refuse_field(f, err);
    return sb_fields_read(d, &filter_fields, map, to, err);
}

bool
sb_read_mentions(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                 struct sb_decode_error *err)
{
    const msgpack_object_array *a = array_of(v, SB_MAX_MENTIONS);
    if (a == NULL)
        return sb_refuse_field(f, err);
    for (uint32_t i = 0; i < a->size; i++)
    {
        if (!sb_read_name(d, f, &a->ptr[i], &d->mentions[i], err))
            return false;
    }
    struct sb_post_frame *post = to;
    post->message.n_mentions = a->size;
    post->message.mentions = a->size == 0 ? NULL : d->mentions;
    return true;
}

#define IN_ATTACHMENT(row, field, reader, max, text)                                               \
    row(#field, reader, struct sb_attachment, field, max, text)

static const struct sb_field attachment_rows[] = {
    IN_ATTACHMENT(SB_REQUIRED, name, sb_read_str, SB_MAX_ATTACHMENT_STR,
                  "an attachment's name is a string of up to 2048 bytes"),
    IN_ATTACHMENT(SB_REQUIRED, type, sb_read_str, SB_MAX_ATTACHMENT_STR,
                  "an attachment's type is a string of up to 2048 bytes"),
    IN_ATTACHMENT(SB_REQUIRED, size, sb_read_uint, 0, "an attachment's size is a number of bytes"),
    IN_ATTACHMENT(SB_REQUIRED, url, sb_read_word, SB_MAX_ATTACHMENT_STR,
                  "an attachment's url is 1 to 2048 bytes without control characters"),
    IN_ATTACHMENT(SB_OPTIONAL, width, sb_read_opt_uint, 0,
                  "an attachment's width is a number of pixels"),
    IN_ATTACHMENT(SB_OPTIONAL, height, sb_read_opt_uint, 0,
                  "an attachment's height is a number of pixels"),
};
static const struct sb_fields attachment_fields = {
    attachment_rows, sizeof(attachment_rows) / sizeof(attachment_rows[0]), NULL};

bool
sb_read_attachments(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v,
                    void *to, struct sb_decode_error *err)
{
    const msgpack_object_array *a = array_of(v, SB_MAX_ATTACHMENTS);
    if (a == NULL)
        return sb_refuse_field(f, err);
    for (uint32_t i = 0; i < a->size; i++)
    {
        const msgpack_object_map *map = map_of(&a->ptr[i], SB_MAX_MAP_KEYS);
        if (map == NULL)
            return sb_refuse_field(f, err);
        d->attachments[i] = (struct sb_attachment){0};
        if (!sb_fields_read(d, &attachment_fields, map, &d->attachments[i], err))
            return false;
    }
    struct sb_post_frame *post = to;
    post->message.n_attachments = a->size;
    post->message.attachments = a->size == 0 ? NULL : d->attachments;
    return true;
}

bool
sb_read_seen(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    const msgpack_object_map *map = map_of(v, SB_MAX_SEEN);
    if (map == NULL)
        return sb_refuse_field(f, err);
    for (uint32_t i = 0; i < map->size; i++)
    {
        const msgpack_object_kv *kv = &map->ptr[i];
        if (!sb_read_name(d, f, &kv->key, &d->seen[i].thread, err) ||
            !sb_read_uint(d, f, &kv->val, &d->seen[i].version, err))
            return false;
    }
    struct sb_hello_frame *hello = to;
    hello->n_seen = map->size;
    hello->seen = map->size == 0 ? NULL : d->seen;
    return true;
}

bool
sb_read_founders(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                 struct sb_decode_error *err)
{
    const msgpack_object_map *map = map_of(v, SB_MAX_FOUNDERS);
    if (map == NULL)
        return sb_refuse_field(f, err);
    for (uint32_t i = 0; i < map->size; i++)
    {
        const msgpack_object_kv *kv = &map->ptr[i];
        if (!sb_read_name(d, f, &kv->key, &d->founders[i].user, err) ||
            !sb_read_role(d, f, &kv->val, &d->founders[i].role, err))
            return false;
    }
    struct sb_create_thread_frame *create = to;
    create->n_members = map->size;
    create->members = map->size == 0 ? NULL : d->founders;
    return true;
}

bool
sb_read_meta(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    if (v->type != MSGPACK_OBJECT_MAP)
        return sb_refuse_field(f, err);
    struct sb_writer w;
    sb_writer_init(&w, d->meta, sizeof(d->meta));
    sb_write_object(&w, v);
    if (w.failed)
        return sb_refuse(err, SB_CODE_TOO_LARGE, "meta is longer than 4096 bytes when packed");
    *(struct sb_bytes *)to = sb_bytes(d->meta, w.len);
    return true;
}

/*
 * fields.h - the table that a request is read by: one row per field.
 *
 * Internal to the decoder. A reader takes one value of a known field and writes the
 * field's target; the value is never nil (nil is absent, and absent is not read). Values come from
 * a frame that passed the pre-scan, so strings are valid UTF-8 and maps have no key twice.
 */
#ifndef SB_PROTOCOL_FIELDS_H
#define SB_PROTOCOL_FIELDS_H

#include <msgpack.h>

#include "protocol/decode.h"
#include "protocol/encode.h"
#include "protocol/prescan.h"
#include "protocol/utf8.h"

struct sb_decoder
{
    msgpack_zone zone; /* of the frame being decoded */
    struct sb_prescan scan;
    /* What the request's lists and its meta point into. */
    struct sb_seen seen[SB_MAX_SEEN];
    struct sb_founder founders[SB_MAX_FOUNDERS];
    struct sb_bytes mentions[SB_MAX_MENTIONS];
    struct sb_attachment attachments[SB_MAX_ATTACHMENTS];
    uint8_t meta[SB_MAX_META];
    size_t body_len; /* of the stored row being decoded */
};

struct sb_field;

/* False: the value is wrong and `err` is filled. `to` is the field's target. */
typedef bool sb_field_reader(struct sb_decoder *d, const struct sb_field *f,
                             const msgpack_object *v, void *to, struct sb_decode_error *err);

struct sb_field
{
    const char *name;
    size_t name_len;
    bool required;
    sb_field_reader *read;
    size_t offset;    /* of the target in the struct that the table fills */
    uint32_t max;     /* bytes of a string, entries of a list, by reader */
    const char *text; /* what a wrong or missing value is told */
};

struct sb_fields
{
    const struct sb_field *v;
    size_t n;
    const char *unknown; /* what an unknown field is told; NULL: it is ignored */
};

#define SB_MAX_FIELDS 16

/* Rows of a table. `text` begins with the field's name. */
#define SB_REQUIRED(field, reader, type, member, limit, says)                                      \
    {                                                                                              \
        field, sizeof(field) - 1, true, reader, offsetof(type, member), limit, says                \
    }
#define SB_OPTIONAL(field, reader, type, member, limit, says)                                      \
    {                                                                                              \
        field, sizeof(field) - 1, false, reader, offsetof(type, member), limit, says               \
    }

/* Reads a map by a table into `base`: unknown fields first, then the table's order. */
bool sb_fields_read(struct sb_decoder *d, const struct sb_fields *fields,
                    const msgpack_object_map *map, void *base, struct sb_decode_error *err);

/* Packs a value again, integers in their shortest form. */
void sb_write_object(struct sb_writer *w, const msgpack_object *v);

/* Always false: "return sb_refuse(...)". */
bool sb_refuse(struct sb_decode_error *err, enum sb_code code, const char *text);
/* With the field's own text. */
bool sb_refuse_field(const struct sb_field *f, struct sb_decode_error *err);

/* One string, integer or flag. (target) */
sb_field_reader sb_read_name;     /* struct sb_bytes: a thread or user name */
sb_field_reader sb_read_str;      /* struct sb_bytes: up to max bytes, may be empty */
sb_field_reader sb_read_word;     /* struct sb_bytes: 1 to max bytes, no control characters */
sb_field_reader sb_read_text;     /* struct sb_bytes: longer than max is too_large */
sb_field_reader sb_read_opt_str;  /* struct sb_opt_bytes: up to max bytes, may be empty */
sb_field_reader sb_read_opt_word; /* struct sb_opt_bytes: 1 to max bytes */
sb_field_reader sb_read_opt_bin;  /* struct sb_opt_bytes: up to max bytes, may be empty */
sb_field_reader sb_read_opt_uint; /* struct sb_opt_uint: up to SB_MAX_SAFE_INT */
sb_field_reader sb_read_uint;     /* uint64_t: up to SB_MAX_SAFE_INT */
sb_field_reader sb_read_limit;    /* uint32_t: 1 to max */
sb_field_reader sb_read_role;     /* enum sb_role */
sb_field_reader sb_read_history;  /* enum sb_history */
sb_field_reader sb_read_access;   /* enum sb_thread_access */

/* Lists and maps. */
sb_field_reader sb_read_names;       /* struct sb_str_list of names */
sb_field_reader sb_read_words;       /* struct sb_str_list of 1 to max bytes */
sb_field_reader sb_read_has;         /* struct sb_str_list of the five words of `has` */
sb_field_reader sb_read_filter;      /* struct sb_filter_frame */
sb_field_reader sb_read_seen;        /* struct sb_hello_frame, n_seen and seen */
sb_field_reader sb_read_founders;    /* struct sb_create_thread_frame, n_members and members */
sb_field_reader sb_read_mentions;    /* struct sb_post_frame, in message */
sb_field_reader sb_read_attachments; /* struct sb_post_frame, in message */
sb_field_reader sb_read_meta;        /* struct sb_bytes, packed */

/* Fields of the contract that this server does not have yet: what says nothing is taken. */
sb_field_reader sb_refuse_flag;  /* false is taken */
sb_field_reader sb_refuse_sink;  /* a string is refused */
sb_field_reader sb_refuse_words; /* an empty string is taken */
sb_field_reader sb_refuse_names; /* an empty list is taken */

#endif

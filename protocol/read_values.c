/*
 * read_values.c - readers of single values: strings, bins, numbers, words.
 *
 * They must not know operations. Each checks type and bounds and only then writes its
 * target; strings are views into the frame.
 */
#include "protocol/fields.h"

bool
sb_refuse(struct sb_decode_error *err, enum sb_code code, const char *text)
{
    *err = (struct sb_decode_error){code, text};
    return false;
}

bool
sb_refuse_field(const struct sb_field *f, struct sb_decode_error *err)
{
    return sb_refuse(err, SB_CODE_BAD_REQUEST, f->text);
}

static struct sb_bytes
str_view(const msgpack_object *v)
{
    return sb_bytes(v->via.str.ptr, v->via.str.size);
}

bool
sb_read_name(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_STR || !sb_name_ok(str_view(v)))
        return sb_refuse_field(f, err);
    *(struct sb_bytes *)to = str_view(v);
    return true;
}

bool
sb_read_str(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
            struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_STR || v->via.str.size > f->max)
        return sb_refuse_field(f, err);
    *(struct sb_bytes *)to = str_view(v);
    return true;
}

bool
sb_read_word(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    struct sb_bytes s;
    if (!sb_read_str(d, f, v, &s, err))
        return false;
    if (s.len == 0 || sb_utf8_has_control(s))
        return sb_refuse_field(f, err);
    *(struct sb_bytes *)to = s;
    return true;
}

bool
sb_read_text(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_STR)
        return sb_refuse_field(f, err);
    if (v->via.str.size > f->max)
        return sb_refuse(err, SB_CODE_TOO_LARGE, "text is longer than limits.text of hello");
    *(struct sb_bytes *)to = str_view(v);
    return true;
}

bool
sb_read_opt_str(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                struct sb_decode_error *err)
{
    struct sb_opt_bytes *out = to;
    struct sb_bytes s;
    if (!sb_read_str(d, f, v, &s, err))
        return false;
    *out = (struct sb_opt_bytes){true, s};
    return true;
}

bool
sb_read_opt_word(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                 struct sb_decode_error *err)
{
    if (v->type == MSGPACK_OBJECT_STR && v->via.str.size == 0)
        return sb_refuse_field(f, err);
    return sb_read_opt_str(d, f, v, to, err);
}

bool
sb_read_opt_bin(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_BIN || v->via.bin.size > f->max)
        return sb_refuse_field(f, err);
    *(struct sb_opt_bytes *)to =
        (struct sb_opt_bytes){true, sb_bytes(v->via.bin.ptr, v->via.bin.size)};
    return true;
}

bool
sb_read_uint(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_POSITIVE_INTEGER || v->via.u64 > SB_MAX_SAFE_INT)
        return sb_refuse_field(f, err);
    *(uint64_t *)to = v->via.u64;
    return true;
}

bool
sb_read_opt_uint(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                 struct sb_decode_error *err)
{
    uint64_t value;
    if (!sb_read_uint(d, f, v, &value, err))
        return false;
    *(struct sb_opt_uint *)to = (struct sb_opt_uint){true, value};
    return true;
}

bool
sb_read_limit(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
              struct sb_decode_error *err)
{
    uint64_t value;
    if (!sb_read_uint(d, f, v, &value, err))
        return false;
    if (value == 0 || value > f->max)
        return sb_refuse_field(f, err);
    *(uint32_t *)to = (uint32_t)value;
    return true;
}

/* The place of a word in a closed list, or -1. */
static int
word_index(const msgpack_object *v, const struct sb_bytes *words, int n)
{
    if (v->type != MSGPACK_OBJECT_STR)
        return -1;
    for (int i = 0; i < n; i++)
    {
        if (sb_bytes_eq(str_view(v), words[i]))
            return i;
    }
    return -1;
}

bool
sb_read_role(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
             struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_STR)
        return sb_refuse_field(f, err);
    for (enum sb_role role = SB_ROLE_READER; role <= SB_ROLE_MODERATOR; role++)
    {
        if (sb_bytes_eq(str_view(v), sb_bytes_str(sb_role_name(role))))
        {
            *(enum sb_role *)to = role;
            return true;
        }
    }
    return sb_refuse_field(f, err);
}

bool
sb_read_history(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                struct sb_decode_error *err)
{
    (void)d;
    const struct sb_bytes words[] = {
        [SB_HISTORY_ALL] = SB_LIT("all"), [SB_HISTORY_SINCE_JOIN] = SB_LIT("since_join")};
    int i = word_index(v, words, 2);
    if (i < 0)
        return sb_refuse_field(f, err);
    *(enum sb_history *)to = (enum sb_history)i;
    return true;
}

bool
sb_read_access(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
               struct sb_decode_error *err)
{
    (void)d;
    const struct sb_bytes words[] = {
        [SB_ACCESS_MEMBERS] = SB_LIT("members"), [SB_ACCESS_TENANT] = SB_LIT("tenant")};
    int i = word_index(v, words, 2);
    if (i < 0)
        return sb_refuse_field(f, err);
    *(enum sb_thread_access *)to = (enum sb_thread_access)i;
    return true;
}

bool
sb_refuse_flag(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
               struct sb_decode_error *err)
{
    (void)d;
    if (v->type != MSGPACK_OBJECT_BOOLEAN || v->via.boolean)
        return sb_refuse_field(f, err);
    *(bool *)to = false;
    return true;
}

bool
sb_refuse_sink(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
               struct sb_decode_error *err)
{
    (void)d;
    (void)v;
    (void)to;
    return sb_refuse_field(f, err);
}

bool
sb_refuse_words(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                struct sb_decode_error *err)
{
    (void)d;
    (void)to;
    if (v->type != MSGPACK_OBJECT_STR || v->via.str.size != 0)
        return sb_refuse_field(f, err);
    return true;
}

bool
sb_refuse_names(struct sb_decoder *d, const struct sb_field *f, const msgpack_object *v, void *to,
                struct sb_decode_error *err)
{
    (void)d;
    (void)to;
    if (v->type != MSGPACK_OBJECT_ARRAY || v->via.array.size != 0)
        return sb_refuse_field(f, err);
    return true;
}

/*
 * frame_kit.c - hex and JSON to frames and back, for tests.
 */
#include "frame_kit.h"

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "frame_kit: %s\n", what);
    abort();
}

static int
digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct sb_bytes
kit_unhex(const char *hex)
{
    uint8_t *out = malloc(strlen(hex) / 2 + 1);
    must(out != NULL, "no memory");
    size_t len = 0;
    for (const char *p = hex; *p != '\0'; p++)
    {
        if (*p == ' ')
            continue;
        must(digit(p[0]) >= 0 && digit(p[1]) >= 0, "bad hex");
        out[len++] = (uint8_t)(digit(p[0]) << 4 | digit(p[1]));
        p++;
    }
    return sb_bytes(out, len);
}

char *
kit_hex(struct sb_bytes b)
{
    char *out = malloc(2 * b.len + 1);
    must(out != NULL, "no memory");
    for (size_t i = 0; i < b.len; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", b.data[i]);
    out[2 * b.len] = '\0';
    return out;
}

static int
grow(void *data, const char *bytes, size_t len)
{
    return msgpack_sbuffer_write(data, bytes, len);
}

static void pack(msgpack_packer *pk, const json_t *v);

static void
pack_repeat(msgpack_packer *pk, const json_t *spec)
{
    const char *unit = json_string_value(json_array_get(spec, 0));
    size_t n = (size_t)json_integer_value(json_array_get(spec, 1));
    size_t len = strlen(unit);
    (void)msgpack_pack_str(pk, n * len);
    for (size_t i = 0; i < n; i++)
        (void)msgpack_pack_str_body(pk, unit, len);
}

static void
pack_object(msgpack_packer *pk, const json_t *v)
{
    const char *hex = json_string_value(json_object_get(v, "$bin"));
    if (hex != NULL)
    {
        struct sb_bytes b = kit_unhex(hex);
        (void)msgpack_pack_bin_with_body(pk, b.data, b.len);
        kit_free(b);
        return;
    }
    if (json_object_get(v, "$repeat") != NULL)
    {
        pack_repeat(pk, json_object_get(v, "$repeat"));
        return;
    }
    (void)msgpack_pack_map(pk, json_object_size(v));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)v, key, value)
    {
        (void)msgpack_pack_str_with_body(pk, key, strlen(key));
        pack(pk, value);
    }
}

static void
pack(msgpack_packer *pk, const json_t *v)
{
    switch (json_typeof(v))
    {
    case JSON_OBJECT:
        pack_object(pk, v);
        break;
    case JSON_ARRAY:
        (void)msgpack_pack_array(pk, json_array_size(v));
        for (size_t i = 0; i < json_array_size(v); i++)
            pack(pk, json_array_get(v, i));
        break;
    case JSON_STRING:
        (void)msgpack_pack_str_with_body(pk, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        (void)msgpack_pack_int64(pk, json_integer_value(v));
        break;
    case JSON_REAL:
        (void)msgpack_pack_double(pk, json_real_value(v));
        break;
    case JSON_TRUE:
        (void)msgpack_pack_true(pk);
        break;
    case JSON_FALSE:
        (void)msgpack_pack_false(pk);
        break;
    case JSON_NULL:
        (void)msgpack_pack_nil(pk);
        break;
    }
}

struct sb_bytes
kit_pack_value(const json_t *value)
{
    msgpack_sbuffer buf;
    msgpack_sbuffer_init(&buf);
    msgpack_packer pk = {.data = &buf, .callback = grow};
    pack(&pk, value);
    return sb_bytes(buf.data, buf.size);
}

struct sb_bytes
kit_pack(const char *json)
{
    char *text = strdup(json);
    must(text != NULL, "no memory");
    for (char *p = text; *p != '\0'; p++)
    {
        if (*p == '\'')
            *p = '"';
    }
    json_error_t err;
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &err);
    if (value == NULL)
        (void)fprintf(stderr, "%s: %s\n", err.text, text);
    must(value != NULL, "bad JSON in a test");
    free(text);
    struct sb_bytes b = kit_pack_value(value);
    json_decref(value);
    return b;
}

static json_t *
from_object(const msgpack_object *o)
{
    switch (o->type)
    {
    case MSGPACK_OBJECT_NIL:
        return json_null();
    case MSGPACK_OBJECT_BOOLEAN:
        return json_boolean(o->via.boolean);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return json_integer((json_int_t)o->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return json_integer(o->via.i64);
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return json_real(o->via.f64);
    case MSGPACK_OBJECT_STR:
        return json_stringn(o->via.str.ptr, o->via.str.size);
    case MSGPACK_OBJECT_BIN:
    {
        char *hex = kit_hex(sb_bytes(o->via.bin.ptr, o->via.bin.size));
        json_t *bin = json_pack("{s:s}", "$bin", hex);
        free(hex);
        return bin;
    }
    case MSGPACK_OBJECT_ARRAY:
    {
        json_t *array = json_array();
        for (uint32_t i = 0; i < o->via.array.size; i++)
            (void)json_array_append_new(array, from_object(&o->via.array.ptr[i]));
        return array;
    }
    case MSGPACK_OBJECT_MAP:
    {
        json_t *map = json_object();
        for (uint32_t i = 0; i < o->via.map.size; i++)
        {
            const msgpack_object_kv *kv = &o->via.map.ptr[i];
            char *key = strndup(kv->key.via.str.ptr, kv->key.via.str.size);
            must(json_object_set_new(map, key, from_object(&kv->val)) == 0, "bad map");
            free(key);
        }
        return map;
    }
    case MSGPACK_OBJECT_EXT:
        break;
    }
    must(false, "a type that JSON has not");
    return NULL;
}

json_t *
kit_unpack(struct sb_bytes packed)
{
    msgpack_unpacked result;
    msgpack_unpacked_init(&result);
    size_t off = 0;
    must(msgpack_unpack_next(&result, (const char *)packed.data, packed.len, &off) ==
             MSGPACK_UNPACK_SUCCESS,
         "not MessagePack");
    must(off == packed.len, "trailing bytes");
    json_t *value = from_object(&result.data);
    msgpack_unpacked_destroy(&result);
    return value;
}

void
kit_free(struct sb_bytes b)
{
    free((void *)(uintptr_t)b.data);
}

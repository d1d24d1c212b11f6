/*
 * encode.c - the bounded writer: MessagePack values into the caller's buffer.
 *
 * It must not know frames. Nothing is written past `cap`; after the first value that
 * did not fit nothing more is written at all.
 */
#include "protocol/encode.h"

#include <msgpack.h>

#include "protocol/fields.h"

void
sb_writer_init(struct sb_writer *w, void *buf, size_t cap)
{
    *w = (struct sb_writer){.buf = buf, .cap = cap};
}

static int
put(void *data, const char *bytes, size_t len)
{
    struct sb_writer *w = data;
    if (w->failed || len > w->cap - w->len)
    {
        w->failed = true;
        return -1;
    }
    if (len > 0)
        memcpy(w->buf + w->len, bytes, len);
    w->len += len;
    return 0;
}

static msgpack_packer
packer(struct sb_writer *w)
{
    return (msgpack_packer){.data = w, .callback = put};
}

/* msgpack-c's results are dropped below: the writer's own error is sticky. */

void
sb_write_map(struct sb_writer *w, uint32_t n)
{
    msgpack_packer pk = packer(w);
    (void)msgpack_pack_map(&pk, n);
}

void
sb_write_array(struct sb_writer *w, uint32_t n)
{
    msgpack_packer pk = packer(w);
    (void)msgpack_pack_array(&pk, n);
}

void
sb_write_nil(struct sb_writer *w)
{
    msgpack_packer pk = packer(w);
    (void)msgpack_pack_nil(&pk);
}

void
sb_write_bool(struct sb_writer *w, bool v)
{
    msgpack_packer pk = packer(w);
    (void)(v ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk));
}

void
sb_write_uint(struct sb_writer *w, uint64_t v)
{
    msgpack_packer pk = packer(w);
    (void)msgpack_pack_uint64(&pk, v);
}

void
sb_write_int(struct sb_writer *w, int64_t v)
{
    msgpack_packer pk = packer(w);
    (void)msgpack_pack_int64(&pk, v);
}

void
sb_write_str(struct sb_writer *w, struct sb_bytes s)
{
    if (s.len > w->cap - w->len) /* also keeps lengths past 32 bits away from the packer */
    {
        w->failed = true;
        return;
    }
    msgpack_packer pk = packer(w);
    if (s.len <= UINT32_MAX && msgpack_pack_str(&pk, s.len) == 0)
        (void)put(w, (const char *)s.data, s.len);
    else
        w->failed = true;
}

void
sb_write_bin(struct sb_writer *w, struct sb_bytes b)
{
    if (b.len > w->cap - w->len)
    {
        w->failed = true;
        return;
    }
    msgpack_packer pk = packer(w);
    if (b.len <= UINT32_MAX && msgpack_pack_bin(&pk, b.len) == 0)
        (void)put(w, (const char *)b.data, b.len);
    else
        w->failed = true;
}

void
sb_write_raw(struct sb_writer *w, struct sb_bytes packed)
{
    (void)put(w, (const char *)packed.data, packed.len);
}

void
sb_write_object(struct sb_writer *w, const msgpack_object *v)
{
    msgpack_packer pk = packer(w);
    if (msgpack_pack_object(&pk, *v) != 0)
        w->failed = true;
}

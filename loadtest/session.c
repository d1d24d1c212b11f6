/* session.c - see session.h. */
#include "loadtest/session.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "loadtest/reply.h"

enum
{
    ANSWER_MS = 10000,
    NAMES_MAX = 1000000,
};

static int
append(void *ctx, const char *buf, size_t len)
{
    struct sb_packet *p = ctx;
    if (len > sizeof(p->b) - p->len)
        return -1;
    memcpy(p->b + p->len, buf, len);
    p->len += len;
    return 0;
}

static void
put_str(struct sb_packet *p, const char *s)
{
    msgpack_pack_str(&p->pk, strlen(s));
    msgpack_pack_str_body(&p->pk, s, strlen(s));
}

void
sb_packet_begin(struct sb_packet *p, uint32_t fields, const char *op, uint64_t id)
{
    p->len = 0;
    msgpack_packer_init(&p->pk, p, append);
    msgpack_pack_map(&p->pk, fields);
    sb_packet_str(p, "op", op);
    sb_packet_uint(p, "id", id);
}

void
sb_packet_str(struct sb_packet *p, const char *key, const char *value)
{
    put_str(p, key);
    put_str(p, value);
}

void
sb_packet_uint(struct sb_packet *p, const char *key, uint64_t value)
{
    put_str(p, key);
    msgpack_pack_uint64(&p->pk, value);
}

void
sb_packet_bin(struct sb_packet *p, const char *key, struct sb_bytes value)
{
    put_str(p, key);
    msgpack_pack_bin(&p->pk, value.len);
    msgpack_pack_bin_body(&p->pk, value.data, value.len);
}

int
sb_packet_send(struct sb_ws *w, const struct sb_packet *p)
{
    return sb_ws_send(w, sb_bytes(p->b, p->len));
}

/* The next message, waited for. */
static int
await(struct sb_ws *w, struct sb_bytes *out)
{
    for (;;)
    {
        uint16_t closed;
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        if (sb_ws_take(w, out, &closed))
            return 0;
        if (closed != 0)
        {
            fprintf(stderr, "the server closed a connection with %u\n", closed);
            return -1;
        }
        if (poll(&p, 1, ANSWER_MS) <= 0 || sb_ws_fill(w) != 0)
        {
            fprintf(stderr, "the server does not answer\n");
            return -1;
        }
    }
}

static int
await_reply(struct sb_ws *w, struct sb_bytes *frame, struct sb_reply_view *v)
{
    if (await(w, frame) != 0 || sb_reply_read(*frame, v) != 0)
        return -1;
    if (v->error)
        fprintf(stderr, "the server answers %.*s\n", (int)v->code.len, (const char *)v->code.data);
    return v->error ? -1 : 0;
}

int
sb_session_open(struct sb_ws *w, const struct sb_load_options *o)
{
    struct sb_packet p;
    struct sb_bytes frame;
    struct sb_reply_view v;
    if (sb_ws_open(w, o->host, o->port, o->path) != 0)
        return -1;
    sb_packet_begin(&p, 3, "hello", 1);
    sb_packet_str(&p, "token", o->token);
    return sb_packet_send(w, &p) == 0 ? await_reply(w, &frame, &v) : -1;
}

static void
add_name(void *ctx, struct sb_bytes name)
{
    struct sb_names *names = ctx;
    if (names->n == names->cap)
    {
        uint32_t cap = names->cap == 0 ? 256 : names->cap * 2;
        char **v = cap > NAMES_MAX ? NULL : realloc(names->v, cap * sizeof(*v));
        if (v == NULL)
            return;
        names->v = v;
        names->cap = cap;
    }
    char *copy = strndup((const char *)name.data, name.len);
    if (copy != NULL)
        names->v[names->n++] = copy;
}

int
sb_session_threads(struct sb_ws *w, struct sb_names *out)
{
    struct sb_bytes frame;
    struct sb_reply_view v = {0};
    uint8_t cursor[96];
    do
    {
        struct sb_packet p;
        bool more = v.cursor.len != 0 && v.cursor.len <= sizeof(cursor);
        if (more)
            memcpy(cursor, v.cursor.data, v.cursor.len);
        sb_packet_begin(&p, more ? 4 : 3, "threads", 2);
        sb_packet_uint(&p, "limit", 200);
        if (more)
            sb_packet_bin(&p, "cursor", sb_bytes(cursor, v.cursor.len));
        if (sb_packet_send(w, &p) != 0 || await_reply(w, &frame, &v) != 0 ||
            sb_reply_threads(frame, add_name, out) != 0)
            return -1;
    } while (v.cursor.len != 0);
    if (out->n == 0)
        fprintf(stderr, "the token's user has no threads to scroll through\n");
    return out->n == 0 ? -1 : 0;
}

void
sb_names_finish(struct sb_names *names)
{
    for (uint32_t i = 0; i < names->n; i++)
        free(names->v[i]);
    free(names->v);
    *names = (struct sb_names){0};
}

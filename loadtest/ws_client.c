/* ws_client.c - see ws_client.h. */
#include "loadtest/ws_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    OP_BINARY = 2,
    OP_CLOSE = 8,
    OP_PING = 9,
    OP_PONG = 10,
    READ_STEP = 64 * 1024,
};

static int
dial(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *all;
    int fd = -1;
    if (getaddrinfo(host, port, &hints, &all) != 0)
        return -1;
    for (struct addrinfo *a = all; a != NULL && fd < 0; a = a->ai_next)
    {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0)
        {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(all);
    return fd;
}

/* Reads the answer's head byte by byte: whatever follows it belongs to the frames. */
static int
upgraded(int fd)
{
    char head[4096];
    size_t n = 0;
    while (n + 1 < sizeof(head) && read(fd, head + n, 1) == 1)
    {
        head[++n] = 0;
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            return strncmp(head, "HTTP/1.1 101", 12) == 0 ? 0 : -1;
    }
    return -1;
}

int
sb_ws_open(struct sb_ws *w, const char *host, const char *port, const char *path)
{
    char request[1024];
    int one = 1;
    memset(w, 0, sizeof(*w));
    w->fd = dial(host, port);
    if (w->fd < 0)
    {
        fprintf(stderr, "cannot connect to %s:%s: %s\n", host, port, strerror(errno));
        return -1;
    }
    int n = snprintf(request, sizeof(request),
                     "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: scrollback.v1\r\n\r\n",
                     path, host, port);
    if (n < 0 || (size_t)n >= sizeof(request) || write(w->fd, request, (size_t)n) != n ||
        upgraded(w->fd) != 0)
    {
        fprintf(stderr, "the server did not take the WebSocket upgrade\n");
        sb_ws_close(w);
        return -1;
    }
    setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fcntl(w->fd, F_SETFL, fcntl(w->fd, F_GETFL) | O_NONBLOCK);
}

void
sb_ws_close(struct sb_ws *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    free(w->in);
    w->in = NULL;
}

/* Sends what waits; keeps what the kernel does not take. */
static int
flush(struct sb_ws *w)
{
    size_t at = 0;
    while (at < w->out_len)
    {
        ssize_t n = send(w->fd, w->out + at, w->out_len - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -1;
        if (n < 0)
            break;
        at += (size_t)n;
    }
    memmove(w->out, w->out + at, w->out_len - at);
    w->out_len -= at;
    return 0;
}

static int
queue_frame(struct sb_ws *w, uint8_t op, struct sb_bytes payload)
{
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    uint8_t *p = w->out + w->out_len;
    size_t head = payload.len < 126 ? 6 : 8;
    if (head + payload.len > sizeof(w->out) - w->out_len)
        return -1;
    p[0] = (uint8_t)(0x80 | op);
    p[1] = (uint8_t)(0x80 | (payload.len < 126 ? payload.len : 126));
    if (payload.len >= 126)
    {
        p[2] = (uint8_t)(payload.len >> 8);
        p[3] = (uint8_t)payload.len;
    }
    memcpy(p + head - 4, mask, 4);
    for (size_t i = 0; i < payload.len; i++)
        p[head + i] = payload.data[i] ^ mask[i & 3];
    w->out_len += head + payload.len;
    return flush(w);
}

int
sb_ws_send(struct sb_ws *w, struct sb_bytes payload)
{
    return queue_frame(w, OP_BINARY, payload);
}

int
sb_ws_fill(struct sb_ws *w)
{
    if (w->out_len != 0 && flush(w) != 0)
        return -1;
    if (w->in_at != 0)
    {
        memmove(w->in, w->in + w->in_at, w->in_len - w->in_at);
        w->in_len -= w->in_at;
        w->in_at = 0;
    }
    for (;;)
    {
        if (w->in_cap - w->in_len < READ_STEP)
        {
            uint8_t *more = realloc(w->in, w->in_cap + 2 * (size_t)READ_STEP);
            if (more == NULL)
                return -1;
            w->in = more;
            w->in_cap += 2 * (size_t)READ_STEP;
        }
        ssize_t n = recv(w->fd, w->in + w->in_len, READ_STEP, 0);
        if (n > 0)
            w->in_len += (size_t)n;
        if (n == READ_STEP || (n < 0 && errno == EINTR))
            continue;
        return n > 0 || (n < 0 && errno == EAGAIN) ? 0 : -1;
    }
}

/* One frame at the front: its opcode and payload, or -1 when it is not complete. */
static int
next_frame(struct sb_ws *w, struct sb_bytes *payload)
{
    const uint8_t *p = w->in + w->in_at;
    size_t have = w->in_len - w->in_at;
    size_t head = 2;
    if (have < 2)
        return -1;
    uint64_t len = p[1] & 0x7F;
    size_t more = len == 126 ? 2 : len == 127 ? 8 : 0;
    if (have < head + more)
        return -1;
    if (more != 0)
    {
        len = 0;
        for (size_t i = 0; i < more; i++)
            len = len << 8 | p[head + i];
    }
    head += more;
    if (have - head < len)
        return -1;
    *payload = sb_bytes(p + head, (size_t)len);
    w->in_at += head + (size_t)len;
    return p[0] & 0x0F;
}

static uint16_t
close_code(struct sb_bytes payload)
{
    if (payload.len < 2)
        return 1005; /* none was given */
    return (uint16_t)((unsigned)payload.data[0] << 8 | payload.data[1]);
}

bool
sb_ws_take(struct sb_ws *w, struct sb_bytes *out, uint16_t *closed)
{
    *closed = 0;
    for (;;)
    {
        struct sb_bytes payload;
        int op = next_frame(w, &payload);
        if (op < 0)
            return false;
        if (op == OP_BINARY)
        {
            *out = payload;
            return true;
        }
        if (op == OP_PING && queue_frame(w, OP_PONG, payload) != 0)
            return false;
        if (op == OP_CLOSE)
        {
            *closed = close_code(payload);
            return false;
        }
    }
}

/*
 * greet.c - a look at the request line before the library gets the connection.
 *
 * The library resolves "//", dot segments and percent escapes before any hook sees the
 * path, so `//v1` would be `/v1`. Here the first line is peeked at, not read, and a path
 * that is not in its plain form is answered 404. SO_RCVLOWAT keeps a peer that sends a byte
 * at a time from waking the loop for bytes that were seen already.
 *
 * Invariant: while a connection is greeted its socket is ours; afterwards the library's.
 * Later requests on a kept-alive connection are not looked at.
 */
#include "net/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A longer request line is left to the library, whose routes are all shorter. */
#define LOOK_MAX 512

struct sb_greet
{
    uv_poll_t poll;
    struct sb_conn *conn;
    int fd;
};

static const char not_found[] = "HTTP/1.1 404 Not Found\r\n"
                                "content-type: text/plain; charset=utf-8\r\n"
                                "x-content-type-options: nosniff\r\n"
                                "connection: close\r\n"
                                "content-length: 22\r\n\r\n"
                                "there is nothing here\n";

/* Whether a path has an empty or dot segment, or an escape for one or for a NUL. */
static bool
path_is_odd(const char *p, size_t n)
{
    for (size_t i = 0; i < n && p[i] != '?' && p[i] != '#'; i++)
    {
        if (p[i] == '\\')
            return true;
        if (p[i] == '/' && i + 1 < n && (p[i + 1] == '/' || p[i + 1] == '.'))
            return true;
        if (p[i] == '%' && i + 2 < n &&
            (strncasecmp(p + i, "%2e", 3) == 0 || strncasecmp(p + i, "%2f", 3) == 0 ||
             strncasecmp(p + i, "%5c", 3) == 0 || strncmp(p + i, "%00", 3) == 0))
            return true;
    }
    return false;
}

enum sb_greet_verdict
sb_greet_judge(const char *line, size_t n)
{
    const char *space = memchr(line, ' ', n);
    const char *end = memchr(line, '\n', n);
    if (space == NULL || (end != NULL && end < space))
        return end != NULL || n >= 16 ? SB_GREET_PASS : SB_GREET_MORE; /* not our business */
    const char *path = space + 1;
    size_t rest = n - (size_t)(path - line), len = 0;
    while (len < rest && path[len] != ' ' && path[len] != '\r' && path[len] != '\n')
        len++;
    if (path_is_odd(path, len))
        return SB_GREET_REFUSE;
    if (len == rest && n < LOOK_MAX)
        return SB_GREET_MORE;
    return SB_GREET_PASS;
}

static void
closed_cb(uv_handle_t *h)
{
    struct sb_greet *g = SB_LINK_OF(h, struct sb_greet, poll);
    struct sb_server *s = h->data;
    s->open_handles--;
    free(g);
}

/* Ends the greeting; the socket is the caller's. */
static int
take_socket(struct sb_conn *c)
{
    struct sb_greet *g = c->greet;
    int fd = g->fd;
    c->greet = NULL;
    uv_poll_stop(&g->poll);
    uv_close((uv_handle_t *)&g->poll, closed_cb);
    return fd;
}

void
sb_greet_drop(struct sb_conn *c)
{
    close(take_socket(c));
    sb_conn_release(c);
}

static void
refuse(struct sb_conn *c)
{
    char unread[4096];
    int fd = c->greet->fd;
    c->server->counters.refused_upgrades[SB_UPGRADE_PATH]++;
    (void)!send(fd, not_found, sizeof(not_found) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    /* Unread input would turn the close into a reset that overtakes the answer. */
    (void)!recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
    sb_greet_drop(c);
}

static void
wake_above(int fd, ssize_t bytes)
{
    int low = (int)bytes + 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
}

static void
look_cb(uv_poll_t *poll, int status, int events)
{
    struct sb_greet *g = SB_LINK_OF(poll, struct sb_greet, poll);
    struct sb_conn *c = g->conn;
    char line[LOOK_MAX];
    ssize_t n = status < 0 ? 0 : recv(g->fd, line, sizeof(line), MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && (events & UV_DISCONNECT) == 0)
        return;
    enum sb_greet_verdict v = n > 0 ? sb_greet_judge(line, (size_t)n) : SB_GREET_REFUSE;
    if (n <= 0 || (v == SB_GREET_MORE && (events & UV_DISCONNECT) != 0))
        sb_greet_drop(c);
    else if (v == SB_GREET_MORE)
        wake_above(g->fd, n);
    else if (v == SB_GREET_REFUSE)
        refuse(c);
    else
    {
        wake_above(g->fd, 0);
        sb_listen_adopt(c, take_socket(c));
    }
}

int
sb_greet_start(struct sb_conn *c, int fd)
{
    struct sb_server *s = c->server;
    struct sb_greet *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return SB_ERR_NO_MEMORY;
    if (uv_poll_init(s->loop, &g->poll, fd) != 0)
    {
        free(g);
        return SB_ERR_INTERNAL;
    }
    g->conn = c;
    g->fd = fd;
    c->greet = g;
    sb_server_own(s, (uv_handle_t *)&g->poll);
    (void)uv_poll_start(&g->poll, UV_READABLE | UV_DISCONNECT, look_cb);
    return 0;
}

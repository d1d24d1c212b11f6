/*
 * listen.c - our own listening socket: binding, accepting, the caps.
 *
 * The library gets only sockets that may stay. Out of descriptors, accepting pauses on a
 * timer instead of spinning. Invariant: every accepted socket is counted for its address
 * until the library lets go of it.
 */
#include "net/internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 1024
#define ACCEPTS_PER_TURN 128
#define RETRY_MS 100
/* The kernel's share of a connection's output; without it about 2.7 MB would pile up. */
#define SEND_BUFFER (256 * 1024)

static void accept_again_cb(uv_timer_t *timer);

/* Room above the caps on WebSockets, so that one too many can be told 4429. */
static uint32_t
socket_cap(uint32_t web_sockets)
{
    return web_sockets > UINT32_MAX / 2 ? UINT32_MAX : web_sockets + web_sockets / 8 + 8;
}

static bool
over_cap(const struct sb_server *s, const struct sb_address *a)
{
    const struct sb_server_settings *set = &s->settings;
    if (set->max_connections != 0 && s->n_sockets >= socket_cap(set->max_connections))
        return true;
    return set->max_connections_per_address != 0 &&
           a->sockets > socket_cap(set->max_connections_per_address);
}

static void
take(struct sb_server *s, int fd, const struct sockaddr *peer)
{
    struct sb_address *address = sb_address_take(&s->addresses, peer);
    if (address == NULL)
    {
        close(fd);
        return;
    }
    struct sb_conn *c = NULL;
    if (over_cap(s, address) || (c = sb_conn_create(s, address)) == NULL)
    {
        s->counters.refused_sockets++;
        sb_address_drop(&s->addresses, address);
        close(fd);
        return;
    }
    if (sb_greet_start(c, fd) != 0)
    {
        close(fd);
        sb_conn_release(c);
        return;
    }
    s->counters.accepted++;
    c->deadline_ms = sb_loop_ms(s) + s->settings.handshake_ms;
    sb_timers_put(s, c, s->settings.handshake_ms);
}

void
sb_listen_adopt(struct sb_conn *c, int fd)
{
    struct sb_server *s = c->server;
    lws_adopt_desc_t how = {
        .vh = s->vhost,
        .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL,
        .fd.sockfd = fd,
        .opaque = c,
    };
    /* WSI_CREATE clears `adopting`: from then on the library's WSI_DESTROY releases it. */
    s->adopting = c;
    if (lws_adopt_descriptor_vhost_via_info(&how) == NULL && s->adopting == c)
        sb_conn_release(c);
    s->adopting = NULL;
}

static void
pause_accepting(struct sb_server *s, int err)
{
    s->counters.accept_errors++;
    sb_log_limited(&s->log_limit, sb_wall_ms(), SB_LOG_WARN, "net",
                   "cannot accept connections: %s; trying again", strerror(err));
    uv_poll_stop(&s->listen_poll);
    uv_timer_start(&s->accept_retry, accept_again_cb, RETRY_MS, 0);
}

static void
accept_cb(uv_poll_t *poll, int status, int events)
{
    struct sb_server *s = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++)
    {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);
        int fd =
            accept4(s->listen_fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
        {
            take(s, fd, (struct sockaddr *)&peer);
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        {
            pause_accepting(s, errno);
            return;
        }
        /* ECONNABORTED, EINTR and a peer's network errors concern that connection only. */
    }
}

static void
accept_again_cb(uv_timer_t *timer)
{
    struct sb_server *s = timer->data;
    if (s->listen_fd >= 0)
        uv_poll_start(&s->listen_poll, UV_READABLE, accept_cb);
}

static int
bind_one(const struct addrinfo *ai)
{
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int on = 1, off = 0, size = SEND_BUFFER;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* Accepted sockets inherit these. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int err = errno;
    close(fd);
    errno = err;
    return -1;
}

/* The first address of the host that can be bound, IPv4 before IPv6. */
static int
bind_host(const struct sb_server_settings *set, char *why)
{
    char host[256], port[8];
    size_t n = strlen(set->host);
    const char *from = set->host;
    if (n >= 2 && from[0] == '[' && from[n - 1] == ']')
    {
        from++;
        n -= 2;
    }
    if (n >= sizeof(host))
    {
        snprintf(why, 256, "the listen address is too long");
        return -1;
    }
    memcpy(host, from, n);
    host[n] = '\0';
    /* This machine, whatever a resolver says (RFC 6761): a small root has no /etc/hosts. */
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof(host), "127.0.0.1");
    snprintf(port, sizeof(port), "%u", set->port);
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host[0] == '\0' ? NULL : host, port, &hints, &list);
    if (rc != 0)
    {
        snprintf(why, 256, "cannot find the address %.100s: %s", host, gai_strerror(rc));
        return -1;
    }
    int fd = -1, err = 0;
    for (int pass = 0; pass < 2 && fd < 0; pass++)
        for (const struct addrinfo *ai = list; ai != NULL && fd < 0; ai = ai->ai_next)
            if ((ai->ai_family == AF_INET) == (pass == 0))
            {
                fd = bind_one(ai);
                err = errno;
            }
    freeaddrinfo(list);
    if (fd < 0)
        snprintf(why, 256, "cannot listen on %.100s port %s: %s", host, port, strerror(err));
    return fd;
}

int
sb_listen_open(struct sb_server *s, char *why)
{
    s->listen_fd = bind_host(&s->settings, why);
    if (s->listen_fd < 0)
        return SB_ERR_IO;
    struct sockaddr_storage name = {0};
    socklen_t len = sizeof(name);
    if (getsockname(s->listen_fd, (struct sockaddr *)&name, &len) != 0)
    {
        snprintf(why, 256, "cannot tell the port: %s", strerror(errno));
        return SB_ERR_IO;
    }
    s->port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&name)->sin6_port
                                               : ((struct sockaddr_in *)(void *)&name)->sin_port);
    if (uv_timer_init(s->loop, &s->accept_retry) != 0)
        return SB_ERR_INTERNAL;
    sb_server_own(s, (uv_handle_t *)&s->accept_retry);
    if (uv_poll_init(s->loop, &s->listen_poll, s->listen_fd) != 0)
        return SB_ERR_INTERNAL;
    sb_server_own(s, (uv_handle_t *)&s->listen_poll);
    if (uv_poll_start(&s->listen_poll, UV_READABLE, accept_cb) != 0)
        return SB_ERR_INTERNAL;
    return 0;
}

void
sb_listen_close(struct sb_server *s)
{
    if (s->listen_fd < 0)
        return;
    uv_poll_stop(&s->listen_poll);
    uv_timer_stop(&s->accept_retry);
    close(s->listen_fd);
    s->listen_fd = -1;
}

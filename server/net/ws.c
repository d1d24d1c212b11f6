/*
 * ws.c - libwebsockets: its context on our loop, and the one callback that it calls.
 *
 * Settings here are what 4.1.6 needs: no extensions (permessage-deflate can abort the
 * process), a zeroed retry policy (its own validity timers are a sorted list), a fixed
 * receive buffer per connection, the upgrade filter. Nothing above this file and
 * conn*.c calls the library for WebSockets.
 */
#include "net/internal.h"

#include <stdio.h>
#include <sys/resource.h>

#define HANDSHAKE_SECONDS 10
#define KEEPALIVE_SECONDS 5
#define HEADER_BYTES 4096

static const char csp[] = "default-src 'self'; connect-src 'self' ws: wss:; "
                          "img-src 'self' data: https:; object-src 'none'; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'";

int
sb_ws_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    if (reason == LWS_CALLBACK_WSI_CREATE)
    {
        struct sb_server *s = lws_context_user(lws_get_context(wsi));
        s->adopting = NULL;
        return 0;
    }
    struct sb_conn *c = wsi != NULL ? lws_get_opaque_user_data(wsi) : NULL;
    if (c == NULL)
        return 0; /* the library's own: its wake-up pipe, the context */
    c->wsi = wsi;
    switch (reason)
    {
    case LWS_CALLBACK_RECEIVE:
        return sb_conn_receive(c, in, len);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        sb_conn_flush(c);
        return 0;
    case LWS_CALLBACK_RECEIVE_PONG:
        sb_conn_pong(c);
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        c->requested = true;
        return sb_upgrade_filter(c);
    case LWS_CALLBACK_ESTABLISHED:
        return sb_conn_established(c);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return sb_conn_peer_close(c);
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_CLOSED_HTTP:
        sb_conn_gone(c);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        sb_conn_release(c);
        return 0;
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION: /* static files: no LWS_CALLBACK_HTTP follows */
        sb_http_head_came(c);
        return 0;
    case LWS_CALLBACK_HTTP:
        sb_http_head_came(c);
        return sb_http_request(c);
    case LWS_CALLBACK_HTTP_BODY:
        return sb_http_body(c, in, len);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return sb_http_body_end(c);
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, len);
    }
}

static struct sb_log_limit log_limit = {.burst = 5};

static void
log_line(int level, const char *line)
{
    /* The library's text ends in a newline and can be caused by a peer. */
    sb_log_limited(&log_limit, sb_wall_ms(), level == LLL_ERR ? SB_LOG_WARN : SB_LOG_INFO, "lws",
                   "%.*s", (int)strcspn(line, "\n"), line);
}

static void
add_mount(struct sb_server *s, size_t i, const char *path, bool files)
{
    struct lws_http_mount *m = &s->mounts[i];
    *m = (struct lws_http_mount){
        .mountpoint = path,
        .mountpoint_len = (unsigned char)strlen(path),
        .origin_protocol = files ? LWSMPRO_FILE : LWSMPRO_CALLBACK,
        .origin = files ? s->settings.web_dir : "",
        .def = files ? "index.html" : NULL,
        .protocol = files ? NULL : SB_SUBPROTOCOL,
        .extra_mimetypes = files ? s->mime_types : NULL,
        .cache_reusable = 1,
        .cache_revalidate = 1,
    };
    if (i > 0)
        s->mounts[i - 1].mount_next = m;
}

static void
fill_tables(struct sb_server *s)
{
    static const char *const headers[][2] = {
        {"content-security-policy:", csp},
        {"x-content-type-options:", "nosniff"},
        {"referrer-policy:", "no-referrer"},
    };
    static const char *const types[][2] = {
        {".mjs", "text/javascript"}, {".map", "application/json"}, {".woff2", "font/woff2"},
        {".webp", "image/webp"},     {".md", "text/plain"},
    };
    size_t n = sizeof(headers) / sizeof(headers[0]);
    for (size_t i = 0; i < n; i++)
        s->headers[i] = (struct lws_protocol_vhost_options){
            .next = i + 1 < n ? &s->headers[i + 1] : NULL,
            .name = headers[i][0],
            .value = headers[i][1],
        };
    n = sizeof(types) / sizeof(types[0]);
    for (size_t i = 0; i < n; i++)
        s->mime_types[i] = (struct lws_protocol_vhost_options){
            .next = i + 1 < n ? &s->mime_types[i + 1] : NULL,
            .name = types[i][0],
            .value = types[i][1],
        };
    s->protocols[0] = (struct lws_protocols){
        .name = SB_SUBPROTOCOL,
        .callback = sb_ws_callback,
        .rx_buffer_size = SB_RX_BUFFER,
        .tx_packet_size = SB_WRITE_MAX,
    };
    static const char *const paths[] = {"/demo/token", "/healthz", "/metrics", "/readyz",
                                        SB_WS_PATH};
    n = sizeof(paths) / sizeof(paths[0]);
    for (size_t i = 0; i < n; i++)
        add_mount(s, i, paths[i], false);
    add_mount(s, n, "/", s->settings.web_dir != NULL);
}

/* The library sizes its tables by the descriptor limit, so that is set to what is needed
 * before it looks. */
static void
set_descriptor_limit(const struct sb_server *s)
{
    struct rlimit now;
    uint64_t want = s->settings.max_connections;
    if (want == 0 || getrlimit(RLIMIT_NOFILE, &now) != 0)
        return;
    want += want / 8 + 256;
    if (now.rlim_max != RLIM_INFINITY && want > now.rlim_max)
    {
        sb_log(SB_LOG_WARN, "net", "the descriptor limit of %llu is too low for max-connections %u",
               (unsigned long long)now.rlim_max, s->settings.max_connections);
        want = now.rlim_max;
    }
    now.rlim_cur = (rlim_t)want;
    if (setrlimit(RLIMIT_NOFILE, &now) != 0)
        sb_log(SB_LOG_WARN, "net", "cannot set the descriptor limit");
}

int
sb_ws_create(struct sb_server *s, char *why)
{
    set_descriptor_limit(s);
    fill_tables(s);
    lws_set_log_level(LLL_ERR | LLL_WARN, log_line);
    void *loops[] = {s->loop};
    struct lws_context_creation_info info = {
        .foreign_loops = loops,
        .pcontext = &s->lws,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = s->protocols,
        .mounts = s->mounts,
        .headers = s->headers,
        .user = s,
        .gid = -1,
        .uid = -1,
        .max_http_header_data = HEADER_BYTES,
        .timeout_secs = HANDSHAKE_SECONDS,
        .keepalive_timeout = KEEPALIVE_SECONDS,
        .retry_and_idle_policy = &s->no_retry,
        .server_string = "scrollback",
        .vhost_name = "scrollback",
    };
    s->lws = lws_create_context(&info);
    if (s->lws == NULL)
    {
        snprintf(why, 256, "libwebsockets could not start (is libwebsockets-evlib-uv there?)");
        return SB_ERR_INTERNAL;
    }
    s->vhost = lws_create_vhost(s->lws, &info);
    if (s->vhost == NULL)
    {
        snprintf(why, 256, "libwebsockets could not make its host");
        return SB_ERR_INTERNAL;
    }
    return 0;
}

/*
 * http.c - the HTTP routes on the WebSocket's port.
 *
 * Static files are the library's (a mount, see ws.c); what arrives here are the routes of
 * the program: health, metrics, the demo's token, and answers for everything else. Never a
 * CORS header: no other origin has business here.
 */
#include "net/internal.h"

#include <stdio.h>
#include <strings.h>

#define TEXT "text/plain; charset=utf-8"

static const char no_web_text[] =
    "This is a Scrollback server: live chat history over one WebSocket.\n"
    "\n"
    "Clients connect to /v1 with the subprotocol scrollback.v1. No web demo is served here:\n"
    "start the server with --web DIR to serve one. /healthz tells whether it lives.\n";

bool
sb_http_has(struct lws *wsi, enum lws_token_indexes token)
{
    char none[1];
    return lws_hdr_total_length(wsi, token) > 0 ||
           lws_hdr_copy_fragment(wsi, none, sizeof(none), token, 0) == 0;
}

int
sb_http_reply(struct lws *wsi, unsigned status, const char *type, const char *body, size_t len,
              const char *extra_name, const char *extra_value)
{
    unsigned char head[LWS_PRE + 2048];
    unsigned char *start = head + LWS_PRE, *p = start, *end = head + sizeof(head) - 1;
    bool only_head = sb_http_has(wsi, WSI_TOKEN_HEAD_URI);
    if (lws_add_http_common_headers(wsi, status, type != NULL ? type : TEXT, (lws_filepos_t)len, &p,
                                    end) != 0)
        return -1;
    if (lws_add_http_header_by_name(wsi, (const unsigned char *)"cache-control:",
                                    (const unsigned char *)"no-store", 8, &p, end) != 0)
        return -1;
    if (extra_name != NULL && lws_add_http_header_by_name(wsi, (const unsigned char *)extra_name,
                                                          (const unsigned char *)extra_value,
                                                          (int)strlen(extra_value), &p, end) != 0)
        return -1;
    if (lws_finalize_write_http_header(wsi, start, &p, end) != 0)
        return -1;
    if (only_head || len == 0)
        return 0;
    unsigned char *copy = malloc(LWS_PRE + len);
    if (copy == NULL)
        return -1;
    memcpy(copy + LWS_PRE, body, len);
    int written = lws_write(wsi, copy + LWS_PRE, len, LWS_WRITE_HTTP_FINAL);
    free(copy);
    return written < 0 ? -1 : 0;
}

/* Replies and ends the transaction: what the library's HTTP callbacks return. */
static int
answer(struct sb_conn *c, unsigned status, const char *type, const char *body, size_t len,
       const char *extra_name, const char *extra_value)
{
    if (sb_http_reply(c->wsi, status, type, body, len, extra_name, extra_value) != 0)
        return -1;
    return lws_http_transaction_completed(c->wsi) != 0 ? -1 : 0;
}

static int
text(struct sb_conn *c, unsigned status, const char *body)
{
    return answer(c, status, NULL, body, strlen(body), NULL, NULL);
}

static bool
header(struct sb_conn *c, enum lws_token_indexes token, char *out, int cap)
{
    int n = lws_hdr_copy(c->wsi, out, cap, token);
    return n > 0 && (size_t)n == strlen(out);
}

static int
metrics(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    if (!s->settings.metrics_open && !c->address->loopback)
        return text(c, 403, "metrics are for this machine only\n");
    struct sb_buf out;
    sb_buf_init(&out, (size_t)1 << 20);
    sb_metrics_write(s, &out);
    if (s->hooks.metrics != NULL)
        s->hooks.metrics(s->hooks.ctx, &out);
    int rc = answer(c, 200, "text/plain; version=0.0.4; charset=utf-8", (const char *)out.data,
                    out.len, NULL, NULL);
    sb_buf_finish(&out);
    return rc;
}

static int
refusals(struct sb_conn *c)
{
    struct sb_buf out;
    if (!sb_debug_allowed(c))
        return text(c, 403, "for an operator with a service's token only\n");
    sb_buf_init(&out, (size_t)64 << 10);
    int rc = sb_debug_refusals(sb_engine_telemetry(c->server->engine), &out);
    rc = rc != 0 ? text(c, 503, "short of memory\n")
                 : answer(c, 200, "application/json", (const char *)out.data, out.len, NULL, NULL);
    sb_buf_finish(&out);
    return rc;
}

static int
ready(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    if (s->phase == SB_RUNNING && (s->hooks.ready == NULL || s->hooks.ready(s->hooks.ctx)))
        return text(c, 200, "ready\n");
    return text(c, 503, "not ready\n");
}

/* The head of POST /demo/token: what it must say before its body is read. */
static int
demo_head(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    char value[300];
    if (s->settings.demo_users == NULL || s->hooks.demo_token == NULL)
        return text(c, 404, "there is nothing here\n");
    if (!sb_http_has(c->wsi, WSI_TOKEN_POST_URI))
        return answer(c, 405, NULL, "POST only\n", 10, "allow:", "POST");
    /* Exact Host and Origin: a page of another site, or of a rebound name, gets no token. */
    if (!header(c, WSI_TOKEN_HOST, value, sizeof(value)) || !sb_host_is_loopback(value, s->port))
        return text(c, 403, "not under this name\n");
    if (!header(c, WSI_TOKEN_ORIGIN, value, sizeof(value)) ||
        !sb_origin_allowed(value, NULL, "localhost", s->port))
        return text(c, 403, "this origin may not do that\n");
    if (!header(c, WSI_TOKEN_HTTP_CONTENT_TYPE, value, sizeof(value)) ||
        strncasecmp(value, "application/json", 16) != 0 ||
        (value[16] != '\0' && value[16] != ';' && value[16] != ' '))
        return text(c, 415, "the body is application/json\n");
    if (!header(c, WSI_TOKEN_HTTP_CONTENT_LENGTH, value, sizeof(value)) ||
        strspn(value, "0123456789") != strlen(value))
        return text(c, 411, "Content-Length is needed\n");
    if (strlen(value) > 4 || strtoul(value, NULL, 10) > SB_BODY_MAX)
        return text(c, 413, "the body is too long\n");
    sb_buf_finish(&c->in);
    sb_buf_init(&c->in, SB_BODY_MAX);
    c->keep_body = true;
    return 0;
}

/* The library starts its own timer anew at each byte of a body, so drips would hold a socket
 * for ever: a body, wanted or not, has the time that a head has. */
void
sb_http_head_came(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    char length[24];
    int n = lws_hdr_copy(c->wsi, length, sizeof(length), WSI_TOKEN_HTTP_CONTENT_LENGTH);
    bool no_body = n == 0 || (n == 1 && length[0] == '0');
    c->requested = no_body && !sb_http_has(c->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING);
    if (c->requested)
        return;
    c->deadline_ms = sb_loop_ms(s) + s->settings.handshake_ms;
    sb_timers_put(s, c, s->settings.handshake_ms);
}

int
sb_http_body(struct sb_conn *c, const void *data, size_t len)
{
    if (!c->keep_body)
        return 0;
    return sb_buf_append(&c->in, sb_bytes(data, len)) == 0 ? 0 : -1;
}

int
sb_http_body_end(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    char user[SB_MAX_NAME + 1], token[SB_MAX_TOKEN + 1], body[SB_MAX_TOKEN + 32];
    c->requested = true;
    if (!c->keep_body)
        return 0;
    c->keep_body = false;
    int rc = sb_demo_parse((const char *)c->in.data, c->in.len, user, sizeof(user));
    sb_buf_finish(&c->in);
    if (rc != 0)
        return text(c, 400, "the body is {\"user\": \"NAME\"}\n");
    size_t i = 0;
    while (s->settings.demo_users[i] != NULL && strcmp(s->settings.demo_users[i], user) != 0)
        i++;
    if (s->settings.demo_users[i] == NULL)
        return text(c, 403, "not a demo user\n");
    if (s->hooks.demo_token(s->hooks.ctx, user, token, sizeof(token)) != 0)
        return text(c, 500, "no token could be made\n");
    /* A JWT needs no escapes. */
    int n = snprintf(body, sizeof(body), "{\"token\":\"%s\"}\n", token);
    return answer(c, 200, "application/json", body, (size_t)n, NULL, NULL);
}

int
sb_http_request(struct sb_conn *c)
{
    char path[128];
    enum lws_token_indexes method = WSI_TOKEN_GET_URI;
    if (sb_http_has(c->wsi, WSI_TOKEN_POST_URI))
        method = WSI_TOKEN_POST_URI;
    else if (sb_http_has(c->wsi, WSI_TOKEN_HEAD_URI))
        method = WSI_TOKEN_HEAD_URI;
    c->keep_body = false;
    if (!header(c, method, path, sizeof(path)))
        return text(c, 404, "there is nothing here\n");
    if (strcmp(path, "/demo/token") == 0)
        return demo_head(c);
    if (method == WSI_TOKEN_POST_URI)
        return answer(c, 405, NULL, "GET only\n", 9, "allow:", "GET, HEAD");
    if (strcmp(path, "/healthz") == 0)
        return text(c, 200, "ok\n");
    if (strcmp(path, "/readyz") == 0)
        return ready(c);
    if (strcmp(path, "/metrics") == 0)
        return metrics(c);
    if (strcmp(path, "/debug/refusals") == 0)
        return refusals(c);
    if (strcmp(path, SB_WS_PATH) == 0)
        return answer(c, 426, NULL, "connect here with a WebSocket\n", 30, "upgrade:", "websocket");
    return text(c, 404, no_web_text);
}

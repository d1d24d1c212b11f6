/*
 * upgrade.c - which HTTP requests may become WebSockets.
 *
 * libwebsockets 4.1.6 itself upgrades nearly anything that says `Upgrade: websocket`; every
 * rule of RFC 6455 4.2.1 is therefore checked here. It never reads the callback's `in`,
 * which may point into freed headers (CVE-2025-11677).
 *
 * What no hook can see: bare LF line ends. Odd spellings of the path are caught in greet.c.
 */
#include "net/internal.h"

#include <strings.h>

static const struct
{
    unsigned status;
    const char *body;
} refusals[SB_UPGRADE_REFUSAL_COUNT] = {
    [SB_UPGRADE_PATH] = {404, "there is nothing here; WebSockets connect to /v1\n"},
    [SB_UPGRADE_METHOD] = {400, "a WebSocket upgrade is a GET with HTTP/1.1\n"},
    [SB_UPGRADE_HEADERS] = {400, "the Host, Upgrade or Connection header is missing or wrong\n"},
    [SB_UPGRADE_BODY] = {400, "a WebSocket upgrade has no body\n"},
    [SB_UPGRADE_VERSION] = {426, "this server speaks Sec-WebSocket-Version 13\n"},
    [SB_UPGRADE_KEY] = {400, "Sec-WebSocket-Key is 16 bytes of base64, once\n"},
    [SB_UPGRADE_SUBPROTOCOL] = {400, "the subprotocol is scrollback.v1\n"},
    [SB_UPGRADE_ORIGIN] = {403, "this origin may not connect\n"},
    [SB_UPGRADE_DRAINING] = {503, "the server is stopping\n"},
};

/* A header's whole value, repeats included; false if it does not fit or holds a NUL. */
static bool
value_of(struct lws *wsi, enum lws_token_indexes token, char *out, int cap)
{
    int n = lws_hdr_copy(wsi, out, cap, token);
    return n >= 0 && (size_t)n == strlen(out) && n == lws_hdr_total_length(wsi, token);
}

static bool
equals(struct lws *wsi, enum lws_token_indexes token, const char *want)
{
    char got[64];
    return value_of(wsi, token, got, sizeof(got)) && strcmp(got, want) == 0;
}

/* One of the comma-separated tokens. */
static bool
lists(struct lws *wsi, enum lws_token_indexes token, const char *want, bool any_case)
{
    char got[256];
    if (!value_of(wsi, token, got, sizeof(got)))
        return false;
    char *rest = got, *item;
    while ((item = strsep(&rest, ",")) != NULL)
    {
        item += strspn(item, " \t");
        size_t n = strcspn(item, " \t");
        if (item[n + strspn(item + n, " \t")] != '\0' || n != strlen(want))
            continue;
        if (any_case ? strncasecmp(item, want, n) == 0 : strncmp(item, want, n) == 0)
            return true;
    }
    return false;
}

/* 24 characters that decode to 16 bytes: 21 free ones, one with its low 4 bits zero, "==". */
static bool
key_is_valid(struct lws *wsi)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char key[32];
    if (!value_of(wsi, WSI_TOKEN_KEY, key, sizeof(key)) || strlen(key) != 24)
        return false;
    return strspn(key, alphabet) == 22 && strchr("AQgw", key[21]) != NULL &&
           strcmp(key + 22, "==") == 0;
}

static bool
origin_is_allowed(const struct sb_conn *c)
{
    const struct sb_server *s = c->server;
    char origin[300];
    if (!sb_http_has(c->wsi, WSI_TOKEN_ORIGIN))
        return true; /* a program: no ambient credential exists */
    return value_of(c->wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin)) &&
           sb_origin_allowed(origin, s->settings.origins, s->settings.host, s->port);
}

/* The first rule that the request breaks, or SB_UPGRADE_REFUSAL_COUNT. */
static enum sb_upgrade_refusal
judge(const struct sb_conn *c)
{
    struct lws *wsi = c->wsi;
    if (c->server->phase != SB_RUNNING)
        return SB_UPGRADE_DRAINING;
    if (!sb_http_has(wsi, WSI_TOKEN_GET_URI) || !equals(wsi, WSI_TOKEN_HTTP, "HTTP/1.1"))
        return SB_UPGRADE_METHOD;
    if (!equals(wsi, WSI_TOKEN_GET_URI, SB_WS_PATH) || sb_http_has(wsi, WSI_TOKEN_HTTP_URI_ARGS))
        return SB_UPGRADE_PATH;
    if (sb_http_has(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) ||
        sb_http_has(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING))
        return SB_UPGRADE_BODY;
    if (!sb_http_has(wsi, WSI_TOKEN_HOST) || !lists(wsi, WSI_TOKEN_CONNECTION, "upgrade", true) ||
        !lists(wsi, WSI_TOKEN_UPGRADE, "websocket", true))
        return SB_UPGRADE_HEADERS;
    if (!equals(wsi, WSI_TOKEN_VERSION, "13"))
        return SB_UPGRADE_VERSION;
    if (!key_is_valid(wsi))
        return SB_UPGRADE_KEY;
    if (!origin_is_allowed(c))
        return SB_UPGRADE_ORIGIN;
    if (!lists(wsi, WSI_TOKEN_PROTOCOL, SB_SUBPROTOCOL, false))
        return SB_UPGRADE_SUBPROTOCOL;
    return SB_UPGRADE_REFUSAL_COUNT;
}

int
sb_upgrade_filter(struct sb_conn *c)
{
    /* The library answered an unknown Upgrade value itself and dropped the headers. */
    if (!sb_http_has(c->wsi, WSI_TOKEN_UPGRADE))
        return -1;
    enum sb_upgrade_refusal why = judge(c);
    if (why == SB_UPGRADE_REFUSAL_COUNT)
        return 0;
    c->server->counters.refused_upgrades[why]++;
    const char *body = refusals[why].body;
    bool version = why == SB_UPGRADE_VERSION;
    if (sb_http_reply(c->wsi, refusals[why].status, NULL, body, strlen(body),
                      version ? "sec-websocket-version:" : NULL, version ? "13" : NULL) != 0)
        return -1;
    return 1;
}

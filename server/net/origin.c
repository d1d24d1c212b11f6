/*
 * origin.c - who may connect from a web page: the Origin rule and its Host twin.
 *
 * The Host header is never the yardstick for Origin: under DNS rebinding both name the
 * attacker's domain. Pure functions of their arguments.
 */
#include "net/internal.h"

#include <stdio.h>

static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};

/* An address as it stands in a URL. */
static void
url_host(const char *host, char out[256])
{
    bool bare_v6 = strchr(host, ':') != NULL && host[0] != '[';
    snprintf(out, 256, bare_v6 ? "[%s]" : "%s", host);
}

static bool
matches(const char *origin, const char *scheme, const char *host, uint16_t port)
{
    char full[320];
    snprintf(full, sizeof(full), "%s://%s:%u", scheme, host, port);
    if (strcmp(origin, full) == 0)
        return true;
    /* A browser leaves a scheme's own port out. */
    if (port != (strcmp(scheme, "http") == 0 ? 80 : 443))
        return false;
    snprintf(full, sizeof(full), "%s://%s", scheme, host);
    return strcmp(origin, full) == 0;
}

bool
sb_origin_allowed(const char *origin, const char *const *allowlist, const char *host, uint16_t port)
{
    if (allowlist != NULL && allowlist[0] != NULL)
    {
        for (size_t i = 0; allowlist[i] != NULL; i++)
            if (strcmp(origin, allowlist[i]) == 0)
                return true;
        return false;
    }
    char listening[256];
    url_host(host, listening);
    if (matches(origin, "http", listening, port) || matches(origin, "https", listening, port))
        return true;
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
        if (matches(origin, "http", loopback[i], port) ||
            matches(origin, "https", loopback[i], port))
            return true;
    return false;
}

bool
sb_host_is_loopback(const char *host, uint16_t port)
{
    char full[64];
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
    {
        snprintf(full, sizeof(full), "%s:%u", loopback[i], port);
        if (strcmp(host, full) == 0 || (port == 80 && strcmp(host, loopback[i]) == 0))
            return true;
    }
    return false;
}

/* listen.c - see listen.h. It resolves no names. */
#include "app/listen.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "app/config.h"

static bool
is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool
sb_listen_parse(const char *text, struct sb_listen *out)
{
    const char *colon = strrchr(text, ':');
    const char *host = text;
    uint64_t port;
    if (colon == NULL || !sb_parse_count(colon + 1, &port) || port > UINT16_MAX)
        return false;
    size_t len = (size_t)(colon - text);
    bool brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (brackets)
    {
        host++;
        len -= 2;
    }
    struct in6_addr v6;
    if (len == 0 || len >= sizeof(out->host))
        return false;
    memcpy(out->host, host, len);
    out->host[len] = '\0';
    /* ::1:8484 could be an address alone: brackets tell which. */
    if (brackets != (strchr(out->host, ':') != NULL) ||
        (brackets && inet_pton(AF_INET6, out->host, &v6) != 1) || strpbrk(out->host, " /@") != NULL)
        return false;
    out->port = (uint16_t)port;
    out->loopback = is_loopback(out->host);
    return true;
}

void
sb_listen_url(const struct sb_listen *l, uint16_t port, char *out, size_t cap)
{
    bool v6 = strchr(l->host, ':') != NULL;
    (void)snprintf(out, cap, "ws://%s%s%s:%u/v1", v6 ? "[" : "", l->host, v6 ? "]" : "", port);
}

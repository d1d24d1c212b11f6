/* listen.h - the listen setting, HOST:PORT, and what it means. */
#ifndef SB_APP_LISTEN_H
#define SB_APP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_listen
{
    char host[256]; /* without brackets */
    uint16_t port;
    bool loopback; /* only this machine reaches it */
};

/* False: not HOST:PORT (`[` `]` around an IPv6 address). */
bool sb_listen_parse(const char *text, struct sb_listen *out);
/* ws://HOST:PORT/v1 */
void sb_listen_url(const struct sb_listen *l, uint16_t port, char *out, size_t cap);

#endif

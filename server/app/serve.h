/*
 * serve.h - the running server: store, keys, engine, change log and loop wired together.
 *
 * One thread, but for the change log's job on the pool.
 */
#ifndef SB_APP_SERVE_H
#define SB_APP_SERVE_H

#include "app/config.h"
#include "app/listen.h"

struct sb_serve;

/*
 * Opens all and binds. 0, or SB_ERR_ with `why` (SB_WHY bytes); `c` and `listen` are borrowed.
 * sb_serve_close frees it.
 */
int sb_serve_open(const struct sb_config *c, const struct sb_listen *listen, struct sb_serve **out,
                  char *why);
uint16_t sb_serve_port(const struct sb_serve *s);
/* Until SIGTERM or SIGINT. 0, or SB_ERR_ when something failed while it ran. */
int sb_serve_run(struct sb_serve *s);
/* Settles and closes the store. 0 or SB_ERR_. */
int sb_serve_close(struct sb_serve *s);

#endif

/*
 * debug.c - GET /debug/refusals: why cursors were refused lately, for an operator.
 *
 * What clients are never told: so it needs a service's token besides being asked from this
 * machine (or metrics_open). It names no user, thread or cursor.
 */
#include "net/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/text.h"

#define BEARER "Bearer "
#define BEARER_LEN 7

bool
sb_debug_allowed(struct sb_conn *c)
{
    struct sb_server *s = c->server;
    char value[BEARER_LEN + SB_MAX_TOKEN + 1];
    if (s->hooks.is_service == NULL || (!s->settings.metrics_open && !c->address->loopback))
        return false;
    int n = lws_hdr_copy(c->wsi, value, sizeof(value), WSI_TOKEN_HTTP_AUTHORIZATION);
    if (n <= BEARER_LEN || strncasecmp(value, BEARER, BEARER_LEN) != 0)
        return false;
    return s->hooks.is_service(s->hooks.ctx, sb_bytes(value + BEARER_LEN, (size_t)n - BEARER_LEN));
}

int
sb_debug_refusals(const struct sb_telemetry *t, struct sb_buf *out)
{
    int rc = sb_text_put(out, "{\"counts\":{");
    for (int i = 0; rc == 0 && i < SB_REFUSAL_COUNT; i++)
        rc = sb_text_put(out, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", sb_refusal_names[i],
                         t->refusals[i]);
    if (rc == 0)
        rc = sb_text_put(out, "},\"last\":[");
    for (uint32_t i = 0; rc == 0 && i < sb_telemetry_kept(t); i++)
    {
        const struct sb_refusal_note *note = sb_telemetry_note(t, i);
        rc = sb_text_put(out, "%s{\"time\":%" PRIu64 ",\"cause\":\"%s\",\"op\":\"%s\"}",
                         i == 0 ? "" : ",\n", note->time_ms, sb_refusal_names[note->cause],
                         sb_op_name(note->op));
    }
    return rc == 0 ? sb_text_put(out, "]}\n") : rc;
}

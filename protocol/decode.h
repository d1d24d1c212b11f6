/*
 * decode.h - a client's frame to a struct sb_request.
 *
 * Every frame passes the bounded pre-scan (prescan.h) before msgpack-c sees it:
 * msgpack-c trusts declared lengths.
 */
#ifndef SB_PROTOCOL_DECODE_H
#define SB_PROTOCOL_DECODE_H

#include "protocol/frames.h"

enum sb_decode_status
{
    SB_DECODE_OK,
    SB_DECODE_MALFORMED, /* not one map of the contract's form: close 1007 */
    SB_DECODE_BAD,       /* a well-formed map, a wrong request: reply `code` */
};

/* What a wrong request is told. `message` is a constant text, never NULL. */
struct sb_decode_error
{
    enum sb_code code; /* BAD_REQUEST or TOO_LARGE */
    const char *message;
};

struct sb_decoder; /* owns the unpack zone and the scratch that requests point into */

/* One decoder serves all connections of a thread. NULL when memory is short. */
struct sb_decoder *sb_decoder_create(void);
void sb_decoder_destroy(struct sb_decoder *d); /* NULL is fine */

/*
 * Decodes one frame. On OK and on BAD `out->id` (and `out->op` if it was
 * readable, else SB_OP_UNKNOWN) is set; on BAD `err` tells what to reply. Allocates
 * nothing for frames of ordinary size (the zone is reused).
 * A request of an operation that is not built yet is BAD with its own text; so are
 * `live`, `share`, `filter.text` and `filter.mentions` while they are not built.
 */
enum sb_decode_status sb_request_decode(struct sb_decoder *d, struct sb_bytes frame,
                                        struct sb_request *out, struct sb_decode_error *err);

/*
 * Decodes the body of a stored row (our own bytes, already checked by its checksum) into a
 * message whose views point into `body` and the decoder. 0, or -1 for bytes that are not one.
 */
int sb_message_decode(struct sb_decoder *d, struct sb_bytes body, struct sb_message *out);

#endif

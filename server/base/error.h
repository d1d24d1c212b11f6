/*
 * error.h - the one list of errors: number, the wire's code, the text.
 *
 * Functions return 0 or a negative value of this list. Foreign codes (MDB_*, UV_*,
 * errno, -1) are converted at the edge and never cross a layer.
 * The text is what a client's author reads: constant per cause, no identifiers,
 * no cursor fields, no detail of a mismatch.
 */
#ifndef SB_BASE_ERROR_H
#define SB_BASE_ERROR_H

#include "protocol/codes.h"

#define SB_ERRORS(X)                                                                               \
    X(BAD_REQUEST, BAD_REQUEST, "the request does not have the form of its operation")             \
    X(BAD_NAME, BAD_REQUEST,                                                                       \
      "a thread or user name is 1 to 128 bytes of UTF-8 without control characters")               \
    X(BAD_ACCESS, BAD_REQUEST, "history since_join does not go with access tenant")                \
    X(NOT_BUILT, BAD_REQUEST, "this server does not have that operation or field")                 \
    X(UNAUTHENTICATED, UNAUTHENTICATED, "the token is not valid here; get a new one")              \
    X(FORBIDDEN, FORBIDDEN, "this thread or action is not open to you")                            \
    X(INVALID_CURSOR, INVALID_CURSOR,                                                              \
      "the cursor cannot be used here; load again without it, or before the oldest row you hold")  \
    X(NOT_FOUND, NOT_FOUND, "there is no such message here")                                       \
    X(CONFLICT, CONFLICT, "it was changed in between; load it again")                              \
    X(THREAD_EXISTS, CONFLICT, "a thread of that name exists already")                             \
    X(TOO_LARGE, TOO_LARGE, "a field is longer than the limits in the hello reply allow")          \
    X(RATE_LIMITED, RATE_LIMITED, "too many requests; wait and send it again")                     \
    X(OVERLOADED, OVERLOADED, "the server is busy; send it again a little later")                  \
    X(UNAVAILABLE, UNAVAILABLE, "the server cannot do that at present; send it again later")       \
    X(FULL, UNAVAILABLE, "the store is full; reading goes on, writing does not")                   \
    X(CORRUPT, UNAVAILABLE, "a stored message is damaged; its neighbours can still be read")       \
    X(UNKNOWN_OUTCOME, UNKNOWN_OUTCOME,                                                            \
      "it is not known whether this was stored; send it again with the same nonce")                \
    X(NO_MEMORY, OVERLOADED, "the server is short of memory; send it again a little later")        \
    X(IO, INTERNAL, "an input or output error")                                                    \
    X(EXISTS, INTERNAL, "it is there already")                                                     \
    X(BUSY, INTERNAL, "the data directory is in use")                                              \
    X(FOREIGN, INTERNAL,                                                                           \
      "the data directory is not one of ours, or not one that this version reads")                 \
    X(INTERNAL, INTERNAL, "an internal error")

/* SB_ERR_x is the negative of its place in the list, from -1 on. */
enum sb_err
{
    SB_ERR_FIRST_ = 0,
#define X(id, code, text) SB_ERR_AT_##id,
    SB_ERRORS(X)
#undef X
        SB_ERR_END_,
#define X(id, code, text) SB_ERR_##id = -SB_ERR_AT_##id,
    SB_ERRORS(X)
#undef X
};

enum sb_code sb_error_code(int err);
/* Never NULL. */
const char *sb_error_text(int err);
/* The constant's name, for logs: "FORBIDDEN". */
const char *sb_error_name(int err);

#endif

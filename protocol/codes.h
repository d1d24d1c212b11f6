/*
 * codes.h - the error codes of the wire: enum and name.
 *
 * The message texts are per cause and live in one list: server/base/error.h.
 */
#ifndef SB_PROTOCOL_CODES_H
#define SB_PROTOCOL_CODES_H

#define SB_CODES(X)                                                                                \
    X(BAD_REQUEST, "bad_request")                                                                  \
    X(UNAUTHENTICATED, "unauthenticated")                                                          \
    X(FORBIDDEN, "forbidden")                                                                      \
    X(INVALID_CURSOR, "invalid_cursor")                                                            \
    X(NOT_FOUND, "not_found")                                                                      \
    X(CONFLICT, "conflict")                                                                        \
    X(TOO_LARGE, "too_large")                                                                      \
    X(RATE_LIMITED, "rate_limited")                                                                \
    X(OVERLOADED, "overloaded")                                                                    \
    X(UNAVAILABLE, "unavailable")                                                                  \
    X(UNKNOWN_OUTCOME, "unknown_outcome")                                                          \
    X(INTERNAL, "internal")

enum sb_code
{
#define X(id, name) SB_CODE_##id,
    SB_CODES(X)
#undef X
};

/* The name as on the wire; "internal" past the end. */
const char *sb_code_name(enum sb_code code);

#endif

/*
 * limits.h - every limit of the wire, in one table.
 *
 * PROTOCOL.md lists the same names. Limits that an operator can lower are
 * config keys (server/app/config.c) with these values as their ceiling or default.
 */
#ifndef SB_PROTOCOL_LIMITS_H
#define SB_PROTOCOL_LIMITS_H

/*      name                     value        what it bounds */
#define SB_LIMITS(X)                                                                               \
    X(SB_MAX_DEPTH, 16, "nesting of a frame; the outer map is 1")                                  \
    X(SB_MAX_MAP_KEYS, 1024, "keys of one map in a client's frame")                                \
    X(SB_MAX_KEY, 1024, "bytes of a map key in a client's frame")                                  \
    X(SB_MAX_ELEMENTS, 65536, "values in one client's frame")                                      \
    X(SB_MAX_FRAME, 65536, "bytes of a client's frame after hello")                                \
    X(SB_MAX_FRAME_HELLO, 16384, "bytes of a client's frame before hello")                         \
    X(SB_MAX_FRAME_SERVICE, 4194304, "bytes of a service's frame")                                 \
    X(SB_MAX_NAME, 128, "bytes of a thread, user or tenant name")                                  \
    X(SB_MAX_TITLE, 512, "bytes of a thread's title")                                              \
    X(SB_MAX_KIND, 64, "bytes of a message's kind")                                                \
    X(SB_MAX_NONCE, 64, "bytes of a nonce")                                                        \
    X(SB_MAX_TEXT, 49152, "bytes of a posted text")                                                \
    X(SB_MAX_META, 4096, "bytes of a posted meta map, packed")                                     \
    X(SB_MAX_MENTIONS, 64, "mentions of one message")                                              \
    X(SB_MAX_ATTACHMENTS, 16, "attachments of one message")                                        \
    X(SB_MAX_ATTACHMENT_STR, 2048, "bytes of an attachment's name, type or url")                   \
    X(SB_MAX_FOUNDERS, 256, "members named by one create_thread")                                  \
    X(SB_MAX_LIST, 32, "entries of one filter list")                                               \
    X(SB_MAX_SEEN, 64, "entries of seen in a hello")                                               \
    X(SB_MAX_PAGE, 200, "rows of one page")                                                        \
    X(SB_DEFAULT_PAGE, 50, "rows of a page that names no limit")                                   \
    X(SB_MAX_CURSOR, 96, "bytes of a cursor")                                                      \
    X(SB_MAX_TICKET, 96, "bytes of a resume ticket")                                               \
    X(SB_MAX_TOKEN, 4096, "bytes of a token")                                                      \
    X(SB_MAX_SINK, 64, "bytes of a sink's name")

enum sb_limit
{
#define X(name, value, text) name = (value),
    SB_LIMITS(X)
#undef X
};

/* Every number that a client keeps fits a double without loss. */
#define SB_MAX_SAFE_INT UINT64_C(9007199254740991)

#endif

/*
 * prescan.h - the bounded look at a client's frame before msgpack-c sees it.
 *
 * msgpack-c reserves memory from declared counts and takes duplicate keys, invalid
 * UTF-8, NaN, ext types and trailing bytes. A frame that passes here is exactly one map
 * that costs no more than its own bytes to unpack.
 *
 * No allocation, no recursion; every declared length is compared with the bytes left
 * before any arithmetic.
 */
#ifndef SB_PROTOCOL_PRESCAN_H
#define SB_PROTOCOL_PRESCAN_H

#include "protocol/keyset.h"

/* Why a frame is malformed: for tests and counters, the peer sees close 1007 for all. */
#define SB_PRESCANS(X)                                                                             \
    X(OK, "well-formed")                                                                           \
    X(TRUNCATED, "the frame ends inside a value, or a declared length is past its end")            \
    X(NOT_MAP, "the frame is not a map")                                                           \
    X(TRAILING, "bytes follow the map")                                                            \
    X(RESERVED, "the byte c1, which MessagePack never uses")                                       \
    X(EXT, "an ext type or a timestamp")                                                           \
    X(UTF8, "a string that is not valid UTF-8")                                                    \
    X(KEY_TYPE, "a map key that is not a string")                                                  \
    X(KEY_LONG, "a map key longer than SB_MAX_KEY")                                                \
    X(DUPLICATE_KEY, "a key twice in one map")                                                     \
    X(DEPTH, "nesting past SB_MAX_DEPTH")                                                          \
    X(ELEMENTS, "more values than SB_MAX_ELEMENTS")                                                \
    X(MAP_KEYS, "a map of more keys than SB_MAX_MAP_KEYS")                                         \
    X(NOT_FINITE, "a float that is NaN or infinite")

enum sb_prescan_result
{
#define X(id, text) SB_PRESCAN_##id,
    SB_PRESCANS(X)
#undef X
};

/* Work space, 256 KiB: one per decoder. `secret` is set once, the rest by each scan. */
struct sb_prescan
{
    struct sb_keyset_secret secret;
    struct sb_keyset keys[SB_MAX_DEPTH]; /* of the maps that are open */
};

enum sb_prescan_result sb_prescan(struct sb_prescan *scan, struct sb_bytes frame);

#endif

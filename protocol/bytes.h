/*
 * bytes.h - a borrowed view of bytes, the one string type of this project.
 *
 * A view owns nothing: it is valid as long as the buffer that it points into.
 * Strings are UTF-8 and not NUL-terminated.
 */
#ifndef SB_PROTOCOL_BYTES_H
#define SB_PROTOCOL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sb_bytes
{
    const uint8_t *data; /* may be NULL when len is 0 */
    size_t len;          /* in bytes */
};

/* A view of a string literal, without its NUL. */
#define SB_LIT(s) ((struct sb_bytes){(const uint8_t *)("" s), sizeof(s) - 1})

static inline struct sb_bytes
sb_bytes(const void *data, size_t len)
{
    return (struct sb_bytes){(const uint8_t *)data, len};
}

/* A view of a NUL-terminated string; NULL gives the empty view. */
static inline struct sb_bytes
sb_bytes_str(const char *s)
{
    return sb_bytes(s, s == NULL ? 0 : strlen(s));
}

static inline bool
sb_bytes_eq(struct sb_bytes a, struct sb_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool
sb_bytes_starts(struct sb_bytes s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.len >= n && memcmp(s.data, prefix, n) == 0;
}

/* Order by bytes, then by length: the order of the store's keys. */
static inline int
sb_bytes_cmp(struct sb_bytes a, struct sb_bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.data, b.data, n);
    if (c != 0)
        return c;
    return (a.len > b.len) - (a.len < b.len);
}

#endif

/*
 * demo.c - the body of POST /demo/token: exactly {"user": "NAME"}.
 *
 * A matcher for this one form rather than a JSON reader: names with escapes are refused,
 * and demo users have none.
 */
#include "net/internal.h"

static const char *
skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

/* Past the literal `want` and the space behind it, or NULL. */
static const char *
match(const char *p, const char *end, const char *want)
{
    size_t n = strlen(want);
    if (p == NULL || (size_t)(end - p) < n || memcmp(p, want, n) != 0)
        return NULL;
    return skip_space(p + n, end);
}

int
sb_demo_parse(const char *body, size_t len, char *user, size_t cap)
{
    const char *end = body + len;
    const char *p = match(skip_space(body, end), end, "{");
    p = match(p, end, "\"user\"");
    p = match(p, end, ":");
    if (p == NULL || p == end || *p != '"')
        return SB_ERR_BAD_REQUEST;
    const char *name = ++p;
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    size_t n = (size_t)(p - name);
    p = match(p, end, "\"");
    p = match(p, end, "}");
    if (p != end || n == 0 || n >= cap)
        return SB_ERR_BAD_REQUEST;
    memcpy(user, name, n);
    user[n] = '\0';
    return 0;
}

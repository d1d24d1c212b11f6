/* text.c - see text.h. */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

int
sb_text_put(struct sb_buf *out, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        return SB_ERR_TOO_LARGE;
    return sb_buf_append(out, sb_bytes(text, (size_t)n));
}

void
sb_metric_head(struct sb_buf *out, const char *name, const char *type, const char *help)
{
    (void)sb_text_put(out, "# HELP scrollback_%s %s\n# TYPE scrollback_%s %s\n", name, help, name,
                      type);
}

void
sb_metric(struct sb_buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
    sb_metric_head(out, name, type, help);
    (void)sb_text_put(out, "scrollback_%s %" PRIu64 "\n", name, value);
}

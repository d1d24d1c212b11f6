/*
 * text.h - formatted text at the end of a buffer, and the one form of a metric.
 *
 * Names and help texts are constants of the program: nothing here escapes.
 */
#ifndef SB_BASE_TEXT_H
#define SB_BASE_TEXT_H

#include "base/buf.h"

/* Appends at most 255 bytes. SB_ERR_TOO_LARGE when they do not fit, then nothing is appended. */
int sb_text_put(struct sb_buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prometheus text: "# HELP" and "# TYPE" of scrollback_NAME; what a full buffer does not take
 * is left out. */
void sb_metric_head(struct sb_buf *out, const char *name, const char *type, const char *help);
/* Head and the one value of a metric without labels. */
void sb_metric(struct sb_buf *out, const char *name, const char *type, const char *help,
               uint64_t value);

#endif

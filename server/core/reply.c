/* reply.c - frames into the effects' buffer, each behind its 4-byte big-endian length. */
#include "core/engine.h"

enum
{
    LENGTH = 4,
    ERROR_FRAME = 512, /* an error frame is smaller: its texts are our own */
};

int
sb_reply_begin(struct sb_step *st, struct sb_writer *w, size_t size)
{
    struct sb_buf *out = st->fx->out;
    int rc = sb_buf_reserve(out, LENGTH + size);
    if (rc != 0)
        return rc == SB_ERR_TOO_LARGE ? SB_ERR_OVERLOADED : rc;
    sb_writer_init(w, out->data + out->len + LENGTH, size);
    return 0;
}

void
sb_reply_end(struct sb_step *st, const struct sb_writer *w)
{
    struct sb_buf *out = st->fx->out;
    uint8_t *length = out->data + out->len;
    for (int i = 0; i < LENGTH; i++)
        length[i] = (uint8_t)(w->len >> (24 - 8 * i));
    out->len += LENGTH + w->len;
}

void
sb_reply_error_text(struct sb_step *st, struct sb_opt_uint re, enum sb_code code,
                    const char *message, uint64_t retry_ms)
{
    struct sb_writer w;
    st->e->telemetry.errors[code]++;
    if (sb_reply_begin(st, &w, ERROR_FRAME) != 0)
    {
        sb_close(st, 4413); /* not even room for this: a request must not stay unanswered */
        return;
    }
    sb_write_error(&w, re, code, message, retry_ms);
    sb_reply_end(st, &w);
}

void
sb_reply_error(struct sb_step *st, struct sb_opt_uint re, int err)
{
    if (err == SB_ERR_CORRUPT)
        st->e->telemetry.corrupt_rows++;
    sb_reply_error_text(st, re, sb_error_code(err), sb_error_text(err), 0);
}

void
sb_close(struct sb_step *st, uint16_t code)
{
    st->fx->close_code = code;
    st->s->state = SB_SESSION_CLOSED;
}

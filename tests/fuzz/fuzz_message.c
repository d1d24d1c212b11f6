/*
 * fuzz_message.c - any bytes as the body of a stored row.
 *
 * Bodies are our own bytes behind a checksum, so declared counts are trusted there; here
 * the pre-scan stands in for that. What is read is written again within sb_message_size,
 * and reads and writes the same from then on.
 */
#include <stdio.h>
#include <stdlib.h>

#include "protocol/fields.h"

#define MAX_BODY ((size_t)64 * 1024)

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "fuzz_message: %s\n", what);
    abort();
}

static size_t
write_row(const struct sb_message *m, uint8_t *out)
{
    struct sb_writer w;
    sb_writer_init(&w, out, 2 * MAX_BODY);
    sb_write_message(&w, m);
    must(!w.failed, "a row does not fit twice its body");
    must(w.len <= sb_message_size(m), "sb_message_size is too small");
    return w.len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sb_decoder *decoder;
    static uint8_t first[2 * MAX_BODY], second[2 * MAX_BODY];
    if (decoder == NULL)
        decoder = sb_decoder_create();
    must(decoder != NULL, "no memory");
    struct sb_message m;
    struct sb_bytes body = sb_bytes(data, size);
    if (size > MAX_BODY || sb_prescan(&decoder->scan, body) != SB_PRESCAN_OK ||
        sb_message_decode(decoder, body, &m) != 0)
        return 0;
    size_t n = write_row(&m, first);
    must(sb_message_decode(decoder, sb_bytes(first, n), &m) == 0, "a written row is refused");
    must(write_row(&m, second) == n && memcmp(first, second, n) == 0,
         "a written row means something else");
    return 0;
}

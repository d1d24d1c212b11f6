/*
 * fuzz_request.c - any bytes as a client's frame.
 *
 * What must hold: a frame that passes the pre-scan unpacks; an accepted request keeps the
 * invariants of request_kit.h; its canonical form is accepted and means the same; a
 * refusal has a code and a text. Decoding does not depend on what was decoded before.
 */
#include <stdio.h>
#include <stdlib.h>

#include "request_kit.h"

#define MAX_FRAME ((size_t)256 * 1024)

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "fuzz_request: %s\n", what);
    abort();
}

static size_t
canonical(const struct sb_request *r, uint8_t *out)
{
    struct sb_writer w;
    sb_writer_init(&w, out, 2 * MAX_FRAME);
    kit_write_request(&w, r);
    must(!w.failed, "an accepted request does not fit twice its frame");
    return w.len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sb_decoder *decoder;
    static uint8_t first[2 * MAX_FRAME], second[2 * MAX_FRAME];
    if (decoder == NULL)
        decoder = sb_decoder_create();
    must(decoder != NULL, "no memory");
    if (size > MAX_FRAME)
        return 0;
    struct sb_request r;
    struct sb_decode_error err = {SB_CODE_INTERNAL, NULL};
    enum sb_decode_status s = sb_request_decode(decoder, sb_bytes(data, size), &r, &err);
    if (s == SB_DECODE_BAD)
    {
        must(err.message != NULL && err.message[0] != '\0', "a refusal without a text");
        must(err.code == SB_CODE_BAD_REQUEST || err.code == SB_CODE_TOO_LARGE,
             "a frame that passed the scan did not unpack");
    }
    if (s != SB_DECODE_OK)
        return 0;
    const char *wrong = kit_check_request(&r, sb_bytes(data, size));
    must(wrong == NULL, wrong == NULL ? "" : wrong);
    size_t n = canonical(&r, first);
    must(sb_request_decode(decoder, sb_bytes(first, n), &r, &err) == SB_DECODE_OK,
         "the canonical form is refused");
    must(canonical(&r, second) == n && memcmp(first, second, n) == 0,
         "the canonical form means something else");
    return 0;
}

/*
 * request_kit.h - a decoded request back to a frame, for tests and fuzz targets.
 *
 * The frame is canonical: fields in a fixed order, absent and default ones left out. Two
 * requests that mean the same give the same bytes.
 */
#ifndef SB_TESTS_REQUEST_KIT_H
#define SB_TESTS_REQUEST_KIT_H

#include "protocol/decode.h"
#include "protocol/encode.h"

void kit_write_request(struct sb_writer *w, const struct sb_request *r);

/*
 * What holds for every accepted request: views lie inside the frame or the decoder's
 * scratch, numbers and lengths inside their limits. Returns NULL or what does not hold.
 */
const char *kit_check_request(const struct sb_request *r, struct sb_bytes frame);

#endif

/*
 * frame_kit.h - frames for the protocol's tests: from hex, or from JSON.
 *
 * In JSON {"$bin": "hex"} stands for a bin and {"$repeat": [string, n]} for a long string.
 * Test code: everything that goes wrong fails the test at once.
 */
#ifndef SB_TESTS_FRAME_KIT_H
#define SB_TESTS_FRAME_KIT_H

#include <jansson.h>

#include "protocol/encode.h"

#define KIT_CAP ((size_t)5 * 1024 * 1024)

/* Bytes of a hex string, spaces allowed; free() the data. */
struct sb_bytes kit_unhex(const char *hex);
/* Lower-case hex of bytes; free() it. */
char *kit_hex(struct sb_bytes b);
/* Packs JSON text ('single quotes' are taken for double ones); free() the data. */
struct sb_bytes kit_pack(const char *json);
struct sb_bytes kit_pack_value(const json_t *value);
/* The JSON form of a packed value; json_decref() it. */
json_t *kit_unpack(struct sb_bytes packed);
void kit_free(struct sb_bytes b);

#endif

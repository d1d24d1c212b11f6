/*
 * fuzz_key_file.c - any bytes as the key file.
 *
 * What must hold: what is accepted has one to SB_KEYS_MAX keys, ids falling and below
 * next_id, and what is written of it reads the same; a refusal has a reason.
 */
#include <stdio.h>
#include <stdlib.h>

#include "auth/key_file.h"

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "fuzz_key_file: %s\n", what);
    abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sb_keys keys = {0};
    struct sb_keys again = {0};
    struct sb_buf text;
    char why[256] = "";
    int rc = sb_key_file_parse(sb_bytes(data, size), &keys, why);
    if (rc != 0)
    {
        must(rc == SB_ERR_FOREIGN && why[0] != '\0', "a refusal without a reason");
        must(keys.n == 0, "a refusal wrote keys");
        return 0;
    }
    must(keys.n >= 1 && keys.n <= SB_KEYS_MAX, "a number of keys that cannot be");
    uint32_t above = keys.next_id;
    for (uint32_t i = 0; i < keys.n; i++)
    {
        must(keys.v[i].id >= 1 && keys.v[i].id < above, "ids are not falling");
        above = keys.v[i].id;
    }
    sb_buf_init(&text, SB_KEY_FILE_MAX);
    must(sb_key_file_format(&keys, &text) == 0, "cannot be written again");
    must(sb_key_file_parse(sb_buf_view(&text), &again, why) == 0, "cannot be read again");
    must(memcmp(&keys, &again, sizeof(keys)) == 0, "reads differently");
    sb_buf_finish(&text);
    return 0;
}

/*
 * fuzz_config.c - any bytes as a config file.
 *
 * What must hold: a refusal has a reason and names a line or the file; what is accepted,
 * printed as --check-config does, reads as the same settings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/config.h"

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "fuzz_config: %s\n", what);
    abort();
}

/* A value with a comment sign or blanks at its ends is not printed so that it reads back. */
static bool
plain(const char *value)
{
    size_t len = strlen(value);
    for (size_t i = 0; i < len; i++)
        if (value[i] == '#' || value[i] == '\r' || value[i] == '\v' || value[i] == '\f')
            return false;
    return len < 3000;
}

static void
check_round_trip(const struct sb_config *c)
{
    static char a[4096];
    static char b[4096];
    char why[SB_WHY];
    char *text = NULL;
    size_t len = 0;
    struct sb_config again;
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        sb_config_show(c, &sb_config_keys[i], a, sizeof(a));
        if (!plain(a))
            return;
    }
    FILE *f = open_memstream(&text, &len);
    if (f == NULL)
        return;
    sb_config_print(f, c, SB_FOR_ALL);
    (void)fclose(f);
    must(sb_config_init(&again) == 0, "short of memory");
    must(sb_config_parse_file(&again, text, len, "printed", why) == 0, why);
    for (size_t i = 0; i < SB_KEY_COUNT; i++)
    {
        sb_config_show(c, &sb_config_keys[i], a, sizeof(a));
        sb_config_show(&again, &sb_config_keys[i], b, sizeof(b));
        must(strcmp(a, b) == 0, sb_config_keys[i].name);
    }
    sb_config_finish(&again);
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sb_config c;
    char why[SB_WHY] = "";
    if (sb_config_init(&c) != 0)
        return 0;
    int rc = sb_config_parse_file(&c, (const char *)data, size, "input", why);
    if (rc != 0)
        must(strstr(why, "input") != NULL && strlen(why) > 10, "a refusal without a reason");
    else
        check_round_trip(&c);
    sb_config_finish(&c);
    return 0;
}

/*
 * cmd_keys.c - `scrollback keys list | rotate | drop ID`. It prints no key, only ids.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/cmdline.h"
#include "app/command.h"
#include "auth/keys.h"

static void
list(const struct sb_keys *keys)
{
    for (uint32_t i = 0; i < keys->n; i++)
    {
        char when[32] = "?";
        time_t t = (time_t)(keys->v[i].created_ms / 1000);
        struct tm tm;
        if (gmtime_r(&t, &tm) != NULL)
            (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        (void)printf("%" PRIu32 "  %s  %s\n", keys->v[i].id, when, i == 0 ? "signs" : "verifies");
    }
}

static int
rotate(const char *dir, struct sb_keys *keys)
{
    char why[256];
    int rc = sb_keys_rotate(dir, keys, sb_now_ms(), why);
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "%s", why);
    (void)printf("key %" PRIu32 " signs from now on\n", keys->v[0].id);
    (void)fprintf(stderr,
                  "A running server takes it on SIGHUP. Drop the old key when its cursors and "
                  "tokens have expired.\n");
    return 0;
}

static int
drop(const char *dir, struct sb_keys *keys, const char *text)
{
    char why[256];
    uint64_t id;
    if (!sb_parse_count(text, &id) || id == 0 || id > UINT32_MAX)
        return sb_complain(SB_EXIT_USAGE, "a key's id is a number, not \"%.60s\"", text);
    int rc = sb_keys_drop(dir, keys, (uint32_t)id, why);
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "%s", why);
    (void)printf("key %" PRIu64 " is dropped\n", id);
    (void)fprintf(stderr, "A running server takes it on SIGHUP: what was signed with it is refused "
                          "then.\n");
    return 0;
}

static int
run(const char *dir, const struct sb_operands *o)
{
    const char *verb = o->v[0];
    bool is_drop = strcmp(verb, "drop") == 0, is_rotate = strcmp(verb, "rotate") == 0;
    struct sb_keys keys;
    char why[256];
    if (!is_drop && !is_rotate && strcmp(verb, "list") != 0)
        return sb_complain(SB_EXIT_USAGE, "keys list, rotate or drop ID, not \"%.60s\"", verb);
    if (is_drop != (o->n == 2))
        return sb_complain(SB_EXIT_USAGE, is_drop ? "keys drop needs the ID of a key"
                                                  : "only keys drop takes an ID");
    int rc = sb_keys_load(dir, false, sb_now_ms(), &keys, why);
    if (rc != 0)
        return sb_complain(sb_exit_code(rc), "%s", why);
    int code = 0;
    if (is_drop)
        code = drop(dir, &keys, o->v[1]);
    else if (is_rotate)
        code = rotate(dir, &keys);
    else
        list(&keys);
    sodium_memzero(&keys, sizeof(keys));
    return code;
}

int
sb_cmd_keys(int argc, char **argv)
{
    const struct sb_option options[] = {{NULL, NULL, NULL, NULL, NULL}};
    const struct sb_cmdline line = {
        .command = SB_FOR_KEYS,
        .usage = "keys list | rotate | drop ID --data DIR",
        .about =
            "list: the ids, newest first. rotate: makes a new key that signs; the others still\n"
            "verify. drop: removes one. A running server reads the keys again on SIGHUP.",
        .options = options,
        .needs_data = true,
        .min_operands = 1,
        .max_operands = 2,
    };
    struct sb_config c;
    struct sb_operands operands;
    int code = sb_cmdline_begin(&line, argc, argv, &c, &operands);
    if (code >= 0)
        return code;
    code = run(c.data, &operands);
    sb_config_finish(&c);
    return code;
}

/*
 * cmd_token.c - `scrollback token`: prints a JWT signed with the directory's newest key.
 *
 * It reads the key file only, so it works beside a running server.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/cmdline.h"
#include "app/command.h"
#include "auth/token.h"

#define DEFAULT_TTL UINT64_C(3600)
#define MAX_TTL (UINT64_C(10) * 366 * 24 * 3600) /* ten years */

/* Plain seconds, or a time with its unit. */
static bool
parse_ttl(const char *text, uint64_t *seconds)
{
    uint64_t us;
    if (!sb_parse_count(text, seconds))
    {
        if (!sb_parse_duration(text, &us))
            return false;
        *seconds = us / SB_SECOND;
    }
    return *seconds >= 1 && *seconds <= MAX_TTL;
}

static int
print_token(const char *dir, const struct sb_claims *claims)
{
    struct sb_keys keys;
    struct stat st;
    char why[256], token[SB_MAX_TOKEN + 1];
    /* In a directory that is there the first key may be made here; a directory is not: its
     * name could be a slip. */
    if (stat(dir, &st) != 0)
        return sb_complain(SB_EXIT_FAILED, "there is no directory %.300s", dir);
    int rc = sb_keys_load(dir, true, sb_now_ms(), &keys, why);
    if (rc != 0)
        return sb_complain(sb_exit_code(rc), "%s", why);
    rc = sb_token_sign(&keys, claims, token, sizeof(token));
    sodium_memzero(&keys, sizeof(keys));
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "%s", sb_error_text(rc));
    (void)puts(token);
    return 0;
}

int
sb_cmd_token(int argc, char **argv)
{
    const char *user = NULL, *tenant = "default", *ttl = NULL;
    bool service = false;
    const struct sb_option options[] = {
        {"user", "USER", "whom the token speaks for", &user, NULL},
        {"tenant", "TENANT", "the user's tenant (default \"default\")", &tenant, NULL},
        {"service", NULL, "a service may do all in its tenant", NULL, &service},
        {"ttl", "SECONDS", "how long it is valid (default 3600); a time such as 12h is taken too",
         &ttl, NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    const struct sb_cmdline line = {
        .command = SB_FOR_TOKEN,
        .usage = "token [--data DIR] --user USER [OPTION]...",
        .about = "Prints a token signed with the directory's newest key, also while the directory\n"
                 "is being served.",
        .options = options,
    };
    struct sb_config c;
    struct sb_operands operands;
    uint64_t seconds = DEFAULT_TTL;
    int code = sb_cmdline_begin(&line, argc, argv, &c, &operands);
    if (code >= 0)
        return code;
    if (user == NULL)
        code = sb_complain(SB_EXIT_USAGE, "--user is missing");
    else if (!sb_name_ok(sb_bytes_str(user)))
        code = sb_complain(SB_EXIT_USAGE, "--user: %s", sb_error_text(SB_ERR_BAD_NAME));
    else if (!sb_name_ok(sb_bytes_str(tenant)))
        code = sb_complain(SB_EXIT_USAGE, "--tenant: %s", sb_error_text(SB_ERR_BAD_NAME));
    else if (ttl != NULL && !parse_ttl(ttl, &seconds))
    {
        code = sb_complain(SB_EXIT_USAGE, "--ttl must be from 1 second to ten years, not \"%.60s\"",
                           ttl);
    }
    else
    {
        struct sb_claims claims = {.service = service, .expires_ms = sb_now_ms() + seconds * 1000};
        (void)snprintf(claims.user, sizeof(claims.user), "%s", user);
        (void)snprintf(claims.tenant, sizeof(claims.tenant), "%s", tenant);
        code = print_token(c.data, &claims);
    }
    sb_config_finish(&c);
    return code;
}

/*
 * cmd_serve.c - `scrollback serve`: checks what can be checked first, then runs serve.h.
 *
 * stdout gets one line, when connections are taken; all else goes to stderr.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "app/cmdline.h"
#include "app/command.h"
#include "app/listen.h"
#include "app/serve.h"
#include "base/log.h"
#include "core/types.h"

/* Descriptors that are not clients: store, loop, log, listeners, files being served. */
#define SPARE_DESCRIPTORS 256

/* What the table's ranges cannot tell. */
static int
check_settings(const struct sb_config *c, struct sb_listen *listen, char *why)
{
    struct stat st;
    if (!sb_listen_parse(c->listen, listen))
        (void)snprintf(why, SB_WHY, "listen must be HOST:PORT, not \"%.100s\"", c->listen);
    else if (c->demo_users[0] != NULL && !listen->loopback)
    {
        (void)snprintf(
            why, SB_WHY,
            "demo-users gives tokens to anybody: it needs a loopback address to listen on, "
            "such as 127.0.0.1, not %.100s",
            listen->host);
    }
    else if (c->web[0] != '\0' && (stat(c->web, &st) != 0 || !S_ISDIR(st.st_mode)))
    {
        (void)snprintf(why, SB_WHY, "web: %.300s is not a directory", c->web);
    }
    else
    {
        for (char **u = c->demo_users; *u != NULL; u++)
        {
            if (!sb_name_ok(sb_bytes_str(*u)))
            {
                (void)snprintf(why, SB_WHY, "demo-users: \"%.100s\" cannot be a user's name", *u);
                return SB_ERR_BAD_REQUEST;
            }
        }
        return 0;
    }
    return SB_ERR_BAD_REQUEST;
}

/* What so many connections need: the network layer sets its limit by the same rule. */
static uint64_t
descriptors_for(uint64_t connections)
{
    return connections + connections / 8 + SPARE_DESCRIPTORS;
}

/* Raises the limit where that is allowed; takes fewer connections where it is not. */
static void
fit_descriptors(struct sb_config *c)
{
    struct rlimit limit;
    uint64_t need = descriptors_for(c->max_connections);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= need)
        return;
    struct rlimit raised = {.rlim_cur = need, .rlim_max = need};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return; /* a privileged process may */
    uint64_t fit = limit.rlim_max > SPARE_DESCRIPTORS ? limit.rlim_max - SPARE_DESCRIPTORS : 0;
    fit = fit * 8 / 9 > 0 ? fit * 8 / 9 : 1;
    sb_log(SB_LOG_WARN, "serve",
           "max-connections is lowered from %" PRIu64 " to %" PRIu64 ": the system allows %" PRIu64
           " descriptors (ulimit -Hn)",
           c->max_connections, fit, (uint64_t)limit.rlim_max);
    c->max_connections = fit;
}

/* An origin as browsers send it: scheme://host[:port], lower case, no path, no default port. */
static bool
is_origin(const char *o)
{
    const char *rest = strncmp(o, "https://", 8) == 0  ? o + 8
                       : strncmp(o, "http://", 7) == 0 ? o + 7
                                                       : NULL;
    if (rest == NULL || *rest == '\0')
        return false;
    for (const char *p = rest; *p != '\0'; p++)
        if (*p == '/' || *p == '*' || *p == ' ' || (*p >= 'A' && *p <= 'Z'))
            return false;
    const char *standard = rest == o + 8 ? ":443" : ":80";
    size_t n = strlen(rest), m = strlen(standard);
    return n <= m || strcmp(rest + n - m, standard) != 0;
}

/* One that no browser sends would be refused for ever without a word. */
static int
check_origins(const struct sb_config *c)
{
    for (size_t i = 0; c->origins != NULL && c->origins[i] != NULL; i++)
        if (!is_origin(c->origins[i]))
            return sb_complain(SB_EXIT_USAGE,
                               "origins: \"%.100s\" is not one: scheme://host[:port], lower case, "
                               "without a path or the scheme's own port",
                               c->origins[i]);
    return 0;
}

static int
run(struct sb_config *c, const struct sb_listen *listen)
{
    char why[SB_WHY] = "", url[320];
    int bad = check_origins(c);
    if (bad != 0)
        return bad;
    struct sb_serve *s;
    (void)signal(SIGPIPE, SIG_IGN);
    fit_descriptors(c);
    int rc = sb_serve_open(c, listen, &s, why);
    if (rc != 0)
        return sb_complain(rc == SB_ERR_BAD_REQUEST ? SB_EXIT_USAGE : sb_exit_code(rc), "%s", why);
    sb_listen_url(listen, sb_serve_port(s), url, sizeof(url));
    (void)printf("listening on %s\n", url);
    (void)fflush(stdout);
    if (!listen->loopback)
        sb_log(SB_LOG_WARN, "serve", "%s is open to other machines, without TLS", url);
    rc = sb_serve_run(s);
    int closed = sb_serve_close(s);
    if (rc == 0)
        rc = closed;
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "stopped after a failure (%s)", sb_error_name(rc));
    sb_log(SB_LOG_INFO, "serve", "stopped");
    return 0;
}

int
sb_cmd_serve(int argc, char **argv)
{
    bool check = false, man = false;
    const struct sb_option options[] = {
        {"check-config", NULL, "print the settings that would be used, and stop", NULL, &check},
        {"help-man", NULL, "print the settings as a section of a manual page", NULL, &man},
        {NULL, NULL, NULL, NULL, NULL},
    };
    const struct sb_cmdline line = {
        .command = SB_FOR_SERVE,
        .usage = "serve [OPTION]...",
        .about = "Runs the server in the foreground until SIGTERM or SIGINT. When connections are\n"
                 "taken it prints `listening on ws://HOST:PORT/v1`; its log goes to stderr.\n"
                 "SIGHUP makes it read the keys again.",
        .options = options,
    };
    struct sb_config c;
    struct sb_operands operands;
    struct sb_listen listen;
    char why[SB_WHY];
    int code = sb_cmdline_begin(&line, argc, argv, &c, &operands);
    if (code >= 0)
        return code;
    if (man)
    {
        sb_config_help_man(stdout);
        code = 0;
    }
    else if (check_settings(&c, &listen, why) != 0)
        code = sb_complain(SB_EXIT_USAGE, "%s", why);
    else if (check)
    {
        sb_config_print(stdout, &c, SB_FOR_SERVE);
        code = 0;
    }
    else
        code = run(&c, &listen);
    sb_config_finish(&c);
    return code;
}

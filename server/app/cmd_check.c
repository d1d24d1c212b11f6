/*
 * cmd_check.c - `scrollback check`: verifies every record and index, changes nothing.
 *
 * LMDB trusts its pages: where the damage is in one of them it aborts, or reads beyond the map.
 * So the check runs in a process of its own, and this one tells how it ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cmdline.h"
#include "app/command.h"
#include "store/store.h"

static void
problem(void *ctx, const char *text)
{
    unsigned *n = ctx;
    (*n)++;
    (void)printf("problem: %s\n", text);
    (void)fflush(stdout);
}

static void
print_report(const struct sb_store_report *r)
{
    (void)printf("threads %" PRIu64 ", members %" PRIu64 ", messages %" PRIu64
                 ", past states %" PRIu64 "\n",
                 r->threads, r->members, r->rows, r->past);
    (void)printf("postings %" PRIu64 ", changes %" PRIu64 ", sources %" PRIu64 ", nonces %" PRIu64
                 ", reactions %" PRIu64 "\n",
                 r->postings, r->changes, r->sources, r->nonces, r->reactions);
    if (r->ahead != 0)
    {
        (void)printf("note: %" PRIu64
                     " threads have a newest message that is ahead of this clock\n",
                     r->ahead);
    }
    (void)printf("bad checksums %" PRIu64 ", lost %" PRIu64 ", missing from an index %" PRIu64
                 ", superfluous in an index %" PRIu64 "\n",
                 r->bad_checksums, r->lost, r->index_missing, r->index_extra);
}

static int
run(const struct sb_config *c)
{
    struct sb_store_failure why = {""};
    struct sb_store_report report = {0};
    struct sb_store *store;
    unsigned told = 0;
    struct sb_store_options o = {.dir = c->data,
                                 .mode = SB_STORE_READ,
                                 .map_size = c->map_size,
                                 .now_ms = sb_now_ms(),
                                 .random = randombytes_buf};
    if (sodium_init() < 0)
        return sb_complain(SB_EXIT_FAILED, "the cryptographic library does not start");
    int rc = sb_store_open(&o, &store, &why);
    if (rc != 0)
        return sb_complain(sb_exit_code(rc), "%s",
                           why.text[0] != '\0' ? why.text : sb_error_text(rc));
    uint64_t start = sb_now_us();
    (void)fprintf(stderr, "checking %s ...\n", c->data);
    rc = sb_store_check(store, sb_now_ms(), problem, &told, &report);
    sb_store_close(store);
    print_report(&report);
    (void)fprintf(stderr, "%.1f s\n", (double)(sb_now_us() - start) / 1e6);
    if (rc == SB_ERR_CORRUPT)
    {
        if (told == 0)
            (void)puts("problem: pages of the database are damaged, not all could be read");
        (void)puts("damaged");
        return SB_EXIT_FAILED;
    }
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "the check did not come to its end: %s",
                           sb_error_text(rc));
    (void)puts("all is well");
    return 0;
}

/* What the other process left: its exit code, or what a signal means. */
static int
tell_end(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    if (number != SIGABRT && number != SIGSEGV && number != SIGBUS)
        return sb_complain(SB_EXIT_FAILED, "the check was ended: %s", strsignal(number));
    (void)printf("problem: pages of the database are damaged, the check could not read on (%s)\n",
           strsignal(number));
    (void)puts("damaged");
    return SB_EXIT_FAILED;
}

/* Returns in both processes. */
static int
run_apart(const struct sb_config *c)
{
    int status;
    (void)fflush(NULL);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return sb_complain(SB_EXIT_FAILED, "cannot start a process: %s", strerror(errno));
    if (pid == 0)
    {
        const struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        /* It ends with the one that somebody waits for or stops. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            return SB_EXIT_FAILED;
        return run(c);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return sb_complain(SB_EXIT_FAILED, "the check is lost: %s", strerror(errno));
    return tell_end(status);
}

int
sb_cmd_check(int argc, char **argv)
{
    const struct sb_option options[] = {{NULL, NULL, NULL, NULL, NULL}};
    const struct sb_cmdline line = {
        .command = SB_FOR_CHECK,
        .usage = "check --data DIR",
        .about = "Verifies the checksum of every record and both directions of every index of a\n"
                 "directory that nobody serves. It changes nothing. Exit code 1: damage was found.",
        .options = options,
        .needs_data = true,
    };
    struct sb_config c;
    struct sb_operands operands;
    int code = sb_cmdline_begin(&line, argc, argv, &c, &operands);
    if (code >= 0)
        return code;
    code = run_apart(&c);
    sb_config_finish(&c);
    return code;
}

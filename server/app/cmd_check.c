/*
 * cmd_check.c - `scrollback check`: verifies every record and index, changes nothing.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

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
        (void)puts("damaged");
        return SB_EXIT_FAILED;
    }
    if (rc != 0)
        return sb_complain(SB_EXIT_FAILED, "the check did not come to its end: %s",
                           sb_error_text(rc));
    (void)puts("all is well");
    return 0;
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
    code = run(&c);
    sb_config_finish(&c);
    return code;
}

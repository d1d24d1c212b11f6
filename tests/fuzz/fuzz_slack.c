/*
 * fuzz_slack.c - any bytes as a day file of a Slack export. The first byte is the size of the
 * pieces that it is fed in.
 *
 * What must hold: every row keeps the wire's limits (import_check.h), and the rows are the
 * same in pieces as in one.
 */
#include "import_check.h"

#include "import/slack.h"

#define MAX_VALUE ((size_t)1024 * 1024)

static int
on_message(void *ctx, const struct sb_json *m)
{
    struct sb_slack *s = ctx;
    s->number++;
    return sb_slack_message(s, m);
}

static struct import_check
read_pieces(const uint8_t *data, size_t size, size_t piece)
{
    static const struct sb_import_options o = {.text_max = CHECK_TEXT_MAX};
    struct import_check c = {0};
    struct sb_import_sink sink = {&c, check_row, check_skipped, NULL};
    struct sb_import_counts counts = {0};
    struct sb_slack s = {.thread = SB_LIT("general"), .file = "general/2018-05-16.json"};
    sb_import_run_init(&s.run, &o, &sink, &counts);
    sb_names_init(&s.users);
    sb_names_init(&s.channels);
    sb_buf_init(&s.text, MAX_VALUE);
    s.row = sb_import_row_create(&s.run);
    struct sb_json_reader *json = sb_json_create(SB_JSON_ELEMENTS, MAX_VALUE, on_message, &s);
    check_must(s.row != NULL && json != NULL, "no memory");
    check_must(sb_names_put(&s.users, SB_LIT("U1"), SB_LIT("ann")) == 0, "no memory");
    check_must(sb_names_put(&s.channels, SB_LIT("C1"), SB_LIT("general")) == 0, "no memory");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < size; i += piece)
        rc = sb_json_feed(json, sb_bytes(data + i, size - i < piece ? size - i : piece));
    if (rc == 0)
        rc = sb_json_end(json);
    check_must(rc == 0 || rc == SB_ERR_BAD_REQUEST, "an error that is none of the text");
    check_must(counts.rows == c.rows && counts.skipped == c.skipped, "counts differ");
    sb_json_destroy(json);
    sb_import_row_destroy(s.row);
    sb_buf_finish(&s.text);
    sb_names_finish(&s.users);
    sb_names_finish(&s.channels);
    return c;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t piece = data[0] == 0 ? 1 : data[0];
    struct import_check whole = read_pieces(data + 1, size - 1, size);
    struct import_check pieces = read_pieces(data + 1, size - 1, piece);
    check_must(memcmp(&whole, &pieces, sizeof(whole)) == 0, "pieces read otherwise than the whole");
    return 0;
}

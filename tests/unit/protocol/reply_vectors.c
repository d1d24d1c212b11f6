/*
 * reply_vectors.c - one function per reply of protocol/vectors/replies.json.
 */
#include "reply_vectors.h"

#include <stdlib.h>

#define RE(n) ((struct sb_opt_uint){true, n})
#define NO_RE ((struct sb_opt_uint){false, 0})
#define NO_BIN ((struct sb_opt_bytes){0})

static uint8_t cursor_a[48], cursor_b[48], ticket[32];

static struct sb_opt_bytes
counted(uint8_t *buf, size_t n, uint8_t first)
{
    for (size_t i = 0; i < n; i++)
        buf[i] = (uint8_t)(first + i);
    return (struct sb_opt_bytes){true, sb_bytes(buf, n)};
}

#define OLDER counted(cursor_a, sizeof(cursor_a), 0x01)
#define NEWER counted(cursor_b, sizeof(cursor_b), 0x40)

static const struct sb_message first_message = {
    .seq = 1,
    .at = 1700000000000,
    .version = 12,
    .by = {(const uint8_t *)"alice", 5},
    .text = {(const uint8_t *)"hello", 5},
};

static void
write_second(struct sb_writer *w)
{
    const struct sb_bytes mentions[] = {SB_LIT("alice")};
    const struct sb_attachment attachments[] = {
        {SB_LIT("cat.png"), SB_LIT("image/png"), SB_LIT("https://files.example/cat.png"), 51234,
         RE(640), RE(480)},
        {SB_LIT("notes.pdf"), SB_LIT("application/pdf"), SB_LIT("https://files.example/notes.pdf"),
         9, NO_RE, NO_RE},
    };
    const struct sb_message m = {
        .seq = 2,
        .at = 1700000000000,
        .version = 40,
        .by = SB_LIT("bob"),
        .text = SB_LIT("see @alice \xf0\x9f\x91\x8b"),
        .kind = SB_LIT("action"),
        .edited_at = RE(1700000060000),
        .reply_to = RE(1),
        .n_mentions = 1,
        .mentions = mentions,
        .n_attachments = 2,
        .attachments = attachments,
        .source_system = SB_LIT("slack"),
        .source_id = SB_LIT("1700000000.000200"),
        .meta = SB_LIT("\x81\xa6"
                       "client"
                       "\xa3"
                       "web"),
    };
    sb_write_message(w, &m);
}

static const struct sb_message tombstone = {
    .seq = 3,
    .at = 1700000120000,
    .version = 41,
    .deleted = true,
    .by = {(const uint8_t *)"not shown", 9},
    .text = {(const uint8_t *)"not shown", 9},
};

static void
write_three(struct sb_writer *w)
{
    sb_write_message(w, &first_message);
    write_second(w);
    sb_write_message(w, &tombstone);
}

static void
hello(struct sb_writer *w)
{
    struct sb_hello_reply r = {
        .user = SB_LIT("alice"),
        .tenant = SB_LIT("default"),
        .resume = counted(ticket, sizeof(ticket), 0xa0),
        .version = 41,
        .epoch = 3203334144,
        .limit_page = SB_MAX_PAGE,
        .limit_page_bytes = 1048576,
        .limit_frame = SB_MAX_FRAME,
        .limit_text = SB_MAX_TEXT,
        .heartbeat_ms = 25000,
    };
    sb_write_hello(w, 1, &r);
}

static void
hello_no_ticket(struct sb_writer *w)
{
    struct sb_hello_reply r = {
        .user = SB_LIT("zo\xc3\xab"),
        .tenant = SB_LIT("acme"),
        .resumed = true,
        .version = 0,
        .epoch = 1,
        .limit_page = SB_MAX_PAGE,
        .limit_page_bytes = 1048576,
        .limit_frame = SB_MAX_FRAME_SERVICE,
        .limit_text = SB_MAX_TEXT,
        .heartbeat_ms = 1000,
    };
    sb_write_hello(w, 2, &r);
}

static void
page_older(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_OLDER, 3, 3);
    write_three(w);
    sb_write_page_tail(w, SB_OP_LOAD_OLDER,
                       &(struct sb_page_tail){.older = OLDER, .version = 41, .now = 41});
}

static void
page_older_last(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_OLDER, 3, 1);
    sb_write_message(w, &first_message);
    sb_write_page_tail(w, SB_OP_LOAD_OLDER, &(struct sb_page_tail){.version = 41, .now = 43});
}

static void
page_older_empty(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_OLDER, 3, 0);
    sb_write_page_tail(w, SB_OP_LOAD_OLDER,
                       &(struct sb_page_tail){.older = OLDER, .version = 41, .now = 41});
}

static void
page_newer(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_NEWER, 8, 2);
    sb_write_message(w, &first_message);
    write_second(w);
    sb_write_page_tail(w, SB_OP_LOAD_NEWER,
                       &(struct sb_page_tail){.newer = NEWER, .version = 41, .now = 41});
}

static void
page_newer_last(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_NEWER, 10, 0);
    sb_write_page_tail(w, SB_OP_LOAD_NEWER, &(struct sb_page_tail){0});
}

static void
page_around(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_AROUND, 11, 3);
    write_three(w);
    sb_write_page_tail(
        w, SB_OP_LOAD_AROUND,
        &(struct sb_page_tail){
            .older = OLDER, .newer = NEWER, .found = true, .version = 41, .now = 41});
}

static void
page_around_not_found(struct sb_writer *w)
{
    sb_write_page_head(w, SB_OP_LOAD_AROUND, 11, 0);
    sb_write_page_tail(w, SB_OP_LOAD_AROUND, &(struct sb_page_tail){.version = 41, .now = 41});
}

static void
post(struct sb_writer *w)
{
    sb_write_post_reply(w, 13, 4, 1700000180000, 42, false);
}

static void
post_duplicate(struct sb_writer *w)
{
    sb_write_post_reply(w, 13, 4, 1700000180000, 42, true);
}

static void
create_thread(struct sb_writer *w)
{
    sb_write_version_reply(w, 20, 44);
}

static void
set_member(struct sb_writer *w)
{
    sb_write_version_reply(w, 23, SB_MAX_SAFE_INT);
}

/* A packed message as the store hands it out. */
static struct sb_bytes
packed(const struct sb_message *m)
{
    static uint8_t buf[256];
    struct sb_writer w;
    sb_writer_init(&w, buf, sizeof(buf));
    sb_write_message(&w, m);
    return sb_bytes(buf, w.len);
}

static void
threads(struct sb_writer *w)
{
    sb_write_threads_head(w, 18, 2);
    sb_write_thread_item(w, &(struct sb_thread_item){.thread = SB_LIT("general"),
                                                     .title = {true, SB_LIT("General")},
                                                     .role = SB_ROLE_MODERATOR,
                                                     .unread = 1000,
                                                     .read = 17,
                                                     .newest = packed(&first_message)});
    sb_write_thread_item(
        w, &(struct sb_thread_item){.thread = SB_LIT("lobby"), .role = SB_ROLE_READER});
    sb_write_list_tail(w, OLDER);
}

static void
threads_service(struct sb_writer *w)
{
    sb_write_threads_head(w, 18, 1);
    sb_write_thread_item(w, &(struct sb_thread_item){.thread = SB_LIT("general"),
                                                     .title = {true, SB_LIT("")},
                                                     .newest = packed(&tombstone)});
    sb_write_list_tail(w, NO_BIN);
}

static void
threads_none(struct sb_writer *w)
{
    sb_write_threads_head(w, 18, 0);
    sb_write_list_tail(w, NO_BIN);
}

static void
members(struct sb_writer *w)
{
    sb_write_members_head(w, 25, 3);
    sb_write_member_item(w, &(struct sb_member_item){SB_LIT("alice"), SB_ROLE_MODERATOR});
    sb_write_member_item(w, &(struct sb_member_item){SB_LIT("bob"), SB_ROLE_WRITER});
    sb_write_member_item(w, &(struct sb_member_item){SB_LIT("carol"), SB_ROLE_READER});
    sb_write_list_tail(w, NO_BIN);
}

static void
members_more(struct sb_writer *w)
{
    sb_write_members_head(w, 26, 1);
    sb_write_member_item(w, &(struct sb_member_item){SB_LIT("alice"), SB_ROLE_MODERATOR});
    sb_write_list_tail(w, NEWER);
}

static void
error_no_id(struct sb_writer *w)
{
    sb_write_error(w, NO_RE, SB_CODE_BAD_REQUEST, "id is an unsigned integer", 0);
}

static void
error_forbidden(struct sb_writer *w)
{
    sb_write_error(w, RE(2), SB_CODE_FORBIDDEN, "this thread or action is not open to you", 0);
}

static void
error_cursor(struct sb_writer *w)
{
    sb_write_error(w, RE(3), SB_CODE_INVALID_CURSOR,
                   "the cursor cannot be used here; load again without it, or before the oldest "
                   "row you hold",
                   0);
}

static void
error_rate(struct sb_writer *w)
{
    sb_write_error(w, RE(13), SB_CODE_RATE_LIMITED, "too many requests; wait and send it again",
                   250);
}

static void
error_unknown(struct sb_writer *w)
{
    sb_write_error(w, RE(13), SB_CODE_UNKNOWN_OUTCOME,
                   "it is not known whether this was stored; send it again with the same nonce", 0);
}

static const struct
{
    const char *name;
    void (*write)(struct sb_writer *w);
} vectors[] = {
    {"hello reply", hello},
    {"hello reply without a ticket", hello_no_ticket},
    {"page older", page_older},
    {"page older, the last one", page_older_last},
    {"page older, empty with a cursor", page_older_empty},
    {"page newer", page_newer},
    {"page newer, the last one", page_newer_last},
    {"page around", page_around},
    {"page around, not found", page_around_not_found},
    {"post reply", post},
    {"post reply, duplicate", post_duplicate},
    {"create_thread reply", create_thread},
    {"set_member reply", set_member},
    {"threads reply", threads},
    {"threads reply to a service", threads_service},
    {"threads reply, none", threads_none},
    {"members reply", members},
    {"members reply, more", members_more},
    {"error without an id", error_no_id},
    {"error forbidden", error_forbidden},
    {"error invalid_cursor", error_cursor},
    {"error rate_limited", error_rate},
    {"error unknown_outcome", error_unknown},
};
static const char *const version_names[] = {
    "version 127",   "version 128",   "version 255",        "version 256",
    "version 65535", "version 65536", "version 4294967295", "version 4294967296"};

#define N_VECTORS (sizeof(vectors) / sizeof(vectors[0]))
#define N_VERSIONS (sizeof(version_names) / sizeof(version_names[0]))

size_t
reply_vector_count(void)
{
    return N_VECTORS + N_VERSIONS;
}

const char *
reply_vector_name(size_t i)
{
    return i < N_VECTORS ? vectors[i].name : version_names[i - N_VECTORS];
}

bool
reply_vector_write(struct sb_writer *w, const char *name)
{
    for (size_t i = 0; i < N_VECTORS; i++)
    {
        if (strcmp(vectors[i].name, name) == 0)
        {
            vectors[i].write(w);
            return true;
        }
    }
    for (size_t i = 0; i < N_VERSIONS; i++)
    {
        if (strcmp(version_names[i], name) == 0)
        {
            uint64_t v = strtoull(name + strlen("version "), NULL, 10);
            sb_write_version_reply(w, v, v);
            return true;
        }
    }
    return false;
}

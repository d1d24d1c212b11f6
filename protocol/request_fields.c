/*
 * request_fields.c - the table of fields of each operation, and the rules between fields.
 *
 * It must not know how values are read. A new field is one row here.
 */
#include "protocol/request_fields.h"

#define ROW(row, field, reader, type, max, text)                                                   \
    row(#field, reader, struct sb_##type##_frame, field, max, text)
#define TABLE(rows)                                                                                \
    {                                                                                              \
        rows, sizeof(rows) / sizeof((rows)[0]), NULL                                               \
    }

#define THREAD_TEXT "thread is a name: 1 to 128 bytes of UTF-8 without control characters"
#define USER_TEXT "user is a name: 1 to 128 bytes of UTF-8 without control characters"
#define CURSOR_TEXT "cursor is a bin of at most 96 bytes"
#define LIMIT_TEXT "limit is an integer from 1 to 200"
#define SHARE_TEXT "share is not built into this server yet"
#define LIVE_TEXT "live is not built into this server yet"

static const struct sb_field hello_rows[] = {
    ROW(SB_REQUIRED, token, sb_read_str, hello, UINT32_MAX, "token is a string"),
    ROW(SB_OPTIONAL, resume, sb_read_opt_bin, hello, UINT32_MAX, "resume is a bin"),
    {"seen", 4, false, sb_read_seen, 0, 0,
     "seen is a map of up to 64 thread names, each to a version"},
};

#define LOAD_ROWS                                                                                  \
    ROW(SB_REQUIRED, thread, sb_read_name, load, 0, THREAD_TEXT),                                  \
        ROW(SB_OPTIONAL, filter, sb_read_filter, load, 0, "filter is a map"),                      \
        ROW(SB_OPTIONAL, limit, sb_read_limit, load, SB_MAX_PAGE, LIMIT_TEXT),                     \
        ROW(SB_OPTIONAL, share, sb_refuse_sink, load, 0, SHARE_TEXT)

static const struct sb_field load_older_rows[] = {
    LOAD_ROWS,
    ROW(SB_OPTIONAL, cursor, sb_read_opt_bin, load, SB_MAX_CURSOR, CURSOR_TEXT),
    ROW(SB_OPTIONAL, live, sb_refuse_flag, load, 0, LIVE_TEXT),
    ROW(SB_OPTIONAL, before, sb_read_opt_uint, load, 0, "before is a seq"),
};

static const struct sb_field load_newer_rows[] = {
    LOAD_ROWS,
    ROW(SB_OPTIONAL, cursor, sb_read_opt_bin, load, SB_MAX_CURSOR, CURSOR_TEXT),
    ROW(SB_OPTIONAL, after, sb_read_opt_uint, load, 0, "after is a seq"),
};

static const struct sb_field load_around_rows[] = {
    LOAD_ROWS,
    ROW(SB_OPTIONAL, live, sb_refuse_flag, load, 0, LIVE_TEXT),
    ROW(SB_OPTIONAL, seq, sb_read_opt_uint, load, 0, "seq is the number of a message"),
    ROW(SB_OPTIONAL, at, sb_read_opt_uint, load, 0, "at is a time in Unix milliseconds"),
};

#define IN_MESSAGE(row, field, reader, max, text)                                                  \
    row(#field, reader, struct sb_post_frame, message.field, max, text)

static const struct sb_field post_rows[] = {
    ROW(SB_REQUIRED, thread, sb_read_name, post, 0, THREAD_TEXT),
    IN_MESSAGE(SB_REQUIRED, text, sb_read_text, SB_MAX_TEXT,
               "text is a string, empty only with attachments"),
    ROW(SB_OPTIONAL, nonce, sb_read_opt_word, post, SB_MAX_NONCE,
        "nonce is a string of 1 to 64 bytes"),
    IN_MESSAGE(SB_OPTIONAL, kind, sb_read_word, SB_MAX_KIND,
               "kind is a string of 1 to 64 bytes without control characters"),
    IN_MESSAGE(SB_OPTIONAL, reply_to, sb_read_opt_uint, 0, "reply_to is a seq"),
    {"mentions", 8, false, sb_read_mentions, 0, 0, "mentions is a list of up to 64 user names"},
    {"attachments", 11, false, sb_read_attachments, 0, 0, "attachments is a list of up to 16 maps"},
    IN_MESSAGE(SB_OPTIONAL, meta, sb_read_meta, 0, "meta is a map"),
    ROW(SB_OPTIONAL, share, sb_refuse_sink, post, 0, SHARE_TEXT),
};

static const struct sb_field create_thread_rows[] = {
    ROW(SB_REQUIRED, thread, sb_read_name, create_thread, 0, THREAD_TEXT),
    ROW(SB_OPTIONAL, title, sb_read_opt_str, create_thread, SB_MAX_TITLE,
        "title is a string of up to 512 bytes"),
    ROW(SB_OPTIONAL, history, sb_read_history, create_thread, 0,
        "history is \"all\" or \"since_join\""),
    ROW(SB_OPTIONAL, access, sb_read_access, create_thread, 0,
        "access is \"members\" or \"tenant\""),
    {"members", 7, false, sb_read_founders, 0, 0,
     "members is a map of up to 256 user names, each to reader, writer or moderator"},
};

static const struct sb_field set_member_rows[] = {
    ROW(SB_REQUIRED, thread, sb_read_name, set_member, 0, THREAD_TEXT),
    ROW(SB_REQUIRED, user, sb_read_name, set_member, 0, USER_TEXT),
    ROW(SB_OPTIONAL, role, sb_read_role, set_member, 0,
        "role is \"reader\", \"writer\", \"moderator\" or nil"),
};

#define LIST_ROWS                                                                                  \
    ROW(SB_OPTIONAL, cursor, sb_read_opt_bin, list, SB_MAX_CURSOR, CURSOR_TEXT),                   \
        ROW(SB_OPTIONAL, limit, sb_read_limit, list, SB_MAX_PAGE, LIMIT_TEXT)

static const struct sb_field threads_rows[] = {LIST_ROWS};

static const struct sb_field members_rows[] = {
    ROW(SB_REQUIRED, thread, sb_read_name, list, 0, THREAD_TEXT),
    LIST_ROWS,
};

static const char *
check_older(const struct sb_request *r)
{
    if (r->load.cursor.set && r->load.before.set)
        return "before goes with a first page only, not with a cursor";
    return NULL;
}

static const char *
check_newer(const struct sb_request *r)
{
    if (r->load.cursor.set && r->load.after.set)
        return "after goes with a first page only, not with a cursor";
    return NULL;
}

static const char *
check_around(const struct sb_request *r)
{
    if (r->load.seq.set == r->load.at.set)
        return "load_around takes one of seq and at";
    return NULL;
}

static const char *
check_post(const struct sb_request *r)
{
    if (r->post.message.text.len == 0 && r->post.message.n_attachments == 0)
        return "text may be empty only with attachments";
    return NULL;
}

static const char *
check_create(const struct sb_request *r)
{
    if (r->create_thread.history == SB_HISTORY_SINCE_JOIN &&
        r->create_thread.access == SB_ACCESS_TENANT)
        return "history since_join does not go with access tenant";
    return NULL;
}

/* An operation without a row has no fields yet: it is not built. */
static const struct sb_op_form forms[SB_OP_UNKNOWN] = {
    [SB_OP_HELLO] = {TABLE(hello_rows), offsetof(struct sb_request, hello), NULL},
    [SB_OP_LOAD_OLDER] = {TABLE(load_older_rows), offsetof(struct sb_request, load), check_older},
    [SB_OP_LOAD_NEWER] = {TABLE(load_newer_rows), offsetof(struct sb_request, load), check_newer},
    [SB_OP_LOAD_AROUND] = {TABLE(load_around_rows), offsetof(struct sb_request, load),
                           check_around},
    [SB_OP_POST] = {TABLE(post_rows), offsetof(struct sb_request, post), check_post},
    [SB_OP_THREADS] = {TABLE(threads_rows), offsetof(struct sb_request, list), NULL},
    [SB_OP_CREATE_THREAD] = {TABLE(create_thread_rows), offsetof(struct sb_request, create_thread),
                             check_create},
    [SB_OP_SET_MEMBER] = {TABLE(set_member_rows), offsetof(struct sb_request, set_member), NULL},
    [SB_OP_MEMBERS] = {TABLE(members_rows), offsetof(struct sb_request, list), NULL},
};

const struct sb_op_form *
sb_op_form(enum sb_op op)
{
    if (op >= SB_OP_UNKNOWN || !sb_op_built(op) || forms[op].fields.n == 0)
        return NULL;
    return &forms[op];
}

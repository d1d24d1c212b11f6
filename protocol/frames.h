/*
 * frames.h - the wire's frames as structs.
 *
 * Decoding fills views into the caller's frame buffer (and a per-decoder
 * scratch); nothing here owns memory. A struct is valid until the frame buffer
 * changes or the next decode with the same decoder.
 *
 * It must not know sessions, threads' rights or the store.
 */
#ifndef SB_PROTOCOL_FRAMES_H
#define SB_PROTOCOL_FRAMES_H

#include "protocol/bytes.h"
#include "protocol/codes.h"
#include "protocol/limits.h"

/* Operations of the contract; `built` tells whether this server has it yet. */
#define SB_OPS(X)                                                                                  \
    X(HELLO, "hello", 1)                                                                           \
    X(LOAD_OLDER, "load_older", 1)                                                                 \
    X(LOAD_NEWER, "load_newer", 1)                                                                 \
    X(LOAD_AROUND, "load_around", 1)                                                               \
    X(SUBSCRIBE, "subscribe", 0)                                                                   \
    X(UNSUBSCRIBE, "unsubscribe", 0)                                                               \
    X(POST, "post", 1)                                                                             \
    X(EDIT, "edit", 0)                                                                             \
    X(DELETE, "delete", 0)                                                                         \
    X(REACT, "react", 0)                                                                           \
    X(MARK_READ, "mark_read", 0)                                                                   \
    X(THREADS, "threads", 1)                                                                       \
    X(CREATE_THREAD, "create_thread", 1)                                                           \
    X(SET_THREAD, "set_thread", 0)                                                                 \
    X(DELETE_THREAD, "delete_thread", 0)                                                           \
    X(SET_MEMBER, "set_member", 1)                                                                 \
    X(MEMBERS, "members", 1)                                                                       \
    X(TYPING, "typing", 0)                                                                         \
    X(IMPORT, "import", 0)

enum sb_op
{
#define X(id, name, built) SB_OP_##id,
    SB_OPS(X)
#undef X
        SB_OP_UNKNOWN, /* a string that names no operation */
};

/* Roles as on the wire. NONE is nil: removed, or never a member. */
enum sb_role
{
    SB_ROLE_NONE = 0,
    SB_ROLE_READER = 1,
    SB_ROLE_WRITER = 2,
    SB_ROLE_MODERATOR = 3,
};

enum sb_history
{
    SB_HISTORY_ALL = 0,
    SB_HISTORY_SINCE_JOIN = 1,
};

enum sb_thread_access
{
    SB_ACCESS_MEMBERS = 0,
    SB_ACCESS_TENANT = 1,
};

struct sb_opt_uint
{
    bool set;
    uint64_t value;
};

/* A string or bin field: `set` tells an absent (or nil) field from an empty one. */
struct sb_opt_bytes
{
    bool set;
    struct sb_bytes value;
};

struct sb_str_list
{
    uint32_t n;
    struct sb_bytes v[SB_MAX_LIST];
};

/* `filter`, as sent: neither sorted nor deduplicated (core/filter.h does). */
struct sb_filter_frame
{
    struct sb_str_list by, has, mentions, kind;
    struct sb_opt_uint thread_of, from, to;
    struct sb_opt_bytes text;
};

struct sb_attachment
{
    struct sb_bytes name, type, url;
    uint64_t size;
    struct sb_opt_uint width, height;
};

/*
 * A message as it stands on the wire and in a row's body. `at`, `seq` and
 * `version` are filled by the writer that accepts it. Absent fields are zero.
 */
struct sb_message
{
    uint64_t seq, at, version; /* at: Unix ms */
    struct sb_bytes by, text;
    struct sb_bytes kind; /* empty: the default kind */
    struct sb_opt_uint edited_at, reply_to;
    bool deleted; /* then only seq, at, version and deleted are encoded */
    uint32_t n_mentions, n_attachments;
    const struct sb_bytes *mentions;
    const struct sb_attachment *attachments;
    struct sb_bytes source_system, source_id; /* both empty: no source */
    struct sb_bytes meta;                     /* a packed map, or empty */
};

struct sb_seen
{
    struct sb_bytes thread;
    uint64_t version;
};

struct sb_founder
{
    struct sb_bytes user;
    enum sb_role role;
};

struct sb_hello_frame
{
    struct sb_bytes token;
    struct sb_opt_bytes resume;
    uint32_t n_seen;
    const struct sb_seen *seen;
};

/* load_older, load_newer and load_around; which fields may be set depends on the op. */
struct sb_load_frame
{
    struct sb_bytes thread;
    struct sb_opt_bytes cursor;
    struct sb_filter_frame filter;
    uint32_t limit; /* 1..SB_MAX_PAGE */
    bool live;
    struct sb_opt_uint before; /* load_older */
    struct sb_opt_uint after;  /* load_newer */
    struct sb_opt_uint seq;    /* load_around: one of seq, at */
    struct sb_opt_uint at;
    struct sb_opt_bytes share;
};

struct sb_post_frame
{
    struct sb_bytes thread;
    struct sb_message message; /* by, at, seq, version unset */
    struct sb_opt_bytes nonce;
    struct sb_opt_bytes share;
};

struct sb_create_thread_frame
{
    struct sb_bytes thread;
    struct sb_opt_bytes title;
    enum sb_history history;
    enum sb_thread_access access;
    uint32_t n_members;
    const struct sb_founder *members;
};

struct sb_set_member_frame
{
    struct sb_bytes thread, user;
    enum sb_role role;
};

/* threads (no thread) and members */
struct sb_list_frame
{
    struct sb_bytes thread;
    struct sb_opt_bytes cursor;
    uint32_t limit;
};

struct sb_request
{
    enum sb_op op;
    struct sb_opt_uint id; /* not set: reply with re nil */
    union
    {
        struct sb_hello_frame hello;
        struct sb_load_frame load;
        struct sb_post_frame post;
        struct sb_create_thread_frame create_thread;
        struct sb_set_member_frame set_member;
        struct sb_list_frame list;
    };
};

/* The name of an operation as on the wire; "unknown" past the end. */
const char *sb_op_name(enum sb_op op);
/* Whether this server implements the operation. */
bool sb_op_built(enum sb_op op);
/* 1..SB_MAX_NAME bytes of valid UTF-8 without C0, DEL or C1 control characters. */
bool sb_name_ok(struct sb_bytes name);

#endif

/*
 * encode.h - replies, rows and structs to MessagePack, over the caller's buffer.
 *
 * A writer never writes past `cap` and its error is sticky: write a whole frame,
 * then look at `failed` once. Integers are written in their shortest form.
 */
#ifndef SB_PROTOCOL_ENCODE_H
#define SB_PROTOCOL_ENCODE_H

#include "protocol/frames.h"

struct sb_writer
{
    uint8_t *buf; /* caller's */
    size_t cap, len;
    bool failed; /* something did not fit; the content is worthless */
};

void sb_writer_init(struct sb_writer *w, void *buf, size_t cap);

/* Primitives. A map or array of n announces n pairs or elements to follow. */
void sb_write_map(struct sb_writer *w, uint32_t n);
void sb_write_array(struct sb_writer *w, uint32_t n);
void sb_write_nil(struct sb_writer *w);
void sb_write_bool(struct sb_writer *w, bool v);
void sb_write_uint(struct sb_writer *w, uint64_t v);
void sb_write_int(struct sb_writer *w, int64_t v);
void sb_write_str(struct sb_writer *w, struct sb_bytes s);
void sb_write_bin(struct sb_writer *w, struct sb_bytes b);
/* Appends already packed bytes: a row's body, a meta map. The copy of the hot path. */
void sb_write_raw(struct sb_writer *w, struct sb_bytes packed);

/* A message as the map of the contract: the body of a row. */
void sb_write_message(struct sb_writer *w, const struct sb_message *m);
/* An upper bound of what sb_write_message needs, in bytes. */
size_t sb_message_size(const struct sb_message *m);

/* {re, error: {code, message, retry_ms?}}; retry_ms 0: absent. `re` not set: nil. */
void sb_write_error(struct sb_writer *w, struct sb_opt_uint re, enum sb_code code,
                    const char *message, uint64_t retry_ms);

struct sb_hello_reply
{
    struct sb_bytes user, tenant;
    struct sb_opt_bytes resume; /* not set: nil */
    bool resumed;
    uint64_t version, epoch;
    uint64_t limit_page, limit_page_bytes, limit_frame, limit_text;
    uint64_t heartbeat_ms;
};
void sb_write_hello(struct sb_writer *w, uint64_t re, const struct sb_hello_reply *r);

/* The start of a page reply: {re, messages: [ n rows follow ... */
void sb_write_page_head(struct sb_writer *w, enum sb_op op, uint64_t re, uint32_t rows);
struct sb_page_tail
{
    struct sb_opt_bytes older, newer; /* not set: nil; which of them is written depends on op */
    bool found;                       /* load_around */
    uint64_t version, now;
};
/* ... ], older/newer, found, version, now }. */
void sb_write_page_tail(struct sb_writer *w, enum sb_op op, const struct sb_page_tail *t);
/* Bytes that head and tail need at most, without rows. */
#define SB_PAGE_OVERHEAD 512

void sb_write_post_reply(struct sb_writer *w, uint64_t re, uint64_t seq, uint64_t at,
                         uint64_t version, bool duplicate);
/* {re, version}: create_thread, set_member. */
void sb_write_version_reply(struct sb_writer *w, uint64_t re, uint64_t version);

struct sb_thread_item
{
    struct sb_bytes thread;
    struct sb_opt_bytes title;
    enum sb_role role; /* NONE: nil (a service that is no member) */
    uint64_t unread, read;
    struct sb_bytes newest; /* a packed message, or empty: absent */
};
struct sb_member_item
{
    struct sb_bytes user;
    enum sb_role role;
};
/* {re, threads|members: [ n items follow ..., next }. */
void sb_write_threads_head(struct sb_writer *w, uint64_t re, uint32_t n);
void sb_write_thread_item(struct sb_writer *w, const struct sb_thread_item *t);
void sb_write_members_head(struct sb_writer *w, uint64_t re, uint32_t n);
void sb_write_member_item(struct sb_writer *w, const struct sb_member_item *m);
void sb_write_list_tail(struct sb_writer *w, struct sb_opt_bytes next);

/* "reader", "writer", "moderator"; NULL for NONE. */
const char *sb_role_name(enum sb_role role);

#endif

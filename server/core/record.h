/*
 * record.h - a change that was prepared and waits to be applied, and what became of it.
 *
 * prepare (session.c, the importer) checks form, size, rate and token; apply (apply.h)
 * decides acceptance. A record is self-contained: it holds time, author and the author's
 * claims, so that it gives the same result wherever and whenever it is applied. It is the
 * seam where a replicated log goes in.
 */
#ifndef SB_CORE_RECORD_H
#define SB_CORE_RECORD_H

#include "core/types.h"

enum sb_record_op
{
    SB_RECORD_POST,
    SB_RECORD_CREATE_THREAD,
    SB_RECORD_SET_MEMBER,
    SB_RECORD_IMPORT, /* one row of an import; creates thread and author on first use */
    SB_RECORD_LINK,   /* sets reply_to of an imported row whose parent came later */
};

/* A reaction of an imported row. */
struct sb_record_reaction
{
    struct sb_bytes emoji, user;
};

struct sb_record_import
{
    struct sb_message message;   /* by, text, kind, edited_at, deleted, mentions, attachments,
                                    meta, at, source_system, source_id; source_id not empty */
    struct sb_bytes reply_to_id; /* the parent's source id in the same thread; empty: none */
    uint32_t n_reactions;
    const struct sb_record_reaction *reactions;
};

struct sb_record
{
    enum sb_record_op op;
    uint64_t time_ms; /* Unix ms at prepare */
    struct sb_bytes tenant, user;
    bool service;           /* the author's claim */
    struct sb_bytes thread; /* name */
    union
    {
        struct
        {
            struct sb_message message;
            struct sb_bytes nonce; /* empty: none */
        } post;
        struct
        {
            struct sb_bytes title;
            enum sb_history history;
            enum sb_thread_access access;
            uint32_t n_members;
            const struct sb_founder *members;
        } create_thread;
        struct
        {
            struct sb_bytes user;
            enum sb_role role;
        } set_member;
        struct sb_record_import import;
        struct
        {
            struct sb_bytes system, child_id, parent_id;
        } link;
    };
};

/* What an import row became. */
enum sb_import_outcome
{
    SB_IMPORT_ADDED,
    SB_IMPORT_UPDATED,
    SB_IMPORT_UNCHANGED,
    SB_IMPORT_AHEAD, /* its time lies ahead of now: not taken */
};

struct sb_result
{
    int err; /* 0 or SB_ERR_; below only when 0 */
    uint64_t seq, at, version;
    bool duplicate;                 /* post: the nonce was there already */
    enum sb_import_outcome outcome; /* import */
    bool parent_missing;            /* import: reply_to_id names no row yet; LINK it at the end */
};

/*
 * Copies a record and all that it points to into one heap block (free() it), for a record
 * that must outlive its frame. NULL when memory is short.
 */
struct sb_record *sb_record_copy(const struct sb_record *r);

#endif

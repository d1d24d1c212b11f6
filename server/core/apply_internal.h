/* apply_internal.h - shared by apply.c and apply_import.c only. */
#ifndef SB_CORE_APPLY_INTERNAL_H
#define SB_CORE_APPLY_INTERNAL_H

#include "base/buf.h"
#include "core/apply.h"
#include "core/authz.h"
#include "core/tags.h"
#include "protocol/decode.h"
#include "protocol/encode.h"

enum
{
    SB_BODY_MAX = 8 << 20,    /* a row's body: imports may bring texts far above a post's */
    SB_BODY_KEEP = 256 << 10, /* kept between records */
};

struct sb_applier
{
    struct sb_buf body;
    uint8_t names[2 * SB_MAX_NAME + SB_MAX_TITLE]; /* of the thread at hand */
    struct sb_hash tags[SB_MAX_TAGS];
    struct sb_decoder *decoder; /* of stored rows that are written again */
};

/* One batch at work. */
struct sb_apply
{
    struct sb_applier *applier;
    struct sb_store *store;
    const struct sb_store_ops *ops;
    struct sb_txn *txn;
    bool wrote; /* the record at hand was accepted and has begun to write */
};

/*
 * Moves a thread's strings out of the store's pages into the applier: they outlive writes
 * until the next thread is held.
 */
void sb_apply_hold(struct sb_apply *x, struct sb_thread *thread);
/* The thread, held, and the author's access to it. FORBIDDEN for a missing one, too. */
int sb_apply_find(struct sb_apply *x, const struct sb_record *r, struct sb_thread *thread,
                  struct sb_access *access);
/* A message packed into the applier's scratch. */
int sb_apply_body(struct sb_apply *x, const struct sb_message *m, struct sb_bytes *out);
/* A message (seq, at, version set) to a row; body and tags are the applier's scratch. */
int sb_apply_row(struct sb_apply *x, const struct sb_message *m, struct sb_row *row);
/* Appends to the feed under the record's commit time. */
int sb_apply_change(struct sb_apply *x, const struct sb_record *r, struct sb_change *c);

int sb_apply_import(struct sb_apply *x, const struct sb_record *r, struct sb_result *res);
int sb_apply_link(struct sb_apply *x, const struct sb_record *r, struct sb_result *res);

#endif

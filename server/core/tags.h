/*
 * tags.h - what a message can be found by: "by:alice", "has:image", "kind:join" ...
 *
 * Tags are kept as keyed hashes, in the row and in the posting lists. The row's own list
 * decides whether it matches; a posting is only a candidate.
 */
#ifndef SB_CORE_TAGS_H
#define SB_CORE_TAGS_H

#include "core/store.h"

/* by, kind, five of has, thread_of, mentions */
#define SB_MAX_TAGS (8 + SB_MAX_MENTIONS)

/* The words of `has`, in the order of their bits. */
#define SB_HAS_WORDS(X)                                                                            \
    X(ATTACHMENT, "attachment")                                                                    \
    X(IMAGE, "image")                                                                              \
    X(FILE, "file")                                                                                \
    X(LINK, "link")                                                                                \
    X(REPLY, "reply")

/* The kind of messages that name none. It has no tag: a row without SB_ROW_KIND is one. */
#define SB_KIND_DEFAULT SB_LIT("message")

/* Hash of `prefix` followed by `value`; value is at most SB_MAX_NAME bytes. */
void sb_tag_hash(const struct sb_store *s, const char *prefix, struct sb_bytes value,
                 struct sb_hash *out);
/* Hash of "thread:" and the number: the tag of a reply to that seq. */
void sb_tag_hash_reply(const struct sb_store *s, uint64_t seq, struct sb_hash *out);
/*
 * The tags of a message, the author's first, none twice; `flags` gets its row flags.
 * Returns how many (at most SB_MAX_TAGS). A tombstone keeps by, kind, has:reply and thread.
 */
uint32_t sb_tags_of(const struct sb_store *s, const struct sb_message *m,
                    struct sb_hash out[SB_MAX_TAGS], uint32_t *flags);

#endif

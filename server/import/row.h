/*
 * row.h - one import row in the making: the limits of imported rows are applied here.
 *
 * A reader begins a row, gives what its format knows, and emits it. What does not fit is
 * repaired and counted, never a reason to stop: names are cut at SB_MAX_NAME and freed of
 * control characters, texts cut at text_max with a mark, lists cut at their limit. All
 * strings given are valid UTF-8 (json.h and irc_text.h see to it).
 */
#ifndef SB_IMPORT_ROW_H
#define SB_IMPORT_ROW_H

#include "import/arena.h"
#include "import/run.h"

#define SB_IMPORT_MAX_ID 512         /* bytes of a source id; a longer one skips the row */
#define SB_IMPORT_MAX_REACTIONS 4096 /* (emoji, user) pairs of one row */
#define SB_IMPORT_MAX_META 65536     /* bytes of meta, packed */
#define SB_IMPORT_CUT                                                                              \
    " [\xe2\x80\xa6"                                                                               \
    "cut]" /* what ends a text that was cut */

struct sb_import_row
{
    struct sb_import_run *run;
    struct sb_arena arena; /* repaired strings of this row */
    struct sb_bytes thread;
    struct sb_record_import rec;
    struct sb_bytes mentions[SB_MAX_MENTIONS];
    struct sb_attachment attachments[SB_MAX_ATTACHMENTS];
    struct sb_record_reaction reactions[SB_IMPORT_MAX_REACTIONS];
    uint8_t meta[SB_IMPORT_MAX_META];
    bool has_at;
    bool repaired;  /* something was changed to fit */
    bool exhausted; /* the arena is full: the row cannot be emitted */
};

/* NULL when memory is short. */
struct sb_import_row *sb_import_row_create(struct sb_import_run *run);
void sb_import_row_destroy(struct sb_import_row *row); /* NULL is fine */

/* An empty row of a source system. */
void sb_import_row_begin(struct sb_import_row *row, struct sb_bytes system);
void sb_import_row_thread(struct sb_import_row *row, struct sb_bytes name);
void sb_import_row_by(struct sb_import_row *row, struct sb_bytes name);
/* "message" is the default kind and becomes none. */
void sb_import_row_kind(struct sb_import_row *row, struct sb_bytes kind);
void sb_import_row_at(struct sb_import_row *row, uint64_t at);
/* Adds a user once; past the limit it is dropped. */
void sb_import_row_mention(struct sb_import_row *row, struct sb_bytes user);
void sb_import_row_attachment(struct sb_import_row *row, const struct sb_attachment *a);
void sb_import_row_reaction(struct sb_import_row *row, struct sb_bytes emoji, struct sb_bytes user);

/*
 * Gives the row to the sink, or skips it with a reason (no id, no time, a number that no
 * client could keep). 0, or the sink's value. `file` and `place` are for the reason.
 */
int sb_import_row_emit(struct sb_import_row *row, const char *file, uint64_t place);

#endif

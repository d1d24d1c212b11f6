/*
 * irc.h - what the parts of the IRC reader share. irc.c walks files and keeps the clock,
 * irc_line.c takes lines apart, irc_text.c decodes bytes, irc_seen.c makes line identities.
 */
#ifndef SB_IMPORT_IRC_H
#define SB_IMPORT_IRC_H

#include "base/buf.h"
#include "import/sha256.h"

struct sb_irc_line
{
    bool timed;
    uint32_t seconds; /* of the day */
    struct sb_bytes kind, by, text;
};

/* Takes a decoded line apart. Every line gives something: an unknown form is kind "other". */
void sb_irc_line_parse(struct sb_bytes line, struct sb_irc_line *out);

/* Decodes a raw line to UTF-8 without formatting codes. The view lives in `scratch` or is the
 * line itself. *changed: the bytes were not UTF-8. 0 or SB_ERR_ of the buffer. */
int sb_irc_text_decode(struct sb_bytes raw, struct sb_buf *scratch, struct sb_bytes *out,
                       bool *changed);

#define SB_IRC_ID 32 /* bytes of a line's id, hex */

/* How often each line was seen, of the two newest days of one file. */
struct sb_irc_seen
{
    struct sb_irc_seen_table
    {
        struct
        {
            uint8_t key[16];
            uint32_t count; /* 0: free */
        } * slots;          /* heap, open addressing */
        size_t n, cap;
    } days[2];
    int64_t newest; /* day of the newer table */
};

void sb_irc_seen_reset(struct sb_irc_seen *s);
void sb_irc_seen_finish(struct sb_irc_seen *s);
/*
 * The id of a line: the first 16 bytes, in hex, of SHA-256 over channel, wall time, nick,
 * text and occurrence, each ended by a NUL. The time is the line's own (before it is raised or
 * put into a zone; a line without one has that of the line before), so that another --tz gives
 * the same ids. SB_ERR_NO_MEMORY.
 */
int sb_irc_seen_id(struct sb_irc_seen *s, struct sb_bytes channel, int64_t wall,
                   struct sb_bytes nick, struct sb_bytes text, char out[SB_IRC_ID]);

#endif

/*
 * slack.h - what the parts of the Slack reader share. slack.c walks the export,
 * slack_message.c makes rows of messages, slack_text.c decodes the markup of texts.
 */
#ifndef SB_IMPORT_SLACK_H
#define SB_IMPORT_SLACK_H

#include "base/buf.h"
#include "import/json.h"
#include "import/names.h"
#include "import/row.h"

struct sb_slack
{
    struct sb_import_run run;
    struct sb_import_row *row;
    struct sb_names users;    /* user id -> name */
    struct sb_names channels; /* channel id -> name */
    struct sb_names private;  /* folder of a direct conversation -> itself */
    struct sb_buf text;       /* the decoded text of the message at hand */
    struct sb_bytes thread;   /* of the file at hand */
    const char *file;         /* its name */
    uint64_t number;          /* of the message in it, from 1 */
};

/* Seconds and a fraction, as "1433558319.000002", to ms. False for anything else. */
bool sb_slack_ts(struct sb_bytes ts, uint64_t *ms);
/*
 * Appends a text with its markup decoded to s->text and adds its mentions to s->row.
 * 0 or SB_ERR_ of the buffer.
 */
int sb_slack_text(struct sb_slack *s, struct sb_bytes raw);
/* One message of a day file. NULL: it was too large. 0 or the sink's value. */
int sb_slack_message(struct sb_slack *s, const struct sb_json *m);

#endif

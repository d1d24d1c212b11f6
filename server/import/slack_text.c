/*
 * slack_text.c - the markup of Slack's texts to plain text.
 *
 *   <@U1>, <@U1|label>     @name: of users.json, else the label, else the id; a mention
 *   <#C1>, <#C1|label>     #label, else the channel's name, else the id
 *   <!here>, <!channel> …  @here; another <!x|label> is its label, <!x> is @x
 *   <url>                  url
 *   <url|label>            label (url); the url alone where both are the same
 *   &amp; &lt; &gt;        & < >
 *
 * In a message a literal < is always written &lt;, so a < that no > ends is kept as it is.
 */
#include "import/slack.h"

static struct sb_bytes
skip(struct sb_bytes s, size_t n)
{
    return sb_bytes(s.data + n, s.len - n);
}

static int
append_plain(struct sb_buf *out, struct sb_bytes s)
{
    static const struct
    {
        const char *entity;
        const char *plain;
    } entities[] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    while (s.len != 0)
    {
        const uint8_t *amp = memchr(s.data, '&', s.len);
        size_t plain = amp == NULL ? s.len : (size_t)(amp - s.data);
        int rc = sb_buf_append(out, sb_bytes(s.data, plain));
        s = skip(s, plain);
        if (s.len == 0 || rc != 0)
            return rc;
        size_t taken = 1;
        struct sb_bytes put = SB_LIT("&");
        for (size_t i = 0; i < 3; i++)
        {
            if (sb_bytes_starts(s, entities[i].entity))
            {
                taken = strlen(entities[i].entity);
                put = sb_bytes_str(entities[i].plain);
            }
        }
        rc = sb_buf_append(out, put);
        if (rc != 0)
            return rc;
        s = skip(s, taken);
    }
    return 0;
}

static int
append_marked(struct sb_buf *out, const char *mark, struct sb_bytes s)
{
    int rc = sb_buf_append(out, sb_bytes_str(mark));
    return rc != 0 ? rc : append_plain(out, s);
}

static int
append_user(struct sb_slack *s, struct sb_bytes id, struct sb_bytes label)
{
    struct sb_bytes name = sb_names_get(&s->users, id);
    if (name.len == 0)
        name = label.len != 0 ? label : id;
    if (name.len > 1 && name.data[0] == '@')
        name = skip(name, 1);
    sb_import_row_mention(s->row, name);
    return append_marked(&s->text, "@", name);
}

static int
append_channel(struct sb_slack *s, struct sb_bytes id, struct sb_bytes label)
{
    struct sb_bytes name = label.len != 0 ? label : sb_names_get(&s->channels, id);
    return append_marked(&s->text, "#", name.len != 0 ? name : id);
}

static int
append_command(struct sb_slack *s, struct sb_bytes command, struct sb_bytes label)
{
    bool everyone =
        sb_bytes_eq(command, SB_LIT("here")) || sb_bytes_eq(command, SB_LIT("channel")) ||
        sb_bytes_eq(command, SB_LIT("everyone")) || sb_bytes_eq(command, SB_LIT("group"));
    if (!everyone && label.len != 0)
        return append_plain(&s->text, label);
    return append_marked(&s->text, "@", command);
}

static int
append_link(struct sb_slack *s, struct sb_bytes url, struct sb_bytes label)
{
    if (label.len == 0 || sb_bytes_eq(url, label))
        return append_plain(&s->text, url);
    int rc = append_plain(&s->text, label);
    if (rc == 0)
        rc = append_marked(&s->text, " (", url);
    if (rc == 0)
        rc = sb_buf_append(&s->text, SB_LIT(")"));
    return rc;
}

/* What stands between < and >. */
static int
append_token(struct sb_slack *s, struct sb_bytes token)
{
    const uint8_t *bar = memchr(token.data, '|', token.len);
    struct sb_bytes head = token;
    struct sb_bytes label = {0};
    if (bar != NULL)
    {
        head.len = (size_t)(bar - token.data);
        label = skip(token, head.len + 1);
    }
    if (head.len > 1 && head.data[0] == '@')
        return append_user(s, skip(head, 1), label);
    if (head.len > 1 && head.data[0] == '#')
        return append_channel(s, skip(head, 1), label);
    if (head.len > 1 && head.data[0] == '!')
        return append_command(s, skip(head, 1), label);
    return append_link(s, head, label);
}

int
sb_slack_text(struct sb_slack *s, struct sb_bytes raw)
{
    int rc = 0;
    while (rc == 0 && raw.len != 0)
    {
        const uint8_t *open = memchr(raw.data, '<', raw.len);
        size_t plain = open == NULL ? raw.len : (size_t)(open - raw.data);
        rc = append_plain(&s->text, sb_bytes(raw.data, plain));
        raw = skip(raw, plain);
        if (rc != 0 || raw.len == 0)
            break;
        const uint8_t *close = memchr(raw.data, '>', raw.len);
        size_t inside = close == NULL ? 0 : (size_t)(close - raw.data) - 1;
        if (inside == 0 || memchr(raw.data + 1, '<', inside) != NULL)
        {
            rc = sb_buf_append(&s->text, SB_LIT("<"));
            raw = skip(raw, 1);
            continue;
        }
        rc = append_token(s, sb_bytes(raw.data + 1, inside));
        raw = skip(raw, inside + 2);
    }
    return rc;
}

/*
 * irc_line.c - one line of a log to its time, kind, author and text.
 *
 *   [HH:MM] <nick> text          [HH:MM:SS] <nick> text         a message
 *   [HH:MM]  * nick text         [HH:MM:SS] * nick text         action
 *   [HH:MM] -nick:#chan- text    [HH:MM:SS] -nick- text         notice
 *   === nick [mask] has joined   [HH:MM:SS] *** Joins: nick     system
 *
 * The brackets may be missing. A mode sign before a nick and a channel inside it
 * (<#chan:nick>) are not part of the name. The author of a system line is the nick that it
 * begins with or tells of, else "*". What has none of these forms is kind "other" by "*", so
 * that nothing of a log is lost.
 */
#include "import/irc.h"

static struct sb_bytes
skip(struct sb_bytes s, size_t n)
{
    return n >= s.len ? sb_bytes(NULL, 0) : sb_bytes(s.data + n, s.len - n);
}

static struct sb_bytes
skip_spaces(struct sb_bytes s)
{
    while (s.len != 0 && s.data[0] == ' ')
        s = skip(s, 1);
    return s;
}

/* Bytes up to the first space. */
static struct sb_bytes
word(struct sb_bytes s)
{
    const uint8_t *space = s.len == 0 ? NULL : memchr(s.data, ' ', s.len);
    return space == NULL ? s : sb_bytes(s.data, (size_t)(space - s.data));
}

/* Two digits below `limit` at s[i]. */
static bool
two_digits(struct sb_bytes s, size_t i, uint32_t limit, uint32_t *out)
{
    if (i + 2 > s.len || s.data[i] < '0' || s.data[i] > '9' || s.data[i + 1] < '0' ||
        s.data[i + 1] > '9')
        return false;
    *out = (uint32_t)(s.data[i] - '0') * 10 + (uint32_t)(s.data[i + 1] - '0');
    return *out < limit;
}

/* Takes "[HH:MM] ", "[HH:MM:SS] " or the same without brackets off the front. */
static struct sb_bytes
take_time(struct sb_bytes s, struct sb_irc_line *out)
{
    uint32_t h;
    uint32_t m;
    uint32_t sec = 0;
    bool bracket = s.len != 0 && s.data[0] == '[';
    size_t i = bracket ? 1 : 0;
    if (!two_digits(s, i, 24, &h) || i + 2 >= s.len || s.data[i + 2] != ':' ||
        !two_digits(s, i + 3, 60, &m))
        return s;
    i += 5;
    if (i < s.len && s.data[i] == ':')
    {
        if (!two_digits(s, i + 1, 61, &sec))
            return s;
        i += 3;
    }
    if (bracket && (i >= s.len || s.data[i++] != ']'))
        return s;
    if (i < s.len && s.data[i] != ' ')
        return s;
    out->timed = true;
    out->seconds = h * 3600 + m * 60 + (sec == 60 ? 59 : sec);
    return skip_spaces(skip(s, i));
}

/* A nick without the sign of its mode and without a channel before it. */
static struct sb_bytes
bare_nick(struct sb_bytes nick)
{
    const uint8_t *colon = nick.len == 0 ? NULL : memchr(nick.data, ':', nick.len);
    if (colon != NULL && nick.data[0] == '#')
        nick = skip(nick, (size_t)(colon - nick.data) + 1);
    while (nick.len > 1 && strchr(" @+%&~", nick.data[0]) != NULL && nick.data[0] != '\0')
        nick = skip(nick, 1);
    return nick;
}

/* "<nick> text" */
static bool
parse_message(struct sb_bytes s, struct sb_irc_line *out)
{
    const uint8_t *close = sb_bytes_starts(s, "<") ? memchr(s.data, '>', s.len) : NULL;
    if (close == NULL)
        return false;
    size_t end = (size_t)(close - s.data);
    if (end + 1 < s.len && s.data[end + 1] != ' ')
        return false;
    out->by = bare_nick(sb_bytes(s.data + 1, end - 1));
    out->text = skip(s, end + 2);
    return out->by.len != 0;
}

/* "* nick text" */
static bool
parse_action(struct sb_bytes s, struct sb_irc_line *out)
{
    if (!sb_bytes_starts(s, "* "))
        return false;
    struct sb_bytes rest = skip_spaces(skip(s, 2));
    struct sb_bytes nick = word(rest);
    out->kind = SB_LIT("action");
    out->by = bare_nick(nick);
    out->text = skip(rest, nick.len + 1);
    return out->by.len != 0;
}

/* "-nick- text", "-nick:#chan- text", "-nick(user@host)- text" */
static bool
parse_notice(struct sb_bytes s, struct sb_irc_line *out)
{
    struct sb_bytes w = word(s);
    if (!sb_bytes_starts(s, "-") || w.len < 3 || w.data[w.len - 1] != '-')
        return false;
    struct sb_bytes nick = sb_bytes(w.data + 1, w.len - 2);
    for (size_t i = 0; i < nick.len; i++)
    {
        if (nick.data[i] == ':' || nick.data[i] == '(')
            nick.len = i;
    }
    out->kind = SB_LIT("notice");
    out->by = nick;
    out->text = skip(s, w.len + 1);
    return nick.len != 0;
}

/* Whom a system line speaks of. */
static struct sb_bytes
subject(struct sb_bytes text)
{
    static const char *const heads[] = {"Joins: ", "Parts: ", "Quits: "};
    static const char *const deeds[] = {" [",          " has ",      " is now known as ",
                                        " was kicked", " sets mode", " changes topic",
                                        " quit",       " has left",  " changed the topic"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
    {
        struct sb_bytes nick = word(skip(text, strlen(heads[i])));
        if (sb_bytes_starts(text, heads[i]) && nick.len != 0)
            return nick;
    }
    struct sb_bytes first = word(text);
    bool name = first.len != 0 && memchr(first.data, '/', first.len) == NULL &&
                memchr(first.data, ':', first.len) == NULL && first.data[0] != '#';
    struct sb_bytes rest = skip(text, first.len);
    for (size_t i = 0; name && i < sizeof(deeds) / sizeof(deeds[0]); i++)
    {
        if (sb_bytes_starts(rest, deeds[i]))
            return first;
    }
    return SB_LIT("*");
}

static bool
parse_system(struct sb_bytes s, struct sb_irc_line *out)
{
    if (!sb_bytes_starts(s, "=== ") && !sb_bytes_starts(s, "*** "))
        return false;
    out->kind = SB_LIT("system");
    out->text = skip_spaces(skip(s, 4));
    out->by = subject(out->text);
    return true;
}

void
sb_irc_line_parse(struct sb_bytes line, struct sb_irc_line *out)
{
    *out = (struct sb_irc_line){0};
    struct sb_bytes s = take_time(line, out);
    bool timed = out->timed;
    uint32_t seconds = out->seconds;
    if (parse_system(s, out))
        return;
    if (timed && (parse_message(s, out) || parse_action(s, out) || parse_notice(s, out)))
        return;
    *out = (struct sb_irc_line){
        .timed = timed, .seconds = seconds, .kind = SB_LIT("other"), .by = SB_LIT("*"), .text = s};
}

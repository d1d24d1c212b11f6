/*
 * zone.c - see zone.h.
 *
 * The C library knows the zones but only by the process's TZ: that is set and put back inside
 * one function, and its answers are cached by the quarter of an hour (no zone has changed
 * its offset at any other time since clocks were standardised).
 */
#include "import/zone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

#define DAY 86400
#define QUARTER 900

static bool
name_is_plain(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strstr(name, "..") != NULL ||
        strlen(name) + 2 > sizeof(((struct sb_zone *)0)->name))
        return false;
    for (const char *p = name; *p != '\0'; p++)
    {
        if (!isalnum((unsigned char)*p) && strchr("_+-/", *p) == NULL)
            return false;
    }
    return true;
}

/* libc reads an unknown zone as UTC without a word: look for the file first. */
static bool
zone_exists(const char *name)
{
    char path[512];
    char magic[4] = {0};
    const char *folder = getenv("TZDIR");
    (void)snprintf(path, sizeof(path), "%.300s/%s", folder != NULL ? folder : "/usr/share/zoneinfo",
                   name);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool found = fread(magic, 1, 4, f) == 4 && memcmp(magic, "TZif", 4) == 0;
    (void)fclose(f);
    return found;
}

int
sb_zone_init(struct sb_zone *z, const char *name)
{
    *z = (struct sb_zone){0};
    if (name == NULL || strcmp(name, "UTC") == 0)
        return 0;
    if (!name_is_plain(name) || !zone_exists(name))
        return SB_ERR_BAD_REQUEST;
    (void)snprintf(z->name, sizeof(z->name), ":%s", name);
    return 0;
}

/* The only place that touches the process's zone. */
static int64_t
ask_libc(const char *zone, int64_t t)
{
    const char *now = getenv("TZ");
    char *before = now == NULL ? NULL : strdup(now);
    struct tm tm = {0};
    time_t clock = (time_t)t;
    (void)setenv("TZ", zone, 1);
    tzset();
    int64_t offset = localtime_r(&clock, &tm) == NULL ? 0 : tm.tm_gmtoff;
    if (before == NULL)
        (void)unsetenv("TZ");
    else
        (void)setenv("TZ", before, 1);
    tzset();
    free(before);
    return offset;
}

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Seconds east of UTC at an instant. */
static int64_t
offset_at(struct sb_zone *z, int64_t t)
{
    if (z->name[0] == '\0')
        return 0;
    int64_t slot = floor_div(t, QUARTER);
    size_t i = (size_t)((uint64_t)slot % SB_ZONE_CACHE);
    if (!z->cache[i].set || z->cache[i].slot != slot)
    {
        z->cache[i].offset = ask_libc(z->name, t);
        z->cache[i].slot = slot;
        z->cache[i].set = true;
    }
    return z->cache[i].offset;
}

void
sb_zone_instants(struct sb_zone *z, int64_t wall, int64_t *first, int64_t *second)
{
    if (z->name[0] == '\0')
    {
        *first = *second = wall;
        return;
    }
    /* Whatever changes near `wall` lies between these two. */
    int64_t a = wall - offset_at(z, wall - DAY);
    int64_t b = wall - offset_at(z, wall + DAY);
    bool a_holds = wall - offset_at(z, a) == a;
    bool b_holds = wall - offset_at(z, b) == b;
    *first = a_holds || !b_holds ? a : b;
    *second = b_holds || !a_holds ? b : a;
    if (!a_holds && !b_holds)
        *second = *first = a;
    if (*second < *first)
        *second = *first;
}

bool
sb_zone_day(unsigned year, unsigned month, unsigned day, int64_t *out)
{
    static const unsigned lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (month == 2 && leap ? 1U : 0U))
        return false;
    unsigned before = year - 1;
    int64_t days = (int64_t)365 * (year - 1970) + (before / 4 - before / 100 + before / 400) - 477;
    for (unsigned m = 1; m < month; m++)
        days += lengths[m - 1] + (m == 2 && leap ? 1U : 0U);
    *out = days + day - 1;
    return true;
}

void
sb_zone_format(int64_t wall, char *out)
{
    struct tm tm = {0};
    time_t t = (time_t)wall;
    if (gmtime_r(&t, &tm) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        out[0] = '\0';
}

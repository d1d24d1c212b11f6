/* config_units.c - numbers with units; see config.h. No sign, no fraction, no blanks. */
#include "app/config.h"

#include <inttypes.h>
#include <string.h>

struct unit
{
    const char *name;
    uint64_t factor;
};

/* Smallest first. */
static const struct unit durations[] = {
    {"us", 1},      {"ms", SB_MS}, {"s", SB_SECOND}, {"min", 60 * SB_SECOND},
    {"h", SB_HOUR}, {"d", SB_DAY},
};
static const struct unit sizes[] = {
    {"B", 1}, {"KiB", SB_KIB}, {"MiB", SB_MIB}, {"GiB", 1024 * SB_MIB}, {"TiB", SB_TIB},
};
#define N(units) (sizeof(units) / sizeof((units)[0]))

/* The digits at the start; NULL if there are none or they are more than 64 bits. */
static const char *
digits(const char *text, uint64_t *out)
{
    const char *p = text;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++)
    {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return NULL;
        n = n * 10 + digit;
    }
    *out = n;
    return p == text ? NULL : p;
}

static bool
with_unit(const char *text, const struct unit *units, size_t n_units, uint64_t *out)
{
    uint64_t n;
    const char *unit = digits(text, &n);
    for (size_t i = 0; unit != NULL && i < n_units; i++)
    {
        if (strcmp(unit, units[i].name) == 0)
        {
            if (n > UINT64_MAX / units[i].factor)
                return false;
            *out = n * units[i].factor;
            return true;
        }
    }
    return false;
}

bool
sb_parse_count(const char *text, uint64_t *out)
{
    uint64_t n;
    const char *end = digits(text, &n);
    if (end == NULL || *end != '\0')
        return false;
    *out = n;
    return true;
}

bool
sb_parse_duration(const char *text, uint64_t *out)
{
    uint64_t n;
    if (sb_parse_count(text, &n) && n == 0)
    {
        *out = 0; /* nothing is nothing in every unit */
        return true;
    }
    return with_unit(text, durations, N(durations), out);
}

bool
sb_parse_size(const char *text, uint64_t *out)
{
    return sb_parse_count(text, out) || with_unit(text, sizes, N(sizes), out);
}

static void
show(uint64_t value, const struct unit *units, size_t n_units, char *out, size_t cap)
{
    size_t i = n_units - 1;
    while (i > 0 && (value < units[i].factor || value % units[i].factor != 0))
        i--;
    if (value == 0)
        (void)snprintf(out, cap, "0");
    else
        (void)snprintf(out, cap, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
}

void
sb_show_duration(uint64_t us, char *out, size_t cap)
{
    show(us, durations, N(durations), out, cap);
}

void
sb_show_size(uint64_t bytes, char *out, size_t cap)
{
    show(bytes, sizes, N(sizes), out, cap);
}

/*
 * zone.h - local wall-clock times to instants, by the rules of an IANA zone.
 *
 * Deterministic where a wall time exists twice (both instants are told) or not at all (the
 * offset before the gap is used, which gives the instant after it).
 */
#ifndef SB_IMPORT_ZONE_H
#define SB_IMPORT_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#define SB_ZONE_CACHE 64

struct sb_zone
{
    char name[80]; /* ":Area/City"; empty: UTC */
    struct
    {
        int64_t slot; /* quarter of an hour */
        int64_t offset;
        bool set;
    } cache[SB_ZONE_CACHE];
};

/* NULL is UTC. SB_ERR_BAD_REQUEST: there is no such zone. */
int sb_zone_init(struct sb_zone *z, const char *name);
/* Wall time (seconds since 1970 as if UTC) to Unix seconds: the earlier and the later reading. */
void sb_zone_instants(struct sb_zone *z, int64_t wall, int64_t *first, int64_t *second);
/* Days since 1970-01-01; false for a date that does not exist. */
bool sb_zone_day(unsigned year, unsigned month, unsigned day, int64_t *out);
/* "YYYY-MM-DDTHH:MM:SS" of a wall time, into out[32]. */
void sb_zone_format(int64_t wall, char *out);

#endif

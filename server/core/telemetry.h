/*
 * telemetry.h - what the core counts, and the last refused cursors with their causes.
 *
 * For the operator only: no reply tells any of it. Nothing here names a user, a thread or a
 * byte of a cursor.
 */
#ifndef SB_CORE_TELEMETRY_H
#define SB_CORE_TELEMETRY_H

#include "core/types.h"

/* Why a cursor was refused: told to nobody but counters and the ring. */
#define SB_REFUSALS(X)                                                                             \
    X(MALFORMED, "malformed")                                                                      \
    X(UNKNOWN_KEY, "unknown_key")                                                                  \
    X(BAD_TAG, "bad_tag")                                                                          \
    X(EXPIRED, "expired")                                                                          \
    X(UNKNOWN_HANDLE, "unknown_handle")                                                            \
    X(BINDING, "binding")                                                                          \
    X(SNAPSHOT_GONE, "snapshot_gone")

enum sb_refusal
{
#define X(id, name) SB_REFUSAL_##id,
    SB_REFUSALS(X)
#undef X
        SB_REFUSAL_COUNT,
};
extern const char *const sb_refusal_names[SB_REFUSAL_COUNT];

#define SB_N_OPS (SB_OP_UNKNOWN + 1)
#define SB_N_CODES (SB_CODE_INTERNAL + 1)
#define SB_REFUSALS_KEPT 256

struct sb_refusal_note
{
    uint64_t time_ms; /* Unix ms */
    enum sb_refusal cause;
    enum sb_op op;
};

struct sb_telemetry
{
    uint64_t requests[SB_N_OPS];
    uint64_t errors[SB_N_CODES];
    uint64_t refusals[SB_REFUSAL_COUNT];
    uint64_t rows;         /* sent in pages */
    uint64_t corrupt_rows; /* checksum failures met */
    uint64_t scan_slices;
    uint64_t cursors_live;
    uint64_t sessions_ready;
    uint64_t scans_waiting;
    uint64_t refused; /* cursors in all: the next one's place in the ring */
    struct sb_refusal_note last_refused[SB_REFUSALS_KEPT];
};

/* Counts and notes a refused cursor; the same work for every cause. */
void sb_telemetry_refused(struct sb_telemetry *t, enum sb_refusal cause, enum sb_op op,
                          uint64_t now_ms);
/* How many notes are kept. */
uint32_t sb_telemetry_kept(const struct sb_telemetry *t);
/* The i-th note that is kept, 0 being the oldest. */
const struct sb_refusal_note *sb_telemetry_note(const struct sb_telemetry *t, uint32_t i);

#endif

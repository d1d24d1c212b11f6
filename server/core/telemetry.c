/* telemetry.c - see telemetry.h. */
#include "core/telemetry.h"

const char *const sb_refusal_names[SB_REFUSAL_COUNT] = {
#define X(id, name) name,
    SB_REFUSALS(X)
#undef X
};

void
sb_telemetry_refused(struct sb_telemetry *t, enum sb_refusal cause, enum sb_op op, uint64_t now_ms)
{
    t->refusals[cause]++;
    t->last_refused[t->refused++ % SB_REFUSALS_KEPT] = (struct sb_refusal_note){now_ms, cause, op};
}

uint32_t
sb_telemetry_kept(const struct sb_telemetry *t)
{
    return t->refused < SB_REFUSALS_KEPT ? (uint32_t)t->refused : SB_REFUSALS_KEPT;
}

const struct sb_refusal_note *
sb_telemetry_note(const struct sb_telemetry *t, uint32_t i)
{
    return &t->last_refused[(t->refused - sb_telemetry_kept(t) + i) % SB_REFUSALS_KEPT];
}

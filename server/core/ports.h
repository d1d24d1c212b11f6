/*
 * ports.h - what the core asks of the world: a clock, randomness, token checks, settings.
 *
 * All are handed in, so that the core runs under a fake clock and seeded randomness.
 */
#ifndef SB_CORE_PORTS_H
#define SB_CORE_PORTS_H

#include "core/types.h"

struct sb_ports
{
    void *ctx; /* given back to each function */
    /* Monotonic microseconds: only for budgets and ages inside the process. */
    uint64_t (*clock_us)(void *ctx);
    void (*random)(void *ctx, void *buf, size_t len);
    /* 0 and `out`, or SB_ERR_UNAUTHENTICATED. now_ms: Unix ms. */
    int (*verify_token)(void *ctx, struct sb_bytes token, uint64_t now_ms, struct sb_claims *out);
};

/* Keys that cursors are authenticated with. The first is the one that new ones get. */
#define SB_CURSOR_KEYS_MAX 8
struct sb_cursor_keys
{
    uint32_t n;
    struct
    {
        uint32_t id;
        uint8_t key[32];
    } v[SB_CURSOR_KEYS_MAX];
};

/* Settings of the core; the config table fills them (defaults of the contract). */
struct sb_settings
{
    uint64_t cursor_ttl_ms;    /* 15 min */
    uint64_t snapshot_ttl_ms;  /* 1 h */
    uint64_t hello_timeout_ms; /* 5 s */
    uint64_t heartbeat_ms;     /* told in hello */
    uint64_t page_bytes;       /* 1 MiB */
    uint64_t max_frame;        /* 64 KiB, after hello */
    uint64_t scan_budget_us;   /* 2 s of a scan's own time */
    uint64_t scan_slice_us;    /* 200 us of a turn for all scans */
    uint64_t rate_limit;       /* requests per second per user; 0: off */
};

#endif

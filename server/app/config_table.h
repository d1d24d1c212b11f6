/*
 * config_table.h - every setting of the server, one row each.
 *
 * The rows yield the struct (config.h), the file parser, the flags, the environment
 * variables, the defaults, --help, --check-config and the manual's list.
 *
 * Columns: type, field, key, commands that take it, minimum, maximum, default, help.
 * A number's minimum, maximum and default are in the unit of its type: durations in
 * microseconds, sizes in bytes. The default is text as a user would write it.
 */
#ifndef SB_APP_CONFIG_TABLE_H
#define SB_APP_CONFIG_TABLE_H

#include "protocol/limits.h"

/* Which commands take a key, as bits. */
#define SB_FOR_SERVE 1u
#define SB_FOR_IMPORT 2u
#define SB_FOR_TOKEN 4u
#define SB_FOR_KEYS 8u
#define SB_FOR_CHECK 16u
#define SB_FOR_STORE (SB_FOR_SERVE | SB_FOR_IMPORT | SB_FOR_CHECK)
#define SB_FOR_ALL 31u

#define SB_MS UINT64_C(1000)
#define SB_SECOND (1000 * SB_MS)
#define SB_HOUR (3600 * SB_SECOND)
#define SB_DAY (24 * SB_HOUR)
#define SB_KIB UINT64_C(1024)
#define SB_MIB (SB_KIB * SB_KIB)
#define SB_TIB (SB_MIB * SB_MIB)

/* clang-format off */
#define SB_CONFIG(X)                                                                               \
    X(TEXT, data, "data", SB_FOR_ALL, 1, 3000, "./scrollback-data",                                \
      "directory of the store and its keys")                                                       \
    X(TEXT, listen, "listen", SB_FOR_SERVE, 1, 300, "127.0.0.1:8484",                              \
      "address and port to listen on; [::1]:8484 for IPv6; port 0 picks a free one")               \
    X(TEXT, web, "web", SB_FOR_SERVE, 0, 3000, "",                                                 \
      "directory of static files served at /; empty: the installed demo, if it is there")          \
    X(LIST, origins, "origins", SB_FOR_SERVE, 0, 64, "",                                           \
      "browser origins that may connect, such as https://chat.example; empty: this machine only")  \
    X(LIST, demo_users, "demo-users", SB_FOR_SERVE, 0, 64, "",                                     \
      "users that anybody on this machine gets a token for; only on a loopback address")           \
    X(TEXT, token_public_key, "token-public-key", SB_FOR_SERVE, 0, 3000, "",                       \
      "PEM file of an issuer's Ed25519 public key, whose EdDSA tokens are taken too")              \
    X(LEVEL, log_level, "log-level", SB_FOR_ALL, 0, 3, "info",                                     \
      "what is logged: error, warn, info or debug")                                                \
    X(DURATION, cursor_ttl, "cursor-ttl", SB_FOR_SERVE, 10 * SB_MS, 30 * SB_DAY, "15min",          \
      "how long a cursor may be presented")                                                        \
    X(DURATION, snapshot_ttl, "snapshot-ttl", SB_FOR_SERVE, 10 * SB_MS, 30 * SB_DAY, "1h",         \
      "how long a walk's view of its thread is kept")                                              \
    X(DURATION, hello_timeout, "hello-timeout", SB_FOR_SERVE, 10 * SB_MS, SB_HOUR, "5s",           \
      "a connection without hello is closed after it")                                             \
    X(DURATION, heartbeat, "heartbeat", SB_FOR_SERVE, 50 * SB_MS, SB_HOUR, "30s",                  \
      "time between pings; a connection silent for two is closed")                                 \
    X(DURATION, half_frame_timeout, "half-frame-timeout", SB_FOR_SERVE, 10 * SB_MS, SB_HOUR,       \
      "10s", "a message begun and not ended is closed after it")                                   \
    X(DURATION, slow_reader_timeout, "slow-reader-timeout", SB_FOR_SERVE, 10 * SB_MS, SB_HOUR,     \
      "10s", "a connection whose queue stays above out-queue-max for it is closed")                \
    X(DURATION, close_timeout, "close-timeout", SB_FOR_SERVE, 10 * SB_MS, SB_HOUR, "10s",          \
      "a closing connection that does not take the close frame is reset after it")                 \
    X(DURATION, drain_timeout, "drain-timeout", SB_FOR_SERVE, 10 * SB_MS, SB_HOUR, "2s",           \
      "time for flushing and closing connections at a stop")                                       \
    X(COUNT, max_connections, "max-connections", SB_FOR_SERVE, 1, 1000000, "16384",                \
      "connections at a time")                                                                     \
    X(COUNT, max_connections_per_address, "max-connections-per-address", SB_FOR_SERVE, 0, 1000000, \
      "1000", "connections at a time from one address, 0: no limit; raise it behind a proxy")                   \
    X(SIZE, max_frame, "max-frame", SB_FOR_SERVE, SB_KIB, SB_MAX_FRAME, "64KiB",                   \
      "largest message from a client after hello")                                                 \
    X(SIZE, page_bytes, "page-bytes", SB_FOR_SERVE, SB_KIB, 16 * SB_MIB, "1MiB",                   \
      "a page ends before the row that would take it past this")                                   \
    X(SIZE, out_queue_max, "out-queue-max", SB_FOR_SERVE, 4 * SB_KIB, 1024 * SB_MIB, "1MiB",       \
      "bytes waiting for a slow reader before it is closed")                                       \
    X(COUNT, rate_limit, "rate-limit", SB_FOR_SERVE, 0, 1000000, "0",                              \
      "requests per second of one user; 0: no limit")                                              \
    X(DURATION, scan_budget, "scan-budget", SB_FOR_SERVE, SB_MS, SB_HOUR, "2s",                    \
      "time that one filtered page may scan before it is cut short with a cursor")                 \
    X(DURATION, scan_slice, "scan-slice", SB_FOR_SERVE, 10, SB_SECOND, "200us",                    \
      "time of one turn of the loop that all scans together get")                                  \
    X(BOOL, metrics_open, "metrics-open", SB_FOR_SERVE, 0, 1, "false",                             \
      "serve /metrics to other machines too")                                                      \
    X(SIZE, map_size, "map-size", SB_FOR_STORE, 0, 64 * SB_TIB, "0",                               \
      "address space for the store; 0: 1TiB, or 16GiB where that cannot be had")                   \
    X(SIZE, quota, "quota", SB_FOR_SERVE | SB_FOR_IMPORT, 0, 64 * SB_TIB, "0",                     \
      "bytes in use past which writes are refused; 0: 7/8 of map-size")                            \
    X(SIZE, import_text_max, "import-text-max", SB_FOR_IMPORT, 1, 4 * SB_MIB, "1MiB",              \
      "longer texts are cut with a mark and counted")
/* clang-format on */

#endif

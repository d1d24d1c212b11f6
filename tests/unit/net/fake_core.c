/* fake_core.c - see fake_core.h. */
#include "fake_core.h"

#include <assert.h>
#include <stdlib.h>

#define MAX_BEFORE 16384
#define MAX_AFTER 65536

struct sb_engine
{
    struct sb_session *scans; /* circular by taking the head and appending */
    struct sb_session *sessions;
    struct sb_telemetry telemetry;
};

struct sb_session
{
    struct sb_engine *engine;
    struct sb_session *next_scan;
    void *owner;
    uint64_t created_us;
    uint64_t next_re;
    uint32_t slices; /* left of its scan */
    bool ready, closed, scanning;
};

static uint64_t hello_timeout_us = 5000000;
static uint8_t filler[1 << 22];

void
fake_core_set_hello_timeout(uint64_t ms)
{
    hello_timeout_us = ms * 1000;
}

struct sb_engine *
sb_engine_create(struct sb_store *store, const struct sb_ports *ports,
                 const struct sb_settings *settings)
{
    (void)store;
    (void)ports;
    (void)settings;
    for (size_t i = 0; i < sizeof(filler); i++)
        filler[i] = (uint8_t)(i % 251);
    return calloc(1, sizeof(struct sb_engine));
}

void
sb_engine_destroy(struct sb_engine *e)
{
    assert(e == NULL || e->telemetry.scans_waiting == 0);
    free(e);
}

const struct sb_telemetry *
sb_engine_telemetry(const struct sb_engine *e)
{
    return &e->telemetry;
}

struct sb_session *
sb_session_create(struct sb_engine *e, void *owner, uint64_t now_us)
{
    struct sb_session *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->engine = e;
    s->owner = owner;
    s->created_us = now_us;
    return s;
}

static void
scan_remove(struct sb_session *s)
{
    struct sb_session **at = &s->engine->scans;
    if (!s->scanning)
        return;
    while (*at != s)
        at = &(*at)->next_scan;
    *at = s->next_scan;
    s->scanning = false;
    s->engine->telemetry.scans_waiting--;
}

static void
scan_append(struct sb_session *s)
{
    struct sb_session **at = &s->engine->scans;
    while (*at != NULL)
        at = &(*at)->next_scan;
    *at = s;
    s->next_scan = NULL;
    s->scanning = true;
    s->engine->telemetry.scans_waiting++;
}

void
sb_session_destroy(struct sb_session *s)
{
    if (s == NULL)
        return;
    scan_remove(s);
    if (s->ready)
        s->engine->telemetry.sessions_ready--;
    free(s);
}

void *
sb_session_owner(const struct sb_session *s)
{
    return s->owner;
}

size_t
sb_session_max_frame(const struct sb_session *s)
{
    return s->ready ? MAX_AFTER : MAX_BEFORE;
}

bool
sb_session_ready(const struct sb_session *s)
{
    return s->ready;
}

struct sb_session *
sb_engine_scan_next(struct sb_engine *e)
{
    struct sb_session *s = e->scans;
    if (s == NULL)
        return NULL;
    scan_remove(s);
    scan_append(s);
    return s;
}

static void
reply(struct sb_buf *out, const void *data, size_t len)
{
    const uint8_t n[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                          (uint8_t)len};
    int rc = sb_buf_append(out, sb_bytes(n, 4));
    rc |= sb_buf_append(out, sb_bytes(data, len));
    assert(rc == 0);
    (void)rc;
}

static uint32_t
number(struct sb_bytes f)
{
    if (f.len < 5)
        return 0;
    return (uint32_t)f.data[1] << 24 | (uint32_t)f.data[2] << 16 | (uint32_t)f.data[3] << 8 |
           f.data[4];
}

static void
post(struct sb_session *s, struct sb_effects *fx)
{
    fx->has_record = true;
    fx->record = (struct sb_record){.op = SB_RECORD_POST};
    fx->record_re = (struct sb_opt_uint){true, s->next_re++};
}

static void
frame(struct sb_session *s, struct sb_bytes f, struct sb_effects *fx)
{
    s->engine->telemetry.requests[SB_OP_UNKNOWN]++;
    switch (f.len == 0 ? 0 : f.data[0])
    {
    case 'e':
        reply(fx->out, f.data + 1, f.len - 1);
        break;
    case 'r':
        assert(number(f) <= sizeof(filler));
        reply(fx->out, filler, number(f));
        break;
    case 'h':
        if (!s->ready)
            s->engine->telemetry.sessions_ready++;
        s->ready = true;
        reply(fx->out, "ok", 2);
        break;
    case 'w':
        post(s, fx);
        break;
    case 'c':
        reply(fx->out, "bye", 3);
        fx->close_code = (uint16_t)(f.data[1] << 8 | f.data[2]);
        break;
    case 's':
        s->slices = number(f);
        if (!s->scanning)
            scan_append(s);
        break;
    case 'm':
        reply(fx->out, "one", 3);
        reply(fx->out, filler, 70000);
        reply(fx->out, "two", 3);
        break;
    default:
        fx->close_code = 1007;
    }
}

void
sb_session_step(struct sb_session *s, const struct sb_event *ev, struct sb_effects *fx)
{
    struct sb_buf *out = fx->out;
    *fx = (struct sb_effects){.out = out};
    assert(!s->closed);
    if (ev->kind == SB_EVENT_FRAME)
        frame(s, ev->frame, fx);
    else if (ev->kind == SB_EVENT_TICK)
    {
        if (!s->ready && ev->now_us - s->created_us > hello_timeout_us)
            fx->close_code = 4401;
    }
    else if (ev->kind == SB_EVENT_WRITTEN)
    {
        uint8_t w[5] = {'W', 0, 0, 0, (uint8_t)ev->written.re.value};
        if (ev->written.result.err != 0)
            w[0] = 'X';
        reply(out, w, sizeof(w));
    }
    else if (s->slices > 1)
        s->slices--;
    else
    {
        scan_remove(s);
        reply(out, "S", 1);
    }
    s->closed = fx->close_code != 0;
}

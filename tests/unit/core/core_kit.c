/* core_kit.c - see core_kit.h. */
#include "core_kit.h"

#include <stdio.h>

#include "frame_kit.h"
#include "store/inner.h"

void (*ck_gate)(bool open);

static void
gate(bool open)
{
    if (ck_gate != NULL)
        ck_gate(open);
}

/* ---- ports ---- */

static uint64_t
clock_us(void *ctx)
{
    struct ck *k = ctx;
    uint64_t now = k->clock_us;
    k->clock_us += k->clock_step;
    return now;
}

static void
draw(void *ctx, void *buf, size_t len)
{
    pk_fill(&((struct ck *)ctx)->random, buf, len);
}

static void
store_random(void *buf, size_t len)
{
    struct pk_random r = {99};
    pk_fill(&r, buf, len);
}

static int
verify_token(void *ctx, struct sb_bytes token, uint64_t now_ms, struct sb_claims *out)
{
    (void)ctx;
    char text[512];
    assert_true(token.len < sizeof(text));
    memcpy(text, token.data, token.len);
    text[token.len] = '\0';
    char *expiry = strchr(text, '#');
    struct sb_claims c = {.expires_ms = UINT64_MAX, .service = text[0] == '!'};
    if (expiry != NULL)
    {
        *expiry = '\0';
        c.expires_ms = strtoull(expiry + 1, NULL, 10);
    }
    char *at = strchr(text, '@');
    const char *tenant = at == NULL ? NULL : at + 1;
    if (at != NULL)
        *at = '\0';
    const char *user = c.service ? text + 1 : text;
    if (user[0] == '\0' || strcmp(user, "bad") == 0 || c.expires_ms <= now_ms)
        return SB_ERR_UNAUTHENTICATED;
    if (tenant == NULL)
        tenant = "acme";
    assert_true(strlen(user) <= SB_MAX_NAME && strlen(tenant) <= SB_MAX_NAME);
    strcpy(c.user, user);
    strcpy(c.tenant, tenant);
    *out = c;
    return 0;
}

/* ---- the world ---- */

void
ck_open(struct ck *k, uint32_t derive_after)
{
    *k = (struct ck){.now_ms = CK_START_MS, .now_us = CK_START_US, .random = {5}, .clock_us = 1};
    struct sb_store_options o = {.mode = SB_STORE_SERVE,
                                 .now_ms = CK_START_MS,
                                 .derive_after = derive_after,
                                 .random = store_random};
    k->fault = kv_fault_create(sb_kv_mem_create(), true);
    assert_int_equal(sb_store_start(kv_fault_kv(k->fault), &o, UINT64_MAX, &k->store, NULL), 0);
    k->ports = (struct sb_ports){k, clock_us, draw, verify_token};
    k->settings = (struct sb_settings){.cursor_ttl_ms = 15 * 60 * 1000,
                                       .snapshot_ttl_ms = 3600 * 1000,
                                       .hello_timeout_ms = 5000,
                                       .heartbeat_ms = 30000,
                                       .page_bytes = 1 << 20,
                                       .max_frame = 65536,
                                       .scan_budget_us = 2000000,
                                       .scan_slice_us = 200};
    k->engine = sb_engine_create(k->store, &k->ports, &k->settings);
    k->applier = sb_applier_create();
    assert_non_null(k->engine);
    assert_non_null(k->applier);
    struct sb_cursor_keys keys = {.n = 1};
    keys.v[0].id = 1;
    memset(keys.v[0].key, 0x55, 32);
    sb_engine_set_keys(k->engine, &keys);
}

void
ck_close(struct ck *k)
{
    assert_int_equal(sb_engine_telemetry(k->engine)->sessions_ready, 0);
    assert_int_equal(sb_engine_telemetry(k->engine)->scans_waiting, 0);
    assert_int_equal(sb_engine_telemetry(k->engine)->cursors_live, 0);
    assert_int_equal(kv_fault_open(k->fault), 0); /* no transaction outlives its turn */
    sb_engine_destroy(k->engine);
    sb_applier_destroy(k->applier);
    sb_store_close(k->store);
    kv_fault_destroy(k->fault);
}

void
ck_pass_ms(struct ck *k, uint64_t ms)
{
    k->now_ms += ms;
    k->now_us += 1000 * ms;
}

/* ---- clients ---- */

struct ck_client *
ck_connect(struct ck *k, const char *token)
{
    struct ck_client *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    c->k = k;
    c->frames = json_array();
    sb_buf_init(&c->out, 64 << 20);
    c->s = sb_session_create(k->engine, c, k->now_us);
    assert_non_null(c->s);
    assert_ptr_equal(sb_session_owner(c->s), c);
    if (token != NULL)
        assert_string_equal(ck_error(ck_ask(c, "{'op':'hello','token':'%s'}", token)), "");
    return c;
}

void
ck_drop(struct ck_client *c)
{
    sb_session_destroy(c->s);
    sb_buf_finish(&c->out);
    json_decref(c->frames);
    free((void *)(uintptr_t)c->last_raw.data);
    free(c->held);
    free(c);
}

/* Takes the frames out of the buffer. */
static void
collect(struct ck_client *c)
{
    size_t at = 0;
    while (at < c->out.len)
    {
        const uint8_t *p = c->out.data + at;
        size_t len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        assert_true(at + 4 + len <= c->out.len);
        free((void *)(uintptr_t)c->last_raw.data);
        uint8_t *raw = malloc(len + 1);
        memcpy(raw, p + 4, len);
        c->last_raw = sb_bytes(raw, len);
        json_array_append_new(c->frames, kit_unpack(c->last_raw));
        at += 4 + len;
    }
    sb_buf_reset(&c->out, SIZE_MAX);
}

static void
step(struct ck_client *c, struct sb_event *ev)
{
    struct ck *k = c->k;
    struct sb_effects fx = {.out = &c->out};
    ev->now_ms = k->now_ms;
    ev->now_us = k->now_us;
    gate(true);
    sb_session_step(c->s, ev, &fx);
    gate(false);
    assert_int_equal(kv_fault_open(k->fault), 0);
    if (fx.close_code != 0)
        c->closed = fx.close_code;
    collect(c);
    if (!fx.has_record)
        return;
    assert_null(c->held);
    gate(true);
    c->held = sb_record_copy(&fx.record);
    gate(false);
    c->held_re = fx.record_re;
    if (c->held != NULL)
        return;
    /* As the change log does: a record that cannot be kept is not taken. */
    struct sb_event refused = {.kind = SB_EVENT_WRITTEN};
    refused.written.re = fx.record_re;
    refused.written.op = fx.record.op;
    refused.written.result.err = SB_ERR_OVERLOADED;
    step(c, &refused);
}

void
ck_tell_written(struct ck_client *c, struct sb_result result)
{
    struct sb_event ev = {.kind = SB_EVENT_WRITTEN};
    ev.written.re = c->held_re;
    ev.written.op = c->held->op;
    ev.written.result = result;
    free(c->held);
    c->held = NULL;
    step(c, &ev);
}

void
ck_write_held(struct ck_client *c)
{
    assert_non_null(c->held);
    ck_tell_written(c, ck_apply(c->k, c->held));
}

void
ck_send_bytes(struct ck_client *c, struct sb_bytes frame)
{
    /* A copy that is overwritten afterwards: nothing may point into a frame that is gone. */
    uint8_t *copy = malloc(frame.len + 1);
    if (frame.len != 0)
        memcpy(copy, frame.data, frame.len);
    struct sb_event ev = {.kind = SB_EVENT_FRAME, .frame = sb_bytes(copy, frame.len)};
    step(c, &ev);
    memset(copy, 0xdd, frame.len);
    free(copy);
    if (c->held != NULL && !c->k->hold_writes)
        ck_write_held(c);
}

static uint64_t
send_json(struct ck_client *c, const char *format, va_list args)
{
    static char text[1 << 20];
    int n = vsnprintf(text, sizeof(text) - 32, format, args);
    assert_true(n > 1 && (size_t)n < sizeof(text) - 32 && text[n - 1] == '}');
    uint64_t id = ++c->next_id;
    snprintf(text + n - 1, 32, "%s'id':%llu}", n > 2 ? "," : "", (unsigned long long)id);
    struct sb_bytes frame = kit_pack(text);
    ck_send_bytes(c, frame);
    kit_free(frame);
    return id;
}

uint64_t
ck_send(struct ck_client *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    uint64_t id = send_json(c, format, args);
    va_end(args);
    return id;
}

json_t *
ck_reply(struct ck_client *c, uint64_t id)
{
    json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(c->frames); i++)
    {
        json_t *f = json_array_get(c->frames, i);
        json_t *re = json_object_get(f, "re");
        if (!json_is_integer(re) || (uint64_t)json_integer_value(re) != id)
            continue;
        assert_null(found); /* exactly one reply */
        found = f;
    }
    return found;
}

json_t *
ck_ask(struct ck_client *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    uint64_t id = send_json(c, format, args);
    va_end(args);
    if (!c->k->hold_scans)
        ck_run_scans(c->k);
    return ck_reply(c, id);
}

void
ck_tick(struct ck_client *c)
{
    struct sb_event ev = {.kind = SB_EVENT_TICK};
    step(c, &ev);
}

bool
ck_slice(struct ck *k)
{
    struct sb_session *s = sb_engine_scan_next(k->engine);
    if (s == NULL)
        return false;
    struct sb_event ev = {.kind = SB_EVENT_SCAN,
                          .deadline_us = k->clock_us + k->settings.scan_slice_us};
    struct ck_client *c = sb_session_owner(s);
    c->slices++;
    step(c, &ev);
    return true;
}

void
ck_run_scans(struct ck *k)
{
    for (int i = 0; ck_slice(k); i++)
        assert_true(i < 1000000);
}

/* ---- replies ---- */

const char *
ck_error(const json_t *reply)
{
    assert_non_null(reply);
    const char *code = json_string_value(json_object_get(json_object_get(reply, "error"), "code"));
    return code == NULL ? "" : code;
}

uint64_t
ck_uint(const json_t *reply, const char *key)
{
    const json_t *v = json_object_get(reply, key);
    if (!json_is_integer(v))
        fail_msg("no number %s", key);
    return (uint64_t)json_integer_value(v);
}

const char *
ck_words(const json_t *reply, const char *list, const char *key)
{
    static char text[16384];
    size_t n = 0;
    text[0] = '\0';
    const json_t *items = json_object_get(reply, list);
    if (!json_is_array(items))
        fail_msg("no %s: %s", list, ck_error(reply));
    for (size_t i = 0; i < json_array_size(items); i++)
    {
        const json_t *v = json_object_get(json_array_get(items, i), key);
        const char *gap = i == 0 ? "" : " ";
        int more = json_is_string(v)
                       ? snprintf(text + n, sizeof(text) - n, "%s%s", gap, json_string_value(v))
                       : snprintf(text + n, sizeof(text) - n, "%s%lld", gap,
                                  (long long)json_integer_value(v));
        n += (size_t)more;
        assert_true(n < sizeof(text));
    }
    return text;
}

const char *
ck_seqs(const json_t *reply)
{
    return ck_words(reply, "messages", "seq");
}

const char *
ck_cursor(const json_t *reply, const char *key)
{
    static char text[4][256];
    static int turn;
    char *out = text[turn = (turn + 1) % 4];
    const json_t *v = json_object_get(reply, key);
    assert_non_null(v);
    if (json_is_null(v))
        return "null";
    snprintf(out, 256, "{'$bin':'%s'}", json_string_value(json_object_get(v, "$bin")));
    return out;
}

/* ---- records ---- */

struct sb_result
ck_apply(struct ck *k, const struct sb_record *r)
{
    struct sb_result res;
    gate(true);
    int rc = sb_apply(k->applier, k->store, &r, &res, 1);
    gate(false);
    if (rc != 0)
        assert_int_equal(rc, res.err);
    k->store->ops->publish(k->store);
    return res;
}

struct sb_record
ck_record(struct ck *k, enum sb_record_op op, const char *thread, const char *user)
{
    return (struct sb_record){.op = op,
                              .time_ms = k->now_ms,
                              .tenant = SB_LIT("acme"),
                              .user = sb_bytes_str(user),
                              .service = true,
                              .thread = sb_bytes_str(thread)};
}

void
ck_thread(struct ck *k, const char *name, enum sb_history history, enum sb_thread_access access)
{
    struct sb_record r = ck_record(k, SB_RECORD_CREATE_THREAD, name, "root");
    r.create_thread.history = history;
    r.create_thread.access = access;
    assert_int_equal(ck_apply(k, &r).err, 0);
}

void
ck_member(struct ck *k, const char *thread, const char *user, enum sb_role role)
{
    struct sb_record r = ck_record(k, SB_RECORD_SET_MEMBER, thread, "root");
    r.set_member.user = sb_bytes_str(user);
    r.set_member.role = role;
    assert_int_equal(ck_apply(k, &r).err, 0);
}

struct sb_result
ck_post(struct ck *k, const char *thread, const char *user, const char *text)
{
    struct sb_record r = ck_record(k, SB_RECORD_POST, thread, user);
    r.post.message.by = r.user;
    r.post.message.text = sb_bytes_str(text);
    struct sb_result res = ck_apply(k, &r);
    assert_int_equal(res.err, 0);
    return res;
}

struct sb_result
ck_import(struct ck *k, const char *thread, const char *user, uint64_t at, const char *id,
          const char *text, bool deleted)
{
    struct sb_record r = ck_record(k, SB_RECORD_IMPORT, thread, "root");
    r.import.message = (struct sb_message){.at = at,
                                           .by = sb_bytes_str(user),
                                           .text = sb_bytes_str(text),
                                           .deleted = deleted,
                                           .source_system = SB_LIT("test"),
                                           .source_id = sb_bytes_str(id)};
    return ck_apply(k, &r);
}

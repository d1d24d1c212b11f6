/* walks.c - random pages through real frames, each compared with the reference. */
#include "model.h"

#include <stdio.h>

#include "frame_kit.h"

/* ---- requests ---- */

static struct ref_filter
draw_filter(struct model *m, const struct ref_thread *t)
{
    struct ref_filter f = {0};
    if (chance(m, 40))
        return f;
    if (chance(m, 40))
        f.by = 1 + (unsigned)draw(m, (1U << REF_USERS) - 1);
    if (chance(m, 40))
        f.kinds = 1 + (unsigned)draw(m, 7);
    if (chance(m, 20))
        f.link = true;
    if (chance(m, 15))
        f.reply = true;
    if (chance(m, 8))
        f.thread_of = 1 + draw(m, 4);
    if (t->n_rows > 0 && chance(m, 15))
        f.from = t->rows[draw(m, (uint64_t)t->n_rows)].pos.at;
    if (t->n_rows > 0 && chance(m, 15))
        f.to = t->rows[draw(m, (uint64_t)t->n_rows)].pos.at + draw(m, 2);
    return f;
}

struct text
{
    char b[2048];
    size_t n;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->b + t->n, sizeof(t->b) - t->n, format, args);
    va_end(args);
    assert_true(t->n < sizeof(t->b));
}

/* The set in any order, with repeats. */
static void
put_set(struct model *m, struct text *t, const char *field, unsigned bits, int n,
        const char *const *names)
{
    int start = (int)draw(m, (uint64_t)n);
    const char *gap = "";
    if (bits == 0)
        return;
    put(t, "%s'%s':[", t->b[t->n - 1] == '{' ? "" : ",", field);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++)
        {
            int v = (start + i) % n;
            if ((bits & 1U << v) == 0 || (pass == 1 && !chance(m, 20)))
                continue;
            put(t, "%s'%s'", gap, names[v]);
            gap = ",";
        }
    put(t, "]");
}

static void
put_number(struct text *t, const char *field, uint64_t v)
{
    if (v != 0)
        put(t, "%s'%s':%llu", t->b[t->n - 1] == '{' ? "" : ",", field, (unsigned long long)v);
}

static void
put_filter(struct model *m, struct text *t, const struct ref_filter *f)
{
    static const char *const has[] = {"link", "reply"};
    put(t, ",'filter':{");
    put_set(m, t, "by", f->by, REF_USERS, user_names);
    put_set(m, t, "kind", f->kinds, 3, kind_names);
    put_set(m, t, "has", (f->link ? 1U : 0U) | (f->reply ? 2U : 0U), 2, has);
    put_number(t, "thread_of", f->thread_of);
    put_number(t, "from", f->from);
    put_number(t, "to", f->to);
    put(t, "}");
}

/* ---- replies ---- */

static void
check_message(const struct asked *a, const json_t *msg, const struct ref_row *row)
{
    const struct ref_state *s = ref_state_at(row, a->version);
    if (ck_uint(msg, "seq") != row->pos.seq)
        mismatch("seq %llu, reference %llu", (unsigned long long)ck_uint(msg, "seq"),
                 (unsigned long long)row->pos.seq);
    assert_int_equal(ck_uint(msg, "at"), row->pos.at);
    if (ck_uint(msg, "version") != s->version)
        mismatch("row %llu has version %llu, reference %llu", (unsigned long long)row->pos.seq,
                 (unsigned long long)ck_uint(msg, "version"), (unsigned long long)s->version);
    bool deleted = json_is_true(json_object_get(msg, "deleted"));
    assert_int_equal(deleted, s->deleted);
    const char *text = json_string_value(json_object_get(msg, "text"));
    if (s->deleted)
    {
        assert_null(text);
        assert_null(json_object_get(msg, "by"));
        return;
    }
    assert_non_null(text);
    if (strtoul(text + 1, NULL, 10) != s->text)
        mismatch("row %llu: text %s, reference n%u", (unsigned long long)row->pos.seq, text,
                 s->text);
    assert_string_equal(json_string_value(json_object_get(msg, "by")), user_names[row->by]);
}

static void
hold(struct model *m, const struct asked *a, const json_t *reply, const char *key,
     struct ref_pos pos)
{
    struct held *h = &m->held[draw(m, HELD)];
    *h = (struct held){.serial = m->readers[a->reader].serial, .walk = *a};
    h->walk.newer = strcmp(key, "newer") == 0;
    h->walk.around = false;
    h->walk.pos = pos;
    snprintf(h->json, sizeof(h->json), "%s", ck_cursor(reply, key));
    m->readers[a->reader].issued++;
}

static bool
has_cursor(const json_t *reply, const char *key)
{
    const json_t *v = json_object_get(reply, key);
    assert_non_null(v);
    return !json_is_null(v);
}

/* "...or when the next row would take it past page_bytes (at least one row)". */
static void
check_bytes(const struct asked *a, const json_t *messages)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < json_array_size(messages); i++)
    {
        struct sb_bytes b = kit_pack_value(json_array_get(messages, i));
        bytes += b.len;
        kit_free(b);
    }
    if (json_array_size(messages) > 1 && bytes > a->page_bytes)
        mismatch("%llu bytes in a page of %llu", (unsigned long long)bytes,
                 (unsigned long long)a->page_bytes);
}

static void
check_page(struct model *m, const struct asked *a, const json_t *reply)
{
    const struct ref_row *want[SB_MAX_PAGE];
    bool more;
    const struct ref_thread *t = &m->threads[a->thread];
    struct ref_reader who = m->readers[a->reader].who;
    int n = ref_page(t, who, a->version, &a->filter, a->pos, a->newer, a->limit, want, &more);
    json_t *got = json_object_get(reply, "messages");
    int count = (int)json_array_size(got);
    const char *key = a->newer ? "newer" : "older";
    bool next = has_cursor(reply, key);
    if (count > n || (count < n && !a->may_stop))
        mismatch("%d rows, reference %d: %s", count, n, ck_seqs(reply));
    if (count < n && !next)
        mismatch("the end after %d rows of %d", count, n);
    if (more && !next)
        mismatch("the end, but there is more");
    if (!more && next && count == n && !a->may_stop)
        mismatch("a cursor, but nothing is left");
    /* Those nearest to the position, without a gap. */
    int first = a->newer ? 0 : n - count;
    for (int i = 0; i < count; i++)
        check_message(a, json_array_get(got, (size_t)i), want[first + i]);
    struct ref_pos pos = a->pos;
    if (count != 0)
        pos = a->newer ? want[count - 1]->pos : want[first]->pos;
    if (next)
        hold(m, a, reply, key, pos);
    if (a->page_bytes != 1 << 20)
        check_bytes(a, got);
    m->rows += (uint64_t)count;
}

static void
check_around(struct model *m, const struct asked *a, const json_t *reply)
{
    const struct ref_row *older[SB_MAX_PAGE];
    const struct ref_row *newer[SB_MAX_PAGE];
    const struct ref_thread *t = &m->threads[a->thread];
    struct ref_reader who = m->readers[a->reader].who;
    json_t *got = json_object_get(reply, "messages");
    int count = (int)json_array_size(got);
    if (!a->centre_found)
    {
        assert_int_equal(count, 0);
        assert_true(json_is_false(json_object_get(reply, "found")));
        assert_false(has_cursor(reply, "older") || has_cursor(reply, "newer"));
        return;
    }
    bool more_older;
    bool more_newer;
    int o = ref_page(t, who, a->version, &a->filter, a->pos, false, a->limit, older, &more_older);
    int w =
        ref_page(t, who, a->version, &a->filter, a->newer_pos, true, a->limit, newer, &more_newer);
    /* Half on each side; what one side has not, the other one gets. */
    int n_older = o;
    int n_newer = w;
    while (n_older + n_newer > a->limit)
    {
        if (n_older > a->limit / 2)
            n_older--;
        else
            n_newer--;
    }
    if (count != n_older + n_newer)
        mismatch("around: %d rows, reference %d + %d: %s", count, n_older, n_newer, ck_seqs(reply));
    for (int i = 0; i < n_older; i++)
        check_message(a, json_array_get(got, (size_t)i), older[o - n_older + i]);
    for (int i = 0; i < n_newer; i++)
        check_message(a, json_array_get(got, (size_t)(n_older + i)), newer[i]);
    assert_int_equal(json_is_true(json_object_get(reply, "found")), w > 0);
    assert_int_equal(has_cursor(reply, "older"), more_older || n_older < o);
    assert_int_equal(has_cursor(reply, "newer"), more_newer || n_newer < w);
    if (has_cursor(reply, "older"))
        hold(m, a, reply, "older", n_older > 0 ? older[o - n_older]->pos : a->pos);
    if (has_cursor(reply, "newer"))
        hold(m, a, reply, "newer", n_newer > 0 ? newer[n_newer - 1]->pos : a->newer_pos);
    m->rows += (uint64_t)count;
}

/* What must be refused, by the rights of now. "" when rows are due. */
static const char *
refusal(const struct model *m, const struct asked *a)
{
    struct ref_pos join;
    enum ref_scope scope = ref_access(&m->threads[a->thread], m->readers[a->reader].who, &join);
    if (scope == REF_FORBIDDEN)
        return "forbidden";
    if (a->misused)
        return "invalid_cursor";
    if (scope != a->scope || ref_pos_cmp(join, a->join) != 0)
        return a->has_cursor ? "invalid_cursor" : "forbidden";
    return "";
}

static void
check_reply(struct model *m, const struct asked *a, const json_t *reply)
{
    const char *due = refusal(m, a);
    const char *code = ck_error(reply);
    m->pages++;
    if (a->may_evict && a->has_cursor && strcmp(code, "invalid_cursor") == 0)
        return;
    if (strcmp(code, due) != 0)
        mismatch("error \"%s\", reference \"%s\"", code, due);
    if (code[0] != '\0')
    {
        m->refusals++;
        return;
    }
    assert_int_equal(ck_uint(reply, "version"), a->version);
    assert_int_equal(ck_uint(reply, "now"), m->last_version);
    if (a->around)
        check_around(m, a, reply);
    else
        check_page(m, a, reply);
}

/* ---- waiting ones ---- */

static void
poll_replies(struct model *m)
{
    for (int i = 0; i < PENDING; i++)
    {
        struct waiting *w = &m->pending[i];
        if (w->id == 0)
            continue;
        struct ck_client *c = m->readers[w->asked.reader].c;
        json_t *reply = ck_reply(c, w->id);
        if (reply == NULL)
            continue;
        note("reply to %llu: %s", (unsigned long long)w->id, ck_error(reply));
        w->id = 0;
        check_reply(m, &w->asked, reply);
        json_array_clear(c->frames);
    }
}

void
run_slices(struct model *m, bool all)
{
    uint64_t n = draw(m, 6);
    for (uint64_t i = 0; all || i < n; i++)
    {
        if (!ck_slice(&m->k))
            break;
        m->slices++;
        poll_replies(m);
    }
}

static void
ask(struct model *m, const struct asked *a, const struct text *request)
{
    struct ck_client *c = m->readers[a->reader].c;
    struct waiting *w = NULL;
    for (int i = 0; i < PENDING; i++)
        if (m->pending[i].id == 0)
            w = &m->pending[i];
    assert_non_null(w);
    note("reader %d (%s%s): %s", a->reader, m->readers[a->reader].who.service ? "!" : "",
         user_names[m->readers[a->reader].who.user], request->b);
    w->asked = *a;
    w->asked.may_stop = m->short_pages;
    w->asked.page_bytes = m->k.settings.page_bytes;
    w->asked.may_evict = m->readers[a->reader].issued > SB_MAX_PAGE / 4;
    w->id = ck_send(c, "%s", request->b);
    poll_replies(m);
    /* An around's centre is chosen at once: nothing may be written until it is answered. */
    bool free_one = false;
    for (int i = 0; i < PENDING; i++)
        free_one = free_one || m->pending[i].id == 0;
    if (a->around || !free_one)
        run_slices(m, true);
}

void
forget_reader(struct model *m, int reader)
{
    for (int i = 0; i < PENDING; i++)
        if (m->pending[i].id != 0 && m->pending[i].asked.reader == reader)
            m->pending[i].id = 0;
}

/* ---- first pages ---- */

/* A row that the reader sees at the snapshot, or NULL for a number that names none. */
static const struct ref_row *
named_row(const struct asked *a, const struct ref_thread *t, uint64_t seq)
{
    if (seq == 0 || seq > (uint64_t)t->n_rows)
        return NULL;
    const struct ref_row *r = &t->rows[seq - 1];
    if (ref_state_at(r, a->version) == NULL || ref_pos_cmp(r->pos, a->join) <= 0)
        return NULL;
    return r;
}

static void
start_around(struct model *m, struct asked *a, struct text *req)
{
    const struct ref_thread *t = &m->threads[a->thread];
    a->around = true;
    if (chance(m, 50))
    {
        uint64_t seq = draw(m, (uint64_t)t->n_rows + 2);
        const struct ref_row *r = named_row(a, t, seq);
        put(req, ",'seq':%llu", (unsigned long long)seq);
        a->centre_found = r != NULL && ref_matches(&a->filter, r, ref_state_at(r, a->version));
        if (a->centre_found)
        {
            a->pos = r->pos;
            a->newer_pos = (struct ref_pos){r->pos.at, r->pos.seq - 1};
        }
        return;
    }
    uint64_t at = t->n_rows == 0 ? 5 : t->rows[draw(m, (uint64_t)t->n_rows)].pos.at;
    at += draw(m, 3);
    put(req, ",'at':%llu", (unsigned long long)at);
    a->centre_found = true;
    a->pos = a->newer_pos = (struct ref_pos){at, 0};
}

/* False: it is refused at once, and was checked. */
static bool
start_beside(struct model *m, struct asked *a, struct text *req)
{
    const struct ref_thread *t = &m->threads[a->thread];
    uint64_t seq = draw(m, (uint64_t)t->n_rows + 2);
    const struct ref_row *r = named_row(a, t, seq);
    put(req, ",'%s':%llu", a->newer ? "after" : "before", (unsigned long long)seq);
    if (r != NULL)
    {
        a->pos = r->pos;
        return true;
    }
    const char *due = a->scope == REF_FORBIDDEN ? "forbidden" : "not_found";
    put(req, "}");
    struct ck_client *c = m->readers[a->reader].c;
    const json_t *reply = ck_reply(c, ck_send(c, "%s", req->b));
    if (reply == NULL || strcmp(ck_error(reply), due) != 0)
        mismatch("%s: not %s", req->b, due);
    poll_replies(m);
    return false;
}

/* Settings that change how a page is read, and must not change what is in it. */
static void
turn_knobs(struct model *m)
{
    struct sb_settings *set = &m->k.settings;
    if (!chance(m, 10))
        return;
    m->k.clock_step = chance(m, 25) ? 0 : 1 + draw(m, 50);
    set->scan_slice_us = chance(m, 75) ? 0 : draw(m, 100);
    set->page_bytes = chance(m, 75) ? 1 << 20 : 1 + draw(m, 3000);
    set->scan_budget_us = chance(m, 75) ? UINT64_C(1) << 40 : 1 + draw(m, 200);
    m->short_pages = set->page_bytes != 1 << 20 || set->scan_budget_us < UINT64_C(1) << 40;
    for (int i = 0; i < PENDING; i++) /* the budget counts for those that wait, too */
        m->pending[i].asked.may_stop = m->pending[i].asked.may_stop || m->short_pages;
}

static int
draw_limit(struct model *m)
{
    return chance(m, 60) ? 1 + (int)draw(m, 12) : 1 + (int)draw(m, SB_MAX_PAGE);
}

void
start_walk(struct model *m)
{
    struct asked a = {.reader = (int)draw(m, READERS), .version = m->last_version};
    struct text req = {.n = 0};
    if (m->n_threads == 0 || m->readers[a.reader].c == NULL)
        return;
    turn_knobs(m);
    a.thread = (int)draw(m, (uint64_t)m->n_threads);
    a.newer = chance(m, 40);
    a.limit = draw_limit(m);
    a.filter = draw_filter(m, &m->threads[a.thread]);
    a.scope = ref_access(&m->threads[a.thread], m->readers[a.reader].who, &a.join);
    a.pos = a.newer ? (struct ref_pos){0, 0} : (struct ref_pos){UINT64_MAX, UINT64_MAX};
    bool around = chance(m, 20) && !m->short_pages;
    put(&req, "{'op':'load_%s','thread':'%s','limit':%d",
        around    ? "around"
        : a.newer ? "newer"
                  : "older",
        thread_names[a.thread], a.limit);
    put_filter(m, &req, &a.filter);
    if (around)
        start_around(m, &a, &req);
    else if (chance(m, 20) && !start_beside(m, &a, &req))
        return;
    put(&req, "}");
    ask(m, &a, &req);
}

/* ---- further pages ---- */

static bool
same_filter(const struct ref_filter *x, const struct ref_filter *y)
{
    return x->by == y->by && x->kinds == y->kinds && x->link == y->link && x->reply == y->reply &&
           x->thread_of == y->thread_of && x->from == y->from && x->to == y->to;
}

/* Presents it where it does not belong. */
static void
misuse(struct model *m, struct asked *a)
{
    struct asked was = *a;
    uint64_t serial = m->readers[a->reader].serial;
    switch (draw(m, 4))
    {
    case 0:
        a->thread = (int)draw(m, (uint64_t)m->n_threads);
        break;
    case 1:
        a->newer = !a->newer;
        break;
    case 2:
        a->filter = draw_filter(m, &m->threads[a->thread]);
        break;
    default:
        a->reader = (int)draw(m, READERS);
        break;
    }
    if (m->readers[a->reader].c == NULL)
        a->reader = was.reader;
    a->misused = a->thread != was.thread || a->newer != was.newer ||
                 !same_filter(&a->filter, &was.filter) || m->readers[a->reader].serial != serial;
}

void
go_on(struct model *m)
{
    struct text req = {.n = 0};
    struct held *h = &m->held[draw(m, HELD)];
    for (int i = 0; i < 8 && h->serial == 0; i++)
        h = &m->held[draw(m, HELD)];
    struct asked a = h->walk;
    if (h->serial == 0 || m->readers[a.reader].serial != h->serial)
        return;
    turn_knobs(m);
    a.has_cursor = true;
    if (chance(m, 6))
        misuse(m, &a);
    if (chance(m, 50))
        a.limit = draw_limit(m);
    put(&req, "{'op':'load_%s','thread':'%s','limit':%d,'cursor':%s", a.newer ? "newer" : "older",
        thread_names[a.thread], a.limit, h->json);
    put_filter(m, &req, &a.filter);
    put(&req, "}");
    if (chance(m, 70))
        h->serial = 0; /* else it is used again later: a replay */
    ask(m, &a, &req);
}

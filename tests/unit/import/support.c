/* support.c - see support.h. */
#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct capture kept;
static char work[64];

static void
copy(char *out, size_t cap, struct sb_bytes s)
{
    size_t n = s.len < cap - 1 ? s.len : cap - 1;
    if (n != 0)
        memcpy(out, s.data, n);
    out[n] = '\0';
}

static int
on_row(void *ctx, struct sb_bytes thread, const struct sb_record_import *row)
{
    struct capture *c = ctx;
    const struct sb_message *m = &row->message;
    c->total++;
    if (c->stop_at != 0 && c->total == c->stop_at)
        return c->stop_with;
    if (c->n == CAPTURE_MAX)
        return 0;
    struct capture_row *r = &c->rows[c->n++];
    copy(r->thread, sizeof(r->thread), thread);
    copy(r->by, sizeof(r->by), m->by);
    copy(r->kind, sizeof(r->kind), m->kind);
    copy(r->id, sizeof(r->id), m->source_id);
    copy(r->reply_to, sizeof(r->reply_to), row->reply_to_id);
    r->text = malloc(m->text.len + 1);
    assert_non_null(r->text);
    copy(r->text, m->text.len + 1, m->text);
    r->text_len = m->text.len;
    r->at = m->at;
    r->edited_at = m->edited_at.set ? m->edited_at.value : 0;
    r->deleted = m->deleted;
    r->n_mentions = m->n_mentions;
    r->n_attachments = m->n_attachments;
    r->n_reactions = row->n_reactions;
    for (uint32_t i = 0; i < m->n_mentions && i < 8; i++)
        copy(r->mention[i], sizeof(r->mention[i]), m->mentions[i]);
    if (m->meta.len <= sizeof(r->meta) && m->meta.len != 0)
        memcpy(r->meta, m->meta.data, m->meta.len);
    r->meta_len = m->meta.len;
    return 0;
}

static void
on_skipped(void *ctx, const char *where, const char *why)
{
    struct capture *c = ctx;
    if (c->n_skipped < CAPTURE_MAX)
        (void)snprintf(c->skipped[c->n_skipped++], sizeof(c->skipped[0]), "%.500s: %.120s", where,
                       why);
}

static void
on_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct capture *c = ctx;
    assert_true(done >= c->done);
    c->done = done;
    c->of = total;
}

static struct capture *
run(const char *format, const char *path, const struct sb_import_options *o, size_t row, int value)
{
    static const struct sb_import_options defaults;
    struct sb_import_sink sink = {&kept, on_row, on_skipped, on_progress};
    const struct sb_import_format *f = sb_import_format_find(format);
    assert_non_null(f);
    for (size_t i = 0; i < kept.n; i++)
        free(kept.rows[i].text);
    memset(&kept, 0, sizeof(kept));
    kept.stop_at = row;
    kept.stop_with = value;
    kept.rc = f->read(path, o == NULL ? &defaults : o, &sink, &kept.counts, kept.why);
    return &kept;
}

struct capture *
capture_path(const char *format, const char *path, const struct sb_import_options *o)
{
    return run(format, path, o, 0, 0);
}

struct capture *
capture_stopping(const char *format, const char *path, size_t row, int value)
{
    return run(format, path, NULL, row, value);
}

const char *
work_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    if (work[0] == '\0')
    {
        (void)snprintf(work, sizeof(work), "/tmp/sb-import-XXXXXX");
        assert_non_null(mkdtemp(work));
    }
    char *out = paths[next++ % 4];
    (void)snprintf(out, sizeof(paths[0]), "%s/%.400s", work, name);
    return out;
}

const char *
write_file(const char *name, const void *data, size_t len)
{
    const char *path = work_path(name);
    char folder[512];
    (void)snprintf(folder, sizeof(folder), "%.500s", path);
    for (char *p = folder + strlen(work) + 1; (p = strchr(p, '/')) != NULL; p++)
    {
        *p = '\0';
        (void)mkdir(folder, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    return path;
}

const char *
write_text(const char *name, const char *text)
{
    return write_file(name, text, strlen(text));
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

int
remove_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < kept.n; i++)
        free(kept.rows[i].text);
    kept.n = 0;
    if (work[0] != '\0')
        (void)nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    work[0] = '\0';
    return 0;
}

const char *
fixture(const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", SB_FIXTURES, name);
    return path;
}

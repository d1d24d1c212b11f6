/*
 * post_bench.c - what the store costs by itself: durable posts, a bulk load, pages.
 *
 * It speaks to the port only, without core or wire. Figures go to stdout as tables.
 */
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "store/store.h"

#define THREADS 200
#define PAGE 51

static uint64_t random_state = 88172645463325252U;

static uint64_t
next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void
fill_random(void *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)buf)[i] = (uint8_t)next_random();
}

static double
now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "post_bench: %s: %s\n", what, sb_error_text(rc));
    exit(1);
}

/* A field of /proc/self/status in kB. */
static long
status_kb(const char *field)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            kb = strtol(line + strlen(field) + 1, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kb;
}

static double
file_mb(const char *dir)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/data.mdb", dir);
    return stat(path, &st) == 0 ? (double)st.st_size / 1e6 : 0;
}

static struct sb_thread threads[THREADS];
static char names[THREADS][24];

static struct sb_store *
open_store(const char *dir, enum sb_store_mode mode, uint32_t derive_after)
{
    struct sb_store *s;
    struct sb_store_failure why;
    const struct sb_store_options o = {.dir = dir,
                                       .mode = mode,
                                       .now_ms = UINT64_C(1700000000000),
                                       .derive_after = derive_after,
                                       .random = fill_random};
    if (sb_store_open(&o, &s, &why) != 0)
    {
        fprintf(stderr, "post_bench: %s\n", why.text);
        exit(1);
    }
    return s;
}

static void
make_threads(struct sb_store *s)
{
    struct sb_txn *t;
    must(s->ops->write_begin(s, &t), "begin");
    for (int i = 0; i < THREADS; i++)
    {
        snprintf(names[i], sizeof(names[i]), "thread-%d", i);
        threads[i] = (struct sb_thread){.tenant = SB_LIT("default"),
                                        .name = sb_bytes_str(names[i]),
                                        .next_seq = 1,
                                        .newest_at = UINT64_C(1700000000000)};
        threads[i].created = s->ops->version_next(t);
        must(s->ops->thread_put(t, &threads[i]), "thread");
        const struct sb_member m = {.role = SB_ROLE_WRITER, .join_version = threads[i].created};
        must(s->ops->member_put(t, &threads[i], SB_LIT("alice"), &m), "member");
    }
    must(s->ops->write_commit(t), "commit");
    s->ops->publish(s);
}

/* One post as the applier makes it: a body of ~260 bytes, two tags, a nonce or a source. */
static void
post(struct sb_store *s, struct sb_txn *t, bool import)
{
    struct sb_thread *thread = &threads[next_random() % THREADS];
    uint8_t body[512];
    size_t len = import ? 150 + next_random() % 50 : 260;
    struct sb_hash tags[2], id, digest;
    fill_random(&id, sizeof(id));
    memset(&digest, 7, sizeof(digest));
    memset(body, 'x', len);
    s->ops->hash(s, SB_LIT("by:alice"), &tags[0]);
    s->ops->hash(s, SB_LIT("has:link"), &tags[1]);
    thread->newest_at += next_random() % 1000;
    struct sb_row row = {.pos = {thread->newest_at, thread->next_seq++},
                         .n_tags = next_random() % 4 == 0 ? 2 : 1,
                         .tags = tags,
                         .body = sb_bytes(body, len)};
    row.created = row.changed = s->ops->version_next(t);
    const struct sb_change c = {.version = row.created,
                                .thread = thread->id,
                                .pos = row.pos,
                                .kind = SB_CHANGE_POST,
                                .time_ms = s->ops->change_time(t, thread->newest_at),
                                .has_nonce = !import,
                                .nonce = id};
    const struct sb_nonce n = {row.pos.seq, row.pos.at, row.created, c.time_ms};
    const struct sb_source src = {row.pos.seq, digest};
    struct sb_source had;
    if (import && s->ops->source_get(t, thread->id, &id, &had) == 0)
        must(SB_ERR_EXISTS, "source");
    must(s->ops->row_insert(t, thread->id, &row), "row");
    must(s->ops->thread_put(t, thread), "thread");
    must(s->ops->change_append(t, &c), "change");
    if (import)
        must(s->ops->source_put(t, thread->id, &id, &src), "source");
    else
        must(s->ops->nonce_put(t, &id, &n), "nonce");
}

/* Bytes that this process has sent to the disk. */
static double
written_bytes(void)
{
    char line[256];
    double bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "write_bytes:", 12) == 0)
            bytes = strtod(line + 12, NULL);
    if (f != NULL)
        fclose(f);
    return bytes;
}

static double
cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct figures
{
    double per_second, cpu_us, kb; /* CPU and disk writes per post */
    double commit_ms;              /* CPU of the longest commit */
};

static struct figures
posts(const char *dir, size_t batch, size_t rows, uint32_t derive_after)
{
    char path[4096], cmd[4200];
    snprintf(path, sizeof(path), "%s/posts", dir);
    struct sb_store *s = open_store(path, SB_STORE_SERVE, derive_after);
    make_threads(s);
    double start = now_s(), took = 0, cpu = cpu_s(), bytes = written_bytes(), longest = 0;
    size_t n = 0;
    while (n < rows)
    {
        struct sb_txn *t;
        must(s->ops->write_begin(s, &t), "begin");
        for (size_t i = 0; i < batch; i++)
            post(s, t, false);
        double commit = cpu_s();
        must(s->ops->write_commit(t), "commit");
        commit = cpu_s() - commit;
        longest = commit > longest ? commit : longest;
        s->ops->publish(s);
        n += batch;
    }
    must(sb_store_settle(s), "settle"); /* what was put off counts too */
    took = now_s() - start;
    cpu = cpu_s() - cpu;
    bytes = written_bytes() - bytes;
    sb_store_close(s);
    snprintf(cmd, sizeof(cmd), "rm -r '%s'", path);
    if (system(cmd) != 0)
        must(SB_ERR_IO, "remove");
    return (struct figures){(double)n / took, cpu / (double)n * 1e6, bytes / (double)n / 1e3,
                            longest * 1e3};
}

static void
bench_posts(const char *dir, double scale, uint32_t derive_after)
{
    static const size_t batches[][2] = {/* rows per commit, rows */
                                        {1, 1024},
                                        {16, 8192},
                                        {64, 32768},
                                        {256, 65536},
                                        {1024, 131072}};
    printf("durable posts, %d threads, 260-byte bodies\n", THREADS);
    printf("%8s | %-36s | %s\n", "", "derived with the row", "derived behind");
    printf("%8s | %10s %8s %8s %7s | %10s %8s %8s %7s\n", "batch", "posts/s", "CPU us", "disk kB",
           "max ms", "posts/s", "CPU us", "disk kB", "max ms");
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
    {
        size_t batch = batches[i][0], rows = (size_t)((double)batches[i][1] * scale);
        struct figures with = posts(dir, batch, rows, 1);
        struct figures behind = posts(dir, batch, rows, derive_after);
        printf("%8zu | %10.0f %8.1f %8.1f %7.1f | %10.0f %8.1f %8.1f %7.1f\n", batch,
               with.per_second, with.cpu_us, with.kb, with.commit_ms, behind.per_second,
               behind.cpu_us, behind.kb, behind.commit_ms);
        fflush(stdout);
    }
}

static void
bench_pages(const char *path)
{
    struct sb_store *s = open_store(path, SB_STORE_SERVE, 0);
    static uint8_t page[1 << 20];
    const int rounds = 20000;
    size_t bytes = 0;
    double start = 0;
    for (int i = -rounds / 10; i < rounds; i++)
    {
        struct sb_txn *t;
        struct sb_thread thread;
        struct sb_member member;
        struct sb_row row;
        uint32_t budget = 1000;
        if (i == 0)
            start = now_s();
        must(s->ops->read_begin(s, &t), "read");
        must(s->ops->thread_find(t, SB_LIT("default"), sb_bytes_str(names[next_random() % THREADS]),
                                 &thread),
             "thread");
        must(s->ops->member_get(t, thread.id, SB_LIT("alice"), &member), "member");
        must(s->ops->row_seek(t, thread.id, SB_POS_MAX, SB_OLDER, s->ops->published(s)), "seek");
        size_t len = 0;
        for (int n = 0; n < PAGE && s->ops->row_step(t, &budget, &row) == 0; n++)
        {
            memcpy(page + len, row.body.data, row.body.len);
            len += row.body.len;
        }
        bytes += len;
        s->ops->read_end(t);
    }
    double took = now_s() - start;
    printf("newest page of %d rows, thread and member looked up: %.2f us (%zu bytes)\n", PAGE,
           took / rounds * 1e6, bytes / (size_t)(rounds + rounds / 10));
    struct sb_store_report report;
    start = now_s();
    must(sb_store_check(s, UINT64_MAX, NULL, NULL, &report), "check");
    printf("check: %.1f s\n", now_s() - start);
    sb_store_close(s);
}

static void
bench_bulk(const char *dir, size_t rows, size_t batch)
{
    char path[4096];
    struct sb_store_failure why;
    snprintf(path, sizeof(path), "%s/bulk", dir);
    struct sb_store *s = open_store(path, SB_STORE_BULK, 0);
    make_threads(s);
    double start = now_s();
    for (size_t n = 0; n < rows;)
    {
        struct sb_txn *t;
        must(s->ops->write_begin(s, &t), "begin");
        for (size_t i = 0; i < batch && n < rows; i++, n++)
            post(s, t, true);
        must(s->ops->write_commit(t), "commit");
        s->ops->publish(s);
    }
    must(sb_store_settle(s), "settle");
    double loaded = now_s();
    long anon = status_kb("RssAnon:");
    double before = file_mb(path);
    sb_store_close(s);
    if (sb_store_repack(path, 0, NULL, NULL, &why) != 0)
    {
        fprintf(stderr, "post_bench: %s\n", why.text);
        exit(1);
    }
    printf("bulk: %zu rows in %.1f s, repacked in %.1f s; %.0f MB, repacked %.0f MB; anonymous "
           "memory %ld MB loaded, %ld MB repacked\n",
           rows, loaded - start, now_s() - loaded, before, file_mb(path), anon / 1024,
           status_kb("RssAnon:") / 1024);
    bench_pages(path);
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "--help";
    if (argc >= 3 && strcmp(what, "posts") == 0)
    {
        bench_posts(argv[2], argc > 3 ? strtod(argv[3], NULL) : 1,
                    argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0);
    }
    else if (argc >= 3 && strcmp(what, "bulk") == 0)
    {
        bench_bulk(argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000,
                   argc > 4 ? strtoul(argv[4], NULL, 10) : 16384);
    }
    else
    {
        printf(
            "usage: post_bench posts DIR [SCALE [DERIVE_AFTER]]    durable posts/s by batch size\n"
            "       post_bench bulk DIR [ROWS [BATCH]]    a bulk load, its repack, pages, a check\n"
            "DIR: an empty directory on the disk to measure; `bulk` leaves DIR/bulk behind.\n");
        return strcmp(what, "--help") == 0 ? 0 : 2;
    }
    return 0;
}

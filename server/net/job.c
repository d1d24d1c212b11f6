/* job.c - see job.h. */
#include "net/job.h"

#include <stdlib.h>
#include <uv.h>

#include "base/error.h"

struct job
{
    uv_work_t work;
    void (*run)(void *arg);
    void (*done)(void *arg);
    void *arg;
};

static void
work_cb(uv_work_t *w)
{
    struct job *j = w->data;
    j->run(j->arg);
}

static void
after_cb(uv_work_t *w, int status)
{
    struct job *j = w->data;
    (void)status; /* never cancelled */
    j->done(j->arg);
    free(j);
}

int
sb_uv_run_job(void *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
    struct job *j = malloc(sizeof(*j));
    if (j == NULL)
        return SB_ERR_NO_MEMORY;
    *j = (struct job){.run = run, .done = done, .arg = arg};
    j->work.data = j;
    if (uv_queue_work(loop, &j->work, work_cb, after_cb) == 0)
        return 0;
    free(j);
    return SB_ERR_INTERNAL;
}

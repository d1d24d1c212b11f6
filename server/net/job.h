/*
 * job.h - runs work on libuv's thread pool: the run_job that the change log asks for.
 */
#ifndef SB_NET_JOB_H
#define SB_NET_JOB_H

/*
 * `run(arg)` on a pool thread, then `done(arg)` on the loop's. `loop` is a uv_loop_t *.
 * 0 or SB_ERR_NO_MEMORY, SB_ERR_INTERNAL: then neither is called.
 */
int sb_uv_run_job(void *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg);

#endif

/*
 * kv_fault.h - a map around another one whose n-th call fails, and that can outlive a store.
 */
#ifndef SB_TEST_KV_FAULT_H
#define SB_TEST_KV_FAULT_H

#include "store/kv.h"

struct kv_fault;

/* Takes `inner` over. With `keep`, closing the store leaves it open: start another on it. */
struct kv_fault *kv_fault_create(struct sb_kv *inner, bool keep);
struct sb_kv *kv_fault_kv(struct kv_fault *f);
/* Closes the inner map of a kept one. */
void kv_fault_destroy(struct kv_fault *f);

/* The n-th call from now (1: the next) returns `code`, once. 0: none. */
void kv_fault_arm(struct kv_fault *f, uint64_t n, int code);
/* The same, of puts and commits only. */
void kv_fault_arm_writes(struct kv_fault *f, uint64_t n, int code);
/* Whether the armed call came. */
bool kv_fault_hit(const struct kv_fault *f);
/* Transactions that are open. */
int kv_fault_open(const struct kv_fault *f);

#endif

/*
 * alloc_fault.h - the n-th allocation fails, in a program linked with
 * -Wl,--wrap=malloc,--wrap=calloc,... (see CMakeLists.txt): in the code under test and in
 * msgpack-c, not in shared libraries.
 *
 * Counted only while the kit's gate is open, so that a test's own allocations never fail.
 */
#ifndef SB_TESTS_ALLOC_FAULT_H
#define SB_TESTS_ALLOC_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* The n-th allocation from now (1: the next) returns NULL, once. 0: none. */
void alloc_fault_arm(uint64_t n);
/* Whether the armed one came. */
bool alloc_fault_hit(void);
/* As core_kit.h's ck_gate. */
void alloc_fault_gate(bool open);

#endif

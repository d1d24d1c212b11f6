/* alloc_fault.c - see alloc_fault.h. The names are the linker's. */
#include "alloc_fault.h"

#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static uint64_t left;
static bool hit, gate;

void
alloc_fault_arm(uint64_t n)
{
    left = n;
    hit = false;
}

bool
alloc_fault_hit(void)
{
    return hit;
}

void
alloc_fault_gate(bool open)
{
    gate = open;
}

static bool
fails(void)
{
    if (!gate || left == 0 || --left != 0)
        return false;
    hit = true;
    return true;
}

void *
__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

char *
__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

char *
__wrap_strndup(const char *s, size_t n)
{
    return fails() ? NULL : __real_strndup(s, n);
}

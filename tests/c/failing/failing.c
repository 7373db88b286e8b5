/* Preloaded into a Python: makes the n-th allocation of at least a given size fail, and counts those it saw. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void failing_arm(long at, size_t least);
long failing_stop(void);

static size_t smallest = (size_t)-1;
static long left, seen;

static int fails(size_t size) {
    if (__atomic_load_n(&smallest, __ATOMIC_RELAXED) > size) return 0;
    __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) != 0) return 0;
    errno = ENOMEM;
    return 1;
}

void failing_arm(long at, size_t least) {
    left = at;
    seen = 0;
    __atomic_store_n(&smallest, least, __ATOMIC_SEQ_CST);
}

long failing_stop(void) {
    __atomic_store_n(&smallest, (size_t)-1, __ATOMIC_SEQ_CST);
    return seen;
}

void *malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(n && size > (size_t)-1 / n ? (size_t)-1 : n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return size && fails(size) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails(size) ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *found = fails(size) ? NULL : __libc_memalign(alignment, size);
    if (!found) return ENOMEM;
    *out = found;
    return 0;
}

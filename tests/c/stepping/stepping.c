/* The instructions of one library, in the order in which a call executes them: the processor stops after each instruction of
 * the thread (x86-64, the trap flag) and a signal handler notes those that lie between two addresses. For tests on Linux. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

static const uint64_t TRAP_FLAG = 0x100;

static uintptr_t low, high;
static uint32_t *noted;
static size_t room, seen;

size_t stepping_watch(uintptr_t from, uintptr_t to, uint32_t *places, size_t size);
size_t stepping_seen(void);
void *stepping_call(void *(*call)(void *, void *, void *), void *function, void *arguments);

static void note(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    const uintptr_t at = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (at < low || at >= high) return;
    if (seen < room) noted[seen] = (uint32_t)(at - low);
    ++seen;
}

/* Which instructions are noted, those in [from, to), and where: as offsets from `from`, the first `size` of a call. */
size_t stepping_watch(uintptr_t from, uintptr_t to, uint32_t *places, size_t size) {
    low = from, high = to, noted = places, room = size;
    return seen = 0;
}

/* How many there were in the last call. */
size_t stepping_seen(void) { return seen; }

/* What call(function, arguments, NULL) returns: with PyObject_Call, a call of Python without steps of its interpreter. */
void *stepping_call(void *(*call)(void *, void *, void *), void *function, void *arguments) {
    const struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    seen = 0;
    sigaction(SIGTRAP, &action, &before);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
    void *const result = call(function, arguments, NULL);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
    sigaction(SIGTRAP, &before, NULL);
    return result;
}

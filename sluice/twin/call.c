/*
 * What a program has in the twin in place of user/lib's start.S, syscall.c and
 * compute.c: its entry, a stub for each system call, and computing.
 *
 * The library's headers are not included: they give these functions their real
 * types.
 */
#include "sluice/twin/call.h"
#include "kernel/base/abi.h"

typedef i64 gate_fn(const u64 call[1 + CALL_ARGUMENTS]);

static gate_fn *gate;
extern int errno;

void start_main(int argc, char **argv) __attribute__((noreturn));
void _start(int argc, char **argv, gate_fn *);

void _start(int argc, char **argv, gate_fn *to_kernel)
{
    gate = to_kernel;
    start_main(argc, argv);
}

/* On RISC-V the upper half of an int argument is its sign; here it is not
 * defined. So it is set for the two calls whose int may be negative. */
static i64 call(u64 number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    if (number == SYS_wait || number == SYS_kill)
        a = (i32)a;
    i64 result = gate((u64[]){number, a, b, c, d, e, f});
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}

#define exit _exit /* exit() is the library's: it flushes the streams */

#define X(name, nargs)                                  \
    i64 name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f); \
    i64 name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)  \
    {                                                   \
        return call(SYS_##name, a, b, c, d, e, f);      \
    }
SYSCALLS(X)
#undef X

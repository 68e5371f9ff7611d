/*
 * A stub for each system call, made from the one list in kernel/base/abi.h. The
 * arguments are in a0-a5 already. A negative result is an error, which goes to
 * errno.
 *
 * The library's headers are not included: they give these functions their
 * real types.
 */
#include "kernel/base/abi.h"

#define exit _exit /* exit() is the library's: it flushes the streams */

#define X(name, nargs)                                              \
    void name(void);                                                \
    __attribute__((naked)) void name(void)                          \
    {                                                               \
        asm volatile("li a7, %0\n"                                  \
                     "ecall\n"                                      \
                     "bltz a0, 1f\n"                                \
                     "ret\n"                                        \
                     "1: tail syscall_failed\n" ::"i"(SYS_##name)); \
    }
SYSCALLS(X)
#undef X

extern int errno;
i64 syscall_failed(i64 minus_errno);

i64 syscall_failed(i64 minus_errno)
{
    errno = -minus_errno;
    return -1;
}

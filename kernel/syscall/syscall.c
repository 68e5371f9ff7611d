/*
 * System calls: from the registers of a trap to a function and back.
 *
 * - abi.h's SYSCALLS is the one list: it makes the table here, the
 *   prototypes in syscall.h and the stubs of the user library.
 * - A call is found by its number alone; there is nothing else on the way,
 *   so a null call costs its trap and little more.
 * - The arguments are read where the trap saved them. exec overwrites that
 *   frame, so no call may look at its arguments after exec has succeeded.
 * - No user address is ever followed: bytes cross by copyin, copyout,
 *   copyinstr and uio_move, which return -EFAULT.
 */
#include "kernel/syscall/syscall.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

static syscall_fn *const calls[SYS_count] = {
#define X(name, nargs) [SYS_##name] = sys_##name,
    SYSCALLS(X)
#undef X
};

void syscall(struct trapframe *frame)
{
    u64 number = frame->x[REG_A7];
    i64 result = -ENOSYS;
    if (number > SYS_none && number < SYS_count)
        result = calls[number](&frame->x[REG_A0]);
    frame->x[REG_A0] = result;
}

int user_paths(const u64 *user, u32 n, char **page)
{
    *page = page_alloc();
    if (!*page)
        return -ENOMEM;
    for (u32 i = 0; i < n; i++) {
        int length = copyinstr(*page + i * PATH_BYTES, user[i], PATH_BYTES);
        if (length < 0)
            return length;
    }
    return 0;
}

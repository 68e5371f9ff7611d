/*
 * System calls: what the files that carry them out share. Each takes the
 * trapframe's argument registers a0 to a5 and returns a value >= 0 or minus
 * an error number. No user address is ever followed: bytes cross by copyin,
 * copyout, copyinstr and uio_move, which return -EFAULT.
 */
#pragma once

#include "kernel/base/abi.h"

typedef i64 syscall_fn(const u64 *arg);

#define X(name, nargs) syscall_fn sys_##name;
SYSCALLS(X)
#undef X

/*
 * Copy n user strings, at most four, into a new page: the i-th begins at
 * i * PATH_BYTES. 0, -EFAULT, -ENAMETOOLONG or -ENOMEM. The caller frees the
 * page, if there is one, by declaring its pointer as
 *
 *     PAGE_OWNED char *path = NULL;
 */
int user_paths(const u64 *user, u32 n, char **page);

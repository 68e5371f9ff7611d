/* Processes with their open files: fork, exit, exec, and process 1. */
#pragma once

#include "kernel/base/types.h"

i64 process_fork(void); /* the child's pid, or -errno; the child gets 0 */
void process_exit(int status) __attribute__((noreturn));

/* exec.c: replace the current process's program. argc, or -errno. The
 * arguments are the user's strings in a NULL-ended array; without an array, the
 * path alone. */
i64 exec(const char *path, u64 argv_user);

/* Make the calling kernel thread, which is process 1, run the program at path.
 * Stops the boot with the reason if it cannot. */
void process_start_init(const char *path) __attribute__((noreturn));

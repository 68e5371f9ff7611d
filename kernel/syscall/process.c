/*
 * Processes with what they have open: files and a working directory, copied
 * by fork and closed by exit. proc/ has the rest of a process.
 *
 * - Process 1 is the boot thread after it has loaded its program. When it
 *   exits, all is written and the machine goes off.
 */
#include "kernel/syscall/process.h"
#include "kernel/file/console.h"
#include "kernel/file/file.h"
#include "kernel/link/link.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/syscall/trap.h"

#define STATUS_KILLED 102 /* of the machine, if process 1 is killed */

/* The first thing that a forked child runs. */
static void to_user_mode(void *)
{
    trap_return();
}

/* Give the child its own references to all open files and the directory. */
static void copy_files(struct proc *to, const struct proc *from)
{
    for (u32 fd = 0; fd < MAX_FDS; fd++)
        if (from->fds[fd])
            to->fds[fd] = file_dup(from->fds[fd]);
    to->cwd = idup(from->cwd);
}

/* Fork. Return the child's pid to the parent; the child's a0 is 0. */
i64 process_fork(void)
{
    struct proc *child;
    TRY(proc_copy(to_user_mode, &child));
    copy_files(child, myproc());
    child->trapframe->x[REG_A0] = 0;
    return proc_start_child(child);
}

/* ---- ending ---- */

/* Close all files of the process, and let its directory go. */
static void close_files(struct proc *p)
{
    for (u32 fd = 0; fd < MAX_FDS; fd++) {
        file_close(p->fds[fd]);
        p->fds[fd] = NULL;
    }
    if (p->cwd)
        iput(p->cwd);
    p->cwd = NULL;
}

/* Process 1 has exited: leave the disks clean and switch the machine off. */
static void end_machine(int status)
{
    int error = ext2_shutdown();
    if (error)
        kprintf("init: shutdown: error %d\n", -error);
    if (status == WKILLED)
        kprintf("init: killed\n");
    link_end();
    power_off(status == WKILLED ? STATUS_KILLED : status);
}

/* End the current process. Does not return. */
void process_exit(int status)
{
    struct proc *p = myproc();
    close_files(p);
    if (p->pid == 1)
        end_machine(status);
    proc_end(status);
}

/* ---- process 1 ---- */

/* Stop the boot if a step of process 1 has failed. */
static void must(const char *what, i64 result)
{
    if (result >= 0)
        return;
    ext2_shutdown(); /* to write what the boot has changed */
    boot_fail("cannot start process 1: %s: error %ld", what, -result);
}

/* Load the first program into process 1, with the console as descriptors 0 to
 * 2, and go to user mode. */
void process_start_init(const char *path)
{
    struct proc *p = myproc();
    assert(p->pid == 1);
    must("the console", file_open_device(CONSOLE_ID << 8, O_RDWR, &p->fds[0]));
    p->fds[1] = file_dup(p->fds[0]);
    p->fds[2] = file_dup(p->fds[0]);
    must("/", namei("/", 0, &p->cwd));
    i64 argc = exec(path, 0);
    must(path, argc);
    p->trapframe->x[REG_A0] = argc;
    trap_return();
}

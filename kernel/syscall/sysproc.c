/*
 * The system calls about processes, time and the machine. Each checks the
 * numbers and addresses it was given and makes one call of proc or exec,
 * clock or power.
 */
#include "kernel/syscall/process.h"
#include "kernel/syscall/syscall.h"
#include "kernel/ext2/ext2.h"
#include "kernel/measure/cost.h"
#include "kernel/link/link.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/vm.h"

#define PID_MAX    0x7fffffff
#define CHARGE_MAX (1UL << 40) /* instructions */

i64 sys_fork(const u64 *)
{
    return process_fork();
}

/* exit(status): only the lowest 8 bits count. */
i64 sys_exit(const u64 *arg)
{
    process_exit(arg[0] & 0xff);
}

/* wait(pid, status, flags). The address of status is tried out first: a child
 * cannot be waited for twice. */
i64 sys_wait(const u64 *arg)
{
    i64 pid = arg[0];
    u64 status_user = arg[1];
    int status;
    if ((pid != -1 && (pid < 1 || pid > PID_MAX)) || (arg[2] & ~WNOHANG))
        return -EINVAL;
    if (status_user && (copyin(&status, status_user, sizeof(status)) ||
                        copyout(status_user, &status, sizeof(status))))
        return -EFAULT;
    i64 dead = proc_wait(pid, &status, arg[2]);
    if (dead > 0 && status_user &&
        copyout(status_user, &status, sizeof(status)))
        return -EFAULT;
    return dead;
}

/* exec(path, argv): returns only if it fails. */
i64 sys_exec(const u64 *arg)
{
    PAGE_OWNED char *path = NULL;
    TRY(user_paths(arg, 1, &path));
    return arg[1] ? exec(path, arg[1]) : -EFAULT;
}

/* kill(pid): a negative pid means all processes of that group. */
i64 sys_kill(const u64 *arg)
{
    i64 pid = arg[0];
    if (pid == 0 || pid < -PID_MAX || pid > PID_MAX)
        return -EINVAL;
    return proc_kill(pid);
}

i64 sys_getpid(const u64 *)
{
    return myproc()->pid;
}

i64 sys_getppid(const u64 *)
{
    return proc_parent();
}

/* setpgrp(pid, group): 0 means the caller, and a group of its own. */
i64 sys_setpgrp(const u64 *arg)
{
    if (arg[0] > PID_MAX || arg[1] > PID_MAX)
        return -EINVAL;
    return proc_setpgrp(arg[0], arg[1]);
}

/* sbrk(bytes): return where the heap ended before. */
i64 sys_sbrk(const u64 *arg)
{
    return proc_sbrk(arg[0]);
}

/* sleep(ns). Only the clock or kill wakes a sleeper. */
i64 sys_sleep(const u64 *arg)
{
    static struct spinlock lock = SPINLOCK("sleep", RANK_PIPE);
    if ((i64)arg[0] < 0)
        return -EINVAL;
    u64 deadline_ns = clock_ns() + arg[0];
    int error;
    HOLD(spin, &lock);
    do
        error = sleep_until(&deadline_ns, &lock, deadline_ns);
    while (!error);
    return error == -ETIMEDOUT ? 0 : error;
}

/* gettime(clock): return nanoseconds, of virtual time since the boot or of the
 * wall clock. */
i64 sys_gettime(const u64 *arg)
{
    if (arg[0] == CLOCK_VIRTUAL)
        return clock_ns();
    return arg[0] == CLOCK_WALL ? (i64)clock_wall_ns() : -EINVAL;
}

/* Spend the time as the program's own. Meanwhile other processes may run. */
i64 sys_charge(const u64 *arg)
{
    if (!clock_charged)
        return -ENOSYS;
    if (arg[0] > CHARGE_MAX)
        return -EINVAL;
    proc_account(false);
    for (u64 left_ns = cost_ns(arg[0]); left_ns && !myproc()->killed;) {
        u64 now_ns = clock_ns();
        u64 until_ns = MAX(clock_due_ns(), now_ns) - now_ns;
        clock_spend(MIN(left_ns, until_ns));
        left_ns -= MIN(left_ns, until_ns);
        proc_account(true);
        if (mycpu()->reschedule)
            yield();
    }
    return 0;
}

/* rusage(who, times): the CPU time used. Only the process itself and its own
 * wait() change these times. */
i64 sys_rusage(const u64 *arg)
{
    if (arg[0] != RUSAGE_SELF && arg[0] != RUSAGE_CHILDREN)
        return -EINVAL;
    proc_account(false);
    struct proc *p = myproc();
    struct rusage r = {p->user_ns, p->system_ns};
    if (arg[0] == RUSAGE_CHILDREN)
        r = (struct rusage){p->child_user_ns, p->child_system_ns};
    return copyout(arg[1], &r, sizeof(r));
}

/* poweroff(status, sync): sync leaves the disks clean first. The machine goes
 * off even if a disk has failed, but not with success. */
i64 sys_poweroff(const u64 *arg)
{
    int status = arg[0] & 0xff;
    if (arg[0] > 0xff || arg[1] > 1)
        return -EINVAL;
    int error = arg[1] ? ext2_shutdown() : 0;
    if (error)
        kprintf("poweroff: not everything was written: error %d\n", -error);
    link_end();
    power_off(error && status == 0 ? 1 : status);
}

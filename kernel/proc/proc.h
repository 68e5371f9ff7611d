/*
 * Processes: their life, the processors they run on, and the run queue.
 *
 * A process goes: UNUSED - EMBRYO (proc_alloc) - RUNNABLE (proc_start,
 * wakeup, its slice ends) - RUNNING (schedule) - SLEEPING (sleep_on) -
 * RUNNABLE ... - ZOMBIE (exit) - UNUSED (wait).
 *
 * - sched.lock guards state, chan and links of every process, the run queue
 *   and the sleep queues. It is held across a switch of stacks and released
 *   by whoever is switched to.
 * - A kernel thread is a process without user memory.
 */
#ifndef SLUICE_PROC_H
#define SLUICE_PROC_H

#include "kernel/machine/clock.h"
#include "kernel/base/list.h"
#include "kernel/machine/lock.h"

#define MAX_PROCS    512
#define MAX_FDS      64     /* descriptors of a process */
#define STACK_STRIDE 0x4000 /* of kernel stacks: a guard page, three pages */

enum proc_state { UNUSED, EMBRYO, RUNNABLE, RUNNING, SLEEPING, ZOMBIE };

struct file;
struct inode;
struct trapframe;

/* What switch_to saves: the registers a C function keeps. */
struct context {
    u64 ra, sp, s[12];
};

struct proc {
    /* sched.lock */
    enum proc_state state;
    struct list link; /* run queue, sleep queue or free list */
    const void *chan; /* sleeps on this */
    bool woken, timed_out;
    bool interruptible; /* asleep in sleep_until: kill and its deadline end
                           it */
    bool killed;
    int exit_status;
    u32 pid, pgrp;
    struct proc *parent;
    struct list children, sibling;
    u64 switched_ns; /* since when the current kind of time runs */
    u64 user_ns, system_ns, child_user_ns, child_system_ns;

    struct list turn; /* in a line (struct turns); its lock */

    /* private to the process */
    char name[16];
    u64 kstack; /* kernel address of its lowest page */
    struct context context;
    struct trapframe *trapframe; /* at the top of the kernel stack */
    u64 *pagetable;              /* root; NULL for a kernel thread */
    u64 brk;                     /* end of the heap */
    u64 heap;                    /* where it began */
    struct inode *cwd;           /* referenced; NULL for a kernel thread */
    struct file *fds[MAX_FDS];
    u32 buffers_held;       /* bio's: buffers this process has busy */
    void (*thread)(void *); /* of a kernel thread */
    void *thread_arg;
};

struct cpu {
    struct proc *proc; /* running here; the idle thread's when idle */
    u32 hart;
    u32 irq_depth;    /* irq_push_off nesting */
    bool irq_waiting; /* sstatus.SIE is off until depth is 0 */
    bool online, idle;
    bool reschedule;        /* the slice has ended */
    struct spinlock *locks; /* debug: innermost spin lock held */
    struct spinlock timer_lock;
    struct list timers;    /* timer_lock: soonest first */
    u64 slice_ns;          /* end of the slice, 0: none */
    u64 *pagetable;        /* in use, vm_use */
    bool fence_due;        /* before user mode, vm_fence */
    struct proc idle_proc; /* the boot context, runs when nothing else does */
};

extern struct cpu cpus[];
struct cpu *mycpu(void);   /* interrupts must be off */
struct proc *myproc(void); /* the idle thread's outside any process */

void proc_init(void);
void proc_hart_init(u32 hart);
void proc_idle(void) __attribute__((noreturn));

/* Start a kernel thread; fn does not return (but see proc_start_init). Panics
 * if there is no room: at boot only. */
struct proc *kthread(const char *name, void (*fn)(void *), void *arg);

/* Name a process, cut to what fits. */
void proc_name(struct proc *, const char *name);

/* Make the calling kernel thread, the first there was, process 1, running the
 * program at path once its function returns. Stops the boot with the reason
 * if it cannot. */
void proc_start_init(const char *path);

void yield(void);                 /* let others run */
void proc_account(bool was_user); /* time up to now was of that kind */

/* The process calls (abi.h). */
i64 proc_fork(void);
void proc_exit(int status) __attribute__((noreturn));
i64 proc_wait(i64 pid, int *status, u32 flags);
i64 proc_kill(i64 pid);
i64 proc_setpgrp(u32 pid, u32 pgrp);
i64 proc_sbrk(i64 increment);
void proc_kill_group(u32 pgrp); /* ^C; from any context */
u32 proc_parent(void);          /* the parent's pid */

/* What /dev/proc shows of the process in slot i of the table. False past the
 * last slot; state UNUSED in one that is free. */
struct proc_info {
    u32 pid, ppid, pgrp;
    enum proc_state state;
    u64 user_ns, system_ns;
    u64 memory_bytes; /* program and heap, touched or not */
    char name[16];
};
bool proc_row(u32 i, struct proc_info *);

/* exec.c: replace the current process's program. argc, or -errno. argv is a
 * NULL-ended array of kernel strings. */
i64 exec(const char *path, char *const argv[]);

#endif

/*
 * Processes: their life, the processors they run on, and the run queue.
 *
 * A process goes: UNUSED - EMBRYO (proc_alloc) - RUNNABLE (proc_start_child,
 * wakeup, its slice ends) - RUNNING (schedule) - SLEEPING (sleep_on) -
 * RUNNABLE ... - ZOMBIE (exit) - UNUSED (wait).
 *
 * - runqueue.lock guards state, chan and links of every process, the run queue
 *   and the sleep queues. It is held across a switch of stacks; the process
 *   that is switched to releases it.
 * - A kernel thread is a process without user memory.
 */
#pragma once

#include "kernel/machine/clock.h"
#include "kernel/machine/cpu.h"
#include "kernel/proc/sleep.h"

#define MAX_PROCS 512
#define MAX_FDS   64 /* descriptors of a process */

enum proc_state { UNUSED, EMBRYO, RUNNABLE, RUNNING, SLEEPING, ZOMBIE };

struct file;
struct inode;
struct trapframe;

/* The registers that switch_to saves: those that a C function must preserve. */
struct context {
    u64 ra, sp, s[12];
};

struct proc {
    /* runqueue.lock */
    enum proc_state state;
    struct list link; /* run queue, sleep queue or free list */
    const void *chan; /* sleeps on this */
    bool woken, timed_out;
    bool interruptible; /* a kill ends its sleep (sleep_until) */
    bool killed;
    int exit_status;
    u32 pid, pgrp;
    struct proc *parent;
    struct list children, sibling;
    u64 switched_ns; /* since when the current kind of time runs */
    u64 user_ns, system_ns, child_user_ns, child_system_ns;

    struct list wait; /* in a wait queue, under that queue's lock */

    /* private to the process */
    char name[PROC_NAME_BYTES];
    struct context context;
    struct trapframe *trapframe; /* at the top of the kernel stack */
    u32 stack_pages;             /* pages of the kernel stack mapped so far */
    u64 *pagetable;              /* root; NULL for a kernel thread */
    u64 brk;                     /* end of the heap */
    u64 heap;                    /* start of the heap */
    struct inode *cwd;           /* referenced; NULL for a kernel thread */
    struct file *fds[MAX_FDS];
    u32 calls_since_transfer; /* 0: none yet (trap.c) */
    u32 buffers_held;         /* bio's: buffers this process has busy */
    u32 operations; /* the journal's: operations begun, one in the other */
    bool is_thread; /* a kernel thread, or was one: process 1 */
    void (*start)(void *); /* its first function, which does not return */
    void *start_arg;
};

extern struct proc procs[MAX_PROCS];

void proc_init(void);
void proc_hart_init(void); /* what runs is this hart's idle thread */
void proc_idle(void) __attribute__((noreturn));

/* Start a kernel thread; fn does not return. The first one is process 1. Panics
 * if there is no room: at boot only. */
struct proc *kthread(const char *name, void (*fn)(void *), void *arg);
/* kthread that returns NULL if there is no room. */
struct proc *kthread_try(const char *name, void (*fn)(void *), void *arg);

/* Name a process, cut to what fits. */
void proc_name(struct proc *, const char *name);

void yield(void); /* let others run */

/* Count the time since the last call as user or as system time. */
static inline void proc_account_until(struct proc *p, u64 now_ns, bool was_user)
{
    u64 *sum = was_user ? &p->user_ns : &p->system_ns;
    *sum += now_ns - p->switched_ns;
    p->switched_ns = now_ns;
}

/* Do so for the current process, up to now. */
static inline void proc_account(bool was_user)
{
    proc_account_until(myproc(), clock_ns(), was_user);
}

/* A copy of the current process's memory and registers, which will begin with
 * start(NULL). The caller gives it files, then starts it. It is in the group
 * from the first moment, so a kill of the group misses none. 0 or -errno. */
int proc_copy(void (*start)(void *), struct proc **child);
u32 proc_start_child(struct proc *child); /* its pid */

/* End the current process, which has no files and is not process 1. */
void proc_end(int status) __attribute__((noreturn));

/* The process calls of abi.h that concern nothing else. */
i64 proc_wait(i64 pid, int *status, u32 flags);
i64 proc_kill(i64 pid); /* from any context */
i64 proc_setpgrp(u32 pid, u32 pgrp);
i64 proc_sbrk(i64 increment);
u32 proc_parent(void); /* the parent's pid */

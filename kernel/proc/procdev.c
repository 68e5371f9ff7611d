/*
 * /dev/proc: the process table as text, a line for each process. Times are
 * those of the process alone, without its children; memory is its program and
 * heap, touched or not. The table may change between two lines.
 */
#include "kernel/machine/device.h"
#include "kernel/proc/runqueue.h"
#include "kernel/proc/vm.h"

static const char *const state_names[] = {
    [UNUSED] = "unused",   [EMBRYO] = "embryo",   [RUNNABLE] = "runnable",
    [RUNNING] = "running", [SLEEPING] = "asleep", [ZOMBIE] = "zombie",
};

/* Print a process's row. Caller holds runqueue.lock. */
static void print_proc(struct text *t, const struct proc *p)
{
    u64 memory_bytes = p->pagetable ? p->brk - USER_BASE : 0;
    text_printf(t, "%5u %5u %5u %-8s %9lu %9lu %10lu %s\n", p->pid,
                p->parent ? p->parent->pid : 0, p->pgrp, state_names[p->state],
                p->user_ns / NS_PER_MS, p->system_ns / NS_PER_MS,
                memory_bytes / 1024, p->name);
}

/* Print a line for each process. */
static void print_procs(struct text *t)
{
    text_printf(t, "%5s %5s %5s %-8s %9s %9s %10s %s\n", "pid", "ppid", "pgrp",
                "state", "user_ms", "system_ms", "memory_KiB", "name");
    for (struct proc *p = procs; p < procs + MAX_PROCS; p++) {
        HOLD(spin, &runqueue.lock);
        if (p->state != UNUSED)
            print_proc(t, p);
    }
}

static const struct device proc = {
    .id = 4, .name = "proc", .print = print_procs};
DEVICE(proc);

/*
 * /dev/proc: the process table as text, a line for each process. Times are
 * of the process alone, without its children; memory is its program and heap.
 * Each line is true by itself: the table may change between two of them.
 */
#include "kernel/file/dev.h"
#include "kernel/proc/proc.h"

static const char *const state_names[] = {
    [UNUSED] = "unused",   [EMBRYO] = "embryo",   [RUNNABLE] = "runnable",
    [RUNNING] = "running", [SLEEPING] = "asleep", [ZOMBIE] = "zombie",
};

static void print_procs(struct text *t)
{
    text_printf(t, "%5s %5s %5s %-8s %9s %9s %10s %s\n", "pid", "ppid", "pgrp",
                "state", "user_ms", "system_ms", "memory_KiB", "name");
    struct proc_info p;
    for (u32 i = 0; proc_row(i, &p); i++) {
        if (p.state == UNUSED)
            continue;
        text_printf(t, "%5u %5u %5u %-8s %9lu %9lu %10lu %s\n", p.pid, p.ppid,
                    p.pgrp, state_names[p.state], p.user_ns / NS_PER_MS,
                    p.system_ns / NS_PER_MS, p.memory_bytes / 1024, p.name);
    }
}

static const struct device proc = {
    .id = 4, .name = "proc", .print = print_procs};
DEVICE(proc);

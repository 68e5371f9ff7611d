/*
 * The harts of this machine (a hart is a RISC-V processor core), and what the
 * kernel keeps of each.
 *
 * - A hart's own fields are touched by that hart alone, with interrupts off,
 *   unless a lock is named. tp holds the address of its struct cpu while it
 *   is in the kernel.
 * - This room knows no processes. It carries a pointer to the one that runs
 *   here, and its number and name, for messages.
 */
#pragma once

#include "kernel/base/list.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/riscv.h"
#include "kernel/machine/spinlock.h"

#define STACK_STRIDE 0x4000 /* of kernel stacks: a guard page, three pages */

#define PROC_NAME_BYTES 16 /* with the final 0 */

struct proc;

struct cpu {
    struct proc *proc; /* runs here; the idle thread's when idle */
    u32 hart;          /* its number; trap.S has its offset */
    u32 pid;           /* of that process, for messages and counts */
    const char *name;  /* of that process */
    u32 irq_depth;     /* irq_push_off nesting */
    bool irq_waiting;  /* sstatus.SIE is off until depth is 0 */
    bool online;
    bool idle;              /* waits for a process to run: runqueue.lock */
    bool reschedule;        /* the slice has ended */
    struct spinlock *locks; /* debug: innermost spin lock held */
    struct spinlock timer_lock;
    struct list timers; /* timer_lock: soonest first */
    u64 slice_ns;       /* end of the slice, 0: none */
    u64 *pagetable;     /* in use (vm_use) */
    bool fence_due;     /* before user mode (vm_fence) */
};

extern struct cpu cpus[MAX_HARTS];
extern char boot_stacks[MAX_HARTS][STACK_STRIDE]; /* each a hart's first */

/* mycpu: this hart. Interrupts must be off, or the caller may go on elsewhere.
 * myproc: what runs here; outside any process, the idle thread's. It is read by
 * one instruction, so interrupts may be on.
 * Both are inline, because QEMU has to look up where each return leads, and a
 * call to another page. The twin and tests have functions of their own. */
#ifdef __riscv
/* Return this hart's struct cpu. Without interrupts off the process may move to
 * another hart afterwards. */
static inline struct cpu *mycpu(void)
{
    struct cpu *c;
    asm volatile("mv %0, tp" : "=r"(c));
    return c;
}

/* Return the current process, by one load: a switch cannot come in between. */
static inline struct proc *myproc(void)
{
    struct proc *p;
    asm volatile("ld %0, %1(tp)" : "=r"(p) : "i"(offsetof(struct cpu, proc)));
    return p;
}
#else
struct cpu *mycpu(void);
struct proc *myproc(void);
#endif

/* Point tp to this hart's structure. Locks need it. */
void cpu_init(u32 hart);

/* Interrupt a hart; this also ends its idle wait. */
void ipi_send(u32 hart);

/*
 * Traps, sorted by cause: system calls, page faults of user programs,
 * interrupts, and exceptions that should not happen. trap.S saves and restores.
 *
 * - From user mode: time is accounted, the trap handled (system calls with
 *   interrupts on), then the hart given up if the slice is over, and the
 *   process ended if it has been killed.
 * - A system call is found by its number alone, so a null call costs its trap
 *   and little more. abi.h's SYSCALLS is the one list: it makes the table here,
 *   the prototypes in syscall.h and the stubs of the user library.
 * - A call reads its arguments where the trap saved them. exec overwrites that
 *   frame, so no call may look at its arguments after exec has succeeded.
 * - In the kernel only interrupts are expected. They neither sleep nor
 *   switch; what they make runnable runs when the code they interrupted
 *   sleeps, idles or returns to user mode.
 */
#include "kernel/proc/trapframe.h"
#include "kernel/syscall/process.h"
#include "kernel/syscall/syscall.h"
#include "kernel/syscall/trap.h"
#include "kernel/machine/irq.h"
#include "kernel/measure/cost.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/vm.h"

/* trap.S */
extern char trap_vector[];
void user_return(struct trapframe *) __attribute__((noreturn));
void user_trap(struct trapframe *);
void kernel_trap(struct trapframe *);
void stack_overflow(void) __attribute__((noreturn));

_Static_assert(offsetof(struct trapframe, epc) == 256, "trap.S");
_Static_assert(offsetof(struct trapframe, cpu) == 264, "trap.S");
_Static_assert(sizeof(struct trapframe) == 272, "trap.S");
_Static_assert(offsetof(struct cpu, hart) == 8, "trap.S");
_Static_assert(STACK_STRIDE == 1 << 14, "trap.S, entry.S");
_Static_assert(MAX_HARTS == 8, "entry.S");

/* The name of each exception, and the permission that a page fault wanted. */
static const struct cause {
    const char *words;
    u64 access; /* PTE_..., 0: no page fault */
} causes[] = {
    [0] = {"misaligned jump"},
    [1] = {"fetch access fault"},
    [2] = {"illegal instruction"},
    [3] = {"breakpoint"},
    [4] = {"misaligned load"},
    [5] = {"load access fault"},
    [6] = {"misaligned store"},
    [7] = {"store access fault"},
    [CAUSE_USER_ECALL] = {"ecall"},
    [CAUSE_FETCH_FAULT] = {"fetch page fault", PTE_X},
    [CAUSE_LOAD_FAULT] = {"load page fault", PTE_R},
    [CAUSE_STORE_FAULT] = {"store page fault", PTE_W},
};

/* Return the description of an exception by its number. */
static struct cause cause_of(u64 number)
{
    if (number < NELEM(causes) && causes[number].words)
        return causes[number];
    return (struct cause){"unknown trap", 0};
}

/* Have this hart's traps come here. sscratch is 0 while it is in the kernel. */
void trap_hart_init(void)
{
    csr_write(sscratch, 0);
    csr_write(stvec, trap_vector);
    csr_set(sie, 1UL << INT_SOFTWARE); /* the others: clock.c, irq.c */
}

/* Handle an interrupt by its number, in user mode or in the kernel. */
static void interrupt(u64 number)
{
    if (number == INT_SOFTWARE && clock_charged) /* counter_ring */
        number = INT_TIMER;
    switch (number) {
    case INT_SOFTWARE:
        csr_clear(sip, 1UL << INT_SOFTWARE);
        panicking(); /* stops here if another hart is */
        mycpu()->reschedule = true;
        break;
    case INT_TIMER:
        if (clock_interrupt())
            charge(COST_interrupt, 1);
        break;
    case INT_EXTERNAL:
        irq_dispatch();
        break;
    default:
        panic("interrupt: unexpected number %lu", number);
    }
}

/* ---- exceptions of user programs ---- */

/* Handle a page fault that memory can satisfy; end the process for any other
 * exception. */
static void user_exception(struct trapframe *frame, struct cause cause,
                           u64 address)
{
    if (cause.access && vm_trap(address, cause.access))
        return;
    struct proc *p = myproc();
    bool no_memory = cause.access && mem_free_pages() == 0;
    kprintf("pid %u %s: killed: %s at 0x%lx, pc 0x%lx\n", p->pid, p->name,
            no_memory ? "out of memory" : cause.words, address, frame->epc);
    irq_on();
    process_exit(WKILLED);
}

/* Handle an interrupt or an exception that has stopped the program. */
static void user_interrupted(struct trapframe *frame, u64 cause)
{
    proc_account(true);
    if (cause & CAUSE_INTERRUPT)
        interrupt(cause & ~CAUSE_INTERRUPT);
    else
        user_exception(frame, cause_of(cause), csr_read(stval));
}

/* ---- system calls ---- */

static syscall_fn *const calls[SYS_count] = {
#define X(name, nargs) [SYS_##name] = sys_##name,
    SYSCALLS(X)
#undef X
};

/* Return the cost of a call that moves bytes; COST_call if it moves none. */
static enum cost transfer_cost(u64 number)
{
    if (number == SYS_read || number == SYS_pread)
        return COST_read;
    return number == SYS_write || number == SYS_pwrite ? COST_write : COST_call;
}

/* Charge what the program has computed since its last call. After a transfer
 * it looks at the time, if it measures, and then works with the transfer's
 * bytes. */
static void charge_program(u64 number)
{
    struct proc *p = myproc();
    cost_pay(COST_program, 1);
    if (p->calls_since_transfer == 2)
        cost_pay(COST_work, 1);
    if (transfer_cost(number) != COST_call)
        p->calls_since_transfer = 1;
    else if (p->calls_since_transfer)
        p->calls_since_transfer++;
}

/* Charge the virtual time of a system call and of the bytes it will move. */
static void charge_call(u64 number)
{
    cost_pay(COST_call, 1);
    if (transfer_cost(number) != COST_call)
        cost_pay(transfer_cost(number), 1);
}

/* Make the system call whose number is in a7; its result goes to a0. */
static void syscall(struct trapframe *frame)
{
    u64 number = frame->x[REG_A7];
    bool exists = number > SYS_none && number < SYS_count;
    bool pays = clock_charged && number != SYS_charge;
    if (pays)
        charge_program(number);
    proc_account(true);
    if (pays)
        charge_call(number);
    frame->epc += 4;
    irq_on();
    u64 *arg = &frame->x[REG_A0];
    *arg = exists ? calls[number](arg) : -ENOSYS;
}

/* ---- the way in and out ---- */

/* Do the last steps before user mode. Interrupts are off on return. */
static inline void leave_kernel(void)
{
    for (irq_off(); mycpu()->reschedule; irq_off()) {
        irq_on();
        yield();
    }
    if (myproc()->killed) {
        irq_on();
        process_exit(WKILLED);
    }
    if (mycpu()->fence_due)
        vm_fence();
    proc_account(false);
}

void user_trap(struct trapframe *frame)
{
    u64 cause = csr_read(scause);
    if (cause == CAUSE_USER_ECALL)
        syscall(frame);
    else
        user_interrupted(frame, cause);
    leave_kernel();
}

/* Go to user mode for the first time, with the process's frame. */
void trap_return(void)
{
    leave_kernel();
    user_return(myproc()->trapframe);
}

/* ---- in the kernel ---- */

/* Handle a trap within the kernel: an interrupt, or else panic. While
 * interrupts are off by irq_depth, it is only noted. */
void kernel_trap(struct trapframe *frame)
{
    u64 cause = csr_read(scause);
    if (!(cause & CAUSE_INTERRUPT))
        panic("kernel trap: %s at 0x%lx, pc 0x%lx", cause_of(cause).words,
              csr_read(stval), frame->epc);
    struct cpu *c = mycpu();
    if (c->irq_depth > 0) { /* not now: lock.c */
        c->irq_waiting = true;
        csr_clear(sstatus, SSTATUS_SPIE);
        return;
    }
    interrupt(cause & ~CAUSE_INTERRUPT);
}

void stack_overflow(void)
{
    panic("kernel stack overflow, pc 0x%lx", csr_read(sepc));
}

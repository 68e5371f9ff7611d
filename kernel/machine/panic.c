/*
 * Panic: a broken invariant ends the machine.
 *
 * - A panic prints its message, the hart, the process, and the calls that led
 *   there; then it powers off with STATUS_PANIC (101). Nothing is written to
 *   any disk.
 * - The first hart to panic prints. The others stop where they next take an
 *   interrupt, spin for a lock, print or panic: there they call panicking().
 * - A panic while panicking prints only its message, a third nothing.
 * - A function's frame holds its return address below the frame pointer, and
 *   below that the caller's frame pointer (RISC-V ELF psABI, "Frame Pointer
 *   Convention"); trap.S makes such a frame, and ends the chain with 0.
 * - Names come from the section .ksyms, which symbols.awk makes from a first
 *   link of the kernel; in that first link it is empty.
 */
#include "kernel/machine/lock.h"

#define MAX_FRAMES 32

struct symbol {
    u64 address;
    const char *name;
};

struct frame {
    u64 caller; /* its frame pointer */
    u64 return_address;
};

extern const struct symbol ksyms_start[], ksyms_end[]; /* by address */

static struct cpu *panic_cpu; /* the hart that panics */

/* True if this hart is panicking. If another one is, stop here for ever. */
bool panicking(void)
{
    struct cpu *cpu = __atomic_load_n(&panic_cpu, __ATOMIC_ACQUIRE);
    if (!cpu)
        return false;
    while (cpu != mycpu())
        wait_for_interrupt();
    return true;
}

/* Print the function that has this return address, which is after the call,
 * perhaps after the end of the function. */
static void print_call(u64 return_address)
{
    const struct symbol *in = NULL;
    for (const struct symbol *s = ksyms_start;
         s != ksyms_end && s->address < return_address; s++)
        in = s;
    if (in)
        kprintf("  %lx %s+0x%lx\n", return_address, in->name,
                return_address - in->address);
    else
        kprintf("  %lx\n", return_address);
}

/*
 * True if a frame can end at fp. A caller's frame lies above `below`,
 * its callee's, unless trap.S has changed the stack because of an overflow.
 */
static bool has_frame(u64 fp, u64 below)
{
    u64 frame = fp - sizeof(struct frame);
    if (fp < DIRECT_MAP || fp % 8 ||
        (frame >= KSTACK_BASE && frame % STACK_STRIDE < PAGE_SIZE))
        return false;
    return fp > below || frame / STACK_STRIDE != below / STACK_STRIDE;
}

/* Print the calls that led here. Each frame lies above the one before, so a
 * damaged chain ends. */
static void backtrace(u64 fp)
{
    u64 below = 0;
    for (u32 i = 0; i < MAX_FRAMES && has_frame(fp, below); i++) {
        const struct frame *frame = (struct frame *)fp - 1;
        if (frame->caller) /* else it is the first of its stack */
            print_call(frame->return_address);
        below = fp;
        fp = frame->caller;
    }
}

/* Interrupt all other harts: they stop in panicking(). */
static void stop_others(void)
{
    for (u32 hart = 0; hart < MAX_HARTS; hart++)
        if (cpus[hart].online && &cpus[hart] != mycpu())
            ipi_send(hart);
}

static void print_place(void)
{
    const struct cpu *c = mycpu();
    kprintf("  hart %u", c->hart);
    if (c->name)
        kprintf(", process %u (%s)", c->pid, c->name);
    kprintf("\n");
}

/* Print the message and where it happened, and switch the machine off. */
void panic(const char *fmt, ...)
{
    static u32 depth;
    struct cpu *none = NULL;
    irq_off();
    __atomic_compare_exchange_n(&panic_cpu, &none, mycpu(), false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    panicking(); /* stops this hart if another one was first */
    if (depth++ < 2) {
        va_list list;
        va_start(list, fmt);
        kprintf("panic: ");
        kvprintf(fmt, list);
        kprintf("\n");
        va_end(list);
    }
    if (depth == 1) {
        stop_others();
        print_place();
        backtrace((u64)__builtin_frame_address(0));
    }
    power_off(STATUS_PANIC);
}

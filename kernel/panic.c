/*
 * Panic: a broken invariant ends the machine.
 *
 * - Prints what, the hart, the process, and the calls that led there; then
 *   powers off with STATUS_PANIC (101). Nothing is written to any disk.
 * - The first hart to panic is the one that prints. The others are stopped
 *   where they next take an interrupt, spin for a lock, print or panic: all
 *   of them ask panic_stop().
 * - A panic while panicking prints only its message, a third nothing.
 * - A function's frame holds its return address below the frame pointer, and
 *   below that the caller's frame pointer (RISC-V ELF psABI, "Frame Pointer
 *   Convention"); trap.S makes such a frame, and ends the chain with 0.
 * - Names come from the section .ksyms, which symbols.awk makes from a first
 *   link of the kernel; in that first link it is empty.
 */
#include "kernel/console.h"
#include "kernel/lock.h"
#include "kernel/power.h"
#include "kernel/print.h"
#include "kernel/proc.h"
#include "kernel/riscv.h"
#include "kernel/trap.h"

#define MAX_FRAMES 32

struct symbol {
    u64 address;
    const char *name;
};

struct frame {
    struct frame *caller;
    u64 return_address;
};

extern const struct symbol ksyms_start[], ksyms_end[]; /* by address */

static struct cpu *panic_cpu; /* the hart that panics */

bool panicking(void)
{
    struct cpu *cpu = __atomic_load_n(&panic_cpu, __ATOMIC_ACQUIRE);
    if (!cpu)
        return false;
    while (cpu != mycpu())
        wait_for_interrupt();
    return true;
}

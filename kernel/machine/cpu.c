/* The harts (cpu.h). */
#include "kernel/machine/cpu.h"

struct cpu cpus[MAX_HARTS];

/* The stacks on which the harts boot, and which their idle threads keep. The
 * lowest page of each serves trap.S when another stack has overflowed. */
_Alignas(STACK_STRIDE) char boot_stacks[MAX_HARTS][STACK_STRIDE];

/* Begin on this hart: tp leads to its struct cpu from now on. */
void cpu_init(u32 hart)
{
    struct cpu *c = &cpus[hart];
    asm volatile("mv tp, %0" ::"r"(c));
    c->hart = hart;
}

void ipi_send(u32 hart)
{
    volatile u32 *msip = virt_of(machine.clint.phys);
    msip[hart] = 1; /* entry.S turns it into our software interrupt */
}

/*
 * The processor, as the twin has it: this header stands in the place of
 * kernel/machine/riscv.h when the kernel is compiled for the host.
 *
 * - The control and status registers are variables. Only trap.c reads and
 *   writes them; hart.c sets them as a trap of the hardware would.
 * - An address of the kernel is an address of the host: the direct map begins
 *   at 0, and the machine's memory is mapped at its physical address.
 */
#ifndef SLUICE_RISCV_H
#define SLUICE_RISCV_H

#ifndef DIRECT_MAP                 /* sluice/wasm/ has other addresses */
#define DIRECT_MAP  0UL            /* host address of physical 0 */
#define KSTACK_BASE 0x1000000000UL /* of the processes' kernel stacks */
#endif

#define BOOT_MAP_GIB 255 /* as in the machine */

#define SSTATUS_SIE  0x2  /* interrupts on */
#define SSTATUS_SPIE 0x20 /* and after the return from this trap */

#define INT_SOFTWARE 1
#define INT_TIMER    5
#define INT_EXTERNAL 9

#define CAUSE_INTERRUPT   (1UL << 63)
#define CAUSE_USER_ECALL  8
#define CAUSE_FETCH_FAULT 12
#define CAUSE_LOAD_FAULT  13
#define CAUSE_STORE_FAULT 15

#ifndef __ASSEMBLER__

#include "kernel/base/types.h"

extern struct hart_registers {
    u64 sstatus, scause, stval, sepc, sscratch, stvec, sie, sip;
} hart_registers;

#define csr_read(csr)         (hart_registers.csr)
#define csr_write(csr, value) (hart_registers.csr = (u64)(value))
#define csr_set(csr, bits)    (hart_registers.csr |= (bits))
#define csr_clear(csr, bits)  (hart_registers.csr &= ~(u64)(bits))

void irq_on(void); /* takes the interrupts that are waiting */

/* Returns whether they were on. */
static inline bool irq_off(void)
{
    u64 before = hart_registers.sstatus;
    hart_registers.sstatus &= ~(u64)SSTATUS_SIE;
    return before & SSTATUS_SIE;
}

static inline bool irq_is_on(void)
{
    return hart_registers.sstatus & SSTATUS_SIE;
}

static inline void compiler_barrier(void)
{
    __asm__ volatile("" ::: "memory");
}

#endif
#endif

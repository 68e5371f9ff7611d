/*
 * The platform-level interrupt controller: RISC-V PLIC Specification 1.0,
 * chapter 3 (memory map). On QEMU's virt machine context 2h is hart h's
 * machine mode and 2h + 1 its supervisor mode.
 *
 * - Every registered interrupt has the same priority and is enabled on all
 *   harts. The hart that claims it first handles it; the others find nothing.
 * - One hart fills the table during boot, each row before its interrupt is
 *   enabled. Afterwards it is only read, so there is no lock.
 */
#include "kernel/machine/irq.h"

#include "kernel/machine/lock.h"

#define MAX_IRQ   128      /* QEMU's virt has 96 */
#define PRIORITY  0x0      /* a word for each interrupt */
#define ENABLE    0x2000   /* a bit for each interrupt, for each context */
#define THRESHOLD 0x200000 /* for each context; the claim register follows */

#define CONTEXT(hart)        (2 * (hart) + 1)
#define ENABLE_AT(hart, irq) (ENABLE + 0x80 * CONTEXT(hart) + (irq) / 32 * 4)
#define THRESHOLD_AT(hart)   (THRESHOLD + 0x1000 * CONTEXT(hart))
#define CLAIM_AT(hart)       (THRESHOLD_AT(hart) + 4)

static void (*handlers[MAX_IRQ])(u32 irq);

/* Return a register of the controller. */
static volatile u32 *reg(u64 offset)
{
    return virt_of(machine.plic.phys + offset);
}

/* At boot: disable all interrupts for all harts. */
void irq_init(void)
{
    for (u32 hart = 0; hart < machine.nharts; hart++)
        for (u32 irq = 0; irq < MAX_IRQ; irq += 32)
            *reg(ENABLE_AT(hart, irq)) = 0;
}

/* Let this hart take interrupts of every priority. */
void irq_hart_init(void)
{
    *reg(THRESHOLD_AT(mycpu()->hart)) = 0;
    csr_set(sie, 1UL << INT_EXTERNAL);
}

/* Have fn called for an interrupt, and enable it on all harts. */
void irq_register(u32 irq, void (*fn)(u32 irq))
{
    if (irq == 0 || irq >= MAX_IRQ || handlers[irq])
        panic("irq_register: interrupt %u is out of range or taken", irq);
    handlers[irq] = fn;
    *reg(PRIORITY + 4 * irq) = 1;
    for (u32 hart = 0; hart < machine.nharts; hart++)
        *reg(ENABLE_AT(hart, irq)) |= 1U << irq % 32;
}

/* Handle all interrupts that this hart can claim. Writing a number back
 * completes it. */
void irq_dispatch(void)
{
    volatile u32 *claim = reg(CLAIM_AT(mycpu()->hart));
    u32 irq;
    while ((irq = *claim)) {
        if (irq >= MAX_IRQ || !handlers[irq])
            panic("irq_dispatch: interrupt %u has no handler", irq);
        handlers[irq](irq);
        *claim = irq;
    }
}

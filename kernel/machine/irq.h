/*
 * Device interrupts, through the platform-level interrupt controller
 * (RISC-V PLIC Specification 1.0). All harts take all interrupts.
 */
#pragma once

#include "kernel/base/types.h"

void irq_init(void);      /* once */
void irq_hart_init(void); /* on each hart */

/* Call fn(irq) from now on, with interrupts off and no lock held. */
void irq_register(u32 irq, void (*fn)(u32 irq));

/* Take all device interrupts that are waiting; from the trap. */
void irq_dispatch(void);

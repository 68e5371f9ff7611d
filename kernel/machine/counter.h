/*
 * The time that the hardware counts, and its interrupt. Only clock.c uses it,
 * and only where time is not charged; but the interrupt is the hardware's in
 * any case.
 */
#pragma once

#include "kernel/base/types.h"

/* Prepare the counter, once; it runs before, too. Without may_be_lab it counts
 * real time. */
void counter_init(bool may_be_lab);
void counter_hart_init(void);

u64 counter_ns(void);
bool counter_is_virtual(void); /* lab mode: it counts instructions */

/* Return when the counter was 0, in ns since 1970. */
u64 counter_boot_wall_ns(void);

/* Raise the interrupt of this hart's clock: counter_alarm sets the timer, which
 * raises it at that time. Where time is charged, counter_ring raises it at
 * once, as a software interrupt. counter_quiet takes it back. */
void counter_alarm(u64 when_ns);
void counter_ring(void);
void counter_quiet(void);

/* Wait for an interrupt, with interrupts off. due_ns: of the next alarm, or
 * NEVER_NS. In lab mode the clock is set to it, and the host does not wait. */
void counter_wait(u64 due_ns);

/* Make sure that QEMU keeps no timer; then wait for a device. clock.h says for
 * what. */
void counter_stop(void);
void counter_rest(void);

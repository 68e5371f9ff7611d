/*
 * Time. No other file reads a clock or sets a timer, except machine mode, which
 * compares the times in the trace with it (entry.S).
 *
 * - clock_ns() counts nanoseconds since power-on. It is real time; or virtual
 *   time, counted or charged (clock.c). Counted times go in steps of the time
 *   base (100 ns on QEMU's virt machine).
 * - Timers are one-shot. There is no periodic tick: an idle hart with no
 *   timer set sleeps until an interrupt.
 */
#pragma once

#include "kernel/base/list.h"
#include "kernel/base/units.h"
#include "kernel/machine/counter.h"

u64 clock_ns(void);
/* Time since 1970-01-01 UTC: the boot argument epoch=, else the RTC. */
u64 clock_wall_ns(void);
bool clock_is_virtual(void);

/* True in charged time: clock_spend then moves the clock on by ns. */
extern bool clock_charged;

/* Only for the inline functions here, which clock.c has the rest of: charged
 * time, when each hart's interrupt is to come, the wall time when clock_ns was
 * 0, and spending past an interrupt. */
extern u64 charged_ns, armed_ns[], boot_wall_ns;
void clock_spend_past(u64 ns);

#if defined __riscv || defined ONE_HART
extern inline __attribute__((gnu_inline)) u64 clock_ns(void)
{
    return clock_charged ? charged_ns : counter_ns();
}

extern inline __attribute__((gnu_inline)) u64 clock_wall_ns(void)
{
    return boot_wall_ns + clock_ns();
}
#endif

/* Add what computing costs to charged time. Past armed_ns an interrupt is
 * due. */
static inline void clock_spend(u64 ns)
{
    if (armed_ns[0] <= charged_ns + ns)
        clock_spend_past(ns);
    else
        charged_ns += ns;
}

/* A timer belongs to the hart that set it, and fires there, with interrupts
 * off and no lock held. Zero-initialise it. */
struct timer {
    struct list link; /* the hart's timer lock */
    u64 when_ns;
    void (*fire)(void *arg);
    void *arg;
    struct cpu *cpu; /* NULL when not set */
    bool free;       /* its interrupt is no work of the machine */
};

/* Set t to fire at when_ns (at once if that is past); t must not be set. */
void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg);

/* True if t is set and has not fired. From any hart. */
static inline bool timer_is_set(const struct timer *t)
{
    return __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE);
}

/* Return when this hart's first timer is due; NEVER_NS: there is none. */
u64 clock_next_ns(void);

/* Unset t; false if it has fired or is firing. From any hart. */
bool timer_cancel(struct timer *t);

/*
 * Between the two interrupts are off, and QEMU's virtual clock stands still
 * whenever this hart waits: no timer is armed on it. For moving data at
 * an instant of virtual time (lab mode). No lock may be held. clock_rest waits
 * there for a device's interrupt, which is left pending.
 */
void clock_stop(void);
void clock_rest(void);
void clock_go(void);

/* Machine mode has set the clock a little back (machine.h): see that the next
 * timer interrupt comes when it should. */
void clock_was_set(void);

/* Return when this hart's timer interrupt comes at the latest. */
u64 clock_due_ns(void);

/* Wait for an interrupt, which is taken once the caller lets it in: interrupts
 * are off. In lab mode the wait for a timer takes no time of the host: the
 * clock is set to the time for which it is armed. */
void clock_wait(void);

/* Layers below proc: set up this hart, and take its timer interrupt. */
void clock_init(void);
void clock_hart_init(void);
/* Returns false if all that came were timers that are free. */
bool clock_interrupt(void);

/* Set the end of the running process's time slice: clock_interrupt calls for a
 * switch at that time; 0 for none. */
void clock_set_slice(u64 when_ns);

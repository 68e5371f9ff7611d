/*
 * The hardware's time: the `time` register and Sstc's stimecmp (RISC-V
 * Privileged Architecture 1.12, section 4.1.10; Sstc 1.0), and at boot the
 * goldfish real-time clock.
 *
 * - No far time is written to the compare register, the interrupt is masked
 *   instead: QEMU 7.2 would keep a timer for it, and in lab mode jump to it
 *   when idle.
 * - In charged time the interrupt is the software interrupt, which one hart
 *   has no other use for. A timer interrupt that stays pending, masked, would
 *   slow each return to QEMU's loop.
 */
#include "kernel/machine/counter.h"

#include "kernel/machine/clock.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/panic.h"

#define START_NS     NS_PER_S /* later than counter_init, even at shift=10 */
#define LAB_EPOCH_NS (1767225600UL * NS_PER_S) /* 2026-01-01: qemu.py */
#define RANG_NS      (100 * NS_PER_US) /* much later than its alarm rings */

/* Registers of the goldfish RTC, in ns: reading TIME_LOW latches TIME_HIGH,
 * writing ALARM_LOW sets the alarm. */
enum {
    TIME_LOW,
    TIME_HIGH,
    ALARM_LOW,
    ALARM_HIGH,
    ALARM_ENABLE,
    ALARM_CLEAR = 7
};

static bool lab;        /* time counts instructions (in_lab) */
static u64 ahead_ticks; /* longer than a few instructions take */

/* Return the nanoseconds since power-on, in steps of the time base. */
u64 counter_ns(void)
{
    return csr_read(time) * machine.tick_ns;
}

/* Return the first tick that is not before the time. */
static u64 ticks_of_ns(u64 ns)
{
    return ns / machine.tick_ns + (ns % machine.tick_ns != 0);
}

bool counter_is_virtual(void)
{
    return lab;
}

/* Have the timer interrupt pending from this tick on. */
static void set_compare(u64 ticks)
{
    csr_write(0x14d, ticks); /* stimecmp */
}

/* Have the timer interrupt come at this time. */
void counter_alarm(u64 when_ns)
{
    set_compare(ticks_of_ns(when_ns));
    csr_set(sie, 1UL << INT_TIMER);
}

/* Raise the interrupt of charged time now. */
void counter_ring(void)
{
    csr_set(sip, 1UL << INT_SOFTWARE);
}

/* Take the interrupt back, whichever of the two it is. */
void counter_quiet(void)
{
    if (clock_charged)
        csr_clear(sip, 1UL << INT_SOFTWARE);
    else
        csr_clear(sie, 1UL << INT_TIMER);
}

/*
 * Wait for the interrupt, and then until end, to the instruction.
 *
 * - When all is idle, QEMU adds to its clock the time left until the next
 *   timer, counted from when it last looked: when the clock was read, or the
 *   hart had come to rest. If its thread runs between wfi and that rest, it
 *   adds too much: the instructions since the clock was read. They are two.
 * - QEMU up to 10.0 counts the instructions that it translates together with
 *   wfi, and counts them again when they are executed; 11.1 counts them once.
 *   They are two, unless a timer fires before them.
 * - So a loop of two instructions goes on until `end`. By then the interrupt
 *   has come and the extra instructions have passed in any case; they only make
 *   the loop a turn or two shorter.
 */
static void wait_exactly(u64 interrupt, u64 end)
{
    u64 pending, now;
    asm volatile(".balign 16\n" /* on one page */
                 "csrr %0, time\n"
                 "nop\n"
                 "wfi\n"
                 "nop\n"
                 "csrr %0, sip"
                 : "=r"(pending)::"memory");
    if (!(pending & 1UL << interrupt))
        return;
    asm volatile("1: csrr %0, time\n"
                 "bltu %0, %1, 1b"
                 : "=&r"(now)
                 : "r"(end));
}

/* Wait for an interrupt. In lab mode the time jumps to due_ns. */
void counter_wait(u64 due_ns)
{
    if (!lab || due_ns == NEVER_NS) {
        wait_for_interrupt();
        return;
    }
    u64 due = ticks_of_ns(due_ns);
    machine_call(due, 0, 0, 0, CLOCK_JUMP);
    set_compare(due); /* past: the interrupt is pending from here on */
}

void counter_rest(void)
{
    wait_exactly(INT_EXTERNAL, csr_read(time) + ahead_ticks);
}

/* Have no timer of QEMU's run. QEMU 7.2 does not disarm its timer when a later
 * time is written. So it is made to fire a little later, unseen. A time already
 * past would leave the old timer armed. */
void counter_stop(void)
{
    set_compare(csr_read(time) + ahead_ticks);
    while (!(csr_read(sip) & 1UL << INT_TIMER))
        ;
}

/* The machine timer's interrupt is pending from reset until a far time is
 * written. It is never taken, but costs time at each return to QEMU's loop. In
 * lab mode it stays pending: QEMU would keep a timer for the far time, and jump
 * to that time when all is idle. */
void counter_hart_init(void)
{
    if (!lab)
        machine_call(0, 0, 0, 0, NO_TIMER);
}

/* Return a register of the real-time clock. */
static volatile u32 *rtc(u32 reg)
{
    return (volatile u32 *)virt_of(machine.rtc.phys) + reg;
}

/* Return the wall clock's time in ns. Reading the low half latches the high
 * one. */
static i64 rtc_ns(void)
{
    u64 low = *rtc(TIME_LOW);
    return (u64)*rtc(TIME_HIGH) << 32 | low;
}

/* Return the time of day at power-on, in ns since 1970. The RTC's register is
 * signed: a machine whose battery was empty may say a time before 1970. Then it
 * is 1970. */
u64 counter_boot_wall_ns(void)
{
    if (!machine.rtc.phys)
        return 0;
    i64 now_ns = rtc_ns(), since_boot_ns = counter_ns();
    if (now_ns >= since_boot_ns)
        return now_ns - since_boot_ns;
    kprintf("clock: the hardware's is before 1970: set to 1970\n");
    return 0;
}

static void alarm_rang(u32)
{
    *rtc(ALARM_CLEAR) = 1;
}

/* Return the RTC's time at power-on, a little late for the instructions
 * between. */
static u64 power_on_ns(void)
{
    u64 now_ns = counter_ns();
    return rtc_ns() - now_ns;
}

/* True in lab mode: there both clocks are one, and the RTC's began at
 * LAB_EPOCH_NS. (One in 10,000 live machines is switched on so near to some
 * whole second.) */
static bool in_lab(void)
{
    return power_on_ns() - LAB_EPOCH_NS < 100 * NS_PER_US;
}

/*
 * Until here the number of instructions depends on the device tree, the boot
 * arguments and the features of the disks, in which versions of QEMU differ.
 * So the boot waits for the RTC's alarm and goes on at START_NS, to the
 * instruction. The alarm is exact to the ns; a timer would depend on the ns at
 * which it was set. No time measured earlier may be used later, since it
 * depends on where in a tick it began.
 */
static void start_evenly(void)
{
    u64 alarm_ns = power_on_ns() / NS_PER_S * NS_PER_S + START_NS;
    irq_register(machine.rtc.irq, alarm_rang);
    *rtc(ALARM_HIGH) = alarm_ns >> 32;
    *rtc(ALARM_LOW) = alarm_ns;
    *rtc(ALARM_ENABLE) = 1;
    if (counter_ns() + RANG_NS >= START_NS)
        panic("counter_init: the boot took more than %lu ns", START_NS);
    wait_exactly(INT_EXTERNAL, ticks_of_ns(START_NS + RANG_NS));
    irq_dispatch();
}

/* Return how long 16 instructions take, at any speed of the CPU (-icount
 * shift=). The least of a few tries counts, because the host may interrupt a
 * live machine. */
static u64 few_instructions_ticks(void)
{
    u64 least = ~0UL;
    for (u32 i = 0; i < 8; i++) {
        u64 start = csr_read(time);
        asm volatile(".rept 16\nnop\n.endr");
        least = MIN(least, csr_read(time) - start);
    }
    return least + 2; /* each reading is rounded */
}

/* At boot: find out if time counts instructions. */
void counter_init(bool may_be_lab)
{
    lab = may_be_lab && machine.rtc.phys && in_lab();
    if (lab)
        start_evenly();
    ahead_ticks = few_instructions_ticks();
}

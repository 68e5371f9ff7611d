/*
 * Time, and the one-shot timers of each hart: the `time` register and Sstc's
 * stimecmp (RISC-V Privileged Architecture 1.12, section 4.1.10; Sstc 1.0),
 * and at boot the goldfish real-time clock.
 *
 * - A hart's timers are a list, the soonest first, under its timer_lock.
 *   slice_ns and armed_ns are the hart's own, touched with interrupts off.
 * - The compare register is armed for a time not later than the soonest timer
 *   and the slice's end. It may be earlier: when a timer is cancelled or a
 *   slice put off, a needless interrupt costs less than arming anew each time.
 *   armed_ns is NEVER_NS when no interrupt is to come. Then the timer interrupt
 *   is masked, and no far time is written: QEMU 7.2 would keep a timer for it,
 *   and in lab mode jump to it when idle.
 * - Before a timer's function is called, the timer is off its list and its cpu
 *   is NULL; afterwards the clock does not touch it. So its owner may reuse or
 *   free it.
 */
#include "kernel/machine/clock.h"

#include "kernel/machine/args.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/print.h"

#define START_NS    NS_PER_S /* later than clock_init, even at shift=10 */
#define RANG_NS     (100 * NS_PER_US) /* much later than its alarm rings */
#define MAX_EPOCH_S 10000000000UL     /* 2286: in ns it fits 64 bits */

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

static bool lab;         /* time counts instructions (in_lab) */
static u64 boot_wall_ns; /* wall time when clock_ns was 0 */
static u64 ahead_ticks;  /* longer than a few instructions take */
static u64 armed_ns[MAX_HARTS];

/* The state that clock_go restores. */
static struct {
    u64 armed_ns;
    bool irq_was_on;
} stopped[MAX_HARTS];

/* Neither product overflows for frequencies below 18 GHz. */
static u64 ns_of_ticks(u64 ticks)
{
    u64 hz = machine.timebase_hz;
    return ticks / hz * NS_PER_S + ticks % hz * NS_PER_S / hz;
}

/* The first tick that is not before the time. */
static u64 ticks_of_ns(u64 ns)
{
    u64 hz = machine.timebase_hz;
    return ns / NS_PER_S * hz + (ns % NS_PER_S * hz + NS_PER_S - 1) / NS_PER_S;
}

u64 clock_ns(void)
{
    return ns_of_ticks(csr_read(time));
}

bool clock_is_virtual(void)
{
    return lab;
}

u64 clock_wall_ns(void)
{
    return boot_wall_ns + clock_ns();
}

static void set_compare(u64 ticks)
{
    csr_write(0x14d, ticks); /* stimecmp */
}

/* See that an interrupt comes no later than when_ns. Interrupts are off. */
static void arm(struct cpu *cpu, u64 when_ns)
{
    if (armed_ns[cpu->hart] <= when_ns)
        return;
    armed_ns[cpu->hart] = when_ns;
    set_compare(ticks_of_ns(when_ns));
    csr_set(sie, 1UL << INT_TIMER);
}

static void disarm(struct cpu *cpu)
{
    armed_ns[cpu->hart] = NEVER_NS;
    csr_clear(sie, 1UL << INT_TIMER);
}

void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    irq_push_off();
    struct cpu *cpu = mycpu();
    HOLD(spin, &cpu->timer_lock);
    assert(!t->cpu);
    *t = (struct timer){
        .when_ns = when_ns, .fire = fire, .arg = arg, .cpu = cpu};
    struct list *at = cpu->timers.next;
    while (at != &cpu->timers &&
           LIST_ITEM(at, struct timer, link)->when_ns <= when_ns)
        at = at->next;
    list_insert_before(at, &t->link);
    arm(cpu, when_ns);
    irq_pop_off();
}

/* Caller holds t->cpu->timer_lock. */
static void unset(struct timer *t)
{
    list_remove(&t->link);
    __atomic_store_n(&t->cpu, NULL, __ATOMIC_RELEASE);
}

bool timer_cancel(struct timer *t)
{
    struct cpu *cpu;
    while ((cpu = __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE))) {
        HOLD(spin, &cpu->timer_lock);
        if (t->cpu != cpu) /* it has fired meanwhile */
            continue;
        unset(t);
        return true;
    }
    return false;
}

void clock_set_slice(u64 when_ns)
{
    struct cpu *cpu = mycpu();
    cpu->slice_ns = when_ns;
    if (when_ns)
        arm(cpu, when_ns);
}

/* Fire the first timer if it is due; else see that an interrupt comes when it
 * is. Returns whether one fired. */
static bool fire_one_due(struct cpu *cpu)
{
    spin_lock(&cpu->timer_lock);
    struct timer *t =
        ITEM_OR_NULL(list_first(&cpu->timers), struct timer, link);
    if (!t || t->when_ns > clock_ns()) {
        if (t)
            arm(cpu, t->when_ns);
        spin_unlock(&cpu->timer_lock);
        return false;
    }
    void (*fire)(void *) = t->fire;
    void *arg = t->arg;
    unset(t);
    spin_unlock(&cpu->timer_lock);
    fire(arg);
    return true;
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

void clock_wait(void)
{
    u64 due_ns = armed_ns[mycpu()->hart];
    if (!lab || due_ns == NEVER_NS) {
        wait_for_interrupt();
        return;
    }
    u64 due = ticks_of_ns(due_ns);
    machine_call(due, 0, 0, 0, CLOCK_JUMP);
    set_compare(due); /* past: the interrupt is pending from here on */
}

void clock_was_set(void)
{
    irq_push_off();
    u64 due_ns = armed_ns[mycpu()->hart];
    if (due_ns != NEVER_NS)
        set_compare(ticks_of_ns(due_ns));
    irq_pop_off();
}

void clock_rest(void)
{
    wait_exactly(INT_EXTERNAL, csr_read(time) + ahead_ticks);
}

/* QEMU 7.2 does not disarm its timer when a later time is written. So it is
 * made to fire a little later, unseen. A time already past would leave the old
 * timer armed. */
void clock_stop(void)
{
    bool irq_was_on = irq_off();
    struct cpu *cpu = mycpu();
    stopped[cpu->hart].irq_was_on = irq_was_on;
    stopped[cpu->hart].armed_ns = armed_ns[cpu->hart];
    set_compare(csr_read(time) + ahead_ticks);
    while (!(csr_read(sip) & 1UL << INT_TIMER))
        ;
    disarm(cpu);
}

void clock_go(void)
{
    struct cpu *cpu = mycpu();
    if (stopped[cpu->hart].armed_ns != NEVER_NS)
        arm(cpu, stopped[cpu->hart].armed_ns);
    if (stopped[cpu->hart].irq_was_on)
        irq_on();
}

void clock_interrupt(void)
{
    struct cpu *cpu = mycpu();
    disarm(cpu);
    while (fire_one_due(cpu))
        ;
    if (!cpu->slice_ns)
        return;
    if (cpu->slice_ns > clock_ns()) {
        arm(cpu, cpu->slice_ns);
        return;
    }
    cpu->slice_ns = 0;
    cpu->reschedule = true;
}

/* The machine timer's interrupt is pending from reset until a far time is
 * written. It is never taken, but costs time at each return to QEMU's loop. In
 * lab mode it stays pending: QEMU would keep a timer for the far time, and jump
 * to that time when all is idle. */
void clock_hart_init(void)
{
    struct cpu *cpu = mycpu();
    cpu->timer_lock = SPINLOCK("timer", RANK_TIMER);
    list_init(&cpu->timers);
    disarm(cpu);
    if (!lab)
        machine_call(0, 0, 0, 0, NO_TIMER);
}

static volatile u32 *rtc(u32 reg)
{
    return (volatile u32 *)virt_of(machine.rtc.phys) + reg;
}

static i64 rtc_ns(void)
{
    u64 low = *rtc(TIME_LOW);
    return (u64)*rtc(TIME_HIGH) << 32 | low;
}

/* The wall time when clock_ns was 0. The RTC's register is signed: a machine
 * whose battery was empty may say a time before 1970. Then it is 1970. */
static u64 boot_time_ns(void)
{
    i64 now_ns = rtc_ns(), since_boot_ns = clock_ns();
    if (now_ns >= since_boot_ns)
        return now_ns - since_boot_ns;
    kprintf("clock: the hardware's is before 1970: set to 1970\n");
    return 0;
}

static void alarm_rang(u32)
{
    *rtc(ALARM_CLEAR) = 1;
}

/* The RTC's time at power-on, a little late for the instructions between. */
static u64 power_on_ns(void)
{
    u64 now_ns = clock_ns();
    return rtc_ns() - now_ns;
}

/* In lab mode both clocks are one, and the RTC's began at a whole second. */
static bool in_lab(void)
{
    return power_on_ns() % NS_PER_S < 100 * NS_PER_US;
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
    if (clock_ns() + RANG_NS >= START_NS)
        panic("clock_init: the boot took more than %lu ns", START_NS);
    wait_exactly(INT_EXTERNAL, ticks_of_ns(START_NS + RANG_NS));
    irq_dispatch();
}

/* How long 16 instructions take, at any speed of the CPU (-icount shift=). The
 * least of a few tries counts, because the host may interrupt a live machine.
 */
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

void clock_init(void)
{
    lab = machine.rtc.phys && in_lab();
    if (lab)
        start_evenly();
    ahead_ticks = few_instructions_ticks();
    if (arg_text("epoch"))
        boot_wall_ns = arg_number("epoch", 0, 0, MAX_EPOCH_S) * NS_PER_S;
    else if (machine.rtc.phys)
        boot_wall_ns = boot_time_ns();
}

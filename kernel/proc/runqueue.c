/*
 * Which process runs: the run queue, the sleep queues, the switch of processes,
 * and the idle loop. sleep.h has the contract of sleeping.
 *
 * - A hart switches from one process straight to the next and holds
 *   runqueue.lock on both sides; the process switched to releases it.
 * - A process that sleeps on a channel is in that channel's hash bucket. It
 *   goes there before it releases the lock that guards its condition, so a
 *   process that changes the condition under that lock finds it there.
 * - Time slices exist only while another process waits for a hart: a slice is
 *   set when a process becomes runnable and no hart is idle, or when a hart
 *   switches and further processes wait. A lone process is not interrupted.
 * - An idle hart is in wfi with cpu.idle set. find_hart, when a process becomes
 *   runnable, clears one hart's flag and sends it an interrupt.
 * - The kernel is not preempted: a hart switches where the code sleeps or
 *   yields, and on the way back to user mode. At a switch irq_depth is 1, for
 *   runqueue.lock, so it need not be saved.
 */
#include "kernel/proc/runqueue.h"
#include "kernel/base/stat.h"
#include "kernel/measure/cost.h"
#include "kernel/proc/vm.h"

#define SLICE_NS (10 * NS_PER_MS)

struct runqueue runqueue;
static struct proc idle_procs[MAX_HARTS]; /* the boot contexts */

COUNTER(switches, "proc.switches", "switches", "from a process to another");
COUNTER(idle, "cpu.idle", "ns",
        "harts had nothing to do; counted when one has again");

void switch_to(struct context *from, struct context *to);

void runqueue_init(void)
{
    runqueue.lock = SPINLOCK("runqueue", RANK_RUNQUEUE);
    list_init(&runqueue.runnable);
    for (u32 i = 0; i < SLEEP_BUCKETS; i++)
        list_init(&runqueue.sleepers[i]);
}

/* Note that p runs on this hart from now on. */
static void run_here(struct cpu *c, struct proc *p)
{
    c->proc = p;
    c->pid = p->pid;
    c->name = p->name;
    p->state = RUNNING;
}

/* At boot: this hart runs its idle process. */
void proc_hart_init(void)
{
    struct cpu *c = mycpu();
    struct proc *idle = &idle_procs[c->hart];
    strlcpy(idle->name, "idle", sizeof(idle->name));
    run_here(c, idle);
}

/* ---- switching ---- */

/* Begin the hart's time slice if others wait; a lone process has none. */
static void start_slice(struct cpu *c, u64 now_ns)
{
    c->reschedule = false;
    if (!list_empty(&runqueue.runnable))
        clock_set_slice(now_ns + SLICE_NS);
    else if (c->slice_ns)
        clock_set_slice(0);
}

/* Have the hart run p: account from now on, and use its page table. A kernel
 * thread keeps the last one if this is the only hart. */
static void become(struct cpu *c, struct proc *p, u64 now_ns)
{
    run_here(c, p);
    p->switched_ns = now_ns;
    if (p->pagetable) {
        vm_use(p->pagetable);
        charge(COST_switch, 1);
    } else if (machine.nharts > 1) {
        vm_use(NULL);
    }
}

/* Switch to the next runnable process, or to idle. The caller has set the state
 * of its own. Returns when that runs again. */
void run_other(void)
{
    struct cpu *c = mycpu();
    struct proc *from = c->proc;
    assert(spin_held(&runqueue.lock) && c->irq_depth == 1);
    struct proc *to =
        ITEM_OR_NULL(list_pop_front(&runqueue.runnable), struct proc, link)
            ?: &idle_procs[c->hart];
    u64 now_ns = clock_ns();
    start_slice(c, now_ns);
    proc_account_until(from, now_ns, false);
    become(c, to, now_ns);
    if (to == from)
        return;
    count(&switches, 1);
    switch_to(&from->context, &to->context);
}

/* Return a hart that waits for a process, this one first; NULL if there is
 * none. */
static struct cpu *idle_hart(void)
{
    if (mycpu()->idle)
        return mycpu();
    for (u32 hart = 0; hart < machine.nharts; hart++)
        if (cpus[hart].idle)
            return &cpus[hart];
    return NULL;
}

/* Wake a hart for a process just made runnable, or see that it gets a turn. */
static void find_hart(void)
{
    struct cpu *self = mycpu(), *found = idle_hart();
    if (found)
        found->idle = false; /* this one, in an interrupt, looks next */
    if (found && found != self)
        ipi_send(found->hart);
    if (!found && !self->slice_ns && self->proc != &idle_procs[self->hart])
        clock_set_slice(clock_ns() + SLICE_NS);
}

/* Make p runnable, behind all others. */
void run_later(struct proc *p)
{
    p->state = RUNNABLE;
    list_push_back(&runqueue.runnable, &p->link);
    find_hart();
}

/* If no hart is idle, the new child runs before its parent goes on: that saves
 * copies of pages that the parent would write, and a refilling of the TLB. */
void run_next(struct proc *p)
{
    if (idle_hart()) {
        run_later(p);
        return;
    }
    p->state = RUNNABLE;
    list_push_front(&runqueue.runnable, &p->link);
    mycpu()->reschedule = true;
}

/* Processes wait for harts: interrupt the harts that have no slice, whose
 * processes started when none waited, so that they switch too. */
static void share_harts(void)
{
    for (u32 hart = 0; hart < machine.nharts; hart++) {
        struct cpu *c = &cpus[hart];
        if (c != mycpu() && c->online && !c->idle && !c->slice_ns)
            ipi_send(hart);
    }
}

/* Let all other runnable processes run first. */
void yield(void)
{
    HOLD(spin, &runqueue.lock);
    if (!list_empty(&runqueue.runnable))
        share_harts();
    struct proc *p = myproc();
    p->state = RUNNABLE;
    list_push_back(&runqueue.runnable, &p->link);
    run_other();
}

/* Wait for an interrupt, unless a process is runnable. Interrupts are off from
 * the look at the run queue to the wait. So an interrupt that comes in between
 * ends the wait at once. */
static void idle_until_interrupt(struct cpu *c)
{
    irq_off();
    spin_lock(&runqueue.lock);
    c->idle = list_empty(&runqueue.runnable);
    spin_unlock(&runqueue.lock);
    if (c->idle) {
        u64 since_ns = clock_ns();
        clock_wait();
        count(&idle, clock_ns() - since_ns);
    }
    irq_on();
}

/* The idle loop of a hart: sleep until something is runnable. */
void proc_idle(void)
{
    struct cpu *c = mycpu();
    c->online = true;
    for (;;) {
        idle_until_interrupt(c);
        HOLD(spin, &runqueue.lock);
        c->idle = false;
        if (!list_empty(&runqueue.runnable))
            run_other();
    }
}

/* ---- sleeping ---- */

/* Return the list of sleepers that has those of this channel. The 6 highest
 * bits of the product choose one of 64. */
static struct list *bucket_of(const void *chan)
{
    u64 mixed = (u64)chan * 0x9e3779b97f4a7c15UL; /* 2^64 / golden ratio */
    return &runqueue.sleepers[mixed >> 58];
}
_Static_assert(SLEEP_BUCKETS == 1 << (64 - 58), "bits of bucket_of");

/* Put this process to sleep on chan; the caller switches away next. */
static void fall_asleep(const void *chan, bool interruptible)
{
    struct proc *p = myproc();
    p->chan = chan;
    p->interruptible = interruptible;
    p->woken = false;
    p->state = SLEEPING;
    list_push_back(bucket_of(chan), &p->link);
}

/* Sleep on the channel until woken or killed. Holds runqueue.lock
 * throughout. */
void run_sleep(const void *chan)
{
    fall_asleep(chan, true);
    run_other();
}

static void end_sleep(struct proc *p)
{
    list_remove(&p->link);
    run_later(p);
}

void run_wakeup(const void *chan)
{
    struct list *bucket = bucket_of(chan), *next;
    for (struct list *n = bucket->next; n != bucket; n = next) {
        next = n->next;
        struct proc *p = LIST_ITEM(n, struct proc, link);
        if (p->chan != chan)
            continue;
        p->woken = true;
        end_sleep(p);
    }
}

void wakeup(const void *chan)
{
    if (list_empty(bucket_of(chan))) /* see the head of this file */
        return;
    HOLD(spin, &runqueue.lock);
    run_wakeup(chan);
}

/* End the sleep of a killed process, if it may be ended; if it runs on another
 * hart, make it enter the kernel. */
void run_interrupt(struct proc *p)
{
    if (p->state == SLEEPING && p->interruptible)
        end_sleep(p);
    for (u32 hart = 0; hart < machine.nharts; hart++)
        if (cpus[hart].proc == p && &cpus[hart] != mycpu())
            ipi_send(hart);
}

void sleep_on(const void *chan, struct spinlock *lk)
{
    spin_lock(&runqueue.lock);
    fall_asleep(chan, false);
    spin_unlock(lk);
    run_other();
    spin_unlock(&runqueue.lock);
    spin_lock(lk);
}

/* A sleeper's timer: end its sleep, if it has not ended. */
static void deadline_reached(void *arg)
{
    struct proc *p = arg;
    HOLD(spin, &runqueue.lock);
    if (p->state == SLEEPING)
        end_sleep(p);
    __atomic_store_n(&p->timed_out, true, __ATOMIC_RELEASE);
}

/* Cancel the deadline. Afterwards, deadline_reached does not run for this sleep
 * any more. */
static void end_deadline(struct proc *p, struct timer *timer)
{
    if (timer_cancel(timer))
        return;
    while (!__atomic_load_n(&p->timed_out, __ATOMIC_ACQUIRE))
        ; /* it is running, on another hart */
}

/* Sleep until woken, killed (-EINTR), or until the deadline (-ETIMEDOUT; 0 is
 * none). lk is released meanwhile. */
int sleep_until(const void *chan, struct spinlock *lk, u64 deadline_ns)
{
    struct proc *p = myproc();
    struct timer timer = {0};
    p->timed_out = false;
    p->woken = false;
    if (deadline_ns)
        timer_set(&timer, deadline_ns, deadline_reached, p);
    spin_lock(&runqueue.lock);
    bool sleeps = !p->killed && !p->timed_out;
    if (sleeps)
        fall_asleep(chan, true);
    spin_unlock(lk);
    if (sleeps)
        run_other();
    bool woken = p->woken;
    spin_unlock(&runqueue.lock);
    if (deadline_ns)
        end_deadline(p, &timer);
    spin_lock(lk);
    if (p->killed)
        return -EINTR;
    return p->timed_out && !woken ? -ETIMEDOUT : 0;
}

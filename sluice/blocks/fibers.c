/*
 * Fibers (fibers.h): sleeping, waking and switching with the contract of
 * kernel/proc/sleep.h, and in the order of kernel/proc/runqueue.c. There are no
 * time slices, because computing takes no virtual time here.
 */
#include "sluice/blocks/fibers.h"

#include "sluice/blocks/hart.h"
#include "kernel/proc/proc.h"

#define STACK_BYTES   (64UL << 10)
#define SLEEP_BUCKETS 64

void update_daemon(void *); /* kernel/cache/bio.h */
void switch_to(struct context *from, struct context *to);

struct fiber {
    struct proc proc;
    u64 number; /* of its coming to the run queue */
};

static struct proc idle_proc = {.name = "idle"};
static struct proc *current = &idle_proc;
static struct list runnable, sleepers[SLEEP_BUCKETS];
static u64 runs;  /* how often a fiber came to the run queue */
static u64 idles; /* how often there was none */

/*
 * The turn. In the kernel, passing the turn makes every process runnable that
 * sleeps on it. Each process that then finds the turn taken goes back to sleep.
 * Here these fibers stay on two lists: `asleep` and `woken`. A group is the
 * part of `woken` that came to the run queue at one time.
 */
static struct {
    bool is_free;
    bool passed; /* the fibers asleep are runnable, from run `number` on */
    u64 number;
    struct list asleep, woken;
    u64 nasleep;
    struct group {
        u64 number, n;
        struct list *last;
    } * group; /* a ring with room for each fiber */
    u64 first_group, end_group, ngroups;
} turn;

struct proc *myproc(void)
{
    return current;
}

/* ---- which one runs ---- */

static void run_later(struct proc *p)
{
    p->state = RUNNABLE;
    CONTAINER(p, struct fiber, proc)->number = runs++;
    list_push_back(&runnable, &p->link);
}

/* Move `from`, up to `last`, to the end of another list. */
static void move_part(struct list *from, struct list *last, struct list *to)
{
    struct list *first = from->next;
    from->next = last->next;
    last->next->prev = from;
    first->prev = to->prev;
    to->prev->next = first;
    last->next = to;
    to->prev = last;
}

/* The sleeping fibers came to the run queue when the turn was passed. */
static void turn_wake(void)
{
    if (turn.passed && turn.nasleep) {
        turn.group[turn.end_group++ % turn.ngroups] =
            (struct group){turn.number, turn.nasleep, turn.asleep.prev};
        move_part(&turn.asleep, turn.asleep.prev, &turn.woken);
        turn.nasleep = 0;
    }
    turn.passed = false;
}

/* Return the first woken fiber, if the turn is free for it. If the turn is
 * taken, put woken fibers back to sleep. NULL: no woken fiber came to the run
 * queue before `before`. */
static struct list *turn_choose(u64 before)
{
    turn_wake();
    while (turn.first_group != turn.end_group) {
        struct group *g = &turn.group[turn.first_group % turn.ngroups];
        if (g->number >= before)
            return NULL;
        turn.first_group += !turn.is_free || g->n == 1;
        if (turn.is_free) {
            g->n--;
            turn.is_free = false;
            return list_pop_front(&turn.woken);
        }
        move_part(&turn.woken, g->last, &turn.asleep);
        turn.nasleep += g->n;
    }
    return NULL;
}

/* Return the process that runs next, in the order in which they became
 * runnable; NULL: none can. */
static struct proc *choose(void)
{
    struct proc *first = ITEM_OR_NULL(list_first(&runnable), struct proc, link);
    u64 before = first ? CONTAINER(first, struct fiber, proc)->number : ~0UL;
    struct list *woken = turn_choose(before);
    return ITEM_OR_NULL(woken ?: list_pop_front(&runnable), struct proc, link);
}

/* Nothing can run: let virtual time go on to the next timer. */
static void idle(void)
{
    current = &idle_proc;
    mycpu()->irq_depth = 0;
    irq_off();
    clock_wait();
    irq_on();
    mycpu()->irq_depth = 1;
    idles++;
}

/* The current fiber has gone to sleep. Interrupts are off, once. */
static void run_other(void)
{
    struct proc *from = current, *to;
    debug_assert(mycpu()->irq_depth == 1);
    while (!(to = choose()))
        idle();
    current = to;
    to->state = RUNNING;
    if (to != from)
        switch_to(&from->context, &to->context);
}

/* ---- sleep.h ---- */

static struct list *bucket_of(const void *chan)
{
    return &sleepers[(u64)chan * 0x9e3779b97f4a7c15UL >> 58];
}

static void fall_asleep(const void *chan)
{
    current->chan = chan;
    current->woken = false;
    current->state = SLEEPING;
    list_push_back(bucket_of(chan), &current->link);
}

static void end_sleep(struct proc *p)
{
    list_remove(&p->link);
    run_later(p);
}

/* Make all processes runnable that sleep on this. */
void wakeup(const void *chan)
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

void sleep_on(const void *chan, struct spinlock *lk)
{
    irq_push_off();
    fall_asleep(chan);
    spin_unlock(lk);
    run_other();
    irq_pop_off();
    spin_lock(lk);
}

static void deadline_reached(void *arg)
{
    struct proc *p = arg;
    if (p->state == SLEEPING)
        end_sleep(p);
    p->timed_out = true;
}

/* Sleep until wakeup or the deadline (0: without one). Returns -ETIMEDOUT only
 * if nothing woke the process. */
int sleep_until(const void *chan, struct spinlock *lk, u64 deadline_ns)
{
    struct timer timer = {0};
    struct proc *p = current;
    p->timed_out = p->woken = false;
    if (deadline_ns)
        timer_set(&timer, deadline_ns, deadline_reached, p);
    irq_push_off();
    bool sleeps = !p->timed_out;
    if (sleeps)
        fall_asleep(chan);
    spin_unlock(lk);
    if (sleeps)
        run_other();
    bool woken = p->woken;
    irq_pop_off();
    timer_cancel(&timer);
    spin_lock(lk);
    return p->timed_out && !woken ? -ETIMEDOUT : 0;
}

/* ---- the turn ---- */

/* Let another process take the turn; whoever is woken for it runs in the order
 * of this moment. */
void turn_pass(void)
{
    turn.is_free = true;
    if (!turn.passed)
        turn.number = runs++;
    turn.passed = true;
}

/* Take the turn, or sleep until it is passed. */
void turn_take(void)
{
    if (turn.is_free) {
        turn.is_free = false;
        return;
    }
    turn_wake();
    irq_push_off();
    current->state = SLEEPING;
    list_push_back(&turn.asleep, &current->link);
    turn.nasleep++;
    run_other();
    irq_pop_off();
}

/* If nothing else can happen until then, the clock alone goes on. */
void fiber_wait_until(u64 when_ns)
{
    static struct spinlock lock = SPINLOCK("due", RANK_PIPE);
    u64 now_ns = clock_ns();
    if (now_ns >= when_ns)
        return;
    if (list_empty(&runnable) && clock_due_ns() > when_ns) {
        turn_choose(~0UL); /* they find the turn taken */
        clock_spend(when_ns - now_ns);
        return;
    }
    HOLD(spin, &lock);
    while (clock_ns() < when_ns)
        sleep_until(&lock, &lock, when_ns);
}

u64 fibers_idle_times(void)
{
    u64 n = idles;
    idles = 0;
    return n;
}

/* ---- the beginning ---- */

static void begin(void)
{
    mycpu()->irq_depth = 1;
    irq_pop_off();
    current->start(current->start_arg);
    panic("a fiber has ended");
}

/* Make a fiber. Its context is as if the fiber had been left just before
 * `begin`, which calls fn. */
static void make(u32 pid, const char *name, void (*fn)(void *))
{
    struct fiber *f = host_memory(sizeof *f);
    f->proc.pid = pid;
    f->proc.start = fn;
    strlcpy(f->proc.name, name, sizeof f->proc.name);
    f->proc.context.ra = (u64)begin;
    f->proc.context.sp = (u64)host_memory(STACK_BYTES) + STACK_BYTES - 64;
    run_later(&f->proc);
}

void fibers_init(void)
{
    list_init(&runnable);
    list_init(&turn.asleep);
    list_init(&turn.woken);
    for (u32 i = 0; i < SLEEP_BUCKETS; i++)
        list_init(&sleepers[i]);
}

void fibers_start(u32 n, void (*fn)(void *))
{
    make(2, "updated", update_daemon);
    for (u32 i = 0; i < n; i++)
        make(3 + i, "request", fn);
    turn.is_free = true;
    turn.ngroups = n + 1;
    turn.group = host_memory(turn.ngroups * sizeof *turn.group);
}

void fibers_run(void)
{
    mycpu()->irq_depth = 1;
    run_other();
    panic("the first fiber has ended");
}

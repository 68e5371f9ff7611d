/*
 * What the kernel's code calls in the search (machine.h): tasks, locks, time,
 * the device and memory.
 */
#include "tools/search/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "kernel/machine/args.h"
#include "kernel/machine/device.h"
#include "kernel/machine/machine.h"
#include "kernel/measure/cost.h"
#include "kernel/measure/hist.h"

struct world world;

static struct cpu the_cpu;
static struct proc nobody = {.name = "interrupt"};
static const struct device_client *client;
static struct virtio_blk {
    struct disk *disk;
} device;

/* ---- violations and notes ---- */

/* End the step: note what is wrong, and jump back to the search. number: the
 * invariant's in the kernel's headers, or 0. */
void violated(u32 number, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = number ? snprintf(watch->what, sizeof watch->what,
                              "invariant %u: ", number)
                   : 0;
    vsnprintf(watch->what + n, sizeof watch->what - n, fmt, args);
    va_end(args);
    siglongjmp(watch->broken, 1);
}

void panic(const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    violated(0, "panic: %s", text);
}

void boot_fail(const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    watch->refused = true;
    violated(0, "%s", text);
}

void note(const char *fmt, ...)
{
    if (!watch->tells)
        return;
    va_list args;
    va_start(args, fmt);
    printf("note ");
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

/* The kernel prints faults of policies, and blocks that it gives up. */
void kprintf(const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    text[strcspn(text, "\n")] = 0;
    note("the kernel prints: %s", text);
    if (!strncmp(text, "policy fault", 12))
        violated(0, "%s", text);
}

/* ---- boot arguments ---- */

#define ARGS_MOST 32

/* Set at the boot only. asked: a part of the kernel has read the argument. */
static struct arg {
    char name[48], value[64];
    bool asked;
} args[ARGS_MOST];
static u32 nargs;

static void args_read(void)
{
    char text[sizeof watch->args], *rest;
    strcpy(text, watch->args);
    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (!value || value == word || nargs == ARGS_MOST)
            boot_fail("argument %s: give NAME=VALUE, %d at most", word,
                      ARGS_MOST);
        snprintf(args[nargs].name, sizeof args->name, "%.*s",
                 (int)(value - word), word);
        snprintf(args[nargs++].value, sizeof args->value, "%s", value + 1);
    }
}

const char *arg_unknown(void)
{
    for (u32 i = 0; i < nargs; i++)
        if (!args[i].asked)
            return args[i].name;
    return NULL;
}

const char *arg_text(const char *name)
{
    for (u32 i = 0; i < nargs; i++) {
        if (strcmp(args[i].name, name))
            continue;
        args[i].asked = true;
        return args[i].value;
    }
    return NULL;
}

/* A cache may be smaller than any machine's, so nbuf has no limits here. */
u64 arg_number(const char *name, u64 def, u64 min, u64 max)
{
    u64 value;
    const char *text = arg_text(name);
    if (!text)
        return def;
    if (!parse_u64(text, &value))
        boot_fail("argument %s=%s: not a number", name, text);
    if (strcmp(name, "nbuf") && (value < min || value > max))
        boot_fail("argument %s=%s: give %lu to %lu", name, text, min, max);
    return value;
}

bool parse_u64(const char *text, u64 *value)
{
    char *end;
    *value = strtoul(text, &end, 10);
    return !*end && *text >= '0' && *text <= '9';
}

void args_each(bool (*fn)(const char *, const char *))
{
    for (u32 i = 0; i < nargs; i++)
        if (!args[i].asked)
            args[i].asked = fn(args[i].name, args[i].value);
}

void text_printf(struct text *t, const char *fmt, ...)
{
    (void)t, (void)fmt;
}

/* ---- no measuring ---- */

bool clock_charged, trace_on;

void cost_charge(u32 row, u64 n)
{
    (void)row, (void)n;
}

void trace_write(enum trace_event e, u32 disk, u64 block, u32 pid, u64 arg)
{
    (void)e, (void)disk, (void)block, (void)pid, (void)arg;
}

void trace_write_at(u64 time_ns, enum trace_event e, u32 disk, u64 block,
                    u32 pid, u64 arg)
{
    (void)time_ns, (void)e, (void)disk, (void)block, (void)pid, (void)arg;
}

void hist_init(u32 disks)
{
    (void)disks;
}

void hist_add(struct histogram *h, u64 value)
{
    (void)h, (void)value;
}

void hist_add_request(struct histogram *h, u32 disk, u32 pid, u64 value)
{
    (void)h, (void)disk, (void)pid, (void)value;
}

/* ---- memory ---- */

void *mem_reserve(u64 bytes)
{
    u64 at = (world.arena_used + 63) / 64 * 64;
    if (world.lacks_memory) {
        world.lacks_memory = false;
        world.refused++;
        return NULL;
    }
    if (at + bytes > ARENA_BYTES)
        return NULL;
    world.arena_used = at + bytes;
    return world.arena + at;
}

void *mem_clear(void *start, u64 bytes)
{
    return start ? memset(start, 0, bytes) : NULL;
}

void mem_release(void *start, u64 bytes)
{
    (void)start, (void)bytes;
}

u64 mem_total_pages(void)
{
    return ARENA_BYTES / PAGE_SIZE;
}

/* ---- tasks ---- */

struct proc *myproc(void)
{
    return watch->running ? &watch->running->proc : &nobody;
}

struct cpu *mycpu(void)
{
    the_cpu.pid = myproc()->pid;
    the_cpu.name = myproc()->name;
    return &the_cpu;
}

void irq_push_off(void)
{
}

void irq_pop_off(void)
{
}

/* Continue at `to`, which __builtin_setjmp has filled. GCC does not allow this
 * jump in the function that has called __builtin_setjmp. */
__attribute__((noinline, noreturn)) static void leap(void **to)
{
    __builtin_longjmp(to, 1);
}

/* Stop here; return when the search runs the task again. */
__attribute__((noinline)) static void stop(struct task *t)
{
    if (__builtin_setjmp(t->go_on) == 0)
        leap(watch->back);
}

static struct task *task_or_panic(const char *does)
{
    if (!watch->running)
        violated(0, "an interrupt %s", does);
    return watch->running;
}

static void fall_asleep(const void *chan, struct spinlock *l, u64 deadline_ns)
{
    struct task *t = task_or_panic("sleeps");
    if (world.nheld != 1 || world.held[0] != l)
        violated(0, "%s sleeps with a spin lock held", t->proc.name);
    spin_unlock(l);
    t->state = TASK_ASLEEP;
    t->chan = chan;
    t->deadline_ns = deadline_ns;
    t->timed_out = false;
    stop(t);
    spin_lock(l);
}

void sleep_on(const void *chan, struct spinlock *l)
{
    fall_asleep(chan, l, 0);
}

int sleep_until(const void *chan, struct spinlock *l, u64 deadline_ns)
{
    if (deadline_ns && deadline_ns <= world.now_ns)
        return -ETIMEDOUT;
    fall_asleep(chan, l, deadline_ns);
    return watch->running->timed_out ? -ETIMEDOUT : 0;
}

static void wake(struct task *t)
{
    t->state = TASK_READY;
    t->chan = NULL;
    t->deadline_ns = 0;
}

void wakeup(const void *chan)
{
    for (u32 i = 0; i < watch->ntasks; i++) {
        struct task *t = &world.tasks[i];
        if (t->state == TASK_ASLEEP && t->chan == chan) {
            wake(t);
            note("%s is woken", t->proc.name);
        }
    }
}

/* Run a task until it sleeps, ends or pauses; `stop` comes back here. pause_at:
 * it pauses at this release of its last lock, counted from 1; 0: at none. */
void task_run(struct task *t, u32 pause_at)
{
    if (__builtin_setjmp(watch->back) == 0) {
        watch->running = t;
        watch->releases = 0;
        watch->leaves_kernel = false;
        watch->pause_at = pause_at;
        world.pauses_left -= pause_at != 0;
        t->paused = false;
        leap(t->go_on);
    }
    t = watch->running;
    watch->running = NULL;
    if (world.nheld)
        violated(0, "%s stops with %s held", t->proc.name, world.held[0]->name);
    /* The stack grows downwards. What lies below its top, go_on's stack
     * pointer, is no part of the state, so it is cleared. */
    u8 *low = world.stacks[t - world.tasks];
    u8 *top = t->state == TASK_DONE ? low + STACK_BYTES : t->go_on[2];
    if (*(u64 *)low)
        violated(0, "%s has filled its stack", t->proc.name);
    u8 *from = top - 3072 > low ? top - 3072 : low;
    while (from > low && *(u64 *)(from - 64))
        from -= 64; /* the stack had been deeper than 3,072 bytes */
    memset(from, 0, top - from);
    if (t->state == TASK_DONE)
        memset(t->go_on, 0, sizeof t->go_on);
}

/* ---- what is over ---- */

/* When a transfer is done, its times say nothing any more. When a block is
 * clean, nor does the update policy's mark. They are cleared rather than left
 * out of the hash, so that a use of one would change what happens. */
static void clear_times(void)
{
    BUF_EACH (b) {
        if (!b->block.dirtied_ns)
            b->block.mark = 0;
        if (!b->failed_ns)
            b->retry_ns = 0;
        if (!b->io || b->io->request.queue || b->flags & (B_READ | B_WRITE))
            continue;
        b->io->request.queued_ns = 0;
        b->io->issued_ns = 0;
    }
    for (struct io *io = bcache.free_ios, *next; io; io = next) {
        next = io_next(io);
        *io = (struct io){0};
        io_set_next(io, next);
    }
}

/* ---- what locks guard ---- */

/* A part of memory that one lock guards, as it was when the lock was last
 * released. */
static struct guarded {
    const struct spinlock *lock;
    const char *name;
    const void *start;
    u64 bytes;
} * guarded;
static u32 nguarded;
static u8 *as_released;

#define GUARDED_MOST       16
#define GUARDED_BYTES_MOST 4096

static void guard(const struct spinlock *l, const char *name, const void *start,
                  const void *end)
{
    guarded[nguarded++] =
        (struct guarded){l, name, start, (u8 *)end - (u8 *)start};
}

/* Copy all that the lock guards, as it is now. NULL: what any lock guards. */
static void note_guarded(const struct spinlock *l)
{
    u8 *copy = as_released;
    for (struct guarded *g = guarded; g < guarded + nguarded; g++) {
        if (!l || g->lock == l)
            memcpy(copy, g->start, g->bytes);
        copy += g->bytes;
    }
}

/* Nothing that the lock guards has changed since the lock was released. NULL:
 * nothing that any lock guards. */
static void check_guarded(const struct spinlock *l)
{
    const u8 *copy = as_released;
    for (struct guarded *g = guarded; g < guarded + nguarded; g++) {
        if ((!l || g->lock == l) && memcmp(copy, g->start, g->bytes))
            violated(0, "%s has changed without the lock %s", g->name,
                     g->lock->name);
        copy += g->bytes;
    }
}

/* All but the locks themselves, and what a buffer's holder may change. */
static void guard_all(void)
{
    struct disk *d = the_disk();
    guarded = calloc(GUARDED_MOST, sizeof *guarded);
    as_released = calloc(1, GUARDED_BYTES_MOST);
    guard(&bcache.lock, "the cache", &bcache.nbufs, &bcache + 1);
    for (struct buf *b = bcache.bufs; b < bcache.bufs + bcache.nbufs; b++)
        guard(&bcache.lock, "a buffer", b, &b->data);
    guard(&d->lock, "the queue", &d->sched, &d->queued_ns);
    guard(&d->lock, "the count of commands", &d->in_flight, &d->written);
    guard(&d->lock, "the count of plugs", &d->plugged, &d->plugged + 1);
    note_guarded(NULL);
}

void step_begins(void)
{
    note_guarded(NULL);
}

void step_ends(void)
{
    check_guarded(NULL);
    clear_times();
}

/* ---- spin locks ---- */

void spin_lock(struct spinlock *l)
{
    if (l->locked)
        violated(0, "%s takes the lock %s twice", myproc()->name, l->name);
    if (world.nheld && world.held[world.nheld - 1]->rank >= l->rank)
        violated(0, "%s takes the lock %s inside %s, which ranks later",
                 myproc()->name, l->name, world.held[world.nheld - 1]->name);
    if (watch->ready)
        check_guarded(l);
    l->locked = 1;
    world.held[world.nheld++] = l;
}

void spin_unlock(struct spinlock *l)
{
    struct task *t = watch->running;
    if (!world.nheld || !l->locked)
        violated(0, "%s releases the lock %s, which nobody has", myproc()->name,
                 l->name);
    /* Take the lock out of the list of those held, which keeps its order. */
    u32 i = world.nheld;
    while (i && world.held[i - 1] != l)
        i--;
    for (world.nheld--; i && i <= world.nheld; i++)
        world.held[i - 1] = world.held[i];
    world.held[world.nheld] = NULL;
    l->locked = 0;
    if (watch->ready)
        note_guarded(l);
    /* A task may pause where it has released its last lock. */
    if (world.nheld || !t || t->state == TASK_ASLEEP || !watch->ready)
        return;
    if (++watch->releases != watch->pause_at)
        return;
    t->paused = !watch->leaves_kernel;
    stop(t);
}

bool spin_held(const struct spinlock *l)
{
    return l->locked;
}

/* ---- time ---- */

u64 clock_ns(void)
{
    return world.now_ns;
}

bool clock_is_virtual(void)
{
    return !watch->live;
}

void clock_stop(void)
{
}

void clock_go(void)
{
}

void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    if (timer_is_set(t))
        violated(0, "a timer is set twice");
    for (u32 i = 0; i < TIMERS_MOST; i++) {
        if (world.timers[i])
            continue;
        *t = (struct timer){
            .when_ns = when_ns, .fire = fire, .arg = arg, .cpu = &the_cpu};
        world.timers[i] = t;
        return;
    }
    violated(0, "more than %d timers are set", TIMERS_MOST);
}

bool timer_cancel(struct timer *t)
{
    for (u32 i = 0; i < TIMERS_MOST; i++) {
        if (world.timers[i] != t)
            continue;
        world.timers[i] = NULL;
        t->cpu = NULL;
        return true;
    }
    return false;
}

void timer_fire(u32 i)
{
    struct timer *t = world.timers[i];
    world.timers[i] = NULL;
    t->cpu = NULL;
    t->fire(t->arg);
}

/* Time passes only if no task is ready: until the next deadline or timer. */
bool time_can_pass(u64 *until_ns)
{
    *until_ns = NEVER_NS;
    for (u32 i = 0; i < watch->ntasks; i++) {
        const struct task *t = &world.tasks[i];
        if (t->state == TASK_READY)
            return false;
        if (t->state == TASK_ASLEEP && t->deadline_ns)
            *until_ns = MIN(*until_ns, t->deadline_ns);
    }
    for (u32 i = 0; i < TIMERS_MOST; i++)
        if (world.timers[i])
            *until_ns = MIN(*until_ns, world.timers[i]->when_ns);
    return *until_ns != NEVER_NS && *until_ns > world.now_ns;
}

void time_pass(u64 until_ns)
{
    world.now_ns = until_ns;
    for (u32 i = 0; i < watch->ntasks; i++) {
        struct task *t = &world.tasks[i];
        if (t->state == TASK_ASLEEP && t->deadline_ns &&
            t->deadline_ns <= until_ns) {
            wake(t);
            t->timed_out = true;
        }
    }
}

/* ---- the device ---- */

struct ramdisk *ramdisk_open(u32 i, const struct device_client *of, void *arg,
                             struct device_facts *facts)
{
    (void)i, (void)of, (void)arg, (void)facts;
    return NULL;
}

void ramdisk_do(struct ramdisk *r, enum command_kind kind, u64 sector,
                struct span *first)
{
    (void)r, (void)kind, (void)sector, (void)first;
}

struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *of,
                                   void *arg, struct device_facts *facts)
{
    if (i)
        return NULL;
    *facts = (struct device_facts){
        .nsectors = watch->nblocks, .depth = watch->depth, .max_segments = 2};
    client = of;
    device.disk = arg;
    return &device;
}

/* While a command writes a block, the device has no other command for it. */
static void check_overlap(const struct slot *with)
{
    for (u32 i = 0; i < SLOTS_MOST; i++) {
        const struct slot *s = &world.slots[i];
        if (!s->first || s == with || !(s->write || with->write))
            continue;
        bool overlap = s->sector < with->sector + with->n &&
                       with->sector < s->sector + s->n;
        if (overlap)
            violated(0, "two commands of one block are at the device at once");
    }
}

bool virtio_blk_start(struct virtio_blk *v, enum command_kind kind, u64 sector,
                      struct span *first)
{
    (void)v;
    u32 i = 0;
    while (i < watch->depth && world.slots[i].first)
        i++;
    if (i == watch->depth)
        return false;
    struct slot *s = &world.slots[i];
    *s = (struct slot){.first = first,
                       .sector = sector,
                       .write = kind == COMMAND_WRITE,
                       .flush = kind == COMMAND_FLUSH};
    for (struct span *p = s->flush ? NULL : first; p; p = p->next) {
        if (sector + s->n >= watch->nblocks || s->n == COMMAND_MOST ||
            p->bytes != BLOCK_BYTES)
            violated(0, "a command is not on the disk, or too long");
        s->values[s->n++] = s->write ? *(u64 *)p->data : 0;
    }
    check_overlap(s);
    note("the device gets command %u: %s %u block%s from block %lu on", i,
         s->write ? "write" : "read", s->n, s->n > 1 ? "s" : "", sector);
    return true;
}

/* Move a command's blocks. A block's contents are one number, which grows with
 * each write of a program; values[i] is what block i held at the command's
 * start. */
static void move(const struct slot *s)
{
    u64 block = s->sector;
    u32 i = 0;
    for (struct span *p = s->first; p; p = p->next, block++, i++) {
        u64 *data = p->data;
        if (!s->write) {
            *data = world.disk[block];
            continue;
        }
        if (*data != s->values[i])
            violated(0, "block %lu changes while it is written", block);
        if (*data < world.disk[block])
            violated(0, "block %lu: an older write comes after a newer one",
                     block);
        world.disk[block] = *data;
    }
}

void slot_end(struct slot *s, bool fails)
{
    struct slot ended = *s;
    *s = (struct slot){0};
    world.failures_left -= fails;
    if (!fails && !ended.flush)
        move(&ended);
    client->ended(device.disk, ended.first, fails ? -EIO : 0);
}

void virtio_blk_kick(struct virtio_blk *v)
{
    (void)v;
}

void virtio_blk_settle(struct virtio_blk *v)
{
    (void)v;
}

/* ---- the boot ---- */

struct disk *the_disk(void)
{
    return disk_get(0);
}

/* A task's first function. makecontext passes whole numbers of 32 bits only, so
 * the task's address comes in two halves. */
static void task_begin(u32 low, u32 high)
{
    struct task *t = (struct task *)((u64)high << 32 | low);
    stop(t);
    t->proc.start(NULL);
    t->state = TASK_DONE;
    for (;;)
        stop(t);
}

/* Give a task its stack, and have it stop before its first step. */
static void task_make(u32 i, const char *name, void (*start)(void *))
{
    struct task *t = &world.tasks[i];
    ucontext_t begins, *back = malloc(sizeof *back);
    t->proc.pid = i + 1;
    t->proc.start = start;
    strcpy(t->proc.name, name);
    t->state = TASK_READY;
    if (getcontext(&begins) || !back)
        abort();
    begins.uc_stack.ss_sp = world.stacks[i];
    begins.uc_stack.ss_size = STACK_BYTES;
    begins.uc_link = NULL;
    makecontext(&begins, (void (*)(void))task_begin, 2, (u32)(u64)t,
                (u32)((u64)t >> 32));
    if (__builtin_setjmp(watch->back) == 0)
        swapcontext(back, &begins);
}

void machine_boot(void)
{
    args_read();
    world.now_ns = TIME_ZERO;
    world.failures_left = watch->failures;
    world.pauses_left = watch->pauses;
    world.shortages_left = watch->shortages;
    for (u32 i = 0; i < watch->nblocks; i++) {
        world.disk[i] = FIRST_OF(CLASS_VALUE) + ((u64)i << 32);
        world.wanted[i] = world.disk[i];
    }
    world.next_value = 1;
    registry_init();
    policy_boot_args();
    disk_init();
    bio_init(BLOCK_BYTES);
    updated_init();
    bcache.write_number = FIRST_OF(CLASS_WRITE);
    bcache.uses = FIRST_OF(CLASS_USE);
    the_disk()->queue.arrivals = FIRST_OF(CLASS_ARRIVAL);
    task_make(DAEMON, "the update daemon", update_daemon);
    for (u32 i = 1; i < watch->ntasks; i++) {
        char name[] = "process ?";
        name[sizeof name - 2] = "0123456789"[i];
        task_make(i, name, program_run);
    }
    struct disk *d = the_disk();
    state_exclude(&the_cpu, sizeof the_cpu);
    state_exclude(&world.next_value, sizeof world.next_value);
    state_exclude(&d->queued_ns, sizeof d->queued_ns);
    state_exclude(&d->measured_ns, sizeof d->measured_ns);
    state_exclude(&d->written, sizeof d->written);
    state_exclude(&d->queue.commands, sizeof d->queue.commands);
    guard_all();
    watch->ready = true;
}

/*
 * The machine around the cache and the disks (rig.h): the kernel's functions
 * that these call, each as simple as the tests allow. Processes are contexts of
 * the host (ucontext) that take turns, so only one runs at a time. A disk's
 * contents are in memory, and its commands wait in `flying` until the test, or
 * rig.idle, ends them.
 */
#include "tests/support/native/rig.h"

#include <stdarg.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernel/base/abi.h"
#include "kernel/machine/args.h"
#include "kernel/cache/bio.h"
#include "kernel/machine/device.h"
#include "kernel/measure/hist.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/print.h"
#include "kernel/proc/proc.h"
#include "kernel/policy/registry.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/measure/trace.h"
#include "kernel/driver/virtio_blk.h"
#include "kernel/vlog/vlog.h"

#define SECTORS     4096 /* of a disk, at most */
#define TASKS       16
#define STACK_BYTES (256 * 1024)
#define COMMANDS    512
#define TIMERS      32
#define BAD_SECTORS 16

struct rig rig = {.disks = 2,
                  .sectors = SECTORS,
                  .depth = 8,
                  .max_segments = 4,
                  .ring = COMMANDS,
                  .idle = end_oldest,
                  .memory_pages = 1024,
                  .reservations = UNLIMITED};
u64 clock_now_ns = 1000000, clock_look_ns;

/* ---- what is printed ---- */

void panic(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("panic: ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    exit(1);
}

void boot_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("boot: ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    exit(1);
}

void kprintf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args("console", fmt, args);
    va_end(args);
}

/* ---- boot arguments, memory, text ---- */

static char boot_line[1024];

/* The value of a boot argument in boot_line, valid until the next call; NULL:
 * it is not there. */
const char *arg_text(const char *name)
{
    static char value[64];
    u64 length = strlen(name);
    for (const char *at = boot_line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) || at[length] != '=')
            continue;
        at += length + 1;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " "), at);
        return value;
    }
    return NULL;
}

u64 arg_number(const char *name, u64 def, u64 min, u64 max)
{
    const char *text = arg_text(name);
    u64 value = def;
    if (text && (!parse_u64(text, &value) || value < min || value > max))
        boot_fail("%s=%s: not a number from %lu to %lu", name, text, min, max);
    return value;
}

/* Fresh memory is not zeroed, so that missing initialisation shows. Memory is
 * never reused. */
void *mem_reserve(u64 bytes)
{
    static void *reserved[256];
    static u32 n;
    if (!rig.reservations--)
        return NULL;
    check(n < NELEM(reserved));
    reserved[n] = malloc(bytes);
    return memset(reserved[n++], 0xa5, bytes);
}

void *mem_clear(void *start, u64 bytes)
{
    return start ? memset(start, 0, bytes) : NULL;
}

/* Overwrite what is given back, so that a later use shows. */
void mem_release(void *start, u64 bytes)
{
    rig.released += bytes;
    if (bytes)
        memset(start, 0xdd, bytes);
}

u64 mem_total_pages(void)
{
    return rig.memory_pages;
}

/* ---- locks: taken by rising rank, and none while asleep ---- */

static struct spinlock *locks[RANK_COUNT];
static u32 nlocks;

/* Take a lock. Ranks must rise, and a lock must be set up and free. */
void spin_lock(struct spinlock *l)
{
    if (!l->name)
        panic("a lock is taken that was not set up");
    if (l->locked++)
        panic("%s is locked twice", l->name);
    if (nlocks && locks[nlocks - 1]->rank >= l->rank)
        panic("%s is locked after %s", l->name, locks[nlocks - 1]->name);
    locks[nlocks++] = l;
}

/* Release the lock that was taken last. */
void spin_unlock(struct spinlock *l)
{
    if (!nlocks || locks[nlocks - 1] != l)
        panic("%s is unlocked, and was not locked last", l->name);
    l->locked = 0;
    if (!--nlocks && rig.unlocked)
        rig.unlocked();
}

/* ---- processes ---- */

struct task {
    struct proc proc;
    ucontext_t context;
    void (*fn)(void *);
    void *arg;
    bool ready, ended, timed_out;
    const void *chan; /* asleep on this */
    u64 deadline_ns;  /* until then; 0: for ever */
};

static struct task tasks[TASKS] = {
    {.proc = {.pid = TEST_PID, .name = "test"}, .ready = true}};
static u32 ntasks = 1;
static struct task *running = tasks;

struct proc *myproc(void)
{
    return &running->proc;
}

/* The start of each process's context. */
static void begin(void)
{
    struct task *t = running;
    t->fn(t->arg);
    t->ended = true;
    t->ready = false;
    swapcontext(&t->context, &tasks[0].context);
}

/* Make a process, which is ready to run. */
static struct task *task_new(u32 pid, void (*fn)(void *), void *arg)
{
    check(ntasks < TASKS);
    struct task *t = &tasks[ntasks++];
    *t = (struct task){
        .proc = {.pid = pid}, .fn = fn, .arg = arg, .ready = true};
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = malloc(STACK_BYTES);
    t->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->context, begin, 0);
    return t;
}

/* Let one of the others run, if one can. Only the test itself calls this. */
static bool run_one(void)
{
    for (u32 i = 1; i < ntasks; i++) {
        if (!tasks[i].ready)
            continue;
        running = &tasks[i];
        swapcontext(&tasks[0].context, &running->context);
        running = &tasks[0];
        return true;
    }
    return false;
}

void run_others(void)
{
    check(running == &tasks[0]);
    while (run_one())
        ;
}

struct task *start(u32 pid, void (*fn)(void *), void *arg)
{
    struct task *t = task_new(pid, fn, arg);
    run_others();
    return t;
}

bool has_ended(const struct task *t)
{
    return t->ended;
}

/* Make a kernel thread. It runs when the test sleeps or calls run_others. */
struct proc *kthread(const char *name, void (*fn)(void *), void *arg)
{
    struct task *t = task_new(2, fn, arg);
    snprintf(t->proc.name, sizeof t->proc.name, "%s", name);
    return &t->proc;
}

struct proc *kernel_thread(const char *name)
{
    for (u32 i = 1; i < ntasks; i++)
        if (!strcmp(tasks[i].proc.name, name))
            return &tasks[i].proc;
    panic("rig: there is no kernel thread %s", name);
}

/* The test sleeps: let the others run until one wakes it. */
static void wait_here(struct spinlock *l)
{
    while (!tasks[0].ready) {
        if (!run_one() && !tasks[0].ready && !rig.idle())
            panic("rig: sleeps for ever, with %s", l->name);
    }
}

/* Sleep on `chan` without the lock, until wakeup or the deadline. */
static void sleep_for(const void *chan, struct spinlock *l, u64 deadline_ns)
{
    struct task *t = running;
    if (nlocks != 1)
        panic("%s, and another lock, held asleep", l->name);
    t->chan = chan;
    t->deadline_ns = deadline_ns;
    t->ready = t->timed_out = false;
    spin_unlock(l);
    if (t == &tasks[0])
        wait_here(l);
    else
        swapcontext(&t->context, &tasks[0].context);
    t->chan = NULL;
    t->deadline_ns = 0;
    spin_lock(l);
}

void sleep_on(const void *chan, struct spinlock *l)
{
    sleep_for(chan, l, 0);
}

int sleep_until(const void *chan, struct spinlock *l, u64 deadline_ns)
{
    struct task *t = running;
    sleep_for(chan, l, deadline_ns);
    return t->timed_out ? -ETIMEDOUT : 0;
}

void wakeup(const void *chan)
{
    for (u32 i = 0; i < ntasks; i++)
        tasks[i].ready |= chan && tasks[i].chan == chan;
}

void sleep_lock_init(struct sleeplock *l, const char *name)
{
    l->name = name;
    l->guard = SPINLOCK(name, RANK_SLEEPLOCK);
}

void sleep_lock(struct sleeplock *l)
{
    spin_lock(&l->guard);
    while (l->holder)
        sleep_on(l, &l->guard);
    l->holder = myproc();
    spin_unlock(&l->guard);
}

void sleep_unlock(struct sleeplock *l)
{
    if (l->holder != myproc())
        panic("%s is let go by who has it not", l->name);
    l->holder = NULL;
    wakeup(l);
}

/* ---- time ---- */

static struct timer *timers[TIMERS]; /* that are set */
static bool stopped;

/* The time. Each look at the clock may move it. */
u64 clock_ns(void)
{
    return clock_now_ns += clock_look_ns;
}

bool clock_is_virtual(void)
{
    return !rig.live;
}

/* Stop the clock: next_event then panics, so that nothing can be waited for. */
void clock_stop(void)
{
    if (stopped || nlocks)
        panic("rig: the clock is stopped, or a lock is held");
    stopped = true;
}

void clock_go(void)
{
    if (!stopped)
        panic("rig: the clock was not stopped");
    stopped = false;
}

/* A set timer has a cpu that is not NULL; the cpu itself is not used. */
void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    u32 i = 0;
    if (t->cpu)
        panic("rig: the timer is set already");
    while (timers[i])
        i++;
    *t = (struct timer){.when_ns = when_ns,
                        .fire = fire,
                        .arg = arg,
                        .cpu = (struct cpu *)&timers};
    timers[i] = t;
}

/* Clear a timer. False: it was not set. */
bool timer_cancel(struct timer *t)
{
    for (u32 i = 0; t->cpu && i < TIMERS; i++) {
        if (timers[i] != t)
            continue;
        timers[i] = NULL;
        t->cpu = NULL;
        return true;
    }
    return false;
}

/* The timer that fires next; NULL: none is set. */
static struct timer *first_timer(void)
{
    struct timer *first = NULL;
    for (u32 i = 0; i < TIMERS; i++)
        if (timers[i] && (!first || timers[i]->when_ns < first->when_ns))
            first = timers[i];
    return first;
}

/* The sleeping process whose deadline comes first; NULL: none has one. */
static struct task *first_deadline(void)
{
    struct task *first = NULL;
    for (u32 i = 0; i < ntasks; i++) {
        struct task *t = &tasks[i];
        if (t->chan && !t->ready && t->deadline_ns &&
            (!first || t->deadline_ns < first->deadline_ns))
            first = t;
    }
    return first;
}

/* Go on to the next timer or deadline up to then; false: there is none. */
static bool next_event(u64 until_ns)
{
    struct timer *timer = first_timer();
    struct task *task = first_deadline();
    u64 timer_ns = timer ? timer->when_ns : NEVER_NS;
    u64 task_ns = task ? task->deadline_ns : NEVER_NS;
    u64 when_ns = MIN(timer_ns, task_ns);
    if (stopped)
        panic("rig: the clock stands still");
    if (when_ns == NEVER_NS || when_ns > until_ns)
        return false;
    clock_now_ns = MAX(clock_now_ns, when_ns);
    if (timer_ns <= task_ns) {
        timer_cancel(timer);
        timer->fire(timer->arg);
    } else {
        task->timed_out = task->ready = true;
    }
    return true;
}

void run_to_ns(u64 when_ns)
{
    run_others();
    while (next_event(when_ns))
        run_others();
    clock_now_ns = MAX(clock_now_ns, when_ns);
}

/* ---- the device ---- */

static u8 contents[MAX_DISKS][SECTORS][SECTOR_BYTES];
static struct virtio_blk {
    struct disk *disk;
} devices[MAX_DISKS];
static const struct device_client *client;
static struct started {
    struct virtio_blk *device;
    enum command_kind kind;
    u64 sector;
    struct span *first;
    bool kicked;
} flying[COMMANDS];
static u32 nflying;
static struct bad {
    u32 disk;
    u64 sector;
    bool write;
    u32 times;
} bads[BAD_SECTORS];

u8 *on_device(u32 disk, u64 sector)
{
    return contents[disk][sector];
}

void fail_sector(u32 disk, u64 sector, bool write, u32 times)
{
    u32 i = 0;
    while (bads[i].times)
        i++;
    bads[i] = (struct bad){disk, sector, write, times};
}

/* Open device i, if there are so many. */
struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *of,
                                   void *arg, struct device_facts *facts)
{
    check(rig.disks <= MAX_DISKS);
    if (i == rig.disks)
        return NULL;
    *facts = (struct device_facts){
        .nsectors = rig.sectors,
        .can_flush = rig.can_flush,
        .depth = rig.depth,
        .max_segments = rig.max_segments,
    };
    client = of;
    devices[i].disk = arg;
    return &devices[i];
}

static u32 id_of(const struct virtio_blk *v)
{
    return v - devices;
}

/* Add a command to the text that check_commands compares. */
static void say_command(const struct started *s)
{
    if (s->kind == COMMAND_FLUSH) {
        say("commands", "F%u", id_of(s->device));
        return;
    }
    u64 bytes = 0, spans = 0;
    for (const struct span *i = s->first; i; i = i->next) {
        bytes += i->bytes;
        spans++;
    }
    char joined[32] = "";
    if (spans > 1)
        snprintf(joined, sizeof joined, "=%lu", spans);
    say("commands", "%c%u:%lu+%lu%s", s->kind == COMMAND_WRITE ? 'W' : 'R',
        id_of(s->device), s->sector, bytes / SECTOR_BYTES, joined);
}

/* Hand a command to the device, which sees it at the next kick. */
bool virtio_blk_start(struct virtio_blk *v, enum command_kind kind, u64 sector,
                      struct span *first)
{
    if (nflying >= rig.ring)
        return false;
    flying[nflying] = (struct started){v, kind, sector, first, false};
    say_command(&flying[nflying++]);
    return true;
}

/* Notify the device of the commands started since the last kick; there must be
 * some. */
void virtio_blk_kick(struct virtio_blk *v)
{
    bool any = false;
    for (u32 i = 0; i < nflying; i++) {
        if (flying[i].device != v || flying[i].kicked)
            continue;
        flying[i].kicked = any = true;
    }
    if (!any)
        panic("rig: the device is told of nothing");
    rig.kicks++;
}

/* True if the command that was started has the bad sector, and reads or writes
 * as the fault wants. */
static bool touches(const struct bad *b, const struct started *s)
{
    u64 end = s->sector;
    for (const struct span *i = s->first; i; i = i->next)
        end += i->bytes / SECTOR_BYTES;
    return b->disk == id_of(s->device) && s->sector <= b->sector &&
           b->sector < end &&
           s->kind == (b->write ? COMMAND_WRITE : COMMAND_READ);
}

/* Return whether the command fails, and count that on the sector's fault. */
static bool fails(const struct started *s)
{
    for (u32 i = 0; i < BAD_SECTORS; i++) {
        if (!bads[i].times || !touches(&bads[i], s))
            continue;
        bads[i].times--;
        return true;
    }
    return false;
}

/* Move the command's data between memory and the disk's contents. */
static void move(const struct started *s)
{
    u8 *at = contents[id_of(s->device)][s->sector];
    if (s->kind == COMMAND_FLUSH)
        return;
    for (const struct span *i = s->first; i; at += i->bytes, i = i->next) {
        if (!i->data)
            continue;
        if (s->kind == COMMAND_WRITE)
            memcpy(at, i->data, i->bytes);
        else
            memcpy(i->data, at, i->bytes);
    }
}

u32 in_flight(void)
{
    return nflying;
}

/* End the i-th command in flight: move its data, or fail it. */
void end_command(u32 i)
{
    check(i < nflying && flying[i].kicked);
    struct started s = flying[i];
    memmove(&flying[i], &flying[i + 1], (--nflying - i) * sizeof s);
    bool failed = s.kind == COMMAND_FLUSH ? rig.flush_fails : fails(&s);
    if (!failed)
        move(&s);
    client->ended(s.device->disk, s.first, failed ? -EIO : 0);
}

/* End all commands, also those that processes start meanwhile. */
void end_commands(void)
{
    do {
        while (nflying)
            end_command(0);
        run_others();
    } while (nflying);
}

/* End the commands of a device while the clock is stopped. */
void virtio_blk_settle(struct virtio_blk *v)
{
    check(stopped);
    for (u32 i = 0; i < nflying;) {
        if (flying[i].device == v)
            end_command(i);
        else
            i++;
    }
}

/* End the oldest command, or go on to the next timer. False: there is
 * neither. */
bool end_oldest(void)
{
    if (nflying)
        end_command(0);
    else
        return next_event(NEVER_NS - 1);
    return true;
}

bool nothing_ends(void)
{
    return false;
}

/* ---- requests ---- */

static struct io ios[COMMANDS];
static u32 nios;

/* The hook `done` of the requests here. */
static void io_done(struct io *io, int error)
{
    note("%c%lu %s", io->request.write ? 'W' : 'R', io->request.sector,
         error ? "failed" : "done");
    check(!error || error == -EIO);
}

/* Submit requests written as "R0:16+2": way, disk, first sector, sectors. */
struct io *submit(const char *requests)
{
    struct io *io = NULL;
    for (const char *at = requests; *at; at += strspn(at, " ")) {
        u32 disk, n;
        u64 sector;
        char way;
        int length = 0;
        sscanf(at, "%c%u:%lu+%u%n", &way, &disk, &sector, &n, &length);
        check(length && nios < COMMANDS);
        at += length;
        io = &ios[nios++];
        io->request = (struct request){.sector = sector,
                                       .nsectors = n,
                                       .write = way == 'W',
                                       .pid = TEST_PID};
        io->done = io_done;
        disk_submit(disk_get(disk), io);
    }
    return io;
}

bool claims_fail;

/* The hook `reserve` of a candidate. */
static bool io_claim(struct io *io, const struct disk *d)
{
    check(d == disk_get(0) && !nlocks);
    note("claim %lu", io->request.sector);
    io->request.candidate = false;
    return !claims_fail;
}

struct io *add_candidate_write(u64 sector, u32 nsectors)
{
    struct io *io = &ios[nios++];
    io->request =
        (struct request){.sector = sector, .nsectors = nsectors, .write = true};
    io->request.queued_ns = clock_now_ns;
    io->done = io_done;
    io->reserve = io_claim;
    disk_add_candidate(disk_get(0), io);
    return io;
}

/* ---- the boot ---- */

void boot_disks(const char *args)
{
    snprintf(boot_line, sizeof boot_line, "%s", args);
    registry_init();
    disk_init();
    vlog_init();
    forget("notes");
}

void boot(const char *args)
{
    boot_disks(args);
    bio_init(1024);
    forget("notes");
}

void start_update_daemon(void)
{
    updated_init();
    kthread("updated", update_daemon, NULL);
}

/* No lock is held at the end of a test, and the clock goes. */
__attribute__((destructor)) static void at_end(void)
{
    if (!nlocks && !stopped)
        return;
    printf("the test ended with %s\n",
           nlocks ? locks[nlocks - 1]->name : "the clock stopped");
    fflush(stdout);
    _exit(1);
}

/*
 * Request queues (disk.h). A request goes: submitted - queued - dispatched,
 * alone or joined to a neighbour - inside the drive model, if there is one -
 * with the device - done.
 *
 * - d->lock guards the queue and what is in flight. done() is called without
 *   it, so it may submit.
 * - The scheduler chooses among what is queued and owns nothing: a swap only
 *   makes each disk adopt the new one before its next question.
 * - A command of several requests that fails is split and each tried alone,
 *   so that one bad sector fails one request.
 */
#include "kernel/disk/disk.h"
#include "kernel/base/abi.h"
#include "kernel/machine/args.h"
#include "kernel/measure/hist.h"
#include "kernel/machine/print.h"
#include "kernel/proc/proc.h"
#include "kernel/disk/queue.h"
#include "kernel/policy/registry.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/measure/trace.h"
#include "kernel/disk/virtio_blk.h"

#define SEGMENTS_KEPT_NS NS_PER_S /* of a drive, when no more needed */

static struct {
    struct disk disk[MAX_DISKS];
    u32 n;
    u32 cluster_sectors; /* most of one command; 0: never join */
} disks;

COUNTER(reads, "disk.reads", "requests", "reads done");
COUNTER(writes, "disk.writes", "requests", "writes done");
COUNTER(read_sectors, "disk.read_sectors", "sectors", "read");
COUNTER(write_sectors, "disk.write_sectors", "sectors", "written");
COUNTER(commands, "disk.commands", "commands", "dispatched to drives");
COUNTER(flushes, "disk.flushes", "flushes", "barriers done");
COUNTER(offers_taken, "disk.offers_taken", "requests",
        "dirty blocks written by the scheduler's choice");
COUNTER(mode_selects, "disk.mode_selects", "commands",
        "that divided a drive's cache anew");
COUNTER(errors, "disk.errors", "requests", "that failed");

DISK_HISTOGRAM(read_response, "read_response", "ns", "queueing and service");
DISK_HISTOGRAM(write_response, "write_response", "ns", "likewise");
DISK_HISTOGRAM(read_service, "read_service", "ns", "at the drive");
DISK_HISTOGRAM(write_service, "write_service", "ns", "likewise");
DISK_HISTOGRAM(queued, "queued", "requests",
               "how many a new request finds queued");

static struct io *io_of(struct request *r)
{
    return r ? CONTAINER(r, struct io, request) : NULL;
}

static u64 direction_of(const struct io *io)
{
    return io->request.write ? TRACE_WRITE : 0;
}

/* What is counted and traced has one time. */
static void trace_io(u64 now_ns, enum trace_event event, const struct disk *d,
                     const struct io *io, u64 argument)
{
    trace_at(now_ns, event, d->id, io->request.sector, io->request.pid,
             argument | direction_of(io));
}

static u64 end_of(const struct io *io)
{
    return io->request.sector + io->request.nsectors;
}

/* ---- the scheduler ---- */

/* Make the policy in use this disk's. Caller holds d->lock. */
static void adopt(struct disk *d)
{
    d->sched = policy_in_use[POLICY_SCHED];
    timer_cancel(&d->ask_timer); /* when the old one wanted to be asked */
    memset(d->queue.word, 0, sizeof d->queue.word);
    const struct sched_hooks *hooks = &d->sched->sched;
    u32 sets = hooks->takes_offers ? QUEUE_SETS : QUEUE_SETS - 1;
    for (u32 set = 0; set < sets && hooks->queued; set++) {
        LIST_EACH (n, &d->queue.arrived[set]) {
            struct request *r = LIST_ITEM(n, struct request, by_age);
            r->word[0] = r->word[1] = 0;
            hooks->queued(&d->queue, r, r->queued_ns);
        }
    }
}

/* The scheduler has answered wrongly: this disk goes to the default now, the
 * others before their next question. Caller holds d->lock. */
static void fault(struct disk *d, const char *what)
{
    if (d->sched != policy_in_use[POLICY_SCHED]) {
        adopt(d);
        return;
    }
    const struct policy *def = policy_fault(POLICY_SCHED, what);
    if (def->start)
        def->start();
    policy_in_use[POLICY_SCHED] = def;
    adopt(d);
}

/* The scheduler's choice; NULL if it waits. Caller holds d->lock. */
static struct request *choose(struct disk *d)
{
    if (d->sched != policy_in_use[POLICY_SCHED])
        adopt(d);
    for (;;) {
        struct request *r = d->sched->sched.next(&d->queue, clock_ns());
        policy_check(d->sched);
        if (r && r->queue == &d->queue)
            return r;
        if (!r && (d->in_flight || queue_empty(&d->queue) ||
                   d->sched->sched.again_ns))
            return NULL;
        fault(d, r ? "next returned a request that is not queued"
                   : "next returned none, with nothing in flight");
    }
}

/* ---- dispatch ---- */

/* Is the scheduler told of what happens to this request? Not if it was put to
 * use just now: adopt will tell it all. Caller holds d->lock. */
static bool is_told(const struct disk *d, const struct request *r)
{
    return d->sched == policy_in_use[POLICY_SCHED] &&
           (!r->offer || d->sched->sched.takes_offers);
}

static u64 queue_length(const struct disk *d)
{
    return d->queue.length[SET_READS] + d->queue.length[SET_WRITES];
}

/* The queue is about to change. Caller holds d->lock. */
static void measure_queue(struct disk *d)
{
    u64 now_ns = clock_ns();
    d->queued_ns += queue_length(d) * (now_ns - d->measured_ns);
    d->measured_ns = now_ns;
}

/* Caller holds d->lock. */
static void enqueue(struct disk *d, struct io *io)
{
    measure_queue(d);
    queue_add(&d->queue, &io->request);
    if (is_told(d, &io->request) && d->sched->sched.queued)
        d->sched->sched.queued(&d->queue, &io->request, clock_ns());
}

/* A request comes now. Caller holds d->lock. */
static void arrive(struct disk *d, struct io *io)
{
    io->request.queued_ns = clock_ns();
    trace_io(io->request.queued_ns, TRACE_queued, d, io, io->request.nsectors);
    enqueue(d, io);
}

/* Caller holds d->lock. */
static void remove(struct disk *d, struct request *r)
{
    if (is_told(d, r) && d->sched->sched.leaves)
        d->sched->sched.leaves(&d->queue, r, clock_ns());
    measure_queue(d);
    queue_take(&d->queue, r);
}

/* Take a request off the queue, to be dispatched. Caller holds d->lock. */
static void take(struct disk *d, struct request *r, u64 now_ns)
{
    remove(d, r);
    io_of(r)->issued_ns = now_ns;
    io_of(r)->joined = NULL;
}

/* The queued requests that go on where io ends, and end where it begins, if
 * they may be joined. */
static struct io *next_to(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_at_or_after(&d->queue, dir, end_of(io)));
    return n && n->request.sector == end_of(io) && !n->alone ? n : NULL;
}

static struct io *next_before(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_before(&d->queue, dir, io->request.sector));
    return n && end_of(n) == io->request.sector && !n->alone ? n : NULL;
}

/* A command in the making: requests that lie one after the other. */
struct command {
    struct io *first, *last;
    u32 nsectors, segments;
};

/* Take a neighbour (NULL: there is none) off the queue into the command, if it
 * has room. Caller holds d->lock. */
static bool join(struct disk *d, struct command *c, struct io *io, u64 now_ns)
{
    if (!io || c->segments == d->max_segments ||
        c->nsectors + io->request.nsectors > disks.cluster_sectors)
        return false;
    take(d, &io->request, now_ns);
    if (io->request.sector < c->first->request.sector) {
        io->joined = c->first;
        c->first = io;
    } else {
        c->last = c->last->joined = io;
    }
    c->nsectors += io->request.nsectors;
    c->segments++;
    return true;
}

/* Take r, and the neighbours after it and before it, off the queue as one
 * command, whose first request is returned. Caller holds d->lock. */
static struct io *gather(struct disk *d, struct request *r, u64 now_ns)
{
    struct io *io = io_of(r);
    struct command c = {io, io, r->nsectors, 1};
    take(d, r, now_ns);
    while (!io->alone && join(d, &c, next_to(d, c.last), now_ns))
        ;
    while (!io->alone && join(d, &c, next_before(d, c.first), now_ns))
        ;
    d->queue.head_sector = end_of(c.last);
    queue_dispatched(&d->queue, r, now_ns);
    trace_io(now_ns, TRACE_issued, d, c.first, c.nsectors);
    return c.first;
}

static void to_device(struct disk *d, struct io *io)
{
    if (!virtio_blk_start(d, io))
        panic("disk: %s: more commands than its depth", d->name);
}

/* ---- the drive model ---- */

/* A drive, which may be a copy to ask what if, takes up a command: now, or when
 * it has come its way. */
static u64 drive_time(const struct disk *d, struct drive *drive,
                      const struct io *io, u64 now_ns)
{
    u64 end = end_of(io);
    for (const struct io *i = io->joined; i; i = i->joined)
        end = end_of(i);
    return drive_service(drive, MAX(now_ns, io->issued_ns + d->command_ns),
                         io->request.sector, end - io->request.sector,
                         io->request.write);
}

/* Which of the commands that it holds a drive takes up: the one it will have
 * done first. An eighth of the time that a command has been held counts in its
 * favour, so that none starves. */
static struct io **soonest(struct disk *d, u64 now_ns)
{
    struct io **best = NULL;
    u64 best_ns = 0;
    for (struct io **p = &d->held; *p; p = &(*p)->held) {
        struct drive trial = d->drive;
        u64 ns = drive_time(d, &trial, *p, now_ns) + (*p)->issued_ns / 8;
        if (!best || ns < best_ns) {
            best = p;
            best_ns = ns;
        }
    }
    return best;
}

static void drive_done(void *arg);

/* The drive, if it is free, takes up a command. Caller holds d->lock. */
static void drive_take(struct disk *d, u64 now_ns)
{
    if (d->in_drive || !d->held)
        return;
    struct io **p = d->held->held ? soonest(d, now_ns) : &d->held;
    d->in_drive = *p;
    *p = d->in_drive->held;
    d->later_ns = NEVER_NS;
    d->queue.done_ns = drive_time(d, &d->drive, d->in_drive, now_ns);
    timer_set(&d->drive_timer, d->queue.done_ns, drive_done, d);
}

/* The drive model's time has come: the data is moved within this instant. */
static void drive_done(void *arg)
{
    struct disk *d = arg;
    spin_lock(&d->lock);
    struct io *io = d->in_drive;
    d->in_drive = NULL;
    drive_take(d, clock_ns());
    spin_unlock(&d->lock);
    clock_stop();
    to_device(d, io);
    virtio_blk_kick(d);
    virtio_blk_settle(d);
    clock_go();
}

/* The drive as it will be at that time, if it is told nothing until then. It is
 * kept, for many questions are about one time. */
static const struct drive *later(struct disk *d, u64 at_ns)
{
    if (d->later_ns != at_ns) {
        d->later = d->drive;
        d->later_ns = at_ns;
        drive_catch_up(&d->later, at_ns);
    }
    return &d->later;
}

struct approach queue_approach(const struct queue *q, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r)
{
    struct disk *d = CONTAINER(q, struct disk, queue);
    if (!d->drive.model->modelled)
        return (struct approach){NEVER_NS, NEVER_NS};
    u64 at_ns = start_ns + d->command_ns;
    if (!first)
        return drive_approach(later(d, at_ns), at_ns, r->sector, r->nsectors,
                              r->write);
    struct drive trial = *later(d, at_ns);
    u64 done_ns = drive_service(&trial, at_ns, first->sector, first->nsectors,
                                first->write);
    u64 next_ns = done_ns + gap_ns + d->command_ns;
    drive_catch_up(&trial, next_ns);
    return drive_approach(&trial, next_ns, r->sector, r->nsectors, r->write);
}

u64 queue_seek_edge(struct queue *q, bool last)
{
    struct disk *d = CONTAINER(q, struct disk, queue);
    d->later_ns = NEVER_NS;
    u64 told_ns = clock_ns() + d->command_ns;
    u64 there_ns = d->in_flight ? 0 : drive_seek_edge(&d->drive, told_ns, last);
    if (there_ns)
        trace(TRACE_sought, d->id, last, 0, told_ns);
    return there_ns;
}

/* ---- dispatch to the drive or the device ---- */

/* Is there anything to ask the scheduler about? Caller holds d->lock. */
static bool idle(const struct disk *d)
{
    const struct queue *q = &d->queue;
    return queue_empty(q) &&
           !(d->sched->sched.takes_offers && q->length[SET_OFFERS]);
}

/* Make an offer a write; false if it cannot be one now. Caller holds d->lock,
 * which is released meanwhile. */
static bool claim(struct disk *d, struct io *io)
{
    bool (*claim_io)(struct io *, const struct disk *) = io->claim;
    remove(d, &io->request);
    spin_unlock(&d->lock);
    bool claimed = claim_io(io, d);
    spin_lock(&d->lock);
    return claimed;
}

/* The offer that goes on where io ends, if the scheduler joins them. */
static struct io *next_offer(struct disk *d, const struct io *io)
{
    if (!d->sched->sched.joins_offers)
        return NULL;
    struct request *r = queue_at_or_after(&d->queue, OFFERS, end_of(io));
    return r && r->sector == end_of(io) ? io_of(r) : NULL;
}

/* The scheduler has chosen an offer: queue it, and those that may be joined to
 * it, as writes. May it be dispatched now? Caller holds d->lock, which is
 * released meanwhile. */
static bool take_up(struct disk *d, struct io *io)
{
    struct io *taken = NULL;
    u64 nsectors = 0;
    while (io && claim(d, io)) {
        io->joined = taken;
        taken = io;
        nsectors += io->request.nsectors;
        io = nsectors < disks.cluster_sectors ? next_offer(d, io) : NULL;
    }
    for (struct io *i = taken, *next; i; i = next) {
        next = i->joined;
        count(&offers_taken, 1);
        arrive(d, i);
    }
    return taken && d->in_flight < d->depth;
}

static void ask_again(void *arg);

/* Nothing goes: have the scheduler asked again when it says. Caller holds
 * d->lock. */
static void ask_later(struct disk *d)
{
    if (!d->sched->sched.again_ns)
        return;
    u64 when_ns = d->sched->sched.again_ns(&d->queue, clock_ns());
    timer_cancel(&d->ask_timer);
    if (when_ns != NEVER_NS)
        timer_set(&d->ask_timer, when_ns, ask_again, d);
}

/* Hand out commands while the drive takes them. Caller holds d->lock. */
static void dispatch(struct disk *d)
{
    bool started = false;
    struct request *r;
    while (!d->plugged && d->in_flight < d->depth && !idle(d) &&
           (r = choose(d))) {
        if (r->offer && !take_up(d, io_of(r)))
            continue;
        u64 now_ns = clock_ns();
        struct io *command = gather(d, r, now_ns);
        d->in_flight++;
        count(&commands, 1);
        if (d->drive.model->modelled) {
            command->held = d->held;
            d->held = command;
            drive_take(d, now_ns);
        } else {
            to_device(d, command);
            started = true;
        }
    }
    if (started)
        virtio_blk_kick(d);
    if (!d->plugged && !d->in_flight && !idle(d))
        ask_later(d);
}

static void ask_again(void *arg)
{
    struct disk *d = arg;
    spin_lock(&d->lock);
    dispatch(d);
    spin_unlock(&d->lock);
}

/* The one put to use starts before, and the other stops after, all disks
 * have gone over. It is asked at once: the other may have let what is queued
 * wait. */
static void swap(const struct policy *to)
{
    const struct policy *from = policy_in_use[POLICY_SCHED];
    if (to->start)
        to->start();
    policy_in_use[POLICY_SCHED] = to;
    for (u32 i = 0; i < disks.n; i++) {
        struct disk *d = &disks.disk[i];
        spin_lock(&d->lock);
        if (d->sched != to) {
            adopt(d);
            dispatch(d);
        }
        spin_unlock(&d->lock);
    }
    if (from && from->stop)
        from->stop();
}

void disk_submit(struct disk *d, struct io *io)
{
    assert(end_of(io) <= d->nsectors && io->request.nsectors);
    io->alone = false;
    spin_lock(&d->lock);
    hist_add_request(&queued, d->id, io->request.pid, queue_length(d));
    arrive(d, io);
    dispatch(d);
    spin_unlock(&d->lock);
}

void disk_offer(struct disk *d, struct io *io)
{
    io->request.offer = true;
    spin_lock(&d->lock);
    enqueue(d, io);
    spin_unlock(&d->lock);
}

void disk_withdraw(struct disk *d, struct io *io)
{
    spin_lock(&d->lock);
    if (io->request.queue)
        remove(d, &io->request);
    spin_unlock(&d->lock);
}

void disk_poke(struct disk *d)
{
    if (!d->sched->sched.takes_offers || timer_is_set(&d->ask_timer))
        return;
    spin_lock(&d->lock);
    dispatch(d);
    spin_unlock(&d->lock);
}

void disk_plug(struct disk *d)
{
    spin_lock(&d->lock);
    d->plugged++;
    spin_unlock(&d->lock);
}

void disk_unplug(struct disk *d)
{
    spin_lock(&d->lock);
    d->plugged--;
    dispatch(d);
    spin_unlock(&d->lock);
}

/* ---- completion ---- */

/* Interrupts are off. */
static void account(const struct disk *d, const struct io *io, int error)
{
    u64 now_ns = clock_ns();
    u64 response_ns = now_ns - io->request.queued_ns;
    bool write = io->request.write;
    trace_io(now_ns, TRACE_completed, d, io, response_ns);
    if (error)
        trace_io(now_ns, TRACE_failed, d, io, io->request.nsectors);
    count(write ? &writes : &reads, 1);
    count(write ? &write_sectors : &read_sectors, io->request.nsectors);
    hist_add_request(write ? &write_response : &read_response, d->id,
                     io->request.pid, response_ns);
    hist_add_request(write ? &write_service : &read_service, d->id,
                     io->request.pid, now_ns - io->issued_ns);
    if (error)
        count(&errors, 1);
}

void disk_command_done(struct disk *d, struct io *io, int error)
{
    bool split = error && io->joined;
    struct io *next;
    spin_lock(&d->lock);
    d->in_flight--;
    for (struct io *i = split ? io : NULL; i; i = next) {
        next = i->joined;
        i->alone = true;
        enqueue(d, i);
    }
    dispatch(d);
    spin_unlock(&d->lock);
    for (struct io *i = split ? NULL : io; i; i = next) {
        next = i->joined;
        account(d, i, error);
        i->done(i, error);
    }
}

/* Somebody who waits for transfers. */
struct waiter {
    struct disk *disk;
    u32 outstanding; /* disk.lock */
    int error;       /* disk.lock */
};

static void waiter_done(struct io *io, int error)
{
    struct waiter *w = io->arg;
    struct disk *d = w->disk;
    spin_lock(&d->lock);
    if (error)
        w->error = error;
    if (--w->outstanding == 0)
        wakeup(w);
    wakeup(d); /* a ring slot is free for a flush that waits */
    spin_unlock(&d->lock);
}

static int wait_for(struct waiter *w)
{
    struct disk *d = w->disk;
    spin_lock(&d->lock);
    while (w->outstanding)
        sleep_on(w, &d->lock);
    spin_unlock(&d->lock);
    return w->error;
}

int disk_transfer(struct disk *d, struct io *ios, u32 n)
{
    struct waiter w = {.disk = d, .outstanding = n};
    disk_plug(d);
    for (u32 i = 0; i < n; i++) {
        ios[i].request.waited = true;
        ios[i].request.pid = myproc()->pid;
        ios[i].done = waiter_done;
        ios[i].arg = &w;
        disk_submit(d, &ios[i]);
    }
    disk_unplug(d);
    return wait_for(&w);
}

/* Have the device flush within this instant: models have no time for it. */
static void flush_modelled(struct disk *d, struct io *io)
{
    clock_stop();
    if (!virtio_blk_start_flush(d, io))
        panic("disk: %s: more commands than its depth", d->name);
    virtio_blk_kick(d);
    virtio_blk_settle(d);
    clock_go();
}

static void flush_device(struct disk *d, struct io *io)
{
    spin_lock(&d->lock);
    while (!virtio_blk_start_flush(d, io))
        sleep_on(d, &d->lock);
    spin_unlock(&d->lock);
    virtio_blk_kick(d);
}

int disk_flush(struct disk *d)
{
    if (!d->can_flush)
        return 0;
    struct waiter w = {.disk = d, .outstanding = 1};
    struct io io = {.done = waiter_done, .arg = &w};
    if (d->drive.model->modelled)
        flush_modelled(d, &io);
    else
        flush_device(d, &io);
    count(&flushes, 1);
    return wait_for(&w);
}

bool disk_state(u32 disk, struct disk_state *s)
{
    if (disk >= disks.n)
        return false;
    const struct disk *d = &disks.disk[disk];
    u64 since_ns = clock_ns() - d->measured_ns;
    *s = (struct disk_state){.modelled = d->drive.model->modelled,
                             .queued_reads = d->queue.length[SET_READS],
                             .queued_writes = d->queue.length[SET_WRITES],
                             .in_flight = d->in_flight,
                             .queued_ns =
                                 d->queued_ns + queue_length(d) * since_ns};
    return true;
}

void disk_streams(struct disk *d, u32 n)
{
    if (!d->adapts)
        return;
    spin_lock(&d->lock);
    u64 now_ns = clock_ns();
    u32 segments = d->drive.cache.segments;
    n = MAX(1, MIN(n, MAX_SEGMENTS));
    if (n >= segments)
        d->streams_ns = now_ns;
    if (n > segments || now_ns - d->streams_ns >= SEGMENTS_KEPT_NS) {
        struct drive_cache cache = drive_cache_in(d->drive.model, n);
        drive_set_cache(&d->drive, now_ns, &cache);
        d->later_ns = NEVER_NS;
        d->streams_ns = now_ns;
        count(&mode_selects, 1);
    }
    spin_unlock(&d->lock);
}

/* ---- set-up ---- */

u32 disk_count(void)
{
    return disks.n;
}

struct disk *disk_get(u32 id)
{
    return id < disks.n ? &disks.disk[id] : NULL;
}

struct disk *disk_named(const char *name)
{
    for (u32 i = 0; i < disks.n; i++) {
        if (!strcmp(disks.disk[i].name, name))
            return &disks.disk[i];
    }
    return NULL;
}

/* The drive of this disk: diskN.drive=, else drive=, else none. */
static const struct drive_model *drive_wanted(const struct disk *d)
{
    char own[16];
    ksnprintf(own, sizeof own, "%s.drive", d->name);
    const char *all = arg_text("drive"), *name = arg_text(own);
    if (!name)
        name = all ? all : "none";
    const struct drive_model *model = drive_find(name);
    if (!model)
        boot_fail("drive=%s: there is no such drive", name);
    if (model->sectors && d->nsectors > model->sectors)
        boot_fail("drive=%s: holds %lu sectors, %s has %lu", name,
                  model->sectors, d->name, d->nsectors);
    return model;
}

static u32 sectors_wanted(const char *name, u32 sectors, u64 min_kb)
{
    return arg_text(name) ? 2 * arg_number(name, 0, min_kb, 65536) : sectors;
}

/* Divide the drive's cache as the boot arguments want it, and set its bus. */
static void fit_cache(struct disk *d)
{
    const struct drive_model *m = d->drive.model;
    const char *segments = arg_text("drive_segments");
    d->adapts = segments && !strcmp(segments, "adaptive");
    d->streams_ns = clock_ns(); /* the drive's own number counts as needed */
    u32 n = d->adapts
                ? m->segments
                : arg_number("drive_segments", m->segments, 1, MAX_SEGMENTS);
    struct drive_cache c = drive_cache_in(m, n);
    u32 sectors = sectors_wanted("drive_segment_kb", c.segment_sectors, 1);
    u64 ahead = (u64)c.read_ahead_sectors * sectors / c.segment_sectors;
    c.segment_sectors = sectors;
    c.read_ahead_sectors = sectors_wanted("drive_read_ahead_kb", ahead, 0);
    d->drive.cache = c;
    u64 bus_kb_s = arg_number("drive_bus_kb_s", 0, 100, 1000000);
    if (bus_kb_s)
        d->drive.bus_ns = SECTOR_BYTES * NS_PER_MS / bus_kb_s;
}

/* How many commands it takes: as the ring holds (d->depth so far) without a
 * model, else as drive_depth= or the model says. */
static void fit_drive(struct disk *d, u32 wanted)
{
    drive_start(&d->drive, drive_wanted(d));
    const struct drive_model *m = d->drive.model;
    d->queue.turn_ns = m->rpm ? drive_rotation_ns(m) : 0;
    d->later_ns = NEVER_NS;
    if (!m->modelled)
        return;
    u32 depth = wanted ? wanted : d->drive.model->depth;
    if (depth > d->depth)
        boot_fail("drive_depth=%u: %s takes up to %u", depth, d->name,
                  d->depth);
    d->depth = depth;
    d->command_ns = arg_number("drive_command_us", 0, 0, 100000) * 1000;
    if (d->drive.model->segments)
        fit_cache(d);
}

void disk_init(void)
{
    disks.n = virtio_blk_init(disks.disk, MAX_DISKS);
    hist_init(disks.n);
    disks.cluster_sectors = arg_number("cluster_kb", 64, 0, 1024) * 2;
    u32 depth = arg_number("drive_depth", 0, 0, MAX_DEPTH);
    for (u32 i = 0; i < disks.n; i++) {
        struct disk *d = &disks.disk[i];
        d->lock = SPINLOCK("disk", RANK_DISK);
        queue_init(&d->queue, i);
        fit_drive(d, depth);
    }
    policy_own(POLICY_SCHED, (struct policy_owner){.swap = swap});
}

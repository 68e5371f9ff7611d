/*
 * Request queues (disk.h): queue, dispatch, merge, complete.
 *
 * The states of a transfer (struct io), and what takes it from one to the next.
 * enqueue() and remove() alone change whether it is queued; an offer is queued,
 * too, in a set of its own.
 *
 *     idle ---- disk_submit ----> queued ---- gather ----> dispatched
 *     |  ^                         ^  ^                     |   |
 *     |  |               take_up:  |  |  command_ended:     |   |
 *     |  |       claim() says yes  |  +-- failed with its --+   |
 *     |  |                         |      neighbours            |
 *     |  +---- command_ended: done() ---------------------------+
 *     |  |                         |
 *     |  +-- disk_withdraw, or ----+
 *     |      claim() says no       |
 *     +------ disk_offer ----> offered
 *
 * While a transfer is dispatched, the drive model (model.c), if there is one,
 * and then the device have its command.
 *
 * - d->lock guards the queue and what is in flight. done() is called without
 *   it, so it may submit.
 * - The scheduler chooses among what is queued and owns nothing: a swap only
 *   makes each disk adopt the new one before its next question.
 * - A command of several requests that fails is split and each tried alone,
 *   so that one bad sector fails one request.
 */
#include "kernel/disk/disk.h"
#include "kernel/machine/args.h"
#include "kernel/machine/print.h"
#include "kernel/measure/hist.h"
#include "kernel/proc/proc.h"
#include "kernel/disk/model.h"
#include "kernel/disk/place.h"
#include "kernel/disk/queue.h"
#include "kernel/disk/vlog.h"
#include "kernel/policy/registry.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/measure/trace.h"

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
COUNTER(errors, "disk.errors", "requests", "that failed");

DISK_HISTOGRAM(read_response, "read_response", "ns", "queueing and service");
DISK_HISTOGRAM(write_response, "write_response", "ns", "queueing and service");
DISK_HISTOGRAM(read_service, "read_service", "ns", "at the drive");
DISK_HISTOGRAM(write_service, "write_service", "ns", "at the drive");
DISK_HISTOGRAM(queued, "queued", "requests",
               "how many a new request finds queued");

static struct io *io_of(struct request *r)
{
    return r ? CONTAINER(r, struct io, request) : NULL;
}

/* The caller passes now_ns, so that histograms and the trace agree. */
static void trace_io(u64 now_ns, enum trace_event event, const struct disk *d,
                     const struct io *io, u64 argument)
{
    trace_at(now_ns, event, d->id, io->request.sector, io->request.pid,
             argument | (io->request.write ? TRACE_WRITE : 0));
}

/* ---- the scheduler ---- */

/* Is there nothing to ask the scheduler about? Caller holds d->lock. */
static bool idle(const struct disk *d)
{
    const struct queue *q = &d->queue;
    return queue_empty(q) &&
           !(d->sched->sched.takes_offers && q->length[SET_OFFERS]);
}

/* Make the policy in use this disk's. False: there is nothing to ask it about,
 * for it takes no offers. Caller holds d->lock. */
static bool adopt(struct disk *d)
{
    d->sched = policy_in_use[POLICY_SCHED];
    timer_cancel(&d->ask_timer); /* the old one set it */
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
    return !idle(d);
}

/* The scheduler has answered wrongly: this disk changes to the default now, the
 * others before their next question. False: the scheduler stays, and the kernel
 * chooses the request. Caller holds d->lock. */
static bool fault(struct disk *d, const char *what)
{
    if (!policy_take_over(d->sched, d->id, d->queue.head_sector, what))
        return false;
    adopt(d);
    return true;
}

/* The scheduler's choice; NULL if it waits. Caller holds d->lock. */
static struct request *choose(struct disk *d)
{
    if (d->sched != policy_in_use[POLICY_SCHED] && !adopt(d))
        return NULL;
    for (;;) {
        struct request *r = d->sched->sched.next(&d->queue, clock_ns());
        policy_check_disk(d->sched, &d->queue);
        if (r && r->queue == &d->queue)
            return r;
        if (!r && (d->in_flight || queue_empty(&d->queue) ||
                   d->sched->sched.again_ns))
            return NULL;
        if (!fault(d, r ? "next returned a request that is not queued"
                        : "next returned none, with nothing in flight"))
            return queue_oldest(&d->queue, BOTH);
    }
}

/* ---- dispatch ---- */

/* Is the scheduler told of what happens to this request? Not while a swap is
 * pending: adopt() presents the whole queue. Caller holds d->lock. */
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
    assert(!io->request.queue);
    measure_queue(d);
    queue_add(&d->queue, &io->request);
    if (is_told(d, &io->request) && d->sched->sched.queued)
        d->sched->sched.queued(&d->queue, &io->request, clock_ns());
}

/* A request is queued now. Caller holds d->lock. */
static void arrive(struct disk *d, struct io *io)
{
    io->request.queued_ns = clock_ns();
    trace_io(io->request.queued_ns, TRACE_queued, d, io, io->request.nsectors);
    enqueue(d, io);
}

/* Caller holds d->lock. */
static void remove(struct disk *d, struct request *r)
{
    assert(r->queue == &d->queue);
    if (is_told(d, r) && d->sched->sched.leaves)
        d->sched->sched.leaves(&d->queue, r, clock_ns());
    measure_queue(d);
    queue_take(&d->queue, r);
}

/* Take a request off the queue, to be dispatched to this physical sector.
 * Caller holds d->lock. */
static void take(struct disk *d, struct request *r, u64 physical, u64 now_ns)
{
    assert(!r->offer);
    remove(d, r);
    place_confirm(d, r, physical, now_ns);
    io_of(r)->issued_ns = now_ns;
    io_of(r)->span.bytes = r->nsectors * SECTOR_BYTES;
    io_set_next(io_of(r), NULL);
}

/* The queued requests that go on where io ends, and end where it begins, if
 * they may be joined. The queue's order is logical. */
static struct io *next_to(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_at_or_after(&d->queue, dir, io_end(io)));
    return n && n->request.sector == io_end(io) && !n->alone ? n : NULL;
}

static struct io *next_before(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_before(&d->queue, dir, io->request.sector));
    return n && io_end(n) == io->request.sector && !n->alone ? n : NULL;
}

/* The write that comes next, wherever. */
static struct io *next_write(struct disk *d, const struct io *io)
{
    struct io *n = io_of(queue_circular(&d->queue, WRITES, io_end(io)));
    return io->request.write && n && !n->alone ? n : NULL;
}

/* A command in the making: requests that lie one after the other on the
 * platters, and by their logical sectors, unless the place policy appends. */
struct command {
    struct io *first, *last;
    u32 nsectors, segments;
};

/* Take a request (NULL: there is none) off the queue into the command, before
 * its first one or after its last, if there is room and that is the request's
 * place. Caller holds d->lock. */
static bool join(struct disk *d, struct command *c, struct io *io, bool before,
                 u64 now_ns)
{
    if (!io || c->segments == d->max_segments ||
        c->nsectors + io->request.nsectors > disks.cluster_sectors)
        return false;
    struct request *r = &io->request;
    u64 beside = before ? c->first->request.physical - r->nsectors
                        : io_physical_end(c->last);
    if (!place_may_be(d, r, beside, now_ns))
        return false;
    take(d, r, beside, now_ns);
    if (before) {
        io_set_next(io, c->first);
        c->first = io;
    } else {
        io_set_next(c->last, io);
        c->last = io;
    }
    c->nsectors += r->nsectors;
    c->segments++;
    return true;
}

/* Take r, which goes to this physical sector, and the neighbours after it and
 * before it, off the queue as one command, whose first request is returned.
 * Caller holds d->lock. */
static struct io *gather(struct disk *d, struct request *r, u64 physical,
                         u64 now_ns)
{
    struct io *io = io_of(r);
    struct command c = {io, io, r->nsectors, 1};
    take(d, r, physical, now_ns);
    while (!io->alone && join(d, &c, next_to(d, c.last), false, now_ns))
        ;
    while (!io->alone && join(d, &c, next_before(d, c.first), true, now_ns))
        ;
    while (!io->alone && d->place->place.appends &&
           join(d, &c, next_write(d, c.last), false, now_ns))
        ;
    d->queue.head_sector = io_physical_end(c.last);
    queue_dispatched(&d->queue, r, now_ns);
    trace_io(now_ns, TRACE_issued, d, c.first, c.nsectors);
    return c.first;
}

/* ---- dispatch to the drive or the device ---- */

/* Make an offer a write; false if the block is in use or clean. Caller holds
 * d->lock, which is released meanwhile. */
static bool claim(struct disk *d, struct io *io)
{
    bool (*claim_io)(struct io *, const struct disk *) = io->claim;
    assert(claim_io && io->request.offer);
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
    struct request *r = queue_at_or_after(&d->queue, OFFERS, io_end(io));
    return r && r->sector == io_end(io) ? io_of(r) : NULL;
}

/* The scheduler has chosen an offer: queue it, and those that may be joined to
 * it, as writes. May it be dispatched now? Caller holds d->lock, which is
 * released meanwhile. */
static bool take_up(struct disk *d, struct io *io)
{
    struct io *taken = NULL;
    u64 nsectors = 0;
    while (io && claim(d, io)) {
        io_set_next(io, taken);
        taken = io;
        nsectors += io->request.nsectors;
        io = nsectors < disks.cluster_sectors ? next_offer(d, io) : NULL;
    }
    for (struct io *i = taken, *next; i; i = next) {
        next = io_next(i);
        count(&offers_taken, 1);
        arrive(d, i);
    }
    return taken && d->in_flight < d->depth;
}

static void ask_again(void *arg);

/* No command was dispatched: set a timer for when the scheduler wants to be
 * asked again. Caller holds d->lock. */
static void ask_later(struct disk *d)
{
    if (!d->sched->sched.again_ns)
        return;
    u64 when_ns = d->sched->sched.again_ns(&d->queue, clock_ns());
    timer_cancel(&d->ask_timer);
    if (when_ns != NEVER_NS)
        timer_set(&d->ask_timer, when_ns, ask_again, d);
}

/* What a virtual log has to be done first (vlog.h). Returns as model_start.
 * Caller holds d->lock. */
static bool serve_log(struct disk *d)
{
    u64 now_ns = clock_ns();
    bool may = !d->plugged && d->in_flight < d->depth;
    struct io *command = may ? vlog_next(d, now_ns) : NULL;
    if (!command)
        return false;
    const struct io *last = command;
    while (io_next(last))
        last = io_next(last);
    d->queue.head_sector = io_physical_end(last);
    trace_io(now_ns, TRACE_issued, d, command,
             io_physical_end(last) - command->request.physical);
    d->in_flight++;
    return model_start(d, command, now_ns);
}

/* How many commands the drive may have. Caller holds d->lock. */
static u32 depth_of(const struct disk *d)
{
    return d->vlog ? vlog_depth(d) : d->depth;
}

/* Dispatch commands while the drive takes them. Caller holds d->lock. */
static void dispatch(struct disk *d)
{
    bool started = d->vlog && serve_log(d);
    struct request *r;
    while (!d->plugged && d->in_flight < depth_of(d) && !idle(d) &&
           (r = choose(d))) {
        if (r->offer && !take_up(d, io_of(r)))
            continue;
        u64 now_ns = clock_ns(), head_sector = d->queue.head_sector;
        u64 physical = place_of(d, r, now_ns);
        if (physical == NO_SECTOR && r->write && d->in_flight)
            break; /* until a place is free */
        struct io *command = gather(d, r, physical, now_ns);
        if (physical == NO_SECTOR)
            d->queue.head_sector = head_sector;
        d->in_flight++;
        count(&commands, 1);
        started |= model_start(d, command, now_ns);
    }
    if (started)
        virtio_blk_kick(d->device);
    if (!d->plugged && !d->in_flight && !idle(d))
        ask_later(d);
    if (d->vlog && !d->plugged && !d->in_flight)
        vlog_wait(d, ask_again);
}

static void ask_again(void *arg)
{
    struct disk *d = arg;
    HOLD(spin, &d->lock);
    dispatch(d);
}

/* After a fault on one disk the others may still have the policy at fault. Now
 * they change over too, so that it can start anew: no disk uses its records. */
static void leave_faulty(void)
{
    for (u32 i = 0; i < disks.n; i++) {
        struct disk *d = &disks.disk[i];
        HOLD(spin, &d->lock);
        if (d->sched != policy_in_use[POLICY_SCHED])
            adopt(d);
        if (d->place != policy_in_use[POLICY_PLACE])
            place_adopt_default(d);
    }
}

/* A new scheduler or place policy starts before all disks have changed over to
 * it, and the old one stops after. A scheduler is asked at once, because the
 * old one may have let queued requests wait. */
static void swap(const struct policy *to)
{
    leave_faulty();
    const struct policy *from = policy_begin(to);
    for (u32 i = 0; i < disks.n; i++) {
        struct disk *d = &disks.disk[i];
        HOLD(spin, &d->lock);
        if (to->kind == POLICY_PLACE)
            d->place = to;
        else if (d->sched != to)
            adopt(d);
        dispatch(d);
    }
    if (from && from != to && from->stop)
        from->stop();
}

void disk_submit(struct disk *d, struct io *io)
{
    assert(io_end(io) <= d->device_sectors && io->request.nsectors);
    assert(io->done && !io->request.offer);
    HOLD(spin, &d->lock);
    hist_add_request(&queued, d->id, io->request.pid, queue_length(d));
    arrive(d, io);
    dispatch(d);
}

void disk_offer(struct disk *d, struct io *io)
{
    assert(io->request.write && io->claim && io_end(io) <= d->nsectors);
    io->request.offer = true;
    HOLD(spin, &d->lock);
    enqueue(d, io);
}

void disk_withdraw(struct disk *d, struct io *io)
{
    HOLD(spin, &d->lock);
    if (io->request.queue)
        remove(d, &io->request);
}

void disk_poke(struct disk *d)
{
    if (!d->sched->sched.takes_offers || timer_is_set(&d->ask_timer))
        return;
    HOLD(spin, &d->lock);
    dispatch(d);
}

void disk_plug(struct disk *d)
{
    HOLD(spin, &d->lock);
    d->plugged++;
}

void disk_unplug(struct disk *d)
{
    HOLD(spin, &d->lock);
    assert(d->plugged);
    d->plugged--;
    dispatch(d);
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

static void command_ended(struct disk *d, struct io *io, int error)
{
    bool split = error && io_next(io);
    struct io *next;
    spin_lock(&d->lock);
    assert(d->in_flight && !io->request.queue);
    d->in_flight--;
    d->written += !error && io->request.write;
    if (d->vlog)
        io = vlog_ended(d, io, &error);
    for (struct io *i = split ? io : NULL; i; i = next) {
        next = io_next(i);
        i->alone = true;
        enqueue(d, i);
    }
    dispatch(d);
    spin_unlock(&d->lock);
    for (struct io *i = split ? NULL : io; i; i = next) {
        next = io_next(i);
        i->alone = false;
        account(d, i, error);
        i->done(i, error);
    }
}

/* ---- what the driver tells ---- */

static void begin(void *arg)
{
    disk_plug(arg);
}

/* A command or, without sectors, a flush has ended. */
static void ended(void *arg, struct span *first, int error)
{
    struct io *io = CONTAINER(first, struct io, span);
    if (io->request.nsectors)
        command_ended(arg, io, error);
    else
        io->done(io, error);
}

static void end(void *arg)
{
    disk_unplug(arg);
}

/* ---- callers that wait ---- */

/* A caller that waits for transfers. */
struct waiter {
    struct disk *disk;
    u32 outstanding; /* disk.lock */
    int error;       /* disk.lock */
};

static void waiter_done(struct io *io, int error)
{
    struct waiter *w = io->arg;
    struct disk *d = w->disk;
    HOLD(spin, &d->lock);
    if (error)
        w->error = error;
    assert(w->outstanding);
    if (--w->outstanding == 0)
        wakeup(w);
    wakeup(d); /* a ring slot is free for a flush that waits */
}

static int wait_for(struct waiter *w)
{
    struct disk *d = w->disk;
    HOLD(spin, &d->lock);
    while (w->outstanding)
        sleep_on(w, &d->lock);
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

static void flush_device(struct disk *d, struct io *io)
{
    spin_lock(&d->lock);
    while (!virtio_blk_start(d->device, COMMAND_FLUSH, 0, &io->span))
        sleep_on(d, &d->lock);
    spin_unlock(&d->lock);
    virtio_blk_kick(d->device);
}

/* A flush, which is its waiter's. */
struct flush {
    struct disk *disk;
    struct io io;
    struct timer timer;
};

/* The model's drive has flushed: the device does, within this instant. */
static void drive_flushed(void *arg)
{
    struct flush *f = arg;
    if (f->disk->can_flush)
        model_flush(f->disk, &f->io);
    else
        f->io.done(&f->io, 0);
}

int disk_flush(struct disk *d)
{
    bool modelled = d->drive.model->modelled;
    u64 written = __atomic_load_n(&d->written, __ATOMIC_ACQUIRE);
    if (d->volatile_cache ? d->flushed == written : !d->can_flush)
        return 0;
    struct waiter w = {.disk = d, .outstanding = 1};
    struct flush f = {d, {.done = waiter_done, .arg = &w}, {{0}}};
    if (modelled && d->volatile_cache)
        timer_set(&f.timer, model_flush_ns(d), drive_flushed, &f);
    else if (modelled || d->ramdisk)
        model_flush(d, &f.io);
    else
        flush_device(d, &f.io);
    count(&flushes, 1);
    int error = wait_for(&w);
    if (!error)
        d->flushed = written; /* an older value only costs a flush */
    return error;
}

int disk_order(struct disk *d)
{
    return d->volatile_cache ? disk_flush(d) : 0;
}

bool disk_state(u32 disk, struct disk_state *s)
{
    if (disk >= disks.n)
        return false;
    /* Without d->lock, which comes before the callers' locks: each number is
     * one that was, and another hart may measure later than now. */
    const struct disk *d = &disks.disk[disk];
    u64 now_ns = clock_ns();
    u64 measured_ns = __atomic_load_n(&d->measured_ns, __ATOMIC_RELAXED);
    u64 since_ns = now_ns - MIN(now_ns, measured_ns);
    *s = (struct disk_state){.modelled = d->drive.model->modelled,
                             .queued_reads = d->queue.length[SET_READS],
                             .queued_writes = d->queue.length[SET_WRITES],
                             .in_flight = d->in_flight,
                             .queued_ns =
                                 d->queued_ns + queue_length(d) * since_ns};
    return true;
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
    for (u32 i = 0; i < disks.n; i++)
        if (!strcmp(disks.disk[i].name, name))
            return &disks.disk[i];
    return NULL;
}

/* Take the next device as a disk; false if there is none. */
static bool attach(u32 id)
{
    static const struct device_client client = {begin, ended, end};
    struct disk *d = &disks.disk[id];
    struct device_facts facts;
    if (!(d->ramdisk = ramdisk_open(id, &client, d, &facts)) &&
        !(d->device = virtio_blk_open(id, &client, d, &facts)))
        return false;
    d->id = id;
    ksnprintf(d->name, sizeof d->name, "disk%u", id);
    d->nsectors = d->device_sectors = facts.nsectors;
    d->read_only = facts.read_only;
    d->can_flush = facts.can_flush;
    d->depth = facts.depth;
    d->max_segments = facts.max_segments;
    d->lock = SPINLOCK("disk", RANK_DISK);
    queue_init(&d->queue, id);
    d->queue.nsectors = d->device_sectors;
    return true;
}

void disk_init(void)
{
    while (disks.n < MAX_DISKS && attach(disks.n))
        disks.n++;
    hist_init(disks.n);
    disks.cluster_sectors = arg_number("cluster_kb", 64, 0, 1024) * 2;
    u32 depth = arg_number("drive_depth", 0, 0, MAX_DEPTH);
    for (u32 i = 0; i < disks.n; i++)
        model_fit(&disks.disk[i], depth);
    policy_own(POLICY_SCHED, (struct policy_owner){.swap = swap});
    place_init(swap);
}

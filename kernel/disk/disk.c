/*
 * Disks (disk.h): how a request comes to a queue, and how it is completed.
 *
 * The states of a transfer (struct io), and what takes it from one to the next.
 * io_enqueue() and io_remove() alone change whether it is queued; a candidate
 * is queued, too, in a set of its own (candidate.c).
 *
 *     idle ---- disk_submit ----> queued ---- gather ----> dispatched
 *     |  ^                         ^  ^                     |   |
 *     |  |               take_up:  |  |  disk_ended:        |   |
 *     |  |       reserve(): true   |  +-- failed with its --+   |
 *     |  |                         |      neighbours            |
 *     |  +---- disk_ended: done() ------------------------------+
 *     |  |                         |
 *     |  +-- disk_remove_candidate-+
 *     |      reserve(): false      |
 *     +-- disk_add_candidate --> candidate
 *
 * dispatch.c has the scheduler choose and gathers a command, and wait.c has the
 * callers that wait. While a transfer is dispatched, the drive model
 * (model.c), if there is one, and then the device have its command.
 *
 * - d->lock guards the queue and what is in flight. done() is called without
 *   it, so it may submit.
 * - A command of several requests that fails is split and each tried alone,
 *   so that one bad sector fails one request.
 */
#include "kernel/disk/internal.h"
#include "kernel/machine/args.h"
#include "kernel/measure/hist.h"

static struct {
    struct disk disk[MAX_DISKS];
    u32 n;
} disks;

COUNTER(reads, "disk.reads", "requests", "reads done");
COUNTER(writes, "disk.writes", "requests", "writes done");
COUNTER(read_sectors, "disk.read_sectors", "sectors", "read");
COUNTER(write_sectors, "disk.write_sectors", "sectors", "written");
COUNTER(errors, "disk.errors", "requests", "that failed");

DISK_HISTOGRAM(read_response, "read_response", "ns", "queueing and service");
DISK_HISTOGRAM(write_response, "write_response", "ns", "queueing and service");
DISK_HISTOGRAM(read_service, "read_service", "ns", "at the drive");
DISK_HISTOGRAM(write_service, "write_service", "ns", "at the drive");
DISK_HISTOGRAM(queued, "queued", "requests",
               "how many a new request finds queued");

/* Record an event of a transfer, with its first sector and direction. */
void trace_io(u64 now_ns, enum trace_event event, const struct disk *d,
              const struct io *io, u64 argument)
{
    trace_at(now_ns, event, d->id, io->request.sector, io->request.pid,
             argument | (io->request.write ? TRACE_WRITE : 0));
}

/* ---- the queue ---- */

/* True if the scheduler is notified of what happens to this request. False
 * while a swap is pending: adopt() presents the whole queue. Caller holds
 * d->lock. */
static bool scheduler_sees(const struct disk *d, const struct request *r)
{
    return d->sched == policy_in_use[POLICY_SCHED] &&
           (!r->candidate || d->sched->sched.takes_candidates);
}

/* Return the number of requests that wait, without candidates. */
static u64 queue_length(const struct disk *d)
{
    return d->queue.length[SET_READS] + d->queue.length[SET_WRITES];
}

/* Add up queue length times ns: before each change. Caller holds d->lock. */
static void measure_queue(struct disk *d)
{
    u64 now_ns = clock_ns();
    d->queued_ns += queue_length(d) * (now_ns - d->measured_ns);
    d->measured_ns = now_ns;
}

void io_enqueue(struct disk *d, struct io *io)
{
    assert(!io->request.queue);
    measure_queue(d);
    queue_add(&d->queue, &io->request);
    if (scheduler_sees(d, &io->request) && d->sched->sched.queued)
        d->sched->sched.queued(&d->queue, &io->request, clock_ns());
}

void io_arrive(struct disk *d, struct io *io)
{
    io->request.queued_ns = clock_ns();
    trace_io(io->request.queued_ns, TRACE_queued, d, io, io->request.nsectors);
    io_enqueue(d, io);
}

void io_remove(struct disk *d, struct request *r)
{
    assert(r->queue == &d->queue);
    if (scheduler_sees(d, r) && d->sched->sched.leaves)
        d->sched->sched.leaves(&d->queue, r, clock_ns());
    measure_queue(d);
    queue_take(&d->queue, r);
}

void disk_submit(struct disk *d, struct io *io)
{
    assert(io_end(io) <= d->device_sectors && io->request.nsectors);
    assert(io->done && !io->request.candidate);
    if (!d->takes || !d->takes(d, io))
        disk_queue(d, io);
}

/* Queue and dispatch; if busy, a write not waited for gathers neighbours. */
void disk_queue(struct disk *d, struct io *io)
{
    HOLD(spin, &d->lock);
    hist_add_request(&queued, d->id, io->request.pid, queue_length(d));
    io_arrive(d, io);
    if (!d->in_flight || !io->request.write || io->request.waited ||
        queue_length(d) * io->request.nsectors >= d->gather_sectors)
        disk_dispatch(d);
}

/* Hold dispatch back until disk_unplug, so that neighbours are merged. Calls
 * nest. */
void disk_plug(struct disk *d)
{
    HOLD(spin, &d->lock);
    d->plugged++;
}

/* End a disk_plug. Dispatch resumes at the last one. */
void disk_unplug(struct disk *d)
{
    HOLD(spin, &d->lock);
    assert(d->plugged);
    d->plugged--;
    disk_dispatch(d);
}

/* ---- completion ---- */

/* Count and trace an ended transfer. Interrupts are off. */
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
    count(&errors, error != 0);
}

/* A command of several requests has failed: queue each to be tried alone.
 * Caller holds d->lock. */
static void split(struct disk *d, struct io *io)
{
    for (struct io *next; io; io = next) {
        next = io_next(io);
        io->alone = true;
        io_enqueue(d, io);
    }
}

void disk_ended(struct disk *d, struct io *io, int error)
{
    bool several_failed = error && io_next(io);
    spin_lock(&d->lock);
    assert(d->in_flight && !io->request.queue);
    d->in_flight--;
    d->written += !error && io->request.write;
    if (d->translation)
        io = d->translation->ended(d, io, &error);
    if (several_failed) {
        split(d, io);
        io = NULL;
    }
    disk_dispatch(d);
    spin_unlock(&d->lock);
    for (struct io *next; io; io = next) {
        next = io_next(io);
        io->alone = false;
        account(d, io, error);
        io->done(io, error);
    }
}

/* Leave a command out of those in flight, or count it again: a translation uses
 * it for commands of its own that shall not keep the disk busy. */
void disk_aside(struct disk *d, bool begins)
{
    HOLD(spin, &d->lock);
    d->in_flight += begins ? -1 : 1;
    disk_dispatch(d);
}

/* ---- what the driver tells ---- */

/* Plug the disk before its interrupt's completions. */
static void begin(void *arg)
{
    disk_plug(arg);
}

/* End a command or, without sectors, a flush. */
static void ended(void *arg, struct span *first, int error)
{
    struct io *io = CONTAINER(first, struct io, span);
    if (io->request.nsectors)
        disk_ended(arg, io, error);
    else
        io->done(io, error);
}

static void end(void *arg)
{
    disk_unplug(arg);
}

/* ---- what policies may ask (policy.h) ---- */

/* Fill in the disk's queue at this instant; false if there is no such disk. */
bool disk_state(u32 disk, struct disk_state *s)
{
    if (disk >= disks.n)
        return false;
    /* d->lock is not taken, as it comes before the callers' locks: the numbers
     * may be old, and another hart may measure at a time after now. */
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

/* Return the disk with this number, or NULL. */
struct disk *disk_get(u32 id)
{
    return id < disks.n ? &disks.disk[id] : NULL;
}

/* Return the disk with this name, or NULL. */
struct disk *disk_named(const char *name)
{
    for (u32 i = 0; i < disks.n; i++)
        if (!strcmp(disks.disk[i].name, name))
            return &disks.disk[i];
    return NULL;
}

/* Make an empty queue for disk number id. Its name is the format name with id
 * filled in. */
static struct disk *init(u32 id, const char *name, u64 nsectors)
{
    struct disk *d = &disks.disk[id];
    d->id = id;
    ksnprintf(d->name, sizeof d->name, name, id);
    d->nsectors = d->device_sectors = nsectors;
    d->lock = SPINLOCK("disk", RANK_DISK);
    queue_init(&d->queue, id);
    d->queue.nsectors = nsectors;
    return d;
}

/* Add a disk without a device: a file server's, whose transfers go by the
 * network. */
struct disk *disk_add(u64 nsectors)
{
    assert(disks.n < MAX_DISKS);
    struct disk *d = init(disks.n, "nfs%u", nsectors);
    drive_start(&d->drive, drive_find("none"));
    d->sched = policy_in_use[POLICY_SCHED];
    d->place = policy_in_use[POLICY_PLACE];
    disks.n++;
    return d;
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
    init(id, "disk%u", facts.nsectors);
    d->read_only = facts.read_only;
    d->can_flush = facts.can_flush;
    d->depth = facts.depth;
    d->max_segments = facts.max_segments;
    return true;
}

/* Find the disks of the machine, and give each its drive model and its
 * limits. */
void disk_init(void)
{
    while (disks.n < MAX_DISKS && attach(disks.n))
        disks.n++;
    hist_init(disks.n);
    u32 cluster_kb = arg_number("cluster_kb", 64, 0, 1024);
    u32 depth = arg_number("drive_depth", 0, 0, MAX_DEPTH);
    for (u32 i = 0; i < disks.n; i++) {
        disks.disk[i].cluster_sectors = cluster_kb * 2;
        model_fit(&disks.disk[i], depth);
    }
    dispatch_init();
}

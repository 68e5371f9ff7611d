/*
 * The drive model's side of a disk.
 *
 * - A command goes: held - in the drive - with the device. model_start() has
 *   the drive hold it; start_next() gives the drive the next one when it is
 *   free, and sets a timer for when that is done; drive_done() then has the
 *   device move the data within that instant.
 * - The drive holds up to the disk's depth of commands and chooses among them.
 * - A copy of the drive answers a scheduler's questions. The answers are wrong
 *   by drive_misjudged_percent=, as they would be for a host that knows its
 *   drive only by measuring it.
 */
#include "kernel/disk/internal.h"
#include "kernel/machine/args.h"

#define SEGMENTS_KEPT_NS NS_PER_S /* how long, when not needed any more */

COUNTER(mode_selects, "disk.mode_selects", "commands",
        "that divided a drive's cache anew");
COUNTER(flash_written, "flash.written", "pages", "programmed for the host");
COUNTER(flash_moved, "flash.moved", "pages", "moved to empty a block");
COUNTER(flash_erased, "flash.erased", "blocks", "emptied and erased");

/* ---- commands ---- */

/* Give the device a command. It has room for as many as the disk's depth. */
static void to_device(struct disk *d, enum command_kind kind, struct io *io)
{
    u64 sector = kind == COMMAND_FLUSH ? 0 : io->request.physical;
    if (!virtio_blk_start(d->device, kind, sector, &io->span))
        panic("disk: %s: more commands than its depth", d->name);
}

/* Return what to do. A command that has no part on the drive only ends. */
static enum command_kind kind_of(const struct io *io)
{
    if (io->request.physical == NO_SECTOR)
        return COMMAND_FLUSH;
    return io->request.write ? COMMAND_WRITE : COMMAND_READ;
}

/* Have the device, which is no RAM disk, do a command while time stands
 * still. */
static void device_do(struct disk *d, enum command_kind kind, struct io *io)
{
    clock_stop();
    to_device(d, kind, io);
    virtio_blk_kick(d->device);
    virtio_blk_settle(d->device);
    clock_go();
}

/* Have the device do a command within this instant. No lock is held. */
static void do_now(struct disk *d, enum command_kind kind, struct io *io)
{
    if (d->ramdisk)
        ramdisk_do(d->ramdisk, kind, io->request.physical, &io->span);
    else
        device_do(d, kind, io);
}

/* A drive, or a copy of one for a "what if" question, takes up a command: now,
 * or when the command has arrived. Its own work begins when the work is due,
 * perhaps before the kernel has taken notice. Returns when all is done. */
static u64 drive_time(const struct disk *d, struct drive *drive,
                      const struct io *io, u64 now_ns)
{
    u64 first = io->request.physical, end = io_physical_end(io);
    if (first == NO_SECTOR || !d->drive.model->modelled)
        return now_ns; /* the drive has no part in it */
    for (const struct io *i = io_next(io); i; i = io_next(i))
        end = io_physical_end(i);
    u64 there_ns = io->issued_ns;
    drive->inside = io->request.inside;
    if (!drive->inside)
        there_ns = MAX(now_ns, there_ns + d->command_ns);
    return drive->service(drive, there_ns, first, end - first,
                          io->request.write);
}

/* Return the command that a drive takes up next, of those that it holds: the
 * command that would be done first. An eighth of the time that it has been held
 * counts in its favour, so that none starves. */
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

/* Have the drive take up a command, if it is free. Caller holds d->lock. */
static void start_next(struct disk *d, u64 now_ns)
{
    if (d->in_drive || !d->held)
        return;
    struct io **p = d->held->held ? soonest(d, now_ns) : &d->held;
    d->in_drive = *p;
    *p = d->in_drive->held;
    d->in_drive->held = NULL;
    d->later_ns = NEVER_NS;
    d->queue.done_ns = drive_time(d, &d->drive, d->in_drive, now_ns);
    timer_set(&d->drive_timer, d->queue.done_ns, drive_done, d);
}

/* End the drive's command: its data is moved within this instant. */
static void drive_done(void *arg)
{
    struct disk *d = arg;
    spin_lock(&d->lock);
    struct io *io = d->in_drive;
    assert(io && d->in_flight);
    d->in_drive = NULL;
    start_next(d, clock_ns());
    spin_unlock(&d->lock);
    do_now(d, kind_of(io), io);
}

bool model_start(struct disk *d, struct io *command, u64 now_ns)
{
    if (d->carry) {
        d->carry(d, command);
        return false;
    }
    if (!d->drive.model->modelled && !d->ramdisk) {
        to_device(d, kind_of(command), command);
        return true;
    }
    assert(command != d->in_drive);
    command->held = d->held;
    d->held = command;
    start_next(d, now_ns);
    return false;
}

/* Have the drive empty its cache. Return when that is done, in ns since the
 * boot. */
u64 model_flush_ns(struct disk *d)
{
    HOLD(spin, &d->lock);
    d->later_ns = NEVER_NS;
    return drive_flush(&d->drive, clock_ns() + d->command_ns);
}

/* End a flush whose time has come. */
void model_flush(struct disk *d, struct io *io)
{
    do_now(d, COMMAND_FLUSH, io);
}

/* ---- what a scheduler may ask (position.h) ---- */

/* Return the drive as it will be at that time, if it gets no command until
 * then. The answer is kept, because many questions are about one time. */
static const struct drive *later(struct disk *d, u64 at_ns)
{
    if (d->later_ns != at_ns || d->later.inside != d->inside) {
        d->later = d->drive;
        d->later.inside = d->inside;
        d->later_ns = at_ns;
        drive_catch_up(&d->later, at_ns);
    }
    return &d->later;
}

/* Return a number from -span to span. It looks random, and is the same for one
 * sector and reason until the next command: a hash of the three, in which each
 * round folds the upper bits into the lower ones and multiplies. */
static i64 error(const struct disk *d, u64 sector, u32 reason, u64 span)
{
    u64 h = sector << 32 ^ d->queue.commands << 1 ^ reason;
    for (u32 i = 0; i < 2; i++)
        h = (h ^ h >> 29) * 0x9e3779b97f4a7c15; /* 2^64 by the golden ratio */
    return (i64)(h >> 32) % (i64)(2 * span + 1) - (i64)span;
}

/* Return the approach that a scheduler sees if it does not know the drive
 * exactly: the way takes up to `percent` more or less time, and the platter is
 * up to `percent` of a turn ahead or behind. A later arrival shortens the wait
 * for the sector; a wait below 0 means one turn more. */
static struct approach misjudge(const struct disk *d, u64 start_ns, u64 sector,
                                struct approach a)
{
    u64 percent = d->misjudged_percent, turn_ns = d->queue.turn_ns;
    if (!percent || a.there_ns == a.begin_ns)
        return a;
    i64 wait_ns = a.begin_ns - a.there_ns;
    i64 way_ns = error(d, sector, 0, (a.there_ns - start_ns) * percent / 100);
    wait_ns += error(d, sector, 1, turn_ns * percent / 100) - way_ns;
    a.there_ns += way_ns;
    wait_ns %= (i64)turn_ns;
    a.begin_ns = a.there_ns + wait_ns + (wait_ns < 0 ? turn_ns : 0);
    return a;
}

/* Return when the arm would be at the request, and when its data would begin. A
 * request without a place, which has no part on the drive, is done at once. */
static struct approach approach(struct disk *d, const struct drive *drive,
                                u64 at_ns, const struct request *r)
{
    u64 sector = place_of(d, r, at_ns - d->command_ns);
    if (sector == NO_SECTOR)
        return (struct approach){at_ns, at_ns};
    return misjudge(
        d, MAX(at_ns, drive->free_ns), sector,
        drive_approach(drive, at_ns, sector, r->nsectors, r->write));
}

/* Have a drive do r from that time on, until when a scheduler believes it
 * to. */
static void suppose(struct disk *d, struct drive *drive, u64 at_ns,
                    const struct request *r)
{
    u64 sector = place_of(d, r, at_ns - d->command_ns), late_ns = 0;
    if (sector == NO_SECTOR)
        return;
    if (d->misjudged_percent)
        late_ns = approach(d, drive, at_ns, r).begin_ns -
                  drive_approach(drive, at_ns, sector, r->nsectors, r->write)
                      .begin_ns;
    drive->service(drive, at_ns, sector, r->nsectors, r->write);
    drive->free_ns += late_ns;
    drive->arm_ns += late_ns;
}

struct approach queue_approach(const struct queue *q, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r)
{
    struct disk *d = CONTAINER(q, struct disk, queue);
    charge(first ? COST_approach_after : COST_approach, 1);
    if (!d->drive.model->modelled)
        return (struct approach){NEVER_NS, NEVER_NS};
    u64 at_ns = start_ns + d->command_ns;
    if (!first)
        return approach(d, later(d, at_ns), at_ns, r);
    struct drive trial = *later(d, at_ns);
    suppose(d, &trial, at_ns, first);
    u64 next_ns = trial.free_ns + gap_ns + d->command_ns;
    drive_catch_up(&trial, next_ns);
    return approach(d, &trial, next_ns, r);
}

/* Return when the head could be at the sector, if the drive were told at
 * start_ns. */
struct approach queue_arrival(const struct queue *q, u64 start_ns, u64 sector,
                              u32 nsectors)
{
    struct disk *d = CONTAINER(q, struct disk, queue);
    u64 at_ns = start_ns + (d->inside ? 0 : d->command_ns);
    const struct drive *drive = later(d, at_ns);
    return misjudge(d, MAX(at_ns, drive->free_ns), sector,
                    drive_approach(drive, at_ns, sector, nsectors, true));
}

/* Move the head of an idle drive to the first or the last track. Return when it
 * is there, or 0 if the drive does not move it. */
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

/* ---- a cache that adapts (disk.h) ---- */

/* Divide the drive's cache into n segments, one a stream. It grows at once, and
 * shrinks after SEGMENTS_KEPT_NS of need for fewer: a change empties it. */
void disk_streams(struct disk *d, u32 n)
{
    if (!d->adapts)
        return;
    HOLD(spin, &d->lock);
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
}

/* ---- the boot arguments ---- */

/* Return the drive of this disk: diskN.drive=, else drive=, else none. */
static const struct drive_model *drive_wanted(const struct disk *d)
{
    char own[16];
    ksnprintf(own, sizeof own, "%s.drive", d->name);
    const char *name = arg_text(own) ?: arg_text("drive") ?: "none";
    const struct drive_model *model = drive_find(name);
    if (!model)
        boot_fail("drive=%s: there is no such drive", name);
    const char *wrong = drive_wrong(model);
    if (wrong)
        boot_fail("drive=%s: its row in drives/ is wrong: %s", name, wrong);
    if (model->sectors && d->nsectors > model->sectors)
        boot_fail("drive=%s: holds %lu sectors, %s has %lu", name,
                  model->sectors, d->name, d->nsectors);
    return model;
}

/* Return the size in sectors that the argument gives in KiB, or the drive's
 * own. */
static u32 sectors_wanted(const char *name, u32 sectors, u64 min_kb)
{
    return arg_text(name) ? 2 * arg_number(name, 0, min_kb, 65536) : sectors;
}

/* Divide the drive's cache, and set the speed of its bus and how it reads
 * ahead, as the boot arguments want it. */
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
    d->drive.ahead_if_sequential =
        arg_number("drive_ahead_if_sequential", m->ahead_if_sequential, 0, 1);
    u64 bus_kb_s = arg_number("drive_bus_kb_s", 0, 100, 1000000);
    if (bus_kb_s)
        d->drive.bus_ns = SECTOR_BYTES * NS_PER_MS / bus_kb_s;
    const char *how = arg_text("drive_ahead"), *wrong = NULL;
    if (how && (wrong = drive_set_ahead(&d->drive, how, d->adapts)))
        boot_fail("drive_ahead=%s: %s: %s", how, m->name, wrong);
}

/* Give a drive of flash its tables in memory; boot_fail if they do not fit. */
static void fit_flash(struct disk *d)
{
    u64 bytes = flash_bytes(d->drive.model, d->nsectors);
    void *memory = mem_clear(mem_reserve(bytes), bytes);
    if (!memory)
        boot_fail("%s: the tables of its flash do not fit: shrink it", d->name);
    flash_start(&d->drive, memory, d->nsectors,
                (u64 *[]){&flash_written.value, &flash_moved.value,
                          &flash_erased.value});
}

/* Give the disk its drive and the drive's limits. The depth: without a model,
 * what the device takes (d->depth so far), or one command of a RAM disk; else
 * what drive_depth= or the model says. */
void model_fit(struct disk *d, u32 wanted)
{
    drive_start(&d->drive, drive_wanted(d));
    const struct drive_model *m = d->drive.model;
    d->drive.random = arg_number("drive_seed", 0, 0, ~0ull) + d->id;
    d->queue.turn_ns = m->rpm ? drive_rotation_ns(m) : 0;
    struct tracks t = d->queue.tracks = drive_tracks(m, d->nsectors);
    u64 cyls = arg_number("drive_cylinders", 0, 0, 1000000);
    if (cyls && m->rpm && d->nsectors > cyls * t.heads * t.sectors)
        boot_fail("drive_cylinders=%lu: %s: %lu sectors, %s has %lu", cyls,
                  m->name, cyls * t.heads * t.sectors, d->name, d->nsectors);
    d->later_ns = NEVER_NS;
    bool is_volatile = m->modelled ? m->volatile_cache : d->can_flush;
    d->volatile_cache = arg_number("drive_volatile", is_volatile, 0, 1);
    if (!m->modelled) {
        d->gather_sectors = clock_is_virtual() ? 0 : d->cluster_sectors;
        d->depth = d->ramdisk ? 1 : d->depth;
        return;
    }
    wanted = wanted ? wanted : m->depth;
    if (wanted > d->depth)
        boot_fail("drive_depth=%u: %s takes up to %u", wanted, d->name,
                  d->depth);
    d->depth = wanted;
    d->command_ns = arg_number("drive_command_us", 0, 0, 100000) * 1000;
    d->misjudged_percent = arg_number("drive_misjudged_percent", 0, 0, 100);
    if (m->segments)
        fit_cache(d);
    if (m->flash)
        fit_flash(d);
}

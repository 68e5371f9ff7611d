/* Disks with a virtual log (vlog.h). */
#include "kernel/vlog/vlog.h"
#include "kernel/vlog/internal.h"
#include "kernel/machine/args.h"
#include "kernel/proc/sleep.h"

COUNTER(unwritten, "disk.unwritten_reads", "requests",
        "of blocks that were never written");
COUNTER(map_writes, "disk.map_writes", "sectors", "of virtual logs written");

/* Return the logical block in which the request begins. */
static u32 block_of(const struct request *r)
{
    return r->sector / SLOT_SECTORS;
}

/* ---- slots ---- */

/* Return the first free slot after the head, or of all. */
static u64 any_free(const struct queue *q, const struct request *r, u64 now_ns)
{
    (void)r;
    (void)now_ns;
    u64 sector = queue_free_from(q, q->head_sector, NO_SECTOR);
    return sector == NO_SECTOR ? queue_free_from(q, 0, NO_SECTOR) : sector;
}

/* Where the default of the kind would take over, this policy places blocks: the
 * default has no slots for them. */
static const struct policy place_anywhere = {.kind = POLICY_PLACE,
                                             .place = {.place = any_free}};

/* Return the physical sector of what a read wants; NO_SECTOR if its block was
 * never written. */
static u64 find(const struct disk *d, const struct request *r)
{
    u32 slot = vlog_of(d)->map.map[block_of(r)];
    return slot ? slot * SLOT_SECTORS + r->sector % SLOT_SECTORS : NO_SECTOR;
}

/* True if a write must wait: the last free slots are kept for the map. */
static bool is_full(const struct disk *d, const struct request *r)
{
    const struct vlog *v = vlog_of(d);
    return v->closed || (r != &v->sector.request && !logical_room(&v->map));
}

/* True if a write may go to sector `at`: the start of a free slot. */
static bool may_take(const struct disk *d, const struct request *r, u64 at)
{
    const struct logical *l = &vlog_of(d)->map;
    return !is_full(d, r) && at % SLOT_SECTORS == 0 &&
           at / SLOT_SECTORS < l->nslots && logical_free(l, at / SLOT_SECTORS);
}

/* Take the slot that the request's write goes to. */
static void take(struct disk *d, const struct request *r)
{
    bool taken = logical_take(&vlog_of(d)->map, r->physical / SLOT_SECTORS);
    assert(taken);
    clean_overtaken(&vlog_of(d)->clean, r);
}

/* Return how many slots in this range of sectors hold a block or a sector of
 * the map. */
u64 queue_used(const struct queue *q, u64 from, u64 end)
{
    const struct vlog *v = vlog_of(CONTAINER(q, struct disk, queue));
    u64 n = 0;
    end = v ? MIN(end, v->map.nslots * SLOT_SECTORS) : 0;
    for (u64 at = ROUND_UP(from, SLOT_SECTORS); at < end; at += SLOT_SECTORS)
        n += logical_owner(&v->map, at / SLOT_SECTORS) != 0;
    return n;
}

/* Return the first free slot in this range, as a sector, or NO_SECTOR. */
u64 queue_free_from(const struct queue *q, u64 from, u64 end)
{
    const struct vlog *v = vlog_of(CONTAINER(q, struct disk, queue));
    u64 most = q->nsectors - SLOT_SECTORS + 1; /* no sum overflows */
    from = ROUND_UP(MIN(from, most), SLOT_SECTORS) / SLOT_SECTORS;
    end = ROUND_UP(MIN(end, most), SLOT_SECTORS) / SLOT_SECTORS;
    u32 slot = v ? logical_free_from(&v->map, from, end) : 0;
    return slot ? slot * SLOT_SECTORS : NO_SECTOR;
}

/* ---- writes ---- */

/* Put a chain of requests before another one. */
static void prepend(struct io **chain, struct io *io)
{
    struct io *last = io;
    while (io_next(last))
        last = io_next(last);
    io_set_next(last, *chain);
    *chain = io;
}

/* End the write of a map's sector. Return the requests that are done now. */
static struct io *sector_ended(struct vlog *v, int error)
{
    struct io *done = v->told;
    v->under_way = false;
    v->told = NULL;
    if (!error) {
        logical_commit(&v->map);
        return done;
    }
    for (struct io *io = v->written, *next; io; io = next) {
        next = io_next(io);
        io_set_next(io, NULL);
        if (!io->request.moved) /* a block that was moved is where it was */
            prepend(&done, io);
    }
    v->written = NULL;
    return done;
}

/* Take a command that has ended, and return the requests that are done now.
 * A read of what was never written gives zeros, a write without a slot an
 * error. */
static struct io *ended(struct disk *d, struct io *io, int *error)
{
    struct vlog *v = vlog_of(d);
    struct request *r = &io->request;
    if (v->closed)
        wakeup(v);
    if (io == &v->sector)
        return sector_ended(v, *error);
    if (io == &v->clean.read)
        clean_was_read(d, *error);
    if (r->physical == NO_SECTOR) {
        *error = r->write ? -EIO : 0;
        if (!r->write)
            memset(io->span.data, 0, io->span.bytes);
        count(&unwritten, !r->write);
    } else if (r->write && !r->raw && !*error) {
        prepend(&v->written, io);
        return NULL;
    } else if (r->write && !r->raw) {
        for (struct io *i = io; i; i = io_next(i))
            logical_give_back(&v->map, i->request.physical / SLOT_SECTORS);
    }
    return r->moved ? NULL : io;
}

/* Record a write that has ended in the log's sector that is being made. */
static void record(struct vlog *v, struct io *io)
{
    u32 slot = io->request.physical / SLOT_SECTORS;
    io_set_next(io, NULL);
    if (io->request.moved && clean_is_void(io)) {
        logical_give_back(&v->map, slot);
        return;
    }
    logical_enter(&v->map, block_of(&io->request), slot);
    if (!io->request.moved)
        prepend(&v->told, io);
}

/* Record all ended writes of blocks of this piece. */
static void record_piece(struct vlog *v, u32 piece)
{
    struct io *all = v->written;
    v->written = NULL;
    for (struct io *io = all, *next; io; io = next) {
        next = io_next(io);
        if (logical_piece(block_of(&io->request)) == piece) {
            record(v, io);
        } else {
            io_set_next(io, NULL);
            prepend(&v->written, io);
        }
    }
}

/* Record as many ended writes as a summary has room for. */
static void record_run(struct vlog *v)
{
    for (u32 i = 0; i < LOG_RUN && v->written; i++) {
        struct io *io = v->written;
        v->written = io_next(io);
        record(v, io);
    }
}

/* True if the ended writes are in slots that follow one another, and their
 * blocks are of more than one piece. */
static bool is_run(const struct io *first)
{
    u32 piece = logical_piece(block_of(&first->request));
    bool several = false;
    for (const struct io *io = first, *next; (next = io_next(io)); io = next) {
        several |= logical_piece(block_of(&next->request)) != piece;
        if (next->request.physical != io_physical_end(io))
            return false;
    }
    return several;
}

/* Make the sector of the log that is due for the writes that have ended. */
static void make_sector(struct vlog *v)
{
    struct logical *l = &v->map;
    struct request *first = &v->written->request;
    bool run = l->nmap < l->npieces && is_run(v->written);
    u32 piece = run ? logical_summary(l) : logical_piece(block_of(first));
    u32 due = logical_due(l, piece);
    if (run && due == piece && piece >= l->nmap) {
        logical_summarize(l, piece, first->physical / SLOT_SECTORS);
        record_run(v);
        return;
    }
    logical_begin(l, due);
    if (!run && due == piece)
        record_piece(v, piece);
}

/* Give the sector that was made a slot, and return its write. */
static struct io *sector_io(struct disk *d, u64 now_ns)
{
    struct vlog *v = vlog_of(d);
    struct request *r = &v->sector.request;
    r->moved = clean_busy(&v->clean);
    v->sector.issued_ns = vlog_next_ns(d, now_ns);
    r->sector = r->physical = place_of(d, r, v->sector.issued_ns);
    bool sealed = logical_seal(&v->map, r->physical / SLOT_SECTORS);
    assert(sealed);
    if (d->place->place.placed)
        d->place->place.placed(&d->queue, r);
    v->under_way = true;
    count(&map_writes, 1);
    return &v->sector;
}

/* Return the next command of cleaning (clean_next, clean_begin), or NULL. */
static struct io *clean(struct disk *d, u64 now_ns)
{
    struct vlog *v = vlog_of(d);
    u32 piece = NO_PIECE;
    struct io *command = NULL;
    if (clean_busy(&v->clean))
        command = clean_next(d, now_ns, &piece);
    if (!clean_busy(&v->clean))
        return clean_begin(d, now_ns);
    if (command || piece == NO_PIECE)
        return command;
    logical_begin(&v->map, piece);
    return sector_io(d, now_ns);
}

/* Return the write of a sector of the map, or a step of cleaning; NULL:
 * neither. */
static struct io *next(struct disk *d, u64 now_ns)
{
    struct vlog *v = vlog_of(d);
    if (v->under_way || v->closed)
        return NULL;
    if (!v->written)
        return d->in_flight ? NULL : clean(d, now_ns);
    make_sector(v);
    return sector_io(d, now_ns);
}

/* Return how many commands the drive may have: 1 while slots are cleaned. */
static u32 depth(const struct disk *d)
{
    return clean_busy(&vlog_of(d)->clean) ? 1 : d->depth;
}

/* The disk is idle: ask the policy again at the time that it named. */
static void idle(struct disk *d, void (*ask_again)(void *disk))
{
    struct cleaning *c = &vlog_of(d)->clean;
    timer_cancel(&c->timer);
    if (c->again_ns != NEVER_NS && !vlog_of(d)->closed)
        timer_set(&c->timer, c->again_ns, ask_again, d);
}

static const struct translation translation = {
    .refusal = "a disk has a virtual log, and this policy has no place for "
               "its blocks",
    .fallback = &place_anywhere,
    .find = find,
    .is_full = is_full,
    .may_take = may_take,
    .take = take,
    .next = next,
    .depth = depth,
    .ended = ended,
    .idle = idle};

/* ---- the log is opened and closed ---- */

/* Read or write one physical sector, and wait for it. Return 0 or an error. */
static int transfer(struct disk *d, u64 sector, void *data, bool write)
{
    struct io io = {.request = {.sector = sector,
                                .nsectors = 1,
                                .write = write,
                                .raw = true},
                    .span.data = data};
    return disk_transfer(d, &io, 1);
}

/* Read one sector for logical_recover; arg is the disk. */
static int read_sector(void *arg, u64 sector, void *to)
{
    return transfer(arg, sector, to, false);
}

/* If the disk has a virtual log, find its map. */
static void open(struct disk *d, bool in_drive)
{
    static struct logical sizes;
    bool scanned;
    if (transfer(d, LABEL_SECTOR, &sizes.sector, false))
        boot_fail("%s: its first sector cannot be read", d->name);
    if (logical_open(&sizes, &sizes.sector))
        return;
    u64 needed = sizes.nslots * SLOT_SECTORS;
    if (needed > d->nsectors || !d->drive.model->modelled || d->volatile_cache)
        boot_fail("%s: its virtual log needs %lu sectors, a drive model and "
                  "drive_volatile=0",
                  d->name, needed);
    if (in_drive && (!d->drive.model->rpm || d->depth > 1))
        boot_fail("log_in_drive=1: %s: wants platters and drive_depth=1",
                  d->name);
    struct vlog *v = mem_reserve(sizeof *v + logical_bytes(&sizes));
    if (!v)
        boot_fail("%s: no memory for the map of its virtual log", d->name);
    memset(v, 0, sizeof *v);
    v->map = sizes;
    v->in_drive = in_drive;
    v->sector = (struct io){
        .request = {.nsectors = 1, .write = true, .inside = in_drive},
        .span = {&v->map.sector, SECTOR_BYTES}};
    v->clean.again_ns = NEVER_NS;
    logical_start(&v->map, v + 1);
    const char *why = logical_recover(&v->map, read_sector, d, &scanned);
    if (why)
        boot_fail("%s: %s", d->name, why);
    if (scanned)
        kprintf("%s: the virtual log was found by a scan\n", d->name);
    v->map.sector = (struct log_sector){0};
    if (transfer(d, TAIL_SECTOR, &v->map.sector, true))
        boot_fail("%s: the tail of its virtual log cannot be cleared", d->name);
    d->nsectors = v->map.nblocks * SLOT_SECTORS;
    d->queue.logged = true;
    d->mapping = v;
    d->translation = &translation;
}

/* At boot: open the virtual log of each disk, if the place policy chooses
 * slots. */
void vlog_init(void)
{
    bool in_drive = arg_number("log_in_drive", 0, 0, 1);
    for (u32 i = 0; i < disk_count(); i++)
        if (policy_in_use[POLICY_PLACE]->place.place)
            open(disk_get(i), in_drive);
}

/* Close the log, and wait until no command is under way. */
static void end_writing(struct disk *d)
{
    HOLD(spin, &d->lock);
    vlog_of(d)->closed = true;
    while (d->in_flight)
        sleep_on(d->mapping, &d->lock);
}

/* Write the tail of each log, by which the next start finds its map. Without
 * one that start scans. */
void vlog_close(void)
{
    static struct log_sector tail;
    for (u32 i = 0; i < disk_count(); i++) {
        struct disk *d = disk_get(i);
        if (!d->translation)
            continue;
        end_writing(d);
        logical_tail(&vlog_of(d)->map, &tail);
        transfer(d, TAIL_SECTOR, &tail, true);
    }
}

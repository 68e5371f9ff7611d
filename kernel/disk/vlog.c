/* Disks with a virtual log (vlog.h). */
#include "kernel/disk/vlog.h"
#include "kernel/base/abi.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/disk/place.h"
#include "kernel/machine/args.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"

COUNTER(unwritten, "disk.unwritten_reads", "requests",
        "of blocks that were never written");
COUNTER(map_writes, "disk.map_writes", "sectors", "of virtual logs written");

static u32 block_of(const struct request *r)
{
    return r->sector / PLACE_SECTORS;
}

u64 vlog_find(const struct vlog *v, const struct request *r)
{
    u32 place = v->map.map[block_of(r)];
    return place ? place * PLACE_SECTORS + r->sector % PLACE_SECTORS
                 : NO_SECTOR;
}

bool vlog_is_full(const struct vlog *v, const struct request *r)
{
    return v->closed || (r != &v->sector.request && !logical_room(&v->map));
}

bool vlog_may_take(const struct vlog *v, const struct request *r, u64 physical)
{
    return !vlog_is_full(v, r) && physical % PLACE_SECTORS == 0 &&
           physical / PLACE_SECTORS < v->map.nplaces &&
           logical_free(&v->map, physical / PLACE_SECTORS);
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

/* The sector of the map is on the disk, or could not be written. */
static struct io *sector_ended(struct vlog *v, int error)
{
    struct io *done = v->told;
    v->under_way = false;
    v->told = NULL;
    if (!error) {
        logical_commit(&v->map);
        return done;
    }
    if (v->written && done)
        prepend(&v->written, done);
    done = v->written ? v->written : done;
    v->written = NULL;
    return done;
}

struct io *vlog_ended(struct vlog *v, struct io *io, int *error)
{
    struct request *r = &io->request;
    if (io == &v->sector)
        return sector_ended(v, *error);
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
            logical_give_back(&v->map, i->request.physical / PLACE_SECTORS);
    }
    return io;
}

/* Tell in the sector of the map of all data written that are in this piece. */
static void tell(struct vlog *v, u32 piece)
{
    struct io *all = v->written;
    v->written = NULL;
    for (struct io *io = all, *next; io; io = next) {
        u32 block = block_of(&io->request);
        bool here = logical_piece(block) == piece;
        next = io_next(io);
        io_set_next(io, NULL);
        prepend(here ? &v->told : &v->written, io);
        if (here)
            logical_enter(&v->map, block, io->request.physical / PLACE_SECTORS);
    }
}

struct io *vlog_next(struct disk *d, u64 now_ns)
{
    struct vlog *v = d->vlog;
    struct request *r = &v->sector.request;
    if (v->under_way || !v->written)
        return NULL;
    u32 piece = logical_piece(block_of(&v->written->request));
    u32 due = logical_due(&v->map, piece);
    logical_begin(&v->map, due);
    if (due == piece)
        tell(v, piece);
    r->sector = r->physical = place_of(d, r, now_ns);
    bool sealed = logical_seal(&v->map, r->physical / PLACE_SECTORS);
    assert(sealed);
    v->sector.issued_ns = now_ns;
    v->under_way = true;
    count(&map_writes, 1);
    return &v->sector;
}

/* ---- the log is opened and closed ---- */

static int transfer(struct disk *d, u64 sector, void *data, bool write)
{
    struct io io = {.request = {.sector = sector,
                                .nsectors = 1,
                                .write = write,
                                .raw = true},
                    .span.data = data};
    return disk_transfer(d, &io, 1);
}

static int read_sector(void *arg, u64 sector, void *to)
{
    return transfer(arg, sector, to, false);
}

void vlog_open(struct disk *d)
{
    static struct logical sizes;
    bool scanned;
    if (transfer(d, LABEL_SECTOR, &sizes.sector, false))
        boot_fail("%s: its first sector cannot be read", d->name);
    if (logical_open(&sizes, &sizes.sector))
        return;
    u64 needed = sizes.nplaces * PLACE_SECTORS;
    if (needed > d->nsectors || !d->drive.model->modelled || d->volatile_cache)
        boot_fail("%s: its virtual log needs %lu sectors, a drive model and "
                  "drive_volatile=0",
                  d->name, needed);
    struct vlog *v = mem_reserve(sizeof *v + logical_bytes(&sizes));
    if (!v)
        boot_fail("%s: no memory for the map of its virtual log", d->name);
    *v = (struct vlog){.map = sizes,
                       .sector = {.request = {.nsectors = 1, .write = true},
                                  .span = {&v->map.sector, SECTOR_BYTES}}};
    logical_start(&v->map, v + 1);
    const char *why = logical_recover(&v->map, read_sector, d, &scanned);
    if (why)
        boot_fail("%s: %s", d->name, why);
    if (scanned)
        kprintf("%s: the virtual log was found by a scan\n", d->name);
    v->map.sector = (struct log_sector){0};
    if (transfer(d, TAIL_SECTOR, &v->map.sector, true))
        boot_fail("%s: the tail of its virtual log cannot be cleared", d->name);
    d->nsectors = v->map.nblocks * PLACE_SECTORS;
    d->queue.logged = true;
    d->vlog = v;
}

/* If that fails, the next start scans. */
void vlog_close(void)
{
    for (u32 i = 0; i < disk_count(); i++) {
        struct vlog *v = disk_get(i)->vlog;
        if (!v)
            continue;
        v->closed = true;
        logical_tail(&v->map, &v->map.sector);
        transfer(disk_get(i), TAIL_SECTOR, &v->map.sector, true);
    }
}

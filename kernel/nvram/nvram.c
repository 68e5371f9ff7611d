/*
 * NVRAM in front of a disk (nvram.h).
 *
 * - A slot goes: free - held, its write queued - in the drive - free. A write
 *   that comes while it is in the drive makes it `again`: then it is queued
 *   once more.
 * - A write that the drive refuses TRIES times makes the slot `failed`: it
 *   keeps its bytes, which reads find, and is queued again by the next write
 *   of the same block, or at the next boot. Once all slots have failed, writes
 *   go past NVRAM, so that their errors are reported.
 * - The memory begins with a head and a table of places; a slot's bytes are
 *   written before its place, so a power cut between the two leaves it free.
 * - The kernel has a copy of all bytes, from which the drive is given them.
 * - Whether a transfer is held, waits or goes on to the queue is decided with
 *   lock held; the disk's queue is called without it.
 */
#include "kernel/nvram/nvram.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/disk/disk.h"
#include "kernel/machine/args.h"
#include "kernel/machine/gathered.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"
#include "kernel/measure/cost.h"

#define SLOT_SECTORS 16 /* 8 KiB: a block of the largest size */
#define SLOT_BYTES   (SLOT_SECTORS * SECTOR_BYTES)
#define TRIES        3                            /* of a write to the drive */
#define PLACES       (SECTOR_BYTES / sizeof(u64)) /* of a sector of the table */

static bool used;
COUNTER_WITH(held, "nvram.writes", "requests", "done when NVRAM had them",
             &used);
COUNTER_WITH(absorbed, "nvram.absorbed", "requests",
             "of these, in the place of an older one", &used);
COUNTER_WITH(answered, "nvram.reads", "requests", "answered from NVRAM", &used);
COUNTER_WITH(failed, "nvram.failed", "requests",
             "that the drive refused, and NVRAM keeps", &used);
COUNTER_WITH(no_room, "nvram.waits", "requests", "that had to wait for a slot",
             &used);

struct head {
    char magic[8];
    u64 nsectors; /* of the disk */
};

struct slot {
    struct io io;
    bool held, again;
    u32 errors; /* TRIES: failed */
    u8 *data;
};

static struct {
    struct disk *disk, *memory;
    struct spinlock lock;
    /* lock */
    u32 nslots, nfailed;
    struct slot *slots;
    u64 *places; /* a copy of the table: sector * 256 + sectors; 0: free */
    struct io *waiting, **last; /* by `held`, as the next */
    struct io *done;            /* to be reported, too */
    struct timer timer;
} nv;

/* ---- the memory ---- */

/* Return how many sectors hold the places of this many slots. */
static u32 table_sectors(u32 nslots)
{
    return (nslots + PLACES - 1) / PLACES;
}

/* Move bytes between the kernel and NVRAM, at once. */
static void move(u64 sector, void *data, u32 bytes, bool write)
{
    struct span s = {data, bytes, NULL};
    if (ramdisk_move(nv.memory->ramdisk, write, sector, &s))
        panic("nvram: its memory cannot be moved");
}

/* Return the sector of NVRAM where the slot's bytes begin. */
static u64 sector_of(const struct slot *s)
{
    u32 i = s - nv.slots;
    return 1 + table_sectors(nv.nslots) + (u64)i * SLOT_SECTORS;
}

/* Write the slot's place to the table: the whole sector that has it. */
static void set_place(const struct slot *s, u64 place)
{
    u32 i = s - nv.slots, first = ROUND_DOWN(i, PLACES);
    nv.places[i] = place;
    move(1 + i / PLACES, nv.places + first, SECTOR_BYTES, true);
}

/* ---- slots ---- */

/* True if the slot holds one of the request's sectors. */
static bool overlaps(const struct slot *s, const struct request *r)
{
    const struct request *own = &s->io.request;
    return s->held && r->sector < own->sector + own->nsectors &&
           own->sector < r->sector + r->nsectors;
}

/* True if the slot has exactly the bytes that the request is about. */
static bool is_same(const struct slot *s, const struct request *r)
{
    return s->io.request.sector == r->sector &&
           s->io.request.nsectors == r->nsectors;
}

/* Return the slot that a transfer has to do with: the first that overlaps,
 * else, for a write, the first that is free. NULL: none. */
static struct slot *find(const struct request *r)
{
    struct slot *free = NULL;
    for (struct slot *s = nv.slots; s < nv.slots + nv.nslots; s++) {
        if (overlaps(s, r))
            return s;
        if (!s->held && !free)
            free = s;
    }
    return r->write && r->nsectors <= SLOT_SECTORS ? free : NULL;
}

static void drained(struct io *io, int error);

/* Take the bytes of a write. True if the slot is to be queued. */
static bool hold(struct slot *s, const struct io *io)
{
    u32 bytes = io->request.nsectors * SECTOR_BYTES;
    bool was_held = s->held;
    charge_bytes(COST_copy_in_kb, bytes);
    memcpy(s->data, io->span.data, bytes);
    move(sector_of(s), s->data, bytes, true);
    count(&held, 1);
    count(&absorbed, was_held);
    if (was_held) {
        bool fails = s->errors == TRIES;
        s->again |= !fails && !io_queued(&s->io);
        s->errors = 0;
        nv.nfailed -= fails;
        return fails;
    }
    s->held = true;
    s->io = (struct io){.request = {.sector = io->request.sector,
                                    .nsectors = io->request.nsectors,
                                    .write = true},
                        .span = {.data = s->data},
                        .done = drained,
                        .arg = s};
    set_place(s, io->request.sector << 8 | io->request.nsectors);
    return true;
}

/* ---- transfers ---- */

/* Report all transfers that have ended. No lock is held then. */
static void report(void *)
{
    spin_lock(&nv.lock);
    struct io *io = nv.done, *next;
    nv.done = NULL;
    spin_unlock(&nv.lock);
    for (; io; io = next) {
        next = io->held;
        io->held = NULL;
        io->done(io, 0);
    }
}

/* Have a transfer's end reported at once, from an interrupt. */
static void end(struct io *io)
{
    if (!nv.done)
        timer_set(&nv.timer, clock_ns(), report, NULL);
    io->held = nv.done;
    nv.done = io;
}

enum answer { PASSES, WAITS, DONE };

/* Decide what becomes of a transfer. *queue: a slot to be queued, or NULL.
 * Caller holds nv.lock. */
static enum answer decide(struct io *io, struct slot **queue)
{
    const struct request *r = &io->request;
    struct slot *s = find(r);
    *queue = NULL;
    if (!s)
        return r->write && r->nsectors <= SLOT_SECTORS && nv.nfailed < nv.nslots
                   ? WAITS
                   : PASSES;
    if (s->held && !is_same(s, r))
        return WAITS;
    if (r->write) {
        *queue = hold(s, io) ? s : NULL;
    } else {
        charge_bytes(COST_copy_in_kb, r->nsectors * SECTOR_BYTES);
        memcpy(io->span.data, s->data, r->nsectors * SECTOR_BYTES);
        count(&answered, 1);
    }
    end(io);
    return DONE;
}

/* Decide what becomes of a transfer. False: it goes to the queue as if there
 * were no NVRAM. */
static bool takes(struct disk *d, struct io *io)
{
    struct slot *queue = NULL;
    spin_lock(&nv.lock);
    enum answer a =
        nv.waiting && io->request.write ? WAITS : decide(io, &queue);
    if (a == WAITS) {
        count(&no_room, 1);
        io->held = NULL;
        *nv.last = io;
        nv.last = &io->held;
    }
    spin_unlock(&nv.lock);
    if (queue)
        disk_queue(d, &queue->io);
    return a != PASSES;
}

/* Let the first transfer that waits go on, as a slot is free. */
static void go_on(void)
{
    for (enum answer a = DONE; a != WAITS;) {
        struct slot *queue = NULL;
        spin_lock(&nv.lock);
        struct io *io = nv.waiting, *next = io ? io->held : NULL;
        a = io ? decide(io, &queue) : WAITS;
        if (a != WAITS) {
            nv.waiting = next;
            if (!next)
                nv.last = &nv.waiting;
        }
        spin_unlock(&nv.lock);
        if (queue || a == PASSES)
            disk_queue(nv.disk, queue ? &queue->io : io);
    }
}

/* Count a refusal of the slot by the drive. True if it is tried again. */
static bool refused(struct slot *s)
{
    if (++s->errors < TRIES)
        return true;
    count(&failed, 1);
    if (!nv.nfailed++)
        kprintf("nvram: %s refuses a write of sector %lu, which stays in %s\n",
                nv.disk->name, s->io.request.sector, nv.memory->name);
    return false;
}

/* End the slot's write: the drive has done it, or could not. */
static void drained(struct io *io, int error)
{
    struct slot *s = io->arg;
    spin_lock(&nv.lock);
    bool again = error ? refused(s) : s->again;
    s->again = false;
    if (!error && !again) {
        set_place(s, 0);
        s->held = false;
        s->errors = 0;
    }
    spin_unlock(&nv.lock);
    if (again)
        disk_queue(nv.disk, io);
    else
        go_on();
}

/* ---- the boot ---- */

/* Return the disk that a boot argument names. */
static struct disk *named(const char *argument, const char *name)
{
    struct disk *d = disk_named(name ?: "");
    if (!d)
        boot_fail("%s=%s: there is no such disk", argument, name ?: "");
    return d;
}

/* Return the most slots for which the memory has room, with their table. */
static u32 count_slots(u64 nsectors)
{
    u32 n = nsectors / SLOT_SECTORS;
    while (n && 1 + table_sectors(n) + (u64)n * SLOT_SECTORS > nsectors)
        n--;
    return n;
}

/* Find what the memory holds since before a power cut, or begin with none. */
static void read_head(void)
{
    static const struct head none;
    static u64 sector[PLACES];
    struct head *h = (struct head *)sector;
    struct head own = {"nvram 1", nv.disk->nsectors};
    move(0, sector, sizeof sector, false);
    if (memcmp(h, &none, sizeof none) == 0) {
        *h = own;
        move(0, sector, sizeof sector, true);
    } else if (memcmp(h, &own, sizeof own) != 0) {
        boot_fail("nvram_in=%s: it holds something else than writes for %s",
                  nv.memory->name, nv.disk->name);
    }
    for (u32 i = 0; i < table_sectors(nv.nslots); i++)
        move(1 + i, nv.places + (u64)i * PLACES, SECTOR_BYTES, false);
}

/* At boot: queue what a slot still holds from before the power cut. */
static void recover(struct slot *s, u64 place)
{
    struct request r = {
        .sector = place >> 8, .nsectors = place & 0xff, .write = true};
    if (r.nsectors > SLOT_SECTORS || r.sector >= nv.disk->nsectors ||
        r.sector + r.nsectors > nv.disk->nsectors)
        boot_fail("nvram_in=%s: its table is damaged", nv.memory->name);
    move(sector_of(s), s->data, r.nsectors * SECTOR_BYTES, false);
    s->held = true;
    s->io = (struct io){
        .request = r, .span = {.data = s->data}, .done = drained, .arg = s};
    disk_queue(nv.disk, &s->io);
}

/* Make the kernel's copy of all slots. */
static void reserve(void)
{
    u64 places = table_sectors(nv.nslots) * SECTOR_BYTES;
    u64 slots = nv.nslots * sizeof *nv.slots;
    u8 *data = mem_reserve((u64)nv.nslots * SLOT_BYTES);
    nv.places = mem_clear(mem_reserve(places), places);
    nv.slots = mem_clear(mem_reserve(slots), slots);
    if (!data || !nv.places || !nv.slots)
        boot_fail("nvram_in=%s: no memory for a copy", nv.memory->name);
    for (u32 i = 0; i < nv.nslots; i++)
        nv.slots[i].data = data + (u64)i * SLOT_BYTES;
}

/* At boot: put NVRAM in front of a disk, if the arguments say so. */
void nvram_init(void)
{
    if (!arg_text("nvram_of"))
        return;
    nv.disk = named("nvram_of", arg_text("nvram_of"));
    nv.memory = named("nvram_in", arg_text("nvram_in"));
    if (nv.disk == nv.memory || !nv.memory->ramdisk)
        boot_fail("nvram_in=%s: must be another disk, in virtual time",
                  nv.memory->name);
    if (nv.disk->translation || nv.disk->volatile_cache)
        boot_fail("nvram_of=%s: not with a virtual log or a volatile cache",
                  nv.disk->name);
    nv.nslots = count_slots(nv.memory->nsectors);
    if (!nv.nslots)
        boot_fail("nvram_in=%s: too small", nv.memory->name);
    nv.lock = SPINLOCK("NVRAM", RANK_DISK);
    nv.last = &nv.waiting;
    reserve();
    read_head();
    used = nv.memory->mounted = true;
    nv.disk->takes = takes;
    for (u32 i = 0; i < nv.nslots; i++)
        if (nv.places[i])
            recover(&nv.slots[i], nv.places[i]);
}

/*
 * Disks and their request queues.
 *
 * - Every transfer is a struct io, owned by the caller until its done() is
 *   called: once, from an interrupt, with no lock held.
 * - A disk dispatches by its scheduler's choice up to `depth` requests at a
 *   time; on dispatch, queued neighbours of the same direction join into one
 *   command of at most cluster_kb.
 * - The drive model, if there is one, says when a request is done.
 */
#pragma once

#include "kernel/machine/clock.h"
#include "kernel/disk/drive.h"
#include "kernel/driver/ramdisk.h"
#include "kernel/driver/virtio_blk.h"
#include "kernel/machine/lock.h"
#include "kernel/policy/policy.h"

#define MAX_DEPTH 256 /* as many tags as SCSI has */

struct disk;

struct io {
    struct request request; /* the caller sets sector, nsectors, write,
                               waited and pid */
    struct span span;       /* the caller sets data: nsectors * 512 bytes */
    void (*done)(struct io *, int error); /* 0 or -EIO */
    bool (*reserve)(struct io *,
                    const struct disk *); /* see disk_add_candidate */
    void *arg;                            /* for done */
    /* disk.lock */
    struct io *held; /* the next of the commands that the drive holds */
    bool alone;      /* joins no neighbour: its submitter wants that, or a
                        command of it and others has failed */
    u64 issued_ns;   /* when it was dispatched to the drive */
};

/* Translates the sectors of a disk on which a block may be anywhere: it knows
 * where each block is, and writes the map to the disk. The place policy only
 * says where the next write goes. The disk's lock is held. */
struct translation {
    const char *refusal; /* why a place policy without `place` will not do */
    const struct policy *fallback; /* places the blocks after a fault */
    /* Return the physical place of a read's sectors; NO_SECTOR: they were
     * never written. */
    u64 (*find)(const struct disk *, const struct request *);
    /* is_full: true if no place is free for this write. may_take: true if the
     * write may go to this place. */
    bool (*is_full)(const struct disk *, const struct request *);
    bool (*may_take)(const struct disk *, const struct request *, u64 physical);
    /* Take the place r->physical: a write is dispatched to it. */
    void (*take)(struct disk *, const struct request *r);
    /* Return the command that the drive gets before anything queued, or NULL.
     * Its place is set. */
    struct io *(*next)(struct disk *, u64 now_ns);
    /* Return how many commands the drive may have now. */
    u32 (*depth)(const struct disk *);
    /* Return the requests that are done, now that a command has ended: in one
     * chain, or NULL. A request without a place did not go to the drive. */
    struct io *(*ended)(struct disk *, struct io *, int *error);
    /* No command is under way or to be dispatched: call back when the place
     * policy is to be asked again. */
    void (*idle)(struct disk *, void (*ask_again)(void *disk));
};

struct disk {
    u32 id; /* "disk<id>", by address of the device */
    char name[8];
    u64 nsectors;       /* that file systems may use */
    u64 device_sectors; /* of the device: at least nsectors */
    bool read_only;
    bool mounted;        /* a file system has it */
    bool can_flush;      /* the device has a volatile cache to flush */
    bool volatile_cache; /* completed writes are lost in a power cut, unless
                            they were flushed */
    u32 depth;           /* most commands at a time */
    u32 max_segments;    /* most pieces of one command */
    u32 cluster_sectors; /* most of one command; 0: requests never join */
    u32 gather_sectors;  /* while the device is busy, writes wait until so many
                            are queued; 0 in virtual time and with a model */
    struct ramdisk *ramdisk; /* one of these three is the device */
    struct virtio_blk *device;
    /* Carries out commands elsewhere: begins one, with the disk's lock held,
     * and calls disk_ended when it is done. */
    void (*carry)(struct disk *, struct io *command);
    /* Takes a transfer before it is queued, and ends it or queues it later.
     * false: the transfer goes on to the queue. */
    bool (*takes)(struct disk *, struct io *);
    struct spinlock lock;
    /* lock */
    const struct policy *sched, *place; /* adopted from policy_in_use */
    struct queue queue;
    const struct translation *translation; /* NULL: blocks stay in place; set
                                              once, at boot */
    void *mapping;        /* the translation's own, or that of `carry` */
    u64 queued_ns;        /* queue length times ns, summed ... */
    u64 measured_ns;      /* ... until this time */
    u32 in_flight;        /* commands */
    u64 written, flushed; /* completed writes; how many of them are flushed */
    u32 plugged;          /* submitters that hold back dispatch */
    struct drive drive;
    struct drive later; /* the same, as it will be ... */
    u64 later_ns;       /* at this time; NEVER_NS: not worked out */
    u64 command_ns; /* that a command takes to the drive, by adapter and bus */
    bool inside;    /* questions are about the drive's own work */
    u32 misjudged_percent;    /* of a scheduler's "what if"; set at boot */
    bool adapts;              /* drive_segments=adaptive; set once, at boot */
    u64 streams_ns;           /* when its segments were last all needed */
    struct io *held;          /* commands the drive has not taken up yet */
    struct io *in_drive;      /* the one it has */
    struct timer drive_timer; /* fires when that one is done */
    struct timer ask_timer; /* fires when the scheduler is to be asked again */
};

/* Return the sector after the transfer's last, by logical numbers. */
static inline u64 io_end(const struct io *io)
{
    return io->request.sector + io->request.nsectors;
}

/* Return the sector after the last one of the transfer, by physical numbers. */
static inline u64 io_physical_end(const struct io *io)
{
    return io->request.physical + io->request.nsectors;
}

/* Return the next request of the same command, or NULL. */
static inline struct io *io_next(const struct io *io)
{
    return io->span.next ? CONTAINER(io->span.next, struct io, span) : NULL;
}

/* Link next behind io in one command, or end the command with NULL. */
static inline void io_set_next(struct io *io, struct io *next)
{
    io->span.next = next ? &next->span : NULL;
}

/* True if it is queued or a candidate. Its owner, who alone submits it or makes
 * it a candidate, may ask without the disk's lock. The scheduler may take up a
 * candidate meanwhile: by the time this is false, the queue is done with it. */
static inline bool io_queued(const struct io *io)
{
    return __atomic_load_n(&io->request.queue, __ATOMIC_ACQUIRE);
}

/* Find the disks, read the boot arguments drive=, drive_*=, cluster_kb=, own
 * sched and place. */
void disk_init(void);
u32 disk_count(void);
struct disk *disk_get(u32 id); /* NULL if there is none, as the next */
struct disk *disk_named(const char *name);

/* Add a disk that is no device. Its blocks stay in place, and it has no
 * histograms. The caller sets carry, mapping, depth, max_segments and
 * cluster_sectors.
 * There are fewer than MAX_DISKS. For one process at a time. */
struct disk *disk_add(u64 nsectors);

/* End a command, for `carry`, without a lock; error is 0 or -EIO. A command may
 * be set aside before, so that the disk has another one meanwhile: disk_aside
 * before and after that. */
void disk_ended(struct disk *, struct io *, int error);
void disk_aside(struct disk *, bool begins);

/* Queue a transfer. disk_queue: whatever `takes` says. */
void disk_submit(struct disk *, struct io *);
void disk_queue(struct disk *, struct io *);

/*
 * Add a candidate write, which the scheduler may take up; or remove it. The
 * caller sets queued_ns to when the block became dirty.
 * If it is taken up, reserve() is called without a lock, perhaps after the
 * candidate was removed: it makes the transfer ready and returns true, or false
 * if nothing is to be written. May be called with the cache's lock held, which
 * reserve may take.
 */
void disk_add_candidate(struct disk *, struct io *);
void disk_remove_candidate(struct disk *, struct io *);

/* Ask the scheduler, because there are more candidates: if it takes candidates,
 * and no time is set at which it is asked again. */
void disk_poke(struct disk *);

/* Between these calls, submissions are only queued, so that the scheduler sees
 * them together. The calls nest; the caller does not sleep between them. */
void disk_plug(struct disk *);
void disk_unplug(struct disk *);

/* Do these transfers, outside the cache, and wait. The caller sets sector,
 * nsectors, write, raw (the sector is a physical one) and data of each. 0 or
 * -EIO. May sleep. */
int disk_transfer(struct disk *, struct io *ios, u32 n);

/* Note that n sequential streams read the disk now. Under
 * drive_segments=adaptive the drive's cache gets as many segments: more of them
 * at once, fewer when the rest has not been needed for a second. */
void disk_streams(struct disk *, u32 n);

/* A barrier: all writes completed before the call are durable after it.
 * 0 or -EIO. May sleep. */
int disk_flush(struct disk *);

/* Make completed writes durable before all later ones: disk_flush, if the
 * drive loses completed writes in a power cut; else nothing is to be done. */
int disk_order(struct disk *);

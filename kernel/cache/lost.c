/* Delayed writes that were given up, and which programs have been told so
 * (lost.h). */
#include "kernel/cache/lost.h"
#include "kernel/base/abi.h"
#include "kernel/base/stat.h"

/* Losses up to number `last`. A file that is opened now gets no report of those
 * up to `told`. */
struct loss {
    u64 owner; /* of a file; 0: the row is free */
    u32 disk;
    u64 last, told;
};

static struct {
    struct spinlock lock;          /* taken inside bcache.lock */
    u64 number;                    /* of the last loss */
    struct loss files[LOST_FILES]; /* each of one file */
    struct loss all[MAX_DISKS];    /* of metadata, or of too many files */
    struct loss synced[MAX_DISKS]; /* of anything; told: to sync */
    bool metadata[MAX_DISKS];
} lost = {.lock = SPINLOCK("lost", RANK_POLICY)};

COUNTER(told_of, "bio.told", "times", "fsync, sync, last close told of losses");

/* Return the owner's row, or NULL. Owner 0: a free row, or NULL. */
static struct loss *row_of(u64 owner)
{
    for (u32 i = 0; i < LOST_FILES; i++)
        if (lost.files[i].owner == owner)
            return &lost.files[i];
    return NULL;
}

/* True if no fsync or sync has reported the last loss of this row yet. */
static bool is_untold(const struct loss *l)
{
    return l->told < l->last;
}

/* Add the losses of `from` to the losses of `to`. What either of the two still
 * has to report, `to` reports. */
static void spread(struct loss *to, const struct loss *from)
{
    u64 last = MAX(to->last, from->last);
    u64 untold_to = is_untold(to) ? to->told : last;
    u64 untold_from = is_untold(from) ? from->told : last;
    *to = (struct loss){to->owner, to->disk, last, MIN(untold_to, untold_from)};
}

/* Return a free row. If there is none, it is the row of the oldest loss, which
 * counts from now on as a loss of all files of its disk. */
static struct loss *new_row(void)
{
    struct loss *row = row_of(0);
    if (row)
        return row;
    row = &lost.files[0];
    for (u32 i = 1; i < LOST_FILES; i++)
        if (lost.files[i].last < row->last)
            row = &lost.files[i];
    spread(&lost.all[row->disk], row);
    return row;
}

/* Record that a block of the owner was given up. True if no loss of the same
 * file, or of the disk, waits to be reported. */
bool lost_add(const struct disk *d, u64 owner, bool metadata)
{
    HOLD(spin, &lost.lock);
    u64 before = lost.number++, key = metadata ? 0 : owner;
    struct loss now = {key, d->id, lost.number, before};
    lost.synced[d->id].last = lost.number;
    lost.metadata[d->id] |= metadata;
    struct loss *row = &lost.all[d->id];
    if (key)
        row = row_of(key) ?: new_row();
    bool first = row->owner != key || !is_untold(row);
    if (row->owner != key)
        *row = now;
    else
        spread(row, &now);
    return first;
}

/* Return the number of the last loss that concerns the owner's file. */
static u64 last_of(const struct disk *d, u64 owner)
{
    const struct loss *row = owner ? row_of(owner) : NULL;
    return MAX(row ? row->last : 0, lost.all[d->id].last);
}

/* Return a loss's number: a description opened now is told only of losses after
 * that one. */
u64 lost_opened(const struct disk *d, u64 owner)
{
    HOLD(spin, &lost.lock);
    const struct loss *row = row_of(owner), *all = &lost.all[d->id];
    u64 told = lost.number;
    if (row && is_untold(row))
        told = row->told;
    return is_untold(all) ? MIN(told, all->told) : told;
}

/* Return -EIO if a block was lost after *told, and set *told so that it is
 * reported only once. An fsync also ends the reports to later openers. */
int lost_tell(const struct disk *d, u64 owner, u64 *told, bool fsync)
{
    HOLD(spin, &lost.lock);
    u64 last = last_of(d, owner);
    struct loss *row = row_of(owner);
    if (fsync && row)
        row->told = row->last;
    if (last <= *told)
        return 0;
    *told = last;
    count(&told_of, 1);
    return -EIO;
}

/* Return -EIO if the disk has losses that no sync has reported, otherwise 0. */
int lost_tell_sync(const struct disk *d)
{
    HOLD(spin, &lost.lock);
    struct loss *synced = &lost.synced[d->id], *all = &lost.all[d->id];
    bool told = synced->told == synced->last;
    synced->told = synced->last;
    all->told = all->last;
    count(&told_of, !told);
    return told ? 0 : -EIO;
}

/* True if metadata of the disk was lost. */
bool lost_structure(const struct disk *d)
{
    return __atomic_load_n(&lost.metadata[d->id], __ATOMIC_RELAXED);
}

/* Forget the losses of a file that was removed. */
void lost_forget(u64 owner)
{
    HOLD(spin, &lost.lock);
    struct loss *row = row_of(owner);
    if (row)
        row->owner = 0;
}

/* Forget all losses of a disk that was unmounted. */
void lost_forget_disk(const struct disk *d)
{
    HOLD(spin, &lost.lock);
    for (u32 i = 0; i < LOST_FILES; i++)
        if (lost.files[i].disk == d->id)
            lost.files[i].owner = 0;
    lost.all[d->id] = lost.synced[d->id] = (struct loss){0};
    lost.metadata[d->id] = false;
}

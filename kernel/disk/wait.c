/*
 * Callers that wait for a disk: for transfers outside the cache, and at a
 * barrier, until all completed writes are durable.
 *
 * - A flush bypasses the queue: its caller has waited for the writes before it.
 * - A barrier costs nothing if no write has been completed since the last one.
 */
#include "kernel/disk/internal.h"
#include "kernel/proc/proc.h"

COUNTER(flushes, "disk.flushes", "flushes", "barriers done");

/* A caller that waits for transfers. */
struct waiter {
    struct disk *disk;
    u32 outstanding; /* disk.lock */
    int error;       /* disk.lock */
};

/* One transfer of the waiter's has ended; wake its process after the last. */
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

/* Sleep until all transfers of w have ended. Return 0 or the last error. */
static int wait_for(struct waiter *w)
{
    struct disk *d = w->disk;
    HOLD(spin, &d->lock);
    while (w->outstanding)
        sleep_on(w, &d->lock);
    return w->error;
}

/* Submit n transfers that go past the cache, and wait for all. Return 0 or an
 * error. */
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

/* Give the device a flush, after waiting for room in its ring. */
static void flush_device(struct disk *d, struct io *io)
{
    spin_lock(&d->lock);
    while (!virtio_blk_start(d->device, COMMAND_FLUSH, 0, &io->span))
        sleep_on(d, &d->lock);
    spin_unlock(&d->lock);
    virtio_blk_kick(d->device);
}

/* A flush. It lies on the stack of the process that waits for its end. */
struct flush {
    struct disk *disk;
    struct io io;
    struct timer timer;
};

/* The model's drive has flushed: now the device does, within this instant. */
static void drive_flushed(void *arg)
{
    struct flush *f = arg;
    if (f->disk->can_flush)
        model_flush(f->disk, &f->io);
    else
        f->io.done(&f->io, 0);
}

/* Return when all completed writes are durable: 0, or an error of the flush. */
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

/* Make the writes before this call durable before any later one begins. Without
 * a volatile cache they are that already. */
int disk_order(struct disk *d)
{
    return d->volatile_cache ? disk_flush(d) : 0;
}

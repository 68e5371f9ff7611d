/*
 * The buffer cache and the disk queue, compiled natively and driven by random
 * operations against a model.
 *
 *   bio_test SEED STEPS NBUF FAIL_PERMILLE
 *
 * - The kernel's own bio.c, rooms disk and vlog, registry.c and policies run
 *   here; below is what they call: one "process", locks that check they
 *   are taken and released, and a device that completes a random command
 *   whenever somebody sleeps, failing FAIL_PERMILLE of them.
 * - After each step the invariants at the head of bio.c are checked; at the
 *   end all is flushed and the device holds what the model says.
 * - `model` has the number with which each block was last filled, `device` the
 *   blocks on the disks, and `held` the buffers that the process has at a time.
 *
 * link: kernel/cache/flush.c
 * link: kernel/cache/pinned.c kernel/cache/lost.c
 * link: kernel/cache/updated.c kernel/cache/write.c kernel/disk policies
 * link: kernel/policy/registry.c
 * link: drives kernel/vlog
 * link: kernel/measure/hist.c tests/support/native/no_ramdisks.c
 * link: tests/support/native/plain.c tests/support/native/random.c
 * link: tests/support/native/text.c
 * link: kernel/measure/prochist.c kernel/measure/trace.c kernel/proc/wait.c
 */
#include "kernel/cache/bio.c"
#include "kernel/cache/ahead.c"
#include "kernel/cache/delayed.c"
#include "kernel/cache/replace.c"
#include "kernel/policy/registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/machine/machine.h"
#include "kernel/machine/device.h"
#include "kernel/machine/panic.h"
#include "kernel/driver/virtio_blk.h"

#define BLOCKS      400
#define BLOCK_BYTES 1024
#define DISKS       2
#define RING        8
#define HELD_MAX    BUFFERS_HELD

static u64 seed, now_ns, nbuf, fail_permille;
static struct timer *timers[DISKS]; /* that are set */
static struct proc process = {.pid = 7};
static u8 device[DISKS][BLOCKS][BLOCK_BYTES];
static u32 model[DISKS][BLOCKS]; /* what each block was last filled with */
static struct virtio_blk {
    struct disk *disk;
    struct span *ring[RING];
} devices[DISKS];
static const struct device_client *client;

u64 random_u64(u64 *state); /* random.c */

/* Return a random number from 0 to n - 1. */
static u64 random_below(u64 n)
{
    return random_u64(&seed) % n;
}

/* ---- what other rooms of the kernel provide ---- */

void panic(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "panic: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    abort();
}

void kprintf(const char *fmt, ...)
{
    (void)fmt;
}

/* Fail: no boot may be refused here. */
void boot_fail(const char *fmt, ...)
{
    panic("boot: %s", fmt);
}

const char *arg_text(const char *name)
{
    (void)name;
    return NULL;
}

/* Return the boot argument nbuf, or the default of any other one. */
u64 arg_number(const char *name, u64 def, u64 min, u64 max)
{
    (void)min, (void)max;
    return strcmp(name, "nbuf") ? def : nbuf;
}

/* Return the time, which each call moves on by 100 ns. */
u64 clock_ns(void)
{
    return now_ns += 100;
}

bool clock_is_virtual(void)
{
    return true;
}

/* Time is not charged. */
bool clock_charged;
void cost_charge(u32 row, u64 n)
{
    (void)row, (void)n;
}

/* No machine mode, and no trace. */
bool trace_on;
i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call)
{
    (void)w0, (void)w1, (void)w2, (void)w3, (void)call;
    return 0;
}

struct proc *myproc(void)
{
    return &process;
}

/* Take a spin lock, which nobody may have: there is one hart. */
void spin_lock(struct spinlock *l)
{
    if (l->locked++)
        panic("%s is locked twice", l->name);
}

void spin_unlock(struct spinlock *l)
{
    if (--l->locked)
        panic("%s was not locked", l->name);
}

void sleep_lock_init(struct sleeplock *l, const char *name)
{
    l->name = name;
}

void sleep_lock(struct sleeplock *l)
{
    (void)l;
}

void sleep_unlock(struct sleeplock *l)
{
    (void)l;
}

void wakeup(const void *chan)
{
    (void)chan;
}

int sleep_until(const void *chan, struct spinlock *l, u64 deadline_ns)
{
    (void)deadline_ns;
    sleep_on(chan, l);
    return 0;
}

struct proc *kthread(const char *name, void (*fn)(void *), void *arg)
{
    (void)name, (void)fn, (void)arg;
    return NULL;
}

void *mem_reserve(u64 bytes)
{
    return malloc(bytes);
}

void *mem_clear(void *start, u64 bytes)
{
    return memset(start, 0, bytes);
}

void mem_release(void *start, u64 bytes)
{
    (void)bytes;
    free(start);
}

u64 mem_total_pages(void)
{
    return 1024;
}

/* ---- the device ---- */

/* Return the i-th device, or NULL behind the last one. */
struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *of,
                                   void *arg, struct device_facts *facts)
{
    if (i == DISKS)
        return NULL;
    *facts = (struct device_facts){
        .nsectors = BLOCKS * BLOCK_BYTES / SECTOR_BYTES,
        .depth = RING,
        .max_segments = 4,
    };
    client = of;
    devices[i].disk = arg;
    return &devices[i];
}

/* Put a command into a free slot of the device's ring. False if the ring is
 * full. */
bool virtio_blk_start(struct virtio_blk *v, enum command_kind kind, u64 sector,
                      struct span *first)
{
    (void)kind, (void)sector;
    for (u32 i = 0; i < RING; i++) {
        if (!v->ring[i]) {
            v->ring[i] = first;
            return true;
        }
    }
    return false;
}

void virtio_blk_kick(struct virtio_blk *v)
{
    (void)v;
}

void virtio_blk_settle(struct virtio_blk *v)
{
    (void)v;
}

void clock_stop(void)
{
}

void clock_go(void)
{
}

/* Set the one timer that each disk may have. */
void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    for (u32 i = 0; i < DISKS; i++) {
        if (timers[i] && timers[i] != t)
            continue;
        *t = (struct timer){.when_ns = when_ns, .fire = fire, .arg = arg};
        timers[i] = t;
        return;
    }
    panic("no drive is modelled here, and a disk asks at one time");
}

bool timer_cancel(struct timer *t)
{
    for (u32 i = 0; i < DISKS; i++) {
        if (timers[i] != t)
            continue;
        timers[i] = NULL;
        return true;
    }
    return false;
}

/* Go on to the time of the next timer, if one is set. */
static bool timer_step(void)
{
    struct timer **first = NULL;
    for (u32 i = 0; i < DISKS; i++) {
        if (timers[i] && (!first || timers[i]->when_ns < (*first)->when_ns))
            first = &timers[i];
    }
    if (!first)
        return false;
    struct timer *t = *first;
    *first = NULL;
    now_ns = MAX(now_ns, t->when_ns);
    t->fire(t->arg);
    return true;
}

/* Move the data of one request between memory and the device. */
static void move(u32 disk, struct io *io)
{
    u8 *at = (u8 *)device[disk] + io->request.physical * SECTOR_BYTES;
    u64 bytes = io->request.nsectors * SECTOR_BYTES;
    if (io->request.write)
        memcpy(at, io->span.data, bytes);
    else
        memcpy(io->span.data, at, bytes);
}

/* Complete one command, if any is in flight; else let time pass. */
static bool device_step(void)
{
    u32 begin = random_below(DISKS * RING);
    for (u32 i = 0; i < DISKS * RING; i++) {
        u32 disk = (begin + i) / RING % DISKS, slot = (begin + i) % RING;
        struct span *first = devices[disk].ring[slot];
        if (!first)
            continue;
        bool fail = random_below(1000) < fail_permille;
        for (struct span *s = fail ? NULL : first; s; s = s->next)
            move(disk, CONTAINER(s, struct io, span));
        devices[disk].ring[slot] = NULL;
        client->ended(devices[disk].disk, first, fail ? -EIO : 0);
        return true;
    }
    return timer_step();
}

/* Do the update daemon's work for blocks whose writes failed, when the pause of
 * the first of them has ended. */
static bool daemon_step(void)
{
    u64 next_ns = bflush_retry();
    if (next_ns != NEVER_NS)
        now_ns = MAX(now_ns, next_ns);
    return next_ns != NEVER_NS || bcache.nwriting;
}

/* Another process prefetches. While one waits for a buffer it gets none. */
static void prefetch_meanwhile(void)
{
    struct disk *d = disk_get(random_below(DISKS));
    u64 before = ahead.value, blkno = random_below(BLOCKS);
    bprefetch(d, &blkno, 1);
    assert(!bcache.waiting || ahead.value == before);
}

/* Sleep: the device or the daemon does something meanwhile, and another process
 * prefetches. Nothing to wait for is a panic. */
void sleep_on(const void *chan, struct spinlock *l)
{
    (void)chan;
    spin_unlock(l);
    if (!device_step() && !daemon_step())
        panic("sleeps for ever on %s", l->name);
    prefetch_meanwhile();
    spin_lock(l);
}

/* ---- the invariants of bio.c ---- */

/* Return how many buffers are on a list of dirty blocks. Each must have and
 * lack these flags, and the oldest must be first. */
static u64 check_list(const struct list *l, u32 set, u32 clear)
{
    u64 n = 0, last_ns = 0;
    LIST_EACH (i, l) {
        struct buf *b = LIST_ITEM(i, struct buf, dirty);
        assert((b->flags & set) == set && !(b->flags & clear));
        assert(b->block.dirtied_ns);
        assert(b->block.dirtied_ns >= last_ns);
        last_ns = b->block.dirtied_ns;
        n++;
    }
    return n;
}

/* Each block that was prefetched and not yet asked for is on bcache.ahead. They
 * are no more than their share of the cache. */
static void check_ahead(void)
{
    u64 marked = 0, listed = 0;
    for (u64 i = 0; i < bcache.used; i++)
        marked += !!(bcache.bufs[i].flags & B_AHEAD);
    LIST_EACH (n, &bcache.ahead) {
        const struct buf *b = LIST_ITEM(n, struct buf, ahead);
        assert(b->flags & B_AHEAD && !(b->flags & B_DELWRI));
        listed++;
    }
    assert(marked == bcache.nahead && listed == bcache.nahead);
    assert(bcache.nahead <= bcache.ahead_most);
    assert(ahead.value ==
           ahead_used.value + ahead_wasted.value + bcache.nahead);
}

/* Check the invariants that the head of bio.c states, by counting again what
 * the cache has counted. */
static void check(void)
{
    u64 dirty = 0, busy = 0, evictable = 0, owned = 0;
    assert(!bcache.lock.locked);
    for (u64 i = 0; i < bcache.used; i++) {
        struct buf *b = &bcache.bufs[i];
        bool idle = !(b->flags & (B_BUSY | B_DELWRI));
        bool candidate_writes =
            b->io && b->io->request.queue && b->io->request.candidate;
        assert(!candidate_writes || b->flags & B_DELWRI);
        assert(candidate_writes || idle || b->flags & (B_BUSY | B_ERROR));
        dirty += b->block.dirtied_ns && !(b->flags & B_WRITE);
        busy += !!(b->flags & B_BUSY);
        evictable += idle;
        assert((!(b->flags & B_BUSY) && may_go(b)) ==
               !!(b->flags & B_EVICTABLE));
        assert(buf_lookup(b->disk, b->block.blkno) == b);
    }
    assert(dirty == bcache.ndirty);
    assert(busy == bcache.nbusy);
    assert(evictable == bcache.nevictable);
    assert(check_list(&bcache.delayed, 0, B_PENDING) +
               check_list(&bcache.pending, B_PENDING, 0) ==
           bcache.ndirty);
    for (u32 i = 0; i < OWNER_LISTS; i++) {
        LIST_EACH (n, &bcache.owned[i])
            owned++;
    }
    assert(owned == bcache.ndirty);
    check_ahead();
}

/* ---- the operations ---- */

static struct buf *held[HELD_MAX];
static u32 nheld;

static struct disk *any_disk(void)
{
    return disk_get(random_below(DISKS));
}

/* Return whether the process has the block's buffer. */
static bool is_held(struct disk *d, u64 blkno)
{
    for (u32 i = 0; i < nheld; i++) {
        if (held[i]->disk == d && held[i]->block.blkno == blkno)
            return true;
    }
    return false;
}

/* Check that a buffer has what the model says. */
static void check_contents(const struct buf *b)
{
    const u32 *words = b->data;
    u32 want = model[b->disk->id][b->block.blkno];
    for (u32 i = 0; i < BLOCK_BYTES / sizeof *words; i++)
        assert(words[i] == want);
}

/* Read a random block, with further blocks, and keep its buffer. */
static void acquire(void)
{
    struct disk *d = any_disk();
    u64 blkno = random_below(BLOCKS), more[6];
    if (nheld == HELD_MAX || is_held(d, blkno))
        return;
    for (u32 i = 0; i < NELEM(more); i++)
        more[i] = (blkno + 1 + i) % BLOCKS;
    struct further_reads further = {more, more + 3, random_below(4),
                                    random_below(4)};
    enum found found;
    struct buf *b = random_below(2) ? bcached(d, blkno, &found) : NULL;
    assert(!b || found == CACHED);
    if (!b)
        b = breada(d, blkno, &further);
    if (!b) {
        assert(fail_permille);
        return;
    }
    check_contents(b);
    held[nheld++] = b;
}

/* Fill a buffer with a new number, and note it in the model. */
static void change(struct buf *b)
{
    u32 *words = b->data, value = random_u64(&seed);
    for (u32 i = 0; i < BLOCK_BYTES / sizeof *words; i++)
        words[i] = value;
    model[b->disk->id][b->block.blkno] = value;
}

/* Let go of a random buffer: clean, or changed and written in one of the ways
 * that the cache has. */
static void let_one_go(void)
{
    if (!nheld)
        return;
    struct buf *b = held[random_below(nheld)];
    for (u32 i = 0; i < nheld; i++) {
        if (held[i] == b)
            held[i--] = held[--nheld];
    }
    u64 owner = random_below(4);
    u64 what = random_below(6);
    if (what)
        change(b);
    switch (what) {
    case 0:
        brelse(b);
        break;
    case 1:
        assert(!bwrite(b) || fail_permille);
        break;
    case 2:
        bawrite(b);
        break;
    case 3:
        bwrite_data(b, owner, random_below(2));
        break;
    default:
        bdwrite(b, owner);
    }
}

/* Drop a random block's contents, and write new ones. */
static void drop(void)
{
    struct disk *d = any_disk();
    u64 blkno = random_below(BLOCKS);
    if (nheld == HELD_MAX || is_held(d, blkno))
        return;
    binval(d, blkno);
    /* Its contents are unknown now: write new ones that the model knows. */
    struct buf *b = getblk(d, blkno);
    change(b);
    bdwrite(b, 0);
}

/* Do the update daemon's work. */
static void look(void)
{
    const struct write_hooks *write = &policy_in_use[POLICY_WRITE]->write;
    scan_begins();
    policy_in_use[POLICY_UPDATE]->update.scan(clock_ns());
    if (write->each_second)
        write->each_second(clock_ns());
    scan_ends();
}

/* Flush and wait, while nobody writes. Afterwards nothing is dirty or being
 * written, unless there was an error. But if the cache keeps its contents
 * without power, fsync has nothing to do. */
static void flush_all_of(struct disk *d, u64 owner)
{
    if (owner ? bflush_owner(d, owner) : bflush(d))
        return;
    if (owner && policy_in_use[POLICY_WRITE]->write.keeps)
        return;
    for (u64 i = 0; i < bcache.used; i++) {
        const struct buf *b = &bcache.bufs[i];
        assert(!concerns(b, d, owner) || !(b->flags & (B_DELWRI | B_WRITE)));
    }
}

/* Flush: a disk, all disks, a file, or what is of an age; or have the update
 * policy scan. */
static void flush_some(void)
{
    if (nheld) /* a flush waits for busy buffers: ours */
        return;
    switch (random_below(5)) {
    case 0:
        flush_all_of(random_below(2) ? NULL : any_disk(), 0);
        break;
    case 1:
        look();
        break;
    case 2:
        flush_all_of(any_disk(), 1 + random_below(3));
        break;
    default:
        bflush_smooth(random_below(2) ? NULL : any_disk(),
                      random_below(now_ns + 1));
    }
}

static const char *const kinds_named[] = {
    "update", "write", "sched", "replace", "prefetch", "place", "order",
};

extern const struct policy *const __start_policies[];
extern const struct policy *const __stop_policies[];

static const struct policy *const *any_policy(void)
{
    return &__start_policies[random_below(__stop_policies - __start_policies)];
}

/* Put a random policy to use. It may refuse only if it says so, and a policy
 * that does not exist is an error. */
static void swap_some(void)
{
    const struct policy *p = *any_policy();
    char line[128], why[POLICY_LINE_BYTES];
    if (p->kind == POLICY_PREFETCH || p->kind == POLICY_ORDER) /* not owned */
        return;
    snprintf(line, sizeof line, "use %s %s", kinds_named[p->kind], p->name);
    if (policy_control(line, why))
        assert(p->refuses && p->refuses());
    assert(policy_control("use sched nonesuch", why) == -EINVAL);
}

/* Have wow take up candidates however few there are, beside flushes. */
static void take_candidates_always(void)
{
    char why[POLICY_LINE_BYTES];
    assert(!policy_control("set wow.low_blocks 0", why));
    assert(!policy_control("set wow.high_blocks 0", why));
}

/* Do one random operation, and check the invariants. */
static void step(void)
{
    u64 dice = random_below(100);
    if (dice < 40)
        acquire();
    else if (dice < 85)
        let_one_go();
    else if (dice < 90)
        drop();
    else if (dice < 93)
        flush_some();
    else if (dice < 95)
        swap_some();
    else
        device_step();
    check();
}

extern const struct stat_row __start_stats[], __stop_stats[];

/* Return the counter of blocks that were given up. */
static u64 blocks_lost(void)
{
    for (const struct stat_row *s = __start_stats; s < __stop_stats; s++)
        if (!strcmp(s->name, "bio.lost"))
            return s->value;
    panic("nothing counts the lost blocks");
}

/* Let go of all buffers, flush, and compare the disks with the model. */
static void finish(void)
{
    fail_permille = 0;
    while (nheld)
        brelse(held[--nheld]);
    assert(!bflush(NULL));
    assert(!bcache.ndirty && !bcache.nwriting);
    while (device_step())
        ;
    check();
    assert(!bcache.nbusy && !bcache.holders && !process.buffers_held);
    for (u32 d = 0; d < DISKS; d++) {
        for (u32 i = 0; i < BLOCKS; i++)
            assert(!memcmp(&model[d][i], device[d][i], sizeof(u32)));
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: bio_test SEED STEPS NBUF FAIL_PERMILLE\n");
        return 2;
    }
    seed = strtoul(argv[1], NULL, 10);
    u64 steps = strtoul(argv[2], NULL, 10);
    nbuf = strtoul(argv[3], NULL, 10);
    fail_permille = strtoul(argv[4], NULL, 10);
    registry_init();
    disk_init();
    bio_init(BLOCK_BYTES);
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = update_switch});
    take_candidates_always();
    for (u64 i = 0; i < steps; i++)
        step();
    finish();
    printf("%lu steps, %lu hits, %lu misses, %lu evictions, %lu written, "
           "%lu failed, %lu lost\n",
           steps, hits.value, misses.value, evictions.value, written.value,
           write_errors.value, blocks_lost());
    return 0;
}

/*
 * The kernel beneath ext2, on the host: a cache that checks how it is used,
 * disks in memory that fail when a test wants it, and processes that are fibres
 * (ext2_shim.h says what a program that drives ext2 may call).
 */
#include "tests/kernel/ext2/ext2_shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "kernel/machine/args.h"
#include "kernel/cache/bio.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/mem.h"
#include "kernel/cache/prefetch.h"
#include "kernel/cache/stream.h"
#include "kernel/machine/print.h"
#include "kernel/policy/registry.h"
#include "kernel/proc/proc.h"
#include "kernel/base/string.h"

#define FIBRES      8
#define LOCKS       8 /* of one process at once */
#define STACK_BYTES (256 << 10)

struct shim_options shim = {.buffers = 64,
                            .flush_permille = 20,
                            .through_permille = 125,
                            .ahead_most = 50};
u64 shim_fault_at = SHIM_FAULT_NEVER;
void (*shim_on_write)(struct disk *);
void (*shim_on_change)(struct disk *, u64 blkno);
struct access shim_access;

/* ---- what every layer may call ---- */

void panic(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fflush(stdout);
    fprintf(stderr, "panic: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    abort();
}

static char printed[4096];
static u32 printed_length;

/* Keep what the kernel prints, for shim_printed. */
void kprintf(const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!shim.quiet)
        printf("%s", text);
    printed_length += strlcpy(printed + printed_length, text,
                              sizeof(printed) - printed_length);
    printed_length = MIN(printed_length, sizeof(printed) - 1);
}

const char *shim_printed(void)
{
    static char text[sizeof(printed)];
    memcpy(text, printed, sizeof(text));
    printed_length = 0;
    printed[0] = 0;
    return text;
}

const char *arg_text(const char *name)
{
    return shim.far && strcmp(name, "indirect") == 0 ? "far" : NULL;
}

void boot_fail(const char *fmt, ...)
{
    panic("boot: %s", fmt);
}

/* ---- the order policy ---- */

/* The hook order.decide of ORDERS_NOW: metadata is written at once and waited
 * for. */
static enum order_mode decide_now(const struct order_info *)
{
    return ORDER_NOW;
}

static bool wrong; /* is the next answer? */

/* That of ORDERS_NONE: it is delayed. Once shim_wrong_order is called, the
 * answer is none that there is. */
static enum order_mode decide_delayed(const struct order_info *)
{
    return wrong ? ORDER_DELAYED + 1 : ORDER_DELAYED;
}

/* That of ORDERS_LOGGED: it goes to the journal. */
static enum order_mode decide_logged(const struct order_info *)
{
    return ORDER_LOGGED;
}

/* The hook order.commit_after_ns: nothing is committed because of its age. */
static u64 never_due(void)
{
    return NEVER_NS;
}

static const struct policy orders[] = {
    [ORDERS_NOW] = {.kind = POLICY_ORDER, .order.decide = decide_now},
    [ORDERS_NONE] = {.kind = POLICY_ORDER, .order.decide = decide_delayed},
    [ORDERS_LOGGED] = {.kind = POLICY_ORDER,
                       .order = {.decide = decide_logged,
                                 .commit_after_ns = never_due}},
};
const struct policy *policy_in_use[POLICY_KINDS];
static struct policy_owner order_owner;

void policy_own(enum policy_kind kind, struct policy_owner owner)
{
    if (kind != POLICY_ORDER)
        panic("ext2 owns kind %u", kind);
    order_owner = owner;
    shim_use_order(shim.delays);
}

void shim_use_order(enum shim_order which)
{
    order_owner.swap(&orders[which]);
}

void shim_wrong_order(void)
{
    wrong = true;
}

void policy_switch(const struct policy *to)
{
    policy_in_use[to->kind] = to;
}

/* A policy has answered wrongly: say so. Returns the policy to use instead. */
const struct policy *policy_fault(enum policy_kind kind, u32 disk, u64 about,
                                  const char *what)
{
    kprintf("fault: kind %u, disk %u, block %lu: %s\n", kind, disk, about,
            what);
    return &orders[ORDERS_NOW];
}

void policy_check(const struct policy *p)
{
    if (p != policy_in_use[p->kind])
        panic("a policy that is not in use is checked");
}

u64 random_u64(u64 *state); /* random.c */

u64 shim_random(u64 below)
{
    return random_u64(&shim.seed) % below;
}

u64 clock_ns(void)
{
    return NS_PER_S;
}

u64 bio_dirty(void)
{
    return 0;
}

u64 bio_buffers(void)
{
    return shim.buffers;
}

u64 clock_wall_ns(void)
{
    static u64 calls;
    return (shim.now_s ? shim.now_s : 1750000000 + calls++ / 64) * NS_PER_S;
}

/* ---- what is to fail ---- */

static struct {
    enum shim_fault fault;
    struct disk *disk;
    u64 left; /* till the one that fails; 0: none will */
    bool on, failed;
} plan;

void shim_fail(enum shim_fault fault, struct disk *d, u64 n, bool on)
{
    plan.fault = fault;
    plan.disk = d;
    plan.left = n;
    plan.on = on;
    plan.failed = false;
}

bool shim_failed(void)
{
    return plan.failed;
}

/* Return whether this call is the one that is to fail. */
static bool fails(enum shim_fault fault, const struct disk *d)
{
    if (fault != plan.fault || (d && d != plan.disk))
        return false;
    if (plan.failed && plan.on)
        return true;
    if (plan.left == 0 || --plan.left)
        return false;
    return plan.failed = true;
}

/* ---- memory ---- */

void *page_alloc(void)
{
    if (fails(FAULT_PAGE, NULL))
        return NULL;
    void *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
    memset(page, 0xa5, PAGE_SIZE);
    return page;
}

void *page_alloc_zero(void)
{
    void *page = page_alloc();
    return page ? memset(page, 0, PAGE_SIZE) : NULL;
}

void page_free(void *page)
{
    free(page);
}

void *mem_reserve(u64 bytes)
{
    return fails(FAULT_PAGE, NULL) ? NULL : malloc(MAX(bytes, 1));
}

void *mem_clear(void *start, u64 bytes)
{
    return start ? memset(start, 0, bytes) : NULL;
}

void mem_release(void *start, u64 bytes)
{
    (void)bytes;
    free(start);
}

/* ---- fibres ---- */

static struct fibre {
    struct proc proc;
    ucontext_t context;
    struct sleeplock *locks[LOCKS]; /* held */
    u32 sleep_locks, buffers;       /* held */
    bool running;
} fibres[FIBRES], *current = &fibres[0];
static u8 stacks[FIBRES][STACK_BYTES];
static u32 fibre_count = 1;
static void (*fibre_fn)(u32);

struct proc *myproc(void)
{
    return &current->proc;
}

/* Let a fibre run; returns when the current one gets its next turn. */
static void switch_to(struct fibre *to)
{
    struct fibre *from = current;
    if (to == from)
        return;
    current = to;
    swapcontext(&from->context, &to->context);
}

/* Let some other fibre run; the caller waits for one of them if `blocked`. */
static void reschedule(bool blocked)
{
    static u32 stuck;
    struct fibre *can[FIBRES];
    u32 n = 0;
    for (u32 i = 0; i < fibre_count; i++)
        if (fibres[i].running && &fibres[i] != current)
            can[n++] = &fibres[i];
    stuck = blocked ? stuck + 1 : 0;
    if (blocked && (n == 0 || stuck > 100000))
        panic("deadlock: every process waits");
    if (n)
        switch_to(can[shim_random(n)]);
}

static bool in_turn;    /* there is only one switch: ... */
static u64 stops_after; /* ... after so many chances; 0: it has been made */

/* A chance for another fibre to run: it is taken at random, or once, after
 * stops_after chances. */
static void maybe_reschedule(void)
{
    if (fibre_count == 1)
        return;
    if (in_turn ? stops_after && --stops_after == 0 : shim_random(4) == 0)
        reschedule(false);
}

/* A fibre runs this and never returns from it. When the fibre's function has
 * ended, the fibres that are still running get their turns, and then the test,
 * which is fibre 0. */
static void fibre_main(void)
{
    fibre_fn(current - fibres);
    shim_check_idle("the end of a process");
    current->running = false;
    for (;;) {
        for (u32 i = 1; i < fibre_count; i++)
            if (fibres[i].running)
                switch_to(&fibres[i]);
        switch_to(&fibres[0]);
    }
}

/* Make a fibre, which runs fibre_main. */
static void fibre_start(struct fibre *f)
{
    *f = (struct fibre){.running = true, .proc = {.cwd = fibres[0].proc.cwd}};
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks[f - fibres];
    f->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->context, fibre_main, 0);
}

/* Run n processes to their ends. True if the first one was stopped at the place
 * that was asked for. */
bool shim_fibres(u32 n, void (*fn)(u32 i), u64 first_stops_at)
{
    in_turn = first_stops_at;
    stops_after = first_stops_at;
    fibre_fn = fn;
    fibre_count = n + 1;
    fibres[0].running = false;
    for (u32 i = 1; i <= n; i++)
        fibre_start(&fibres[i]);
    switch_to(&fibres[1]);
    for (u32 i = 1; i <= n; i++)
        if (fibres[i].running)
            panic("a process has not ended");
    fibre_count = 1;
    return stops_after == 0;
}

/* ---- locks ---- */

static struct spinlock *spin; /* held now; ext2 never holds two */

/* Take the one spin lock that may be held. */
void spin_lock(struct spinlock *lk)
{
    if (shim.spin_switches && !spin)
        maybe_reschedule();
    if (spin)
        panic("spin lock %s taken with %s held", lk->name, spin->name);
    spin = lk;
}

void spin_unlock(struct spinlock *lk)
{
    if (spin != lk)
        panic("spin lock %s is not held", lk->name);
    spin = NULL;
}

/* The process may sleep here, so it must hold no spin lock. */
static void may_sleep(void)
{
    if (spin)
        panic("sleeps with spin lock %s held", spin->name);
}

void sleep_lock_init(struct sleeplock *lk, const char *name)
{
    *lk = (struct sleeplock){.name = name};
}

/* Take a lock that may be waited for. No buffer may be held, so that no two
 * processes wait for each other. */
void sleep_lock(struct sleeplock *lk)
{
    may_sleep();
    if (current->buffers)
        panic("lock %s taken with a buffer held", lk->name);
    if (lk->holder == myproc())
        panic("lock %s is taken twice", lk->name);
    maybe_reschedule();
    while (lk->holder)
        reschedule(true);
    lk->holder = myproc();
    if (current->sleep_locks == LOCKS)
        panic("lock %s: too many are held", lk->name);
    current->locks[current->sleep_locks++] = lk;
}

void sleep_unlock(struct sleeplock *lk)
{
    if (lk->holder != myproc())
        panic("lock %s is not held", lk->name);
    lk->holder = NULL;
    u32 i = 0;
    while (current->locks[i] != lk)
        i++;
    current->locks[i] = current->locks[--current->sleep_locks];
}

bool shim_holds(const char *name)
{
    for (u32 i = 0; i < current->sleep_locks; i++)
        if (strcmp(current->locks[i]->name, name) == 0)
            return true;
    return false;
}

bool sleep_held(const struct sleeplock *lk)
{
    return lk->holder == myproc();
}

/* Let others run once. The sleeper checks by itself whether it may go on. */
void sleep_on(const void *chan, struct spinlock *lk)
{
    (void)chan;
    spin_unlock(lk);
    reschedule(true);
    spin_lock(lk);
}

/* Let others run once. If there is a deadline, it has passed by then. */
int sleep_until(const void *chan, struct spinlock *lk, u64 deadline_ns)
{
    (void)chan;
    spin_unlock(lk);
    reschedule(!deadline_ns);
    spin_lock(lk);
    return deadline_ns != 0;
}

void wakeup(const void *chan)
{
    (void)chan;
}

/* Return a process that is there, as if it had been made to call fn(arg). */
struct proc *kthread_try(const char *name, void (*fn)(void *), void *arg)
{
    /* It never runs: only syncs commit. */
    (void)name, (void)fn, (void)arg;
    return &fibres[0].proc;
}

/* ---- disks ---- */

struct shim_buf {
    struct buf buf;
    struct shim_buf *next; /* of its bucket */
    u8 *kept;              /* contents while nobody holds it */
    u64 used;              /* when it was let go */
};

#define SHIM_DISKS (MAX_DISKS + 2) /* more than can be mounted */
#define BUCKETS    4096

static struct shim_disk {
    struct disk disk;
    u8 *start, *now; /* the image as it was, and as it is */
    u64 bytes;
    u64 unflushed; /* writes */
    u64 last;      /* the block that was written last */
    u8 *over;      /* what was there before */
    /* With volatile_cache: what is on the platters, and the writes since. */
    u8 *durable;
    struct shim_write {
        u64 blkno;
        u8 *data;
    } * writes;
} disks[SHIM_DISKS];
static u32 disk_total;
static struct shim_buf *buckets[BUCKETS];
static u64 cached, dirty, clock_of_uses, waited_writes, looks, flushes;

/* The log of completed writes. */
static struct logged {
    struct disk *disk;
    u64 blkno;
    u8 *data;
} * writes;
static u64 log_length;

/* The disk's part that is the shim's own. */
static struct shim_disk *shim_of(struct disk *d)
{
    return CONTAINER(d, struct shim_disk, disk);
}

struct disk *shim_disk(const char *image)
{
    FILE *f = fopen(image, "rb");
    if (!f)
        panic("%s: cannot be read", image);
    fseek(f, 0, SEEK_END);
    u64 bytes = ftell(f);
    rewind(f);
    u8 *data = malloc(bytes);
    if (fread(data, 1, bytes, f) != bytes)
        panic("%s: cannot be read", image);
    fclose(f);
    return shim_disk_of(data, bytes);
}

struct disk *shim_disk_of(u8 *data, u64 bytes)
{
    struct shim_disk *d = &disks[disk_total];
    d->disk.id = disk_total++;
    snprintf(d->disk.name, sizeof(d->disk.name), "disk%u", d->disk.id);
    shim_insert(&d->disk, data, bytes);
    if (shim.log) {
        d->start = malloc(bytes);
        memcpy(d->start, data, bytes);
    }
    return &d->disk;
}

/* Move the contents of the drive's cache to the platters. */
static void flushed(struct shim_disk *s)
{
    for (u64 i = 0; s->durable && i < s->unflushed; i++) {
        memcpy(s->durable + s->writes[i].blkno * shim.block_bytes,
               s->writes[i].data, shim.block_bytes);
        free(s->writes[i].data);
    }
    s->unflushed = 0;
}

/* Note a write that is in the drive's cache, and not yet on the platters. */
static void keep_write(struct shim_disk *s, u64 blkno, const u8 *data)
{
    s->unflushed++;
    if (!s->durable)
        return;
    s->writes = realloc(s->writes, s->unflushed * sizeof(*s->writes));
    struct shim_write *w = &s->writes[s->unflushed - 1];
    *w = (struct shim_write){blkno, malloc(shim.block_bytes)};
    memcpy(w->data, data, shim.block_bytes);
}

void shim_forget(struct disk *d)
{
    binval_disk(d);
    flushed(shim_of(d));
}

/* Put other contents into a disk, and forget its buffers. */
void shim_insert(struct disk *d, u8 *data, u64 bytes)
{
    struct shim_disk *s = shim_of(d);
    shim_forget(d);
    free(s->now);
    s->now = data;
    s->bytes = bytes;
    free(s->durable);
    s->durable = shim.volatile_cache ? malloc(bytes) : NULL;
    if (s->durable)
        memcpy(s->durable, data, bytes);
    d->nsectors = bytes / SECTOR_BYTES;
}

/* Replace the disk's contents by a copy of `data`. If neither the size nor the
 * kind of cache changes, the old memory is used again. */
void shim_refill(struct disk *d, const u8 *data, u64 bytes)
{
    struct shim_disk *s = shim_of(d);
    if (s->bytes != bytes || shim.volatile_cache != !!s->durable) {
        u8 *copy = malloc(bytes);
        memcpy(copy, data, bytes);
        shim_insert(d, copy, bytes);
        return;
    }
    shim_forget(d);
    memcpy(s->now, data, bytes);
    if (s->durable)
        memcpy(s->durable, data, bytes);
}

u8 *shim_bytes(struct disk *d)
{
    return shim_of(d)->now;
}

u64 shim_unflushed(const struct disk *d)
{
    return shim_of((struct disk *)d)->unflushed;
}

/* Copy the sectors of a block whose bits are set. */
static void copy_sectors(u8 *to, const u8 *from, u32 sectors)
{
    for (u32 i = 0; i < shim.block_bytes / SECTOR_BYTES; i++)
        if (sectors >> i & 1)
            memcpy(to + i * SECTOR_BYTES, from + i * SECTOR_BYTES,
                   SECTOR_BYTES);
}

/* Write an image to a file. */
static void save(const u8 *data, u64 bytes, const char *image)
{
    FILE *f = fopen(image, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
        panic("%s: cannot be written", image);
}

void shim_save(struct disk *d, const char *image)
{
    save(shim_of(d)->now, shim_of(d)->bytes, image);
}

void shim_save_prefix(struct disk *d, const char *image, u64 n, u32 sectors)
{
    struct shim_disk *s = shim_of(d);
    u8 *copy = malloc(s->bytes);
    memcpy(copy, s->start, s->bytes);
    for (u64 i = 0; i < n; i++)
        if (writes[i].disk == d)
            memcpy(copy + writes[i].blkno * shim.block_bytes, writes[i].data,
                   shim.block_bytes);
    if (sectors && writes[n].disk == d)
        copy_sectors(copy + writes[n].blkno * shim.block_bytes, writes[n].data,
                     sectors);
    save(copy, s->bytes, image);
    free(copy);
}

u64 shim_log_length(void)
{
    return log_length;
}

u64 shim_writes_waited(void)
{
    return waited_writes;
}

u64 shim_flushes(void)
{
    return flushes;
}

u64 shim_looks(void)
{
    return looks;
}

/* Add a write to the log, if it is kept. */
static void log_write(struct disk *d, u64 blkno, const u8 *data)
{
    if (!shim.log)
        return;
    if ((log_length & (log_length - 1)) == 0)
        writes = realloc(writes, MAX(1, 2 * log_length) * sizeof(*writes));
    struct logged *l = &writes[log_length++];
    *l = (struct logged){d, blkno, malloc(shim.block_bytes)};
    memcpy(l->data, data, shim.block_bytes);
}

/* Read or write a block. It fails at random by the options, or when shim_fail
 * wants it. */
static int transfer(struct disk *d, u64 blkno, u8 *data, bool write)
{
    u32 bytes = shim.block_bytes;
    u8 *at = shim_of(d)->now + blkno * bytes;
    u32 chance =
        write ? shim.write_errors_permyriad : shim.read_errors_permyriad;
    if ((blkno + 1) * bytes > shim_of(d)->bytes)
        panic("block %lu is outside the disk", blkno);
    if ((chance && shim_random(10000) < chance) ||
        fails(write ? FAULT_WRITE : FAULT_READ, d))
        return -EIO;
    if (write) {
        struct shim_disk *s = shim_of(d);
        s->last = blkno;
        s->over = realloc(s->over, bytes);
        memcpy(s->over, at, bytes);
    }
    memcpy(write ? at : data, write ? data : at, bytes);
    if (write) {
        keep_write(shim_of(d), blkno, data);
        log_write(d, blkno, data);
    }
    return 0;
}

/* Move data between memory and the disk at once, or fail as planned. */
int disk_transfer(struct disk *d, struct io *ios, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        u64 sector = ios[i].request.sector;
        u8 *at = shim_of(d)->now + sector * SECTOR_BYTES;
        u64 bytes = ios[i].request.nsectors * SECTOR_BYTES;
        bool write = ios[i].request.write;
        if (fails(write ? FAULT_WRITE : FAULT_READ, d))
            return -EIO;
        memcpy(write ? at : ios[i].span.data, write ? ios[i].span.data : at,
               bytes);
        if (!write)
            continue;
        keep_write(shim_of(d), sector * SECTOR_BYTES / shim.block_bytes, at);
        log_write(d, sector * SECTOR_BYTES / shim.block_bytes, at);
    }
    return 0;
}

int disk_flush(struct disk *d)
{
    may_sleep();
    if (fails(FAULT_FLUSH, d))
        return -EIO;
    flushed(shim_of(d));
    flushes++;
    return 0;
}

int disk_order(struct disk *d)
{
    return shim.volatile_cache ? disk_flush(d) : 0;
}

void vlog_close(void)
{
}

/* ---- the cache ---- */

void shim_check_idle(const char *where)
{
    if (spin || current->sleep_locks || current->buffers)
        panic("%s: %u locks and %u buffers held", where, current->sleep_locks,
              current->buffers);
}

u32 bio_block_bytes(void)
{
    return shim.block_bytes;
}

/* The bucket of a block's buffer. */
static struct shim_buf **bucket(const struct disk *d, u64 blkno)
{
    return &buckets[(blkno * SHIM_DISKS + d->id) % BUCKETS];
}

/* The buffer of a block; NULL: it is not in the cache. */
static struct shim_buf *find(const struct disk *d, u64 blkno)
{
    struct shim_buf *s = *bucket(d, blkno);
    while (s && (s->buf.disk != d || s->buf.block.blkno != blkno))
        s = s->next;
    return s;
}

/* Forget a buffer. */
static void drop(struct shim_buf *s)
{
    struct shim_buf **at = bucket(s->buf.disk, s->buf.block.blkno);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    cached--;
    dirty -= !!(s->buf.flags & B_DELWRI);
    free(s->kept);
    free(s);
}

/* Call fn for every buffer; fn may drop the buffer that it is called for. */
static void each(void (*fn)(struct shim_buf *, void *), void *arg)
{
    for (u32 i = 0; i < BUCKETS; i++)
        for (struct shim_buf *s = buckets[i], *next; s; s = next) {
            next = s->next;
            fn(s, arg);
        }
}

/* Write a dirty buffer; one that fails stays dirty. */
static int write_dirty(struct shim_buf *s)
{
    int error = transfer(s->buf.disk, s->buf.block.blkno, s->kept, true);
    if (!error) {
        s->buf.flags &= ~B_DELWRI;
        dirty--;
    }
    return error;
}

/* Write a dirty buffer that nobody holds, at random. */
static void maybe_write(struct shim_buf *s, void *arg)
{
    (void)arg;
    if (s->buf.flags & B_DELWRI && !(s->buf.flags & B_BUSY) &&
        shim_random(4) == 0)
        write_dirty(s);
}

/* Forget clean blocks, except those used last. */
static void maybe_drop(struct shim_buf *s, void *arg)
{
    (void)arg;
    if (!(s->buf.flags & (B_BUSY | B_DELWRI | B_PINNED)) &&
        s->used + shim.buffers < clock_of_uses)
        drop(s);
}

/* What the cache does by itself: it writes dirty buffers now and then, and
 * forgets clean ones if there are too many. */
static void housekeeping(void)
{
    if (shim_random(1000) < shim.flush_permille)
        each(maybe_write, NULL);
    if (cached - dirty > 2 * shim.buffers)
        each(maybe_drop, NULL);
}

/* The caller must hold the buffer. */
static void expect_held(const struct buf *b)
{
    if (!b->data || !(b->flags & B_BUSY))
        panic("block %lu is not held", b->block.blkno);
}

/* Return a block's buffer, waiting for it. Its data are a copy in fresh memory,
 * so that a use after its release shows. */
struct buf *getblk(struct disk *d, u64 blkno)
{
    may_sleep();
    if ((blkno + 1) * shim.block_bytes > shim_of(d)->bytes)
        panic("getblk of block %lu, outside the disk", blkno);
    if (current->buffers)
        panic("a second buffer is asked for"); /* ext2's own rule */
    maybe_reschedule();
    looks++;
    housekeeping();
    struct shim_buf *s;
    while ((s = find(d, blkno)) && s->buf.flags & B_BUSY)
        reschedule(true);
    if (!s) {
        s = calloc(1, sizeof(*s));
        s->kept = malloc(shim.block_bytes);
        memset(s->kept, 0x5a, shim.block_bytes);
        s->buf.disk = d;
        s->buf.block.blkno = blkno;
        s->next = *bucket(d, blkno);
        *bucket(d, blkno) = s;
        cached++;
    }
    s->buf.flags |= B_BUSY;
    s->buf.data = malloc(shim.block_bytes);
    memcpy(s->buf.data, s->kept, shim.block_bytes);
    current->buffers++;
    return &s->buf;
}

/* Keep the contents, and end the caller's hold of the buffer. */
static struct shim_buf *let_go(struct buf *b)
{
    struct shim_buf *s = CONTAINER(b, struct shim_buf, buf);
    expect_held(b);
    memcpy(s->kept, b->data, shim.block_bytes);
    free(b->data);
    b->data = NULL;
    b->flags &= ~B_BUSY;
    s->used = ++clock_of_uses;
    current->buffers--;
    return s;
}

/* Release a buffer, whose data must not have changed. */
void brelse(struct buf *b)
{
    struct shim_buf *s = CONTAINER(b, struct shim_buf, buf);
    expect_held(b);
    if (memcmp(b->data, s->kept, shim.block_bytes) && b->flags & B_VALID)
        panic("block %lu was changed but not written", b->block.blkno);
    let_go(b);
    if (!(b->flags & B_VALID))
        drop(s);
}

/* Return a block's buffer with its contents; NULL: it is off the disk or cannot
 * be read. */
struct buf *bread(struct disk *d, u64 blkno)
{
    if ((blkno + 1) * shim.block_bytes > shim_of(d)->bytes)
        return NULL;
    struct buf *b = getblk(d, blkno);
    struct shim_buf *s = CONTAINER(b, struct shim_buf, buf);
    if (!(b->flags & B_VALID)) {
        if (transfer(d, blkno, b->data, false)) {
            brelse(b);
            return NULL;
        }
        memcpy(s->kept, b->data, shim.block_bytes);
        b->flags |= B_VALID;
    }
    return b;
}

static char told[8192];
static u32 told_length;

const char *shim_told(void)
{
    static char text[sizeof(told)];
    memcpy(text, told, told_length + 1);
    told_length = 0;
    told[0] = 0;
    return text;
}

/* Note what the cache is told of blocks, which must be on the disk. */
static void tell(struct disk *d, char what, const u64 *blkno, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        if ((blkno[i] + 1) * shim.block_bytes > shim_of(d)->bytes)
            panic("read-ahead of block %lu, outside the disk", blkno[i]);
        if (told_length + 32 < sizeof(told))
            told_length += sprintf(told + told_length, "%s%c%lu",
                                   told_length ? " " : "", what, blkno[i]);
    }
}

void bprefetch(struct disk *d, const u64 *blkno, u32 n)
{
    may_sleep();
    tell(d, 'p', blkno, n);
}

void bstart(struct disk *d, const struct further_reads *further)
{
    tell(d, 'a', further->asked, further->nasked);
    tell(d, 'w', further->ahead, further->nahead);
}

struct buf *breada(struct disk *d, u64 blkno,
                   const struct further_reads *further)
{
    bstart(d, further);
    return bread(d, blkno);
}

struct buf *bcached(struct disk *d, u64 blkno, enum found *found)
{
    const struct shim_buf *s = find(d, blkno);
    *found = s ? CACHED : MISSING;
    return s && !(s->buf.flags & B_BUSY) ? bread(d, blkno) : NULL;
}

u64 bio_ahead_most(void)
{
    return shim.ahead_most;
}

/* Mark a buffer as dirty. */
static void make_dirty(struct buf *b)
{
    if (b->flags & B_PINNED)
        panic("block %lu is written before its transaction", b->block.blkno);
    dirty += !(b->flags & B_DELWRI);
    b->flags |= B_DELWRI | B_VALID;
    if (shim_on_change)
        shim_on_change(b->disk, b->block.blkno);
}

void bdwrite(struct buf *b, u64 owner)
{
    maybe_reschedule();
    b->block.owner = owner;
    make_dirty(b);
    let_go(b);
}

/* Write a block and wait. */
int bwrite_stable(struct buf *b)
{
    maybe_reschedule();
    struct disk *d = b->disk;
    make_dirty(b);
    waited_writes++;
    int error = write_dirty(let_go(b));
    if (!error && shim_on_write)
        shim_on_write(d);
    return error;
}

/* ---- metadata that waits for data ---- */

static struct shim_wait last_wait;
static u64 waiting_blocks;

u64 shim_waiting_blocks(void)
{
    return waiting_blocks;
}

struct shim_wait shim_last_wait(void)
{
    return last_wait;
}

/* The zeros are written at once, but not counted as waited for: so whatever is
 * written later follows them. */
int depend_zeros(struct disk *d, u64 blkno, u64 owner, u64 meta)
{
    struct buf *b = getblk(d, blkno);
    memset(b->data, 0, shim.block_bytes);
    b->block.owner = owner;
    make_dirty(b);
    last_wait = (struct shim_wait){blkno, meta};
    waiting_blocks++;
    write_dirty(let_go(b)); /* if that fails, it stays dirty */
    return 0;
}

void depend_delay(struct buf *b, u64 owner)
{
    bdwrite(b, owner);
}

int depend_write(struct buf *b)
{
    return bwrite_stable(b);
}

int depend_settle(struct disk *, u64)
{
    return 0;
}

int depend_flush(struct disk *d)
{
    return bflush(d);
}

int bwrite_data(struct buf *b, u64 owner, bool filled)
{
    (void)filled;
    if (shim_random(1000) < shim.through_permille) {
        b->block.owner = owner;
        return bwrite_stable(b);
    }
    bdwrite(b, owner);
    return 0;
}

void bunwanted(struct disk *d, u64 blkno)
{
    tell(d, 'u', &blkno, 1);
}

static u64 begun, ended;

void readers_go_on(struct disk *d, const struct stream *s)
{
    (void)d, (void)s;
    begun++;
}

u64 shim_begun(void)
{
    return begun;
}

void readers_end(const struct disk *d, const struct streams *s)
{
    (void)d, (void)s;
    ended++;
}

u64 shim_ended(void)
{
    return ended;
}

bool prefetch_takes_hints(void)
{
    return !shim.no_hints;
}

bool prefetch_by_block(void)
{
    return shim.by_block;
}

/* Drop a block's buffer, when nobody holds it. */
void binval(struct disk *d, u64 blkno)
{
    may_sleep();
    if (current->buffers)
        panic("binval with a buffer held");
    struct shim_buf *s;
    while ((s = find(d, blkno)) && s->buf.flags & B_BUSY)
        reschedule(true);
    if (s)
        drop(s);
}

/* Forget a buffer if it is the disk's; nobody may hold it. */
static void drop_of(struct shim_buf *s, void *d)
{
    if (s->buf.disk != d)
        return;
    if (s->buf.flags & B_BUSY)
        panic("block %lu is held at binval_disk", s->buf.block.blkno);
    drop(s);
}

void binval_disk(struct disk *d)
{
    each(drop_of, d);
}

/* A cut in the making: the pending writes are asked for one by one. */
struct cut {
    struct disk *disk;
    u8 *out;
    u32 which; /* as shim_cut's, or UINT32_MAX: by the mask */
    u64 mask;
    u32 n;       /* asked for so far */
    bool torn;   /* a write may be there in part */
    u32 sectors; /* of the last completed write these are there, if torn */
};

#define ALL_SECTORS UINT32_MAX

/* Return a mask of sectors: of none, of all, of the first ones, or of any. */
static u32 some_sectors(void)
{
    u32 first = 1U << shim_random(shim.block_bytes / SECTOR_BYTES);
    u32 ways[] = {0, ALL_SECTORS, first - 1, shim_random(ALL_SECTORS)};
    return ways[shim_random(NELEM(ways))];
}

/* The sectors of the next pending write that are there. */
static u32 sectors_there(struct cut *c)
{
    u32 i = c->n++;
    if (c->which == UINT32_MAX)
        return c->mask >> i & 1 ? ALL_SECTORS : 0;
    if (c->which > 1 && c->torn)
        return some_sectors();
    bool there = c->which > 1 ? shim_random(2) : c->which;
    return there ? ALL_SECTORS : 0;
}

/* Apply a pending write to the image, as the cut chooses. */
static void cut_write(struct cut *c, u64 blkno, const u8 *data, bool last)
{
    u32 sectors = sectors_there(c);
    if (last && c->torn)
        sectors = c->sectors;
    if (c->out)
        copy_sectors(c->out + blkno * shim.block_bytes, data, sectors);
}

/* Apply a dirty buffer of the disk, as the cut chooses. */
static void cut_dirty(struct shim_buf *s, void *arg)
{
    struct cut *c = arg;
    if (s->buf.disk == c->disk && s->buf.flags & B_DELWRI)
        cut_write(c, s->buf.block.blkno, s->kept, false);
}

/* Make the image that this cut leaves in c->out, if there is one, and count its
 * writes: start from the durable image, then apply writes of the drive's cache
 * and dirty blocks, each as the cut chooses. */
static void cut_all(struct cut *c)
{
    const struct shim_disk *s = shim_of(c->disk);
    if (c->out)
        memcpy(c->out, s->durable ? s->durable : s->now, s->bytes);
    if (c->out && c->torn && !s->durable)
        copy_sectors(c->out + s->last * shim.block_bytes, s->over, ~c->sectors);
    for (u64 i = 0; s->durable && i < s->unflushed; i++)
        cut_write(c, s->writes[i].blkno, s->writes[i].data,
                  i == s->unflushed - 1);
    each(cut_dirty, c);
}

void shim_cut(struct disk *d, u8 *out, u32 which)
{
    cut_all(&(struct cut){.disk = d, .out = out, .which = which});
}

u32 shim_pending(struct disk *d)
{
    struct cut c = {.disk = d};
    cut_all(&c);
    return c.n;
}

void shim_cut_to(struct disk *d, u8 *out, u64 mask)
{
    cut_all(&(struct cut){
        .disk = d, .out = out, .which = UINT32_MAX, .mask = mask});
}

/* Return which sectors the last write changed, a bit each. */
u32 shim_last_sectors(struct disk *d)
{
    const struct shim_disk *s = shim_of(d);
    const u8 *now = s->now + s->last * shim.block_bytes;
    u32 changed = 0;
    for (u32 i = 0; s->over && i < shim.block_bytes / SECTOR_BYTES; i++)
        if (memcmp(now + i * SECTOR_BYTES, s->over + i * SECTOR_BYTES,
                   SECTOR_BYTES))
            changed |= 1U << i;
    return changed;
}

void shim_cut_torn(struct disk *d, u8 *out, u32 sectors, u32 which)
{
    cut_all(&(struct cut){.disk = d,
                          .out = out,
                          .which = which,
                          .torn = true,
                          .sectors = sectors});
}

/* Call fn for each way to tear the last write: after each changed sector, and
 * some at random. */
void shim_each_tear(struct disk *d, void (*fn)(struct disk *, u32 sectors))
{
    u32 changed = shim_last_sectors(d);
    if (!(changed & (changed - 1)))
        return; /* one sector is whole or not written */
    for (u32 first = 1; first < changed; first <<= 1)
        if (changed & first)
            fn(d, changed & (2 * first - 1));
    for (u32 i = 0; i < SHIM_TEARS; i++)
        fn(d, changed & shim_random(ALL_SECTORS));
}

struct flushing {
    struct disk *disk;
    u64 owner;
    int error;
    bool busy; /* a process has one that is to be written */
};

/* Return whether a buffer is dirty and of the disk and owner that are
 * flushed. */
static bool concerns(const struct shim_buf *s, const struct flushing *f)
{
    return s->buf.flags & B_DELWRI && (!f->disk || s->buf.disk == f->disk) &&
           (!f->owner || s->buf.block.owner == f->owner);
}

/* Note whether a process holds a buffer that is to be written. */
static void find_busy(struct shim_buf *s, void *arg)
{
    struct flushing *f = arg;
    f->busy |= concerns(s, f) && s->buf.flags & B_BUSY;
}

/* Write a buffer that is to be written. */
static void flush_one(struct shim_buf *s, void *arg)
{
    struct flushing *f = arg;
    if (concerns(s, f) && !(s->buf.flags & B_BUSY) && write_dirty(s))
        f->error = -EIO;
}

/* As the cache does, it waits for processes that have dirty buffers. */
static void wait_for_busy(struct flushing *f)
{
    do {
        f->busy = false;
        each(find_busy, f);
        if (f->busy)
            reschedule(true);
    } while (f->busy);
}

int bflush_owner(struct disk *d, u64 owner)
{
    may_sleep();
    struct flushing f = {d, owner, 0, false};
    wait_for_busy(&f);
    each(flush_one, &f);
    return f.error;
}

int bflush(struct disk *d)
{
    return bflush_owner(d, 0);
}

/* All blocks are of both kinds here, as the owner alone is known. */
int bflush_kind(struct disk *d, bool)
{
    return bflush(d);
}

/* ---- pinned buffers ---- */

void bpin(struct buf *b, u64 owner)
{
    maybe_reschedule();
    b->block.owner = owner;
    dirty -= !!(b->flags & B_DELWRI);
    b->flags &= ~B_DELWRI;
    b->flags |= B_PINNED | B_VALID;
    let_go(b);
}

/* Let a pinned buffer of the disk become dirty. */
static void unpin(struct shim_buf *s, void *d)
{
    if (s->buf.disk != d || !(s->buf.flags & B_PINNED))
        return;
    s->buf.flags &= ~B_PINNED;
    s->buf.flags |= B_DELWRI;
    dirty++;
}

void bunpin(struct disk *d)
{
    each(unpin, d);
}

struct pinned {
    const struct disk *disk;
    void (*fn)(void *, u64, const void *);
    void *arg;
    u64 n;
};

/* Count a pinned buffer of the disk, and show it to the caller's function. */
static void show_pinned(struct shim_buf *s, void *arg)
{
    struct pinned *p = arg;
    if (s->buf.disk != p->disk || !(s->buf.flags & B_PINNED))
        return;
    p->n++;
    if (p->fn)
        p->fn(p->arg, s->buf.block.blkno, s->kept);
}

u64 bpinned(const struct disk *d)
{
    struct pinned p = {.disk = d};
    each(show_pinned, &p);
    return p.n;
}

void bpinned_each(const struct disk *d,
                  void (*fn)(void *arg, u64 blkno, const void *data), void *arg)
{
    each(show_pinned, &(struct pinned){d, fn, arg, 0});
}

/* ---- moving bytes ---- */

/* Move bytes to or from a program's memory, up to where it is bad. */
int uio_move(void *data, u64 n, struct uio *u)
{
    u64 good = n;
    if (spin)
        panic("uio_move with a spin lock held");
    if (n > u->left)
        panic("uio_move of more than is left");
    if (u->user && u->addr + n > shim_fault_at)
        good = u->addr < shim_fault_at ? shim_fault_at - u->addr : 0;
    if (u->write)
        memcpy(data, (void *)u->addr, good);
    else
        memcpy((void *)u->addr, data, good);
    if (good < n)
        return -EFAULT;
    u->addr += n;
    u->left -= n;
    u->offset += n;
    return 0;
}

int uio_zero(u64 n, struct uio *u)
{
    static u8 zeros[8192];
    int error = 0;
    while (n && !error) {
        u64 some = MIN(n, sizeof(zeros));
        error = uio_move(zeros, some, u);
        n -= some;
    }
    return error;
}

/* Read-ahead that asks for whatever is allowed. */
struct readahead prefetch_readahead(struct disk *d, struct streams *s,
                                    struct access *a)
{
    (void)d, (void)s;
    shim_access = *a;
    if (shim.readahead)
        return *shim.readahead;
    u64 first = MIN(a->block + a->nblocks, a->file_blocks);
    if (first == a->file_blocks)
        return (struct readahead){0};
    u64 n = shim_random(MIN(100, a->file_blocks - first + 1));
    return (struct readahead){.first = first, .n = n, .times = 1};
}

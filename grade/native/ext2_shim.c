/* See ext2_shim.h. */
#include "grade/native/ext2_shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "kernel/args.h"
#include "kernel/bio.h"
#include "kernel/clock.h"
#include "kernel/mem.h"
#include "kernel/prefetch.h"
#include "kernel/print.h"
#include "kernel/proc.h"
#include "kernel/string.h"

#define FIBRES      8
#define STACK_BYTES (256 << 10)

struct shim_options shim = {.buffers = 64, .flush_permille = 20};
u64 shim_fault_at = SHIM_FAULT_NEVER;

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

void kprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!shim.quiet)
        vprintf(fmt, ap);
    va_end(ap);
}

int kvsnprintf(char *out, size_t n, const char *fmt, va_list ap)
{
    return vsnprintf(out, n, fmt, ap);
}

int ksnprintf(char *out, size_t n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int length = vsnprintf(out, n, fmt, ap);
    va_end(ap);
    return length;
}

const char *arg_text(const char *name)
{
    return shim.far && strcmp(name, "indirect") == 0 ? "far" : NULL;
}

void boot_fail(const char *fmt, ...)
{
    panic("boot: %s", fmt);
}

size_t strlcpy(char *to, const char *from, size_t n)
{
    return snprintf(to, n, "%s", from);
}

/* splitmix64: Steele, Lea and Flood, OOPSLA 2014. */
u64 shim_random(u64 below)
{
    u64 z = shim.seed += 0x9e3779b97f4a7c15UL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
    return (z ^ (z >> 31)) % below;
}

u64 clock_wall_s(void)
{
    static u64 calls;
    return 1750000000 + calls++ / 64;
}

void *page_alloc(void)
{
    void *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
    memset(page, 0xa5, PAGE_SIZE);
    return page;
}

void *page_alloc_zero(void)
{
    return memset(page_alloc(), 0, PAGE_SIZE);
}

void page_free(void *page)
{
    free(page);
}

/* ---- fibres ---- */

static struct fibre {
    struct proc proc;
    ucontext_t context;
    u32 sleep_locks, buffers; /* held */
    bool running;
} fibres[FIBRES], *current = &fibres[0];
static u8 stacks[FIBRES][STACK_BYTES];
static u32 fibre_count = 1;
static void (*fibre_fn)(u32);

struct proc *myproc(void)
{
    return &current->proc;
}

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

static void maybe_reschedule(void)
{
    if (fibre_count > 1 && shim_random(4) == 0)
        reschedule(false);
}

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

static void fibre_start(struct fibre *f)
{
    *f = (struct fibre){.running = true, .proc = {.cwd = fibres[0].proc.cwd}};
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks[f - fibres];
    f->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->context, fibre_main, 0);
}

void shim_fibres(u32 n, void (*fn)(u32 i))
{
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
}

/* ---- locks ---- */

static struct spinlock *spin; /* the one held; ext2 holds but one */

void spin_lock(struct spinlock *lk)
{
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

static void may_sleep(void)
{
    if (spin)
        panic("sleeps with spin lock %s held", spin->name);
}

void sleep_lock_init(struct sleeplock *lk, const char *name)
{
    *lk = (struct sleeplock){.name = name};
}

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
    current->sleep_locks++;
}

void sleep_unlock(struct sleeplock *lk)
{
    if (lk->holder != myproc())
        panic("lock %s is not held", lk->name);
    lk->holder = NULL;
    current->sleep_locks--;
}

bool sleep_held(const struct sleeplock *lk)
{
    return lk->holder == myproc();
}

/* ---- disks ---- */

struct shim_buf {
    struct buf buf;
    struct shim_buf *next; /* of its bucket */
    u8 *kept;              /* contents while nobody holds it */
    u64 used;              /* when it was let go */
};

#define SHIM_DISKS 4
#define BUCKETS    4096

static struct shim_disk {
    struct disk disk;
    u8 *start, *now; /* the image as it was, and as it is */
    u64 bytes;
} disks[SHIM_DISKS];
static u32 disk_total;
static struct shim_buf *buckets[BUCKETS];
static u64 cached, clock_of_uses, waited_writes;

/* The log of completed writes. */
static struct logged {
    struct disk *disk;
    u64 blkno;
    u8 *data;
} * writes;
static u64 log_length;

struct disk *shim_disk(const char *image)
{
    FILE *f = fopen(image, "rb");
    struct shim_disk *d = &disks[disk_total];
    if (!f)
        panic("%s: cannot be read", image);
    fseek(f, 0, SEEK_END);
    d->bytes = ftell(f);
    rewind(f);
    d->now = malloc(d->bytes);
    if (fread(d->now, 1, d->bytes, f) != d->bytes)
        panic("%s: cannot be read", image);
    fclose(f);
    if (shim.log) {
        d->start = malloc(d->bytes);
        memcpy(d->start, d->now, d->bytes);
    }
    d->disk.id = disk_total++;
    d->disk.nsectors = d->bytes / SECTOR_BYTES;
    snprintf(d->disk.name, sizeof(d->disk.name), "disk%u", d->disk.id);
    return &d->disk;
}

static struct shim_disk *shim_of(struct disk *d)
{
    return CONTAINER(d, struct shim_disk, disk);
}

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

void shim_save_prefix(struct disk *d, const char *image, u64 n)
{
    struct shim_disk *s = shim_of(d);
    u8 *copy = malloc(s->bytes);
    memcpy(copy, s->start, s->bytes);
    for (u64 i = 0; i < n; i++)
        if (writes[i].disk == d)
            memcpy(copy + writes[i].blkno * shim.block_bytes, writes[i].data,
                   shim.block_bytes);
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

static int transfer(struct disk *d, u64 blkno, u8 *data, bool write)
{
    u32 bytes = shim.block_bytes;
    u8 *at = shim_of(d)->now + blkno * bytes;
    u32 chance =
        write ? shim.write_errors_permyriad : shim.read_errors_permyriad;
    if ((blkno + 1) * bytes > shim_of(d)->bytes)
        panic("block %lu is outside the disk", blkno);
    if (chance && shim_random(10000) < chance)
        return -EIO;
    memcpy(write ? at : data, write ? data : at, bytes);
    if (write)
        log_write(d, blkno, data);
    return 0;
}

int disk_transfer(struct disk *d, struct io *ios, u32 n)
{
    for (u32 i = 0; i < n; i++)
        memcpy(ios[i].data,
               shim_of(d)->now + ios[i].request.sector * SECTOR_BYTES,
               ios[i].request.nsectors * SECTOR_BYTES);
    return 0;
}

int disk_flush(struct disk *d)
{
    (void)d;
    may_sleep();
    return 0;
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

static struct shim_buf **bucket(const struct disk *d, u64 blkno)
{
    return &buckets[(blkno * SHIM_DISKS + d->id) % BUCKETS];
}

static struct shim_buf *find(const struct disk *d, u64 blkno)
{
    struct shim_buf *s = *bucket(d, blkno);
    while (s && (s->buf.disk != d || s->buf.block.blkno != blkno))
        s = s->next;
    return s;
}

static void drop(struct shim_buf *s)
{
    struct shim_buf **at = bucket(s->buf.disk, s->buf.block.blkno);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s->kept);
    free(s);
    cached--;
}

/* Call fn for every buffer; it may drop that one. */
static void each(void (*fn)(struct shim_buf *, void *), void *arg)
{
    for (u32 i = 0; i < BUCKETS; i++)
        for (struct shim_buf *s = buckets[i], *next; s; s = next) {
            next = s->next;
            fn(s, arg);
        }
}

static int write_dirty(struct shim_buf *s)
{
    int error = transfer(s->buf.disk, s->buf.block.blkno, s->kept, true);
    if (!error)
        s->buf.flags &= ~B_DELWRI;
    return error;
}

static void maybe_write(struct shim_buf *s, void *arg)
{
    (void)arg;
    if (s->buf.flags & B_DELWRI && !(s->buf.flags & B_BUSY) &&
        shim_random(4) == 0)
        write_dirty(s);
}

static void oldest(struct shim_buf *s, void *arg)
{
    struct shim_buf **found = arg;
    if (!(s->buf.flags & (B_BUSY | B_DELWRI)) &&
        (!*found || s->used < (*found)->used))
        *found = s;
}

static void housekeeping(void)
{
    if (shim_random(1000) < shim.flush_permille)
        each(maybe_write, NULL);
    if (cached > 2 * shim.buffers) {
        struct shim_buf *found;
        while (cached > shim.buffers) {
            found = NULL;
            each(oldest, &found);
            if (!found)
                return;
            drop(found);
        }
    }
}

static void expect_held(const struct buf *b)
{
    if (!b->data || !(b->flags & B_BUSY))
        panic("block %lu is not held", b->block.blkno);
}

struct buf *getblk(struct disk *d, u64 blkno)
{
    may_sleep();
    if ((blkno + 1) * shim.block_bytes > shim_of(d)->bytes)
        panic("getblk of block %lu, outside the disk", blkno);
    if (current->buffers)
        panic("a second buffer is asked for"); /* ext2's own rule */
    maybe_reschedule();
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

static void expect_on_disk(struct disk *d, const u64 *blkno, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if ((blkno[i] + 1) * shim.block_bytes > shim_of(d)->bytes)
            panic("read-ahead of block %lu, outside the disk", blkno[i]);
}

void bprefetch(struct disk *d, const u64 *blkno, u32 n)
{
    may_sleep();
    expect_on_disk(d, blkno, n);
}

struct buf *breada(struct disk *d, u64 blkno, const struct also *also)
{
    expect_on_disk(d, also->asked, also->nasked);
    expect_on_disk(d, also->ahead, also->nahead);
    return bread(d, blkno);
}

u64 bio_ahead_most(void)
{
    return 50;
}

enum found bio_found(const struct disk *d, u64 blkno)
{
    return find(d, blkno) ? CACHED : MISSING;
}

void bdwrite(struct buf *b, u64 owner)
{
    b->block.owner = owner;
    b->flags |= B_DELWRI | B_VALID;
    let_go(b);
}

int bwrite(struct buf *b)
{
    maybe_reschedule();
    b->flags |= B_DELWRI | B_VALID;
    waited_writes++;
    return write_dirty(let_go(b));
}

int bwrite_data(struct buf *b, u64 owner, bool filled)
{
    (void)filled;
    if (shim_random(8) == 0) {
        b->block.owner = owner;
        return bwrite(b);
    }
    bdwrite(b, owner);
    return 0;
}

void bunwanted(struct disk *d, u64 blkno)
{
    expect_on_disk(d, &blkno, 1);
}

void prefetch_end(struct disk *d, const struct streams *s)
{
    (void)d, (void)s;
}

bool prefetch_is_blind(void)
{
    return false;
}

bool prefetch_takes_hints(void)
{
    return true;
}

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

struct flushing {
    struct disk *disk;
    u64 owner;
    int error;
};

static void flush_one(struct shim_buf *s, void *arg)
{
    struct flushing *f = arg;
    if (s->buf.flags & B_DELWRI && !(s->buf.flags & B_BUSY) &&
        (!f->disk || s->buf.disk == f->disk) &&
        (!f->owner || s->buf.block.owner == f->owner) && write_dirty(s))
        f->error = -EIO;
}

int bflush_owner(struct disk *d, u64 owner)
{
    may_sleep();
    struct flushing f = {d, owner, 0};
    each(flush_one, &f);
    return f.error;
}

int bflush(struct disk *d)
{
    return bflush_owner(d, 0);
}

/* ---- moving bytes ---- */

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
struct wish prefetch_ahead(struct disk *d, struct streams *s, struct access *a)
{
    (void)d, (void)s;
    u64 end = a->block + a->nblocks;
    if (end >= a->file_blocks)
        return (struct wish){0};
    u64 n = shim_random(MIN(100, a->file_blocks - end + 1));
    return (struct wish){.first = end, .n = n, .times = 1};
}

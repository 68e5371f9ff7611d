/*
 * The reference for test_blocks.py, which replays a trace with programs that
 * model all this: here the trace's requests go through the twin's
 * real processes, its run queue, its RAM disk, which moves data, and the file
 * system's own reading and writing of file data (ext2/data.c).
 *
 * It takes the place of main.c in a twin that is linked for the test. A file's
 * block i is the disk's block i, and there is no metadata: the linker wraps the
 * functions that would look for it. The requests come from the test, as the
 * header present_requests.h. The workers are those of user/ioplay: one has the
 * turn, takes the next request, waits until that is due, and passes the turn.
 *
 * Prints `done NUMBER DUE RESPONSE` for each request, in ns.
 */
#include "kernel/ext2/internal.h"
#include "kernel/cache/bio.h"
#include "kernel/cache/prefetch.h"
#include "kernel/driver/ramdisk.h"
#include "kernel/machine/args.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/uart.h"
#include "kernel/measure/trace.h"
#include "kernel/policy/registry.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/uio.h"
#include "kernel/proc/vm.h"
#include "kernel/syscall/trap.h"
#include "kernel/vlog/vlog.h"

#define FIRST_NS (2 * NS_PER_S)

static const struct {
    u64 time_ns, offset;
    u32 bytes, write;
} requests[] = {
#include "present_requests.h"
};

#define MOST_BYTES (1 << 20)

extern char kernel_end[];
void start(u32 hart, u64 dtb_phys);

/* ---- in place of the file system's metadata ---- */

int __wrap_map(struct inode *, u64 block, u32 *blkno);
int __wrap_map(struct inode *ip, u64 block, u32 *blkno)
{
    (void)ip;
    *blkno = block;
    return 0;
}

int __wrap_map_alloc(struct inode *, u64 block, u32 *blkno, bool *fresh);
int __wrap_map_alloc(struct inode *ip, u64 block, u32 *blkno, bool *fresh)
{
    *fresh = false;
    return __wrap_map(ip, block, blkno);
}

int __wrap_inode_write(struct inode *, bool wait);
int __wrap_inode_write(struct inode *ip, bool wait)
{
    (void)ip, (void)wait;
    return 0;
}

int __wrap_fs_writable(struct fs *);
int __wrap_fs_writable(struct fs *fs)
{
    (void)fs;
    return 0;
}

int __wrap_fs_allow_size(struct fs *, u64 bytes);
int __wrap_fs_allow_size(struct fs *fs, u64 bytes)
{
    (void)fs, (void)bytes;
    return 0;
}

/* ---- the workers ---- */

static struct fs fs = {
    .block_bytes = 4096, .block_shift = 12, .max_bytes = 1UL << 40};
static struct inode inode = {.fs = &fs, .ino = 11, .mode = S_IFREG};
static struct streams streams;
static struct spinlock turn_lock = SPINLOCK("turn", RANK_PIPE);
static bool turn_is_free = true;
static u64 next, ended;
static bool closed;
static u64 start_ns[NELEM(requests)], response_ns[NELEM(requests)];
static char bytes[MOST_BYTES];

/* Print the times of all requests, and power off. */
static void finish(void)
{
    for (u64 i = 0; i < NELEM(requests); i++)
        kprintf("done %lu %lu %lu\n", i, start_ns[i] - FIRST_NS,
                response_ns[i]);
    uart_drain();
    power_off(0);
}

/* Take the next request and wait until it is due; returns its number. `closed`:
 * nothing is waited for. */
static u64 take_next(void)
{
    HOLD(spin, &turn_lock);
    while (!turn_is_free)
        sleep_on(&turn_is_free, &turn_lock);
    turn_is_free = false;
    u64 number = next++;
    u64 due_ns = FIRST_NS;
    if (number < NELEM(requests) && !closed)
        due_ns += requests[number].time_ns;
    while (number < NELEM(requests) && clock_ns() < due_ns)
        sleep_until(&due_ns, &turn_lock, due_ns);
    turn_is_free = true;
    wakeup(&turn_is_free);
    if (number < NELEM(requests))
        start_ns[number] = closed ? clock_ns() : due_ns;
    return number;
}

/* Read or write the request's bytes of the file. */
static void transfer(u64 i)
{
    struct uio u = {.addr = (u64)bytes,
                    .left = requests[i].bytes,
                    .offset = requests[i].offset,
                    .write = requests[i].write};
    int error =
        u.write ? ext2_write(&inode, &u) : ext2_read(&inode, &u, &streams);
    assert(!error && !u.left);
}

/* A worker: do requests until none is left, then sleep for ever. */
static void worker(void *)
{
    for (u64 i; (i = take_next()) < NELEM(requests);) {
        transfer(i);
        response_ns[i] = clock_ns() - start_ns[i];
        if (++ended == NELEM(requests))
            finish();
    }
    struct spinlock lock = SPINLOCK("over", RANK_PIPE);
    HOLD(spin, &lock);
    for (;;)
        sleep_on(&lock, &lock);
}

/* ---- the boot, as main.c has it ---- */

/* Start what the requests need, with the workers, and sleep for ever. */
static void boot(void *)
{
    trace_init();
    disk_init();
    vlog_init();
    bio_init(4096);
    prefetch_init();
    ext2_init();
    updated_init();
    closed = arg_number("closed", 0, 0, 1);
    u64 inflight = arg_number("inflight", 64, 1, 256);
    args_check();
    fs.disk = disk_get(0);
    inode.size = fs.disk->nsectors * SECTOR_BYTES;
    kthread("updated", update_daemon, NULL);
    for (u64 i = 0; i < inflight; i++)
        kthread("request", worker, NULL);
    struct spinlock lock = SPINLOCK("over", RANK_PIPE);
    HOLD(spin, &lock);
    for (;;)
        sleep_on(&lock, &lock);
}

/* The twin's entry: initialise the hart and the kernel, in place of main.c. */
void start(u32 hart, u64 dtb_phys)
{
    cpu_init(hart);
    proc_hart_init();
    trap_hart_init();
    uart_init();
    struct region tree = fdt_init(dtb_phys);
    args_init(machine.bootargs);
    ramdisk_probe(tree);
    mem_init(phys_of(kernel_end), machine.memory_phys + machine.memory_bytes);
    vm_init();
    proc_init();
    irq_init();
    irq_hart_init();
    registry_check();
    clock_init();
    cost_init();
    clock_hart_init();
    registry_init();
    policy_boot_args();
    kthread("boot", boot, NULL);
    proc_idle();
}

/*
 * The twin: the kernel and the user programs, compiled for the host, and a
 * machine for them that is no processor but this program.
 *
 *   twin [-c COSTS] [-n] [-s SHIFT] -p PROGRAMS -m MEMORY -- BOOT ARGUMENTS
 *   twin [-c COSTS] -r DISKS [-t TRACE] -p PROGRAMS -m MEMORY
 *
 * - The rooms base, measure, policy, disk, cache, ext2, file and syscall are
 *   the kernel's own files, and so are main.c, processes, the scheduler, pages,
 *   locks, text and RAM disks. What stands here in place of the hardware:
 *     hart.c switch.S   registers, traps, switching stacks
 *     clock.c           virtual time and its timers
 *     space.c           the memory of programs
 *     program.c call.c  the programs, and their system calls
 *     cost.c            what computing takes
 *     host.c            memory, trace and disks; the console; the end
 *     resident.c store.c    many trials of one process, with -r
 * - MEMORY is a file, as QEMU gets it (grade/machine/guest.py): the machine's
 *   memory, with the RAM disks behind it. It is mapped at its physical address.
 *   So the trace is read from it afterwards, as that of a machine.
 * - Computing takes what the table COSTS says, in instructions of 2^SHIFT ns
 *   each; without a table it takes no time. With -n the rows are counted, and
 *   shown on the standard error whenever /dev/stat is printed.
 * - With -r trials are asked for on the standard input (resident.h). MEMORY is
 *   only read; DISKS is where in it the disks begin. With -t each trial leaves
 *   its trace in the file TRACE, where it would be in MEMORY.
 * - The console's output goes to the standard output. There is no input.
 * - The exit status is that of the machine.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grade/twin/cost.h"
#include "grade/twin/hart.h"
#include "grade/twin/program.h"
#include "grade/twin/resident.h"
#include "grade/twin/store.h"
#include "kernel/driver/virtio_blk.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/power.h"
#include "kernel/machine/print.h"
#include "kernel/machine/uart.h"
#include "kernel/measure/trace.h"

#define MEMORY_PHYS 0x80000000UL /* of QEMU's virt machine */

void start(u32 hart, u64 dtb_phys); /* main.c */

struct machine machine = {
    .memory_phys = MEMORY_PHYS, .nharts = 1, .timebase_hz = 10000000};

/* ---- the console ---- */

static char output[65536];
static u64 output_length;

void uart_init(void)
{
}

void uart_drain(void)
{
    for (u64 at = 0; at < output_length;) {
        i64 n = write(1, output + at, output_length - at);
        if (n <= 0)
            exit(STATUS_PANIC);
        at += n;
    }
    output_length = 0;
}

void uart_put(const char *text, u64 n)
{
    for (u64 i = 0; i < n; i++) {
        if (output_length == sizeof output)
            uart_drain();
        output[output_length++] = text[i];
    }
}

int uart_get(void)
{
    return -1;
}

void uart_listen(bool on)
{
    (void)on;
}

/* ---- the end ---- */

static void keep_trace(void);

void power_off(int status)
{
    uart_drain();
    keep_trace();
    _exit(status);
}

bool panicking(void)
{
    return false;
}

void panic(const char *fmt, ...)
{
    const struct cpu *c = mycpu();
    va_list list;
    va_start(list, fmt);
    kprintf("panic: ");
    kvprintf(fmt, list);
    kprintf("\n  process %u (%s)\n", c->pid, c->name ? c->name : "none");
    va_end(list);
    power_off(STATUS_PANIC);
}

/* ---- machine mode ---- */

bool trace_on;
static struct trace_ring *ring;
static int memory_file;
static u64 disks; /* resident: where they begin in it, or 0 */
static const char *trace_kept;

static void append(u64 w0, u64 w1, u64 w2, u64 w3)
{
    u64 *record = (u64 *)&ring->record[ring->written++ % ring->records];
    record[0] = w0;
    record[1] = w1;
    record[2] = w2;
    record[3] = w3;
    enum trace_event event = w3 >> 32 & 0xffff;
    pay(COST_ROWS_OF_TRACE + event, 1);
    if (event == TRACE_counted)
        costs_show();
}

/* Move a disk's data. Of a disk most bytes are touched once, if at all: then a
 * call costs less than a page fault, and reading a hole of the file makes no
 * page of it. */
static i64 move(u64 memory, u64 disk, u64 bytes, bool write)
{
    if (disks)
        return store_move(memory, disk, bytes, write);
    i64 n = write ? pwrite(memory_file, (void *)memory, bytes, disk)
                  : pread(memory_file, (void *)memory, bytes, disk);
    return n == (i64)bytes ? 0 : -1;
}

static void keep_trace(void)
{
    if (!trace_kept || !ring)
        return;
    int file = open(trace_kept, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    u64 n = sizeof *ring +
            MIN(ring->written, ring->records) * sizeof ring->record[0];
    if (pwrite(file, ring, n, (u64)ring - MEMORY_PHYS) != (i64)n)
        _exit(STATUS_PANIC);
}

i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call)
{
    switch (call) {
    case TRACE_BEGIN:
        ring = (struct trace_ring *)w0;
        *(u64 *)MEMORY_PHYS = w0; /* engine.py finds the trace by it */
        trace_on = true;
        return 0;
    case TRACE_APPEND:
        append(w0, w1, w2, w3);
        return 0;
    case DISKS_BEGIN:
        return 0;
    case DISKS_MOVE:
        return move(w0, w1 - MEMORY_PHYS, w2, w3);
    default:
        panic("twin: machine mode has no call %lu", call);
    }
}

/* ---- devices: none but RAM disks ---- */

void virtio_blk_probe(void)
{
}

struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *client,
                                   void *arg, struct device_facts *facts)
{
    (void)i, (void)client, (void)arg, (void)facts;
    return NULL;
}

bool virtio_blk_start(struct virtio_blk *v, enum command_kind kind, u64 sector,
                      struct span *first)
{
    (void)v, (void)kind, (void)sector, (void)first;
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

/* ---- the beginning ---- */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "twin: %s: %s\n", what, why);
    exit(STATUS_BOOT_FAIL);
}

static void map(const char *path, u64 bytes, int flags, int file)
{
    void *want = (void *)MEMORY_PHYS;
    if (mmap(want, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE,
             file, 0) != want)
        fail(path, "cannot be mapped");
}

/* Memory of this process, with what the file holds below the disks. */
static void copy_memory(const char *path)
{
    map(path, disks, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    madvise((void *)MEMORY_PHYS, disks, MADV_HUGEPAGE);
    for (u64 at = 0;
         (i64)(at = lseek(memory_file, at, SEEK_DATA)) >= 0 && at < disks;) {
        u64 n = MIN((u64)lseek(memory_file, at, SEEK_HOLE), disks) - at;
        if (pread(memory_file, (char *)MEMORY_PHYS + at, n, at) != (i64)n)
            fail(path, "cannot be read");
        at += n;
    }
    store_load(memory_file, disks, machine.memory_bytes);
}

static void map_memory(const char *path)
{
    struct stat st;
    memory_file = open(path, disks ? O_RDONLY : O_RDWR);
    if (memory_file < 0 || fstat(memory_file, &st))
        fail(path, "cannot be opened");
    machine.memory_bytes = st.st_size;
    if (disks)
        copy_memory(path);
    else
        map(path, st.st_size, MAP_SHARED, memory_file);
}

/* The device tree is what main() has found out. */
void fdt_init(const void *dtb)
{
    (void)dtb;
}

static void add_words(char **word, int n)
{
    char *at = machine.bootargs;
    for (int i = 0; i < n; i++) {
        u64 left = machine.bootargs + sizeof machine.bootargs - at;
        u64 length = snprintf(at, left, "%s%s", i ? " " : "", word[i]);
        if (length >= left)
            fail("boot arguments", "too long");
        at += length;
    }
}

int main(int argc, char **argv)
{
    int option;
    const char *memory = NULL;
    while ((option = getopt(argc, argv, "c:np:m:r:s:t:")) >= 0) {
        if (option == 'c')
            costs_read(optarg);
        else if (option == 'n')
            costs_shown = true;
        else if (option == 's')
            cpu_shift = strtoul(optarg, NULL, 10);
        else if (option == 'p')
            programs_folder = optarg;
        else if (option == 'm')
            memory = optarg;
        else if (option == 'r')
            disks = strtoul(optarg, NULL, 10);
        else if (option == 't')
            trace_kept = optarg;
        else
            return STATUS_BOOT_FAIL;
    }
    if (!programs_folder || !memory)
        fail("options", "-p and -m are needed");
    map_memory(memory);
    char *args[] = {disks ? resident_trial() : NULL};
    if (disks)
        add_words(args, 1);
    else
        add_words(argv + optind, argc - optind);
    start(0, 0);
}

/*
 * The twin: the kernel and the user programs, compiled for the host, and a
 * machine for them that is no processor but this program.
 *
 *   twin [-c COSTS] [-n] [-w FROM:END:LOG] [-e DISK:EVENTS]
 *        [-l NUMBER:SOCKET[:SOCKET...]] [-d FRAMES] -p PROGRAMS -m MEMORY
 *        -- BOOT ARGUMENTS
 *   twin [-c COSTS] -r DISKS [-t TRACE] [-e DISK:EVENTS] -p PROGRAMS -m MEMORY
 *
 * - The rooms base, measure, policy, disk, cache, ext2, file and syscall are
 *   the kernel's own files, and so are main.c, processes, the scheduler, pages,
 *   locks, text and RAM disks. What stands here in place of the hardware:
 *     hart.c switch_*.S registers, traps, switching stacks: a file a processor
 *     memory.c space.c  the memory of programs
 *     program.c call.c  the programs, and their system calls
 *     machine.c         machine mode and its trace; the console; the end
 *   and, of this, what speaks to Linux (sluice/wasm/ has it for a browser):
 *     host.c            memory and disks, output, options
 *     nic.c             the network device
 *     costs_file.c      other tables of costs, and what was charged
 *     resident.c store.c    many trials of one process, with -r
 *     used.c            which pages a program has used
 * - MEMORY is a file, as QEMU gets it (sluice/system/guest.py): the machine's
 *   memory, with the RAM disks behind it. It is mapped at its physical address.
 *   So the trace is read from it afterwards, as that of a machine.
 * - Time is charged (kernel/machine/clock.h), so the boot argument charged_ns
 *   must be there. With -c computing costs what the table COSTS says. With -n
 *   what was charged is shown on the standard error whenever /dev/stat is
 *   printed.
 * - With -r trials are asked for on the standard input (resident.h). MEMORY is
 *   only read; DISKS is where in it the disks begin. With -t each trial leaves
 *   its trace in the file TRACE, where it would be in MEMORY. A trial has its
 *   own boot arguments.
 * - With -e what happens to this disk goes to the file EVENTS (watch.h).
 * - With -w each write of the disk that is at [FROM, END) of MEMORY goes to the
 *   file LOG, too, as QEMU's blklogwrites has it: after a sector for all of
 *   them, each has a sector that begins with its place and size in sectors, and
 *   its data.
 * - With -l it is machine NUMBER of a network, from 1, and inherits the sockets
 *   to the others. With -d all frames of its device go to the file FRAMES.
 * - The console's output goes to the standard output. There is no input.
 * - The exit status is that of the machine.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/twin/costs.h"
#include "sluice/twin/hart.h"
#include "sluice/twin/host.h"
#include "sluice/twin/nic.h"
#include "sluice/twin/program.h"
#include "sluice/twin/resident.h"
#include "sluice/twin/store.h"
#include "sluice/twin/watch.h"
#include "kernel/driver/driver.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/uart.h"
#include "kernel/measure/trace.h"

void start(u32 hart, u64 dtb_phys); /* main.c */

static int memory_file;
static u64 disks; /* resident: where they begin in it, or 0 */
static const char *trace_kept;
static u64 logged_from, logged_end; /* the disk whose writes are logged */
static FILE *write_log;

/* ---- what machine.c asks for ---- */

void host_write(const char *text, u64 n)
{
    for (u64 at = 0; at < n;) {
        i64 written = write(1, text + at, n - at);
        if (written <= 0)
            exit(STATUS_PANIC);
        at += written;
    }
}

static void keep_trace(void)
{
    int file = open(trace_kept, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    u64 records = MIN(trace_ring->written, trace_ring->records);
    u64 n = sizeof *trace_ring + records * sizeof trace_ring->record[0];
    if (pwrite(file, trace_ring, n, (u64)trace_ring - MEMORY_PHYS) != (i64)n)
        _exit(STATUS_PANIC);
    close(file);
}

/* End the machine: write the trace, logs and last frames. A log that cannot be
 * written ends it as a panic does. */
void host_end(int status)
{
    if (!disks) /* the memory is a file, in which engine.py finds the trace */
        *(u64 *)MEMORY_PHYS = (u64)trace_ring;
    if (trace_kept && trace_ring)
        keep_trace();
    if ((write_log && fclose(write_log)) || watch_end())
        _exit(STATUS_PANIC);
    nic_flush(); /* the last frames of a machine that panics */
    resident_ended(status);
    _exit(status);
}

/* Of a disk most bytes are touched once, if at all: then a call costs less than
 * a page fault, and reading a hole of the file makes no page of it. */
static void log_write(const void *data, u64 at, u64 bytes)
{
    u64 entry[SECTOR_BYTES / sizeof(u64)] = {at / SECTOR_BYTES,
                                             bytes / SECTOR_BYTES};
    if (fwrite(entry, sizeof entry, 1, write_log) != 1 ||
        fwrite(data, bytes, 1, write_log) != 1)
        _exit(STATUS_PANIC);
}

/* Move bytes between memory and a disk, both at places in the machine's memory
 * file. */
i64 host_move(void *memory, u64 disk, u64 bytes, bool write)
{
    if (write && disk >= logged_from && disk < logged_end)
        log_write(memory, disk - logged_from, bytes);
    if (disks)
        return store_move((u64)memory, disk, bytes, write);
    i64 n = write ? pwrite(memory_file, memory, bytes, disk)
                  : pread(memory_file, memory, bytes, disk);
    return n == (i64)bytes ? 0 : -1;
}

bool host_limits_addresses(void)
{
    struct rlimit most;
    return !getrlimit(RLIMIT_AS, &most) && most.rlim_cur != RLIM_INFINITY;
}

/* ---- the beginning ---- */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "twin: %s: %s\n", what, why);
    exit(STATUS_BOOT_FAIL);
}

static void must(bool done, const char *what, const char *why)
{
    if (!done)
        fail(what, why);
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

/* Map the file of the machine's memory at its physical address, or a private
 * copy of it for many trials. */
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

/* FROM:END:LOG */
static void log_writes(char *what)
{
    char *at = what;
    logged_from = strtoul(at, &at, 10);
    logged_end = strtoul(at + (*at == ':'), &at, 10);
    write_log = *at == ':' ? fopen(at + 1, "wb") : NULL;
    if (!write_log || fseek(write_log, SECTOR_BYTES, SEEK_SET))
        fail(what, "cannot be the log of a disk's writes");
}

/* DISK:EVENTS */
static void watch(char *what)
{
    char *at = what;
    u64 number = strtoul(at, &at, 10);
    if (at == what || *at != ':')
        fail(what, "want DISK:EVENTS");
    watch_disk(number, at + 1);
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

static void run(char *args)
{
    add_words(&args, 1);
    start(0, 0);
}

int main(int argc, char **argv)
{
    int option;
    const char *memory = NULL;
    while ((option = getopt(argc, argv, "c:d:e:l:np:m:r:t:w:")) >= 0) {
        if (option == 'c')
            costs_read(optarg);
        else if (option == 'd')
            must(nic_dump(optarg), optarg, "cannot be made");
        else if (option == 'e')
            watch(optarg);
        else if (option == 'l')
            must(nic_join(optarg), optarg, "is not NUMBER:SOCKET[:SOCKET...]");
        else if (option == 'n')
            costs_shown = true;
        else if (option == 'p')
            programs_folder = optarg;
        else if (option == 'm')
            memory = optarg;
        else if (option == 'r')
            disks = strtoul(optarg, NULL, 10);
        else if (option == 't')
            trace_kept = optarg;
        else if (option == 'w')
            log_writes(optarg);
        else
            return STATUS_BOOT_FAIL;
    }
    if (!programs_folder || !memory)
        fail("options", "-p and -m are needed");
    must(!disks || optind == argc, "-r", "each trial has its boot arguments");
    map_memory(memory);
    if (disks)
        resident_serve(run);
    add_words(argv + optind, argc - optind);
    start(0, 0);
}

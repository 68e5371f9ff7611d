/*
 * The machine in a page: what sluice/twin/host.c does on Linux. The page fills
 * in the boot arguments and the disks, and calls boot() (switch.c).
 *
 * - A disk has memory for those of its pages that are not all zero.
 */
#include "sluice/twin/host.h"
#include "sluice/wasm/page.h"
#include "sluice/twin/costs.h"
#include "sluice/twin/hart.h"
#include "kernel/base/string.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/mem.h"
#include "kernel/measure/trace.h"

#define DISKS      0x40000000UL /* where disks begin, behind MEMORY_PHYS */
#define DISKS_END  0xc0000000UL
#define GROW_BYTES 0x1000000UL

#define EXPORT(name) __attribute__((export_name(#name)))

extern char __heap_base[];

static u32 disk_pages[(DISKS_END - DISKS) / PAGE_SIZE]; /* addresses, or 0 */
static u64 free_at, free_end;

/* ---- what machine.c asks for ---- */

void host_write(const char *text, u64 n)
{
    page_write((u64)text, n);
}

void host_end(int status)
{
    page_end(status);
}

void costs_show(void)
{
}

void costs_traced(u32 event)
{
    (void)event;
}

/* ---- disks ---- */

static u8 *new_page(void)
{
    if (!free_at)
        free_at = free_end = ROUND_UP((u64)__heap_base, PAGE_SIZE);
    if (free_at == free_end) {
        free_end += GROW_BYTES;
        page_grow(free_end);
    }
    free_at += PAGE_SIZE;
    return (u8 *)free_at - PAGE_SIZE;
}

/* The page of a disk at this place; NULL: it is all zero, and make is false. */
static u8 *disk_page(u64 disk, bool make)
{
    u32 *page = &disk_pages[(disk - DISKS) / PAGE_SIZE];
    if (!*page && make)
        *page = (u64)new_page();
    return (u8 *)(u64)*page;
}

i64 host_move(void *memory, u64 disk, u64 bytes, bool write)
{
    char *at = memory;
    for (u64 n; bytes; bytes -= n, disk += n, at += n) {
        u64 offset = disk % PAGE_SIZE;
        u8 *page = disk_page(disk, write);
        n = MIN(bytes, PAGE_SIZE - offset);
        if (write)
            memcpy(page + offset, at, n);
        else if (page)
            memcpy(at, page + offset, n);
        else
            memset(at, 0, n);
    }
    return 0;
}

/* ---- for the page: before boot() ---- */

/* A page of a disk, to be filled; `at` counts from the first disk's start. */
EXPORT(disk) u32 disk_at(u32 at)
{
    return (u64)disk_page(DISKS + at, true);
}

/* Where the table of RAM disks is to be written (kernel/driver/ramdisk.c), and
 * its physical address. */
EXPORT(table) u32 table(void)
{
    return (u64)machine_memory + MEMORY_BYTES;
}

/* Where the boot arguments are to be written, with a 0 behind. */
EXPORT(arguments) u32 arguments(void)
{
    machine.memory_bytes = DISKS_END;
    return (u64)machine.bootargs;
}

/* ---- after the end ---- */

/* The trace's ring (kernel/measure/trace.h), or 0. */
EXPORT(ring) u32 ring(void)
{
    return (u64)trace_ring;
}

/* The data of RAM disks in a resident twin (store.h). */
#define _GNU_SOURCE
#include "sluice/twin/store.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/machine/panic.h"

#define HUGE_PAGE (2UL << 20)

static u64 start, length;
static u32
    *slot_of;     /* of each page: its place in `slots`; 0: all bytes are 0 */
static u8 *slots; /* PAGE_SIZE bytes each; the first is not used */
static u32 last_slot;

/* Zeros, which take memory where they are written. */
static void *reserve(u64 bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        panic("twin: no memory for disks of %lu bytes", bytes);
    return at;
}

/* Up to the end of the page that `at` is in. */
static u64 piece_at(u64 at, u64 bytes)
{
    return MIN(bytes, PAGE_SIZE - at % PAGE_SIZE);
}

static u8 *place_of(u64 at, bool write)
{
    u32 *slot = &slot_of[at / PAGE_SIZE];
    if (!*slot && write)
        *slot = ++last_slot;
    return *slot ? slots + *slot * PAGE_SIZE + at % PAGE_SIZE : NULL;
}

i64 store_move(u64 memory, u64 at, u64 bytes, bool write)
{
    if (at < start || at - start > length || bytes > length - (at - start))
        return -1;
    for (u64 n; bytes; memory += n, at += n, bytes -= n) {
        n = piece_at(at - start, bytes);
        u8 *place = place_of(at - start, write);
        if (!place)
            memset((void *)memory, 0, n);
        else if (write)
            memcpy(place, (const void *)memory, n);
        else
            memcpy((void *)memory, place, n);
    }
    return 0;
}

/* Copy a piece of the file that is no hole. */
static void load(int file, u64 at, u64 end)
{
    for (u64 n; at < end; at += n) {
        n = piece_at(at - start, end - at);
        if (pread(file, place_of(at - start, true), n, at) != (i64)n)
            panic("twin: a disk's data cannot be read");
    }
}

void store_load(int file, u64 from, u64 end)
{
    start = from;
    length = end - from;
    slot_of = reserve((length / PAGE_SIZE + 1) * sizeof *slot_of);
    slots = reserve(length + 2 * HUGE_PAGE);
    slots += -(u64)slots % HUGE_PAGE;
    madvise(slots, length + HUGE_PAGE, MADV_HUGEPAGE);
    for (u64 at = from; at < end;) {
        i64 data = lseek(file, at, SEEK_DATA);
        if (data < 0)
            break;
        at = MIN((u64)lseek(file, data, SEEK_HOLE), end);
        load(file, data, at);
    }
    /* A trial's own pages begin a huge page. */
    last_slot |= HUGE_PAGE / PAGE_SIZE - 1;
}

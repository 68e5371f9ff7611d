/* The data of RAM disks in a resident twin (store.h). */
#define _GNU_SOURCE
#include "sluice/twin/store.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/machine/panic.h"

#define HUGE_PAGE (2UL << 20)
#define WRITTEN   256
#define PIECE     1024 /* entries of slot_of */

static u64 start, length;
/* Of each page: its slot, or 0 if all its bytes are 0. Pages of equal contents
 * may share a slot. */
static u32 *slot_of;
static u8 *slots;     /* PAGE_SIZE bytes each; the first is not used */
static u32 *uses;     /* of each slot: how many pages have it */
static u32 last_slot; /* that was ever used */
static u32 free_slot; /* begins a list: a free slot begins with the next one */
static u32 written[WRITTEN]; /* slots lately written, by their first word */

/* Before the first trial: slot_of, and uses of the slots up to first_slots. */
static u32 *first_slot_of, *first_uses;
static u32 first_slots;
/* Of each PIECE of slot_of: true if the trial has changed it. */
static bool *changed;

/* Reserve zeros, which take memory only where they are written. */
static void *reserve(u64 bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        panic("twin: no memory for disks of %lu bytes", bytes);
    return at;
}

/* How many of the bytes from `at` on lie in the same page. */
static u64 piece_at(u64 at, u64 bytes)
{
    return MIN(bytes, PAGE_SIZE - at % PAGE_SIZE);
}

static u8 *bytes_of(u32 slot)
{
    return slots + slot * PAGE_SIZE;
}

/* ---- slots ---- */

/* Take a free slot. Its bytes are undefined. */
static u32 take_slot(void)
{
    u32 slot = free_slot;
    if (slot)
        memcpy(&free_slot, bytes_of(slot), sizeof free_slot);
    else
        slot = ++last_slot;
    uses[slot] = 1;
    return slot;
}

/* A page uses its slot no more; without users the slot is free. */
static void leave_slot(u32 slot)
{
    if (!slot || --uses[slot])
        return;
    memcpy(bytes_of(slot), &free_slot, sizeof free_slot);
    free_slot = slot;
}

/* Return the bytes of a page in a slot that no other page has. */
static u8 *own(u32 *slot)
{
    u32 old = *slot;
    if (uses[old] == 1)
        return bytes_of(old);
    *slot = take_slot();
    if (old)
        memcpy(bytes_of(*slot), bytes_of(old), PAGE_SIZE);
    else
        memset(bytes_of(*slot), 0, PAGE_SIZE);
    leave_slot(old);
    return bytes_of(*slot);
}

/* ---- moving ---- */

static u32 *written_like(const u8 *data)
{
    u64 word;
    memcpy(&word, data, sizeof word);
    return &written[word * 0x9e3779b97f4a7c15UL >> 56]; /* 2^64/golden ratio */
}
_Static_assert(WRITTEN == 1 << (64 - 56), "bits of written_like");

/* Write a whole page. If the page written last with like contents is equal,
 * both share a slot. */
static void write_page(u32 *slot, const u8 *data)
{
    u32 *like = written_like(data);
    if (uses[*like] && !memcmp(bytes_of(*like), data, PAGE_SIZE)) {
        uses[*like]++;
        leave_slot(*slot);
        *slot = *like;
        return;
    }
    if (uses[*slot] != 1) {
        leave_slot(*slot);
        *slot = take_slot();
    }
    memcpy(bytes_of(*slot), data, PAGE_SIZE);
    *like = *slot;
}

static void read_piece(u32 slot, u8 *to, u64 at, u64 n)
{
    if (slot)
        memcpy(to, bytes_of(slot) + at, n);
    else
        memset(to, 0, n);
}

i64 store_move(u64 memory, u64 at, u64 bytes, bool write)
{
    if (at < start || at - start > length || bytes > length - (at - start))
        return -1;
    at -= start;
    /* Page by page. A slot is shared until it is written: `own` gives the page
     * a slot of its own, and so does write_page. */
    for (u64 n; bytes; memory += n, at += n, bytes -= n) {
        u32 *slot = &slot_of[at / PAGE_SIZE];
        u64 in_page = at % PAGE_SIZE;
        n = piece_at(at, bytes);
        changed[at / PAGE_SIZE / PIECE] |= write;
        if (!write)
            read_piece(*slot, (u8 *)memory, in_page, n);
        else if (n == PAGE_SIZE)
            write_page(slot, (const u8 *)memory);
        else
            memcpy(own(slot) + in_page, (const u8 *)memory, n);
    }
    return 0;
}

/* ---- the beginning ---- */

/* Copy a piece of the file that is no hole. */
static void load(int file, u64 at, u64 end)
{
    for (u64 n; at < end; at += n) {
        u8 *page = own(&slot_of[(at - start) / PAGE_SIZE]);
        n = piece_at(at - start, end - at);
        if (pread(file, page + (at - start) % PAGE_SIZE, n, at) != (i64)n)
            panic("twin: a disk's data cannot be read");
    }
}

/* A multiple of PIECE entries. */
static u64 slots_bytes(void)
{
    return (length / PAGE_SIZE / PIECE + 1) * PIECE * sizeof *slot_of;
}

/* Load the disks from the file of memory, without its holes. */
void store_load(int file, u64 from, u64 end)
{
    start = from;
    length = end - from;
    slot_of = reserve(slots_bytes());
    first_slot_of = reserve(slots_bytes());
    changed = reserve(slots_bytes() / PIECE);
    uses = reserve((length + HUGE_PAGE) / PAGE_SIZE * sizeof *uses);
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
    first_slots = last_slot;
    /* A trial's own pages begin a huge page. Most trials write few different
     * pages: the first are small ones, which are cleared one at a time. */
    last_slot |= HUGE_PAGE / PAGE_SIZE - 1;
    madvise(bytes_of(last_slot + 1), HUGE_PAGE, MADV_NOHUGEPAGE);
}

/* ---- many trials ---- */

/* Count one more use of each slot that is there now. This use belongs to no
 * page, so the count never falls to 0, and no trial changes or frees the slot.
 */
void store_save(void)
{
    first_uses = reserve((first_slots + 1) * sizeof *uses);
    for (u32 i = 1; i <= first_slots; i++)
        first_uses[i] = ++uses[i];
    for (u64 i = 0; i <= length / PAGE_SIZE; i++)
        if (slot_of[i])
            first_slot_of[i] = slot_of[i];
    mprotect(slots, (last_slot + 1) * PAGE_SIZE, PROT_READ);
}

/* Set all pages back to what they were after store_save. */
void store_restore(void)
{
    memcpy(uses, first_uses, (first_slots + 1) * sizeof *uses);
    for (u64 i = 0; i <= length / PAGE_SIZE; i += PIECE)
        if (changed[i / PIECE]) {
            memcpy(slot_of + i, first_slot_of + i, PIECE * sizeof *slot_of);
            changed[i / PIECE] = false;
        }
}

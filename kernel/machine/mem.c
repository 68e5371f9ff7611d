/*
 * Physical memory by the page. mem.h has the contract.
 *
 * - [frontier, end) has never been handed out and never been touched. Pages
 *   below it are in use or on the free list, linked through themselves.
 * - A page's reference count is written when it leaves the frontier, so the
 *   array of counts need not be cleared: boot time does not depend on it.
 * - mem.lock guards the free list and the frontier; counts are atomic.
 */
#include "kernel/machine/fdt.h"
#include "kernel/machine/lock.h"
#include "kernel/base/stat.h"

struct free_page {
    struct free_page *next;
};

static struct {
    struct spinlock lock;
    struct free_page *free;
    u64 nfree;         /* on that list */
    u64 frontier, end; /* physical */
    u64 first;         /* physical, of the page that refs[0] counts */
    u32 *refs;
} mem;

GAUGE(free_gauge, "mem.free", "pages", "not in use", mem_free_pages);
GAUGE(total_gauge, "mem.total", "pages", "the machine has", mem_total_pages);

#define LISTED 0xf4ee11edU /* more than any page's references */

/* At boot: manage this range. Its first pages hold the counts of references. */
void mem_init(u64 first_phys, u64 end_phys)
{
    mem.lock = SPINLOCK("mem", RANK_MEM);
    mem.first = ROUND_UP(first_phys, PAGE_SIZE);
    mem.end = ROUND_DOWN(end_phys, PAGE_SIZE);
    mem.refs = virt_of(mem.first);
    u64 refs_bytes = (mem.end - mem.first) / PAGE_SIZE * sizeof(u32);
    mem.frontier = ROUND_UP(mem.first + refs_bytes, PAGE_SIZE);
    assert(mem.frontier < mem.end);
}

/* Return the reference count of a page. */
static u32 *refs_of(const void *page)
{
    u64 phys = phys_of(page);
    assert(phys >= mem.first && phys < mem.end && phys % PAGE_SIZE == 0);
    return &mem.refs[(phys - mem.first) / PAGE_SIZE];
}

/* Take the first free pages that lie in one piece of this many bytes. Meanwhile
 * the counts say what is on the list. A count that was never written is LISTED
 * by a chance of 1 in 2^32. Caller holds mem.lock. */
static void *take_free(u64 bytes)
{
    u64 end = mem.first, piece = 0;
    for (struct free_page *f = mem.free; f; f = f->next)
        *refs_of(f) = LISTED;
    for (; piece < bytes && end < mem.end; end += PAGE_SIZE) {
        bool free = end >= mem.frontier || *refs_of(virt_of(end)) == LISTED;
        piece = free ? piece + PAGE_SIZE : 0;
    }
    u64 start = piece < bytes ? end : end - piece;
    for (struct free_page **at = &mem.free; *at;) {
        *refs_of(*at) = 0;
        bool taken = phys_of(*at) >= start && phys_of(*at) < end;
        mem.nfree -= taken;
        if (taken)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    mem.frontier = MAX(mem.frontier, start < end ? end : 0);
    return start < end ? virt_of(start) : NULL;
}

/* Return this many bytes in whole pages that lie side by side, or NULL. Their
 * contents are not set. */
void *mem_reserve(u64 bytes)
{
    HOLD(spin, &mem.lock);
    if (bytes > mem.end - mem.frontier)
        return take_free(ROUND_UP(bytes, PAGE_SIZE));
    void *start = virt_of(mem.frontier);
    mem.frontier += ROUND_UP(bytes, PAGE_SIZE);
    return start;
}

void *mem_clear(void *start, u64 bytes)
{
    return start ? memset(start, 0, bytes) : NULL;
}

/* Return a page with one reference, or NULL. Its contents are not set. */
void *page_alloc(void)
{
    void *page = NULL;
    HOLD(spin, &mem.lock);
    if (mem.free) {
        page = mem.free;
        mem.free = mem.free->next;
        mem.nfree--;
    } else if (mem.frontier < mem.end) {
        page = virt_of(mem.frontier);
        mem.frontier += PAGE_SIZE;
    }
    if (page)
        *refs_of(page) = 1;
    return page;
}

void *page_alloc_zero(void)
{
    return mem_clear(page_alloc(), PAGE_SIZE);
}

void page_ref(void *page)
{
    u32 before = __atomic_fetch_add(refs_of(page), 1, __ATOMIC_RELAXED);
    assert(before > 0);
}

/* Give a reference back; the last one frees the page. NULL is allowed. */
void page_free(void *page)
{
    if (!page)
        return;
    u32 before = __atomic_fetch_sub(refs_of(page), 1, __ATOMIC_ACQ_REL);
    if (before == 0)
        panic("page_free: page %p is free already", page);
    if (before > 1)
        return;
    if (CHECKED)
        memset(page, 0xdd, PAGE_SIZE);
    struct free_page *f = page;
    HOLD(spin, &mem.lock);
    f->next = mem.free;
    mem.free = f;
    mem.nfree++;
}

/* Free what mem_reserve gave, page by page. Its pages had no counts until
 * now. */
void mem_release(void *start, u64 bytes)
{
    for (u64 at = 0; at < bytes; at += PAGE_SIZE) {
        *refs_of((char *)start + at) = 1;
        page_free((char *)start + at);
    }
}

u32 page_refs(const void *page)
{
    return __atomic_load_n(refs_of(page), __ATOMIC_ACQUIRE);
}

/* Return how many pages could be allocated now. */
u64 mem_free_pages(void)
{
    HOLD(spin, &mem.lock);
    return mem.nfree + (mem.end - mem.frontier) / PAGE_SIZE;
}

u64 mem_total_pages(void)
{
    return machine.memory_bytes / PAGE_SIZE;
}

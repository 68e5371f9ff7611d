/*
 * Physical memory, by the page, with reference counts.
 *
 * - Pages never handed out are not touched: boot time does not depend on the
 *   size of memory. Returned pages are kept on a list and handed out first.
 * - The direct map: every physical address has one kernel address, and
 *   phys_of/virt_of convert. Page pointers in the kernel are kernel addresses.
 */
#pragma once

#include "kernel/machine/riscv.h" /* DIRECT_MAP */

/* Return the physical address of a kernel address. */
static inline u64 phys_of(const void *p)
{
    return (u64)p - DIRECT_MAP;
}

/* Return the kernel address of a physical address. */
static inline void *virt_of(u64 phys)
{
    return (void *)(phys + DIRECT_MAP);
}

/* Take over [first, end) of physical memory. */
void mem_init(u64 first_phys, u64 end_phys);

/*
 * Set bytes aside: contiguous, page aligned, not cleared. They are taken from
 * the pages never handed out or, if there is not that much, from those that
 * were returned, which takes time. NULL if there is no such piece.
 * mem_release returns them, as single pages.
 */
void *mem_reserve(u64 bytes);
void *mem_clear(void *start, u64 bytes); /* returns start; NULL: nothing */
void mem_release(void *start, u64 bytes);

void *page_alloc(void);      /* contents undefined; NULL when out of memory */
void *page_alloc_zero(void); /* NULL when out of memory */
void page_ref(void *page);   /* one more reference */
void page_free(void *page);  /* one fewer; the last frees it; NULL: nothing */
u32 page_refs(const void *page);

u64 mem_free_pages(void);
u64 mem_total_pages(void); /* the machine's */

/* Free the page when the pointer goes out of scope. */
#define PAGE_OWNED __attribute__((cleanup(page_owned_free)))

static inline void page_owned_free(char **page)
{
    page_free(*page);
}

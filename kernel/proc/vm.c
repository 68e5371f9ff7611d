/*
 * Sv39 page tables. RISC-V Privileged Architecture 1.12, section 4.4; vm.h
 * has the contract and the map.
 *
 * - Only a process itself changes its page table, so none has a lock. The
 *   kernel's own part is made at boot; the tables under the kernel stacks'
 *   root entry are shared by all, so stacks mapped later appear in all.
 * - Copies to and from the user go by the direct map, after a look-up in
 *   software: sstatus.SUM stays off.
 * - sfence.vma empties QEMU's whole TLB, and filling it again is most of what
 *   a fork costs. It is left out where an entry only becomes valid or more
 *   permissive: if the TLB still has the old entry, the fault that follows
 *   only makes a fence. Else it is put off to the return to user mode
 *   (fence_due), where a switch of tables may have made it needless: the
 *   kernel itself never reads a user address through the TLB.
 * - A hart uses the table of a process only while it runs there or, when it
 *   is the only hart, until the next process does (runqueue.c). So a process's
 *   table is in no other hart's satp, and a dead one's in none once its
 *   parent runs.
 */
#include "kernel/proc/vm.h"
#include "kernel/measure/cost.h"
#include "kernel/proc/proc.h"

#define ENTRIES    512 /* of a table */
#define USER_HALF  256 /* of the root's are the user's */
#define MEGAPAGE   (1UL << 21)
#define GIGAPAGE   (1UL << 30)
#define DIRECT_GIB 10 /* gigapages of direct map: devices, 8 GiB of memory */
#define PTE_KERNEL (PTE_V | PTE_G | PTE_A | PTE_D | PTE_R)

extern char text_start[], text_end[], rodata_end[], kernel_end[];

static u64 *kernel_table;

/* Return an entry for this page: its physical page number is in bits 10 and
 * up. */
static u64 pte_make(const void *page, u64 flags)
{
    return phys_of(page) >> 12 << 10 | flags;
}

/* Return the page or table to which an entry leads. */
static void *pte_page(u64 pte)
{
    return virt_of(pte >> 10 << 12);
}

/* Return the index into the table of this level: 9 bits of the address each,
 * level 0 the lowest. */
static u32 index_at(u64 va, u32 level)
{
    return va >> (12 + 9 * level) & (ENTRIES - 1);
}

/* Return the entry for va in a table of the given level (0: of pages), from the
 * root down. If a table is missing, it is made if `make` is set; without that,
 * or without memory, return NULL. */
static u64 *walk(u64 *root, u64 va, u32 to_level, bool make)
{
    u64 *table = root;
    for (u32 level = 2; level > to_level; level--) {
        u64 *pte = &table[index_at(va, level)];
        if (!(*pte & PTE_V)) {
            void *lower = make ? page_alloc_zero() : NULL;
            if (!lower)
                return NULL;
            *pte = pte_make(lower, PTE_V);
        }
        table = pte_page(*pte);
    }
    return &table[index_at(va, to_level)];
}

/* ---- the kernel's table ---- */

/* Enter a page, or a larger one at a higher level, in the kernel's table. */
static void map_kernel(u64 va, u32 level, void *page, u64 flags)
{
    u64 *pte = walk(kernel_table, va, level, true);
    assert(pte && !(*pte & PTE_V));
    *pte = pte_make(page, flags | PTE_KERNEL);
}

/* Map va, an address in the direct map, to the physical page that it stands
 * for. level: where walk() ends, which gives the page's size. */
static void map_direct(u64 va, u32 level, u64 flags)
{
    map_kernel(va, level, (void *)va, flags);
}

/* Return the permissions besides read of this address of the kernel: code,
 * constants or data. */
static u64 image_flags(u64 va)
{
    if (va < (u64)text_end)
        return PTE_X;
    return va < (u64)rodata_end ? 0 : PTE_W;
}

/* Map the gibibyte in which the kernel lies, by pages where its image is. */
static void map_image_gib(u64 start)
{
    u64 image_end = ROUND_UP((u64)kernel_end, MEGAPAGE);
    for (u64 va = start; va < image_end; va += PAGE_SIZE)
        map_direct(va, 0, image_flags(va));
    for (u64 va = image_end; va < start + GIGAPAGE; va += MEGAPAGE)
        map_direct(va, 1, PTE_W);
}

/* At boot: make the kernel's table, with the direct map and room for all
 * stacks, and use it. */
void vm_init(void)
{
    kernel_table = page_alloc_zero();
    assert(kernel_table);
    u64 image_gib = ROUND_DOWN((u64)text_start, GIGAPAGE);
    for (u64 i = 0; i < DIRECT_GIB; i++) {
        u64 va = DIRECT_MAP + i * GIGAPAGE;
        if (va == image_gib)
            map_image_gib(va);
        else
            map_direct(va, 2, PTE_W);
    }
    u64 stacks_end = KSTACK_BASE + MAX_PROCS * STACK_STRIDE;
    for (u64 va = KSTACK_BASE; va < stacks_end; va += MEGAPAGE)
        assert(walk(kernel_table, va, 0, true));
    vm_use(NULL);
}

/* Map a page of a kernel stack. No table can be missing: vm_init has made those
 * of all stacks. */
void vm_map_kernel(u64 va, void *page)
{
    map_kernel(va, 0, page, PTE_W);
    sfence();
}

/* Have this hart use the table; NULL is the kernel's. */
void vm_use(u64 *pagetable)
{
    struct cpu *c = mycpu();
    if (!pagetable)
        pagetable = kernel_table;
    if (c->pagetable == pagetable)
        return;
    c->pagetable = pagetable;
    c->fence_due = false;
    csr_write(satp, SATP_SV39 | phys_of(pagetable) >> 12);
    sfence();
}

void vm_fence(void)
{
    sfence();
    mycpu()->fence_due = false;
}

/* ---- user tables ---- */

/* Return a table without user memory, or NULL. */
u64 *vm_create(void)
{
    u64 *root = page_alloc();
    return root ? memcpy(root, kernel_table, PAGE_SIZE) : NULL;
}

/* Free all that the first n entries of a table refer to. */
static void free_entries(u64 *table, u32 n, u32 level)
{
    for (u32 i = 0; i < n; i++) {
        void *page = pte_page(table[i]);
        if (!(table[i] & PTE_V))
            continue;
        table[i] = 0;
        if (level > 0)
            free_entries(page, ENTRIES, level - 1);
        page_free(page);
    }
}

/* Free all user pages of the table, and the tables below it. */
void vm_empty(u64 *pagetable)
{
    free_entries(pagetable, USER_HALF, 2);
    mycpu()->fence_due = true;
}

/* Free all of an address space that no hart uses. */
void vm_destroy(u64 *pagetable)
{
    assert(mycpu()->pagetable != pagetable);
    vm_empty(pagetable);
    page_free(pagetable);
}

/* Copy the n entries of a table and all below. Writable pages become read-only
 * in both, to be copied on write. */
static int fork_table(u64 *from, u64 *to, u32 n, u32 level)
{
    for (u32 i = 0; i < n; i++) {
        if (!(from[i] & PTE_V))
            continue;
        if (level > 0) {
            u64 *lower = page_alloc_zero();
            if (!lower)
                return -ENOMEM;
            to[i] = pte_make(lower, PTE_V);
            if (fork_table(pte_page(from[i]), lower, ENTRIES, level - 1) < 0)
                return -ENOMEM;
            continue;
        }
        if (from[i] & PTE_W)
            from[i] ^= PTE_W | PTE_COW;
        to[i] = from[i];
        page_ref(pte_page(from[i]));
    }
    return 0;
}

/* Give the writer a page of its own. */
static bool break_cow(u64 *pte)
{
    void *old = pte_page(*pte);
    u64 flags = (*pte & 0x3ff & ~PTE_COW) | PTE_W;
    if (page_refs(old) == 1) {
        *pte = pte_make(old, flags);
        return true;
    }
    void *page = page_alloc();
    if (!page)
        return false;
    memcpy(page, old, PAGE_SIZE);
    *pte = pte_make(page, flags);
    page_free(old);
    mycpu()->fence_due = true;
    return true;
}

/* Share all user pages with a child's table. The page at hot_va, the stack's,
 * is copied at once: both will write it. */
int vm_fork(u64 *from, u64 *to, u64 hot_va)
{
    int error = fork_table(from, to, USER_HALF, 2);
    mycpu()->fence_due = true;
    if (error || hot_va >= USER_TOP)
        return error;
    u64 *theirs = walk(to, hot_va, 0, false), *ours;
    if (!theirs || !(*theirs & PTE_COW))
        return 0;
    ours = walk(from, hot_va, 0, false);
    return break_cow(theirs) && break_cow(ours) ? 0 : -ENOMEM;
}

/* Map a new page at this address. Return it, or NULL without memory. */
void *vm_add(u64 *pagetable, u64 va, u64 perm, bool zero)
{
    assert(va >= USER_BASE && va < USER_TOP && va % PAGE_SIZE == 0);
    void *page = zero ? page_alloc_zero() : page_alloc();
    u64 *pte = page ? walk(pagetable, va, 0, true) : NULL;
    if (!pte) {
        page_free(page);
        return NULL;
    }
    assert(!(*pte & PTE_V));
    *pte = pte_make(page, perm | PTE_V | PTE_U | PTE_A | PTE_D);
    return page;
}

/* Free the pages in this range of addresses. A missing table is passed over at
 * once. */
void vm_unmap(u64 *pagetable, u64 from, u64 to)
{
    assert(from % PAGE_SIZE == 0);
    while (from < to) {
        u64 *pte = walk(pagetable, from, 0, false);
        if (!pte) {
            from = ROUND_DOWN(from, MEGAPAGE) + MEGAPAGE;
            continue;
        }
        if (*pte & PTE_V) {
            page_free(pte_page(*pte));
            *pte = 0;
        }
        from += PAGE_SIZE;
    }
    mycpu()->fence_due = true;
}

/* Add a page at its first use, or copy a shared one at its first write. Return
 * the byte at va in the direct map, or NULL. */
inline void *vm_fault(u64 va, bool write)
{
    struct proc *p = myproc();
    if (!p->pagetable || va < USER_BASE || va >= USER_TOP)
        return NULL;
    u64 *pte = walk(p->pagetable, va, 0, false);
    if (!pte || !(*pte & PTE_V)) {
        if (va >= p->brk && va < USER_STACK_LOW)
            return NULL;
        char *page = vm_add(p->pagetable, ROUND_DOWN(va, PAGE_SIZE),
                            PTE_R | PTE_W, true);
        return page ? page + va % PAGE_SIZE : NULL;
    }
    if (write && !(*pte & PTE_W) && (!(*pte & PTE_COW) || !break_cow(pte)))
        return NULL;
    return (char *)pte_page(*pte) + va % PAGE_SIZE;
}

/* Handle a page fault of a program. False: the access is not allowed, or no
 * memory is left. */
bool vm_trap(u64 va, u64 access)
{
    struct proc *p = myproc();
    u64 *pte = va < USER_TOP ? walk(p->pagetable, va, 0, false) : NULL;
    if (pte && (*pte & PTE_V) && (*pte & access)) {
        mycpu()->fence_due = true; /* the hart remembered an older entry */
        return true;
    }
    return access != PTE_X && vm_fault(va, access == PTE_W);
}

/* ---- copies ---- */

/* Copy n bytes from `from` to `to`, one of which is the user address. */
static inline int copy(u64 to, u64 from, u64 n, bool out)
{
    u64 bytes = n;
    while (n > 0) {
        u64 user = out ? to : from;
        u64 piece = MIN(n, PAGE_SIZE - user % PAGE_SIZE);
        void *page = vm_fault(user, out);
        if (!page)
            return -EFAULT;
        memcpy(out ? page : (void *)to, out ? (void *)from : page, piece);
        to += piece;
        from += piece;
        n -= piece;
    }
    charge_bytes(out ? COST_copy_out_kb : COST_copy_in_kb, bytes);
    return 0;
}

/* Copy n bytes from user memory. Return 0 or -EFAULT. */
int copyin(void *to, u64 from_user, u64 n)
{
    return copy((u64)to, from_user, n, false);
}

/* Copy n bytes to user memory. Return 0 or -EFAULT. */
int copyout(u64 to_user, const void *from, u64 n)
{
    return copy(to_user, (u64)from, n, true);
}

/* Copy a string of less than n bytes from user memory. Return its length,
 * -EFAULT, or -ENAMETOOLONG. */
int copyinstr(char *to, u64 from_user, u64 n)
{
    const char *from = NULL;
    for (u64 i = 0; i < n; i++, from++) {
        if (!from || (from_user + i) % PAGE_SIZE == 0)
            from = vm_fault(from_user + i, false);
        if (!from)
            return -EFAULT;
        to[i] = *from;
        if (*from == 0)
            return i;
    }
    return -ENAMETOOLONG;
}

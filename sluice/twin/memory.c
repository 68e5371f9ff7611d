/*
 * The memory of programs (kernel/proc/vm.h), as it is on every host: space.h.
 */
#include "sluice/twin/space.h"
#include "kernel/base/abi.h"
#include "kernel/base/string.h"
#include "kernel/measure/cost.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

struct space *space_of(u64 *pagetable)
{
    return (struct space *)pagetable;
}

struct space *space_now(void)
{
    return space_of(myproc()->pagetable);
}

u64 heap_distance(void)
{
    return space_heap(space_now()) - myproc()->heap;
}

/* ---- as vm.h has it ---- */

u64 *vm_create(void)
{
    return page_alloc_zero();
}

void vm_empty(u64 *pagetable)
{
    struct space *s = space_of(pagetable);
    for (u32 i = 0; i < s->npages; i++)
        page_free(s->page[i].data);
    if (s->place)
        space_leave(s);
    memset(s, 0, sizeof *s);
}

void vm_destroy(u64 *pagetable)
{
    vm_empty(pagetable);
    page_free(pagetable);
}

/* Add a page to a process's pages before it begins; there are no page
 * tables. */
void *vm_add(u64 *pagetable, u64 va, u64 perm, bool zero)
{
    struct space *s = space_of(pagetable);
    (void)perm;
    void *page = NULL;
    if (s->npages < SPACE_PAGES)
        page = zero ? page_alloc_zero() : page_alloc();
    if (!page)
        return NULL;
    s->page[s->npages].va = va;
    s->page[s->npages++].data = page;
    return page;
}

/* Memory that leaves the heap is zero when it comes back. */
void vm_unmap(u64 *pagetable, u64 from, u64 to)
{
    if (to > from)
        space_zero(space_of(pagetable), from + heap_distance(), to - from);
}

void vm_use(u64 *pagetable)
{
    (void)pagetable;
}

void vm_fence(void)
{
}

bool vm_trap(u64 va, u64 access)
{
    (void)va, (void)access;
    return false;
}

/* ---- copies ---- */

int copyin(void *to, u64 from_user, u64 n)
{
    if (!space_has(space_now(), from_user, n))
        return -EFAULT;
    space_get(space_now(), to, from_user, n);
    charge_bytes(COST_copy_in_kb, n);
    return 0;
}

int copyout(u64 to_user, const void *from, u64 n)
{
    if (!space_has(space_now(), to_user, n))
        return -EFAULT;
    space_put(space_now(), to_user, from, n);
    charge_bytes(COST_copy_out_kb, n);
    return 0;
}

/* Copy a text from a program. Returns its length, -EFAULT, or -ENAMETOOLONG. */
int copyinstr(char *to, u64 from_user, u64 n)
{
    const struct space *s = space_now();
    if (!space_has(s, from_user, 1))
        return -EFAULT;
    u64 length = space_length(s, from_user, n);
    if (length == n)
        return space_has(s, from_user, n) ? -ENAMETOOLONG : -EFAULT;
    space_get(s, to, from_user, length + 1);
    return length;
}

/* ---- into user mode ---- */

/* exec has laid out the stack below USER_TOP. Copy it to the process's own
 * place, and move the stack pointer and argv: its address (A1) and its pointers
 * up to NULL. */
void space_place_stack(struct space *s, struct trapframe *f)
{
    u64 distance = space_stack_top(s) - USER_TOP;
    for (u32 i = 0; i < s->npages; i++)
        if (s->page[i].va >= USER_STACK_LOW)
            space_put(s, s->page[i].va + distance, s->page[i].data, PAGE_SIZE);
    f->x[REG_SP] += distance;
    f->x[REG_A1] += distance;
    for (u64 word, at = f->x[REG_A1];; at += sizeof word) {
        space_get(s, &word, at, sizeof word);
        if (!word)
            return;
        word += distance;
        space_put(s, at, &word, sizeof word);
    }
}

/*
 * The memory of programs (kernel/proc/vm.h) in a page: each process has an
 * instance of its program's module, with a memory of its own (page.h).
 *
 * - As in grade/twin/space.c, exec reads the machine's program from the disk
 *   through the cache, and of the pages that it lays out the stack is used.
 * - An address in a program's call is one in its memory. Only the heap's are
 *   other ones than the kernel's, by a constant.
 *
 * A struct space is the page that the kernel calls a page table.
 */
#include "grade/live/page.h"
#include "grade/twin/cost.h"
#include "grade/twin/hart.h"
#include "kernel/base/abi.h"
#include "kernel/base/string.h"
#include "kernel/machine/panic.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

#define PAGES 240 /* of a program and its first stack */

struct space {
    u32 program; /* 0: nothing is there yet */
    u32 npages;
    struct {
        u64 va; /* in the machine */
        void *data;
    } page[PAGES];
};
_Static_assert(sizeof(struct space) <= PAGE_SIZE, "fits a page");

static struct space *space_of(u64 *pagetable)
{
    return (struct space *)pagetable;
}

static u32 program_now(void)
{
    return space_of(myproc()->pagetable)->program;
}

/* ---- as vm.h has it ---- */

void vm_init(void)
{
}

/* The page is set aside, as in the machine, but not used. */
void vm_map_kernel(u64 va, void *page)
{
    (void)va, (void)page;
}

u64 *vm_create(void)
{
    return page_alloc_zero();
}

void vm_empty(u64 *pagetable)
{
    struct space *s = space_of(pagetable);
    for (u32 i = 0; i < s->npages; i++)
        page_free(s->page[i].data);
    if (s->program)
        page_unload(s->program);
    memset(s, 0, sizeof *s);
}

void vm_destroy(u64 *pagetable)
{
    vm_empty(pagetable);
    page_free(pagetable);
}

int vm_map(u64 *pagetable, u64 va, void *page, u64 perm)
{
    struct space *s = space_of(pagetable);
    (void)perm;
    if (s->npages == PAGES)
        return -ENOMEM;
    s->page[s->npages].va = va;
    s->page[s->npages++].data = page;
    return 0;
}

/* How far an address of the heap is from the kernel's. */
static u64 heap_distance(const struct proc *p)
{
    return page_heap(space_of(p->pagetable)->program) - p->heap;
}

int vm_fork(u64 *from, u64 *to, u64 hot_va)
{
    (void)hot_va;
    pay(COST_fork, 1);
    space_of(to)->program = page_fork(space_of(from)->program,
                                      myproc()->brk + heap_distance(myproc()));
    return 0;
}

/* What leaves the heap is zero when it comes back. */
void vm_unmap(u64 *pagetable, u64 from, u64 to)
{
    if (to > from)
        page_zero(space_of(pagetable)->program, from + heap_distance(myproc()),
                  to - from);
}

void vm_use(u64 *pagetable)
{
    (void)pagetable;
    pay(COST_switch, 1);
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
    if (!page_has(program_now(), from_user, n))
        return -EFAULT;
    page_get(program_now(), (u64)to, from_user, n);
    pay_part(COST_copy_in_kb, n, 1024);
    return 0;
}

int copyout(u64 to_user, const void *from, u64 n)
{
    if (!page_has(program_now(), to_user, n))
        return -EFAULT;
    page_put(program_now(), to_user, (u64)from, n);
    pay_part(COST_copy_out_kb, n, 1024);
    return 0;
}

int copyinstr(char *to, u64 from_user, u64 n)
{
    if (!page_has(program_now(), from_user, 1))
        return -EFAULT;
    u64 length = page_length(program_now(), from_user, n);
    if (length == n)
        return -ENAMETOOLONG;
    page_get(program_now(), (u64)to, from_user, length + 1);
    return length;
}

/* ---- into user mode ---- */

/* The stack that exec has made, at its place in the program's memory. The
 * arguments are pointers into it. */
static void place_stack(struct space *s, struct trapframe *f)
{
    u64 distance = page_stack_top(s->program) - USER_TOP;
    for (u32 i = 0; i < s->npages; i++)
        if (s->page[i].va >= USER_STACK_LOW)
            page_put(s->program, s->page[i].va + distance, (u64)s->page[i].data,
                     PAGE_SIZE);
    f->x[REG_SP] += distance;
    f->x[REG_A1] += distance;
    for (u64 word, at = f->x[REG_A1];; at += sizeof word) {
        page_get(s->program, (u64)&word, at, sizeof word);
        if (!word)
            return;
        word += distance;
        page_put(s->program, at, (u64)&word, sizeof word);
    }
}

void user_return(struct trapframe *f)
{
    struct space *s = space_of(myproc()->pagetable);
    user_frame = f;
    bool begins = !s->program;
    if (begins) {
        const char *name = myproc()->name;
        pay(COST_exec, 1);
        s->program = page_load((u64)name, strlen(name));
        place_stack(s, f);
    }
    user.program = s->program;
    if (begins)
        user_begin(f);
    if (f->x[REG_A7] == SYS_sbrk && (i64)f->x[REG_A0] >= 0) {
        f->x[REG_A0] += heap_distance(myproc());
        page_reach(s->program, myproc()->brk + heap_distance(myproc()));
    }
    user_resume(f);
}

/*
 * The memory of programs (kernel/proc/vm.h), and how a program begins.
 *
 * A process has a space: a piece of the host's addresses that is its own.
 *
 *   base                 the program: code, constants, data
 *   base + program->end  its heap
 *   base + SPACE_BYTES   the end of its stack
 *
 * - exec reads the machine's program, from the disk and through the cache, and
 *   lays out its pages as in the machine. Of these the twin uses the stack,
 *   with the arguments. What runs is the host's copy of the program
 *   (program.h). The kernel's address of a heap or stack byte differs from the
 *   host's by a constant.
 * - fork copies a space to other addresses. A word in it that lies between base
 *   and the end is taken to be a pointer, and is moved along. Only two bytes of
 *   a word change. So what is no pointer does not look like one, or is not
 *   harmed. Numbers: the lowest base is 8.7 hours in ns. Text: the two bytes
 *   are no characters. Text that has overwritten a part of a pointer: its final
 *   0 is not one of the two.
 *
 * A struct space is the page that the kernel calls a page table.
 */
#include <string.h>
#include <sys/mman.h>

#include "grade/twin/cost.h"
#include "grade/twin/hart.h"
#include "grade/twin/program.h"
#include "kernel/base/abi.h"
#include "kernel/machine/panic.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

#define PAGES 240 /* of a program and its first stack */

struct space {
    u64 base; /* 0: nothing is there yet */
    const struct program *program;
    u64 moved; /* by fork: what its stack pointer is to be moved by */
    u32 npages;
    struct {
        u64 va; /* in the machine */
        void *data;
    } page[PAGES];
};
_Static_assert(sizeof(struct space) <= PAGE_SIZE, "fits a page");

static bool base_in_use[MAX_PROCS + 1]; /* exec has two for a moment */

static struct space *space_of(u64 *pagetable)
{
    return (struct space *)pagetable;
}

static struct space *space_now(void)
{
    return space_of(myproc()->pagetable);
}

/* ---- spaces ---- */

/* See the head of this file. */
static u64 base_of(u32 i)
{
    return (0x1cUL + i / 128) << 40 | (0x80UL + i % 128) << 32;
}

static u64 take_base(void)
{
    u32 i = 0;
    while (base_in_use[i])
        i++;
    base_in_use[i] = true;
    return base_of(i);
}

static void let_base_go(u64 base)
{
    program_unmap(base);
    u32 i = 0;
    while (base_of(i) != base)
        i++;
    base_in_use[i] = false;
}

/* Copy [from, to) of a space to the same place of another, which is all zeros,
 * moving pointers. Most words are zeros: they make no page of the copy. */
static void copy_moved(const struct space *s, u64 base, u64 from, u64 to)
{
    const u64 *word = (const u64 *)(s->base + from);
    u64 *copy = (u64 *)(base + from), delta = base - s->base;
    for (u64 i = 0; i < (to - from) / sizeof *word; i++)
        if (word[i])
            copy[i] =
                word[i] - s->base < SPACE_BYTES ? word[i] + delta : word[i];
}

/* ---- as vm.h has it ---- */

void vm_init(void)
{
    void *want = (void *)KSTACK_BASE;
    u64 bytes = MAX_PROCS * STACK_STRIDE;
    if (mmap(want, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != want)
        panic("twin: no room for the kernel's stacks");
}

/* The page is set aside, as in the machine, but not used. */
void vm_map_kernel(u64 va, void *page)
{
    (void)page;
    if (mprotect((void *)va, PAGE_SIZE, PROT_READ | PROT_WRITE))
        panic("twin: no memory for a kernel stack");
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
    if (s->base)
        let_base_go(s->base);
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

/* How far the host's address of a heap byte is from the kernel's. */
static u64 heap_distance(const struct proc *p)
{
    const struct space *s = space_of(p->pagetable);
    return s->base + s->program->end - p->heap;
}

int vm_fork(u64 *from, u64 *to, u64 hot_va)
{
    struct space *s = space_of(from), *child = space_of(to);
    const struct program *p = s->program;
    (void)hot_va;
    pay(COST_fork, 1);
    child->program = p;
    child->base = take_base();
    program_map(p, child->base);
    child->moved = child->base - s->base;
    u64 brk = myproc()->brk + heap_distance(myproc()) - s->base;
    copy_moved(s, child->base, p->data, ROUND_UP(brk, 8));
    u64 sp = myproc()->trapframe->x[REG_SP] - s->base;
    copy_moved(s, child->base, sp, SPACE_BYTES);
    return 0;
}

/* What leaves the heap is zero when it comes back. */
void vm_unmap(u64 *pagetable, u64 from, u64 to)
{
    (void)pagetable;
    memset((void *)(from + heap_distance(myproc())), 0, to - from);
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

static bool is_user(u64 address, u64 n)
{
    u64 at = address - space_now()->base;
    return at < SPACE_BYTES && n <= SPACE_BYTES - at;
}

int copyin(void *to, u64 from_user, u64 n)
{
    if (!is_user(from_user, n))
        return -EFAULT;
    memcpy(to, (const void *)from_user, n);
    pay_part(COST_copy_in_kb, n, 1024);
    return 0;
}

int copyout(u64 to_user, const void *from, u64 n)
{
    if (!is_user(to_user, n))
        return -EFAULT;
    memcpy((void *)to_user, from, n);
    pay_part(COST_copy_out_kb, n, 1024);
    return 0;
}

int copyinstr(char *to, u64 from_user, u64 n)
{
    if (!is_user(from_user, 1))
        return -EFAULT;
    u64 most = MIN(n, SPACE_BYTES - (from_user - space_now()->base));
    u64 length = strnlen((const char *)from_user, most);
    if (length == most)
        return most < n ? -EFAULT : -ENAMETOOLONG;
    memcpy(to, (const char *)from_user, length + 1);
    return length;
}

/* ---- into user mode ---- */

/* The stack that exec has made, at its place in the host. The arguments are
 * pointers into it. */
static void place_stack(struct space *s, struct trapframe *f)
{
    u64 distance = s->base + SPACE_BYTES - USER_TOP;
    for (u32 i = 0; i < s->npages; i++)
        if (s->page[i].va >= USER_STACK_LOW)
            memcpy((void *)(s->page[i].va + distance), s->page[i].data,
                   PAGE_SIZE);
    f->x[REG_SP] += distance;
    f->x[REG_A1] += distance;
    for (u64 *word = (u64 *)f->x[REG_A1]; *word; word++)
        *word += distance;
}

static void begin(struct space *s, struct trapframe *f)
{
    pay(COST_exec, 1);
    s->program = program_named(myproc()->name);
    s->base = take_base();
    program_map(s->program, s->base);
    program_fill(s->program, s->base);
    place_stack(s, f);
    f->epc = s->base + s->program->entry;
    user_begin(f);
}

void user_return(struct trapframe *f)
{
    struct space *s = space_now();
    user_frame = f;
    if (!s->base)
        begin(s, f);
    f->x[REG_SP] += s->moved;
    s->moved = 0;
    if (f->x[REG_A7] == SYS_sbrk && (i64)f->x[REG_A0] >= 0)
        f->x[REG_A0] += heap_distance(myproc());
    user_resume(f);
}

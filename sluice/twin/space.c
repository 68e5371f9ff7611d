/*
 * The memory of programs in the twin (space.h), and how a program begins.
 *
 * A process has a piece of the host's addresses that is its own. A space's
 * place is its base:
 *
 *   base                 the program: code, constants, data
 *   base + program->end  its heap
 *   base + space_bytes   the end of its stack
 *
 * - The host's copy of the program runs (program.h).
 * - A place that a process has left keeps its mapping, and the pages that were
 *   used, as zeros: most processes run a program that another one ran before.
 *   So calls of the host and page faults are fewer. Narrow places are unmapped.
 * - fork copies a space to other addresses. A word in it that lies in its
 *   program, heap or stack is taken to be a pointer, and is moved along. In
 *   wide spaces only two bytes of a word change. So what is no pointer does not
 *   look like one, or is not harmed. Numbers: the lowest base is 8.7 hours in
 *   ns. Text: the two bytes are no characters. Text that has overwritten a part
 *   of a pointer: its final 0 is not one of the two. Two numbers of 32 bits:
 *   the lower one is 2^31 or more in every pointer.
 * - Narrow spaces are for hosts with 39 bits of address, and where the shell
 *   limits the addresses of a process (ulimit -v). Byte 4 of a pointer is no
 *   character there either. A number in ns looks like a pointer if it falls
 *   within the program, its heap or its stack: from 68.7 s on, for about 1 ms
 *   in each 133 ms.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/twin/hart.h"
#include "sluice/twin/host.h"
#include "sluice/twin/pristine.h"
#include "sluice/twin/program.h"
#include "sluice/twin/space.h"
#include "sluice/twin/used.h"
#include "kernel/base/abi.h"
#include "kernel/machine/panic.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

#define WIDE_BYTES   ((1UL << 31) - (1UL << 20))
#define NARROW_FIRST (KSTACK_BASE + MAX_PROCS * STACK_STRIDE)
#define NARROW_BYTES (127UL << 20)
#define SPACES       (MAX_PROCS + 1) /* exec has two for a moment */
_Static_assert(NARROW_FIRST + SPACES * NARROW_BYTES <= 0x2000000000UL,
               "byte 4 of a narrow space's addresses is no character");

#define DATA_KEPT  (1UL << 20) /* bytes of a place that was left */
#define STACK_KEPT (8UL << 10)

KEPT static bool base_in_use[SPACES];
KEPT static const struct program *mapped[SPACES]; /* NULL: nothing is */
KEPT static u64 space_bytes = WIDE_BYTES;
KEPT static bool stacks_reserved; /* the kernel's */

/* ---- spaces ---- */

/* The base of place i. Narrow: one place after the other. Wide: byte 5 is 0x1c
 * or more and byte 4 is 0x80 to 0xff, the two that fork changes; the lower 4
 * bytes of every base are 2^31. */
static u64 base_of(u32 i)
{
    if (space_bytes == NARROW_BYTES)
        return NARROW_FIRST + i * NARROW_BYTES;
    return (0x1cUL + i / 128) << 40 | (0x80UL + i % 128) << 32 | 1UL << 31;
}

static u32 index_of(u64 base)
{
    u32 i = 0;
    while (base_of(i) != base)
        i++;
    return i;
}

static void unmap(u32 i)
{
    munmap((void *)base_of(i), space_bytes);
    mapped[i] = NULL;
}

/* A free place where this is mapped, or NULL: nothing; SPACES if there is none.
 */
static u32 find_free(const struct program *p)
{
    u32 i = 0;
    while (i < SPACES && (base_in_use[i] || mapped[i] != p))
        i++;
    return i;
}

/* A place with the program's constant parts, and zeros everywhere else. */
static u64 take_base(const struct program *p)
{
    u32 i = find_free(p);
    if (i == SPACES)
        i = find_free(NULL);
    if (i == SPACES)
        for (i = 0; base_in_use[i];)
            i++;
    if (mapped[i] && mapped[i] != p)
        unmap(i);
    if (!mapped[i])
        program_map(p, base_of(i), space_bytes);
    mapped[i] = p;
    base_in_use[i] = true;
    return base_of(i);
}

static void clear(u64 from, u64 to, void *arg)
{
    (void)arg;
    memset((void *)from, 0, to - from);
}

/* Give a program's place back, cleared where it was used. */
static void let_base_go(u64 base)
{
    u32 i = index_of(base);
    base_in_use[i] = false;
    if (space_bytes == NARROW_BYTES) {
        unmap(i);
        return;
    }
    u64 data = base + mapped[i]->data, stack = base + space_bytes - STACK_KEPT;
    u64 far = ROUND_UP(data + DATA_KEPT, 1UL << 16);
    each_used(data, far, clear, NULL);
    madvise((void *)far, stack - far, MADV_DONTNEED);
    clear(stack, base + space_bytes, NULL);
}

void space_leave_all(void)
{
    for (u32 i = 0; i < SPACES; i++)
        if (base_in_use[i])
            let_base_go(base_of(i));
    madvise((void *)KSTACK_BASE, MAX_PROCS * STACK_STRIDE, MADV_DONTNEED);
}

/* Choose wide spaces, or narrow ones if the host has no room for those. */
static void choose_width(void)
{
    void *last = (void *)base_of(SPACES - 1);
    int flags =
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *at = mmap(last, WIDE_BYTES, PROT_NONE, flags, -1, 0);
    if (at != MAP_FAILED)
        munmap(at, WIDE_BYTES);
    if (at != last || host_limits_addresses())
        space_bytes = NARROW_BYTES;
}

/* From one space to another. The program and its heap end at `heap_end`, and
 * the stack begins at `stack`, as offsets from the place. */
struct copy {
    u64 place, to, heap_end, stack;
};

/* Copy [from, to) of a space to the same place of another, which is all zeros,
 * moving pointers. Most words are zeros: they make no page of the copy. */
static void copy_moved(u64 from, u64 to, void *arg)
{
    const struct copy *c = arg;
    u64 delta = c->to - c->place;
    for (u64 at = from; at < to; at += sizeof at) {
        u64 word = *(const u64 *)at, offset = word - c->place;
        bool pointer = offset <= c->heap_end ||
                       (offset >= c->stack && offset <= space_bytes);
        if (word)
            *(u64 *)(at + delta) = pointer ? word + delta : word;
    }
}

/* ---- as vm.h has it ---- */

void vm_init(void)
{
    void *want = (void *)KSTACK_BASE;
    u64 bytes = MAX_PROCS * STACK_STRIDE;
    if (stacks_reserved)
        return;
    if (mmap(want, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != want)
        panic("twin: no room for the kernel's stacks");
    choose_width();
    stacks_reserved = true;
}

/* The page is set aside, as in the machine, but not used. The host's pages may
 * be larger: then no page guards the stack. */
void vm_map_kernel(u64 va, void *page)
{
    (void)page;
    u64 from = ROUND_DOWN(va, (u64)sysconf(_SC_PAGESIZE));
    if (mprotect((void *)from, va + PAGE_SIZE - from, PROT_READ | PROT_WRITE))
        panic("twin: no memory for a kernel stack");
}

/* Copy the data, the heap and the used stack of a process to a place of the
 * child's own. Pointers among them are moved by the same distance. */
int vm_fork(u64 *from, u64 *to, u64 hot_va)
{
    struct space *s = space_of(from), *child = space_of(to);
    const struct program *p = s->program;
    (void)hot_va;
    child->program = p;
    child->place = take_base(p);
    child->moved = child->place - s->place;
    u64 heap_end = myproc()->brk + heap_distance();
    u64 stack = myproc()->trapframe->x[REG_SP];
    struct copy c = {s->place, child->place, heap_end - s->place,
                     stack - s->place};
    each_used(s->place + p->data, ROUND_UP(heap_end, 8), copy_moved, &c);
    each_used(stack, space_stack_top(s), copy_moved, &c);
    return 0;
}

/* ---- as space.h has it ---- */

void space_leave(struct space *s)
{
    let_base_go(s->place);
}

u64 space_heap(const struct space *s)
{
    return s->place + s->program->end;
}

u64 space_stack_top(const struct space *s)
{
    return s->place + space_bytes;
}

bool space_has(const struct space *s, u64 at, u64 n)
{
    return at - s->place < space_bytes && n <= space_bytes - (at - s->place);
}

void space_get(const struct space *s, void *to, u64 from, u64 n)
{
    (void)s;
    memcpy(to, (const void *)from, n);
}

void space_put(const struct space *s, u64 to, const void *from, u64 n)
{
    (void)s;
    memcpy((void *)to, from, n);
}

void space_zero(const struct space *s, u64 from, u64 n)
{
    (void)s;
    memset((void *)from, 0, n);
}

u64 space_length(const struct space *s, u64 text, u64 n)
{
    u64 most = MIN(n, space_stack_top(s) - text);
    u64 length = strnlen((const char *)text, most);
    return length == most ? n : length;
}

/* ---- into user mode ---- */

static void begin(struct space *s, struct trapframe *f)
{
    s->program = program_named(myproc()->name);
    s->place = take_base(s->program);
    program_fill(s->program, s->place);
    space_place_stack(s, f);
    f->epc = s->place + s->program->entry;
    user_begin(f);
}

/* The kernel gives a heap as much as the machine has memory. */
static void expect_room(const struct space *s)
{
    u64 end = space_stack_top(s) - USER_STACK_BYTES;
    if (myproc()->brk + heap_distance() > end)
        panic("twin: %s wants more than the %lu MiB that a program has here%s",
              myproc()->name, space_bytes >> 20,
              space_bytes == NARROW_BYTES ? " (is there a ulimit -v?)" : "");
}

/* Go back to the program. Two values are moved to where this process has its
 * heap and stack: an address that sbrk returns, which is the kernel's, and a
 * child's stack pointer after fork, which is its parent's. */
void user_return(struct trapframe *f)
{
    struct space *s = space_now();
    user_frame = f;
    if (!s->place)
        begin(s, f);
    f->x[REG_SP] += s->moved;
    s->moved = 0;
    if (f->x[REG_A7] == SYS_sbrk && (i64)f->x[REG_A0] >= 0) {
        expect_room(s);
        f->x[REG_A0] += heap_distance();
    }
    user_resume(f);
}

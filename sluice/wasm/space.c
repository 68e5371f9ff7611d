/*
 * The memory of programs in a page (sluice/twin/space.h): each process has an
 * instance of its program's module, with a memory of its own (page.h). A
 * space's place is the number of its program in the page.
 */
#include "sluice/wasm/page.h"
#include "sluice/twin/hart.h"
#include "sluice/twin/space.h"
#include "kernel/base/abi.h"
#include "kernel/base/string.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

/* ---- as vm.h has it ---- */

void vm_init(void)
{
}

/* The page is set aside, as in the machine, but not used. */
void vm_map_kernel(u64 va, void *page)
{
    (void)va, (void)page;
}

int vm_fork(u64 *from, u64 *to, u64 hot_va)
{
    (void)hot_va;
    space_of(to)->place =
        page_fork(space_of(from)->place, myproc()->brk + heap_distance());
    return 0;
}

/* ---- as space.h has it ---- */

void space_leave(struct space *s)
{
    page_unload(s->place);
}

u64 space_heap(const struct space *s)
{
    return page_heap(s->place);
}

u64 space_stack_top(const struct space *s)
{
    return page_stack_top(s->place);
}

bool space_has(const struct space *s, u64 at, u64 n)
{
    return page_has(s->place, at, n);
}

void space_get(const struct space *s, void *to, u64 from, u64 n)
{
    page_get(s->place, (u64)to, from, n);
}

void space_put(const struct space *s, u64 to, const void *from, u64 n)
{
    page_put(s->place, to, (u64)from, n);
}

void space_zero(const struct space *s, u64 from, u64 n)
{
    page_zero(s->place, from, n);
}

u64 space_length(const struct space *s, u64 text, u64 n)
{
    return page_length(s->place, text, n);
}

/* ---- into user mode ---- */

void user_return(struct trapframe *f)
{
    struct space *s = space_now();
    user_frame = f;
    bool begins = !s->place;
    if (begins) {
        const char *name = myproc()->name;
        s->place = page_load((u64)name, strlen(name));
        space_place_stack(s, f);
    }
    user.program = s->place;
    if (begins)
        user_begin(f);
    if (f->x[REG_A7] == SYS_sbrk && (i64)f->x[REG_A0] >= 0) {
        f->x[REG_A0] += heap_distance();
        page_reach(s->place, myproc()->brk + heap_distance());
    }
    user_resume(f);
}

/*
 * The memory of programs where no page table maps it: a process's space. What
 * all hosts have is in memory.c; space.c, of sluice/twin/ or of sluice/wasm/,
 * says where the bytes are.
 *
 * - exec reads the machine's program, from the disk and through the cache, and
 *   lays out its pages as in the machine. Of these the stack is used, with the
 *   arguments. What runs is the host's copy of the program.
 * - A program's addresses are those of the host. A heap or stack byte's address
 *   differs from the kernel's by a constant.
 *
 * A struct space is the page that the kernel calls a page table.
 */
#ifndef SLUICE_TWIN_SPACE_H
#define SLUICE_TWIN_SPACE_H

#include "kernel/base/types.h"
#include "kernel/machine/mem.h"

#define SPACE_PAGES 240 /* of a program and its first stack */

struct program;
struct trapframe;

struct space {
    u64 place;                     /* space.c's; 0: nothing is there yet */
    const struct program *program; /* the twin's: what runs there */
    u64 moved; /* the twin's, by fork: what its stack pointer is to be moved by
                */
    u32 npages;
    struct {
        u64 va; /* in the machine */
        void *data;
    } page[SPACE_PAGES];
};
_Static_assert(sizeof(struct space) <= PAGE_SIZE, "fits a page");

/* ---- memory.c ---- */

struct space *space_of(u64 *pagetable);
struct space *space_now(void); /* of the process that runs */

/* How far the host's address of a heap byte of this process, which runs, is
 * from the kernel's. */
u64 heap_distance(void);

/* Copy the stack that exec has made to its place, and move what points into
 * it: the stack pointer, and the arguments. */
void space_place_stack(struct space *, struct trapframe *);

/* ---- space.c ---- */

/* Let the program's memory go. There is some. */
void space_leave(struct space *);

/* The twin's, after a trial: let all programs' memory go, and clear the
 * kernel's stacks. */
void space_leave_all(void);

/* The host's addresses of the heap's first byte, and of the stack's end. */
u64 space_heap(const struct space *);
u64 space_stack_top(const struct space *);

/* True if [at, at + n) is in the space. The other functions demand it. */
bool space_has(const struct space *, u64 at, u64 n);
void space_get(const struct space *, void *to, u64 from, u64 n);
void space_put(const struct space *, u64 to, const void *from, u64 n);
void space_zero(const struct space *, u64 from, u64 n);
/* The length of a string whose first byte is in it: n if it has no end within n
 * bytes, or none in the space. */
u64 space_length(const struct space *, u64 text, u64 n);

#endif

/*
 * exec: a program from an ELF file. Executable and Linkable Format, 64-bit
 * (System V gABI, "ELF Header" and "Program Header"; RISC-V ELF psABI).
 *
 * - Headers are checked before anything is done. The new address space is
 *   built beside the old one, which stays as it is if anything fails.
 * - The bytes of a segment that are not in the file (bss) are not mapped. They
 *   come as zero pages when touched, like the heap behind them.
 * - The stack begins with the argument strings, highest, below them argv.
 *   The program gets argc in a0 and argv in a1.
 */
#include "kernel/ext2/ext2.h"
#include "kernel/measure/cost.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

#define MAX_SEGMENTS   8
#define STACK_PAGES    32                        /* most, of strings and argv */
#define ARG_MAX        (PAGE_SIZE / sizeof(u64)) /* with the final NULL */
#define ELF_EXECUTABLE 2
#define ELF_RISCV      243
#define SEGMENT_LOAD   1
#define FLAG_X         1
#define FLAG_W         2

static const u8 elf_ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1}; /* 64, little */

struct elf_header {
    u8 ident[16];
    u16 type, machine;
    u32 version;
    u64 entry, phoff, shoff;
    u32 flags;
    u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct segment {
    u32 type, flags;
    u64 offset, vaddr, paddr, filesz, memsz, align;
};

struct program {
    struct inode *file;     /* locked */
    struct streams streams; /* for read-ahead */
    u64 entry, end;         /* end of the last segment */
    u32 nsegments;
    struct segment segments[MAX_SEGMENTS];
    u64 *pagetable;
    u64 sp, argc;
    u32 stack_pages;
    char *stack[STACK_PAGES]; /* the highest first */
};

/* ---- reading and checking ---- */

/* Read n bytes at this offset of the program's file; -ENOEXEC if it is
 * shorter. */
static int read_exactly(struct program *g, void *to, u64 offset, u64 n)
{
    struct uio u = {.addr = (u64)to, .left = n, .offset = offset};
    int error = ext2_read(g->file, &u, &g->streams);
    return error ?: u.left ? -ENOEXEC : 0;
}

/* True if the segment lies below the stack, not below `lowest`, and its bytes
 * lie in the file. Differences are compared, because sums could overflow. */
static bool segment_is_sound(const struct segment *s, u64 lowest, u64 file_size)
{
    return s->filesz <= s->memsz && s->vaddr >= lowest &&
           s->vaddr < USER_STACK_LOW && s->memsz < USER_STACK_LOW - s->vaddr &&
           s->offset <= file_size && s->filesz <= file_size - s->offset;
}

/* Keep the segments to be loaded. They ascend and share no page. */
static int read_segments(struct program *g, const struct elf_header *h)
{
    g->end = USER_BASE;
    for (u32 i = 0; i < h->phnum; i++) {
        struct segment s;
        TRY(read_exactly(g, &s, h->phoff + i * sizeof(s), sizeof(s)));
        if (s.type != SEGMENT_LOAD || s.memsz == 0)
            continue;
        u64 lowest = ROUND_UP(g->end, PAGE_SIZE);
        if (g->nsegments == MAX_SEGMENTS ||
            !segment_is_sound(&s, lowest, g->file->size))
            return -ENOEXEC;
        g->segments[g->nsegments++] = s;
        g->end = s.vaddr + s.memsz;
    }
    return g->nsegments ? 0 : -ENOEXEC;
}

/* Check the file's header, and read its segments. */
static int read_headers(struct program *g)
{
    struct elf_header h;
    if (!S_ISREG(g->file->mode) || !(g->file->mode & 0111))
        return -ENOEXEC;
    TRY(read_exactly(g, &h, 0, sizeof(h)));
    if (memcmp(h.ident, elf_ident, sizeof(elf_ident)) != 0 ||
        h.type != ELF_EXECUTABLE || h.machine != ELF_RISCV ||
        h.phentsize != sizeof(struct segment) || h.phoff > g->file->size)
        return -ENOEXEC;
    g->entry = h.entry;
    int error = read_segments(g, &h);
    if (h.entry < USER_BASE || h.entry >= g->end || h.entry % 2)
        error = error ?: -ENOEXEC;
    return error;
}

/* ---- building ---- */

/* Map the pages of a segment, filled from the file. A page that the file fills
 * in part is zeroed first. */
static int load_segment(struct program *g, const struct segment *s)
{
    u64 perm = PTE_R | (s->flags & FLAG_W ? PTE_W : 0) |
               (s->flags & FLAG_X ? PTE_X : 0);
    u64 offset = s->offset, left = s->filesz, va = s->vaddr;
    while (left > 0) {
        u64 skip = va % PAGE_SIZE;
        u64 n = MIN(left, PAGE_SIZE - skip);
        char *page = vm_add(g->pagetable, va - skip, perm, n < PAGE_SIZE);
        if (!page)
            return -ENOMEM;
        TRY(read_exactly(g, page + skip, offset, n));
        va += n;
        offset += n;
        left -= n;
    }
    return 0;
}

/* Put n bytes below what is on the stack, which gets pages as needed.
 * g->stack[0] is the uppermost page. */
static int push(struct program *g, const void *data, u64 n)
{
    g->sp -= n;
    while (USER_TOP - g->stack_pages * PAGE_SIZE > g->sp) {
        if (g->stack_pages == STACK_PAGES)
            return -E2BIG;
        u64 va = USER_TOP - (g->stack_pages + 1) * PAGE_SIZE;
        char *page = vm_add(g->pagetable, va, PTE_R | PTE_W, true);
        if (!page)
            return -ENOMEM;
        g->stack[g->stack_pages++] = page;
    }
    for (u64 va = g->sp, piece; n > 0; va += piece, n -= piece) {
        u64 within = va % PAGE_SIZE;
        piece = MIN(n, PAGE_SIZE - within);
        memcpy(g->stack[(USER_TOP - 1 - va) / PAGE_SIZE] + within, data, piece);
        data = (const char *)data + piece;
    }
    return 0;
}

/* Push the user's strings, of a page at most each, and note where they are. */
static int push_strings(struct program *g, u64 argv_user, u64 argv[ARG_MAX])
{
    PAGE_OWNED char *text = page_alloc();
    if (!text)
        return -ENOMEM;
    for (; g->argc < ARG_MAX; g->argc++) {
        u64 *at = &argv[g->argc];
        TRY(copyin(at, argv_user + g->argc * sizeof *at, sizeof *at));
        if (!*at)
            return 0;
        int n = copyinstr(text, *at, PAGE_SIZE);
        if (n < 0)
            return n == -ENAMETOOLONG ? -E2BIG : n;
        TRY(push(g, text, n + 1));
        *at = g->sp;
    }
    return -E2BIG;
}

/* Put the arguments on the new stack; without argv the path is the only one.
 * The stack pointer stays a multiple of 16, as the ABI demands. */
static int build_stack(struct program *g, const char *path, u64 argv_user)
{
    PAGE_OWNED char *page = page_alloc_zero();
    u64 *argv = (u64 *)page;
    if (!page)
        return -ENOMEM;
    g->sp = USER_TOP;
    if (argv_user) {
        TRY(push_strings(g, argv_user, argv));
    } else {
        TRY(push(g, path, strlen(path) + 1));
        argv[g->argc++] = g->sp;
    }
    g->sp = ROUND_DOWN(g->sp, 2 * sizeof *argv);
    return push(g, argv, ROUND_UP(g->argc + 1, 2) * sizeof *argv);
}

/* Build the new address space: segments, then stack. Return 0 or an error. */
static int build(struct program *g, const char *path, u64 argv_user)
{
    int error = ext2_opened(g->file, false) ?: read_headers(g);
    if (!error && !(g->pagetable = vm_create()))
        error = -ENOMEM;
    for (u32 i = 0; i < g->nsegments && !error; i++)
        error = load_segment(g, &g->segments[i]);
    return error ?: build_stack(g, path, argv_user);
}

/* ---- the change ---- */

/* Go over to the new program. From here exec cannot fail. */
static void become(const struct program *g, const char *path)
{
    struct proc *p = myproc();
    u64 *old = p->pagetable;
    const char *name = path;
    for (const char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    proc_name(p, name);
    p->pagetable = g->pagetable;
    p->heap = p->brk = ROUND_UP(g->end, PAGE_SIZE);
    *p->trapframe = (struct trapframe){.epc = g->entry};
    p->trapframe->x[REG_SP] = g->sp;
    p->trapframe->x[REG_A1] = g->sp; /* argv; argc is the call's result */
    vm_use(p->pagetable);
    charge(COST_exec, 1);
    if (old)
        vm_destroy(old);
}

/* Replace the process's program. Return argc, which becomes a0, or an error
 * with the old program as it was. */
i64 exec(const char *path, u64 argv_user)
{
    struct program g = {0};
    TRY(namei(path, 0, &g.file));
    int error = ilock_valid(g.file);
    if (!error) {
        error = iunlock_with(g.file, build(&g, path, argv_user));
        ext2_closed(g.file, false);
    }
    ext2_end_reads(g.file, &g.streams);
    iput(g.file);
    if (!error)
        become(&g, path);
    else if (g.pagetable)
        vm_destroy(g.pagetable);
    return error ?: (i64)g.argc;
}

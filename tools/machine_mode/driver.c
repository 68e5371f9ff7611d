/*
 * A kernel that does nothing but call machine mode, to prove what it
 * guarantees. It is linked with the real entry.S.o by the real kernel.ld, in
 * place of the rest of the kernel.
 *
 * - The host writes a list of calls to memory (machines.py). This makes each of
 *   them, and writes down its answer and what the clock said around it.
 * - QEMU's memory is a file: the list is there at the start, and the machine
 *   ends itself. Spike's host interface (HTIF) reads one list after another
 *   into memory, the first with all the memory behind it, and writes out all
 *   memory after each.
 * - Further numbers of calls are deeds of the supervisor itself: a load, a
 *   store, a jump. A fault is caught; the answer is then its cause.
 */
#include "kernel/machine/machine.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/riscv.h"

#define LIST_PHYS   0x80200000UL
#define MEMORY_PHYS 0x80000000UL
#define LIST_BYTES  0x100000UL
#define ALL_BYTES   0x400000UL
#define POWER_PHYS  0x100000UL
#define CLINT_PHYS  0x2000000UL
#define MAGIC       0x736c6c6163UL /* "calls" */
#define NOW         0x776f6eUL     /* "now": a record's time */
#define TICK_NS     100
#define PAGE_BYTES  4096

enum { LOAD = 100, STORE, JUMP, OTHER_HART, WALK };
enum { HOST_OPEN = 56, HOST_READ = 63, HOST_WRITE = 64 };

struct calls {
    u64 magic, n;
    u64 unused[8];
    struct {
        u64 w[4], call;
        u64 answer, began, ended; /* in ticks */
        u64 steps;                /* instructions of the call, and 1 */
        u64 unused;
    } made[];
};

char edge[PAGE_BYTES] = {1}; /* where free memory begins: data for moves */
char boot_stacks[MAX_HARTS][STACK_STRIDE];
volatile u64 host_word, host_answer; /* tohost and fromhost, machines.py */

volatile u64 steps; /* of the last call: no compiler has a part in them */

static volatile u64 asked, answered, other_at, other_answer; /* of hart 1 */

u64 try_load(u64 at), try_store(u64 at, u64 byte), try_jump(u64 at);
asm(".macro attempt name, does:vararg\n"
    ".globl \\name\n"
    "\\name: mv t1, ra\n"
    "la t0, 1f\n"
    "csrw stvec, t0\n"
    "\\does\n"
    "li a0, 0\n"
    "jr t1\n"
    ".balign 4\n"
    "1: csrr a0, scause\n"
    "jr t1\n"
    ".endm\n"
    "attempt try_load, lbu a1, 0(a0)\n"
    "attempt try_store, sb a1, 0(a0)\n"
    "attempt try_jump, jalr a0\n"
    ".globl machine_call\n"
    "machine_call: csrr a6, instret\n"
    "ecall\n"
    "csrr a5, instret\n"
    "sub a5, a5, a6\n"
    "la a6, steps\n"
    "sd a5, 0(a6)\n"
    "ret\n");

static u64 virt(u64 phys)
{
    return phys + DIRECT_MAP;
}

static u64 on_other_hart(u64 at)
{
    other_at = at;
    asked++;
    *(volatile u32 *)virt(CLINT_PHYS + 4) = 1;
    while (answered != asked)
        ;
    return other_answer;
}

/* Have the processor take a page for a page table, and use each of its entries:
 * it may set an entry's bits "accessed" and "dirty". */
static u64 walk(u64 phys)
{
    static u64 root[512] __attribute__((aligned(PAGE_BYTES)));
    static u64 middle[512] __attribute__((aligned(PAGE_BYTES)));
    /* The kernel's addresses, a GiB an entry, with all rights. */
    for (u64 gib = 0; gib < 10; gib++)
        root[256 + gib] = gib << 28 | 0xef;
    /* Address 0: two levels down, the page at `phys` as a page table. */
    root[0] = ((u64)middle - DIRECT_MAP) >> 12 << 10 | 1;
    middle[0] = phys >> 12 << 10 | 1;
    u64 before = csr_read(satp);
    csr_write(satp, SATP_SV39 | ((u64)root - DIRECT_MAP) >> 12);
    csr_set(sstatus, 1UL << 18 | 1UL << 19); /* SUM, MXR: all pages count */
    sfence();
    for (u64 at = 0; at < 512 * PAGE_BYTES; at += PAGE_BYTES)
        try_load(at);
    csr_clear(sstatus, 1UL << 18 | 1UL << 19);
    csr_write(satp, before);
    sfence();
    return 0;
}

static u64 deed(const u64 *w, u64 call)
{
    switch (call) {
    case LOAD:
        return try_load(w[0]);
    case STORE:
        return try_store(w[0], w[1]);
    case JUMP:
        return try_jump(w[0]);
    case OTHER_HART:
        return on_other_hart(w[0]);
    case WALK:
        return walk(w[0]);
    default:
        return machine_call(w[0], w[1], w[2], w[3], call);
    }
}

/* Make all calls of a list, and note each one's answer and times. */
static void make(struct calls *l)
{
    for (u64 i = 0; i < l->n; i++) {
        u64 *w = l->made[i].w;
        if (l->made[i].call == TRACE_APPEND && w[0] == NOW)
            w[0] = csr_read(time) * TICK_NS;
        u64 began = csr_read(time);
        l->made[i].answer = deed(w, l->made[i].call);
        l->made[i].steps = steps;
        l->made[i].ended = csr_read(time);
        l->made[i].began = began;
    }
}

static void end_machine(void)
{
    *(volatile u32 *)virt(POWER_PHYS) = 0x5555;
    for (;;)
        ;
}

/* ---- Spike's host ---- */

static u64 host(u64 call, u64 a, u64 b, u64 c, u64 d)
{
    static volatile u64 words[8] __attribute__((aligned(64)));
    words[0] = call;
    words[1] = a;
    words[2] = b;
    words[3] = c;
    words[4] = d;
    __sync_synchronize();
    host_word = (u64)words - DIRECT_MAP;
    while (!host_answer)
        ;
    host_answer = 0;
    __sync_synchronize();
    return words[0];
}

/* Open a file on the host through Spike; return its descriptor. -100 is
 * AT_FDCWD: the name is relative to Spike's working directory. */
static u64 open(const char *name, u64 bytes, u64 mode)
{
    return host(HOST_OPEN, -100UL, (u64)name - DIRECT_MAP, bytes, mode);
}

static bool all(u64 call, u64 file, u64 at, u64 left)
{
    while (left) {
        u64 done = host(call, file, at, left, 0);
        if (!done || done > left)
            return false;
        at += done;
        left -= done;
    }
    return true;
}

static void serve(struct calls *l)
{
    u64 in = open("lists", 6, 0), out = open("memory", 7, 1);
    u64 bytes = MEMORY_PHYS + ALL_BYTES - LIST_PHYS;
    for (; all(HOST_READ, in, LIST_PHYS, bytes); bytes = LIST_BYTES) {
        make(l);
        all(HOST_WRITE, out, MEMORY_PHYS, ALL_BYTES);
    }
    host_word = 1;
    for (;;)
        ;
}

/* ---- */

void start(u32 hart, u64 dtb_phys)
{
    (void)dtb_phys;
    struct calls *l = (struct calls *)virt(LIST_PHYS);
    if (hart) {
        other_answer = try_store(other_at, 0xa5);
        answered = asked;
        for (;;)
            ;
    }
    if (l->magic != MAGIC)
        serve(l);
    make(l);
    end_machine();
}

/* The memory of processes: sbrk, stacks, copies on write, running out of it. */
#include "user/usertests/usertests.h"

/* The heap grows by 100 pages, shrinks by 50 and grows by 50: only the second
 * half is zero again. */
TEST(the_heap_is_zero_and_ends_where_told)
{
    char *p = sbrk(100 * PAGE);
    TRUE(p != (void *)-1 && sbrk(0) == p + 100 * PAGE);
    TRUE(is_zero(p, 100 * PAGE));
    memset(p, 'a', 100 * PAGE);
    TRUE(sbrk(-50 * PAGE) == p + 100 * PAGE);
    TRUE(sbrk(50 * PAGE) == p + 50 * PAGE);
    TRUE(is_zero(p + 50 * PAGE, 50 * PAGE));
    TRUE(p[0] == 'a' && p[50 * PAGE - 1] == 'a');
}

TEST(the_heap_refuses_sizes_it_cannot_have)
{
    void *end = sbrk(0);
    FAILS(ENOMEM, sbrk(1UL << 62));
    FAILS(ENOMEM, sbrk(NOT_MAPPED));
    FAILS(EINVAL, sbrk(-(1L << 62)));
    FAILS(EINVAL, sbrk(-(i64)(u64)end));
    FAILS(EINVAL, sbrk(1L << 63));
    TRUE(sbrk(0) == end);
}

static void loads(u64 p)
{
    *(volatile char *)p;
}

static void stores(u64 p)
{
    *(volatile char *)p = 1;
}

static void jumps(u64 p)
{
    ((void (*)(void))p)();
}

TEST(memory_one_has_not_is_fatal_to_touch)
{
    for (u32 i = 0; i < NELEM(bad_addresses); i++) {
        DIES(loads, bad_addresses[i]);
        DIES(stores, bad_addresses[i]);
        DIES(jumps, bad_addresses[i]);
    }
    char *end = sbrk(2 * PAGE);
    memset(end, 0, 2 * PAGE);
    end = (char *)ROUND_UP((u64)end, PAGE);
    OK(sbrk(end - (char *)sbrk(0)));
    DIES(loads, (u64)end);
    DIES(stores, (u64)end);
}

TEST(code_and_constants_are_not_writable_nor_data_code)
{
    DIES(stores, (u64)pattern);
    DIES(stores, (u64)bad_addresses);
    DIES(jumps, (u64)buf);
    DIES(jumps, (u64)sbrk(PAGE));
    u32 ret = 0x8082;
    DIES(jumps, (u64)&ret);
}

static void illegal(u64 which)
{
    if (which == 0)
        asm volatile(".word 0");
    else if (which == 1)
        asm volatile("csrr a0, sstatus" ::: "a0");
    else if (which == 2)
        asm volatile("sret");
    else if (which == 3)
        asm volatile("ebreak");
    else if (which == 4)
        asm volatile("wfi\n sfence.vma\n csrr a0, mstatus" ::: "a0");
}

TEST(instructions_of_the_kernel_are_fatal)
{
    for (u64 which = 0; which < 5; which++)
        DIES(illegal, which);
}

static u64 recurses(u64 depth)
{
    volatile char frame[1024];
    frame[0] = frame[1023] = depth;
    return depth ? recurses(depth - 1) + frame[0] - frame[1023] + 1 : 0;
}

static void recurses_too_deep(u64 depth)
{
    recurses(depth);
}

TEST(the_stack_grows_to_its_limit_and_no_further)
{
    IS(recurses(6000), 6000);
    DIES(recurses_too_deep, 9000);
}

#define SHARED_PAGES 200
/* Check that page i begins with i, then change all and check that nobody else
 * has. */
static void changes_memory(u64 p)
{
    for (u64 i = 0; i < SHARED_PAGES; i++) {
        TRUE(*(u64 *)(p + i * PAGE) == i);
        *(u64 *)(p + i * PAGE) = ~i;
    }
    for (u64 i = 0; i < SHARED_PAGES; i++)
        TRUE(*(u64 *)(p + i * PAGE) == ~i);
}

/* The parent and four children change the same pages at the same time. */
TEST(fork_gives_each_process_memory_of_its_own)
{
    char *p = sbrk(SHARED_PAGES * PAGE);
    int pids[4];
    for (u64 i = 0; i < SHARED_PAGES; i++)
        *(u64 *)(p + i * PAGE) = i;
    for (u32 i = 0; i < NELEM(pids); i++)
        pids[i] = SPAWN(changes_memory, (u64)p);
    changes_memory((u64)p);
    JOIN_ALL(pids);
    for (u64 i = 0; i < SHARED_PAGES; i++)
        TRUE(*(u64 *)(p + i * PAGE) == ~i);
}

static void reads_into(u64 p)
{
    int fd = OK(open("f", O_RDONLY));
    IS(read(fd, (char *)p, PAGE), PAGE);
    IS(((char *)p)[5], pattern_byte(9, 5));
}

TEST(the_kernel_writes_to_the_memory_of_one_process_only)
{
    WRITE_FILE("f", PAGE, 9);
    memset(buf2, 'x', sizeof buf2);
    JOIN(SPAWN(reads_into, (u64)buf2 + 100));
    TRUE(buf2[100] == 'x' && buf2[105] == 'x');
    int pid = SPAWN(sleeps_for_ever, 0);
    reads_into((u64)buf2 + 100);
    OK(kill(pid));

    IS(STATUS(pid), WKILLED);
}

static void uses_all_memory(u64 unused)
{
    (void)unused;
    struct stat st;
    u64 bytes = gauge("mem.free") * PAGE, used = 0;
    int fd = OK(open("/dev/zero", O_RDONLY)), fds[2];
    errno = 0; /* make the pages to be written this process's own */
    recurses(32);
    char *p = sbrk(bytes);
    i64 n;
    while (used < bytes && (n = read(fd, p + used, bytes - used)) > 0)
        used += n;
    TRUE(used > bytes / 2 && used < bytes);
    FAILS(EFAULT, read(fd, p + used, PAGE));
    TRUE(fork() == -1 && (errno == ENOMEM || errno == EAGAIN));
    FAILS(ENOMEM, pipe(fds));
    FAILS(ENOMEM, stat("/", &st));
    FAILS(ENOMEM, exec("/bin/echo", (char *[]){"echo", NULL}));
    OK(sbrk(-(i64)bytes));
    OK(pipe(fds));
    OK(stat("/", &st));
    JOIN(SPAWN(exits, 0));
}

TEST(without_memory_calls_fail_and_then_recover)
{
    JOIN(SPAWN(uses_all_memory, 0));
}

static void touches_all_memory(u64 unused)
{
    (void)unused;
    u64 bytes = gauge("mem.free") * PAGE;
    for (char *p = sbrk(bytes), *end = p + bytes; p < end; p += PAGE)
        *p = 1;
}

TEST(a_process_that_takes_all_memory_dies_alone)
{
    DIES(touches_all_memory, 0);
    JOIN(SPAWN(exits, 0));
}

TEST(processes_taking_turns_keep_their_registers)
{
    u64 wanted = computes();
    int pids[5];
    for (u32 i = 0; i < NELEM(pids); i++)
        pids[i] = SPAWN(computes_right, wanted);
    JOIN_ALL(pids);
}

/*
 * What a program has on Linux in place of user/lib's start.S and syscall.c: its
 * entry, and those system calls that user/load/bench.c, init.c and the library
 * make. The rest of the program is the same object file that runs on Sluice.
 *
 * - Numbers are those of Linux on RISC-V. Error numbers, modes and the flags of
 *   open have Linux's values in Sluice, too.
 * - A program that needs another call is not linked: user/lib's stubs would
 *   come in, and the linker finds two of each call.
 */
#include "tools/bench/guest/linux.h"
#include "user/lib.h"

/* argc and argv are on the stack. */
asm(".globl _start\n"
    "_start:\n"
    "    mv fp, zero\n"
    "    mv ra, zero\n"
    "    ld a0, 0(sp)\n"
    "    addi a1, sp, 8\n"
    "    call start_main\n");

/* Calls with the same arguments in both systems: as many instructions as
 * user/lib/syscall.c takes for them. */
#define SAME(name, number)               \
    asm(".globl " #name "\n" #name ":\n" \
        "    li a7, " #number "\n"       \
        "    ecall\n"                    \
        "    bltz a0, 1f\n"              \
        "    ret\n"                      \
        "1:  tail syscall_failed\n")
SAME(close, 57);
SAME(lseek, 62);
SAME(read, 63);
SAME(write, 64);
SAME(pread, 67);
SAME(fsync, 82);
SAME(fdatasync, 83);
SAME(getpid, 172);

i64 syscall_failed(i64 minus_errno);

i64 syscall_failed(i64 minus_errno)
{
    errno = -minus_errno;
    return -1;
}

i64 linux_call(u64 number, u64 a, u64 b, u64 c, u64 d, u64 e)
{
    register u64 a0 asm("a0") = a;
    register u64 a1 asm("a1") = b;
    register u64 a2 asm("a2") = c;
    register u64 a3 asm("a3") = d;
    register u64 a4 asm("a4") = e;
    register u64 a7 asm("a7") = number;
    asm volatile("ecall"
                 : "+r"(a0)
                 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7)
                 : "memory");
    return (i64)a0 < 0 ? syscall_failed(a0) : (i64)a0;
}

/* They are read past the cache, as Sluice's raw disks always are. */
#define RAW_DISK "/dev/disk"

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    if (strncmp(path, RAW_DISK, strlen(RAW_DISK)) == 0)
        flags |= LINUX_O_DIRECT;
    return linux_call(LINUX_OPENAT, LINUX_HERE, (u64)path, flags, mode, 0);
}

int unlink(const char *path)
{
    return linux_call(LINUX_UNLINKAT, LINUX_HERE, (u64)path, 0, 0, 0);
}

int fstat(int fd, struct stat *st)
{
    struct {
        u64 dev, ino;
        u32 mode, nlink, uid, gid;
        u64 rdev, pad;
        i64 size;
        i32 blksize, pad2;
        u64 blocks, times[6];
        u32 pad3[2];
    } its;
    if (linux_call(LINUX_FSTAT, fd, (u64)&its, 0, 0, 0) < 0)
        return -1;
    /* The guest's only device with characters is its console. */
    *st = (struct stat){.st_ino = its.ino,
                        .st_mode = its.mode,
                        .st_nlink = its.nlink,
                        .st_rdev = S_ISCHR(its.mode) ? CONSOLE_NUMBER : 0,
                        .st_blksize = its.blksize,
                        .st_size = its.size,
                        .st_blocks = its.blocks};
    return 0;
}

#define LINUX_SIGCHLD 17

int fork(void)
{
    return linux_call(LINUX_CLONE, LINUX_SIGCHLD, 0, 0, 0, 0);
}

int exec(const char *path, char *const argv[])
{
    return linux_call(LINUX_EXECVE, (u64)path, (u64)argv, 0, 0, 0);
}

int wait(int pid, int *status, int flags)
{
    int theirs;
    int dead = linux_call(LINUX_WAIT4, pid, (u64)&theirs, flags, 0, 0);
    if (dead > 0)
        *status = theirs & 0x7f ? WKILLED : theirs >> 8 & 0xff;
    return dead;
}

void _exit(int status)
{
    for (;;)
        linux_call(LINUX_EXIT_GROUP, status, 0, 0, 0, 0);
}

/* brk(2) returns the end of the heap, the old one if it cannot be moved. */
void *sbrk(i64 increment)
{
    u64 old = linux_call(LINUX_BRK, 0, 0, 0, 0, 0);
    u64 end = linux_call(LINUX_BRK, old + increment, 0, 0, 0, 0);
    return end == old + increment ? (void *)old : (void *)-1;
}

/* Both clocks are the hart's time counter, from some moment on. */
u64 gettime(int clock)
{
    enum { LINUX_REALTIME, LINUX_MONOTONIC };
    struct {
        u64 s, ns;
    } now = {0};
    linux_call(LINUX_CLOCK_GETTIME,
               clock == CLOCK_WALL ? LINUX_REALTIME : LINUX_MONOTONIC,
               (u64)&now, 0, 0, 0);
    return now.s * 1000000000 + now.ns;
}

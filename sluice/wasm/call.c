/*
 * What a program has in a page in place of user/lib's start.S, syscall.c and
 * compute.c: its entry, a stub for each system call, and computing. WebAssembly
 * checks the types of calls, so each stub has its own.
 */
#include "sluice/twin/call.h"
#include "sluice/wasm/stack.h"
#include "user/lib.h"
#include "user/lib/compute.h"

__attribute__((import_module("page"), import_name("gate"))) void gate(u32 call);

int main_with_words(int argc, char **argv) __asm__("__main_argc_argv");
int main_without(void) __asm__("__main_void") __attribute__((weak));
void start_main(int argc, char **argv) NORETURN;

static struct room room;

/* ---- for the page ---- */

__attribute__((export_name("begin"))) void begin(u32 argc, u32 argv)
{
    start_main(argc, (char **)(u64)argv);
}

__attribute__((export_name("room"))) u32 room_emptied(void)
{
    room.at = (u64)room.bytes;
    room.end = (u64)(&room + 1);
    return (u64)&room;
}

__attribute__((export_name("room_at"))) u32 room_at(void)
{
    return (u64)&room;
}

__attribute__((export_name("stack_get"))) u32 stack_now(void)
{
    return stack_get();
}

__attribute__((export_name("stack_set"))) void stack_goes_to(u32 sp)
{
    stack_set(sp);
}

/* ---- for the program ---- */

/* main() without arguments has another name. */
__attribute__((weak)) int main_with_words(int argc, char **argv)
{
    (void)argc, (void)argv;
    return main_without();
}

static i64 call(u64 number, u64 a, u64 b, u64 c, u64 d)
{
    u64 words[1 + CALL_ARGUMENTS] = {number, a, b, c, d};
    gate((u64)words);
    i64 result = words[0];
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}

/* CALL(type, name, its parameters, its arguments) */
#define WORDS(a, b, c, d, ...) (u64)(a), (u64)(b), (u64)(c), (u64)(d)
#define CALL(type, name, parameters, ...)                              \
    type name parameters                                               \
    {                                                                  \
        return (type)call(SYS_##name, WORDS(__VA_ARGS__, 0, 0, 0, 0)); \
    }

CALL(int, fork, (void), 0)
CALL(int, wait, (int pid, int *status, int flags), pid, status, flags)
CALL(int, exec, (const char *path, char *const argv[]), path, argv)
CALL(int, kill, (int pid), pid)
CALL(int, getpid, (void), 0)
CALL(int, getppid, (void), 0)
CALL(int, setpgrp, (int pid, int pgrp), pid, pgrp)
CALL(void *, sbrk, (i64 increment), increment)
CALL(int, sleep, (u64 ns), ns)
CALL(u64, gettime, (int clock), clock)
CALL(int, rusage, (int who, struct rusage *to), who, to)
CALL(int, poweroff, (int status, bool sync_first), status, sync_first)
CALL(int, close, (int fd), fd)
CALL(i64, read, (int fd, void *buf, size_t n), fd, buf, n)
CALL(i64, write, (int fd, const void *buf, size_t n), fd, buf, n)
CALL(i64, lseek, (int fd, i64 offset, int whence), fd, offset, whence)
CALL(i64, pread, (int fd, void *buf, size_t n, u64 at), fd, buf, n, at)
CALL(i64, pwrite, (int fd, const void *buf, size_t n, u64 at), fd, buf, n, at)
CALL(int, dup, (int fd), fd)
CALL(int, dup2, (int fd, int to), fd, to)
CALL(int, pipe, (int fds[2]), fds)
CALL(int, ioctl, (int fd, int request, u64 arg), fd, request, arg)
CALL(int, fstat, (int fd, struct stat *to), fd, to)
CALL(int, stat, (const char *path, struct stat *to), path, to)
CALL(int, lstat, (const char *path, struct stat *to), path, to)
CALL(int, statfs, (const char *path, struct statfs *to), path, to)
CALL(i64, getdents, (int fd, void *buf, size_t n), fd, buf, n)
CALL(int, link, (const char *existing, const char *name), existing, name)
CALL(int, symlink, (const char *target, const char *name), target, name)
CALL(i64, readlink, (const char *path, char *buf, size_t n), path, buf, n)
CALL(int, unlink, (const char *path), path)
CALL(int, mkdir, (const char *path, u32 mode), path, mode)
CALL(int, rmdir, (const char *path), path)
CALL(int, mknod, (const char *path, u32 mode, u32 device), path, mode, device)
CALL(int, rename, (const char *from, const char *to), from, to)
CALL(int, chmod, (const char *path, u32 mode), path, mode)
CALL(int, utime, (const char *path, u64 a, u64 m), path, a, m)
CALL(int, truncate, (const char *path, u64 size), path, size)
CALL(int, ftruncate, (int fd, u64 size), fd, size)
CALL(int, chdir, (const char *path), path)
CALL(int, getcwd, (char *buf, size_t n), buf, n)
CALL(int, mount, (const char *disk, const char *dir, int flags), disk, dir,
     flags)
CALL(int, umount, (const char *dir), dir)
CALL(int, sync, (void), 0)
CALL(int, fsync, (int fd), fd)
CALL(int, fdatasync, (int fd), fd)
CALL(int, smoothsync, (u64 age_ns), age_ns)
CALL(int, advise, (int fd, u64 at, u64 n, int advice), fd, at, n, advice)
CALL(int, charge, (u64 instructions), instructions)

/* Time is charged in a page. */
void compute(u64 thousands)
{
    charge(thousands * 1000);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    return call(SYS_open, (u64)path, flags, mode, 0);
}

void _exit(int status)
{
    call(SYS_exit, status, 0, 0, 0);
    __builtin_unreachable();
}

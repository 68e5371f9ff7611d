/*
 * The system calls of crashops (sluice/programs/crashops.c) on Linux, which
 * calls.c has not. The program is the object file that runs on Sluice.
 *
 * - crashcases.c has made its root: /workload is what it reads as /dev/disk1,
 *   /disk the whole disk, /disk2 the part with the file system, and /machine
 *   says how that is mounted.
 * - What it prints goes to the first sector of the disk, and so into the log of
 *   its writes: each mark is there before the operation that follows begins.
 *   The linker has __wrap_write called in place of write, and so for open.
 */
#include "tools/bench/guest/crash.h"
#include "tools/bench/guest/linux.h"
#include "user/lib.h"

#define SECTOR 512

i64 __real_write(int fd, const void *buf, size_t n);
i64 __wrap_write(int fd, const void *buf, size_t n);
int __real_open(const char *path, int flags, int mode);
int __wrap_open(const char *path, int flags, int mode);

static char sector[SECTOR] __attribute__((aligned(SECTOR)));

static i64 mark(const void *buf, size_t n)
{
    static int disk = -1;
    if (disk < 0)
        disk = linux_call(LINUX_OPENAT, LINUX_HERE, (u64) "/disk",
                          O_WRONLY | LINUX_O_DIRECT, 0, 0);
    n = MIN(n, SECTOR);
    memset(sector, 0, SECTOR);
    memcpy(sector, buf, n);
    i64 done = linux_call(LINUX_PWRITE, disk, (u64)sector, SECTOR, 0, 0);
    return done == SECTOR ? (i64)n : -1;
}

i64 __wrap_write(int fd, const void *buf, size_t n)
{
    return fd == 1 ? mark(buf, n) : __real_write(fd, buf, n);
}

int __wrap_open(const char *path, int flags, int mode)
{
    bool text = strcmp(path, "/dev/disk1") == 0;
    return __real_open(text ? "/workload" : path, flags, mode);
}

i64 pwrite(int fd, const void *buf, size_t n, u64 offset)
{
    return linux_call(LINUX_PWRITE, fd, (u64)buf, n, offset, 0);
}

int truncate(const char *path, u64 size)
{
    return linux_call(LINUX_TRUNCATE, (u64)path, size, 0, 0, 0);
}

int link(const char *existing, const char *name)
{
    return linux_call(LINUX_LINKAT, LINUX_HERE, (u64)existing, LINUX_HERE,
                      (u64)name, 0);
}

int symlink(const char *target, const char *name)
{
    return linux_call(LINUX_SYMLINKAT, (u64)target, LINUX_HERE, (u64)name, 0,
                      0);
}

int rename(const char *from, const char *to)
{
    return linux_call(LINUX_RENAMEAT, LINUX_HERE, (u64)from, LINUX_HERE,
                      (u64)to, 0);
}

int mkdir(const char *path, u32 mode)
{
    return linux_call(LINUX_MKDIRAT, LINUX_HERE, (u64)path, mode, 0, 0);
}

int rmdir(const char *path)
{
    enum { LINUX_REMOVEDIR = 0x200 };
    return linux_call(LINUX_UNLINKAT, LINUX_HERE, (u64)path, LINUX_REMOVEDIR, 0,
                      0);
}

/* Of this file system only: other disks have workloads of their own. */
int sync(void)
{
    int fd = open("/mnt", O_RDONLY);
    i64 result = linux_call(LINUX_SYNCFS, fd, 0, 0, 0, 0);
    close(fd);
    return result;
}

int sleep(u64 ns)
{
    struct crash_machine m = crash_machine();
    u64 time[2] = {ns / m.pace / NS_PER_S, ns / m.pace % NS_PER_S};
    return linux_call(LINUX_NANOSLEEP, (u64)time, 0, 0, 0, 0);
}

int mount(const char *disk, const char *dir, int flags)
{
    struct crash_machine m = crash_machine();
    (void)disk;
    return linux_call(LINUX_MOUNT, (u64) "/disk2", (u64)dir, (u64)m.type, flags,
                      (u64)m.options);
}

int umount(const char *dir, bool)
{
    return linux_call(LINUX_UMOUNT, (u64)dir, 0, 0, 0, 0);
}

int poweroff(int status, bool sync_first)
{
    (void)sync_first;
    _exit(status);
}

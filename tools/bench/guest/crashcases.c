/*
 * Process 1 of the Linux guest of the crash laboratory (tools/crash_linux/). It
 * does the workloads of a disk one after the other, works on all disks at the
 * same time, and then switches the machine off.
 *
 * - The first sector of a disk has its number, and /N is what the workloads of
 *   disk N have as their root: /N/machine (crash.h), and /N/w0, /N/w1, ... the
 *   texts of its workloads, which /N/crashops does (crashcalls.c).
 * - Workload i has the part of the disk that begins at (i + 1) times the bytes
 *   of a part. The host has put a file system there.
 * - Linux's timers of dirty pages run faster by the machine's pace.
 * - Each disk has a share of the limit of dirty pages for itself, as a disk has
 *   that was busy just before. Else Linux takes the share of an idle disk for
 * 0, and writes all that is dirty when it next looks.
 */
#include "tools/bench/guest/crash.h"
#include "tools/bench/guest/linux.h"
#include "tools/bench/guest/start.h"
#include "user/lib.h"

#define MOST_DISKS 8
#define SECTOR     512
#define PART       1

enum { BLKPG = 0x1269, BLKPG_ADD = 1, BLKPG_DELETE = 2 };

static void set_part(int disk, int op, u64 start, u64 bytes)
{
    struct {
        i64 start, length;
        i32 number;
        char names[128];
    } part = {.start = start, .length = bytes, .number = PART};
    struct {
        i32 op, flags, size;
        void *part;
    } arg = {.op = op, .size = sizeof part, .part = &part};
    must(linux_call(LINUX_IOCTL, disk, BLKPG, (u64)&arg, 0, 0), "BLKPG");
}

static void set_number(const char *path, u64 value)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%lu", value),
        fd = open(path, O_WRONLY);
    must(fd, path);
    must(write(fd, text, n), path);
    close(fd);
}

static int do_workload(u64 i)
{
    char text[32];
    int status = -1;
    char *argv[] = {"/crashops", NULL};
    snprintf(text, sizeof text, "/w%lu", i);
    unlink("/workload");
    must(linux_call(LINUX_LINKAT, LINUX_HERE, (u64)text, LINUX_HERE,
                    (u64) "/workload", 0),
         text);
    fflush(NULL);
    int child = fork();
    if (child == 0) {
        exec(argv[0], argv);
        _exit(127);
    }
    must(wait(child, &status, 0), "wait");
    return status;
}

static void link_disk(const char *name, const char *suffix, const char *path)
{
    char to[32];
    snprintf(to, sizeof to, "%s%s", name, suffix);
    must(linux_call(LINUX_SYMLINKAT, (u64)to, LINUX_HERE, (u64)path, 0, 0),
         path);
}

/* In a process of its own. */
static void NORETURN do_disk(const char *name, u64 number)
{
    char root[32];
    snprintf(root, sizeof root, "/%lu", number);
    must(linux_call(LINUX_CHROOT, (u64)root, 0, 0, 0, 0), root);
    must(linux_call(LINUX_CHDIR, (u64) "/", 0, 0, 0, 0), "chdir");
    mount_type("dev", "/dev", "devtmpfs");
    link_disk(name, "", "/disk");
    link_disk(name, "1", "/disk2");
    struct crash_machine m = crash_machine();
    int disk = open(name, O_RDWR);
    must(disk, name);
    for (u64 i = 0; i < m.count; i++) {
        set_part(disk, BLKPG_ADD, (i + 1) * m.bytes, m.bytes);
        int status = do_workload(i);
        if (status)
            printf("disk %lu, workload %lu: status %d\n", number, i, status);
        set_part(disk, BLKPG_DELETE, 0, 0);
    }
    fflush(NULL);
    _exit(0);
}

/* name: as /dev/vda */
static void give_share(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/class/block/%s/bdi/min_ratio",
             basename(name));
    set_number(path, 100 / MOST_DISKS);
}

/* The number in a disk's first sector. */
static u64 read_number(const char *name)
{
    char text[SECTOR + 1] = "";
    int fd = open(name, O_RDONLY);
    must(fd, name);
    must(read_all(fd, text, SECTOR), name);
    close(fd);
    return strtoul(text, NULL, 10);
}

int main(void)
{
    char name[] = "/dev/vda";
    load_modules();
    mount_type("dev", "/dev", "devtmpfs");
    mount_type("proc", "/proc", "proc");
    mount_type("sys", "/sys", "sysfs");
    u64 pace = crash_machine().pace;
    set_number("/proc/sys/vm/dirty_expire_centisecs", 3000 / pace);
    set_number("/proc/sys/vm/dirty_writeback_centisecs", 500 / pace);
    for (int i = 0; i < MOST_DISKS; i++, name[sizeof name - 2]++) {
        int there = open(name, O_RDONLY);
        if (there < 0)
            break;
        close(there);
        give_share(name);
        u64 number = read_number(name);
        fflush(NULL);
        if (fork() == 0)
            do_disk(name, number);
    }
    for (int status; wait(-1, &status, 0) > 0;)
        continue;
    printf("all workloads are done\n");
    power_off();
}

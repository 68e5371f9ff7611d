/*
 * contend: measure how long two processes wait that need the same lock or block
 * all the time.
 *
 *   contend file SECONDS FILE FILE   one reads the file, one writes it: the
 *                                    inode's lock (the two may be the same)
 *   contend block SECONDS FILE FILE  each changes its file's inode and waits
 *                                    until it is written: one block, if the
 *                                    inodes are neighbours
 *
 * Each process repeats its operation without a pause for SECONDS seconds. Then
 * it prints the number of operations, and the longest time of one operation
 * (the first is timed from the start of both processes):
 *
 *   PROCESS COUNT LONGEST_NS
 */
#include "user/lib.h"

#define CALL_BYTES 65536UL

static char buf[CALL_BYTES];

struct use {
    const char *name;
    void (*fn[2])(int fd, const char *path, u64 turn); /* of each process */
};

/* Return a new place in the file each time, so that reads need the disk. */
static u64 place(int fd, u64 turn)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < CALL_BYTES)
        diex("the file is too short");
    return turn * CALL_BYTES % (st.st_size / CALL_BYTES * CALL_BYTES);
}

static void read_some(int fd, const char *path, u64 turn)
{
    if (pread(fd, buf, CALL_BYTES, place(fd, turn)) < 0)
        die("%s", path);
}

static void write_some(int fd, const char *path, u64 turn)
{
    if (pwrite(fd, buf, CALL_BYTES, place(fd, turn)) < 0)
        die("%s", path);
}

static void change_inode(int fd, const char *path, u64 turn)
{
    if (utime(path, turn, turn) < 0 || fsync(fd) < 0)
        die("%s", path);
}

static const struct use uses[] = {
    {"file", {read_some, write_some}},
    {"block", {change_inode, change_inode}},
};

/* Repeat a process's part for that long, and print how often and the longest
 * time of one. */
static void work(const struct use *u, u32 process, const char *path,
                 u64 start_ns, u64 ns)
{
    int fd = open(path, O_RDWR);
    if (fd < 0)
        die("%s", path);
    u64 longest_ns = 0, n = 0;
    for (u64 at_ns = start_ns, then_ns; at_ns - start_ns < ns;
         at_ns = then_ns) {
        u->fn[process](fd, path, n++);
        then_ns = gettime(CLOCK_VIRTUAL);
        longest_ns = MAX(longest_ns, then_ns - at_ns);
    }
    printf("%u %lu %lu\n", process, n, longest_ns);
}

static const struct use *find(const char *name)
{
    for (u32 i = 0; i < NELEM(uses); i++) {
        if (strcmp(uses[i].name, name) == 0)
            return &uses[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct use *u = argc == 5 ? find(argv[1]) : NULL;
    if (!u)
        usage_exit("contend file|block SECONDS FILE FILE");
    u64 ns = seconds_arg_ns(argv[2], "SECONDS");
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    int status, pid = fork();
    if (pid < 0)
        die("fork");
    work(u, pid == 0, argv[3 + (pid == 0)], start_ns, ns);
    if (pid == 0)
        return 0;
    if (wait(pid, &status, 0) < 0 || status)
        diex("the other process failed");
    return 0;
}

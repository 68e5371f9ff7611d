/*
 * pages: which pages of a file Linux keeps, and which it has written
 * (`sluice bench --linux-policies`). It runs in the Linux guest only.
 *
 *   pages read FILE HINT STEP...  read blocks of 4 KiB; for each step `N` or
 *                                 `FIRST+N` print the step, and the blocks that
 *                                 the kernel has read besides, as `2-5 9`.
 *                                 HINT is none or sequential
 *   pages age FILE N MS           change N blocks, one every MS, and print
 *                                 `wrote BLOCKS MS` for each time at which some
 *                                 of them were written, from the first change
 *
 * What is cached, dirty or being written comes from cachestat, which Linux has
 * since 6.5. The file must not be cached when the program starts to read it.
 */
#include "tools/bench/guest/linux.h"
#include "user/lib.h"

#define BLOCK       4096UL
#define MOST_BLOCKS 2048UL
#define POLL_NS     (50UL * 1000 * 1000)
#define MS          (1000UL * 1000)

static char buf[MOST_BLOCKS / 2 * BLOCK];
static bool cached[MOST_BLOCKS];

struct pages {
    u64 cached, dirty, writing, evicted, evicted_lately;
};

static struct pages pages_of(int fd, u64 first, u64 n)
{
    struct pages found;
    u64 range[2] = {first * BLOCK, n * BLOCK};
    if (linux_call(LINUX_CACHESTAT, fd, (u64)range, (u64)&found, 0, 0) < 0)
        die("cachestat");
    return found;
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, flags, 0644);
    if (fd < 0)
        die("%s", path);
    return fd;
}

/* Mark the block as seen; true if it is cached and was not. */
static bool comes(int fd, u64 block)
{
    bool was = cached[block];
    cached[block] = was || pages_of(fd, block, 1).cached;
    return cached[block] && !was;
}

/* Print the blocks that have come outside first to first + n - 1. */
static void print_besides(int fd, u64 blocks, u64 first, u64 n)
{
    for (u64 i = 0; i < blocks; i++) {
        u64 from = i;
        while (i < blocks && comes(fd, i) && (i < first || i >= first + n))
            i++;
        if (i > from + 1)
            printf(" %lu-%lu", from, i - 1);
        else if (i > from)
            printf(" %lu", from);
    }
    printf("\n");
}

static void read_step(int fd, u64 blocks, const char *step)
{
    char *after;
    u64 first = strtoul(step, &after, 10);
    u64 n = *after == '+' ? strtoul(after + 1, NULL, 10) : 1;
    if (n > sizeof buf / BLOCK || first + n > blocks)
        die("%s is more than the file", step);
    if (pread(fd, buf, n * BLOCK, first * BLOCK) < 0)
        die("read");
    printf("step %s", step);
    print_besides(fd, blocks, first, n);
}

static void pages_read(char **args)
{
    enum { LINUX_SEQUENTIAL = 2 };
    struct stat st;
    int fd = open_file(args[0], O_RDONLY);
    if (fstat(fd, &st) < 0)
        die("fstat");
    if (strcmp(args[1], "sequential") == 0)
        linux_call(LINUX_FADVISE, fd, 0, 0, LINUX_SEQUENTIAL, 0);
    for (char **step = args + 2; *step; step++)
        read_step(fd, MIN((u64)st.st_size / BLOCK, MOST_BLOCKS), *step);
}

static void rest(u64 ns)
{
    u64 time[2] = {0, ns};
    linux_call(LINUX_NANOSLEEP, (u64)time, 0, 0, 0, 0);
}

static void change(int fd, u64 block)
{
    lseek(fd, block * BLOCK, SEEK_SET);
    if (write(fd, buf, BLOCK) != (i64)BLOCK)
        die("write");
}

static void pages_age(char **args)
{
    u64 n = size_arg(args[1], "N"), gap_ns = size_arg(args[2], "MS") * MS;
    int fd = open_file(args[0], O_RDWR);
    u64 changed = 0, written = 0, start_ns = gettime(CLOCK_VIRTUAL);
    while (written < n) {
        u64 now_ns = gettime(CLOCK_VIRTUAL) - start_ns;
        if (changed < n && now_ns >= changed * gap_ns)
            change(fd, changed++);
        u64 clean = changed - pages_of(fd, 0, n).dirty;
        if (clean > written)
            printf("wrote %lu %lu\n", clean - written, now_ns / MS);
        written = MAX(written, clean);
        rest(POLL_NS);
    }
}

int main(int argc, char *argv[])
{
    if (argc >= 5 && strcmp(argv[1], "read") == 0)
        pages_read(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "age") == 0)
        pages_age(argv + 2);
    else
        die("read FILE HINT STEP... or age FILE N MS");
    return 0;
}

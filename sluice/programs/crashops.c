/*
 * crashops: does the operations of a workload of the crash laboratory
 * (sluice/crash/), which cuts the power at each write that they cause.
 *
 * - It is process 1 of its machine. disk1 holds the text of the workload, and
 *   disk2 the file system.
 * - A line is an operation and its arguments; the text ends at a 0. Before each
 *   operation it prints `@NUMBER`, and afterwards `=NUMBER RESULT`: minus an
 *   error number, or what the operation returned, 0 or more: `read` returns a
 *   checksum of the file's first MiB. `@end` when all are done.
 * - Lines that begin with a digit and a colon are done by several processes at
 *   once: `2: fsync /f` by the second. Those that follow each other are a
 *   section; each process does its own lines, and the next line waits for all.
 * - What a write puts at byte b of a file is a letter that the write's tag and
 *   the sector of b choose: so wrong data and misplaced data are both seen.
 */
#include "user/lib.h"

#define FAULT      "\6"
#define SECTOR     512
#define WORDS      5
#define TEXT_BYTES (8UL << 10) /* of a workload at most */
#define READ_MOST  (1UL << 20) /* of a file whose size may be rotten */

static char text[TEXT_BYTES + 1];
static char data[256UL << 10]; /* of one write at most */
static int held = -1;          /* a file that is open, perhaps without a name */

/* ---- operations: they return 0 or more, or -1 ---- */

static i64 number(const char *word)
{
    i64 n = 0;
    for (; isdigit(*word); word++)
        n = 10 * n + (*word - '0');
    return n;
}

/* Open, do, close: a close that fails is the operation's failure. */
static i64 closed(int fd, i64 result)
{
    return fd >= 0 && close(fd) < 0 ? -1 : result;
}

/* Fill in the data that a write with this tag puts at these bytes of a file. */
static void fill(u64 at, u64 bytes, u64 tag)
{
    for (u64 i = 0, n; i < bytes; i += n) {
        u64 sector = (at + i) / SECTOR;
        n = MIN(bytes - i, (sector + 1) * SECTOR - (at + i));
        memset(data + i, 'a' + (7 * tag + sector) % 26, n);
    }
}

static i64 put(const char *path, int flags, u64 at, u64 bytes, u64 tag)
{
    int fd = open(path, O_WRONLY | flags);
    if (fd < 0)
        return -1;
    if (flags & O_APPEND)
        at = lseek(fd, 0, SEEK_END);
    fill(at, bytes, tag);
    i64 n =
        flags & O_APPEND ? write(fd, data, bytes) : pwrite(fd, data, bytes, at);
    return closed(fd, n == (i64)bytes ? 0 : -1);
}

static i64 do_creat(char **w)
{
    int fd = open(w[1], O_WRONLY | O_CREAT | O_EXCL, 0644);
    return closed(fd, fd);
}

static i64 do_write(char **w)
{
    return put(w[1], 0, number(w[2]), number(w[3]), number(w[4]));
}

static i64 do_through(char **w)
{
    return put(w[1], O_SYNC, number(w[2]), number(w[3]), number(w[4]));
}

static i64 do_append(char **w)
{
    return put(w[1], O_APPEND, 0, number(w[2]), number(w[3]));
}

static i64 do_truncate(char **w)
{
    return truncate(w[1], number(w[2]));
}

static i64 do_link(char **w)
{
    return link(w[1], w[2]);
}

static i64 do_symlink(char **w)
{
    return symlink(w[1], w[2]);
}

static i64 do_unlink(char **w)
{
    return unlink(w[1]);
}

static i64 do_rename(char **w)
{
    return rename(w[1], w[2]);
}

static i64 do_mkdir(char **w)
{
    return mkdir(w[1], 0755);
}

static i64 do_rmdir(char **w)
{
    return rmdir(w[1]);
}

static i64 do_fsync(char **w)
{
    int fd = open(w[1], O_RDONLY);
    return fd < 0 ? -1 : closed(fd, fsync(fd));
}

static i64 do_fdatasync(char **w)
{
    int fd = open(w[1], O_RDONLY);
    return fd < 0 ? -1 : closed(fd, fdatasync(fd));
}

static i64 do_store(char **w)
{
    i64 error = do_write(w);
    return error ? error : do_fdatasync(w);
}

/* Return a checksum of the file's first READ_MOST bytes, or -1. */
static i64 do_read(char **w)
{
    int fd = open(w[1], O_RDONLY);
    i64 n = fd < 0 ? -1 : 1;
    u32 sum = 0;
    for (u64 got = 0; n > 0 && got < READ_MOST; got += n) {
        n = read(fd, data, sizeof data);
        for (i64 i = 0; i < n; i++)
            sum = sum * 31 + (u8)data[i];
    }
    return fd < 0 ? -1 : closed(fd, n < 0 ? -1 : (i64)(sum & 0x7fffffff));
}

static i64 do_hold(char **w)
{
    held = open(w[1], O_RDWR);
    return held;
}

static i64 do_grow(char **w)
{
    u64 at = lseek(held, 0, SEEK_END), bytes = number(w[1]);
    fill(at, bytes, number(w[2]));
    return write(held, data, bytes) == (i64)bytes ? 0 : -1;
}

static i64 do_drop(char **w)
{
    (void)w;
    return close(held);
}

/* sluice/twin/watch.h */
static i64 do_fault(char **w)
{
    printf(FAULT "%s %s %s\n", w[1], w[2], w[3]);
    fflush(stdout);
    return 0;
}

static i64 do_order(char **w)
{
    char line[64];
    u64 n = snprintf(line, sizeof line, "use order %s\n", w[1]);
    int fd = open("/dev/policy", O_WRONLY);
    return closed(fd, fd >= 0 && write(fd, line, n) == (i64)n ? 0 : -1);
}

static i64 do_sync(char **w)
{
    (void)w;
    return sync();
}

static i64 do_sleep(char **w)
{
    return sleep(number(w[1]) * NS_PER_MS);
}

static i64 do_mount(char **w)
{
    return mount("disk2", w[1], 0);
}

static i64 do_umount(char **w)
{
    return umount(w[1], false);
}

static const struct operation {
    const char *name;
    u32 words;
    i64 (*fn)(char **word);
} operations[] = {
    {"creat", 2, do_creat},       {"write", 5, do_write},
    {"through", 5, do_through},   {"append", 4, do_append},
    {"truncate", 3, do_truncate}, {"link", 3, do_link},
    {"symlink", 3, do_symlink},   {"unlink", 2, do_unlink},
    {"rename", 3, do_rename},     {"mkdir", 2, do_mkdir},
    {"rmdir", 2, do_rmdir},       {"fsync", 2, do_fsync},
    {"sync", 1, do_sync},         {"sleep", 2, do_sleep},
    {"mount", 2, do_mount},       {"umount", 2, do_umount},
    {"read", 2, do_read},         {"fault", 4, do_fault},
    {"hold", 2, do_hold},         {"grow", 3, do_grow},
    {"drop", 1, do_drop},         {"fdatasync", 2, do_fdatasync},
    {"store", 5, do_store},       {"order", 2, do_order},
};

/* ---- a workload ---- */

/* Split a line into words, in place, and do the operation of this name and
 * number of words. Returns its result. */
static i64 do_line(char *line)
{
    char *word[WORDS + 1];
    u32 n = 0;
    for (char *at = line; n <= WORDS && *at; n++) {
        word[n] = at;
        while (*at && *at != ' ')
            at++;
        if (*at)
            *at++ = 0;
    }
    for (u32 i = 0; i < NELEM(operations); i++)
        if (n == operations[i].words && !strcmp(word[0], operations[i].name))
            return operations[i].fn(word);
    diex("there is no operation %s of %u words", word[0], n);
}

/* Read the workload's text from /dev/disk1. */
static void read_workload(void)
{
    int fd = open("/dev/disk1", O_RDONLY);
    if (fd < 0 || read(fd, text, TEXT_BYTES) != TEXT_BYTES)
        die("/dev/disk1");
    close(fd);
}

/* Return the next line, and end this one with a 0. */
static char *cut_line(char *line)
{
    while (*line && *line != '\n')
        line++;
    if (*line)
        *line++ = 0;
    return line;
}

static void do_marked(u32 number, char *line)
{
    printf("@%u\n", number);
    fflush(stdout);
    i64 result = do_line(line);
    printf("=%u %d\n", number, result < 0 ? -errno : (int)result);
    fflush(stdout);
}

/* The number of the process that does a line; 0: it is in no section. */
static u32 worker_of(const char *line)
{
    return isdigit(line[0]) && line[1] == ':' ? line[0] - '0' : 0;
}

/* Do this process's lines of a section, and end. */
static void work(u32 worker, u32 number, char *line)
{
    for (char *next; worker_of(line); line = next, number++) {
        next = cut_line(line);
        if (worker_of(line) == worker)
            do_marked(number, line + sizeof "1:");
    }
    _exit(0);
}

/* Have a section done. Returns the line behind it; counts its lines. */
static char *do_section(char *line, u32 *number)
{
    u32 first = *number, workers = 0;
    char *start = line;
    for (; worker_of(line); line = strchr(line, '\n') + 1, ++*number)
        workers = MAX(workers, worker_of(line));
    for (u32 i = 1; i <= workers; i++) {
        int pid = fork();
        if (pid < 0)
            die("fork");
        if (!pid)
            work(i, first, start);
    }
    for (int status; workers > 0; workers--)
        if (wait(-1, &status, 0) < 0 || status)
            diex("a process of a section failed");
    return line;
}

static void do_workload(void)
{
    u32 number = 0;
    for (char *line = text; *line;) {
        if (worker_of(line)) {
            line = do_section(line, &number);
            continue;
        }
        char *next = cut_line(line);
        do_marked(number++, line);
        line = next;
    }
    printf("@end\n");
    fflush(stdout);
}

int main(void)
{
    read_workload();
    do_workload();
    poweroff(0, false);
    die("poweroff");
}

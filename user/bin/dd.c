/*
 * dd: copies blocks and prints the rate.
 *
 *   if=FILE of=FILE   files instead of standard input and output
 *   bs=SIZE           size of a block, 512 if not given; k, m, g after a number
 *   count=N           copy N blocks only
 *   skip=N seek=N     skip N blocks of the input, of the output
 *   conv=notrunc      do not truncate the output file first
 *   conv=excl         the output file must be new
 *   conv=fsync        fsync the output before the time is taken
 *   conv=fdatasync    fdatasync it
 *   oflag=sync        each write waits for the disk
 */
#include "user/lib.h"

static struct {
    const char *in, *out;
    u64 block_bytes, count, skip, seek;
    bool notrunc, excl, sync;
    int (*flush)(int fd);
} args = {.block_bytes = 512, .count = ~0UL};

/* A larger block is read in parts, into memory that grows as it is read. */
#define PART_BYTES (1UL << 20)

static u64 full[2], partial[2], bytes; /* blocks read and written */
static char *buf;
static u64 room; /* of buf */

/* Set the flags of conv= or oflag=, words with commas between them. */
static void flag(char *words, const char *what)
{
    for (char *word; (word = strsep(&words, ","));) {
        if (strcmp(word, "notrunc") == 0)
            args.notrunc = true;
        else if (strcmp(word, "excl") == 0)
            args.excl = true;
        else if (strcmp(word, "fsync") == 0)
            args.flush = fsync;
        else if (strcmp(word, "fdatasync") == 0)
            args.flush = fdatasync;
        else if (strcmp(word, "sync") == 0 && strcmp(what, "oflag") == 0)
            args.sync = true;
        else
            diex("%s=%s: not known", what, word);
    }
}

static void parse(char *arg)
{
    static const char usage[] =
        "dd [if=FILE] [of=FILE] [bs=SIZE] [count=N] [skip=N] [seek=N]\n"
        "          [conv=notrunc,excl,fsync,fdatasync] [oflag=sync]";
    static const struct {
        const char *name;
        u64 *value;
    } numbers[] = {{"bs", &args.block_bytes},
                   {"count", &args.count},
                   {"skip", &args.skip},
                   {"seek", &args.seek}};
    char *value = arg;
    char *name = strsep(&value, "=");
    if (!value)
        usage_exit(usage);
    for (u32 i = 0; i < NELEM(numbers); i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].value = size_arg(value, name);
            return;
        }
    }
    if (strcmp(name, "if") == 0)
        args.in = value;
    else if (strcmp(name, "of") == 0)
        args.out = value;
    else if (strcmp(name, "conv") == 0 || strcmp(name, "oflag") == 0)
        flag(value, name);
    else
        usage_exit(usage);
}

/* The bytes of this many blocks; the program ends if no file has them. */
static u64 offset_of(u64 blocks, const char *what)
{
    u64 offset;
    if (__builtin_mul_overflow(blocks, args.block_bytes, &offset) ||
        offset > LONG_MAX)
        diex("%s=%lu: blocks of %lu bytes: %s", what, blocks, args.block_bytes,
             strerror(EFBIG));
    return offset;
}

/* Get memory for this many bytes. False without it. */
static bool make_room(u64 n)
{
    if (n <= room)
        return true;
    char *bigger = realloc(buf, n);
    if (!bigger)
        return false;
    buf = bigger;
    room = n;
    return true;
}

/* Read a block. Returns its bytes, 0 at the end, or -1. A part that is not full
 * ends the block, just as a short read ends a smaller block. */
static i64 read_block(int fd)
{
    u64 have = 0;
    while (have < args.block_bytes) {
        u64 part = MIN(args.block_bytes - have, MAX(have, PART_BYTES));
        if (!make_room(have + part))
            return -1;
        i64 n = read(fd, buf + have, part);
        if (n < 0)
            return -1;
        have += n;
        if ((u64)n < part)
            break;
    }
    return have;
}

/* Open the input and skip its first bytes: by lseek, or by reading them if it
 * is a pipe. */
static int open_input(u64 offset)
{
    int fd = args.in ? open(args.in, O_RDONLY) : 0;
    if (fd < 0)
        die("%s", args.in);
    if (offset == 0 || lseek(fd, offset, SEEK_CUR) >= 0)
        return fd;
    if (errno != ESPIPE)
        die("skip=%lu", args.skip);
    if (!make_room(PART_BYTES))
        die("skip=%lu", args.skip);
    while (offset > 0) {
        i64 n = read_all(fd, buf, MIN(offset, PART_BYTES));
        if (n < 0)
            die("%s", args.in ? args.in : "standard input");
        if (n == 0)
            break;
        offset -= n;
    }
    return fd;
}

/* Open the output at that offset. A file is cut there, unless conv=notrunc. */
static int open_output(u64 offset)
{
    int flags = O_WRONLY | O_CREAT | (args.sync ? O_SYNC : 0) |
                (args.excl ? O_EXCL : 0);
    int fd = args.out ? open(args.out, flags, 0666) : 1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        die("%s", args.out);
    if (args.out && !args.notrunc && S_ISREG(st.st_mode) &&
        ftruncate(fd, offset) < 0)
        die("%s", args.out);
    if (offset > 0 && lseek(fd, offset, SEEK_CUR) < 0)
        die("seek=%lu", args.seek);
    return fd;
}

/* Return 0, or -1 after a warning. */
static int copy(int in, int out)
{
    for (u64 i = 0; i < args.count; i++) {
        i64 n = read_block(in);
        if (n < 0) {
            warn("%s", args.in ? args.in : "standard input");
            return -1;
        }
        if (n == 0)
            break;
        (n == (i64)args.block_bytes ? full : partial)[0]++;
        if (write_all(out, buf, n) < 0) {
            warn("%s", args.out ? args.out : "standard output");
            return -1;
        }
        (n == (i64)args.block_bytes ? full : partial)[1]++;
        bytes += n;
    }
    if (args.flush && args.flush(out) < 0) {
        warn(args.flush == fsync ? "fsync" : "fdatasync");
        return -1;
    }
    if (close(out) < 0) {
        warn("%s", args.out ? args.out : "standard output");
        return -1;
    }
    return 0;
}

/* Print blocks, bytes, time and speed of a copy that took that long. */
static void report(u64 ns)
{
    /* bytes / ns are GB/s, of which a tenth of an MB/s is the 10,000th. */
    u64 tenths = ns > 0 ? bytes * 10000 / ns : 0;
    fprintf(stderr, "%lu+%lu blocks in, %lu+%lu blocks out\n", full[0],
            partial[0], full[1], partial[1]);
    fprintf(stderr, "%lu bytes, %lu.%06lu s, %lu.%lu MB/s\n", bytes,
            ns / NS_PER_S, ns % NS_PER_S / NS_PER_US, tenths / 10, tenths % 10);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        parse(argv[i]);
    if (args.block_bytes == 0)
        diex("bs=0: no block");
    u64 skip = offset_of(args.skip, "skip"),
        seek = offset_of(args.seek, "seek");
    int in = open_input(skip);
    int out = open_output(seek);
    bool grows = args.out ? seek > skip : true; /* the input as it is read */
    if (args.count == ~0UL && grows && is_same_file(in, out))
        diex("%s: is the output too", args.in ? args.in : "standard input");
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    int result = copy(in, out);
    report(gettime(CLOCK_VIRTUAL) - start_ns);
    return result < 0;
}

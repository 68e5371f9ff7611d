/*
 * bench: how fast is the system? Each test prints one line,
 *
 *   NAME COUNT UNIT TIME ns
 *
 * and `make bench` makes a table of them: COUNT units took TIME.
 *
 *   bench write FILE BYTES    write a file, 64 KiB a call, and fsync it
 *   bench read FILE           read a file, 64 KiB a call
 *   bench cached FILE         read a cached file, 4 KiB a call
 *   bench random FILE N       read N different 4 KiB blocks of a file
 *   bench create N            create and unlink a file N times
 *   bench files N PROCESSES   N new files of 4 KiB, an fsync each, by PROCESSES
 *                             processes
 *   bench null N              N system calls that do nothing
 *   bench exec N              fork, exec /bin/true and wait N times
 *   bench device DISK BYTES REQUEST N PROCESSES
 *                             N random reads of REQUEST bytes in the first
 *                             BYTES of /dev/DISK by PROCESSES processes
 *
 * - The caller decides whether a file is cached: after a boot it is not.
 * - Random places come from a fixed seed, so every run reads the same ones.
 */
#include "user/lib.h"

#define BLOCK    4096UL
#define BIG_CALL 65536UL

static char buf[BIG_CALL] __attribute__((aligned(4096)));
static u64 start_ns;

static void start(void)
{
    start_ns = gettime(CLOCK_VIRTUAL);
}

static void report(const char *name, u64 count, const char *unit)
{
    u64 took_ns = gettime(CLOCK_VIRTUAL) - start_ns;
    printf("%s %lu %s %lu ns\n", name, count, unit, took_ns);
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, flags, 0644);
    if (fd < 0)
        die("%s", path);
    return fd;
}

static u64 file_bytes(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        die("fstat");
    return st.st_size;
}

/* Write BYTES to a new file, rounded up to whole calls, and fsync it. */
static void bench_write(char **args)
{
    u64 bytes = size_arg(args[1], "BYTES");
    int fd = open_file(args[0], O_WRONLY | O_CREAT | O_TRUNC);
    memset(buf, 'x', sizeof buf);
    start();
    for (u64 calls = bytes / BIG_CALL + (bytes % BIG_CALL > 0); calls > 0;
         calls--)
        if (write(fd, buf, BIG_CALL) != (i64)BIG_CALL)
            die("%s", args[0]);
    if (fsync(fd) < 0)
        die("fsync");
    report("write", bytes, "bytes");
}

/* Read the whole file in calls of n bytes. Returns its size. */
static u64 read_through(int fd, u64 n)
{
    u64 bytes = 0;
    i64 got;
    if (lseek(fd, 0, SEEK_SET) < 0)
        die("lseek");
    while ((got = read(fd, buf, n)) > 0)
        bytes += got;
    if (got < 0)
        die("read");
    return bytes;
}

static void bench_read(char **args)
{
    int fd = open_file(args[0], O_RDONLY);
    start();
    report("read", read_through(fd, BIG_CALL), "bytes");
}

/* Read a file that is in the cache, 20 times. */
static void bench_cached(char **args)
{
    int fd = open_file(args[0], O_RDONLY);
    u64 bytes = 0;
    read_through(fd, BIG_CALL);
    start();
    for (int i = 0; i < 20; i++)
        bytes += read_through(fd, BLOCK);
    report("cached", bytes, "bytes");
}

/* The numbers below n in random order. */
static u32 *shuffled(u64 n)
{
    u64 seed = 1;
    u32 *order = xmalloc(n * sizeof *order);
    for (u64 i = 0; i < n; i++) {
        u64 j = random_u64(&seed) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

/* Read n blocks of a file in a random order, each once. */
static void bench_random(char **args)
{
    int fd = open_file(args[0], O_RDONLY);
    u64 blocks = file_bytes(fd) / BLOCK, n = size_arg(args[1], "N");
    u32 *order = shuffled(blocks);
    if (n > blocks)
        diex("%s has only %lu blocks", args[0], blocks);
    start();
    for (u64 i = 0; i < n; i++)
        if (pread(fd, buf, BLOCK, order[i] * BLOCK) != (i64)BLOCK)
            die("%s", args[0]);
    report("random", n, "reads");
}

/* Create and remove an empty file n times. */
static void bench_create(char **args)
{
    u64 n = size_arg(args[0], "N");
    start();
    for (u64 i = 0; i < n; i++) {
        close(open_file("/bench.file", O_WRONLY | O_CREAT | O_EXCL));
        if (unlink("/bench.file") < 0)
            die("unlink");
    }
    report("create", n, "files");
}

/* n files. */
static void sync_files(void *n, u64)
{
    char path[PATH_BYTES];
    for (u64 i = 0; i < *(u64 *)n; i++) {
        snprintf(path, sizeof path, "/bench.%d.%lu", getpid(), i);
        int fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
        if (write(fd, buf, BLOCK) != (i64)BLOCK || fsync(fd) < 0)
            die("%s", path);
        close(fd);
    }
}

/* Have fn(arg, p) done by so many processes at a time, p from 0 on. */
static void by_processes(u64 processes, void (*fn)(void *arg, u64 p), void *arg)
{
    int status;
    for (u64 p = 0; p < processes; p++) {
        int pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            fn(arg, p);
            _exit(0);
        }
    }
    for (u64 p = 0; p < processes; p++)
        if (wait(-1, &status, 0) < 0 || status != 0)
            diex("a process failed");
}

/* Have PROCESSES processes make N files together, each with a sync of its
 * own. */
static void bench_files(char **args)
{
    u64 n = size_arg(args[0], "N"), processes = size_arg(args[1], "PROCESSES");
    if (processes == 0)
        diex("PROCESSES must be at least 1");
    n /= processes;
    start();
    by_processes(processes, sync_files, &n);
    report("files", n * processes, "files");
}

static void bench_null(char **args)
{
    u64 n = size_arg(args[0], "N");
    start();
    for (u64 i = 0; i < n; i++)
        getpid();
    report("null", n, "calls");
}

/* Run /bin/true N times, one after the other. */
static void bench_exec(char **args)
{
    u64 n = size_arg(args[0], "N");
    start();
    for (u64 i = 0; i < n; i++)
        if (run((char *[]){"/bin/true", NULL}) != 0)
            diex("/bin/true failed");
    report("exec", n, "programs");
}

struct reads {
    int fd;
    u64 bytes, request, n;
};

/* n random reads of the device; the process's number is its seed. */
static void read_device(void *arg, u64 seed)
{
    const struct reads *r = arg;
    for (u64 i = 0; i < r->n; i++) {
        u64 at = random_u64(&seed) % (r->bytes / r->request) * r->request;
        if (pread(r->fd, buf, r->request, at) != (i64)r->request)
            die("pread");
    }
}

/* Have PROCESSES processes read N requests together from the first BYTES of a
 * device. */
static void bench_device(char **args)
{
    char path[PATH_BYTES], name[32];
    struct reads r = {.bytes = size_arg(args[1], "BYTES"),
                      .request = size_arg(args[2], "REQUEST")};
    u64 n = size_arg(args[3], "N"), processes = size_arg(args[4], "PROCESSES");

    if (!join_path(path, sizeof path, "/dev", args[0]))
        exit(1);
    r.fd = open_file(path, O_RDONLY);
    if (r.request == 0 || r.request > sizeof buf || r.bytes < r.request)
        diex("REQUEST must be 1 to %zu and at most BYTES", sizeof buf);
    if (processes == 0)
        diex("PROCESSES must be at least 1");
    r.n = n / processes;
    start();
    by_processes(processes, read_device, &r);
    snprintf(name, sizeof name, "device-%lu-%lu", r.request, processes);
    report(name, r.n * processes, "reads");
}

static const struct {
    const char *name;
    int nargs;
    void (*run)(char **args);
} benches[] = {
    {"write", 2, bench_write},   {"read", 1, bench_read},
    {"cached", 1, bench_cached}, {"random", 2, bench_random},
    {"create", 1, bench_create}, {"files", 2, bench_files},
    {"null", 1, bench_null},     {"exec", 1, bench_exec},
    {"device", 5, bench_device},
};

int main(int argc, char **argv)
{
    for (u32 i = 0; argc > 1 && i < NELEM(benches); i++) {
        if (strcmp(argv[1], benches[i].name) != 0 ||
            argc != 2 + benches[i].nargs)
            continue;
        benches[i].run(argv + 2);
        return 0;
    }
    usage_exit("bench TEST ARGUMENTS: see the head of user/load/bench.c");
}

/*
 * cold: read several files at the same time, each by its own process, while no
 * cache holds any part of them. It does this `runs` times, each time with other
 * files.
 *
 *   cold file=/data/f pool=256 files=2 bs=8k runs=50
 *
 * - The files to choose from are FILE0, FILE1, ... on the disk mounted at dir=,
 *   all of one size. The seed determines which of them are read.
 * - Before each run the disk is unmounted and mounted again, read-only, so that
 *   the buffer cache holds nothing of it. Then the program reads random places
 *   until the drive's cache holds nothing of the files. Then each process opens
 *   its file, and all begin at one time.
 * - A process reads its file from the start to the end, bs bytes a call, and
 *   computes for `work` after each call. Only this is measured.
 *
 * At the end one line, `cold {JSON}`: job (name=), seed, files, runs, size and
 * bs; run_ns {min, max, mean, std}: from the start until the last process has
 * ended; request_ns: the mean of run_ns, times bs / size; throughput: bytes a
 * second of all processes together; response_ns and histogram of all reads.
 *
 * After the measurements of Shriver, Small, Smith, "Why does file system
 * prefetching work?", USENIX 1999.
 */
#include "user/lib.h"
#include "user/lib/compute.h"
#include "user/lib/histogram.h"
#include "user/lib/json.h"
#include "user/lib/random.h"
#include "user/lib/settings.h"

#define FILES_MAX   24                /* a pipe each */
#define READS_MAX   8192              /* of a file */
#define SETTLE_NS   (100 * NS_PER_MS) /* for a process to open its file */
#define FLUSH_READS 32                /* more than a drive has segments */
#define FLUSH_BYTES 4096UL

enum { WHICH, WHERE }; /* uses of random numbers */

struct cold {
    const char *name, *file, *dir, *disk;
    u64 files, pool, bs_bytes, runs, work, seed;
    u64 size_bytes; /* of each file */
};

static struct cold o;
static u64 which, where; /* generators */
static struct histogram runs, responses;

#define ROW(name_, type_, field_, unit_, standard_, min_, max_, about_)       \
    {                                                                         \
        .name = name_, .type = type_, .field = offsetof(struct cold, field_), \
        .unit = unit_, .standard = standard_, .min = min_, .max = max_,       \
        .about = about_,                                                      \
    }
static const struct setting rows[] = {
    ROW("name", TEXT, name, "WORD", "cold", 0, 0, "name of the job"),
    ROW("file", TEXT, file, "PATH", "/data/f", 0, 0,
        "path of a file, without its number"),
    ROW("dir", TEXT, dir, "PATH", "/data", 0, 0,
        "directory at which the disk is mounted"),
    ROW("disk", TEXT, disk, "NAME", "disk1", 0, 0, "name of that disk"),
    ROW("pool", NUMBER, pool, "FILES", "1", 1, 1 << 20,
        "number of files to choose from"),
    ROW("files", NUMBER, files, "FILES", "1", 1, FILES_MAX,
        "number of files read at once"),
    ROW("bs", SIZE, bs_bytes, "BYTES", "8k", 512, 1 << 20, "size of a read"),
    ROW("runs", NUMBER, runs, "TIMES", "1", 1, 100000, "number of runs"),
    ROW("work", NUMBER, work, "INSTRUCTIONS", "0", 0, 10000000,
        "computed after each read, in thousands"),
    ROW("seed", NUMBER, seed, "NUMBER", "1", 0, ~0UL,
        "seed of all random numbers"),
};
static const struct settings table = {rows, NELEM(rows), NULL};

static void path_of(char *path, u64 number)
{
    snprintf(path, PATH_BYTES, "%s%lu", o.file, number);
}

/* ---- a process ---- */

static char buf[1 << 20];        /* a read's */
static u64 times[1 + READS_MAX]; /* when it ended, and each read's response */

/* Touch all memory that reads will need, because a first touch takes time. */
static void touch_memory(void)
{
    memset(buf, 1, o.bs_bytes);
    memset(times, 1, sizeof times);
}

static void wait_until(u64 start_ns, const char *path)
{
    u64 now_ns = gettime(CLOCK_VIRTUAL);
    if (now_ns > start_ns)
        diex("%s: was opened too late", path);
    sleep(start_ns - now_ns);
}

/* Read the file and store each read's time. Returns the number of reads. */
static u64 read_file(int fd, const char *path)
{
    u64 n = 1;
    for (u64 at = 0; at < o.size_bytes; at += o.bs_bytes) {
        u64 bytes = MIN(o.bs_bytes, o.size_bytes - at);
        u64 from_ns = gettime(CLOCK_VIRTUAL);
        if (pread(fd, buf, bytes, at) != (i64)bytes)
            die("%s: read", path);
        times[n++] = gettime(CLOCK_VIRTUAL) - from_ns;
        compute(o.work);
    }
    times[0] = gettime(CLOCK_VIRTUAL);
    return n;
}

/* Wait until all processes that have this pipe are here: the read ends when the
 * last of them has closed its end for writing. */
static void wait_for_all(const int fds[2])
{
    char byte;
    close(fds[1]);
    read(fds[0], &byte, 1);
}

/* Be the process that reads a file: wait for the common start, read, wait until
 * all have ended, and send the times of its reads. */
static void be_reader(u64 file, u64 start_ns, const int all[2], int out)
{
    char path[PATH_BYTES];
    path_of(path, file);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        die("%s", path);
    touch_memory();
    wait_until(start_ns, path);
    u64 bytes = read_file(fd, path) * sizeof times[0];
    wait_for_all(all);
    if (write(out, times, bytes) != (i64)bytes)
        die("pipe");
    exit(0);
}

/* Start a process; the descriptor from which to read its times. */
static int start(u64 file, u64 start_ns, const int all[2])
{
    int out[2];
    if (pipe(out) < 0)
        die("pipe");
    int pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        close(out[0]);
        be_reader(file, start_ns, all, out[1]);
    }
    close(out[1]);
    return out[0];
}

/* ---- a run ---- */

static void empty_cache(void)
{
    if (umount(o.dir, false) < 0)
        die("%s", o.dir);
    if (mount(o.disk, o.dir, MS_RDONLY) < 0)
        die("%s at %s", o.disk, o.dir);
}

/* Read random places of the disk, so that the drive's own cache has nothing of
 * the files. */
static void empty_drive(void)
{
    static char buf[FLUSH_BYTES];
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/dev/%s", o.disk);
    int fd = open(path, O_RDONLY);
    i64 size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (size < 0)
        die("%s", path);
    for (int i = 0; i < FLUSH_READS; i++) {
        u64 at = random_below(&where, size / FLUSH_BYTES) * FLUSH_BYTES;
        if (pread(fd, buf, FLUSH_BYTES, at) != FLUSH_BYTES)
            die("%s: read", path);
    }
    close(fd);
}

/* Different files of the pool. */
static void choose(u64 file[FILES_MAX])
{
    for (u64 i = 0; i < o.files; i++) {
        u64 j = 0;
        file[i] = random_below(&which, o.pool);
        while (file[j] != file[i])
            j++;
        i -= j < i; /* it was drawn before: draw again */
    }
}

static void get(int fd, u64 *value)
{
    if (read_all(fd, value, sizeof *value) != sizeof *value)
        diex("a process has failed");
}

/* Add a process's response times to the histogram. Returns when it ended. */
static u64 collect(int fd)
{
    u64 ended_ns, response_ns;
    u64 reads = (o.size_bytes + o.bs_bytes - 1) / o.bs_bytes;
    get(fd, &ended_ns);
    for (u64 i = 0; i < reads; i++) {
        get(fd, &response_ns);
        histogram_add(&responses, response_ns);
    }
    close(fd);
    return ended_ns;
}

/* Empty both caches, choose files, and have one process for each read it, all
 * from one moment on. The run lasts until the last has ended. */
static void run_once(void)
{
    u64 file[FILES_MAX], ended_ns = 0;
    int fds[FILES_MAX], all[2];
    empty_cache();
    empty_drive();
    choose(file);
    if (pipe(all) < 0)
        die("pipe");
    u64 start_ns = gettime(CLOCK_VIRTUAL) + o.files * SETTLE_NS;
    for (u64 i = 0; i < o.files; i++)
        fds[i] = start(file[i], start_ns, all);
    close(all[0]);
    close(all[1]);
    for (u64 i = 0; i < o.files; i++) {
        u64 its_end_ns = collect(fds[i]);
        ended_ns = MAX(ended_ns, its_end_ns);
    }
    for (u64 i = 0; i < o.files; i++)
        wait(-1, NULL, 0);
    histogram_add(&runs, ended_ns - start_ns);
}

static void check(void)
{
    struct stat st;
    char path[PATH_BYTES];
    path_of(path, o.pool - 1);
    if (o.files > o.pool)
        refuse("files=%lu: pool=%lu has fewer", o.files, o.pool);
    if (stat(path, &st) < 0)
        refuse("file=%s: %s: %s", o.file, path, strerror(errno));
    o.size_bytes = st.st_size;
    if (o.size_bytes == 0 || o.size_bytes > READS_MAX * o.bs_bytes)
        refuse("bs=%lu: %s has %lu bytes, which is not 1 to %d reads",
               o.bs_bytes, path, o.size_bytes, READS_MAX);
}

/* Print the results in one line of JSON. request_ns: a run's mean time, divided
 * by its size / bs requests; throughput in bytes/s. */
static void report(void)
{
    printf("cold {\"job\":");
    json_print_string(o.name);
    printf(",\"seed\":%lu,\"files\":%lu,\"runs\":%lu,\"size\":%lu,\"bs\":%lu,"
           "\"request_ns\":%lu,\"throughput\":%lu,\"run_ns\":",
           o.seed, o.files, o.runs, o.size_bytes, o.bs_bytes,
           runs.sum / o.runs * o.bs_bytes / o.size_bytes,
           o.files * o.runs * o.size_bytes * 1000000 / (runs.sum / NS_PER_US));
    histogram_print_summary(&runs);
    printf(",\"response_ns\":");
    histogram_print_summary(&responses);
    printf(",\"histogram\":");
    histogram_print_buckets(&responses);
    printf("}\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        printf("usage: cold NAME=VALUE...\n");
        settings_help(&table);
        return 0;
    }
    settings_default(&table, &o);
    settings_apply(&table, &o, argv + 1, argc - 1);
    check();
    which = random_stream(o.seed, 0, WHICH);
    where = random_stream(o.seed, 0, WHERE);
    for (u64 i = 0; i < o.runs; i++)
        run_once();
    report();
    return 0;
}

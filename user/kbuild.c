/*
 * kbuild: does the disk accesses and the computing of a kernel's compilation.
 *
 *   kbuild prepare=1 dir=/data
 *   kbuild dir=/data
 *
 * - With prepare=1 it writes the source and header files, and ends.
 * - Without it, it compiles. For each source it reads the source and some
 *   headers, computes, writes a temporary file, reads it back, computes, writes
 *   the object, and removes the temporary file. Then it links: it reads all
 *   objects, computes, and writes as much to one file.
 * - Computing takes a fixed number of instructions for each KiB that was read.
 *   Nearly all of them do nothing, and QEMU needs no host time for them.
 * - The same words give the same work: sizes (half to one and a half times the
 *   mean) and choices come from the seed.
 *
 * At the end one line, `kbuild {JSON}`: job (name=), pid, seed, start_ns,
 * elapsed_ns, compile_ns (without linking), reads and writes (calls),
 * read_bytes, written_bytes; response_ns {min, max, mean, std} and histogram
 * of the reads.
 *
 * What a build does: Mogul, "A Better Update Policy", USENIX Summer 1994,
 * section 4.3: 43 MB of a kernel's objects, as much temporary data, and a CPU
 * that is idle for an eighth of the time.
 */
#include "user/lib.h"
#include "user/lib/compute.h"
#include "user/lib/histogram.h"
#include "user/lib/json.h"
#include "user/lib/random.h"
#include "user/lib/settings.h"

#define KIB   1024UL
#define PIECE (8 * KIB) /* of a call */

/* Uses of random numbers: each has a generator of its own. */
enum { SOURCE, HEADER, OBJECT, TEMPORARY, CHOICE_OF_HEADERS };

struct build {
    const char *name, *dir;
    u64 prepare, sources, headers, headers_each, seed, work;
    u64 source_kb, header_kb, temporary_kb, object_kb;
    u64 reads, writes, read_bytes, written_bytes;
};

static struct build o;
static struct histogram response;
static char piece[PIECE];

#define ROW(name_, type_, unit_, standard_, min_, max_, about_)                \
    {                                                                          \
        .name = #name_, .type = type_, .field = offsetof(struct build, name_), \
        .unit = unit_, .standard = standard_, .min = min_, .max = max_,        \
        .about = about_,                                                       \
    }
static const struct setting rows[] = {
    ROW(name, TEXT, "WORD", "build", 0, 0, "name of the job"),
    ROW(dir, TEXT, "PATH", "/data", 0, 0, "directory of the files"),
    ROW(prepare, NUMBER, "0|1", "0", 0, 1, "1: write sources and headers"),
    ROW(sources, NUMBER, "FILES", "400", 1, 100000, "sources to compile"),
    ROW(headers, NUMBER, "FILES", "120", 1, 10000, "headers to choose from"),
    ROW(headers_each, NUMBER, "FILES", "20", 0, 1000,
        "headers that a source reads"),
    ROW(source_kb, NUMBER, "KIB", "24", 1, 10000, "mean size of a source"),
    ROW(header_kb, NUMBER, "KIB", "6", 1, 10000, "size of a header"),
    ROW(temporary_kb, NUMBER, "KIB", "108", 1, 10000,
        "size of a temporary file"),
    ROW(object_kb, NUMBER, "KIB", "108", 1, 10000, "size of an object"),
    ROW(work, NUMBER, "THOUSANDS", "360", 0, 10000000,
        "instructions for each KiB read, in thousands"),
    ROW(seed, NUMBER, "NUMBER", "1", 0, ~0UL, "seed of all random numbers"),
};
static const struct settings table = {rows, NELEM(rows), NULL};

/* The size of the n-th file of a kind. */
static u64 size_bytes(u64 kind, u64 n, u64 mean_kb)
{
    u64 state = random_stream(o.seed, n, kind);
    u64 mean = mean_kb * KIB;
    return mean / 2 + random_below(&state, mean + 1);
}

static void path_of(char *path, size_t n, const char *kind, u64 number)
{
    snprintf(path, n, "%s/%s%lu", o.dir, kind, number);
}

/* What a compiler does with so much text. */
static void digest(u64 bytes)
{
    compute(o.work * (bytes / KIB));
}

/* Write this many bytes to a file that is open. */
static void put(int fd, const char *path, u64 bytes)
{
    for (u64 n; bytes; bytes -= n) {
        n = MIN(bytes, PIECE);
        if (write(fd, piece, n) != (i64)n)
            die("%s", path);
        o.writes++;
        o.written_bytes += n;
    }
}

static int create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        die("%s", path);
    return fd;
}

static void write_file(const char *path, u64 bytes)
{
    int fd = create(path);
    put(fd, path, bytes);
    close(fd);
}

/* Read a file whole. Returns its bytes. */
static u64 read_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    u64 bytes = 0;
    i64 n;
    if (fd < 0)
        die("%s: was prepare=1 done with the same words?", path);
    for (;;) {
        u64 from_ns = gettime(CLOCK_VIRTUAL);
        n = read(fd, piece, PIECE);
        if (n <= 0)
            break;
        histogram_add(&response, gettime(CLOCK_VIRTUAL) - from_ns);
        o.reads++;
        bytes += n;
    }
    if (n < 0)
        die("%s", path);
    close(fd);
    o.read_bytes += bytes;
    return bytes;
}

static void prepare(void)
{
    char path[PATH_BYTES];
    for (u64 i = 0; i < o.headers; i++) {
        path_of(path, sizeof path, "header", i);
        write_file(path, size_bytes(HEADER, i, o.header_kb));
    }
    for (u64 i = 0; i < o.sources; i++) {
        path_of(path, sizeof path, "source", i);
        write_file(path, size_bytes(SOURCE, i, o.source_kb));
    }
}

static void compile(u64 n)
{
    char path[PATH_BYTES];
    u64 choice = random_stream(o.seed, n, CHOICE_OF_HEADERS);
    path_of(path, sizeof path, "source", n);
    u64 bytes = read_file(path);
    for (u64 i = 0; i < o.headers_each; i++) {
        path_of(path, sizeof path, "header", random_below(&choice, o.headers));
        bytes += read_file(path);
    }
    digest(bytes);
    char temporary[PATH_BYTES];
    path_of(temporary, sizeof temporary, "temporary", n);
    write_file(temporary, size_bytes(TEMPORARY, n, o.temporary_kb));
    digest(read_file(temporary));
    path_of(path, sizeof path, "object", n);
    write_file(path, size_bytes(OBJECT, n, o.object_kb));
    if (unlink(temporary) < 0)
        die("%s", temporary);
}

static void link_all(void)
{
    char path[PATH_BYTES], out[PATH_BYTES];
    snprintf(out, sizeof out, "%s/linked", o.dir);
    int fd = create(out);
    for (u64 i = 0; i < o.sources; i++) {
        path_of(path, sizeof path, "object", i);
        u64 bytes = read_file(path);
        digest(bytes);
        put(fd, out, bytes);
    }
    close(fd);
}

static void report(u64 start_ns, u64 compiled_ns)
{
    u64 end_ns = gettime(CLOCK_VIRTUAL);
    printf("kbuild {\"job\":");
    json_print_string(o.name);
    printf(",\"pid\":%d,\"seed\":%lu,\"start_ns\":%lu,"
           "\"elapsed_ns\":%lu,\"compile_ns\":%lu,\"reads\":%lu,\"writes\":%lu,"
           "\"read_bytes\":%lu,\"written_bytes\":%lu,\"response_ns\":",
           getpid(), o.seed, start_ns, end_ns - start_ns,
           compiled_ns - start_ns, o.reads, o.writes, o.read_bytes,
           o.written_bytes);
    histogram_print_summary(&response);
    printf(",\"histogram\":");
    histogram_print_buckets(&response);
    printf("}\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        printf("usage: kbuild NAME=VALUE...\n");
        settings_help(&table);
        return 0;
    }
    settings_default(&table, &o);
    settings_apply(&table, &o, argv + 1, argc - 1);
    memset(piece, 'k', sizeof piece);
    if (o.prepare) {
        prepare();
        return 0;
    }
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    for (u64 i = 0; i < o.sources; i++)
        compile(i);
    u64 compiled_ns = gettime(CLOCK_VIRTUAL);
    link_all();
    report(start_ns, compiled_ns);
    return 0;
}

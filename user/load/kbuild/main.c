/*
 * kbuild: does what a kernel's compilation does with files, and its computing.
 *
 *   kbuild prepare=1 dir=/data
 *   kbuild dir=/data
 *
 * - With prepare=1 it writes the source and header files, and ends.
 * - Without it, it compiles. For each source it reads the source and its
 *   headers and writes the preprocessed text, reads that and writes assembly,
 *   reads that and writes the object, and removes the two temporary files. The
 *   objects of some folders become archives. Then it links all objects and
 *   archives.
 * - Sizes of files, sizes of writes, places in files and computing times are
 *   those of a real compilation, measured under strace
 *   (user/load/kbuild/measured.c). Text and sections are written in pieces of
 *   buffer= bytes or less.
 * - Computing takes work= instructions for each us of the measured machine.
 *   Nearly all of them do nothing, and QEMU needs no host time for them.
 * - The same words give the same work: the order of the folders comes from the
 *   seed.
 *
 * At the end one line, `kbuild {JSON}`: job (name=), pid, seed, start_ns,
 * elapsed_ns, compile_ns (without linking), reads and writes (calls),
 * read_bytes, written_bytes, temporary_bytes and object_bytes (parts of those
 * written); response_ns {min, max, mean, std} and histogram of the reads.
 *
 * What a build does: Mogul, "A Better Update Policy", USENIX Summer 1994,
 * section 4.3: 43 MB of a kernel's objects, as much temporary data, and a CPU
 * that is idle for an eighth of the time.
 */
#include "user/lib.h"
#include "user/load/kbuild/kbuild.h"
#include "user/lib/json.h"
#include "user/lib/settings.h"

struct build o;

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
    ROW(scale, NUMBER, "PERCENT", "125", 1, 10000,
        "size of all files, by the size that was measured"),
    ROW(program, NUMBER, "PERCENT", "100", 1, 100,
        "of what is linked, by size: what is left out is debug symbols"),
    ROW(buffer, NUMBER, "BYTES", "4096", 1, 65536, "largest read or write"),
    ROW(work, NUMBER, "INSTRUCTIONS", "1200", 0, 10000000,
        "instructions for each us of measured computing"),
    ROW(seed, NUMBER, "NUMBER", "1", 0, ~0UL, "seed of all random numbers"),
};
static const struct settings table = {rows, NELEM(rows), NULL};

static void report(u64 start_ns, u64 compiled_ns)
{
    u64 end_ns = gettime(CLOCK_VIRTUAL);
    printf("kbuild {\"job\":");
    json_print_string(o.name);
    printf(",\"pid\":%d,\"seed\":%lu,\"start_ns\":%lu,\"elapsed_ns\":%lu,"
           "\"compile_ns\":%lu,\"reads\":%lu,\"writes\":%lu,"
           "\"read_bytes\":%lu,\"written_bytes\":%lu,"
           "\"temporary_bytes\":%lu,\"object_bytes\":%lu,",
           getpid(), o.seed, start_ns, end_ns - start_ns,
           compiled_ns - start_ns, counts.reads, counts.writes,
           counts.read_bytes, counts.written_bytes, counts.temporary_bytes,
           counts.object_bytes);
    print_reads();
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
    if (o.prepare) {
        prepare();
        return 0;
    }
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    compile_all();
    u64 compiled_ns = gettime(CLOCK_VIRTUAL);
    link_all();
    report(start_ns, compiled_ns);
    return 0;
}

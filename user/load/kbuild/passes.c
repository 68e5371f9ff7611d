/*
 * The passes of a compilation (kbuild.h).
 *
 * - Sources come in folders. The folders of the measured build are taken in a
 *   random order, each once before any comes again, until there are enough
 *   sources; the last folder may be cut short. So a source has the sizes and
 *   times of a real one, and an archive has a real number of objects.
 * - A source passes cpp, cc and as. The temporary files of cpp and cc are
 *   removed when the object is there. An object is written in runs, and its
 *   header last.
 * - ar writes an archive to a temporary file and copies that, as GNU ar does.
 * - The linker reads all objects as often as the measured one did, and writes
 *   each object's part of each section. The table of symbols and the header
 *   come last.
 */
#include "user/lib.h"
#include "user/load/kbuild/kbuild.h"
#include "user/lib/random.h"

#define MB            1000000UL
#define ARCHIVE_START 8  /* bytes: the word before the first object */
#define PROGRAM_START 64 /* bytes: the program's header */

/* A folder of the build that is made. */
struct folder {
    u64 number;       /* in order of compilation */
    u64 first, count; /* its sources, as numbers of measured ones */
    bool archived;
    u64 bytes; /* of its objects */
};

static struct folder *folders;
static u64 folder_count;

static u64 scaled(u64 bytes)
{
    return MAX(bytes * o.scale / 100, 1);
}

/* ---- names ---- */

static void name(char *path, const char *fmt, u64 a, u64 b)
{
    char last[PATH_BYTES];
    snprintf(last, sizeof last, fmt, a, b);
    if (!join_path(path, PATH_BYTES, o.dir, last))
        exit(1);
}

static void header_path(char *path, u64 n)
{
    name(path, "include/h%lu.h", n, 0);
}

/* The n-th source of a folder, or the object of it. */
static void source_path(char *path, const struct folder *f, u64 n)
{
    name(path, "folder%lu/s%lu.c", f->number, n);
}

static void object_path(char *path, const struct folder *f, u64 n)
{
    name(path, "folder%lu/s%lu.o", f->number, n);
}

static void archive_path(char *path, const struct folder *f)
{
    name(path, "folder%lu/all.a", f->number, 0);
}

/* ---- which folders ---- */

/* Put the numbers below n in a random order. */
static void shuffle(u64 *order, u64 n, u64 *chance)
{
    for (u64 i = 0; i < n; i++) {
        u64 other = random_below(chance, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

/* Draw the folders in random rounds of the measured ones, until they have
 * o.sources sources. */
static void choose_folders(void)
{
    u64 n = measured_folders_count, chance = random_stream(o.seed, 0, 0);
    u64 order[n], first[n];
    for (u64 i = 0, at = 0; i < n; at += measured_folders[i++].sources)
        first[i] = at;
    folders = xmalloc(o.sources * sizeof *folders);
    for (u64 left = o.sources; left; folder_count++) {
        if (folder_count % n == 0)
            shuffle(order, n, &chance);
        u64 i = order[folder_count % n];
        const struct measured_folder *m = &measured_folders[i];
        folders[folder_count] = (struct folder){.number = folder_count,
                                                .first = first[i],
                                                .count = MIN(m->sources, left),
                                                .archived = m->archived};
        left -= folders[folder_count].count;
    }
}

/* ---- prepare ---- */

static void make_dir(const char *path)
{
    if (mkdir(path, 0755) < 0)
        die("%s", path);
}

void prepare(void)
{
    char path[PATH_BYTES];
    choose_folders();
    name(path, "include", 0, 0);
    make_dir(path);
    name(path, "tmp", 0, 0);
    make_dir(path);
    for (u64 i = 0; i < measured_headers_count; i++) {
        header_path(path, i);
        write_file(path, scaled(measured_headers[i]));
    }
    for (struct folder *f = folders; f < folders + folder_count; f++) {
        name(path, "folder%lu", f->number, 0);
        make_dir(path);
        for (u64 i = 0; i < f->count; i++) {
            source_path(path, f, i);
            write_file(path, scaled(measured_sources[f->first + i].source));
        }
    }
}

/* ---- compile ---- */

static void write_temporary(const char *path, u64 bytes, u64 us, u64 first)
{
    compute_file(path, bytes, us, first);
    counts.temporary_bytes += bytes;
}

/* Read a source and the headers that it includes, and write the text that the
 * compiler gets. */
static void preprocess(const struct folder *f, u64 n,
                       const struct measured_source *m, const char *to)
{
    char path[PATH_BYTES];
    source_path(path, f, n);
    read_file(path);
    for (u64 i = 0; i < measured_headers_count; i++) {
        if (m->headers[i / WORD_BITS] >> i % WORD_BITS & 1) {
            header_path(path, i);
            read_file(path);
        }
    }
    write_temporary(to, scaled(m->expanded), m->cpp_us,
                    measured_passes.cpp_first);
}

/* Returns the object's bytes. */
static u64 assemble(const struct folder *f, u64 n,
                    const struct measured_source *m)
{
    char path[PATH_BYTES];
    object_path(path, f, n);
    struct output out = create(path);
    u64 bytes = scaled(m->object), first = measured_passes.as_first;
    u64 before_us = m->as_us * first / SHARES;
    compute_us(before_us);
    for (u64 i = 0; i < measured_runs_count; i++) {
        const struct measured_run *run = &measured_runs[i];
        put(&out, bytes * run->at / SHARES, bytes * run->bytes / SHARES);
        compute_us((m->as_us - before_us) / measured_runs_count);
    }
    counts.object_bytes += out.bytes;
    finish(&out);
    return bytes;
}

/* Compile a source: preprocess it, compile to assembly, assemble, and remove
 * both temporary files. */
static void compile(struct folder *f, u64 n)
{
    const struct measured_source *m = &measured_sources[f->first + n];
    char expanded[PATH_BYTES], assembly[PATH_BYTES];
    name(expanded, "tmp/cc%lu-%lu.i", f->number, n);
    name(assembly, "tmp/cc%lu-%lu.s", f->number, n);
    preprocess(f, n, m, expanded);
    read_file(expanded);
    write_temporary(assembly, scaled(m->assembly), m->cc_us, m->cc_first);
    read_file(assembly);
    f->bytes += assemble(f, n, m);
    remove_file(assembly);
    remove_file(expanded);
}

static void archive(const struct folder *f)
{
    char path[PATH_BYTES], temporary[PATH_BYTES];
    name(temporary, "tmp/st%lu", f->number, 0);
    archive_path(path, f);
    write_file(path, ARCHIVE_START);
    for (u64 i = 0; i < f->count; i++) {
        char object[PATH_BYTES];
        object_path(object, f, i);
        read_file(object);
    }
    write_temporary(temporary, f->bytes,
                    f->bytes * measured_passes.archive_us / MB, 0);
    read_file(temporary);
    write_file(path, f->bytes);
    remove_file(temporary);
}

void compile_all(void)
{
    choose_folders();
    for (struct folder *f = folders; f < folders + folder_count; f++) {
        for (u64 i = 0; i < f->count; i++)
            compile(f, i);
        if (f->archived)
            archive(f);
    }
}

/* ---- link ---- */

/* Read what the linker reads of a folder. */
static void read_folder(const struct folder *f)
{
    char path[PATH_BYTES];
    if (f->archived) {
        archive_path(path, f);
        read_file(path);
        return;
    }
    for (u64 i = 0; i < f->count; i++) {
        object_path(path, f, i);
        read_file(path);
    }
}

/* Write an object's part of each section of the program. Section i takes a
 * measured share of all bytes, and begins where the sections before it end.
 * done: the bytes of the objects before this one, whole: of all objects. */
static void put_sections(struct output *out, u64 done, u64 bytes, u64 whole)
{
    u64 start = PROGRAM_START;
    for (u64 i = 0; i < measured_sections_count; i++) {
        u64 share = measured_sections[i];
        u64 from = done * share / SHARES;
        put(out, start + from, (done + bytes) * share / SHARES - from);
        start += whole * share / SHARES + 1;
    }
}

/* The bytes of a program that the linker makes of so many bytes of objects. */
static u64 linked(u64 bytes)
{
    return bytes * o.program / 100;
}

/* Link the program: read all objects, several times, and write the sections as
 * they become known. */
void link_all(void)
{
    char path[PATH_BYTES];
    u64 whole = 0, done = 0, end = PROGRAM_START;
    for (u64 i = 0; i < folder_count; i++)
        whole += linked(folders[i].bytes);
    for (u64 i = 0; i < measured_sections_count; i++)
        end += whole * measured_sections[i] / SHARES + 1;
    for (u64 times = measured_passes.link_read / SHARES; times > 1; times--)
        for (u64 i = 0; i < folder_count; i++)
            read_folder(&folders[i]);
    name(path, "program", 0, 0);
    struct output out = create(path);
    for (struct folder *f = folders; f < folders + folder_count; f++) {
        read_folder(f);
        for (u64 i = 0; i < f->count; i++) {
            u64 bytes = scaled(measured_sources[f->first + i].object);
            compute_us(bytes * measured_passes.link_us / MB);
            put_sections(&out, done, linked(bytes), whole);
            done += linked(bytes);
        }
    }
    put(&out, end, whole * measured_passes.symbols / SHARES);
    put(&out, 0, PROGRAM_START);
    finish(&out);
}

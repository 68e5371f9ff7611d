/*
 * kbuild's parts: the measured build, files, and the passes of a compilation.
 *
 * - measured.c describes a real build: each source, with the sizes of the files
 *   that the passes made of it. `make measure-build` writes measured.c.
 * - files.c reads and writes files in pieces, as programs do through stdio, and
 *   counts calls and bytes.
 * - passes.c compiles, archives and links.
 */
#ifndef SLUICE_USER_KBUILD_H
#define SLUICE_USER_KBUILD_H

#include "user/lib.h"

#define KIB          1024UL
#define HEADER_WORDS 2
#define WORD_BITS    64
#define SHARES       10000UL /* a share is a number of such parts */

/* ---- the measured build ---- */

/* A source: sizes of the files in bytes, CPU time of the passes on the machine
 * that was measured. */
struct measured_source {
    u32 source, expanded, assembly, object;
    u32 cpp_us, cc_us, as_us;
    u32 cc_first;              /* share of cc's time before it writes */
    u64 headers[HEADER_WORDS]; /* a bit for each header that cpp reads */
};
extern const struct measured_source measured_sources[];
extern const u64 measured_sources_count;

/* Sources that follow one another in the table. */
struct measured_folder {
    u32 sources;
    bool archived; /* their objects become an archive */
};
extern const struct measured_folder measured_folders[];
extern const u64 measured_folders_count;

extern const u32 measured_headers[]; /* sizes in bytes */
extern const u64 measured_headers_count;

/* Bytes that the assembler writes one after another: shares of the object. */
struct measured_run {
    u32 at, bytes;
};
extern const struct measured_run measured_runs[];
extern const u64 measured_runs_count;

/* Sections of the linked program: each as a share of all objects' bytes. */
extern const u32 measured_sections[];
extern const u64 measured_sections_count;

/* Shares of the time of cpp and as before they write; what the linker reads and
 * its table of symbols, as shares of all objects' bytes; CPU time for each MB
 * of objects (10^6 bytes). */
struct measured_passes {
    u32 cpp_first, as_first, link_read, symbols, archive_us, link_us;
};
extern const struct measured_passes measured_passes;

/* ---- settings and counts (main.c) ---- */

struct build {
    const char *name, *dir;
    u64 prepare, sources, scale, program, buffer, work, seed;
};
extern struct build o;

/* ---- files (files.c); a failure ends the program ---- */

struct counts {
    u64 reads, writes, read_bytes, written_bytes; /* calls, and their bytes */
    u64 temporary_bytes, object_bytes;            /* written to these files */
};
extern struct counts counts;

/* A file that is being written. */
struct output {
    const char *path;
    int fd;
    u64 bytes; /* written by all calls */
};

struct output create(const char *path);
void finish(struct output *);

/* Write at a place, in pieces that end where a buffer of stdio would. */
void put(struct output *, u64 at, u64 bytes);

/* A new file of this size. */
void write_file(const char *path, u64 bytes);

/* Write a new file from its beginning and compute for this time (measured us):
 * the first share of it before the first piece, the rest between the pieces. */
void compute_file(const char *path, u64 bytes, u64 us, u64 first);

/* Read a file whole. Returns its bytes. */
u64 read_file(const char *path);

void remove_file(const char *path);

/* Compute what took this time on the machine that was measured. */
void compute_us(u64 us);

void print_reads(void); /* summary and histogram of response times, as JSON */

/* ---- passes (passes.c) ---- */

/* Make directories, headers and sources. */
void prepare(void);
/* Compile all sources and pack archives. */
void compile_all(void);
/* Link all objects and archives. */
void link_all(void);

#endif

/*
 * small: creates, reads or removes many small files, one after the other.
 *
 *   small name=create op=create files=1500 size=1k
 *
 * - The files are DIR/0/0, DIR/0/1 and so on, `per` of them in each directory.
 *   op=create makes the directories first, and op=remove removes them last.
 * - A file is opened, written or read by one call, and closed; that is one
 *   response time. With sync=1 a file that was written is fsynced, too.
 * - In the end op=create writes all that is dirty to the disk (sync).
 *
 * At the end one line, `small {JSON}`: job (name=), files, size; elapsed_ns:
 * until all is done, with directories and sync; response_ns and histogram of
 * the files.
 *
 * After the small-file benchmark of M. Rosenblum, J. K. Ousterhout, "The Design
 * and Implementation of a Log-Structured File System", SOSP 1991.
 */
#include "user/lib.h"
#include "user/lib/histogram.h"
#include "user/lib/json.h"
#include "user/lib/settings.h"

enum { CREATE, READ, REMOVE };
static const struct choice ops[] = {
    {"create", 0}, {"read", 0}, {"remove", 0}, {NULL, 0}};

struct small {
    const char *name, *dir;
    u64 op, files, per, size_bytes, sync;
};

static struct small o;
static struct histogram responses;
static char buf[1 << 16];

#define ROW(name_, type_, field_, unit_, standard_, min_, max_, about_)        \
    {                                                                          \
        .name = name_, .type = type_, .field = offsetof(struct small, field_), \
        .unit = unit_, .standard = standard_, .min = min_, .max = max_,        \
        .about = about_,                                                       \
    }
static const struct setting rows[] = {
    ROW("name", TEXT, name, "WORD", "small", 0, 0, "name of the job"),
    {.name = "op",
     .type = CHOICE,
     .field = offsetof(struct small, op),
     .unit = "WHAT",
     .standard = "create",
     .choices = ops,
     .about = "what is done with each file"},
    ROW("dir", TEXT, dir, "PATH", "/data/small", 0, 0, "where they are"),
    ROW("files", NUMBER, files, "FILES", "1500", 1, 1 << 20, "number of files"),
    ROW("per", NUMBER, per, "FILES", "100", 1, 1 << 20,
        "number of files in a directory"),
    ROW("size", SIZE, size_bytes, "BYTES", "1k", 1, sizeof buf, "of each file"),
    ROW("sync", NUMBER, sync, "0|1", "0", 0, 1,
        "1: fsync each file that is written"),
};
static const struct settings table = {rows, NELEM(rows), NULL};

static void make_directory(const char *path)
{
    if (mkdir(path, 0777) < 0)
        die("%s", path);
}

/* Write the path of the i-th file. */
static void path_of(char *path, u64 i)
{
    snprintf(path, PATH_BYTES, "%s/%lu/%lu", o.dir, i / o.per, i % o.per);
}

/* Create a file with the size and, if the setting asks for it, the sync of the
 * job. */
static void create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    if (fd < 0)
        die("%s", path);
    if (write(fd, buf, o.size_bytes) != (i64)o.size_bytes ||
        (o.sync && fsync(fd) < 0))
        die("%s: write", path);
    close(fd);
}

/* Read a file of the job's size in one call. */
static void read_whole(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        die("%s", path);
    if (read(fd, buf, o.size_bytes) != (i64)o.size_bytes)
        die("%s: read", path);
    close(fd);
}

static void remove_file(const char *path)
{
    if (unlink(path) < 0)
        die("%s", path);
}

static void (*const do_one[])(const char *) = {create, read_whole, remove_file};

static void each_directory(void (*act)(const char *))
{
    char path[PATH_BYTES];
    for (u64 i = 0; i < o.files; i += o.per) {
        snprintf(path, sizeof path, "%s/%lu", o.dir, i / o.per);
        act(path);
    }
}

static void remove_directory(const char *path)
{
    if (rmdir(path) < 0)
        die("%s", path);
}

/* Create, read or remove each file, and note how long each took. */
static void each_file(void)
{
    char path[PATH_BYTES];
    for (u64 i = 0; i < o.files; i++) {
        path_of(path, i);
        u64 from_ns = gettime(CLOCK_VIRTUAL);
        do_one[o.op](path);
        histogram_add(&responses, gettime(CLOCK_VIRTUAL) - from_ns);
    }
}

/* Print the line of results, as JSON, which the laboratory reads. */
static void report(u64 elapsed_ns)
{
    printf("small {\"job\":");
    json_print_string(o.name);
    printf(",\"files\":%lu,\"size\":%lu,\"elapsed_ns\":%lu,\"response_ns\":",
           o.files, o.size_bytes, elapsed_ns);
    histogram_print_summary(&responses);
    printf(",\"histogram\":");
    histogram_print_buckets(&responses);
    printf("}\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        printf("usage: small NAME=VALUE...\n");
        settings_help(&table);
        return 0;
    }
    settings_default(&table, &o);
    settings_apply(&table, &o, argv + 1, argc - 1);
    u64 from_ns = gettime(CLOCK_VIRTUAL);
    if (o.op == CREATE) {
        make_directory(o.dir);
        each_directory(make_directory);
    }
    each_file();
    if (o.op == CREATE)
        sync();
    if (o.op == REMOVE) {
        each_directory(remove_directory);
        remove_directory(o.dir);
    }
    report(gettime(CLOCK_VIRTUAL) - from_ns);
    return 0;
}

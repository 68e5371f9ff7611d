/* Read and write files of kbuild (kbuild.h) in pieces of a buffer's size. */
#include "user/lib.h"
#include "user/load/kbuild/kbuild.h"
#include "user/lib/compute.h"
#include "user/lib/histogram.h"

#define PIECE (64 * KIB) /* the largest */

struct counts counts;
static struct histogram response; /* of reads */
static char piece[PIECE] = {'k'};

struct output create(const char *path)
{
    struct output f = {.path = path};
    f.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (f.fd < 0)
        die("%s", path);
    return f;
}

void finish(struct output *f)
{
    close(f->fd);
}

/* Write bytes at that offset in pieces that end at multiples of the buffer, as
 * stdio does. */
void put(struct output *f, u64 at, u64 bytes)
{
    for (u64 n; bytes; bytes -= n, at += n) {
        n = MIN(bytes, o.buffer - at % o.buffer);
        if (pwrite(f->fd, piece, n, at) != (i64)n)
            die("%s", f->path);
        f->bytes += n;
        counts.writes++;
        counts.written_bytes += n;
    }
}

void write_file(const char *path, u64 bytes)
{
    compute_file(path, bytes, 0, 0);
}

/* Write a file while computing: a share of the time before the first piece, the
 * rest evenly. */
void compute_file(const char *path, u64 bytes, u64 us, u64 first)
{
    struct output f = create(path);
    u64 pieces = (bytes + o.buffer - 1) / o.buffer;
    u64 before_us = us * first / SHARES;
    compute_us(before_us);
    for (u64 at = 0; at < bytes; at += o.buffer) {
        put(&f, at, MIN(bytes - at, o.buffer));
        compute_us((us - before_us) / pieces);
    }
    finish(&f);
}

u64 read_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    u64 bytes = 0;
    i64 n;
    if (fd < 0)
        die("%s: was prepare=1 done with the same words?", path);
    for (;;) {
        u64 from_ns = gettime(CLOCK_VIRTUAL);
        n = read(fd, piece, o.buffer);
        if (n <= 0)
            break;
        histogram_add(&response, gettime(CLOCK_VIRTUAL) - from_ns);
        counts.reads++;
        bytes += n;
    }
    if (n < 0)
        die("%s", path);
    close(fd);
    counts.read_bytes += bytes;
    return bytes;
}

void remove_file(const char *path)
{
    if (unlink(path) < 0)
        die("%s", path);
}

void compute_us(u64 us)
{
    compute(us * o.work / 1000);
}

void print_reads(void)
{
    printf("\"response_ns\":");
    histogram_print_summary(&response);
    printf(",\"histogram\":");
    histogram_print_buckets(&response);
}

/* The requests of a trace (curves.h), a piece at a time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/base/types.h"
#include "sluice/blocks/curves/curves.h"

#define PIECE 8192UL

static struct {
    const char *path;
    int file;
    u64 count;
    u64 first, n; /* the piece that was read */
    struct packed_request piece[PIECE];
} input;

/* Open a file of requests. Returns how many it has. */
u64 requests_open(const char *path)
{
    struct packed_head head;
    struct stat found;
    input.path = path;
    input.file = open(path, O_RDONLY | O_CLOEXEC);
    if (input.file < 0 || fstat(input.file, &found))
        fail("%s: cannot be opened", path);
    if (read(input.file, &head, sizeof head) != sizeof head ||
        memcmp(head.magic, PACKED_MAGIC, sizeof head.magic) ||
        head.form != PACKED_FORM)
        fail("%s: has no requests of form %d", path, PACKED_FORM);
    u64 there = (found.st_size - sizeof head) / sizeof input.piece[0];
    if (head.count > there)
        fail("%s: has %lu requests, and its head says %lu", path, there,
             head.count);
    input.count = head.count ? head.count : there;
    return input.count;
}

/* Read the piece of the file that begins with that request, and check it. */
static void read_piece(u64 first)
{
    u64 n = MIN(PIECE, input.count - first);
    ssize_t bytes = n * sizeof input.piece[0];
    off_t at = sizeof(struct packed_head) + first * sizeof input.piece[0];
    if (pread(input.file, input.piece, bytes, at) != bytes)
        fail("%s: cannot be read", input.path);
    for (u64 i = 0; i < n; i++)
        if (!input.piece[i].bytes || input.piece[i].write > 1)
            fail("%s: request %lu: %u bytes, direction %u", input.path,
                 first + i, input.piece[i].bytes, input.piece[i].write);
    input.first = first;
    input.n = n;
}

const struct packed_request *request_at(u64 number)
{
    if (number < input.first || number >= input.first + input.n)
        read_piece(number / PIECE * PIECE);
    return &input.piece[number - input.first];
}

u64 block_bytes(const struct packed_request *r, u64 block)
{
    u64 low = block * CURVE_BLOCK, end = r->offset + r->bytes;
    return MIN(end, low + CURVE_BLOCK) - MAX(r->offset, low);
}

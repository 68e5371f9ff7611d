/*
 * Appends transactions to the log of an image, by the kernel's code.
 *
 *   append_tool IMAGE BLOCK_BYTES FIRST BLOCKS HEAD SEQUENCE CUT
 *
 * Input, in numbers: how many places the log has, and each; then for each
 * transaction how many blocks, each block's home and its data's number in the
 * image, how many revokes, and each. The image is saved as
 * it is before write CUT, counted from 1; 0: after all.
 * Prints how many blocks of the ring are left.
 *
 * link: kernel/journal/append.c kernel/journal/recover.c
 * link: kernel/journal/transaction.c
 * link: kernel/ext2/alloc.c kernel/ext2/claim.c kernel/ext2/dir.c
 * link: kernel/ext2/data.c kernel/ext2/vfs.c
 * link: kernel/ext2/features.c kernel/ext2/order.c kernel/ext2/recover.c
 * link: kernel/ext2/inode.c kernel/ext2/make.c kernel/ext2/map.c
 * link: kernel/ext2/redo.c kernel/ext2/remove.c kernel/ext2/rename.c
 * link: kernel/ext2/walk.c kernel/ext2/super.c tests/kernel/ext2/ext2_shim.c
 * link: kernel/cache/lost.c tests/support/native/text.c
 * link: tests/support/native/random.c
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernel/journal/journal.h"
#include "tests/kernel/ext2/ext2_shim.h"

/* The next number of the input. */
static u32 number(void)
{
    u32 n;
    if (scanf("%u", &n) != 1)
        panic("a number is missing");
    return n;
}

/* The next number *n of the input, and then so many. */
static u32 *numbers(u32 *n)
{
    *n = number();
    u32 *all = calloc(*n + 1, sizeof(*all));
    for (u32 i = 0; i < *n; i++)
        all[i] = number();
    return all;
}

/* Read a transaction of the input, and append it; false: the input is over. */
static bool append_one(struct ring *ring, struct disk *d)
{
    u32 n, nrevokes, escaped = 0;
    if (scanf("%u", &n) != 1)
        return false;
    struct logged *blocks = calloc(n + 1, sizeof(*blocks));
    for (u32 i = 0; i < n; i++) {
        blocks[i].home = number();
        blocks[i].data = shim_bytes(d) + (u64)number() * shim.block_bytes;
        escaped += journal_escapes(blocks[i].data);
    }
    u32 *revokes = numbers(&nrevokes);
    void *memory = malloc(journal_bytes(n, escaped, nrevokes));
    int error = journal_append(ring, memory, blocks, n, revokes, nrevokes);
    if (error)
        printf("append: %d\n", error);
    free(memory);
    free(blocks);
    free(revokes);
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 8)
        panic("usage: append_tool IMAGE BLOCK_BYTES FIRST BLOCKS HEAD SEQUENCE "
              "CUT");
    u32 n[5];
    for (u32 i = 0; i < 5; i++)
        n[i] = strtoul(argv[i + 2], NULL, 0);
    shim.block_bytes = n[0];
    shim.log = true;
    struct disk *d = shim_disk(argv[1]);
    struct log log = {.disk = d};
    u32 *where = numbers(&log.blocks);
    log.where = where;
    struct ring ring = {&log, n[1], n[2], n[3], n[2] - n[1], n[4]};
    while (append_one(&ring, d))
        ;
    printf("%u free, %lu writes, %lu flushes\n", ring.free, shim_log_length(),
           shim_flushes());
    u64 cut = strtoul(argv[7], NULL, 0);
    shim_save_prefix(d, argv[1], cut ? cut - 1 : shim_log_length(), 0);
    free(where);
}

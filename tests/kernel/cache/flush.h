/* Functions that tests of flushes share, on top of blocks.h. */
#ifndef SLUICE_NATIVE_FLUSH_H
#define SLUICE_NATIVE_FLUSH_H

#include "tests/support/native/blocks.h"

/* Blocks 10 to 17, dirty since 1000, 2000, ..., of the owners 1 and 2 by
 * turns. */
static inline void boot_dirty(const char *args)
{
    char line[256];
    snprintf(line, sizeof line, "nbuf=256 cluster_kb=0 sched=told %s", args);
    boot(line);
    told.quiet = true; /* told chooses the oldest */
    for (u64 i = 0; i < 8; i++) {
        clock_now_ns = 1000 * (i + 1);
        dirty(10 + i, 1 + i % 2);
    }
    clock_now_ns = 10000;
    forget_all();
}

/* Expect just these of blocks 10 to 17 to be dirty: "10 12". */
#define check_dirty(want) check_dirty_at(want, __LINE__)

/* Expect that exactly these of the blocks 10 to 17 are dirty: "10 12". The
 * macro check_dirty adds the line. */
static inline void check_dirty_at(const char *want, u32 line)
{
    char got[64] = "";
    u64 n = 0;
    for (u64 i = 10; i < 18; i++)
        if (is_dirty(i))
            n += sprintf(got + n, n ? " %lu" : "%lu", i);
    if (strcmp(got, want)) {
        printf("line %u: expected %s to be dirty, not %s\n", line, want, got);
        exit(1);
    }
}

/* An owner whose list is the first one's, too. */
static inline u64 sharer(u64 owner)
{
    u64 other = owner + 1;
    while (owner_list(other) != owner_list(owner))
        other++;
    return other;
}

static inline void make_pending(u64 blkno)
{
    struct buf *b = buffer_of(blkno);
    b->flags |= B_PENDING;
    list_remove(&b->dirty);
    list_push_back(&bcache.pending, &b->dirty);
}

#endif

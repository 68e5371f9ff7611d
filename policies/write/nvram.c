/*
 * NVRAM: the cache counts as memory that keeps its contents without power. So
 * nobody waits for a write, nor for an fsync, and nothing is written until no
 * buffer is clean. Then all dirty blocks are, and the writers go on as soon as
 * one of them is on the disk. It needs an update policy that does nothing
 * (update=none).
 *
 * A real machine has to find what it held, after a power cut; this one does
 * not: what a cut leaves on the disk is older than what NVRAM would have kept.
 *
 * Source: the buffer of 6.1 MB of the LFS in R. Y. Wang, T. E. Anderson, D. A.
 * Patterson, "Virtual Log Based File Systems for a Programmable Disk", OSDI
 * 1999.
 */
#include "kernel/policy/write.h"

static enum write_mode decide(const struct write_info *w)
{
    (void)w;
    return WRITE_DELAYED;
}

static u64 no_clean(u64 dirty, u64 buffers)
{
    (void)buffers;
    return dirty;
}

static const struct policy nvram = {
    .kind = POLICY_WRITE,
    .name = "nvram",
    .about = "nothing is written until the cache is full; then all is",
    .write = {.decide = decide, .no_clean = no_clean, .keeps = true},
};
POLICY(nvram);

/*
 * The ghost entries of policies/lib/ghost.h without a hash, which CBMC follows
 * in a fraction of the time: the product of a hash is a formula of its own, and
 * a chain of entries in an array is any of its entries. Here each of the few
 * names that a harness has is an object. tests/policies/lib/ghost_proof_test.c
 * compares these entries with the kernel's.
 *
 * The room that a policy gives to a list is not used. Claims say that it is the
 * policy's, and that no two lists share a part of it. CLAIM is harness.h's.
 */
#ifndef SLUICE_LIB_GHOST_H
#define SLUICE_LIB_GHOST_H

#include "kernel/policy/common.h"

enum { GHOST_DISKS = 2, GHOST_NAMES = 4 };

struct ghost {
    u64 word;    /* the policy's; 0 at first */
    u64 entered; /* the list's `entered` when this became the youngest, or 0 */
    u64 unused[3];
};

struct ghosts {
    u64 n, most, entered;
    struct ghost a, b, c, d;
};

/* As much memory as the kernel's ghosts take. */
#define GHOSTS_BYTES(most) \
    ((most) * (sizeof(struct ghost) + sizeof(struct ghost *)))

static inline void *ghosts_init(struct ghosts *g, void *room, u64 most)
{
    static u8 *end;
    CLAIM(__CPROVER_w_ok(room, GHOSTS_BYTES(most)),
          "the room of ghost entries is the policy's");
    CLAIM(!end || !__CPROVER_same_object(room, end) || (u8 *)room >= end,
          "two lists of ghost entries do not share their room");
    CLAIM(most, "there is room for a ghost entry");
    *g = (struct ghosts){.most = most};
    return end = (u8 *)room + GHOSTS_BYTES(most);
}

static inline struct ghost *ghost_of(struct ghosts *g, u32 disk, u64 blkno)
{
    u64 name = disk * GHOST_DISKS + blkno;
    CLAIM(disk < GHOST_DISKS && name < GHOST_NAMES &&
              (!disk || blkno < GHOST_NAMES / GHOST_DISKS),
          "harness: there is an object for each name");
    return name == 0 ? &g->a : name == 1 ? &g->b : name == 2 ? &g->c : &g->d;
}

static inline struct ghost *ghosts_find(const struct ghosts *g, u32 disk,
                                        u64 blkno)
{
    struct ghost *ghost = ghost_of((struct ghosts *)g, disk, blkno);
    return ghost->entered ? ghost : NULL;
}

static inline bool ghosts_have(const struct ghosts *g, u32 disk, u64 blkno)
{
    return ghosts_find(g, disk, blkno);
}

static inline bool ghosts_forget(struct ghosts *g, u32 disk, u64 blkno)
{
    struct ghost *ghost = ghost_of(g, disk, blkno);
    bool was = ghost->entered;
    ghost->entered = 0;
    g->n -= was;
    return was;
}

/* Return the ghost that entered first. One whose `entered` is 0 is not in. */
static inline const struct ghost *ghost_older(const struct ghost *x,
                                              const struct ghost *y)
{
    return !y->entered || (x->entered && x->entered < y->entered) ? x : y;
}

static inline struct ghost *ghosts_oldest(const struct ghosts *g)
{
    const struct ghost *oldest =
        ghost_older(ghost_older(&g->a, &g->b), ghost_older(&g->c, &g->d));
    return oldest->entered ? (struct ghost *)oldest : NULL;
}

static inline void ghosts_shrink(struct ghosts *g, u64 n)
{
    while (g->n > n) {
        ghosts_oldest(g)->entered = 0;
        g->n--;
    }
}

static inline struct ghost *ghosts_remember(struct ghosts *g, u32 disk,
                                            u64 blkno)
{
    ghosts_forget(g, disk, blkno);
    ghosts_shrink(g, g->most - 1);
    struct ghost *ghost = ghost_of(g, disk, blkno);
    *ghost = (struct ghost){.entered = ++g->entered};
    g->n++;
    return ghost;
}

#endif

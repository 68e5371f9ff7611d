/*
 * The ghost entries that proofs use (tools/prove/policies/lib/ghost.h): against
 * those of the kernel, in random steps.
 *
 * link: tests/support/native/main.c tests/support/native/random.c
 * link: policies/lib/ghost.c
 */
#include "policies/lib/ghost.h"
#include "tests/support/native/test.h"

static void claim(bool holds)
{
    check(holds);
}

#define CLAIM(holds, what)          claim(holds)
#define __CPROVER_w_ok(room, bytes) ((room) != NULL)
#define __CPROVER_same_object(x, y) false

/* The proofs' ones have the same names. */
#define ghost           proof_ghost
#define ghosts          proof_ghosts
#define ghosts_init     proof_init
#define ghosts_find     proof_find
#define ghosts_have     proof_have
#define ghosts_forget   proof_forget
#define ghosts_oldest   proof_oldest
#define ghosts_shrink   proof_shrink
#define ghosts_remember proof_remember
#undef SLUICE_LIB_GHOST_H
#undef GHOSTS_BYTES
#include "tools/prove/policies/lib/ghost.h"
#undef ghost
#undef ghosts
#undef ghosts_init
#undef ghosts_find
#undef ghosts_have
#undef ghosts_forget
#undef ghosts_oldest
#undef ghosts_shrink
#undef ghosts_remember

static _Alignas(struct ghost) u8 room[GHOSTS_BYTES(GHOST_NAMES)];
static struct ghosts kernels;
static struct proof_ghosts proofs;

/* Do the same to the kernel's list of ghosts and to the one of proofs: forget
 * one, shrink the list, or (mostly) remember one. Both must have the same ghost
 * with the same word afterwards. */
static void step(u64 name, u64 what, u64 number)
{
    u64 per_disk = GHOST_NAMES / GHOST_DISKS;
    u32 disk = name / per_disk;
    u64 blkno = name % per_disk;
    switch (what) {
    case 0:
        ghosts_shrink(&kernels, number % GHOST_NAMES);
        proof_shrink(&proofs, number % GHOST_NAMES);
        break;
    case 1:
        check_eq(ghosts_forget(&kernels, disk, blkno),
                 proof_forget(&proofs, disk, blkno));
        break;
    default:
        ghosts_remember(&kernels, disk, blkno)->word = number;
        proof_remember(&proofs, disk, blkno)->word = number;
    }
    const struct ghost *one = ghosts_find(&kernels, disk, blkno);
    const struct proof_ghost *other = proof_find(&proofs, disk, blkno);
    check(!one == !other && (!one || one->word == other->word));
    check_eq(ghosts_have(&kernels, disk, blkno),
             proof_have(&proofs, disk, blkno));
}

/* Do 2,000 random steps, and compare the lengths and the oldest ghosts. */
static void compare(u64 most, u64 seed)
{
    ghosts_init(&kernels, room, most);
    proof_init(&proofs, room, most);
    for (u64 i = 0; i < 2000; i++) {
        u64 name = random_u64(&seed) % GHOST_NAMES;
        step(name, random_u64(&seed) % 6, random_u64(&seed));
        check_eq(kernels.n, proofs.n);
        const struct ghost *one = ghosts_oldest(&kernels);
        const struct proof_ghost *other = proof_oldest(&proofs);
        check(!one == !other && (!one || one->word == other->word));
    }
}

TEST(ghosts_of_proofs_do_what_those_of_the_kernel_do)
{
    for (u64 most = 1; most <= GHOST_NAMES; most++)
        compare(most, most);
}

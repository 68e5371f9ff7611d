/*
 * The answers that proofs take for possible
 * (tools/prove/policies/lib/nearest.h) against those of the kernel's search, on
 * models of real drives.
 *
 * link: tests/support/native/main.c tests/policies/lib/nearest.c
 */
#include "tests/policies/lib/nearest.h"
#include "tests/support/native/test.h"

/* The proofs' ones have the same names. What their harness would choose is not
 * asked for here. */
#define CLAIM(holds, what) check(holds)
#define ASSUME(holds)      check(holds)
#define any_below(end)     0
#define nearest_disk       proof_disk
#define nearest_free       proof_free
#undef SLUICE_LIB_NEAREST_H
#include "tools/prove/policies/lib/nearest.h"
#undef nearest_disk
#undef nearest_free

enum { CYLS = 3, DISKS = 200 };

static struct bare_drive b;
static u64 seed = 1;

/* Use nearly each sector, so that also full tracks come. */
static void use_some(u64 sectors)
{
    static const u64 percent[] = {100, 99, 100, 98};
    for (u64 i = 0; i < sectors; i++)
        b.used[i] = random_u64(&seed) % 100 < percent[i / 128 % 4];
}

/* Proofs allow several answers where angles are rounded. On random disks, some
 * of which are full, the kernel's answer is one of them. */
TEST(the_kernels_answer_is_among_those_of_proofs)
{
    u64 none = 0;
    check(bare_drive_start(&b, "hp97560", CYLS));
    u64 sectors = (u64)CYLS * b.disk.heads * b.disk.sectors;
    for (u64 n = 0; n < DISKS; n++) {
        struct proof_disk d = {.sectors = b.disk.sectors,
                               .heads = b.disk.heads,
                               .cyls = b.disk.cyls,
                               .free_from = b.disk.free_from,
                               .approach = b.disk.approach,
                               .arg = b.disk.arg};
        u64 begin_ns, head = random_u64(&seed) % sectors;
        if (n % 4)
            use_some(sectors);
        else
            memset(b.used, 1, sectors);
        if (n % 8 == 0) /* one slot is free, on any track */
            b.used[random_u64(&seed) % sectors] = 0;
        bare_drive_set(&b, head / b.disk.sectors / b.disk.heads,
                       head / b.disk.sectors % b.disk.heads, 0, 1);
        u64 answer = nearest_free(&b.disk, head, &begin_ns);
        check(nearest_may_be(&d, answer));
        check(!nearest_may_be(&d, NO_SECTOR) || answer == NO_SECTOR);
        none += answer == NO_SECTOR;
    }
    check(none && none < DISKS);
}

/*
 * Unit tests of the cache and the disks: the files in grade/native/kernel/.
 * More tests are a new file there. rig.h is the machine around the sources
 * under test, told.h has policies that note what they are asked.
 *
 * link: grade/native/main.c grade/native/kernel kernel/bflush.c kernel/bio.c
 * link: kernel/detour.c kernel/disk.c kernel/drive.c kernel/drives.c
 * link: kernel/hist.c kernel/place.c kernel/prefetch.c kernel/prochist.c
 * link: kernel/queue.c kernel/registry.c kernel/stream.c kernel/trace.c
 * link: kernel/turns.c kernel/updated.c
 */
#include "grade/native/test.h"

/* The rig has one policy of each kind that tells, and the default. */
TEST(each_kind_has_a_policy_that_tells_and_its_default)
{
    u32 told = 0, all = 0;
    POLICY_EACH (p) {
        told += !strcmp((*p)->name, "told");
        all++;
    }
    check_eq(told, POLICY_KINDS);
    check_eq(all, 2 * POLICY_KINDS);
}

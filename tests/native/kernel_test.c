/*
 * Unit tests of the cache and the disks: the files in tests/native/kernel/.
 * More tests are a new file there. rig.h is the machine around the sources
 * under test, told.h has policies that note what they are asked.
 *
 * link: tests/native/main.c tests/native/kernel kernel/cache/flush.c
 * link: kernel/cache/bio.c kernel/disk/disk.c
 * link: drives kernel/disk/model.c kernel/disk/vlog.c
 * link: kernel/disk/clean.c kernel/logical
 * link: kernel/measure/hist.c tests/native/no_ramdisks.c
 * link: kernel/disk/place.c kernel/cache/prefetch.c kernel/measure/prochist.c
 * link: kernel/disk/queue.c kernel/policy/registry.c kernel/cache/stream.c
 * link: kernel/measure/trace.c kernel/proc/turns.c kernel/cache/replace.c
 * link: kernel/cache/readers.c kernel/cache/updated.c kernel/cache/write.c
 * link: kernel/cache/lost.c
 */
#include "tests/native/test.h"

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

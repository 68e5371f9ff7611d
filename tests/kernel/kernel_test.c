/*
 * Unit tests of the cache, the disks, the virtual log and the model of drives:
 * the files in the folders named here. More tests are a new file in one. rig.h
 * is the machine around the sources under test, told.h has policies that note
 * what they are asked.
 *
 * link: tests/support/native/main.c tests/support/native/rig.c
 * link: tests/support/native/rig_said.c tests/support/native/told.c
 * link: tests/support/native/plain.c tests/support/native/text.c
 * link: tests/kernel/cache tests/kernel/disk tests/kernel/vlog
 * link: tests/drives/drive_model.c tests/drives/drive_slow.c
 * link: kernel/cache/flush.c
 * link: kernel/cache/pinned.c kernel/depend
 * link: kernel/cache/bio.c kernel/disk drives kernel/vlog
 * link: kernel/cache/ahead.c kernel/cache/delayed.c
 * link: kernel/measure/hist.c tests/support/native/no_ramdisks.c
 * link: kernel/cache/prefetch.c kernel/measure/prochist.c
 * link: kernel/policy/registry.c
 * link: kernel/measure/trace.c kernel/proc/wait.c kernel/cache/replace.c
 * link: kernel/cache/readers.c kernel/cache/updated.c kernel/cache/write.c
 * link: kernel/cache/lost.c
 */
#include "tests/support/native/test.h"

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

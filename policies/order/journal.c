/*
 * Journal: changes of metadata are gathered in a transaction, which is written
 * to a log, in one go, before any of its blocks is written home.
 *
 * A power cut at any instant leaves whole transactions: mounting, or e2fsck,
 * replays them. So an operation is done as a whole, or not at all, and an
 * unlink or a rename needs no step that is waited for. What was not fsynced may
 * be lost, up to commit_ms before the cut; file data is written before the
 * transaction that leads to it, so no file has blocks with another one's data.
 * Only a block that the disk cannot write may be what it was before.
 * Each disk must have a journal, as ext3 has it (mkfs --journal, mke2fs -j).
 *
 * Tweedie describes it ("Journaling the Linux ext2fs Filesystem", LinuxExpo
 * 1998); its default, too, commits after 5 seconds.
 */
#include "kernel/policy/order.h"

enum { COMMIT_MS };

static struct tunable tunables[] = {
    {"commit_ms", "ms", 5000, 10, 600000,
     "a transaction is committed so long after its first change"},
    {0},
};

static enum order_mode journal_decide(const struct order_info *i)
{
    (void)i;
    return ORDER_LOGGED;
}

static u64 journal_commit_after_ns(void)
{
    return tunables[COMMIT_MS].value * NS_PER_MS;
}

static const struct policy journal = {
    .kind = POLICY_ORDER,
    .name = "journal",
    .about = "changes of metadata reach a log together, and then their places",
    .tunables = tunables,
    .order = {.decide = journal_decide,
              .commit_after_ns = journal_commit_after_ns},
};
POLICY(journal);

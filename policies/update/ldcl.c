/*
 * LDCL, local burst declustering: each second a scan writes the blocks that
 * have been dirty for age_s, and spreads the blocks of a burst over several
 * seconds.
 *
 * The scan counts the blocks of each age, in whole seconds. When it comes to a
 * block of an age that `threshold` blocks have already, it moves the block to
 * the next higher age, at most range_s higher, that fewer than `threshold`
 * have. If there is none, it moves the block to the age that the fewest have,
 * which may be its own. So blocks that became dirty at one moment are written
 * over several seconds. Ages only grow: a block is written earlier, never
 * later.
 *
 * The paper does not fix everything. Here age_s is the highest age to move to,
 * and a block that is moved there is written in the same scan as those that are
 * due. With range_s 0 no block is moved: that is the paper's interval periodic
 * update.
 *
 * What "local" means is left open, too. With shares 1, the scan goes from the
 * oldest dirty block to the youngest, and counts them all together. With more,
 * it goes through the cache share by share and counts each share on its own;
 * 60 are the shares that fsflush (svr4.c) looks at in one second each. Then an
 * age has room for up to `threshold` blocks of each share.
 *
 * Source: "Achieving Predictable Response Time with an Intelligent File System
 * Updater" (for Unix SVR4/MP), the section on LDCL.
 */
#include "kernel/policy/update.h"

#define AGE_MAX_S 3600

enum { AGE_S, THRESHOLD, RANGE_S, SHARES };

static struct tunable tunables[] = {
    {"age_s", "s", 60, 1, AGE_MAX_S, "age at which a dirty block is due"},
    {"threshold", "blocks", 6, 1, 1000000, "of one age, before they are moved"},
    {"range_s", "s", 10, 0, AGE_MAX_S, "most that one scan adds to an age"},
    {"shares", "shares", 1, 1, 3600, "of the cache, each counted on its own"},
    {0},
};

enum { SCANS, SCANNED, WRITTEN, MOVED, MOVED_S, OVERFULL };

static struct policy_counter counters[] = {
    {"scans", "scans", "times all dirty blocks were looked at"},
    {"scanned", "blocks", "looked at"},
    {"written", "blocks", "whose writing a scan started"},
    {"moved", "times", "a block was moved to another age"},
    {"moved_s", "s", "added to ages in all"},
    {"overfull", "times", "no age in range had room"},
    {0},
};

/* Of the last scan, and of its last share: the blocks of each age, how many
 * blocks it looked at, for how many of them no age had room, and its tunables.
 * block.mark is the number of seconds that were added to a block's age. */
static u64 of_age[AGE_MAX_S + 1];
static struct {
    u64 scanned, overfull;
    u64 age_s, threshold;
} last;

static u64 ldcl_next_ns(u64 last_ns)
{
    return last_ns + NS_PER_S;
}

/* Return the new age of a block of this age. */
static u64 decluster(u64 age_s)
{
    u64 last_s = MIN(age_s + tunables[RANGE_S].value, last.age_s);
    u64 best_s = age_s;
    for (u64 s = age_s; s <= last_s; s++) {
        if (of_age[s] < last.threshold)
            return s;
        if (of_age[s] < of_age[best_s])
            best_s = s;
    }
    counters[OVERFULL].value++;
    last.overfull++;
    return best_s;
}

/* Give a dirty block an age, in s, that is not overfull yet, and flush it if
 * that is the last age. b->mark is how many seconds earlier scans have
 * added. */
static enum visit ldcl_visit(struct block *b, u64 now_ns)
{
    u64 due_s = last.age_s;
    u64 age_s = (now_ns - b->dirtied_ns) / NS_PER_S + b->mark;
    u64 new_s = age_s < due_s ? decluster(age_s) : due_s;
    counters[SCANNED].value++;
    last.scanned++;
    of_age[new_s]++;
    if (new_s > age_s) {
        b->mark += new_s - age_s;
        counters[MOVED].value++;
        counters[MOVED_S].value += new_s - age_s;
    }
    return new_s == due_s ? FLUSH : PASS;
}

static enum visit visit_dirty(struct block *b, u64 now_ns)
{
    return b->dirtied_ns ? ldcl_visit(b, now_ns) : PASS;
}

static void count_anew(void)
{
    last.scanned = last.overfull = 0;
    for (u64 s = 0; s <= last.age_s; s++)
        of_age[s] = 0;
}

/* Look at one share of the cache. */
static u64 scan_share(u64 share, u64 shares)
{
    struct cache_state now;
    cache_state(&now);
    u64 first = now.buffers * share / shares;
    u64 end = now.buffers * (share + 1) / shares;
    count_anew();
    return flush_in_cache(first, end - first, visit_dirty);
}

static u64 scan_all(void)
{
    count_anew();
    return flush_by_age(ldcl_visit);
}

static void ldcl_scan(u64 now_ns)
{
    (void)now_ns;
    u64 shares = tunables[SHARES].value;
    last.age_s = tunables[AGE_S].value;
    last.threshold = tunables[THRESHOLD].value;
    counters[SCANS].value++;
    for (u64 share = 0; share < shares; share++)
        counters[WRITTEN].value +=
            shares == 1 ? scan_all() : scan_share(share, shares);
}

/* Each block that a scan looks at has one age, and an age has more blocks than
 * the threshold only if no other age had room. */
static const char *ldcl_check(void)
{
    u64 blocks = 0, beyond = 0;
    for (u64 s = 0; s <= last.age_s; s++) {
        blocks += of_age[s];
        if (s < last.age_s && of_age[s] > last.threshold)
            beyond += of_age[s] - last.threshold;
    }
    if (blocks != last.scanned)
        return "the ages do not have as many blocks as were looked at";
    return beyond > last.overfull ? "an age has too many blocks" : NULL;
}

static const struct policy ldcl = {
    .kind = POLICY_UPDATE,
    .name = "ldcl",
    .about = "each block at its age, ages moved up where many are equal",
    .tunables = tunables,
    .counters = counters,
    .check = ldcl_check,
    .update = {.next_ns = ldcl_next_ns, .scan = ldcl_scan},
};
POLICY(ldcl);

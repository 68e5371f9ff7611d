/*
 * WOW, wise ordering for writes: dirty blocks are written in circular order of
 * their sectors, which keeps seeks short, but blocks that were modified again
 * lately are passed over once, as Clock does. The unit is a group, a part of
 * the disk of group_sectors: if a block of the group under the hand was
 * modified again since the hand was last there, the hand moves on; else the
 * group is written. With spare 0 the order is only circular, which is the
 * source's CSCAN.
 *
 * Queued requests go first, in C-LOOK order. When there are none, and more
 * than high_blocks are dirty, dirty blocks are written until low_blocks are
 * left. The source's limits are shares of its cache, whose size a scheduler
 * does not know: set them to fit. A block that is added to a group does not
 * make it modified again, or sequential writes would be passed over.
 *
 * Source: Gill and Modha, "WOW: Wise Ordering for Writes - Combining Spatial
 * and Temporal Locality in Non-Volatile Caches", FAST 2005.
 */
#include "kernel/policy/sched.h"

enum { HIGH_BLOCKS, LOW_BLOCKS, GROUP_SECTORS, SPARE };

static struct tunable tunables[] = {
    {"high_blocks", "blocks", 256, 0, 1UL << 32,
     "writing begins when more are dirty"},
    {"low_blocks", "blocks", 192, 0, 1UL << 32,
     "writing ends when no more are dirty"},
    {"group_sectors", "sectors", 128, 1, 1UL << 20, "of one group"},
    {"spare", "0 or 1", 1, 0, 1, "1: groups modified again; 0: none"},
    {0},
};

enum { GROUPS, SPARED };

static struct policy_counter counters[] = {
    {"groups", "groups", "that were written"},
    {"spared", "groups", "that the hand passed over"},
    {0},
};

/* The words of a queue. */
enum {
    HAND,      /* the sector under the hand */
    GROUP_END, /* where the group that is being written ends */
    DRAINING,  /* true until no more than low_blocks are dirty */
};

/* True if a block of the group was modified again. Resets that for all. */
static bool was_modified(const struct queue *q, struct request *r, u64 end)
{
    bool modified = false;
    for (; r && r->sector < end;
         r = queue_at_or_after(q, CANDIDATES, r->sector + 1)) {
        modified |= r->again;
        r->again = false;
    }
    return modified;
}

/* Move the hand to the next group to be written. Returns its first block. */
static struct request *next_group(struct queue *q)
{
    u64 sectors = tunables[GROUP_SECTORS].value;
    for (;;) {
        struct request *r = queue_circular(q, CANDIDATES, q->word[HAND]);
        u64 end = (r->sector / sectors + 1) * sectors;
        q->word[GROUP_END] = q->word[HAND] = end;
        if (!tunables[SPARE].value || !was_modified(q, r, end)) {
            counters[GROUPS].value++;
            return r;
        }
        counters[SPARED].value++;
    }
}

/* Return the hand's next candidate, of its group or of the next one. */
static struct request *next_dirty(struct queue *q)
{
    struct request *r = queue_at_or_after(q, CANDIDATES, q->word[HAND]);
    if (!r || r->sector >= q->word[GROUP_END])
        r = next_group(q);
    q->word[HAND] = r->sector + r->nsectors;
    return r;
}

/* Serve reads and writes first. Without any, write dirty blocks, from
 * high_blocks of them down to low_blocks. */
static struct request *wow_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    struct request *r = queue_circular(q, BOTH, q->head_sector);
    if (r)
        return r;
    u64 dirty = q->length[SET_CANDIDATES];
    q->word[DRAINING] =
        dirty > tunables[q->word[DRAINING] ? LOW_BLOCKS : HIGH_BLOCKS].value;
    return q->word[DRAINING] ? next_dirty(q) : NULL;
}

static const char *wow_refuses(void)
{
    return tunables[LOW_BLOCKS].value > tunables[HIGH_BLOCKS].value
               ? "low_blocks would be more than high_blocks"
               : NULL;
}

static const struct policy wow = {
    .kind = POLICY_SCHED,
    .name = "wow",
    .about = "dirty blocks in circular order but for those modified again",
    .tunables = tunables,
    .counters = counters,
    .refuses = wow_refuses,
    .sched = {.next = wow_next,
              .takes_candidates = true,
              .joins_candidates = true},
};
POLICY(wow);

/*
 * The syncer of the BSDs: a wheel of one-second slots. A file joins the slot
 * file_s seconds ahead when it becomes dirty; every second the syncer writes
 * all dirty blocks of the files whose slot has come. Metadata of the file
 * system (inodes, bitmaps, descriptors) has slots of its own, meta_s ahead.
 *
 * - The blocks of one file are written together, at the time of the oldest. So
 *   files that became dirty over half a minute are written over half a minute.
 * - Each block joins the slot of its own time. When the slot of its file's
 *   oldest block comes, the file's other blocks leave theirs. Blocks that map
 *   a file go with the file.
 * - The BSDs have a third delay, 15 s, for directories. Here it would have no
 *   use: names are written synchronously, in the order of FFS, so no directory
 *   is ever left dirty. meta_s applies to all metadata that belongs to no
 *   file.
 *
 * Source: McKusick and Neville-Neil, "The Design and Implementation of the
 * FreeBSD Operating System", section on the syncer; syncer(4) and the defaults
 * of NetBSD's filedelay, dirdelay and metadelay (30, 15 and 10 s).
 */
#include "kernel/policy/update.h"

#define SLOTS     64 /* seconds; more than the longest delay */
#define NOT_BEGUN (~0UL)

enum { FILE_S, META_S };

static struct tunable tunables[] = {
    {"file_s", "s", 30, 1, 60, "delay of files"},
    {"meta_s", "s", 10, 1, 60, "delay of the file system's metadata"},
    {0},
};

enum { TICKS, WRITTEN, EMPTY_TICKS };

static struct policy_counter counters[] = {
    {"ticks", "slots", "slots whose time came"},
    {"written", "blocks", "blocks whose writing a slot started"},
    {"empty_ticks", "slots", "of the slots, those with nothing to write"},
    {0},
};

/* A block's mark is the second of its slot. */
static struct list wheel[SLOTS];
static u64 on_wheel; /* blocks */
static u64 done_s;   /* the slots up to this second are done, or NOT_BEGUN */

static void bsd_syncer_start(void)
{
    for (u32 i = 0; i < SLOTS; i++)
        list_init(&wheel[i]);
    on_wheel = 0;
    done_s = NOT_BEGUN;
}

/* A block that was dirty before the syncer started may be due already: it joins
 * the next slot. */
static void bsd_syncer_dirtied(struct block *b, u64 now_ns)
{
    u64 now_s = now_ns / NS_PER_S;
    u64 delay_s = tunables[b->meta && !b->owner ? META_S : FILE_S].value;
    b->mark = MAX(b->dirtied_ns / NS_PER_S + delay_s, now_s + 1);
    if (done_s == NOT_BEGUN)
        done_s = now_s;
    list_push_back(&wheel[b->mark % SLOTS], &b->owing);
    on_wheel++;
}

static void bsd_syncer_leaves(struct block *b)
{
    list_remove(&b->owing);
    on_wheel--;
}

static u64 bsd_syncer_next_ns(u64 last_ns)
{
    return (last_ns / NS_PER_S + 1) * NS_PER_S;
}

/* Write the files of this second's slot of the wheel. */
static void tick(u64 s)
{
    u64 n = flush_files(&wheel[s % SLOTS]);
    counters[TICKS].value++;
    counters[WRITTEN].value += n;
    counters[EMPTY_TICKS].value += !n;
}

/* Do the slots of all seconds since the last scan, which may have taken long.
 */
static void bsd_syncer_scan(u64 now_ns)
{
    u64 now_s = now_ns / NS_PER_S;
    if (done_s == NOT_BEGUN)
        return;
    if (now_s > done_s + SLOTS)
        done_s = now_s - SLOTS;
    while (done_s < now_s)
        tick(++done_s);
}

/* Every dirty block is on the wheel, in the slot of its second, and no block
 * was passed over when its slot came. */
static const char *bsd_syncer_check(void)
{
    struct cache_state s;
    u64 n = 0;
    cache_state(&s);
    for (u32 i = 0; i < SLOTS; i++) {
        LIST_EACH (l, &wheel[i]) {
            const struct block *b = LIST_ITEM(l, struct block, owing);
            if (b->mark % SLOTS != i)
                return "a block is in a slot that is not its own";
            if (b->mark + SLOTS < done_s)
                return "a block was passed over for a round";
            n++;
        }
    }
    return n == on_wheel && n == s.dirty ? NULL
                                         : "not every dirty block is on it";
}

static const struct policy bsd_syncer = {
    .kind = POLICY_UPDATE,
    .name = "bsd_syncer",
    .about = "a wheel of seconds: each file some time after its first change",
    .tunables = tunables,
    .counters = counters,
    .start = bsd_syncer_start,
    .check = bsd_syncer_check,
    .update = {.next_ns = bsd_syncer_next_ns,
               .scan = bsd_syncer_scan,
               .dirtied = bsd_syncer_dirtied,
               .leaves = bsd_syncer_leaves},
};
POLICY(bsd_syncer);

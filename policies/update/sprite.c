/*
 * Sprite's update policy, whole files: every scan_ms, each file whose oldest
 * dirty block has been dirty for at least age_ms has all its dirty blocks
 * written, also those that are younger.
 *
 * So a file is written once and whole, and its blocks are likely to lie
 * together. A file that is removed within age_ms is never written. A block
 * that belongs to no file (metadata of the file system) is written at its own
 * age.
 *
 * Source: Nelson, Welch and Ousterhout, "Caching in the Sprite Network File
 * System", ACM TOCS 6(1), 1988; Mogul, "A Better Update Policy", USENIX Summer
 * 1994.
 */
#include "kernel/policy/update.h"

enum { SCAN_MS, AGE_MS };

static struct tunable tunables[] = {
    {"scan_ms", "ms", 5000, 1, 3600000, "time between two scans"},
    {"age_ms", "ms", 30000, 0, 3600000, "age at which a block's file is due"},
    {0},
};

enum { SCANS, OF_AGE, WRITTEN };

static struct policy_counter counters[] = {
    {"scans", "scans", "times it looked for what is due"},
    {"of_age", "blocks", "that were due; other blocks written were younger"},
    {"written", "blocks", "blocks whose writing a scan started"},
    {0},
};

static struct list due; /* blocks that are due, until they are written */
static u64 due_ns;      /* no block of `due` became dirty later */

static void sprite_start(void)
{
    list_init(&due);
    due_ns = 0;
}

static void sprite_dirtied(struct block *b, u64 now_ns)
{
    (void)now_ns;
    list_init(&b->owing);
}

static void sprite_leaves(struct block *b)
{
    list_remove(&b->owing);
}

/* List a block that is old enough. The blocks are in the order of age, so the
 * first younger one ends it. */
static enum visit of_age(struct block *b, u64 now_ns)
{
    if (b->dirtied_ns + tunables[AGE_MS].value * NS_PER_MS > now_ns)
        return STOP;
    if (!list_on(&b->owing)) {
        list_push_back(&due, &b->owing);
        due_ns = MAX(due_ns, b->dirtied_ns);
        counters[OF_AGE].value++;
    }
    return PASS;
}

static u64 sprite_next_ns(u64 last_ns)
{
    return last_ns + tunables[SCAN_MS].value * NS_PER_MS;
}

static void sprite_scan(u64 now_ns)
{
    (void)now_ns;
    counters[SCANS].value++;
    flush_by_age(of_age);
    counters[WRITTEN].value += flush_files(&due);
}

/* A block that is due is dirty, and has stayed dirty since a scan found it. */
static const char *sprite_check(void)
{
    LIST_EACH (l, &due) {
        u64 dirtied_ns = LIST_ITEM(l, struct block, owing)->dirtied_ns;
        if (!dirtied_ns)
            return "a block is due that is clean";
        if (dirtied_ns > due_ns)
            return "a block is due that became dirty since";
    }
    return NULL;
}

static const struct policy sprite = {
    .kind = POLICY_UPDATE,
    .name = "sprite",
    .about = "whole files: all of a file when its oldest block is of age",
    .tunables = tunables,
    .counters = counters,
    .start = sprite_start,
    .check = sprite_check,
    .update = {.next_ns = sprite_next_ns,
               .scan = sprite_scan,
               .dirtied = sprite_dirtied,
               .leaves = sprite_leaves},
};
POLICY(sprite);

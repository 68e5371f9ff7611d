/*
 * The fsflush daemon of SVR4: every scan_ms it writes metadata of the file
 * system by age, and file data share by share of the cache.
 *
 * - By age: blocks of metadata that have been dirty for at least autoup_s are
 *   written. (In SVR4 the buffer cache holds only those.)
 * - Once a round: all dirty inodes are written, whatever their age. Here an
 *   inode is in a block, and metadata that belongs to no file is inodes and
 *   summaries, which SVR4 writes at the same time.
 * - By turn: the next scan_ms / autoup_s of the cache, one sixtieth by
 *   default, is looked at, and its dirty blocks of file data are written
 *   whatever their age. (SVR4 has file data in a pool of pages.)
 *
 * So data is written within autoup_s after it became dirty, on average after
 * half of that. The work of a scan is bounded by a share of the cache, not by
 * how much is dirty.
 *
 * Source: "Achieving Predictable Response Time with an Intelligent File System
 * Updater" (fsflush of SVR4/MP, its base of comparison); Goodheart and Cox,
 * "The Magic Garden Explained", 1994 (NAUTOUP).
 */
#include "kernel/policy/update.h"

enum { SCAN_MS, AUTOUP_S };

static struct tunable tunables[] = {
    {"scan_ms", "ms", 1000, 1, 60000, "time between two scans"},
    {"autoup_s", "s", 60, 1, 3600, "age of metadata, and time of a round"},
    {0},
};

enum { SCANS, SCANNED, WRITTEN_BY_AGE, WRITTEN_BY_TURN, INODES };

static struct policy_counter counters[] = {
    {"scans", "scans", "times it looked"},
    {"scanned", "buffers", "looked at by turn"},
    {"written_by_age", "blocks", "metadata that was of age"},
    {"written_by_turn", "blocks", "file data that was looked at"},
    {"inodes", "blocks", "of inodes and summaries, written once a round"},
    {0},
};

/* The last turn, in its round, and the buffers that it looked at. */
static struct {
    u64 turn, turns;
    u64 first, end, buffers;
} last;

static void svr4_start(void)
{
    last.turn = last.turns = last.first = last.end = last.buffers = 0;
}

static u64 svr4_next_ns(u64 last_ns)
{
    return last_ns + tunables[SCAN_MS].value * NS_PER_MS;
}

static enum visit structure_of_age(struct block *b, u64 now_ns)
{
    if (b->dirtied_ns + tunables[AUTOUP_S].value * NS_PER_S > now_ns)
        return STOP;
    return b->meta ? FLUSH : PASS;
}

static enum visit inodes(struct block *b, u64 now_ns)
{
    (void)now_ns;
    return b->meta && !b->owner ? FLUSH : PASS;
}

static enum visit data(struct block *b, u64 now_ns)
{
    (void)now_ns;
    counters[SCANNED].value++;
    return b->meta ? PASS : FLUSH;
}

/* Write the dirty data in the next part of the cache. A round visits all parts
 * and takes autoup_s, so a round has autoup_s / scan_ms turns, rounded up. */
static u64 flush_by_turn(void)
{
    struct cache_state now;
    u64 autoup_ms = tunables[AUTOUP_S].value * 1000;
    u64 scan_ms = tunables[SCAN_MS].value;
    u64 turns = (autoup_ms + scan_ms - 1) / scan_ms;
    cache_state(&now);
    last.turn = last.turn % turns + 1;
    last.turns = turns;
    last.buffers = now.buffers;
    last.first = now.buffers * (last.turn - 1) / turns;
    last.end = now.buffers * last.turn / turns;
    return flush_in_cache(last.first, last.end - last.first, data);
}

static void svr4_scan(u64 now_ns)
{
    (void)now_ns;
    counters[SCANS].value++;
    counters[WRITTEN_BY_AGE].value += flush_by_age(structure_of_age);
    counters[WRITTEN_BY_TURN].value += flush_by_turn();
    if (last.turn == last.turns)
        counters[INODES].value += flush_by_age(inodes);
}

static const char *svr4_refuses(void)
{
    return tunables[SCAN_MS].value > tunables[AUTOUP_S].value * 1000
               ? "scans would be further apart than autoup_s"
               : NULL;
}

/* A round begins with the first buffer and ends with the last; no more blocks
 * were written by turn than were looked at. */
static const char *svr4_check(void)
{
    if (last.turn > last.turns || last.first > last.end ||
        last.end > last.buffers)
        return "a turn goes beyond the round or the cache";
    if (last.turn == 1 && last.first)
        return "a round does not begin with the first buffer";
    if (last.turn == last.turns && last.end != last.buffers)
        return "a round does not end with the last buffer";
    return counters[WRITTEN_BY_TURN].value > counters[SCANNED].value
               ? "more was written by turn than looked at"
               : NULL;
}

static const struct policy svr4 = {
    .kind = POLICY_UPDATE,
    .name = "svr4",
    .about = "fsflush: metadata by age, data by turns round the cache",
    .tunables = tunables,
    .counters = counters,
    .start = svr4_start,
    .refuses = svr4_refuses,
    .check = svr4_check,
    .update = {.next_ns = svr4_next_ns, .scan = svr4_scan},
};
POLICY(svr4);

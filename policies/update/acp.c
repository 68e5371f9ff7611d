/*
 * ACP, aggressive cleaning: dirty blocks are written as fast as the disk takes
 * them, region by region of the disk, the region with the most dirty blocks
 * first. A region is a chunk of chunk_blocks.
 *
 * Every wake_up_ms, unless writes of the last wake-up are still under way, up
 * to flush_max blocks of the current chunk are written. When the chunk has no
 * more than that, the next chunk is the one that has the most dirty blocks
 * then. If nothing is dirty, the policy sleeps for a second.
 *
 * So few blocks are dirty at any time, and blocks that are written together are
 * close together. But a block that will be modified again is written in vain.
 * ACP does not wait for an idle disk; it bounds the delay of a read by writing
 * one batch at a time.
 *
 * Open CAS sorts its chunks into tenths of a chunk and takes the one that has
 * been in the highest tenth for longest; here the numbers are exact. It goes
 * through a chunk by rising address, here the oldest blocks of a chunk go first
 * and the scheduler orders them. After an error Open CAS skips a chunk for 5 s.
 * Here a policy is not notified of errors, so it chooses no chunk twice in a
 * row while another has dirty blocks. Its chunks are of 100 MiB, which is the
 * whole of most disks here. Chunks that are CHUNKS chunks apart count as one.
 *
 * Source: Open CAS, the cleaning policy ACP: open-cas.com, "Cleaner" and
 * "Configuration Tool Details", and the Open CAS Framework, src/cleaning/acp.c,
 * whose defaults these are but for the chunk.
 */
#include "kernel/policy/update.h"

#define CHUNKS     512
#define NOTHING_NS NS_PER_S /* from a scan that finds nothing dirty */
#define NO_CHUNK   (MAX_DISKS * CHUNKS)

enum { WAKE_UP_MS, FLUSH_MAX, CHUNK_BLOCKS };

static struct tunable tunables[] = {
    {"wake_up_ms", "ms", 10, 1, 10000, "time between two looks"},
    {"flush_max", "blocks", 128, 1, 10000, "the most that one look writes"},
    {"chunk_blocks", "blocks", 1024, 1, 1UL << 32, "of a region of the disk"},
    {0},
};

enum { SCANS, BUSY_SCANS, CHOSEN, WRITTEN };

static struct policy_counter counters[] = {
    {"looks", "looks", "times it looked for dirty blocks"},
    {"busy_looks", "looks", "of these, those when writes were under way"},
    {"chunks", "chunks", "that were chosen"},
    {"written", "blocks", "whose writing a look started"},
    {0},
};

/* How many blocks of each chunk are dirty, and in all; the last chunk that had
 * any, + 1. A block's mark is its chunk + 1. */
static u64 dirty_in[MAX_DISKS * CHUNKS];
static u64 dirty, end;

static struct {
    u64 chunk;    /* the current one, or NO_CHUNK */
    u64 last;     /* the one before it */
    u64 left;     /* blocks that this scan may still write */
    u64 done_at;  /* the batch is done when this many writes are */
    bool nothing; /* the last scan found nothing dirty */
} now;

static void acp_start(void)
{
    for (u64 chunk = 0; chunk < NO_CHUNK; chunk++)
        dirty_in[chunk] = 0;
    dirty = end = now.done_at = 0;
    now.chunk = now.last = NO_CHUNK;
    now.nothing = false;
}

static u64 acp_next_ns(u64 last_ns)
{
    return last_ns +
           (now.nothing ? NOTHING_NS : tunables[WAKE_UP_MS].value * NS_PER_MS);
}

/* Count a block that became dirty for its chunk, and note the chunk in its
 * mark. */
static void acp_dirtied(struct block *b, u64 now_ns)
{
    (void)now_ns;
    u64 region = b->blkno / tunables[CHUNK_BLOCKS].value % CHUNKS;
    u64 chunk = b->disk * CHUNKS + region;
    b->mark = chunk + 1;
    end = MAX(end, chunk + 1);
    dirty_in[chunk]++;
    dirty++;
}

static void acp_leaves(struct block *b)
{
    dirty_in[b->mark - 1]--;
    dirty--;
}

/* The chunk with the most dirty blocks, of equal ones the first, but the last
 * chosen only if no other has any; NO_CHUNK if none has. */
static u64 fullest(void)
{
    u64 best = NO_CHUNK;
    for (u64 chunk = 0; chunk < end; chunk++) {
        if (chunk == now.last || !dirty_in[chunk])
            continue;
        if (best == NO_CHUNK || dirty_in[chunk] > dirty_in[best])
            best = chunk;
    }
    bool only_last = best == NO_CHUNK && now.last != NO_CHUNK;
    return only_last && dirty_in[now.last] ? now.last : best;
}

/* Flush the blocks of the chosen chunk, up to `left` of them. */
static enum visit in_chunk(struct block *b, u64 now_ns)
{
    (void)now_ns;
    if (!now.left)
        return STOP;
    if (b->mark != now.chunk + 1)
        return PASS;
    now.left--;
    return FLUSH;
}

static void write_some(void)
{
    struct cache_state s;
    now.left = tunables[FLUSH_MAX].value;
    u64 n = flush_by_age(in_chunk);
    cache_state(&s);
    now.done_at = s.written;
    counters[WRITTEN].value += n;
    if (now.left) /* that was all of it */
        now.chunk = NO_CHUNK;
}

/* When the last writes are done, write some blocks of the fullest chunk. */
static void acp_scan(u64 now_ns)
{
    (void)now_ns;
    struct cache_state s;
    cache_state(&s);
    counters[SCANS].value++;
    if (s.written - s.writing < now.done_at) {
        counters[BUSY_SCANS].value++;
        return;
    }
    if (now.chunk == NO_CHUNK && dirty) {
        now.chunk = now.last = fullest();
        counters[CHOSEN].value++;
    }
    now.nothing = now.chunk == NO_CHUNK;
    if (!now.nothing)
        write_some();
}

/* Every dirty block counts in one chunk. */
static const char *acp_check(void)
{
    struct cache_state s;
    u64 blocks = 0;
    cache_state(&s);
    for (u64 chunk = 0; chunk < NO_CHUNK; chunk++)
        blocks += dirty_in[chunk];
    return blocks != dirty || dirty != s.dirty ? "dirty blocks are miscounted"
                                               : NULL;
}

static const struct policy acp = {
    .kind = POLICY_UPDATE,
    .name = "acp",
    .about = "as fast as the disk takes them, the dirtiest region first",
    .tunables = tunables,
    .counters = counters,
    .start = acp_start,
    .check = acp_check,
    .update = {.next_ns = acp_next_ns,
               .scan = acp_scan,
               .dirtied = acp_dirtied,
               .leaves = acp_leaves},
};
POLICY(acp);

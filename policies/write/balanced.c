/*
 * Balanced: all writes are delayed, and writers are slowed down before they
 * meet the limit, so that blocks become dirty as fast as they become clean.
 *
 * Let `dirty` be the blocks that are dirty or being written, `limit` and
 * `background` shares of the cache, and
 *
 *     free     = (background + limit) / 2
 *     setpoint = (free + limit) / 2
 *     ratio    = 1 + ((setpoint - dirty) / (limit - setpoint))^3
 *
 * Up to `free` no writer waits, and debts are forgotten; at `limit` all wait.
 * Between them, each block that becomes clean lets `ratio` blocks become
 * dirty: 2 at `free`, 1 at the setpoint, 0 at the limit. The credit of a block
 * that became clean is kept at `free`, too: without it one block would become
 * dirty for each clean one there, and `dirty` would never come above `free`. A
 * writer whose block was one too many waits until enough blocks have become
 * clean for it. So its rate is ratio times the rate of the disk, and with a
 * writer that is faster than the disk, `dirty` stays near the setpoint.
 * Background writing, by update=linux with the same background_percent, is what
 * makes blocks clean.
 *
 * This is the law of Linux's balance_dirty_pages, and the ratio is its. Linux
 * pauses a writer for a computed time: the blocks it has made dirty, divided by
 * ratio and by the disk's bandwidth, which it measures over 200 ms; a pause is
 * at most 200 ms. A policy here can have no one wait for a time. A writer waits
 * until a write is done, which measures the bandwidth write by write, so a
 * pause ends with a write and has no other bound. Linux 6.12 begins with a
 * guess of 100 MB/s, so that a fast writer runs into the limit for the first
 * 20 s; here nothing is guessed. Linux gives each writer an equal rate; here
 * all share one account. Its limits for each disk, and the smoothing of the
 * limit, are left out.
 *
 * One kind of wait is no policy's: a write changes the file's inode, too, and
 * here the inode's block cannot be changed while it is queued or being
 * written. Linux lets a block change during its write. So in Sluice a writer
 * may wait longer than this file asks for (experiment updaters-modern).
 *
 * A writer also waits for the kernel, far below the limits. A buffer is busy
 * from when its write is queued until it is done (bio.c), and nobody can change
 * it: a write that changes its file's inode waits for the block of inodes.
 * Linux lets a block change while it is written, unless the device asks for
 * stable pages. Beside its flusher on a disk of 1 MB/s, a writer's longest call
 * took 13 ms; here a fast one waits for up to 1.3 s. To change a buffer in
 * transfer needs a second copy of it: the requests, the trace and the checks of
 * this kernel rely on a block being what was queued.
 *
 * Sources: Wu Fengguang, "IO-less dirty throttling", patches for Linux 3.2,
 * 2011; J. Corbet, "No-I/O dirty throttling", LWN.net, 2011.
 */
#include "kernel/policy/write.h"

#define ONE  1024L      /* a block, in the account */
#define MOST (32 * ONE) /* the largest credit: a burst of a writer */

enum { BACKGROUND_PERCENT, DIRTY_PERCENT };

static struct tunable tunables[] = {
    {"background_percent", "% of the cache", 10, 0, 100,
     "from half-way between this and the limit, writers are slowed down"},
    {"dirty_percent", "% of the cache", 20, 1, 100, "limit for writers"},
    {0},
};

enum { PAUSES, STOPS };

static struct policy_counter counters[] = {
    {"pauses", "times", "a writer was told to wait, below the limit"},
    {"stops", "times", "a writer was told to wait, above the limit"},
    {0},
};

/* Blocks that may become dirty, times ONE; and how many had become clean and
 * dirty when it was last reckoned. */
static i64 account;
static u64 cleaned, dirtied;

static void balanced_start(void)
{
    struct cache_state s;
    cache_state(&s);
    account = 0;
    cleaned = s.written - s.writing;
    dirtied = s.dirtied;
}

static enum write_mode balanced_decide(const struct write_info *w)
{
    (void)w;
    return WRITE_DELAYED;
}

struct limits {
    u64 free, setpoint, limit;
};

/* The limit is rounded up: at least one block. */
static struct limits limits_of(u64 buffers)
{
    u64 limit = (buffers * tunables[DIRTY_PERCENT].value + 99) / 100;
    u64 background = buffers * tunables[BACKGROUND_PERCENT].value / 100;
    u64 free = (background + limit) / 2;
    return (struct limits){free, (free + limit) / 2, limit};
}

/* The ratio at the head of this file, times ONE, for free <= dirty <= limit. x
 * is what is cubed there, times ONE too: so each product is divided by ONE. */
static i64 ratio(const struct limits *l, u64 dirty)
{
    i64 room = MAX(l->limit - l->setpoint, 1);
    i64 x = ((i64)l->setpoint - (i64)dirty) * ONE / room;
    x = MAX(MIN(x, ONE), -ONE);
    i64 cube = x * x / ONE * x / ONE;
    return ONE + cube;
}

/* Credit what has become clean, and debit what has become dirty. */
static void reckon(const struct cache_state *s, i64 credit)
{
    u64 written = s->written - s->writing;
    account += (i64)(written - cleaned) * credit;
    account -= (i64)(s->dirtied - dirtied) * ONE;
    account = MIN(account, MOST);
    cleaned = written;
    dirtied = s->dirtied;
}

/* Asked when a block has become dirty, and again by a writer that waits. */
static u64 balanced_most_dirty(u64 buffers)
{
    struct cache_state s;
    struct limits l = limits_of(buffers);
    cache_state(&s);
    u64 dirty = s.dirty + s.writing;
    reckon(&s, ratio(&l, dirty));
    if (dirty <= l.free)
        account = MAX(account, 0);
    if (dirty > l.limit) {
        counters[STOPS].value++;
    } else if (account < 0) {
        counters[PAUSES].value++;
        return MAX(dirty - 1, 1);
    }
    return l.limit;
}

static const char *balanced_refuses(void)
{
    return tunables[BACKGROUND_PERCENT].value > tunables[DIRTY_PERCENT].value
               ? "background_percent would be more than dirty_percent"
               : NULL;
}

static const char *balanced_check(void)
{
    return account > MOST ? "writers are more in credit than they may be"
                          : NULL;
}

static const struct policy balanced = {
    .kind = POLICY_WRITE,
    .name = "balanced",
    .about = "all data writes are delayed; writers follow the disk's rate",
    .tunables = tunables,
    .counters = counters,
    .start = balanced_start,
    .refuses = balanced_refuses,
    .check = balanced_check,
    .write = {.decide = balanced_decide, .most_dirty = balanced_most_dirty},
};
POLICY(balanced);

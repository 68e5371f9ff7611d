/*
 * Segments: a log-structured disk, as the logical disk under LFS. The disk is
 * divided into segments. Writes fill one segment after the other, in the order
 * in which the scheduler chooses them, in commands as long as the kernel makes
 * them (cluster_kb). One sector of the log then describes a whole command: the
 * disk needs summaries (log_summaries).
 *
 * - A segment in which more than full_percent is used when nothing more is
 *   queued is left as it is; in another one, the next writes go on.
 * - A segment is empty when all that was in it has been written again
 *   elsewhere. When the current segment is full and fewer than `reserve` others
 *   are empty, segments are cleaned before anything else is written: blocks
 *   that are still valid move to the end of the log. In idle time that goes on
 *   until idle_reserve are empty.
 * - The emptiest segment is cleaned; with by_age, the segment with the best
 *   ratio of benefit to cost, (1 - u) * age / (1 + u), where u is the share in
 *   use. The age is counted in blocks written since the segment was.
 * - When no segment is empty, any free slot will do.
 * - Moved blocks take room at the end of the log, and so do the sectors of the
 *   map for them. A cleaning that gave back less than least_percent of a
 *   segment is the last one until others have written as much as a segment
 *   holds: on a log that is nearly full, free slots anywhere are cheaper.
 *
 * Without idle time, each write then pays for cleaning: of a segment u is moved
 * to gain 1 - u. Let g be least_percent. For each segment that others fill, one
 * cleaning may take up to a segment's room, and each of the rest gives at least
 * g back. So at most 2 (1 - g) / g blocks are moved for each place that others
 * take: 38 for 5 %. A write takes a place, and its sector of the map another.
 *
 * Sources: M. Rosenblum, J. K. Ousterhout, "The Design and Implementation of a
 * Log-Structured File System", SOSP 1991; W. de Jonge, M. F. Kaashoek, W. C.
 * Hsieh, "The Logical Disk", SOSP 1993; as R. Y. Wang, T. E. Anderson, D. A.
 * Patterson ("Virtual Log Based File Systems for a Programmable Disk", OSDI
 * 1999) used them. There a segment has 512 KB; here what a summary tells of and
 * itself, 408 KB.
 */
#include "kernel/policy/place.h"

enum {
    SEGMENT_KB,
    FULL_PERCENT,
    RESERVE,
    IDLE_RESERVE,
    IDLE_MS,
    BY_AGE,
    LEAST_PERCENT
};
static struct tunable tunables[] = {
    {"segment_kb", "KB", 408, 16, 512, "length of a segment"},
    {"full_percent", "% of a segment", 75, 1, 100,
     "in use, and it is left when nothing more is queued"},
    {"reserve", "segments", 2, 1, 1000,
     "that are empty, or others are cleaned before the next write"},
    {"idle_reserve", "segments", 1000, 0, 1000,
     "that are empty, or others are cleaned in idle time"},
    {"idle_ms", "ms", 25, 0, 10000,
     "after the last command is done, before a segment is cleaned"},
    {"by_age", "0 or 1", 0, 0, 1,
     "clean by benefit and cost, not the emptiest"},
    {"least_percent", "% of a segment", 5, 1, 100,
     "that cleaning one gives back, or no other is cleaned for a while"},
    {0},
};

#define SLOT 8UL    /* sectors */
#define AGES 1024UL /* of as many segments; of more, some share one */

/* The end of the log, on each disk. */
static struct end {
    u64 next, end; /* the next place, and where its segment ends */
    bool moved_on; /* to another segment: count the empty ones */
    u64 written;   /* blocks, ever */
    u64 others;    /* of them, what was not moved, and its sectors of the map */
    u64 at[AGES];  /* how many blocks were, when the segment was written */
    u64 tried;     /* segments cleaned since `others` changed */
    u64 until;     /* nothing is cleaned while `others` is below this */
    /* Of the last cleaning, when it began: */
    bool unjudged; /* its gain has not been judged yet */
    bool idle;     /* the disk */
    u64 room;      /* free blocks at the end of the log */
    u64 since;     /* the value of `others` */
} ends[MAX_DISKS];

static u64 segment_sectors(void)
{
    return tunables[SEGMENT_KB].value * 2 / SLOT * SLOT;
}

static u64 nsegments(const struct queue *q)
{
    return q->nsectors / segment_sectors();
}

static u64 used(const struct queue *q, u64 segment)
{
    u64 first = segment * segment_sectors();
    return queue_used(q, first, first + segment_sectors());
}

/* True if every slot of the segment is free. */
static bool is_empty(const struct queue *q, u64 segment)
{
    u64 first = segment * segment_sectors();
    return segment && queue_free_from(q, first, first + SLOT) == first &&
           used(q, segment) == 0;
}

/* Return the first free place of these: in the segment at the log's end, in the
 * next empty segment, anywhere behind the end, anywhere. */
static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
{
    const struct end *e = &ends[q->disk];
    u64 size = segment_sectors(), n = nsegments(q);
    u64 now = e->end / size; /* the segment behind the one at the end */
    (void)now_ns;
    if (!q->logged)
        return r->sector;
    u64 sector = queue_free_from(q, e->next, e->end);
    for (u64 i = 0; i < n && sector == NO_SECTOR; i++)
        if (is_empty(q, (now + i) % n))
            sector = (now + i) % n * size;
    if (sector == NO_SECTOR)
        sector = queue_free_from(q, e->next, NO_SECTOR);
    return sector == NO_SECTOR ? queue_free_from(q, 0, NO_SECTOR) : sector;
}

/* A block was written at r->physical: the log goes on behind it. */
static void placed(const struct queue *q, const struct request *r)
{
    struct end *e = &ends[q->disk];
    u64 segment = r->physical / segment_sectors();
    if (!q->logged || !r->write)
        return;
    e->moved_on |= e->end != (segment + 1) * segment_sectors();
    e->next = r->physical + SLOT;
    e->end = (segment + 1) * segment_sectors();
    e->at[segment % AGES] = ++e->written;
    e->others += !r->moved;
}

/* Return 1000 (1 - u) / (1 + u), where u is the share of the segment in use;
 * with by_age, times its age. 0: nothing is gained, because the segment is
 * empty, full, or the log's end. */
static u64 gain_of(const struct queue *q, u64 segment)
{
    const struct end *e = &ends[q->disk];
    u64 all = segment_sectors() / SLOT; /* blocks */
    u64 n = used(q, segment);
    if (!segment || n == 0 || n >= all ||
        segment == (e->end - 1) / segment_sectors())
        return 0; /* place 0 is never free: its segment cannot be empty */
    u64 age = e->written - e->at[segment % AGES] + 1;
    return (tunables[BY_AGE].value ? age : 1) * (all - n) * 1000 / (all + n);
}

/* How many blocks the log's last segment still has room for. */
static u64 room_left(const struct queue *q)
{
    const struct end *e = &ends[q->disk];
    return (e->end - e->next) / SLOT - queue_used(q, e->next, e->end);
}

/* True if the last cleaning gave back too little. False if that is unknown:
 * others wrote meanwhile, or the cleaning has not ended, since cleaning that
 * began in idle time gives way to requests. */
static bool was_in_vain(const struct queue *q, bool idle, u64 room)
{
    const struct end *e = &ends[q->disk];
    u64 all = segment_sectors() / SLOT;
    u64 least = MAX(all * tunables[LEAST_PERCENT].value / 100, 1UL);
    return e->unjudged && e->since == e->others && idle >= e->idle &&
           room < e->room + least;
}

/* Set *what to the segment with the most gain, or leave it. Free blocks here
 * are those at the log's end and in empty segments. */
static void clean(const struct queue *q, u64 now_ns, bool idle,
                  struct clean *what)
{
    struct end *e = &ends[q->disk];
    u64 size = segment_sectors(), n = nsegments(q);
    u64 empty = 0, best = 0; /* how many segments; a segment's number */
    u64 idle_ns = q->done_ns + tunables[IDLE_MS].value * NS_PER_MS;
    if (idle && now_ns < idle_ns) {
        what->again_ns = idle_ns;
        return;
    }
    u64 room = e->unjudged ? room_left(q) : 0;
    /* The segment at the log's end is full enough: leave it. */
    if (idle && e->end &&
        used(q, e->end / size - 1) * SLOT * 100 >=
            size * tunables[FULL_PERCENT].value)
        e->next = e->end;
    if (e->since != e->others)
        e->tried = 0; /* others have written since the last cleaning */
    if ((!idle && !e->moved_on) || e->tried > n || e->others < e->until)
        return;
    for (u64 s = 0; s < n; s++) {
        empty += is_empty(q, s);
        if (gain_of(q, s) > gain_of(q, best))
            best = s;
    }
    if (was_in_vain(q, idle, room + empty * size / SLOT)) {
        e->until = e->others + size / SLOT; /* until a segment is filled */
        return;
    }
    e->unjudged = false;
    if (empty >= tunables[idle ? IDLE_RESERVE : RESERVE].value ||
        !gain_of(q, best)) {
        e->moved_on = false;
        return;
    }
    e->tried++;
    e->unjudged = true;
    e->idle = idle;
    e->room = room_left(q) + empty * size / SLOT;
    e->since = e->others;
    *what = (struct clean){best * size, (best + 1) * size, NEVER_NS};
}

static const struct policy segments = {
    .kind = POLICY_PLACE,
    .name = "segments",
    .about = "a log-structured disk: segments, one after the other, cleaned",
    .tunables = tunables,
    .place = {.place = place,
              .placed = placed,
              .clean = clean,
              .appends = true},
};
POLICY(segments);

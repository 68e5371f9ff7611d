/*
 * VLD: eager writing with a compactor. In idle time the blocks of the emptiest
 * track move to free slots of fuller tracks, one track after the other. This
 * makes empty tracks, and the head never has far to go to a free slot there.
 *
 * - A write goes to the nearest free slot of the track that is being filled.
 *   When only left_percent of its places are free, the nearest empty track is
 *   taken. When none is empty, a write goes to the nearest free slot of all
 *   (nearest.h).
 * - A block that the compactor moves goes to the nearest free slot of a track
 *   that is neither empty nor being emptied.
 * - A step is one track, and gives way to requests between two commands. The
 *   compactor stops when all other tracks have no room for what the emptiest
 *   one holds, or that is more than most_percent full.
 *
 * Without a model of the drive, or if its tracks differ, a write goes to the
 * first free slot after the slot that was written last, and nothing is
 * compacted.
 *
 * Source: R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based File
 * Systems for a Programmable Disk", OSDI 1999.
 */
#include "kernel/policy/place.h"
#include "policies/lib/slots.h"

enum { PATIENCE_US, LEFT_PERCENT, MOST_PERCENT, IDLE_MS };
static struct tunable tunables[] = {
    {"patience_us", "us", 1500, 0, 1000000,
     "how much later than the arm would be in another cylinder a place of this "
     "one may come"},
    {"left_percent", "% of a track", 25, 0, 99,
     "free, and another track is filled"},
    {"most_percent", "% of a track", 90, 0, 100,
     "in use, if it is to be emptied; 0: nothing is compacted"},
    {"idle_ms", "ms", 25, 0, 10000,
     "after the last command is done, before a track is emptied"},
    {0},
};

/* Tracks of each disk, by number. */
static struct {
    u64 filled;  /* the track that is being filled */
    u64 emptied; /* the track that the compactor empties */
    u64 none;    /* was empty: how many more writes until they are scanned */
} tracks[MAX_DISKS];

static u64 used_on(const struct queue *q, u64 track)
{
    struct track_slots on = slots_of_track(q, track);
    return queue_used(q, on.first, on.end);
}

/* Return how many slots of a track are free. */
static u64 free_on(const struct queue *q, u64 track)
{
    struct track_slots on = slots_of_track(q, track);
    u64 n = 0;
    for (u64 at = on.first; (at = queue_free_from(q, at, on.end)) != NO_SECTOR;
         at += SLOT)
        n++;
    return n;
}

/* A track that is neither empty nor being emptied. */
static bool has_holes(const struct queue *q, u64 track)
{
    return track != tracks[q->disk].emptied && used_on(q, track) != 0;
}

static u64 on_track(const struct slots *p, u64 track)
{
    u64 base = track * p->q->tracks.sectors;
    return slots_nearest(p, base, 1, 1, base);
}

/* The first empty track from the one where the head is. If there is none, the
 * next search is after as many writes as a track has places, or when the
 * compactor has worked: a search looks at all places. */
static u64 empty_track(const struct queue *q)
{
    if (tracks[q->disk].none)
        return NO_SECTOR;
    u64 n = (u64)q->tracks.heads * q->tracks.cyls;
    u64 here = q->head_sector / q->tracks.sectors;
    for (u64 i = 0; i < n; i++) {
        u64 track = (here + i) % n, first = slots_of_track(q, track).first;
        if (track && used_on(q, track) == 0 &&
            queue_free_from(q, first, first + SLOT) == first)
            return track;
    }
    tracks[q->disk].none = q->tracks.sectors / SLOT;
    return NO_SECTOR;
}

/* True if no more of the track is free than left_percent. */
static bool is_filled(const struct queue *q, u64 track)
{
    u64 slots = q->tracks.sectors / SLOT;
    return free_on(q, track) * 100 <= slots * tunables[LEFT_PERCENT].value;
}

/* A block that is moved goes into a hole; one that is written goes on the track
 * that is being filled, or an empty one. Without these, anywhere. */
static u64 find(const struct queue *q, const struct request *r, u64 now_ns)
{
    struct slots p = {.q = q,
                      .r = r,
                      .now_ns = now_ns,
                      .patience_ns = tunables[PATIENCE_US].value * NS_PER_US,
                      .may = r->moved ? has_holes : NULL};
    u64 track = tracks[q->disk].filled, sector = NO_SECTOR;
    if (r->moved) {
        sector = slots_nearest_of_all(&p);
        p.may = NULL;
    } else {
        if (is_filled(q, track))
            track = empty_track(q);
        if (track != NO_SECTOR)
            sector = on_track(&p, track);
    }
    return sector == NO_SECTOR ? slots_nearest_of_all(&p) : sector;
}

static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
{
    u64 sector = NO_SECTOR;
    if (!q->logged)
        return r->sector;
    if (q->tracks.cyls)
        sector = find(q, r, now_ns);
    return sector == NO_SECTOR ? slots_next(q) : sector;
}

/* A block has gone to its place: one write fewer until empty tracks are
 * searched for again. A block that a program wrote says which track is being
 * filled. */
static void placed(const struct queue *q, const struct request *r)
{
    if (!q->logged || !q->tracks.cyls || !r->write)
        return;
    if (tracks[q->disk].none)
        tracks[q->disk].none--;
    if (!r->moved)
        tracks[q->disk].filled = r->physical / q->tracks.sectors;
}

/* Of the tracks with the fewest blocks, the next from the head on. NO_SECTOR:
 * it has too many blocks, or the other tracks have no room for its blocks. */
static u64 emptiest(const struct queue *q)
{
    u64 n = (u64)q->tracks.heads * q->tracks.cyls, room = 0;
    u64 here = q->head_sector / q->tracks.sectors, best = NO_SECTOR;
    u64 least = q->tracks.sectors / SLOT * tunables[MOST_PERCENT].value / 100;
    least++;
    for (u64 i = 0; i < n; i++) {
        u64 track = (here + i) % n, blocks = used_on(q, track);
        if (blocks == 0 || track == tracks[q->disk].filled)
            continue;
        room += free_on(q, track);
        if (blocks < least) {
            least = blocks;
            best = track;
        }
    }
    if (best == NO_SECTOR || room < free_on(q, best) + least + 2)
        return NO_SECTOR;
    return best;
}

/* When the disk has been idle for long enough, name a part of the emptiest
 * track, CLEAN_SECTORS long, that has something to move. */
static void clean(const struct queue *q, u64 now_ns, bool idle,
                  struct clean *what)
{
    u64 from_ns = q->done_ns + tunables[IDLE_MS].value * NS_PER_MS;
    if (!idle || !q->tracks.cyls || !tunables[MOST_PERCENT].value)
        return;
    if (now_ns < from_ns) {
        what->again_ns = from_ns;
        return;
    }
    tracks[q->disk].none = 0;
    u64 track = emptiest(q);
    if (track == NO_SECTOR)
        return;
    tracks[q->disk].emptied = track;
    struct track_slots on = slots_of_track(q, track);
    while (!queue_used(q, on.first, MIN(on.end, on.first + CLEAN_SECTORS)))
        on.first += CLEAN_SECTORS;
    what->first = on.first;
    what->end = MIN(on.end, on.first + CLEAN_SECTORS);
}

static const struct policy vld = {
    .kind = POLICY_PLACE,
    .name = "vld",
    .about = "eager writing on tracks that a compactor empties in idle time",
    .tunables = tunables,
    .place = {.place = place, .placed = placed, .clean = clean},
};
POLICY(vld);

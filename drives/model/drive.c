/*
 * How long a drive takes (drive.h), by the model of Ruemmler and Wilkes, "An
 * Introduction to Disk Drive Modeling" (IEEE Computer, March 1994).
 *
 * - The platters never stop: at time t they stand at angle t mod the time of a
 *   rotation. So angles are times, too: slot k of a track's n begins to pass
 *   under the head at k/n of a rotation, and the wait for it is the difference
 *   of two angles.
 * - Sectors are numbered along a track, head by head through a cylinder, then
 *   cylinder by cylinder inwards. Each track begins a little later than the one
 *   before (skew), so that a transfer that goes on there finds its next sector
 *   coming when the head switch or the seek is done.
 * - The arm does one operation at a time. d->arm_ns is when the current one
 *   ends; d->cyl and d->head are where the arm will be then.
 * - A read that misses costs overhead, seek, rotation, transfer; sectors cross
 *   the bus while later ones are read. Then the arm reads ahead until it has
 *   read enough or a command needs the arm. How far it has read is computed
 *   when that command arrives: catch_up().
 * - A read of what a segment of the cache holds, or the arm is about to read
 *   ahead into it, is a hit: no seek, no rotation lost.
 * - Or the drive reads whole tracks (AHEAD_TRACK). At a read that misses, the
 *   arm reads for one rotation, from the first sector that passes after the arm
 *   has reached the track. A segment then holds the sectors of one track that
 *   have passed: from where the arm began to the track's end, and then from the
 *   track's start. A command that takes the arm away ends this reading; when
 *   the arm returns to the track, it begins again.
 * - A write costs overhead, and the arm seeks while the data cross the bus.
 *   With write-behind, a write is done when its data are across. A write that
 *   continues where the last one ended joins it while the arm still writes (a
 *   hit). Any other write waits for the arm. So at most one stream of writes is
 *   not on the platters yet; a flush waits for it.
 *
 * Work that a drive does internally, without the host, takes only the arm and
 * the platters.
 *
 * Not modelled: remapped sectors, retries, thermal recalibration.
 */
#include "drives/row.h"

#define NONE    MAX_SEGMENTS
#define FOREVER UINT64_MAX

extern const struct drive_model *const __start_drives[];
extern const struct drive_model *const __stop_drives[];
extern const char *const __start_drive_files[];

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

const struct drive_model *drive_row(u32 i)
{
    return i < __stop_drives - __start_drives ? __start_drives[i] : NULL;
}

const char *drive_file(u32 i)
{
    return __start_drive_files[i];
}

const struct drive_model *drive_find(const char *name)
{
    const struct drive_model *m;
    for (u32 i = 0; (m = drive_row(i)) && !same(m->name, name); i++)
        ;
    return m;
}

/* ---- the platters and the arm ---- */

/* Where a sector lies. */
struct spot {
    u32 cyl, head;
    u32 slot, slots; /* which of the track's, counted by angle */
    u64 before;      /* at least the sectors from the track's start to here */
    u64 left;        /* sectors from here to the end of the track */
};

u64 drive_rotation_ns(const struct drive_model *m)
{
    return 60000000000ull / m->rpm;
}

/* The angle at which slot k of n begins; k may go beyond one rotation. */
static u64 angle_ns(const struct drive_model *m, u64 k, u32 n)
{
    return k * drive_rotation_ns(m) / n;
}

static u64 zone_tracks(const struct drive_model *m, const struct zone *z)
{
    return (u64)(z->last_cyl - z->first_cyl + 1) * m->heads;
}

static struct zone_gaps gaps_of(const struct drive_model *m,
                                const struct zone *z)
{
    return m->gaps ? m->gaps[z - m->zones] : (struct zone_gaps){0};
}

/* How many sectors of a zone hold data: those of its tracks, without its gaps,
 * its defects and the spares of each group of tracks. */
static u64 zone_room(const struct drive_model *m, const struct zone *z)
{
    struct zone_gaps gaps = gaps_of(m, z);
    u64 tracks = zone_tracks(m, z), lost = gaps.front + gaps.back;
    if (m->spares)
        lost += (tracks + m->spare_tracks - 1) / m->spare_tracks * m->spares;
    for (const u32 *slip = gaps.slips; slip && *slip; slip++)
        lost++;
    return tracks * z->sectors - lost;
}

u64 drive_room(const struct drive_model *m)
{
    u64 room = 0;
    for (const struct zone *z = m->zones; z->sectors; z++)
        room += zone_room(m, z);
    return room;
}

/* Return the geometry of a disk of that size, if it lies in one zone whose
 * tracks are equal; else zeros. */
struct tracks drive_tracks(const struct drive_model *m, u64 sectors)
{
    const struct zone *z = m->zones;
    if (!z || m->spares || m->gaps || sectors > zone_room(m, z))
        return (struct tracks){0};
    u64 cyls = sectors / m->heads / z->sectors;
    return (struct tracks){z->sectors, m->heads, cyls};
}

/* Find where a sector lies. In turn `sector` is a number on the disk, in the
 * zone, and among the zone's places, where gaps and defects count. The rest is
 * division: by the room of a group, of a track, of a cylinder. `left` is how
 * many sectors from it on lie in one piece, before the zone, a defect, the
 * group or the track ends. */
static struct spot locate(const struct drive_model *m, u64 sector)
{
    const struct zone *z = m->zones;
    for (; sector >= zone_room(m, z); z++)
        sector -= zone_room(m, z);
    struct zone_gaps gaps = gaps_of(m, z);
    u64 left = zone_room(m, z) - sector;
    sector += gaps.front;
    const u32 *slip = gaps.slips;
    for (; slip && *slip && *slip <= sector; slip++)
        sector++;
    if (slip && *slip)
        left = MIN(left, *slip - sector);
    u64 group_tracks = m->spares ? m->spare_tracks : zone_tracks(m, z);
    u64 group_room = group_tracks * z->sectors - m->spares;
    u64 in_group = sector % group_room;
    u64 track = sector / group_room * group_tracks + in_group / z->sectors;
    u64 cyl = track / m->heads, head = track % m->heads;
    u64 k = in_group % z->sectors;
    left = MIN(left, group_room - in_group);
    /* Slots by which a track begins later: track_skew for each switch of heads
     * before it, cyl_skew for each step of the arm. */
    u64 skew = cyl * ((m->heads - 1) * z->track_skew + z->cyl_skew) +
               head * z->track_skew;
    return (struct spot){
        .cyl = z->first_cyl + cyl,
        .head = head,
        .slot = (k + skew + gaps.first_slot) % z->sectors,
        .slots = z->sectors,
        .before = k,
        .left = MIN(z->sectors - k, left),
    };
}

/* Sectors from the first up to the end. */
struct span {
    u64 first, end;
};

static bool same_track(const struct spot *a, const struct spot *b)
{
    return a->cyl == b->cyl && a->head == b->head;
}

/* The sectors of the track on which this one lies. */
static struct span track_of(const struct drive_model *m, u64 sector)
{
    struct spot here = locate(m, sector), s = here;
    u64 first = sector - MIN(sector, here.before), end = sector + here.left;
    while (s = locate(m, first), !same_track(&s, &here))
        first += s.left;
    while (end < m->sectors && (s = locate(m, end), same_track(&s, &here)))
        end += s.left;
    return (struct span){first, MIN(end, m->sectors)};
}

/* The integer square root: the largest r with r * r <= x. By Newton's method,
 * from above, for x below 2^63. */
static u64 root(u64 x)
{
    u64 r = x ? 1ull << 32 : 0;
    for (u64 next; r && (next = (r + x / r) / 2) < r;)
        r = next;
    return r;
}

/* From a table: interpolate between two points. Else a + b sqrt(cyls) below the
 * knee, c + e cyls from there on. */
u64 drive_seek_ns(const struct drive_model *m, u32 cyls)
{
    const struct seek_curve *c = &m->seek;
    struct seek_point from = {0, 0};
    for (const struct seek_point *to = c->table; to && to->cyls; to++) {
        if (cyls <= to->cyls)
            return from.ns + ((i64)to->ns - from.ns) * (cyls - from.cyls) /
                                 (to->cyls - from.cyls);
        from = *to;
    }
    if (cyls == 0)
        return 0;
    if (cyls < c->knee_cyls)
        return c->a_ns + root((u64)c->b_ns * c->b_ns * cyls);
    return c->c_ns + (u64)c->e_ns * cyls;
}

/* How long the arm takes to the spot's track. Heads are switched during the
 * seek, so the longer of both counts. If either takes time, a write adds
 * write_settle_ns, which may be below 0. */
static u64 travel_ns(const struct drive *d, const struct spot *to, bool write)
{
    const struct drive_model *m = d->model;
    u32 cyls = to->cyl > d->cyl ? to->cyl - d->cyl : d->cyl - to->cyl;
    u64 switch_ns = to->head != d->head ? m->head_switch_ns : 0;
    u64 ns = MAX(drive_seek_ns(m, cyls), switch_ns);
    i64 settled_ns = ns + m->write_settle_ns;
    return ns && write ? (u64)MAX(settled_ns, 0) : ns;
}

/* How long from at_ns until the spot passes under the head: the difference of
 * two angles, each as the time that the platter takes to turn so far. */
static u64 wait_ns(const struct drive_model *m, const struct spot *s, u64 at_ns)
{
    u64 rotation_ns = drive_rotation_ns(m);
    u64 angle = angle_ns(m, s->slot, s->slots);
    return (angle + rotation_ns - at_ns % rotation_ns) % rotation_ns;
}

static u64 wait_for(const struct drive_model *m, u64 sector, u64 at_ns)
{
    struct spot s = locate(m, sector);
    return wait_ns(m, &s, at_ns);
}

/* The sector of a track that is the first to pass whole under a head that is
 * there at at_ns. past_ns is how long ago the track's first sector passed, and
 * `gone` how many slots have passed since. The next one holds that sector, or
 * one a little before, if slots between hold no data. */
static u64 first_to_pass(const struct drive_model *m, struct span track,
                         u64 at_ns)
{
    u64 rotation_ns = drive_rotation_ns(m);
    u64 past_ns = rotation_ns - 1 - wait_for(m, track.first, at_ns);
    u64 gone = past_ns * locate(m, track.first).slots / rotation_ns;
    u64 sector = MIN(track.first + gone + 1, track.end - 1);
    while (sector > track.first &&
           wait_for(m, sector - 1, at_ns) < wait_for(m, sector, at_ns))
        sector--;
    return sector;
}

/* The arm goes to this spot and stays over the track for n sectors, or up to
 * the track's end, or as many as have passed whole by until_ns. Returns how
 * many; for none the arm stays where it is. */
static u64 pass(struct drive *d, const struct spot *s, u64 n, bool write,
                u64 until_ns)
{
    const struct drive_model *m = d->model;
    u64 begin_ns = d->arm_ns + travel_ns(d, s, write);
    begin_ns += wait_ns(m, s, begin_ns);
    n = MIN(n, s->left);
    if (begin_ns >= until_ns)
        return 0;
    if (until_ns != FOREVER)
        n = MIN(n, (until_ns - begin_ns) * s->slots / drive_rotation_ns(m));
    if (n) {
        d->arm_ns = begin_ns + angle_ns(m, s->slot + n, s->slots) -
                    angle_ns(m, s->slot, s->slots);
        d->cyl = s->cyl;
        d->head = s->head;
    }
    return n;
}

/* ---- the cache ---- */

/* Extend the segment up to `end`. If it is full, its first sectors are
 * dropped. */
static void extend(const struct drive *d, struct segment *s, u64 end)
{
    s->end = end;
    if (s->end - s->first > d->cache.segment_sectors)
        s->first = s->end - d->cache.segment_sectors;
}

/* Continue reading a whole track, as far as its sectors pass without a break,
 * but not beyond `to`. Returns the sectors that passed. */
static struct span read_on(struct drive *d, u64 to, u64 until_ns)
{
    struct segment *s = &d->segment[d->ahead];
    bool before = s->end == d->ahead_end; /* where the arm began */
    u64 *here = before ? &s->low_end : &s->end;
    u64 stop = before ? s->first : d->ahead_end, from = *here;
    struct spot spot = locate(d->model, from);
    stop = MIN(stop, from < to ? to : FOREVER);
    *here += pass(d, &spot, stop - from, false, until_ns);
    struct span passed = {from, *here};
    if (s->end == d->ahead_end && s->low_end == s->first) {
        s->first = s->low;
        s->low = s->low_end = 0;
        d->ahead = NONE;
    }
    return passed;
}

/* Let the arm read ahead until then. */
static void catch_up(struct drive *d, u64 now_ns)
{
    u64 n = 1;
    while (d->ahead != NONE && n) {
        struct segment *s = &d->segment[d->ahead];
        if (d->whole_tracks) {
            struct span passed = read_on(d, 0, now_ns);
            n = passed.end - passed.first;
            continue;
        }
        struct spot next = locate(d->model, s->end);
        bool leaves = next.cyl != d->cyl || next.head != d->head;
        if (leaves && d->model->ahead == AHEAD_IN_TRACK)
            d->ahead_end = s->end;
        n = pass(d, &next, d->ahead_end - s->end, false, now_ns);
        extend(d, s, s->end + n);
        if (s->end == d->ahead_end)
            d->ahead = NONE;
    }
}

/* Return the segment that holds the most sectors from this one on; a segment
 * that ends at this sector holds 0. NONE if there is none. */
static u32 segment_with(const struct drive *d, u64 sector)
{
    u32 best = NONE;
    for (u32 i = 0; i < d->cache.segments; i++) {
        const struct segment *s = &d->segment[i];
        if (s->first < s->end && s->first <= sector && sector <= s->end &&
            (best == NONE || s->end > d->segment[best].end))
            best = i;
    }
    return best;
}

/* Return the end of the sectors that the segment holds from this sector on. */
static u64 held_to(const struct segment *s, u64 sector)
{
    if (s->low <= sector && sector < s->low_end)
        sector = s->low_end;
    return s->first <= sector && sector < s->end ? s->end : sector;
}

/* Return the segment that holds the most sectors from this one on, or else the
 * segment into which the arm will read this sector next. *to: the end of these
 * sectors. NONE if there is no such segment. */
static u32 segment_at_hand(const struct drive *d, u64 sector, u64 *to)
{
    u32 best = NONE;
    *to = sector;
    for (u32 i = 0; i < d->cache.segments; i++) {
        u64 end = held_to(&d->segment[i], sector);
        best = end > *to ? i : best;
        *to = MAX(*to, end);
    }
    if (best != NONE || d->ahead == NONE || sector < d->segment[d->ahead].low ||
        sector >= d->ahead_end)
        return best;
    *to = d->ahead_end;
    return d->ahead;
}

/* The first sector of a request that needs another track; `end` for none. */
static u64 first_elsewhere(const struct drive *d, u64 sector, u64 end)
{
    u64 to;
    while (sector < end && segment_at_hand(d, sector, &to) != NONE)
        sector = to;
    return MIN(sector, end);
}

static u32 oldest_segment(const struct drive *d)
{
    u32 oldest = 0;
    for (u32 i = 1; i < d->cache.segments; i++) {
        if (d->segment[i].used < d->segment[oldest].used)
            oldest = i;
    }
    return oldest;
}

/* Use segment i for data that begin at this sector. */
static void begin_segment(struct drive *d, u32 i, u64 sector)
{
    d->segment[i] = (struct segment){sector, sector, 0, 0, d->segment[i].used};
    if (d->ahead == i)
        d->ahead = NONE;
}

/* Remove sectors from the segments, because a write makes them out of date. */
static void forget(struct drive *d, u64 sector, u64 end)
{
    for (u32 i = 0; i < d->cache.segments; i++) {
        struct segment *s = &d->segment[i];
        if (MAX(s->first, sector) < MIN(s->end, end) ||
            MAX(s->low, sector) < MIN(s->low_end, end))
            *s = (struct segment){s->end, s->end, 0, 0, s->used};
    }
}

/* ---- commands ---- */

/* A time of the controller or the bus: 0 for a command of the drive's own. */
static u64 outside(const struct drive *d, u64 ns)
{
    return d->inside ? 0 : ns;
}

/* How the sectors of a read cross the bus: in their order, each when it is in
 * the buffer and the bus is free, from when all before `mark` are there. */
struct transfer {
    u64 sector, end;
    u64 mark_ns; /* so far, when the last of them came from the platter; or 0 */
    u64 done_ns; /* no earlier, by those that came */
};

/* Note that the sectors from `from` to `to`, all of one track, were read, the
 * last of them at d->arm_ns. They give two bounds of when the bus is done: from
 * the moment when the first of them came, it moves all up to the transfer's
 * end; from the moment when the last of them came, that one and the rest. */
static void come(const struct drive *d, struct transfer *t, u64 from, u64 to)
{
    const struct drive_model *m = d->model;
    u32 slots = locate(m, from).slots;
    u64 share = (t->end - t->sector) * m->read_mark_percent;
    u64 mark = t->sector + MAX(1, (share + 99) / 100);
    if (from >= to)
        return;
    u64 first_ns = d->arm_ns - angle_ns(m, to - from - 1, slots);
    u64 mark_ns = d->arm_ns - angle_ns(m, to - MIN(to, mark), slots);
    t->done_ns =
        MAX(t->done_ns, first_ns + (t->end - from) * outside(d, d->bus_ns));
    t->done_ns =
        MAX(t->done_ns, d->arm_ns + (t->end - to + 1) * outside(d, d->bus_ns));
    if (from < mark)
        t->mark_ns = MAX(t->mark_ns, mark_ns);
}

/* When all have crossed the bus, which is free from ready_ns on. */
static u64 across_ns(const struct drive *d, const struct transfer *t,
                     u64 ready_ns)
{
    u64 begin_ns = MAX(ready_ns, t->mark_ns);
    begin_ns += t->mark_ns ? outside(d, d->model->reselect_ns) : 0;
    return MAX(t->done_ns,
               begin_ns + (t->end - t->sector) * outside(d, d->bus_ns));
}

/* Read the sectors from `here` on from the platters; the buffer holds those
 * before. Returns when the last has crossed the bus. */
static u64 read_and_send(struct drive *d, u64 sector, u64 here, u64 end,
                         u64 ready_ns)
{
    struct transfer t = {sector, end, 0, 0};
    for (u64 n; here < end; here += n) {
        struct spot s = locate(d->model, here);
        n = pass(d, &s, end - here, false, FOREVER);
        come(d, &t, here, here + n);
    }
    return across_ns(d, &t, ready_ns);
}

/* The arm has read up to the end of segment i for this request. It goes on
 * reading, if the drive reads ahead after a request like this. */
static void read_ahead(struct drive *d, u32 i, u64 end, bool sequential)
{
    const struct drive_model *m = d->model;
    u64 to = MIN(end + d->cache.read_ahead_sectors, m->sectors);
    if (m->ahead == AHEAD_IN_SEGMENT)
        to = MIN(to, d->segment[i].first + d->cache.segment_sectors);
    if (d->ahead_if_sequential && !sequential)
        to = end;
    if (d->ahead == i)
        to = MAX(to, d->ahead_end);
    d->ahead = to > d->segment[i].end ? i : NONE;
    d->ahead_end = to;
}

/* Serve a read. What a segment holds is sent at once; the rest comes from the
 * platter, where the arm may be already (`joins`). Returns when the last sector
 * has crossed the bus. */
static u64 serve_read(struct drive *d, u64 now_ns, u64 sector, u64 end)
{
    const struct drive_model *m = d->model;
    u32 i = segment_with(d, sector);
    bool joins = i != NONE && i == d->ahead;
    bool hit = joins || (i != NONE && end <= d->segment[i].end);
    u64 ready_ns =
        now_ns + outside(d, (hit ? m->read_hit_ns : m->read_miss_ns)[d->after]);
    bool sequential = i != NONE;
    if (!sequential)
        begin_segment(d, i = oldest_segment(d), sector);
    struct segment *s = &d->segment[i];
    u64 here = MIN(s->end, end);
    u64 done_ns = ready_ns + (here - sector) * outside(d, d->bus_ns);
    s->used = d->commands;
    if (here < end) {
        if (!joins)
            d->arm_ns = MAX(d->arm_ns, ready_ns);
        done_ns = read_and_send(d, sector, here, end, ready_ns);
        extend(d, s, end);
    }
    if (here < end || joins) {
        read_ahead(d, i, end, sequential);
        if (d->written == i)
            d->written = NONE;
    }
    return done_ns + outside(d, m->done_ns[AFTER_READ]);
}

/* The arm goes to this sector's track, to read all of it, up to *to. Returns
 * into which segment. */
static u32 begin_turn(struct drive *d, u64 sector, u64 ready_ns, u64 *to)
{
    struct spot spot = locate(d->model, sector);
    struct span track = track_of(d->model, sector);
    u32 i = oldest_segment(d);
    d->arm_ns = MAX(d->arm_ns, ready_ns);
    u64 there_ns = d->arm_ns + travel_ns(d, &spot, false);
    begin_segment(d, i, first_to_pass(d->model, track, there_ns));
    d->segment[i].low = d->segment[i].low_end = track.first;
    d->ahead = i;
    *to = d->ahead_end = track.end;
    if (d->written == i)
        d->written = NONE;
    return i;
}

/* Serve a read on a drive that reads whole tracks: track by track, from what
 * segments hold or from the turn of the platter over that track. */
static u64 serve_by_tracks(struct drive *d, u64 now_ns, u64 sector, u64 end)
{
    const struct drive_model *m = d->model;
    bool hit = first_elsewhere(d, sector, end) == end;
    u64 ready_ns =
        now_ns + outside(d, (hit ? m->read_hit_ns : m->read_miss_ns)[d->after]);
    struct transfer t = {sector, end, 0, 0};
    for (u64 to; sector < end; sector = to) {
        u32 i = segment_at_hand(d, sector, &to);
        if (i == NONE)
            i = begin_turn(d, sector, ready_ns, &to);
        to = MIN(to, end);
        d->segment[i].used = d->commands;
        while (held_to(&d->segment[i], sector) < to) {
            struct span passed = read_on(d, to, FOREVER);
            come(d, &t, MAX(passed.first, sector), MIN(passed.end, to));
        }
    }
    return across_ns(d, &t, ready_ns) + outside(d, m->done_ns[AFTER_READ]);
}

/* Return when the arm, which gets the command at ready_ns, can begin to write n
 * sectors: it has reached the track, and the data arrive fast enough. The arm
 * seeks while they arrive. */
static u64 at_write_ns(const struct drive *d, const struct spot *s, u64 n,
                       u64 ready_ns)
{
    u64 there_ns = MAX(d->arm_ns, ready_ns) + travel_ns(d, s, true);
    u64 pass_ns = angle_ns(d->model, n - 1, s->slots),
        data_ns = n * outside(d, d->bus_ns);
    u64 ahead_ns = MAX(outside(d, d->bus_ns), data_ns - MIN(data_ns, pass_ns));
    return MAX(there_ns, ready_ns + ahead_ns);
}

/* Write these sectors on the platters, and leave the arm behind them. */
static void write_out(struct drive *d, u64 sector, u64 end, u64 ready_ns)
{
    struct spot s = locate(d->model, sector);
    d->arm_ns = at_write_ns(d, &s, end - sector, ready_ns);
    d->cyl = s.cyl;
    d->head = s.head;
    while ((sector += pass(d, &s, end - sector, true, FOREVER)) < end)
        s = locate(d->model, sector);
}

/* When a write up to `end` is done, if it is written behind: when its data have
 * come, and all of the stream but a segment's worth is on the platters. */
static u64 behind_ns(const struct drive *d, const struct segment *s, u64 end,
                     u64 here_ns)
{
    const struct drive_model *m = d->model;
    if (end - s->first <= d->cache.segment_sectors)
        return here_ns;
    u32 slots = locate(m, end - 1).slots;
    return MAX(here_ns,
               d->arm_ns - angle_ns(m, d->cache.segment_sectors, slots));
}

/* Serve a write: if it goes on from the write before, the arm need not be free
 * yet. Its data are on the platters when it is done, or later (behind_ns). */
static u64 serve_write(struct drive *d, u64 now_ns, u64 sector, u64 end)
{
    const struct drive_model *m = d->model;
    bool hit = d->written != NONE && d->arm_ns > now_ns &&
               d->segment[d->written].end == sector;
    u64 ready_ns = now_ns + outside(d, (hit ? m->write_hit_ns
                                            : m->write_miss_ns)[d->after]);
    d->ahead = NONE;
    if (!hit) {
        ready_ns = MAX(ready_ns, d->arm_ns);
        if (d->written == NONE)
            d->written = oldest_segment(d);
        begin_segment(d, d->written, sector);
    }
    u64 here_ns = ready_ns + (end - sector) * outside(d, d->bus_ns);
    write_out(d, sector, end, ready_ns);
    d->durable_ns = d->arm_ns;
    forget(d, sector, end);
    struct segment *s = &d->segment[d->written];
    u64 done_ns = m->write_behind ? behind_ns(d, s, end, here_ns)
                                  : d->arm_ns + outside(d, m->reselect_ns);
    extend(d, s, end);
    s->used = d->commands;
    return done_ns + outside(d, m->done_ns[AFTER_WRITE]);
}

struct drive_cache drive_cache_in(const struct drive_model *m, u32 segments)
{
    u32 sectors = m->segments * m->segment_sectors / segments;
    u64 ahead = (u64)m->read_ahead_sectors * sectors / m->segment_sectors;
    return (struct drive_cache){segments, sectors, ahead};
}

const char *drive_set_ahead(struct drive *d, const char *how, bool adapts)
{
    const struct zone *z = d->model->zones;
    if (!same(how, "track"))
        return "must be track";
    if (!z)
        return "the model has no platters";
    if (adapts || d->ahead_if_sequential)
        return "not with segments that adapt or ahead_if_sequential";
    while (z->sectors && z->sectors <= d->cache.segment_sectors)
        z++;
    if (z->sectors)
        return "a segment of its cache is smaller than a track";
    d->whole_tracks = true;
    return NULL;
}

void drive_set_cache(struct drive *d, u64 now_ns, const struct drive_cache *c)
{
    u64 begin_ns = MAX(now_ns, d->free_ns);
    catch_up(d, begin_ns);
    for (u32 i = 0; i < MAX_SEGMENTS; i++)
        d->segment[i] = (struct segment){0};
    d->cache = *c;
    d->ahead = d->written = NONE;
    d->free_ns = begin_ns + d->model->read_miss_ns[d->after];
}

u64 drive_seek_edge(struct drive *d, u64 now_ns, bool last)
{
    const struct drive_model *m = d->model;
    if (!m->zones)
        return 0;
    u64 begin_ns = MAX(now_ns, d->free_ns);
    catch_up(d, begin_ns);
    struct spot edge = locate(m, last ? drive_room(m) - 1 : 0);
    edge.head = d->head;
    d->arm_ns = MAX(d->arm_ns, begin_ns) + travel_ns(d, &edge, false);
    d->cyl = edge.cyl;
    d->ahead = NONE;
    d->free_ns = d->arm_ns;
    return d->free_ns;
}

u64 drive_flush(struct drive *d, u64 now_ns)
{
    u64 ready_ns = MAX(now_ns, d->free_ns) + d->model->write_hit_ns[d->after];
    d->free_ns = MAX(ready_ns, d->durable_ns);
    return d->free_ns;
}

void drive_catch_up(struct drive *d, u64 now_ns)
{
    catch_up(d, MAX(now_ns, d->free_ns));
}

/* Return when the arm would be at a command's first sector, and when that would
 * come; both are now for what the cache holds. */
struct approach drive_approach(const struct drive *d, u64 now_ns, u64 sector,
                               u32 nsectors, bool write)
{
    const struct drive_model *m = d->model;
    u64 ready_ns = MAX(now_ns, d->free_ns);
    u64 end = sector + nsectors;
    if (!write && d->whole_tracks)
        sector = first_elsewhere(d, sector, end);
    if (m->service_ns || sector == end ||
        (!write && !d->whole_tracks && segment_with(d, sector) != NONE))
        return (struct approach){ready_ns, ready_ns};
    ready_ns +=
        outside(d, (write ? m->write_miss_ns : m->read_miss_ns)[d->after]);
    struct spot s = locate(m, sector);
    u64 there_ns = write ? at_write_ns(d, &s, nsectors, ready_ns)
                         : MAX(d->arm_ns, ready_ns) + travel_ns(d, &s, false);
    return (struct approach){there_ns, there_ns + wait_ns(m, &s, there_ns)};
}

/* The next of the drive's random numbers: splitmix64 (Steele, Lea, Flood 2014).
 */
static u64 draw(struct drive *d)
{
    u64 z = d->random += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* A time drawn from the exponential distribution, by von Neumann's method,
 * which needs no logarithm: draw numbers while they fall. If their count is
 * odd, the first of them is the fraction; otherwise add a whole mean and begin
 * anew. */
static u64 exponential_ns(struct drive *d, u64 mean_ns)
{
    for (u64 whole_ns = 0;; whole_ns += mean_ns) {
        u64 first = draw(d), last = first, next;
        bool odd = true;
        for (; (next = draw(d)) < last; last = next)
            odd = !odd;
        if (odd)
            return whole_ns + (first >> 32) * mean_ns / (1ull << 32);
    }
}

/* Serve a command. Returns when it is done. */
static u64 serve(struct drive *d, u64 now_ns, u64 sector, u32 nsectors,
                 bool write)
{
    u64 begin_ns = MAX(now_ns, d->free_ns), end = sector + nsectors;
    d->commands++;
    if (d->model->service_ns) {
        u64 mean_ns = d->model->service_ns;
        return d->free_ns = begin_ns + (d->model->service_varies
                                            ? exponential_ns(d, mean_ns)
                                            : mean_ns);
    }
    catch_up(d, begin_ns);
    d->free_ns = write             ? serve_write(d, begin_ns, sector, end)
                 : d->whole_tracks ? serve_by_tracks(d, begin_ns, sector, end)
                                   : serve_read(d, begin_ns, sector, end);
    d->after = write ? AFTER_WRITE : AFTER_READ;
    return d->free_ns;
}

const char *drive_wrong(const struct drive_model *m)
{
    if (m->modelled && !m->depth)
        return "depth: want 1 or more";
    if (m->segments > MAX_SEGMENTS)
        return "segments: want 16 at most";
    if (m->rpm && (!m->heads || !m->zones || drive_room(m) < m->sectors))
        return "heads, zones: want room for its sectors";
    return m->flash ? flash_wrong(m->flash) : NULL;
}

void drive_start(struct drive *d, const struct drive_model *model)
{
    *d = (struct drive){
        .model = model,
        .cache = {model->segments, model->segment_sectors,
                  model->read_ahead_sectors},
        .bus_ns = model->bus_ns,
        .ahead_if_sequential = model->ahead_if_sequential,
        .whole_tracks = model->ahead == AHEAD_TRACK,
        .service = model->flash ? flash_service : serve,
        .ahead = NONE,
        .written = NONE,
    };
}

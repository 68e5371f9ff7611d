/* A drive, one sector at a time (drive_slow.h). */
#include "tests/drives/drive_slow.h"
#include "tests/support/native/test.h"

/* Where each sector lies. */
static struct place {
    u32 cyl, head, slot, slots;
} places[SLOW_SECTORS];
static u64 nslots;

/* Return how long the sector takes to pass under the head. */
static u64 slot_ns(const struct slow_drive *d, u64 sector)
{
    return 60000000000ul / d->model->rpm / places[sector].slots;
}

/* True if the sector of this number, in its zone, is skipped. */
static bool is_slip(const struct zone_gaps *g, u32 number)
{
    for (const u32 *slip = g->slips; slip && *slip; slip++) {
        if (*slip == number)
            return true;
    }
    return false;
}

/* A zone, track by track; its last tracks of each group end in spares. Then
 * sectors at its end are taken away again. */
static void lay_out(const struct drive_model *m, const struct zone *z,
                    const struct zone_gaps *g)
{
    u32 tracks = (z->last_cyl - z->first_cyl + 1) * m->heads;
    u32 skew = g->first_slot, number = 0;
    for (u32 t = 0; t < tracks; t++) {
        u32 n = z->sectors, head = t % m->heads;
        bool ends =
            m->spares && ((t + 1) % m->spare_tracks == 0 || t + 1 == tracks);
        if (t)
            skew += head ? z->track_skew : z->cyl_skew;
        for (u32 i = 0; i < n - (ends ? m->spares : 0); i++, number++) {
            check(nslots < SLOW_SECTORS);
            if (number >= g->front && !is_slip(g, number))
                places[nslots++] = (struct place){z->first_cyl + t / m->heads,
                                                  head, (i + skew) % n, n};
        }
    }
    nslots -= g->back;
}

/* Lay out the drive's sectors and empty its cache. Returns how many sectors
 * there are. */
u64 slow_start(struct slow_drive *d, const struct drive_model *m)
{
    static const struct zone_gaps none;
    nslots = 0;
    for (u32 i = 0; m->zones[i].sectors; i++)
        lay_out(m, &m->zones[i], m->gaps ? &m->gaps[i] : &none);
    *d = (struct slow_drive){
        .model = m,
        .cache = {m->segments, m->segment_sectors, m->read_ahead_sectors},
        .ahead = -1,
        .written = -1,
    };
    return nslots;
}

/* Return how long the arm takes to the sector's track: the longer one of seek
 * and head switch. A write settles, too, for a time that may be negative. */
static u64 travel_ns(const struct slow_drive *d, u64 sector, bool write)
{
    const struct place *to = &places[sector];
    u64 ns = drive_seek_ns(d->model, abs((int)to->cyl - (int)d->cyl));
    if (to->head != d->head && ns < d->model->head_switch_ns)
        ns = d->model->head_switch_ns;
    if (!ns || !write)
        return ns;
    i64 settle_ns = d->model->write_settle_ns;
    return settle_ns < 0 && (u64)-settle_ns > ns ? 0 : ns + settle_ns;
}

/* When the sector begins to pass, if the arm is there then. */
static u64 next_pass_ns(const struct slow_drive *d, u64 sector, u64 there_ns)
{
    u64 rotation_ns = 60000000000ul / d->model->rpm;
    u64 ns = there_ns / rotation_ns * rotation_ns +
             places[sector].slot * slot_ns(d, sector);
    return ns >= there_ns ? ns : ns + rotation_ns;
}

/* Let the sector pass under the head. False: that would end after until_ns, and
 * nothing is changed. */
static bool pass(struct slow_drive *d, u64 sector, bool write, u64 until_ns)
{
    u64 there_ns = d->arm_ns + travel_ns(d, sector, write);
    u64 end_ns = next_pass_ns(d, sector, there_ns) + slot_ns(d, sector);
    if (end_ns > until_ns)
        return false;
    d->arm_ns = end_ns;
    d->cyl = places[sector].cyl;
    d->head = places[sector].head;
    return true;
}

/* Add the next sector to a segment, which drops its first one if it is full. */
static void extend(struct slow_drive *d, struct segment *s)
{
    s->end++;
    if (s->end - s->first > d->cache.segment_sectors)
        s->first++;
}

/* True if segment i holds the sector. One that was filled by a turn over a
 * track may hold any of its sectors, others hold a range. */
bool slow_holds(const struct slow_drive *d, u32 i, u64 sector)
{
    const struct segment *s = &d->segment[i];
    return d->turn[i] ? d->held[i][sector]
                      : s->first <= sector && sector < s->end;
}

static bool same_track(u64 a, u64 b)
{
    return places[a].cyl == places[b].cyl && places[a].head == places[b].head;
}

/* In a turn over a track: of the sectors that have not come yet, the one that
 * comes next. -1: all sectors have come. */
static i64 next_in_turn(const struct slow_drive *d)
{
    i64 next = -1;
    u64 next_ns = UINT64_MAX;
    for (u64 k = 0; k < d->model->sectors; k++) {
        if (!same_track(k, d->turn_sector) || d->held[d->ahead][k])
            continue;
        u64 there_ns = d->arm_ns + travel_ns(d, k, false);
        if (next_pass_ns(d, k, there_ns) < next_ns) {
            next = k;
            next_ns = next_pass_ns(d, k, there_ns);
        }
    }
    return next;
}

/* Let the next sector of the turn pass. Returns the sector, or -1 if it would
 * come after until_ns. */
static i64 turn(struct slow_drive *d, u64 until_ns)
{
    i64 k = next_in_turn(d);
    if (!pass(d, k, false, until_ns))
        return -1;
    d->held[d->ahead][k] = true;
    if (next_in_turn(d) < 0)
        d->ahead = -1;
    return k;
}

/* Read ahead until now_ns, or until all that is to be read ahead is there. */
static void read_ahead(struct slow_drive *d, u64 now_ns)
{
    if (d->model->ahead == AHEAD_TRACK) {
        while (d->ahead >= 0 && turn(d, now_ns) >= 0)
            ;
        return;
    }
    while (d->ahead >= 0) {
        struct segment *s = &d->segment[d->ahead];
        const struct place *p = &places[s->end];
        if (d->model->ahead == AHEAD_IN_TRACK &&
            (p->cyl != d->cyl || p->head != d->head)) {
            d->ahead_end = s->end;
            d->ahead = -1;
            return;
        }
        if (!pass(d, s->end, false, now_ns))
            return;
        extend(d, s);
        if (s->end == d->ahead_end)
            d->ahead = -1;
    }
}

/* Return the segment that was used longest ago. */
static i32 oldest(const struct slow_drive *d)
{
    i32 best = 0;
    for (u32 i = 0; i < d->cache.segments; i++)
        if (d->segment[i].used < d->segment[best].used)
            best = i;
    return best;
}

/* Empty a segment, which is to hold what begins at this sector. */
static void empty(struct slow_drive *d, i32 i, u64 sector)
{
    d->segment[i].first = d->segment[i].end = sector;
    memset(d->held[i], false, sizeof d->held[i]);
    d->turn[i] = false;
    if (d->ahead == i)
        d->ahead = -1;
}

/* Return the segment that holds most of what begins at this sector, or ends
 * there; -1: none. */
static i32 segment_with(const struct slow_drive *d, u64 sector)
{
    i32 best = -1;
    for (u32 i = 0; i < d->cache.segments; i++) {
        const struct segment *s = &d->segment[i];
        bool has = s->first != s->end && s->first <= sector && sector <= s->end;
        if (has && (best < 0 || s->end > d->segment[best].end))
            best = i;
    }
    return best;
}

/* Return when the last of n sectors has crossed the bus. here_ns: when each of
 * them is in the cache. The bus begins when read_mark_percent are there. */
static u64 send(const struct slow_drive *d, const u64 *here_ns, u32 n,
                u64 ready_ns)
{
    const struct drive_model *m = d->model;
    u64 mark = 1, ns = ready_ns;
    while (100 * mark < m->read_mark_percent * n)
        mark++;
    u64 marked_ns = 0;
    for (u32 i = 0; i < mark; i++)
        marked_ns = MAX(marked_ns, here_ns[i]);
    if (marked_ns)
        ns = MAX(ns, marked_ns) + m->reselect_ns;
    for (u32 i = 0; i < n; i++)
        ns = MAX(ns, here_ns[i]) + m->bus_ns;
    return ns;
}

/* How far the arm reads ahead of a read up to `end`. */
static u64 ahead_to(const struct slow_drive *d, const struct segment *s,
                    u64 end, bool sequential)
{
    const struct drive_model *m = d->model;
    u64 to = end;
    while (to < end + d->cache.read_ahead_sectors && to < m->sectors) {
        if (m->ahead_if_sequential && !sequential)
            break;
        if (m->ahead == AHEAD_IN_SEGMENT &&
            to - s->first >= d->cache.segment_sectors)
            break;
        to++;
    }
    return to;
}

/* How far segment i holds all from this sector on. */
static u64 held_to(const struct slow_drive *d, u32 i, u64 sector)
{
    while (sector < d->model->sectors && slow_holds(d, i, sector))
        sector++;
    return sector;
}

/* True if the sector is on the track over which a turn goes. */
static bool in_turn(const struct slow_drive *d, u64 sector)
{
    return d->ahead >= 0 && same_track(sector, d->turn_sector);
}

/* True if the cache holds the sector, or the turn will bring it. */
static bool at_hand(const struct slow_drive *d, u64 sector)
{
    bool held = in_turn(d, sector);
    for (u32 i = 0; i < d->cache.segments; i++)
        held |= slow_holds(d, i, sector);
    return held;
}

/* Return the segment that serves a read from this sector on; *to: the end of
 * what it serves. It is the segment that holds the most from there on, or else
 * the segment of the turn, which this begins if necessary. */
static i32 segment_for(struct slow_drive *d, u64 sector, u64 ready_ns, u64 *to)
{
    i32 best = -1;
    *to = sector;
    for (u32 i = 0; i < d->cache.segments; i++) {
        if (held_to(d, i, sector) > *to) {
            best = i;
            *to = held_to(d, i, sector);
        }
    }
    if (best >= 0)
        return best;
    while (*to < d->model->sectors && same_track(*to, sector))
        ++*to;
    if (!in_turn(d, sector)) {
        i32 i = oldest(d);
        empty(d, i, sector);
        d->arm_ns = MAX(d->arm_ns, ready_ns);
        d->turn[i] = true;
        d->turn_sector = sector;
        d->turns++;
        d->ahead = i;
        if (d->written == i)
            d->written = -1;
    }
    return d->ahead;
}

/* Serve a read on a drive that reads whole tracks. Returns when the last
 * sector has crossed the bus. here_ns: when each sector came; 0: it was in
 * the cache. */
static u64 serve_by_tracks(struct slow_drive *d, u64 now_ns, u64 sector,
                           u64 end)
{
    const struct drive_model *m = d->model;
    u64 here_ns[SLOW_SECTORS] = {0}, to = sector, from = sector;
    bool hit = true;
    i32 i = -1;
    for (u64 k = sector; k < end; k++)
        hit &= at_hand(d, k);
    u64 ready_ns = now_ns + (hit ? m->read_hit_ns : m->read_miss_ns)[d->wrote];
    for (u64 k = sector; k < end; k++) {
        if (k == to) {
            from = k;
            i = segment_for(d, k, ready_ns, &to);
            d->segment[i].used = d->commands;
        }
        while (!slow_holds(d, i, k)) {
            u64 came = turn(d, UINT64_MAX);
            if (came >= from && came < MIN(to, end))
                here_ns[came - sector] = d->arm_ns;
        }
    }
    return send(d, here_ns, end - sector, ready_ns) + m->done_ns[AFTER_READ];
}

/* Serve a read on a drive that reads sectors in order, and note what to read
 * ahead. Returns when the last sector has crossed the bus. */
static u64 serve_read(struct slow_drive *d, u64 now_ns, u64 sector, u64 end)
{
    const struct drive_model *m = d->model;
    i32 i = segment_with(d, sector);
    bool joins = i >= 0 && i == d->ahead, from_platter = false;
    bool hit = joins || (i >= 0 && end <= d->segment[i].end);
    u64 ready_ns = now_ns + (hit ? m->read_hit_ns : m->read_miss_ns)[d->wrote];
    u64 here_ns[SLOW_SECTORS] = {0}; /* 0: it was in the cache */
    bool sequential = i >= 0;
    if (i < 0)
        empty(d, i = oldest(d), sector);
    struct segment *s = &d->segment[i];
    for (u64 k = sector; k < end; k++) {
        if (k >= s->end) {
            if (!from_platter && !joins && d->arm_ns < now_ns)
                d->arm_ns = now_ns;
            if (!from_platter && !joins)
                d->arm_ns = MAX(d->arm_ns, now_ns + m->read_miss_ns[d->wrote]);
            from_platter = true;
            pass(d, k, false, UINT64_MAX);
            extend(d, s);
            here_ns[k - sector] = d->arm_ns;
        }
    }
    u64 done_ns =
        send(d, here_ns, end - sector, ready_ns) + m->done_ns[AFTER_READ];
    s->used = d->commands;
    if (!from_platter && !joins)
        return done_ns;
    u64 to = ahead_to(d, s, end, sequential);
    if (d->ahead == i)
        to = MAX(to, d->ahead_end);
    d->ahead = to > s->end ? i : -1;
    d->ahead_end = to;
    if (d->written == i)
        d->written = -1;
    return done_ns;
}

/* When the arm is at the track and no sector will come before its data. */
static u64 write_begins_ns(const struct slow_drive *d, u64 sector, u64 end,
                           u64 ready_ns)
{
    u64 ns = MAX(d->arm_ns, ready_ns) + travel_ns(d, sector, true);
    for (u64 k = 0; k < end - sector; k++) {
        u64 here_ns = ready_ns + (k + 1) * d->model->bus_ns;
        u64 late_ns = k * slot_ns(d, sector);
        ns = MAX(ns, here_ns - MIN(here_ns, late_ns));
    }
    return ns;
}

/* Empty each segment that holds one of the sectors that were written. */
static void drop_overwritten(struct slow_drive *d, u64 sector, u64 end)
{
    for (u32 i = 0; i < d->cache.segments; i++)
        for (u64 k = sector; k < end; k++)
            if (slow_holds(d, i, k)) {
                d->segment[i].first = d->segment[i].end;
                d->turn[i] = false;
            }
}

/* Serve a write. Returns when the command is done: when the data are on the
 * platter, or, with write_behind, when what is left fits in the segment. */
static u64 serve_write(struct slow_drive *d, u64 now_ns, u64 sector, u64 end)
{
    const struct drive_model *m = d->model;
    bool hit = d->written >= 0 && d->arm_ns > now_ns &&
               d->segment[d->written].end == sector;
    u64 ready_ns =
        now_ns + (hit ? m->write_hit_ns : m->write_miss_ns)[d->wrote];
    d->ahead = -1;
    if (!hit) {
        ready_ns = MAX(ready_ns, d->arm_ns);
        if (d->written < 0)
            d->written = oldest(d);
        empty(d, d->written, sector);
    }
    d->arm_ns = write_begins_ns(d, sector, end, ready_ns);
    d->cyl = places[sector].cyl;
    d->head = places[sector].head;
    for (u64 k = sector; k < end; k++)
        pass(d, k, true, UINT64_MAX);
    drop_overwritten(d, sector, end);
    struct segment *s = &d->segment[d->written];
    u64 here_ns = ready_ns + (end - sector) * m->bus_ns;
    u64 done_ns = d->arm_ns + m->reselect_ns;
    if (m->write_behind) {
        u64 room_ns = d->cache.segment_sectors * slot_ns(d, end - 1);
        bool fits = end - s->first <= d->cache.segment_sectors;
        done_ns = fits ? here_ns : MAX(here_ns, d->arm_ns - room_ns);
    }
    for (u64 k = s->end; k < end; k++)
        extend(d, s);
    s->used = d->commands;
    return done_ns + m->done_ns[AFTER_WRITE];
}

u64 slow_service(struct slow_drive *d, u64 now_ns, u64 sector, u32 n,
                 bool write)
{
    u64 begin_ns = MAX(now_ns, d->free_ns);
    d->commands++;
    read_ahead(d, begin_ns);
    bool by_tracks = d->model->ahead == AHEAD_TRACK;
    d->free_ns = write       ? serve_write(d, begin_ns, sector, sector + n)
                 : by_tracks ? serve_by_tracks(d, begin_ns, sector, sector + n)
                             : serve_read(d, begin_ns, sector, sector + n);
    d->wrote = write;
    return d->free_ns;
}

void slow_catch_up(struct slow_drive *d, u64 now_ns)
{
    read_ahead(d, MAX(now_ns, d->free_ns));
}

void slow_divide(struct slow_drive *d, u64 now_ns, const struct drive_cache *c)
{
    u64 begin_ns = MAX(now_ns, d->free_ns);
    read_ahead(d, begin_ns);
    memset(d->segment, 0, sizeof d->segment);
    memset(d->turn, false, sizeof d->turn);
    d->cache = *c;
    d->ahead = d->written = -1;
    d->free_ns = begin_ns + d->model->read_miss_ns[d->wrote];
}

u64 slow_seek_edge(struct slow_drive *d, u64 now_ns, bool last)
{
    u64 begin_ns = MAX(now_ns, d->free_ns);
    read_ahead(d, begin_ns);
    u32 cyl = places[last ? nslots - 1 : 0].cyl;
    d->arm_ns = MAX(d->arm_ns, begin_ns) +
                drive_seek_ns(d->model, abs((int)cyl - (int)d->cyl));
    d->cyl = cyl;
    d->ahead = -1;
    return d->free_ns = d->arm_ns;
}

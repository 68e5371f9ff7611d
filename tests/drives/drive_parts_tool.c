/*
 * What a drive did for each command: replays commands on its model, and prints
 * where the time of each went.
 *
 *   drive_parts_tool DRIVE [NAME=VALUE]...
 *
 * NAME: a boot argument of the kernel: drive_segments, drive_bus_kb_s,
 * drive_ahead_if_sequential, drive_seed (with the disk's number added), or
 * drive_ahead; or sectors, of the disk, which a flash drive must be told.
 *
 * Standard input has a line for each command, in the order in which the drive
 * took them up:
 *
 *   FIRST_NS LAST_NS R|W|r|w SECTOR SECTORS END_NS
 *
 * It was there at FIRST_NS, and the drive took it up then, or else when it was
 * done with the command before, by LAST_NS; the kernel said at END_NS that it
 * was done. Of the times at which it may have been taken up, the first is taken
 * with which the model is done by END_NS, not much earlier, and with which it
 * agrees on the next command, too, if the drive was idle when that came. A line
 * "TOLD_NS 0 S EDGE 0 0" moves the arm to the first cylinder (EDGE 0) or the
 * last (1).
 *
 * r and w are steps that the drive takes for a log of its own, inside
 * (drive.h). A step w begins when the command before it is done, whatever
 * FIRST_NS says.
 *
 * For each command, it prints
 *
 *   BEGIN_NS DONE_NS COMMAND BUSY SEEK ROTATION TRANSFER KIND FROM TO HEAD
 *
 * in ns: when the drive begins and is done, which differ by the sum of the next
 * five: its controller's overhead; the arm is busy with what came before; the
 * arm moves; the platter turns; the rest, in which the data move. KIND: miss,
 * hit (the drive's cache had it), ahead (the arm was reading it already),
 * write, behind (a write is done when its data are in the drive's cache), fixed
 * (a model without an arm), flash (chips; BUSY is how much longer it takes than
 * if nothing had been before). FROM and TO: the arm's cylinder before and
 * after, and the head. If the model is done later than END_NS at all times, its
 * row is that of the first time.
 *
 * link: drives
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drives/row.h"
#include "kernel/base/units.h"

#define NONE    MAX_SEGMENTS
#define TICK_NS 100   /* the kernel's clock */
#define TRIES   10000 /* of a reading of it */
/* So late the kernel may note that a command is done. */
#define LATE_NS 2000000

/* A line of the input. */
struct command {
    u64 first_ns, last_ns, sector, end_ns;
    u32 nsectors;
    bool write, inside;
};

/* A line of the output. The data's time is what the parts leave of done_ns. */
struct parts {
    u64 begin_ns, done_ns, command_ns, busy_ns, seek_ns, rotation_ns;
    const char *kind;
};

/* Let the drive take up the command, and return when it is done. */
static u64 service(struct drive *d, u64 now_ns, const struct command *c)
{
    d->inside = c->inside;
    u64 done_ns = drive_service(d, now_ns, c->sector, c->nsectors, c->write);
    d->inside = false;
    return done_ns;
}

/* Return the controller's time after a read or a write, whichever came last; 0
 * for what the drive does inside. */
static u64 controller_ns(const struct drive *d, const u32 ns[2])
{
    return d->inside ? 0 : ns[d->after];
}

/* Return the segment of the cache that holds most of what begins at this
 * sector, as in drive.c; NONE if there is none. */
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

/* Fill in how long the arm takes to a sector, from when the controller is
 * ready: until the arm is free, the seek, and the rotation. */
static void go_there(struct parts *p, const struct drive *d, u64 ready_ns,
                     u64 sector, u32 nsectors, bool write)
{
    const struct drive_model *m = d->model;
    struct drive empty = *d; /* a cache without this sector */
    if (!d->whole_tracks)
        memset(empty.segment, 0, sizeof empty.segment);
    empty.free_ns = 0;
    u64 overhead_ns =
        controller_ns(d, write ? m->write_miss_ns : m->read_miss_ns);
    struct approach a =
        drive_approach(&empty, ready_ns - overhead_ns, sector, nsectors, write);
    u64 free_ns = MAX(ready_ns, d->arm_ns);
    p->busy_ns = free_ns - ready_ns;
    p->seek_ns = a.there_ns - free_ns;
    p->rotation_ns = a.begin_ns - a.there_ns;
}

/* Fill in the parts of a read, on a drive that reads whole tracks. */
static void read_of_track(struct parts *p, const struct drive *d,
                          const struct command *c)
{
    struct approach a =
        drive_approach(d, p->begin_ns, c->sector, c->nsectors, false);
    bool elsewhere = a.begin_ns > p->begin_ns;
    struct drive after = *d;
    drive_service(&after, p->begin_ns, c->sector, c->nsectors, false);
    p->command_ns = controller_ns(d, elsewhere ? d->model->read_miss_ns
                                               : d->model->read_hit_ns);
    bool cached = after.arm_ns == d->arm_ns; /* the arm did not read on */
    p->kind = elsewhere ? "miss" : cached ? "hit" : "ahead";
    if (elsewhere)
        go_there(p, d, p->begin_ns + p->command_ns, c->sector, c->nsectors,
                 false);
}

/* Fill in the parts of a read: a hit if a segment holds all of it, `ahead` if
 * the arm reads on into that segment, else a miss, for which the arm goes to
 * the first sector that is missing. */
static void read_parts(struct parts *p, const struct drive *d,
                       const struct command *c)
{
    const struct drive_model *m = d->model;
    u64 end = c->sector + c->nsectors;
    u32 i = segment_with(d, c->sector);
    bool joins = i != NONE && i == d->ahead;
    bool cached = i != NONE && end <= d->segment[i].end;
    p->command_ns =
        controller_ns(d, joins || cached ? m->read_hit_ns : m->read_miss_ns);
    p->kind = cached ? "hit" : joins ? "ahead" : "miss";
    u64 here = i == NONE ? c->sector : d->segment[i].end;
    if (!joins && !cached)
        go_there(p, d, p->begin_ns + p->command_ns, here, end - here, false);
}

/* Fill in the parts of a write. It joins the last write if it goes on where
 * that ends while the arm is still at it. */
static void write_parts(struct parts *p, const struct drive *d,
                        const struct command *c)
{
    const struct drive_model *m = d->model;
    bool joins = d->written != NONE && d->arm_ns > p->begin_ns &&
                 d->segment[d->written].end == c->sector;
    p->command_ns =
        controller_ns(d, joins ? m->write_hit_ns : m->write_miss_ns);
    p->kind = m->write_behind ? "behind" : "write";
    u64 ready_ns = p->begin_ns + p->command_ns;
    if (!m->write_behind)
        go_there(p, d, ready_ns, c->sector, c->nsectors, true);
    else if (!joins)
        p->busy_ns = MAX(ready_ns, d->arm_ns) - ready_ns;
}

/* ---- flash ---- */

static struct drive idle; /* the same drive, with nothing to do */

/* Give the drive the memory of its chips, and make `idle` a copy with chips of
 * its own. */
static void start_flash(struct drive *d, u64 sectors)
{
    static u64 counts[3];
    struct drive *drives[] = {d, &idle};
    idle = *d;
    for (u32 i = 0; i < 2; i++) {
        void *memory = calloc(1, flash_bytes(d->model, sectors));
        if (!memory)
            exit(1);
        flash_start(drives[i], memory, sectors,
                    (u64 *[]){counts, counts + 1, counts + 2});
    }
}

/* Return how long the command would take on the idle drive. */
static u64 idle_ns(const struct drive *d, const struct command *c)
{
    struct drive copy = idle; /* so nothing stays of the command */
    copy.bus_ns = d->bus_ns;
    return drive_service(&copy, 0, c->sector, c->nsectors, c->write);
}

/* Let the drive take up a command at now_ns, and return where its time goes. */
static struct parts serve(struct drive *d, const struct command *c, u64 now_ns)
{
    struct parts p = {.begin_ns = MAX(now_ns, d->free_ns), .kind = "fixed"};
    struct drive seen = *d;
    seen.inside = c->inside;
    if (!d->model->service_ns) {
        drive_catch_up(&seen, p.begin_ns);
        if (c->write)
            write_parts(&p, &seen, c);
        else if (seen.whole_tracks)
            read_of_track(&p, &seen, c);
        else
            read_parts(&p, &seen, c);
    }
    p.done_ns = service(d, now_ns, c);
    if (d->model->flash) {
        u64 took_ns = p.done_ns - p.begin_ns, alone_ns = idle_ns(d, c);
        p.kind = "flash";
        p.command_ns = d->model->service_ns;
        p.busy_ns = took_ns - MIN(took_ns, alone_ns);
    }
    return p;
}

/* True if the model is done with a command that it takes up at now_ns before
 * the kernel notes the end, by less than LATE_NS. */
static bool agrees(const struct drive *d, const struct command *c, u64 now_ns)
{
    struct drive trial = *d;
    u64 done_ns = service(&trial, now_ns, c);
    return done_ns <= c->end_ns && c->end_ns - done_ns < LATE_NS;
}

/* Return when the drive took the command up, from from_ns on: when it came or,
 * if the drive was busy then, at the first reading of the clock with which the
 * model's end agrees. A step of the drive's own follows at once. NEVER_NS: no
 * time agrees. */
static u64 taken_up_ns(const struct drive *d, const struct command *c,
                       u64 from_ns)
{
    bool follows = c->inside && c->write, idle_then = c->first_ns >= d->free_ns;
    if (follows || idle_then) {
        u64 only_ns = follows ? d->free_ns : c->first_ns;
        bool fits = from_ns <= only_ns && agrees(d, c, only_ns);
        return fits ? only_ns : NEVER_NS;
    }
    u64 now_ns = (MAX(from_ns, d->free_ns) + TICK_NS - 1) / TICK_NS * TICK_NS;
    for (u32 i = 0; i < TRIES && now_ns <= c->last_ns; i++, now_ns += TICK_NS)
        if (agrees(d, c, now_ns))
            return now_ns;
    return NEVER_NS;
}

/* A command that the drive has taken up, whose row is not printed yet. */
struct served {
    bool any; /* else there is none */
    struct drive before;
    struct command command;
    u64 now_ns; /* when */
    struct parts parts;
};

/* Let the drive take up a command, and note the drive as it was before. */
static struct served take_up(struct drive *d, const struct command *c,
                             u64 now_ns)
{
    struct served s = {
        .any = true, .before = *d, .command = *c, .now_ns = now_ns};
    s.parts = serve(d, c, now_ns);
    return s;
}

/* No time fits command c, though the drive was idle when c came. So the drive
 * took up the command before, s, at another time: while a drive reads ahead, a
 * moment later one more sector may be in its cache. Take the first later time
 * with which the ends of both commands agree, if there is one. (On flash chips
 * so small a difference changes nothing.) */
static void reconsider(struct served *s, struct drive *d,
                       const struct command *c)
{
    if (!s->any || d->model->flash || c->first_ns < d->free_ns)
        return;
    u64 now_ns = s->now_ns;
    while ((now_ns = taken_up_ns(&s->before, &s->command, now_ns + TICK_NS)) !=
           NEVER_NS) {
        struct drive trial = s->before;
        struct served other = take_up(&trial, &s->command, now_ns);
        if (taken_up_ns(&trial, c, 0) != NEVER_NS) {
            *s = other;
            *d = trial;
            return;
        }
    }
}

/* Print the row of the command served last. d: the drive after the command. */
static void print(const struct drive *d, const struct served *s)
{
    const struct parts *p = &s->parts;
    if (!s->any)
        return;
    u64 rest_ns = p->done_ns - p->begin_ns - p->command_ns - p->busy_ns -
                  p->seek_ns - p->rotation_ns;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           " %" PRIu64 " %" PRIu64 " %s %u %u %u\n",
           p->begin_ns, p->done_ns, p->command_ns, p->busy_ns, p->seek_ns,
           p->rotation_ns, rest_ns, p->kind, s->before.cyl, d->cyl, d->head);
}

/* Set what an argument "NAME=VALUE" says, of those that the head lists. */
static void set(struct drive *d, const char *word)
{
    char *value = strchr(word, '=');
    u64 n = value ? strtoull(value + 1, NULL, 10) : 0;
    size_t length = value ? value - word : 0;
    if (!strncmp(word, "drive_segments", length) && length == 14) {
        if (n && n <= MAX_SEGMENTS)
            d->cache = drive_cache_in(d->model, n);
    } else if (!strncmp(word, "drive_bus_kb_s", length) && length == 14) {
        d->bus_ns = n ? 512 * 1000000ull / n : d->bus_ns;
    } else if (!strncmp(word, "drive_ahead_if_sequential", length) &&
               length == 25) {
        d->ahead_if_sequential = n;
    } else if (!strncmp(word, "drive_seed", length) && length == 10) {
        if (d->model->service_varies)
            d->random = n;
    } else if (!strncmp(word, "drive_ahead", length) && length == 11) {
        drive_set_ahead(d, value + 1, false);
    } else if (!strncmp(word, "sectors", length) && length == 7) {
        if (d->model->flash && n)
            start_flash(d, n);
    } else {
        fprintf(stderr, "drive_parts_tool: %s: no such argument\n", word);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    const struct drive_model *model = argc > 1 ? drive_find(argv[1]) : NULL;
    if (!model || !model->modelled) {
        fprintf(stderr, "usage: drive_parts_tool DRIVE [NAME=NUMBER]... (a "
                        "drive with a model)\n");
        return 2;
    }
    const char *wrong = drive_wrong(model);
    if (wrong) {
        fprintf(stderr, "drive_parts_tool: %s: its row is wrong: %s\n", argv[1],
                wrong);
        return 1;
    }
    static struct drive drive;
    drive_start(&drive, model);
    for (int i = 2; i < argc; i++)
        set(&drive, argv[i]);
    if (model->flash && !idle.model) {
        fprintf(stderr, "drive_parts_tool: %s: sectors= is missing\n", argv[1]);
        return 2;
    }
    static struct served last;
    struct command c;
    char way;
    int words;
    while ((words = scanf("%" SCNu64 " %" SCNu64 " %c %" SCNu64 " %" SCNu32
                          " %" SCNu64,
                          &c.first_ns, &c.last_ns, &way, &c.sector, &c.nsectors,
                          &c.end_ns)) == 6) {
        c.write = way == 'W' || way == 'w'; /* S moves the arm only */
        c.inside = way == 'w' || way == 'r';
        u64 now_ns = way == 'S' ? 0 : taken_up_ns(&drive, &c, 0);
        if (now_ns == NEVER_NS)
            reconsider(&last, &drive, &c);
        print(&drive, &last);
        last.any = false;
        if (way == 'S')
            drive_seek_edge(&drive, c.first_ns, c.sector);
        else
            last =
                take_up(&drive, &c, now_ns == NEVER_NS ? c.first_ns : now_ns);
    }
    print(&drive, &last);
    return words == EOF ? 0 : 1;
}

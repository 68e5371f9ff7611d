/*
 * place: each answer lies on the disk, and with a virtual log it is a free
 * place. The questions change nothing. What is to be emptied are whole places
 * that hold something, and not too many. A small disk, any of whose places are
 * free, and PROOF_STEPS requests.
 */
#include "tools/prove/harness/disk.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

enum { PLACE_SECTORS = 8, PLACES = 6 };

static struct queue *const q = &disk_queue;
static bool full[PLACES];

u64 queue_free_from(const struct queue *queue, u64 from, u64 end)
{
    for (u64 i = 0; i < PLACES && queue->logged; i++)
        if (i * PLACE_SECTORS >= from && i * PLACE_SECTORS < end && !full[i])
            return i * PLACE_SECTORS;
    return NO_SECTOR;
}

u64 queue_used(const struct queue *queue, u64 from, u64 end)
{
    u64 n = 0;
    for (u64 i = 1; i < PLACES && queue->logged;
         i++) /* place 0: the head of the log */
        n += i * PLACE_SECTORS >= from && i * PLACE_SECTORS < end && full[i];
    return n;
}

struct approach queue_arrival(const struct queue *queue, u64 start_ns,
                              u64 sector, u32 nsectors)
{
    CLAIM(sector < queue->nsectors,
          "an arrival is asked about that is on the disk");
    return model_any_approach(start_ns);
}

/* Have the policy place any request, and check the place: on the disk and, on a
 * virtual log, a whole free place. */
static void try_choose(void)
{
    struct request *r = &model_a;
    *r = (struct request){.nsectors = any_bool() ? PLACE_SECTORS : 1,
                          .write = any_bool(),
                          .moved = any_bool()};
    r->sector = any_below(PLACES) * PLACE_SECTORS;
    if (q->logged &&
        (!r->write || queue_free_from(q, 0, NO_SECTOR) == NO_SECTOR))
        return;
    u64 at =
        subject->place.place ? subject->place.place(q, r, time_ns) : r->sector;
    TELL("place {} sectors from {} on, moved {}: at {}", r->nsectors, r->sector,
         r->moved, at);
    CLAIM(at <= q->nsectors - r->nsectors, "the place lies on the disk");
    CLAIM(!q->logged || at % PLACE_SECTORS == 0, "the place is a whole one");
    for (u64 i = 0; i < PLACES && q->logged; i++)
        CLAIM(at != i * PLACE_SECTORS || !full[i], "the place is free");
    REACHED(true, "a request is placed");
    r->physical = at;
    if (subject->place.placed)
        subject->place.placed(q, r);
    for (u64 i = 0; i < PLACES; i++)
        full[i] |= q->logged && at == i * PLACE_SECTORS;
    q->head_sector = MIN(at + r->nsectors, q->nsectors - 1);
}

/* Ask the policy which places to empty, and check the answer. Some of them then
 * are free. */
static void try_clean(void)
{
    struct clean what = {.again_ns = NEVER_NS};
    subject->place.clean(q, time_ns, any_bool(), &what);
    TELL("clean from {} to {}", what.first, what.end);
    if (what.first == what.end) {
        CLAIM(what.again_ns > time_ns,
              "what is asked about again is asked about later");
        return;
    }
    CLAIM(what.first % PLACE_SECTORS == 0 && what.end % PLACE_SECTORS == 0,
          "what is emptied are whole places");
    CLAIM(what.first < what.end && what.end <= q->nsectors &&
              what.end - what.first <= CLEAN_SECTORS,
          "what is emptied lies on the disk and is not too much");
    CLAIM(queue_used(q, what.first, what.end),
          "what is emptied holds something");
    for (u64 i = 1; i < PLACES; i++)
        if (i * PLACE_SECTORS >= what.first && i * PLACE_SECTORS < what.end &&
            any_bool())
            full[i] = false;
}

/* PROOF_STEPS steps on a disk whose kind of tracks is fixed: CBMC follows a
 * division by a constant well, and by a variable badly. */
static void try_run(struct tracks tracks)
{
    q->turn_ns = tracks.cyls ? TURN_NS : 0;
    q->tracks = tracks;
    begin(subject, NULL, 0, 0);
    for (u64 step = 0; step < PROOF_STEPS; step++) {
        time_ns += any_below(NS_PER_S);
        if (q->logged && subject->place.clean && any_bool())
            try_clean();
        else
            try_choose();
        if (subject->place.check)
            CLAIM(!subject->place.check(q),
                  "the policy's own check finds nothing");
    }
    REACHED(true, "the end");
}

int main(void)
{
    disk_begin(PLACES * PLACE_SECTORS);
    q->logged = subject->place.place && any_bool();
    full[0] = true;
    for (u64 i = 1; i < PLACES; i++)
        full[i] = any_bool();
    if (any_bool())
        try_run((struct tracks){0});
    else if (any_bool())
        try_run((struct tracks){12, 2, 2});
    else
        try_run((struct tracks){16, 1, 3});
}

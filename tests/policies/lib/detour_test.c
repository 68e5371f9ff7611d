/*
 * Detours (policies/lib/detour.c) held against a model that judges every write.
 *
 * A detour is a write that goes before the request `wanted`, while the platter
 * brings the sector of `wanted`. The search for it takes time itself: the clock
 * goes on with each look. `struct lateness` has what such a search and dispatch
 * took lately, and by that the next search ends earlier.
 *
 * link: tests/support/native/test.c tests/support/native/toy_drive.c
 */
#include "tests/support/native/toy_drive.h"
#include "kernel/disk/queue.h"
#include "policies/lib/detour.h"

#define WRITES_MOST 12
#define SECTORS     1000
#define RUNS        20000
#define FADES       8192 /* as policies/lib/detour.c has it */

static struct queue queue;
static struct request writes[WRITES_MOST], wanted;

/* ---- the drive ---- */

static u64 asked; /* how often: what if a write went first? */

/* The toy drive, which counts such questions. */
static struct approach drive(const struct queue *q, u64 start_ns,
                             const struct request *first, u64 gap_ns,
                             const struct request *r)
{
    asked += first != NULL;
    return toy_drive(q, start_ns, first, gap_ns, r);
}

/* ---- the model ---- */

static u64 model_asks; /* what `asked` must be */

static u64 model_clock_ns;

/* Look at the model's clock, which moves it on. */
static u64 model_clock(void)
{
    return model_clock_ns += clock_look_ns;
}

/* Keep the longest time so far, with a quarter added. */
static void measure(u64 *longest_ns, u64 from_ns, u64 until_ns)
{
    u64 ns = until_ns > from_ns ? until_ns - from_ns : 0;
    if (ns + ns / 4 > *longest_ns)
        *longest_ns = ns + ns / 4;
}

/* Return a number that orders requests by their distance from a sector. Of two
 * at the same distance the one above comes first, so the number is even above
 * and odd below. */
static u64 distance(const struct request *r, u64 near)
{
    if (r->sector >= near)
        return 2 * (r->sector - near);
    return 2 * (near - r->sector) + 1;
}

/* True if the request is queued and of a kind that may go first. */
static bool is_looked_for(const struct request *r, const struct detour *d)
{
    return r->queue && (d->dir & (r->candidate ? CANDIDATES : WRITES));
}

/* Return the nearest write that is farther away than `last`, or NULL. */
static struct request *next_nearest(const struct request *last,
                                    const struct detour *d)
{
    struct request *best = NULL;
    for (struct request *r = writes; r < writes + WRITES_MOST; r++) {
        u64 far = distance(r, d->near_sector);
        if (is_looked_for(r, d) &&
            (!last || far > distance(last, d->near_sector)) &&
            (!best || far < distance(best, d->near_sector)))
            best = r;
    }
    return best;
}

/* Update what searches and dispatches take, from what became of the last
 * search. Both fade with each search. */
static void model_begins(struct lateness *late)
{
    bool next = queue.commands - late->commands == 1;
    if (next && late->goes && late->goes == queue.last) {
        measure(&late->go_ns, late->looked_ns, queue.last_ns);
        late->goes = NULL;
    }
    late->go_ns -= late->go_ns / FADES;
    late->ask_ns -= late->ask_ns / FADES;
    if (late->waits == &wanted && queue.done_ns > late->looked_ns)
        measure(&late->ask_ns, queue.done_ns, model_clock());
    late->waits = NULL;
    if (late->goes != &wanted)
        late->goes = NULL;
}

/* When the request would begin without a write; when one would go; after its
 * end, when the request would. The best write so far: when it would begin, and
 * then the request. */
static struct {
    u64 alone_ns, start_ns, gap_ns;
    struct request *write;
    u64 begin_ns, after_ns;
} best;

/* Keep the write if with it `wanted` is not too late, and it is better than the
 * best so far: `wanted` begins earlier, or at the same time and the write
 * earlier. */
static void model_judge(struct request *r, const struct detour *d)
{
    u64 late_ns = d->most_late_ns(r, d->late_ns);
    u64 latest_ns = best.alone_ns + late_ns;
    u64 begin_ns = toy_drive(&queue, best.start_ns, NULL, 0, r).begin_ns;
    u64 after_ns =
        toy_drive(&queue, best.start_ns, r, best.gap_ns, &wanted).begin_ns;
    bool sooner = begin_ns < best.begin_ns;
    if (late_ns == NEVER_NS || begin_ns >= latest_ns ||
        (best.after_ns == best.alone_ns && !sooner))
        return; /* its own approach says that it cannot be the best */
    model_asks++;
    if (after_ns > latest_ns || after_ns > best.after_ns ||
        (after_ns == best.after_ns && !sooner))
        return;
    best.write = r;
    best.begin_ns = begin_ns;
    best.after_ns = after_ns;
}

/* Return the best write to go before `wanted`, or NULL. Look at the nearest
 * first, for a sixteenth of the rotational slack. */
static struct request *model_detour(struct lateness *late, struct detour *d)
{
    u64 now_ns = model_clock();
    struct approach alone = toy_drive(&queue, now_ns, NULL, 0, &wanted);
    u64 spare_ns = alone.begin_ns - alone.there_ns;
    u64 until_ns = now_ns + spare_ns / 16;
    model_begins(late);
    if (!d->late_ns && spare_ns < late->go_ns + late->ask_ns)
        return NULL;
    best.alone_ns = alone.begin_ns;
    best.start_ns = until_ns + late->go_ns;
    best.gap_ns = late->ask_ns + (wanted.candidate ? late->go_ns : 0);
    best.write = NULL;
    best.begin_ns = best.after_ns = NEVER_NS;
    struct request *r = next_nearest(NULL, d);
    while (r) {
        model_judge(r, d);
        r = model_clock() < until_ns ? next_nearest(r, d) : NULL;
    }
    late->waits = best.write ? &wanted : NULL;
    late->goes = best.write;
    if (!late->goes && wanted.candidate)
        late->goes = &wanted;
    late->looked_ns = until_ns;
    late->commands = queue.commands;
    return best.write;
}

/* ---- random cases ---- */

/* A third of the writes may make the wanted request as late as is asked, a
 * third may not make it late, and a third may not go. */
static u64 by_sector(const struct request *write, u64 late_ns)
{
    u64 answers[] = {late_ns, 0, NEVER_NS};
    return answers[write->sector % 3];
}

static u64 no_limit(const struct request *write, u64 late_ns)
{
    (void)write;
    return late_ns;
}

/* True if a queued write begins at this sector. */
static bool is_taken(u64 sector)
{
    for (u32 i = 0; i < WRITES_MOST; i++) {
        if (writes[i].queue && writes[i].sector == sector)
            return true;
    }
    return false;
}

/* Queue up to 12 writes at different random sectors; draw `wanted`. */
static void fill_queue(u64 *seed)
{
    queue_init(&queue, 0);
    memset(writes, 0, sizeof writes);
    queue.head_sector = random_u64(seed) % SECTORS;
    for (u32 i = 0; i < WRITES_MOST; i++) {
        u64 sector = random_u64(seed) % SECTORS;
        if (is_taken(sector))
            continue;
        writes[i] = (struct request){.sector = sector,
                                     .nsectors = 1 + random_u64(seed) % 8,
                                     .write = true,
                                     .candidate = random_u64(seed) % 2};
        queue_add(&queue, &writes[i]);
    }
    wanted = (struct request){.sector = random_u64(seed) % SECTORS,
                              .nsectors = 1,
                              .candidate = random_u64(seed) % 4 == 0};
}

static const struct request *some_request(u64 *seed)
{
    u64 i = random_u64(seed) % (WRITES_MOST + 4);
    return i < WRITES_MOST ? &writes[i] : i % 2 ? &wanted : NULL;
}

/* Draw what the last search has left and what has happened since. Each figure
 * `random % 2 * x` is 0 in half of the cases. */
static void draw_lateness(u64 *seed, u64 now_ns)
{
    *lateness_of(&queue) = (struct lateness){
        .go_ns = random_u64(seed) % 2 * (random_u64(seed) % 20000),
        /* a nanosecond more is a microsecond to the toy drive */
        .ask_ns = random_u64(seed) % 2 * (random_u64(seed) % 20 * 1000 + 999),
        .goes = some_request(seed),
        .waits = some_request(seed),
        .looked_ns = now_ns - random_u64(seed) % 3 * 1000,
        .commands = 7,
    };
    queue.commands = 7 + random_u64(seed) % 3;
    queue.last =
        random_u64(seed) % 2 ? lateness_of(&queue)->goes : some_request(seed);
    queue.last_ns = now_ns - random_u64(seed) % 5 * 1000;
    queue.done_ns = now_ns + 4000 - random_u64(seed) % 9 * 1000;
    clock_look_ns = random_u64(seed) % 2 * (random_u64(seed) % 1500);
}

/* Draw which writes may go first, where the search begins, and how late
 * `wanted` may be. */
static struct detour drawn_detour(u64 *seed)
{
    const enum direction dirs[] = {CANDIDATES, WRITES, CANDIDATES | WRITES};
    return (struct detour){
        .dir = dirs[random_u64(seed) % NELEM(dirs)],
        .near_sector = random_u64(seed) % SECTORS,
        .most_late_ns = random_u64(seed) % 2 ? by_sector : no_limit,
        .late_ns = random_u64(seed) % 2 * (random_u64(seed) % 200000),
    };
}

static void check_late(const struct lateness *got, const struct lateness *want)
{
    check_eq(got->go_ns, want->go_ns);
    check_eq(got->ask_ns, want->ask_ns);
    check(got->goes == want->goes);
    check(got->waits == want->waits);
    check_eq(got->looked_ns, want->looked_ns);
    check_eq(got->commands, want->commands);
}

/* In each of many random queues the answer, its times, the questions to the
 * drive and the clock are the model's. */
TEST(a_detour_is_the_best_of_all_that_there_is_time_to_look_at)
{
    u64 seed = 1, found = 0;
    drive_approaches = drive;
    for (u32 i = 0; i < RUNS; i++) {
        fill_queue(&seed);
        model_clock_ns = clock_now_ns = 1000000 + random_u64(&seed) % 1000000;
        draw_lateness(&seed, clock_now_ns);
        struct lateness late = *lateness_of(&queue);
        struct detour want = drawn_detour(&seed), got = want;
        struct request *write = model_detour(&late, &want);
        check(queue_detour(&queue, &wanted, &got) == write);
        check_late(lateness_of(&queue), &late);
        check_eq(clock_now_ns, model_clock_ns);
        check_eq(asked, model_asks);
        found += write != NULL;
        if (!write)
            continue;
        check_eq(got.begin_ns, best.after_ns);
        check_eq(got.price_ns, best.after_ns - best.alone_ns);
    }
    check(found > RUNS / 4 && found < RUNS * 3 / 4);
}

/* The record of how late commands go fades all the same, as in each search. */
TEST(without_a_model_of_the_drive_there_is_no_detour)
{
    u64 seed = 1;
    struct detour d = {.dir = CANDIDATES | WRITES,
                       .most_late_ns = no_limit,
                       .late_ns = 1000000};
    fill_queue(&seed);
    struct lateness *late = lateness_of(&queue);
    late->go_ns = late->ask_ns = 2 * FADES;
    check(!queue_detour(&queue, &wanted, &d));
    check_eq(late->go_ns, 2 * FADES - 2);
    check_eq(late->ask_ns, 2 * FADES - 2);
}

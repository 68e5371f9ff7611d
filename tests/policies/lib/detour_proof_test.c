/*
 * The answers that proofs take for possible
 * (tools/prove/policies/lib/detour.h) against those of the kernel's search.
 *
 * link: tests/support/native/test.c tests/support/native/toy_drive.c
 */
#include "kernel/disk/queue.h"
#include "policies/lib/detour.h"
#include "tests/support/native/toy_drive.h"

/* The proofs' ones have the same names. What their harness would choose is not
 * asked for here. */
#define CLAIM(holds, what) check(holds)
#define ASSUME(holds)      check(holds)
#define any_below(end)     0
#define REQUESTS           1
#define requests           ((struct request **)NULL)
#define detour             proof_detour
#define queue_detour       proof_queue_detour
#define detours_start      proof_start
#undef SLUICE_LIB_DETOUR_H
#include "tools/prove/policies/lib/detour.h"
#undef detour
#undef queue_detour
#undef detours_start

enum { RUNS = 5000, WRITES_MOST = 6, TRACKS = 10, TRACK = 100 };

static struct queue queue;
static struct request wanted, writes[WRITES_MOST];

/* A third of the writes may make the wanted request late, a third may not make
 * it late, and a third may not go. */
static u64 by_sector(const struct request *write, u64 late_ns)
{
    u64 answers[] = {late_ns, 0, NEVER_NS};
    return answers[write->sector % NELEM(answers)];
}

/* Queue a request at a random sector of that track. */
static void add(u64 *seed, struct request *r, u64 track, bool write)
{
    *r = (struct request){.sector = track * TRACK + random_u64(seed) % TRACK,
                          .nsectors = 1,
                          .write = write,
                          .candidate = write && random_u64(seed) % 2};
    queue_add(&queue, r);
}

/* Queue the wanted request, and a write on each of the tracks before it. */
static void fill_queue(u64 *seed)
{
    queue_init(&queue, 0);
    queue.head_sector = random_u64(seed) % TRACK;
    queue.turn_ns = drive_approaches ? 1 : 0;
    add(seed, &wanted, TRACKS, random_u64(seed) % 2);
    for (u64 i = 0; i < WRITES_MOST; i++)
        add(seed, &writes[i], i, true);
}

/* Return how many of the answers are a write; each must be one that proofs
 * allow. */
static u64 search(u64 *seed)
{
    static const enum direction dirs[] = {CANDIDATES, WRITES,
                                          CANDIDATES | WRITES};
    u64 found = 0;
    for (u64 n = 0; n < RUNS; n++) {
        fill_queue(seed);
        clock_now_ns = 1000000 + random_u64(seed) % 1000000;
        struct detour d = {.dir = dirs[random_u64(seed) % NELEM(dirs)],
                           .near_sector = queue.head_sector,
                           .most_late_ns = by_sector,
                           .late_ns = random_u64(seed) % 2 * 50000};
        struct request *write = queue_detour(&queue, &wanted, &d);
        struct proof_detour proof = {.dir = d.dir,
                                     .most_late_ns = by_sector,
                                     .late_ns = d.late_ns,
                                     .begin_ns = d.begin_ns,
                                     .price_ns = d.price_ns};
        check(detour_may_be(&queue, write, &proof));
        found += write != NULL;
    }
    return found;
}

/* Proofs use a simpler detour (tools/prove), which allows several answers. The
 * kernel's answer must be one of them. */
TEST(the_kernels_detour_is_among_those_of_proofs)
{
    u64 seed = 1;
    drive_approaches = toy_drive;
    u64 found = search(&seed);
    check(found > RUNS / 8 && found < RUNS);
    drive_approaches = NULL;
    check_eq(search(&seed), 0);
}

/*
 * Sluice under loads on the toy drive: no dirty block outlives its age, and
 * every choice is the one, at the time, that it was when `recorded` was made.
 * (sched_test.c has examples worked by hand; what they leave out, this holds.)
 *
 * Readers think, read, and think again. Blocks become dirty, some are modified
 * again, and one that reaches its age becomes a queued write, as under
 * update=ipu. Some other writes are queued, and some of these are waited for.
 *
 * link: tests/support/native/test.c tests/support/native/toy_drive.c
 */
#include "tests/support/native/toy_drive.h"
#include "kernel/disk/queue.h"
#include "policies/lib/detour.h"

#define READERS  4
#define ROOM     600 /* requests */
#define SECTORS  1000
#define BEGIN_NS (100000 * NS_PER_MS)
#define END_NS   (BEGIN_NS + 6000 * NS_PER_MS)

/* The mean times between are in us; 0: none. */
struct load {
    const char *name;
    u32 disk;
    bool turns; /* the platter does; else there is no model */
    u32 readers, think_us, dirty_us, write_us;
    struct {
        const char *name;
        u64 value;
    } tunables[4];
};

struct result {
    u64 reads, writes;       /* done */
    u64 mean_ns, longest_ns; /* of reads */
    u64 bargains, paid, price_ns, unwatched;
    u64 choices; /* a sum of all of them, with their order and times */
};

static const struct policy *sluice;
static const struct load *load;
static struct result result;
static struct queue queue;
static struct request requests[ROOM]; /* in use, if `nsectors` is set */
static struct request *in_drive;      /* NULL: the disk is idle */
static u64 seed, age_ns, response_ns, overdue;
static u64 read_ns[READERS], dirty_ns, write_ns, done_ns, ask_ns;
static bool asks;

/* ---- what comes ---- */

/* Draw when the next event of a kind comes, on average mean_us from now;
 * NEVER_NS: none. */
static u64 after(u64 mean_us)
{
    return mean_us ? clock_now_ns + 1 + random_u64(&seed) % (2000 * mean_us)
                   : NEVER_NS;
}

/* Queue a request of a random place and size. */
static void submit(struct request what)
{
    struct request *r = requests;
    while (r < requests + ROOM && r->nsectors)
        r++;
    check(r < requests + ROOM);
    *r = what;
    r->sector = random_u64(&seed) % SECTORS;
    r->nsectors = 1 + random_u64(&seed) % 4;
    r->queued_ns = clock_now_ns;
    queue_add(&queue, r);
    sluice->sched.queued(&queue, r, clock_now_ns);
    asks |= !r->candidate;
}

static void leave(struct request *r)
{
    sluice->sched.leaves(&queue, r, clock_now_ns);
    queue_take(&queue, r);
}

/* A dirty block is of age: its write is queued. */
static void make_due(struct request *r)
{
    overdue++;
    leave(r);
    r->candidate = false;
    r->queued_ns = clock_now_ns;
    queue_add(&queue, r);
    sluice->sched.queued(&queue, r, clock_now_ns);
    asks = true;
}

static void age_blocks(void)
{
    for (struct request *r; (r = queue_oldest(&queue, CANDIDATES)) &&
                            r->queued_ns + age_ns <= clock_now_ns;)
        make_due(r);
}

static void modify_again(void)
{
    struct request *r = &requests[random_u64(&seed) % 64];
    r->again |= r->queue && r->candidate;
}

/* Queue what has come by now: reads of readers that have thought long enough,
 * new dirty blocks, and other writes. */
static void arrive(void)
{
    for (u32 i = 0; i < load->readers; i++) {
        if (read_ns[i] > clock_now_ns)
            continue;
        submit((struct request){.pid = i + 1});
        read_ns[i] = NEVER_NS;
    }
    if (dirty_ns <= clock_now_ns) {
        submit((struct request){.write = true, .candidate = true});
        modify_again();
        dirty_ns = after(load->dirty_us);
    }
    if (write_ns <= clock_now_ns) {
        bool waited = random_u64(&seed) % 3 == 0;
        submit((struct request){.write = true, .waited = waited});
        write_ns = after(load->write_us);
    }
    age_blocks();
}

/* ---- the disk ---- */

static void note(u64 what)
{
    result.choices = (result.choices ^ what) * 0x100000001b3; /* FNV-1a */
}

/* Hand a request to the drive, and note the choice and its time in the recorded
 * sum. */
static void dispatch(struct request *r)
{
    note(r->sector);
    note(clock_now_ns);
    leave(r);
    /* A write that a look has found is dispatched a moment later. */
    bool found = lateness_of(&queue)->goes == r;
    queue_dispatched(&queue, r, found ? clock_ns() : clock_now_ns);
    done_ns = queue.done_ns =
        drive_approaches
            ? toy_drive(&queue, clock_now_ns, NULL, 0, r).begin_ns +
                  r->nsectors * 1000
            : clock_now_ns + 70000;
    in_drive = r;
    queue.head_sector = r->sector + r->nsectors;
}

/* Ask Sluice for its choice. If it has none, remember when it wants to be asked
 * again. */
static void ask(void)
{
    struct request *r = sluice->sched.next(&queue, clock_now_ns);
    const char *wrong = (sluice->sched.check)(&queue);
    check(!wrong);
    asks = false;
    ask_ns = NEVER_NS;
    if (r) {
        check(r->queue == &queue);
        dispatch(r);
        return;
    }
    ask_ns = sluice->sched.again_ns(&queue, clock_now_ns);
    check(ask_ns > clock_now_ns);
    check(ask_ns != NEVER_NS || queue_empty(&queue));
}

/* End the command in the drive, and let its reader think. */
static void complete(void)
{
    struct request *r = in_drive;
    u64 ns = clock_now_ns - r->queued_ns;
    in_drive = NULL;
    asks = true;
    if (r->write) {
        result.writes++;
    } else {
        result.reads++;
        response_ns += ns;
        result.longest_ns = MAX(result.longest_ns, ns);
        read_ns[r->pid - 1] = after(load->think_us);
    }
    r->nsectors = 0;
}

/* ---- a run ---- */

static u64 next_event_ns(void)
{
    u64 ns = MIN(dirty_ns, write_ns);
    for (u32 i = 0; i < load->readers; i++)
        ns = MIN(ns, read_ns[i]);
    return MIN(ns, in_drive ? done_ns : ask_ns);
}

/* Start Sluice with the load's tunables, an empty queue and the first
 * events. */
static void begin(void)
{
    sluice = policy_named(POLICY_SCHED, "sluice");
    for (u32 i = 0; i < NELEM(load->tunables) && load->tunables[i].name; i++)
        tunable_named(sluice, load->tunables[i].name)->value =
            load->tunables[i].value;
    age_ns = tunable_named(sluice, "age_ms")->value * NS_PER_MS;
    queue_init(&queue, load->disk);
    drive_approaches = load->turns ? toy_drive : NULL;
    queue.turn_ns = load->turns ? 100000 : 0;
    clock_now_ns = BEGIN_NS;
    clock_look_ns = 100;
    seed = 1;
    for (u32 i = 0; i < READERS; i++)
        read_ns[i] = after(load->think_us);
    dirty_ns = after(load->dirty_us);
    write_ns = after(load->write_us);
    ask_ns = NEVER_NS;
}

/* Run a load for 6 s of virtual time, from event to event. */
static void run(const struct load *l)
{
    load = l;
    begin();
    while (clock_now_ns < END_NS) {
        clock_now_ns = MAX(clock_now_ns, next_event_ns());
        if (in_drive && done_ns <= clock_now_ns)
            complete();
        arrive();
        if (!in_drive && (asks || ask_ns <= clock_now_ns))
            ask();
    }
    result.mean_ns = response_ns / MAX(1, result.reads);
    result.bargains = counter_of(sluice, "bargains");
    result.paid = counter_of(sluice, "paid");
    result.price_ns = counter_of(sluice, "price");
    result.unwatched = counter_of(sluice, "unwatched");
}

/* ---- what was recorded ---- */

enum { ONE_READER, FOUR_READERS, GAPS, NO_PLATTER, NO_READER };

static const struct {
    struct load load;
    struct result result;
} recorded[] = {
    [ONE_READER] =
        {{.name = "beside one reader",
          .turns = true,
          .readers = 1,
          .think_us = 50,
          .dirty_us = 20000,
          .tunables = {{"age_ms", 2000}, {"free", 0}, {"early", 25}}},
         {44585, 244, 84662, 263658, 210, 14, 1400000, 20, 0xc12286b118a9222c}},
    [FOUR_READERS] = {{.name = "among four readers",
                       .disk = MAX_DISKS - 1,
                       .turns = true,
                       .readers = 4,
                       .think_us = 100,
                       .dirty_us = 10000,
                       .write_us = 20000,
                       .tunables = {{"age_ms", 1500}, {"free", 50}}},
                      {83280, 862, 188007, 582647, 654, 110, 12300000, 0,
                       0x7667e69d4f17a67c}},
    [GAPS] = {{.name = "where readers leave gaps",
               .disk = 1,
               .turns = true,
               .readers = 2,
               .think_us = 3000,
               .dirty_us = 6000,
               .write_us = 15000,
               .tunables = {{"age_ms", 3000}, {"pause", 600}, {"free", 60}}},
              {3875, 962, 86792, 287772, 56, 0, 0, 773, 0x417686ae03777b45}},
    [NO_PLATTER] = {{.name = "where no platter turns",
                     .readers = 3,
                     .think_us = 10,
                     .dirty_us = 8000,
                     .write_us = 30000,
                     .tunables = {{"age_ms", 1000}, {"early", 80}}},
                    {84872, 842, 202056, 765934, 0, 765, 0, 0,
                     0x9ae9b87eb73b4382}},
    [NO_READER] = {{.name = "where nobody reads",
                    .disk = 2,
                    .turns = true,
                    .dirty_us = 10000,
                    .write_us = 40000,
                    .tunables = {{"age_ms", 2500}, {"early", 100}}},
                   {0, 557, 0, 0, 101, 0, 0, 406, 0xb3892f3f233f004d}},
};

/* Run the load with this number, and compare its result with the recorded one.
 */
static void check_recorded(u32 i)
{
    const struct result *want = &recorded[i].result, *r = &result;
    run(&recorded[i].load);
    check_eq(overdue, 0);
    if (memcmp(r, want, sizeof *r) == 0)
        return;
    printf("%s Sluice chose otherwise than when this was recorded. If that is "
           "meant, the row is now\n"
           "{%lu, %lu, %lu, %lu, %lu, %lu, %lu, %lu, 0x%lx}\n",
           load->name, r->reads, r->writes, r->mean_ns, r->longest_ns,
           r->bargains, r->paid, r->price_ns, r->unwatched, r->choices);
    exit(1);
}

TEST(sluice_chooses_as_recorded_beside_one_reader)
{
    check_recorded(ONE_READER);
}

TEST(sluice_chooses_as_recorded_among_four_readers_and_queued_writes)
{
    check_recorded(FOUR_READERS);
}

TEST(sluice_chooses_as_recorded_where_readers_leave_gaps)
{
    check_recorded(GAPS);
}

TEST(sluice_chooses_as_recorded_where_no_platter_turns)
{
    check_recorded(NO_PLATTER);
}

TEST(sluice_chooses_as_recorded_where_nobody_reads)
{
    check_recorded(NO_READER);
}

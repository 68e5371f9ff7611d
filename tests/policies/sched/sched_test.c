/*
 * Schedulers: the order they serve a given set in, and what holds for all.
 *
 * link: tests/support/native/test.c tests/support/native/toy_drive.c
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/support/native/cache_model.h"
#include "tests/support/native/toy_drive.h"
#include "kernel/disk/disk.h"
#include "kernel/disk/queue.h"
#include "policies/lib/detour.h"

#define MANY 500

static struct queue queue;
static struct request requests[MANY], candidate_writes[100];

/* Queue a request of one sector, 1 us after the last, and tell the
 * scheduler. */
static void submit(const struct policy *p, struct request *r, u64 sector,
                   bool write)
{
    *r = (struct request){.sector = sector,
                          .nsectors = 1,
                          .write = write,
                          .pid = 1,
                          .queued_ns = clock_now_ns += 1000};
    queue_add(&queue, r);
    if (p->sched.queued)
        p->sched.queued(&queue, r, clock_now_ns);
}

/* Add these sectors as dirty blocks. */
static void add_candidate(const struct policy *p, struct request *candidates,
                          const u64 *sectors, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        candidates[i] = (struct request){.sector = sectors[i],
                                         .nsectors = 1,
                                         .write = true,
                                         .candidate = true};
        queue_add(&queue, &candidates[i]);
        if (p->sched.takes_candidates && p->sched.queued)
            p->sched.queued(&queue, &candidates[i], clock_now_ns);
    }
}

/* The policy's choice, now or when it wants to be asked again. */
static struct request *choice(const struct policy *p)
{
    struct request *r;
    while (!(r = p->sched.next(&queue, clock_now_ns)) && p->sched.again_ns) {
        u64 again_ns = p->sched.again_ns(&queue, clock_now_ns);
        check(again_ns > clock_now_ns && again_ns != NEVER_NS);
        clock_now_ns = again_ns;
    }
    return r;
}

/* The next request leaves the queue, as the disk layer has it do. */
static struct request *serve(const struct policy *p)
{
    clock_now_ns += 1000;
    struct request *r = choice(p);
    check(r != NULL);
    check(r->queue == &queue);
    const char *wrong = p->sched.check ? (p->sched.check)(&queue) : NULL;
    check(!wrong);
    if (p->sched.leaves)
        p->sched.leaves(&queue, r, clock_now_ns);
    queue_take(&queue, r);
    queue.head_sector = r->sector + r->nsectors;
    return r;
}

static struct request *serve_at(const struct policy *p, u64 ns)
{
    clock_now_ns = ns - 1000; /* serve lets as much pass */
    return serve(p);
}

static struct request *next_at(const struct policy *p, u64 ns)
{
    clock_now_ns = ns;
    return p->sched.next(&queue, ns);
}

/* ---- the queue itself ---- */

/* A transfer that one thread queues and takes off, and another reuses. */
static struct io shared;
static atomic_int turn;
enum { MAY_REUSE = 1, REUSED, END };

static int wait_for_turn(int one, int other)
{
    int now;
    while ((now = atomic_load(&turn)) != one && now != other)
        sched_yield();
    return now;
}

/* As the cache does when the scheduler has taken up a candidate (buf_let_go).
 */
static void *reuse(void *arg)
{
    while (wait_for_turn(MAY_REUSE, END) == MAY_REUSE) {
        for (u32 polls = 1; io_queued(&shared); polls++)
            if (polls % 128 == 0)
                sched_yield();
        memset(&shared, 0, sizeof shared);
        atomic_store(&turn, REUSED);
    }
    return arg;
}

/* Another thread overwrites the request as soon as it sees it off the queue,
 * 200,000 times; the queue must not touch it any more. */
TEST(a_request_that_is_seen_off_the_queue_may_be_reused)
{
    pthread_t other;
    queue_init(&queue, 0);
    check_eq(pthread_create(&other, NULL, reuse, NULL), 0);
    for (u32 i = 0; i < 200000; i++) {
        queue_add(&queue, &shared.request);
        atomic_store(&turn, MAY_REUSE);
        queue_take(&queue, &shared.request);
        wait_for_turn(REUSED, REUSED);
        check(list_empty(&queue.arrived[SET_READS]));
        check(!queue.sorted[SET_READS].root);
    }
    atomic_store(&turn, END);
    check_eq(pthread_join(other, NULL), 0);
}

/* ---- one order each ---- */

/* An arm that is at the last cylinder after 7 us, and 20 us later at the
 * first. */
static u64 toy_edge(bool last)
{
    return clock_now_ns + (last ? 7000 : 27000);
}

/* After 90 the head is under way to the end and back, for 27 us. The request
 * for 95, which comes meanwhile, waits for the next sweep, as the others do. */
TEST(cscan_goes_to_the_end_and_back_before_the_lowest)
{
    const struct policy *p = policy_named(POLICY_SCHED, "cscan");
    drive_to_edge = toy_edge;
    queue_init(&queue, 0);
    queue.head_sector = 80;
    submit(p, &requests[0], 90, false);
    submit(p, &requests[1], 30, false);
    check_eq(serve_at(p, 1000000)->sector, 90);
    check(!next_at(p, 1010000));
    submit(p, &requests[2], 95, false);
    submit(p, &requests[3], 20, true);
    check(!next_at(p, 1036999));
    check_eq(p->sched.again_ns(&queue, 1036999), 1037000);
    check_eq(serve_at(p, 1037000)->sector, 20);
    check_eq(serve_at(p, 1038000)->sector, 30);
    check_eq(serve_at(p, 1039000)->sector, 95);
    check(queue_empty(&queue)); /* the head stays */
    check_eq(counter_of(p, "returns"), 1);
    check_eq(counter_of(p, "travelled"), 27000);
}

/* Ten requests for one sector, with the head below it each time. */
TEST(clook_takes_equal_sectors_in_order_of_arrival)
{
    const struct policy *p = policy_named(POLICY_SCHED, "clook");
    queue_init(&queue, 0);
    for (u32 i = 0; i < 10; i++)
        submit(p, &requests[i], 64, true);
    for (u32 i = 0; i < 10; i++) {
        queue.head_sector = 0;
        check(serve(p) == &requests[i]);
    }
}

/* Ten requests for sector 500, with the head below, at and above it. */
TEST(sstf_takes_equal_sectors_in_order_of_arrival)
{
    const struct policy *p = policy_named(POLICY_SCHED, "sstf");
    for (u64 head = 0; head <= 1000; head += 500) {
        queue_init(&queue, 0);
        for (u32 i = 0; i < 10; i++)
            submit(p, &requests[i], 500, true);
        queue.head_sector = head;
        for (u32 i = 0; i < 10; i++)
            check(serve(p) == &requests[i]);
    }
}

/* Disk 0 falls after its first request. Disk 1 still rises. */
TEST(scan_keeps_the_direction_of_each_disk)
{
    const struct policy *p = policy_named(POLICY_SCHED, "scan");
    struct request low, high;

    queue_init(&queue, 0);
    queue.head_sector = 100;
    submit(p, &low, 50, false);
    check_eq(serve(p)->sector, 50); /* this one falls now */
    submit(p, &low, 40, false);
    submit(p, &high, 60, false);
    struct request other_low = {.sector = 40}, other_high = {.sector = 60};
    struct queue other;
    queue_init(&other, 1);
    other.head_sector = 51;
    queue_add(&other, &other_low);
    queue_add(&other, &other_high);
    check(p->sched.next(&other, clock_now_ns) == &other_high);
    check(p->sched.next(&queue, clock_now_ns) == &low);
}

/* One read is always queued. */
TEST(purp_starves_a_write_unless_it_has_a_bound)
{
    const struct policy *p = policy_named(POLICY_SCHED, "purp");
    queue_init(&queue, 0);
    submit(p, &requests[0], 8, true);
    for (u32 i = 1; i < MANY; i++) {
        submit(p, &requests[i], 1000, false);
        clock_now_ns += 10000000;
        check(serve(p) == &requests[i]);
    }
    tunable_named(p, "bound_ms")->value = 6000;
    submit(p, &requests[1], 1000, false);
    check(serve(p) == &requests[1]); /* 5 s */
    submit(p, &requests[1], 1000, false);
    clock_now_ns = requests[0].queued_ns + 6000000000 - 1000;
    check(serve(p) == &requests[0]);
    check_eq(counter_of(p, "overdue"), 1);
}

/* The head is past 200 and 300 is ahead; 50, which is not, is the oldest. */
static void check_expiry(bool write, u64 wait_ns, u64 first)
{
    const struct policy *p = policy_named(POLICY_SCHED, "deadline");
    u64 expired = counter_of(p, "expired");
    tunable_named(p, "fifo_batch")->value = 1;
    queue_init(&queue, 0);
    submit(p, &requests[0], 200, write);
    check_eq(serve(p)->sector, 200);
    submit(p, &requests[1], 50, write);
    submit(p, &requests[2], 300, write);
    clock_now_ns = requests[1].queued_ns + wait_ns - 1000;
    check_eq(serve(p)->sector, first);
    check_eq(counter_of(p, "expired") - expired, first == 50);
}

TEST(deadline_begins_a_batch_with_the_oldest_when_that_is_due)
{
    check_expiry(false, 500000000, 50);
    check_expiry(true, 5000000000, 50);
}

TEST(deadline_begins_no_batch_with_the_oldest_before_it_is_due)
{
    check_expiry(false, 499999000, 300);
    check_expiry(true, 4999999000, 300);
}

static struct lateness *late;

/* freeblock with the toy drive, and an empty queue whose record says that both
 * commands went late_us late. */
static const struct policy *freeblock(u64 late_us)
{
    const struct policy *p = policy_named(POLICY_SCHED, "freeblock");
    drive_approaches = toy_drive;
    queue_init(&queue, 0);
    late = lateness_of(&queue);
    late->go_ns = late->ask_ns = late_us * 1000;
    return p;
}

/* The head is at 0, with sector 0 under it. A read of 350 waits, which takes 51
 * us. `want` is the candidate that is chosen, or 350 if none is. */
static void check_free(const u64 *sectors, u32 n, u64 late_us, u64 want)
{
    const struct policy *p = freeblock(late_us);
    struct request candidates[9];
    add_candidate(p, candidates, sectors, n);
    submit(p, &requests[0], 350, false);
    check_eq(next_at(p, 1000000)->sector, want);
}

/* To look may take a sixteenth of 20 us, so a write goes 1 us later. */
TEST(freeblock_takes_what_fits_before_the_request_is_under_the_head)
{
    check_free((u64[]){10}, 1, 0, 10);   /* 10 + 1 + 30 < 50 */
    check_free((u64[]){19}, 1, 0, 19);   /* 19 + 1 + 30 = 50 */
    check_free((u64[]){20}, 1, 0, 350);  /* not */
    check_free((u64[]){331}, 1, 0, 331); /* 31, 32 */
    check_free((u64[]){330}, 1, 0, 350); /* has passed */
    check_free((u64[]){25, 345}, 2, 0, 345);
    check_free((u64[]){125}, 1, 0, 125); /* on a track between */
    check_free((u64[]){400}, 1, 0, 350);
}

TEST(freeblock_takes_only_what_fits_if_both_go_as_late_as_of_late)
{
    check_free((u64[]){11}, 1, 8, 11);   /* 11 + 1 + 8 + 30 = 50 */
    check_free((u64[]){11}, 1, 10, 350); /* not */
    check_free((u64[]){7}, 1, 6, 7);     /* 1 + 6 = 7 */
    check_free((u64[]){7}, 1, 7, 350);   /* has passed */
}

/* A write found at 1,000 us, after a look of 1.25, goes 40 us later, and the
 * request is thought about 2 us after its end: a fourth more of both. */
TEST(a_detour_measures_how_late_commands_go)
{
    const struct policy *p = freeblock(0);
    struct request candidates[2];
    add_candidate(p, candidates, (u64[]){10, 345}, 2);
    submit(p, &requests[0], 350, false);
    check(serve_at(p, 1000000) == &candidates[0]);
    queue_dispatched(&queue, &candidates[0], 1041250);
    queue.done_ns = 1051000;
    next_at(p, 1053000);
    check_eq(late->ask_ns, 2500);
    check_eq(late->go_ns, 50000 - 50000 / 8192);
}

/* Not of what cannot go, nor after a command that was no detour. */
TEST(a_detour_measures_only_what_it_found)
{
    const struct policy *p = freeblock(0);
    struct request candidates[1];
    add_candidate(p, candidates, (u64[]){10}, 1);
    submit(p, &requests[0], 350, false);
    queue.done_ns = 900000;
    check(next_at(p, 1000000) == &candidates[0]);
    check(next_at(p, 1000000) == &candidates[0]);
    check_eq(late->ask_ns, 0);
    queue_dispatched(&queue, &requests[0], 2000000);
    queue_dispatched(&queue, &candidates[0], 2000000);
    next_at(p, 2000000);
    check_eq(late->go_ns, 0);
    queue_dispatched(&queue, &requests[0], 3000000);
    next_at(p, 3000000);
    check_eq(late->go_ns, 0);
}

/* As if it had just been booted: what went before is forgotten. */
TEST(how_late_commands_went_is_forgotten_when_the_scheduler_starts)
{
    freeblock(1000);
    check_eq(late->go_ns, 1000000);
    policy_start(policy_named(POLICY_SCHED, "sluice"));
    check_eq(late->go_ns, 0);
    check_eq(late->ask_ns, 0);
}

/* Each look at the clock takes 1 us: there is time for two. */
TEST(freeblock_takes_the_soonest_of_those_it_has_time_to_look_at)
{
    check_free((u64[]){18, 10, 14}, 3, 0, 10);
    check_free((u64[]){20, 21, 335}, 3, 0, 335);
    clock_look_ns = 1000;
    check_free((u64[]){20, 18, 332}, 3, 0, 18);
    check_free((u64[]){20, 21, 335}, 3, 0, 350);
}

/* Sluice with blocks that became dirty at 0; the clock begins there. */
static const struct policy *sluice(u64 age_ms, u64 early)
{
    const struct policy *p = policy_named(POLICY_SCHED, "sluice");
    tunable_named(p, "age_ms")->value = age_ms;
    tunable_named(p, "early")->value = early;
    tunable_named(p, "patience")->value = 100;
    queue_init(&queue, 0);
    clock_now_ns = 0;
    drive_approaches = toy_drive;
    queue.turn_ns = 100000;
    return p;
}

/* Eight blocks are to be written by the end of tick 6, of 250 ms each, one
 * before they are due, and may go four ticks before: 8/5, 7/4, 6/3, 4/2 and
 * 2/1 of them, rounded down. */
TEST(sluice_lets_out_evenly_what_became_dirty_at_once)
{
    const u64 ms[] = {500, 750, 1000, 1125, 1250, 1375, 1500, 1625};
    const struct policy *p = sluice(2000, 50);
    struct request candidates[8];
    add_candidate(p, candidates, (u64[]){10, 20, 30, 40, 50, 60, 70, 80}, 8);
    for (u32 i = 0; i < 8; i++) {
        serve(p);
        check_eq(clock_now_ns / 1000000, ms[i]);
    }
    check_eq(counter_of(p, "unwatched"), 8); /* no read waited */
    check_eq(queue.length[SET_CANDIDATES], 0);
}

/* The head is at 0, sector 0 under it, and 350 is wanted, which takes 51 us:
 * long before they are due, 19 fits and 20 does not. */
TEST(sluice_takes_what_costs_nothing_before_it_is_due)
{
    for (u64 sector = 19; sector <= 20; sector++) {
        const struct policy *p = sluice(30000, 0);
        tunable_named(p, "free")->value = 100;
        struct request candidates[1];
        add_candidate(p, candidates, &sector, 1);
        submit(p, &requests[0], 350, false);
        check_eq(serve_at(p, 1000000)->sector, sector == 19 ? 19 : 350);
    }
}

/* Each read is done after 2 ms, and the next comes 8 ms later. A write of 90
 * that is queued with one, and which a read is not to be made late for, may go
 * when the next is done, 10 ms having passed: now. */
static const struct policy *sluice_in_a_gap(void)
{
    const struct policy *p = sluice(30000, 0);
    u64 ms = 1000000, at_ns = 10 * ms;
    tunable_named(p, "patience")->value = 1;
    tunable_named(p, "free")->value = 100;
    tunable_named(p, "pause")->value = 10000; /* 10 ms */
    for (u32 i = 0; i < 10; i++, at_ns += 10 * ms) {
        clock_now_ns = at_ns - 2000;
        submit(p, &requests[0], 350, false);
        check_eq(serve_at(p, at_ns)->sector, 350);
        if (i == 8)
            submit(p, &requests[1], 90, true);
        if (i < 9)
            check(!next_at(p, at_ns + 2 * ms));
    }
    clock_now_ns = at_ns - 8 * ms;
    return p;
}

TEST(sluice_writes_at_the_beginning_of_a_gap_if_readers_leave_any)
{
    const struct policy *p = sluice_in_a_gap();
    check_eq(next_at(p, clock_now_ns)->sector, 90);
}

/* 350 would begin 50 us after it was queued, and 150 with 400 before it. */
TEST(sluice_writes_one_more_in_a_gap_if_the_read_waits_no_longer_than_it_may)
{
    for (u64 stay = 149; stay <= 150; stay++) {
        const struct policy *p = sluice_in_a_gap();
        u64 now_ns = clock_now_ns + 100000;
        tunable_named(p, "stay")->value = stay;
        check_eq(serve_at(p, clock_now_ns)->sector, 90);
        clock_now_ns = now_ns - 3000;
        submit(p, &requests[2], 400, true);
        submit(p, &requests[3], 410, true);
        submit(p, &requests[4], 350, false);
        queue.head_sector = 0;
        check_eq(serve_at(p, now_ns)->sector, stay == 150 ? 400 : 350);
        queue.head_sector = 0;
        if (stay == 150)
            check_eq(serve_at(p, now_ns + 100000)->sector, 350);
    }
}

#define WAY 320 /* 20 us from now; 90 is in 90, and 30 are a seek */

/* In a gap between reads the disk goes to a write at 90, and a candidate
 * lies on the way: that goes first. A read that comes meanwhile waits for
 * the write. */
TEST(sluice_uses_the_way_to_a_write_for_another_and_then_goes_it)
{
    const struct policy *p = sluice_in_a_gap();
    u64 now_ns = clock_now_ns;
    struct request candidates[1];
    add_candidate(p, candidates, (u64[]){WAY}, 1);
    check_eq(serve_at(p, now_ns)->sector, WAY);
    submit(p, &requests[2], 350, false);
    check_eq(serve_at(p, now_ns + 50000)->sector, 90);
    check_eq(counter_of(p, "bargains"), 1);
}

/* The scheduler first goes to the place before a write. The write leaves, so it
 * chooses nothing, also when the write comes again. */
TEST(sluice_goes_no_way_to_a_write_that_is_gone)
{
    const struct policy *p = sluice_in_a_gap();
    u64 now_ns = clock_now_ns;
    struct request candidates[1];
    add_candidate(p, candidates, (u64[]){WAY}, 1);
    check_eq(serve_at(p, now_ns)->sector, WAY);
    queue_take(&queue, &requests[1]);
    check(!next_at(p, now_ns + 50000));
    submit(p, &requests[1], 90, true);
    check(!next_at(p, now_ns + 60000));
}

/* ---- what is queued, and what is served ---- */

/*
 * Examples as scripts (script.h) of sectors:
 *
 *   head 53           the head is there
 *   queue 98 183      these are queued, every third a write, from the first on
 *   read 98; write 5  a read, a write; waited 5: a write that is waited for
 *   offer 10 50       dirty blocks; again 50: that one is modified again
 *   gone 350          this request leaves the queue
 *   serve 65 67       these are served, when the scheduler wants it
 *   at 1010000        the time is this (ns)
 *   go 90             this is served at this time
 *   next 90           this would be; none: none would be
 *   again_at 1037000  then the scheduler wants to be asked again
 *   now_ms 1500       the time is this
 *   turn 101000       how long a turn of the platter takes; 0: there is none
 *   done 2000000      the drive has a command until then
 *   restart           an empty queue, and the policy begins anew
 *   set NAME=VALUE    a tunable; NAME VALUE: a counter is this
 */
static const struct example {
    const char *name, *policy, *steps;
} examples[] = {
    {"fcfs_serves_in_order_of_arrival", "fcfs",
     "head 53; queue 98 183 37 122 14 124 65 67;"
     "serve 98 183 37 122 14 124 65 67; empty"},
    {"clook_rises_then_returns_to_the_lowest", "clook",
     "head 53; queue 98 183 37 122 14 124 65 67;"
     "serve 65 67 98 122 124 183 14 37; empty"},
    {"cscan_serves_in_that_order_too", "cscan",
     "head 53; queue 98 183 37 122 14 124 65 67;"
     "serve 65 67 98 122 124 183 14 37; empty"},
    /* Heads stop at the end of what they serve: from 68, 98 is nearer than
     * 37. */
    {"sstf_takes_the_nearest", "sstf",
     "head 53; queue 98 183 37 122 14 124 65 67;"
     "serve 65 67 98 122 124 183 37 14; empty"},
    {"sstf_takes_the_lower_of_two_as_near", "sstf",
     "head 100; queue 110 90; serve 90 110; empty"},
    {"scan_rises_then_falls", "scan",
     "head 66; queue 98 183 37 122 14 124 65 67;"
     "serve 67 98 122 124 183 65 37 14; empty;"
     "restart; head 53; queue 98 183 37 122 14 124 65 67;"
     "serve 65 67 98 122 124 183 37 14; empty;"
     "restart; head 500; queue 98 183 37 122 14 124 65 67;"
     "serve 183 124 122 98 67 65 37 14; empty"},
    {"scan_leaves_what_it_has_passed_for_the_way_back", "scan",
     "head 50; write 60 70; serve 60; write 55 80; serve 70 80 55;"
     "write 55 40 90; serve 40 55 90"},

    {"purp_serves_reads_first_each_kind_in_order_of_arrival", "purp",
     "write 25; read 50; write 5; read 10 30; serve 50 10 30 25; read 70;"
     "serve 70 5; empty; overtaken 4"}, /* all reads but one were younger */
    {"purp_serves_writes_that_are_waited_for_with_reads_if_told_to", "purp",
     "write 25; waited 35; read 50; waited 5; read 30; serve 50 30 25 35 5;"
     "set waited=1; write 25; waited 35; read 50; waited 5; read 30;"
     "serve 35 50 5 30 25; empty"},

    {"deadline_serves_batches_and_goes_on_where_each_sweep_stopped", "deadline",
     "set fifo_batch=2 writes_starved=1;"
     "write 25; read 40; write 35; read 20; write 15; read 60 10 50 30;"
     "serve 10 20 15 25; read 12;" /* the reads' sweep has passed it */
     "serve 30 40 35 50 60 12; empty;"
     "read_batches 4; write_batches 2; expired 0"},
    {"deadline_passes_writes_over_as_often_as_it_may", "deadline",
     "set fifo_batch=1; write 5; read 10; write 15; read 20 30 40 50;"
     "serve 10 20 5 30 40 15 50"},

    {"opportunistic_takes_dirty_blocks_near_the_ends_of_its_way",
     "opportunistic",
     "set near_sectors=10 most=2; offer 10 50 90 120 205; read 100 200;"
     "serve 10 90 100 200; write 300; serve 205 300;"
     "read 60; serve 60;" /* on the way back, there is no way */
     "taken 3"},
    {"opportunistic_delays_a_request_by_no_more_than_it_may", "opportunistic",
     "offer 1 2 3 4 5 6; read 3 4 90; serve 1 3 4 5 90; set most=0; read 95;"
     "serve 95"},

    /* Groups of 16; 40 was modified again. */
    {"wow_writes_groups_in_circular_order_and_spares_the_modified_once", "wow",
     "set group_sectors=16 high_blocks=4 low_blocks=1; offer 64 0 40 16 8;"
     "again 40; serve 0 8 16 64; none;" /* 1 is left */
     "offer 20 100 4; none;   "         /* 4 are */
     "offer 41; serve 100 4 20 40; none; groups 7; spared 1"},
    {"wow_spares_a_group_for_one_of_its_blocks", "wow",
     "set group_sectors=16 high_blocks=0 low_blocks=0; offer 0 8 16 31;"
     "again 31; serve 0 8 16 31;" /* the circle closes */
     "offer 0 8 16 31; again 8; serve 16 31 0 8"},
    {"wow_that_spares_nothing_is_cscan", "wow",
     "set group_sectors=16 high_blocks=0 low_blocks=0 spare=0;"
     "offer 40 8 16 24; again 8 24; serve 8 16 24 40; spared 0"},
    {"wow_serves_what_is_queued_first", "wow",
     "set high_blocks=0 low_blocks=0; offer 1 2 3; serve 1; write 60; read 70;"
     "serve 60 70 2 3"},

    {"freeblock_counts_a_request_that_a_free_write_made_late", "freeblock",
     "offer 10 345 360; read 350; at 1000000; go 10; at 1011000; go 345;"
     "at 1046000; go 350; late 0; read 370; at 1051000; go 360; at 1080000;"
     "go 370; free 3; late 1"}, /* it was to go at 1070000 */
    /* 348 has come since the free write was chosen. So 350 goes first, although
     * the sweep would pass 348 first; and the sweep goes on from 350. */
    {"freeblock_goes_to_the_request_that_the_free_write_was_for", "freeblock",
     "offer 345; read 350; at 1000000; go 345; read 200 348; at 1046000;"
     "go 350; late 0; read 360; at 1051000; go 360; at 1061000; go 200;"
     "at 1300000; go 348"},
    /* 350 has left the queue meanwhile: it may have joined the write. */
    {"freeblock_goes_on_where_its_sweep_was_if_that_request_has_gone",
     "freeblock",
     "offer 345; read 350 360 352; at 1000000; go 345; gone 350; read 200;"
     "at 1046000; go 200; at 1300000; go 352"},
    {"freeblock_writes_nothing_for_free_without_a_model", "freeblock",
     "no_model; offer 1; read 350; serve 350"},

    /* One each second, in the last tick but one and not before: none is
     * dispatched early without need. */
    {"sluice_keeps_a_lone_block_until_it_is_due", "sluice",
     "set age_ms=2000 early=100; offer 10; serve 10; now_ms 1500"},
    {"sluice_takes_no_block_for_nothing_that_was_modified_again", "sluice",
     "set free=100; offer 10; again 10; read 350; at 1000000; go 350"},
    /* 400 before 350 costs a turn, 100 us, and is owed since tick 2. */
    {"sluice_pays_a_price_once_a_write_has_been_owed_for_as_long", "sluice",
     "set age_ms=1000; offer 400 500; read 350; at 500000000; next 350;"
     "at 500100000; go 400; paid 1; price 100000;"
     "head 0; at 900000000; go 350;" /* a read after a write */
     "read 350; head 0; at 910000000; go 500"},
    /* 330 is under the head as soon as the head is there: no time to look. */
    {"sluice_pays_where_a_read_leaves_no_time_to_look", "sluice",
     "set age_ms=1000; offer 400; read 330; at 500000000; next 330;"
     "at 501000000; next 400"},
    /* As with a price; but a turn may take longer. */
    {"sluice_looks_for_what_costs_something_once_a_turn_is_allowed", "sluice",
     "set age_ms=1000; turn 100000; offer 400 500; read 350; at 500000000;"
     "next 350; at 500100000; next 400;"
     "restart; set age_ms=1000; turn 101000; offer 400 500; read 350;"
     "at 500000000; next 350; at 500100000; next 350"},
    /* For a turn after a read is done, another read is expected. */
    {"sluice_expects_a_read_to_follow_a_read", "sluice",
     "read 350; at 1000000; go 350; write 90; at 1060000; none;"
     "again_at 1160000; at 1160000; go 90"},
    /* Nothing is cheaper beside a read. 400 is owed since tick 2, and 500 half
     * a second later. */
    {"sluice_writes_where_no_platter_turns_while_no_read_waits_or_is_late",
     "sluice",
     "set age_ms=1000; turn 0; offer 400 500; read 350;"
     "at 500000000; next 350; at 624999999; next 350; at 625000000; next 400;"
     "at 600000000; go 350; at 600009000; serve 400; now_ms 625"},
    /* The head is at 0. Dirty blocks go by age, queued writes where it is
     * soonest. */
    {"sluice_writes_on_an_idle_disk_the_oldest_block_but_the_nearest_request",
     "sluice",
     "set age_ms=1000; offer 500 400; at 500000000; go 500;"
     "restart; set age_ms=1000; write 500 90; at 400100000; go 90"},
    {"sluice_has_a_write_that_is_waited_for_go_as_a_read", "sluice",
     "read 350; at 1000000; go 350; waited 90; at 1060000; go 90;"
     "at 1070000; again_at never"},
    {"sluice_gives_a_drive_one_command_at_a_time", "sluice",
     "read 350; done 2000000; at 1999999; none; at 2000000; next 350"},

    /* At 100 ms sector 0 is under the head. 105 is a track away, but it has
     * passed when the head is there, and comes again at 105 us; 350 begins at
     * 50 us; then 95 is begun at 195, and 60 at 160. */
    {"satf_takes_the_request_that_the_head_reaches_soonest", "satf",
     "set ageing=0; read 105; write 350; read 95; write 60; at 100000000;"
     "go 350; at 100051000; go 95; passed_over 2; aged 0"},
    {"satf_takes_the_lower_of_two_that_are_reached_at_one_time", "satf",
     "set ageing=0; read 110 10; at 100000000; next 10"},
    {"satf_takes_the_oldest_where_there_is_no_model", "satf",
     "no_model; head 53; queue 98 183 37 122 14; serve 98 183 37 122 14;"
     "empty"},
    {"kyber_has_the_device_do_the_first_in_where_there_is_no_model", "kyber",
     "head 53; queue 98 183 37 122 14 124;"
     "serve 183 37 14 124 98 122; empty"}, /* reads, then writes */
};

/* The policy of an example, and how many requests and dirty blocks there
 * were. */
static struct {
    const struct policy *policy;
    u32 queued, candidate_writes;
} ex;

/* freeblock, satf and Sluice have the toy drive; Sluice's blocks become dirty
 * at 0, where the clock begins. */
static void begin_example(const char *policy)
{
    memset(&ex, 0, sizeof ex);
    if (strcmp(policy, "sluice") == 0) {
        ex.policy = sluice(30000, 0);
        return;
    }
    ex.policy = policy_named(POLICY_SCHED, policy);
    queue_init(&queue, 0);
    if (strcmp(policy, "freeblock") == 0 || strcmp(policy, "satf") == 0)
        drive_approaches = toy_drive;
}

/* Return the queued request at that sector. */
static struct request *queued_at(u64 sector)
{
    for (u32 i = 0; i < ex.queued; i++)
        if (requests[i].queue && requests[i].sector == sector)
            return &requests[i];
    check(!"queued");
    return NULL;
}

/* Queue a write for which a process waits. */
static void submit_waited(u64 sector)
{
    struct request *r = &requests[ex.queued++];
    *r = (struct request){.sector = sector,
                          .nsectors = 1,
                          .write = true,
                          .waited = true,
                          .queued_ns = clock_now_ns};
    queue_add(&queue, r);
    ex.policy->sched.queued(&queue, r, clock_now_ns);
}

/* Note that the dirty block of this sector was modified again: of several
 * candidates for the sector, the first. */
static void modify_again(u64 sector)
{
    u32 i = 0;
    while (!candidate_writes[i].queue || candidate_writes[i].sector != sector)
        check(++i < ex.candidate_writes);
    candidate_writes[i].again = true;
}

/* Do a verb that changes the queue, the head or the clock. False: it is none of
 * these. */
static bool do_to_queue(const char *verb, u64 n)
{
    const struct policy *p = ex.policy;
    if (strcmp(verb, "queue") == 0)
        submit(p, &requests[ex.queued], n, ex.queued % 3 == 0), ex.queued++;
    else if (strcmp(verb, "read") == 0 || strcmp(verb, "write") == 0)
        submit(p, &requests[ex.queued++], n, *verb == 'w');
    else if (strcmp(verb, "waited") == 0)
        submit_waited(n);
    else if (strcmp(verb, "offer") == 0)
        add_candidate(p, &candidate_writes[ex.candidate_writes++], &n, 1);
    else if (strcmp(verb, "again") == 0)
        modify_again(n);
    else if (strcmp(verb, "gone") == 0)
        queue_take(&queue, queued_at(n));
    else if (strcmp(verb, "head") == 0)
        queue.head_sector = n;
    else if (strcmp(verb, "at") == 0)
        clock_now_ns = n;
    else if (strcmp(verb, "turn") == 0)
        queue.turn_ns = n;
    else if (strcmp(verb, "done") == 0)
        queue.done_ns = n;
    else
        return false;
    return true;
}

static void check_goes_now(u64 sector)
{
    u64 now_ns = clock_now_ns;
    check_eq(serve_at(ex.policy, now_ns)->sector, sector);
    check_eq(clock_now_ns, now_ns);
}

/* Do a verb that expects n: the sector that is served or chosen next, when the
 * scheduler wants to be asked, or a counter. */
static void check_queue(const char *verb, u64 n)
{
    const struct policy *p = ex.policy;
    if (strcmp(verb, "serve") == 0)
        check_eq(serve(p)->sector, n);
    else if (strcmp(verb, "go") == 0)
        check_goes_now(n);
    else if (strcmp(verb, "next") == 0)
        check_eq(next_at(p, clock_now_ns)->sector, n);
    else if (strcmp(verb, "again_at") == 0)
        check_eq(p->sched.again_ns(&queue, clock_now_ns), n);
    else if (strcmp(verb, "now_ms") == 0)
        check_eq(clock_now_ns / NS_PER_MS, n);
    else
        check_eq(counter_of(p, verb), n);
}

/* Do one word of a step of an example. */
static void do_word(const char *verb, const char *word)
{
    if (strcmp(verb, "restart") == 0)
        begin_example(ex.policy->name);
    else if (strcmp(verb, "no_model") == 0)
        drive_approaches = NULL;
    else if (strcmp(verb, "empty") == 0)
        check(queue_empty(&queue));
    else if (strcmp(verb, "none") == 0)
        check(!next_at(ex.policy, clock_now_ns));
    else if (strcmp(verb, "set") == 0)
        tunable_named(ex.policy, name_in(word))->value = value_in(word);
    else if (strcmp(word, "never") == 0)
        check_queue(verb, NEVER_NS);
    else if (!do_to_queue(verb, range_of(word).first))
        check_queue(verb, range_of(word).first);
}

TEST_ROWS(example, struct example, examples)
{
    begin_example(row->policy);
    script_run(row->steps, do_word);
}

/* ---- SATF ---- */

/* satf with the toy drive, and an empty queue: the head is at 0. */
static const struct policy *satf(void)
{
    const struct policy *p = policy_named(POLICY_SCHED, "satf");
    drive_approaches = toy_drive;
    queue_init(&queue, 0);
    return p;
}

/* At 100 ms sector 0 is under the head. 105 is a track away, but it has passed
 * when the head is there, and comes again at 105 us; 350 begins at 50 us. */
#define SATF_NS 100000000UL

/* 350 is begun 55 us before 105, which are 6 thousandths of 9,166.7 us. */
TEST(satf_has_the_time_waited_count_by_ageing)
{
    for (u64 waited_us = 9166; waited_us <= 9167; waited_us++) {
        const struct policy *p = satf();
        submit(p, &requests[0], 105, false);
        requests[0].queued_ns = SATF_NS - waited_us * 1000;
        submit(p, &requests[1], 350, true);
        requests[1].queued_ns = SATF_NS;
        check_eq(next_at(p, SATF_NS)->sector, waited_us == 9166 ? 350 : 105);
    }
    check_eq(counter_of(policy_named(POLICY_SCHED, "satf"), "aged"), 1);
}

/* How many near requests go before a far one, of MANY that keep coming. */
static u32 near_ones_first(u64 ageing)
{
    const struct policy *p = satf();
    u32 n = 1;
    tunable_named(p, "ageing")->value = ageing;
    submit(p, &requests[0], 9000, true);
    for (; n < MANY; n++) {
        submit(p, &requests[n], n % 100, false);
        if (serve_at(p, clock_now_ns + 10000000) == &requests[0])
            break;
    }
    return n - 1;
}

/* The far request would begin 800 to 1000 us later than a near one. That is 6
 * thousandths of 133 to 167 ms, and every 10 ms a near one goes. */
TEST(satf_starves_a_far_request_unless_its_age_counts)
{
    check_eq(near_ones_first(0), MANY - 1);
    u32 n = near_ones_first(6);
    check(n >= 12 && n <= 17);
}

/* It refuses while disk 0 alone is there, and not with a second disk that has a
 * model. */
TEST(satf_refuses_a_machine_where_no_disk_has_a_model)
{
    const struct policy *p = policy_named(POLICY_SCHED, "satf");
    model_start("none");
    check(p->refuses() != NULL);
    model.disks = 2;
    model.others[0].modelled = true;
    check(!p->refuses());
}

/* ---- BFQ ---- */

/* A process's request of this many sectors. */
static void ask(const struct policy *p, struct request *r, u32 pid, u64 sector,
                u32 nsectors)
{
    *r = (struct request){.sector = sector,
                          .nsectors = nsectors,
                          .pid = pid,
                          .queued_ns = clock_now_ns};
    queue_add(&queue, r);
    p->sched.queued(&queue, r, clock_now_ns);
}

/* A write that no process waits for. */
static void leave_write(const struct policy *p, struct request *r, u64 sector,
                        u32 nsectors)
{
    *r = (struct request){.sector = sector,
                          .nsectors = nsectors,
                          .write = true,
                          .pid = 7,
                          .queued_ns = clock_now_ns};
    queue_add(&queue, r);
    p->sched.queued(&queue, r, clock_now_ns);
}

/* The next command is of this process, and takes this long. */
static void serve_for(const struct policy *p, u32 pid, u64 us)
{
    struct request *r = serve(p);
    check_eq(r->pid, pid);
    queue.last_ns = clock_now_ns;
    queue.done_ns = clock_now_ns += us * 1000;
}

/* bfq with these budgets at 1 s, and an empty queue. */
static const struct policy *bfq(u64 most, u64 least)
{
    const struct policy *p = policy_named(POLICY_SCHED, "bfq");
    tunable_named(p, "max_sectors")->value = most;
    tunable_named(p, "min_sectors")->value = least;
    queue_init(&queue, 0);
    clock_now_ns = NS_PER_S;
    return p;
}

/* Requests of 8 sectors and of 2 of two processes, and of writes: whenever all
 * have some, the sectors served differ by no more than two largest budgets. */
TEST(bfq_gives_each_process_as_many_sectors_as_another)
{
    const struct policy *p = bfq(64, 8);
    const u32 nsectors[] = {8, 2, 4}, n[] = {50, 200, 100};
    u64 served[3] = {0};
    struct request *r = requests;
    for (u32 who = 0; who < 3; who++) {
        for (u32 i = 0; i < n[who]; i++, r++) {
            if (who == 2)
                leave_write(p, r, 90000 + 4 * i, 4);
            else
                ask(p, r, who + 1, 10000 * who + 8 * i, nsectors[who]);
        }
    }
    while (served[0] < 400 && served[1] < 400 && served[2] < 400) {
        r = serve(p);
        served[r->write ? 2 : r->pid - 1] += r->nsectors;
        for (u32 i = 1; i < 3; i++)
            check(served[i] <= served[0] + 128 && served[0] <= served[i] + 128);
    }
}

/* Two processes with much to read: turns of 8, 16, 32 and then 64 sectors. */
TEST(bfq_doubles_a_budget_that_was_used_up)
{
    const struct policy *p = bfq(64, 8);
    for (u32 i = 0; i < 60; i++) {
        ask(p, &requests[i], 1, 8 * i, 8);
        ask(p, &requests[100 + i], 2, 90000 + 8 * i, 8);
    }
    const u32 turns[] = {1, 1, 2, 2, 4, 4, 8, 8, 8, 8};
    for (u32 turn = 0; turn < NELEM(turns); turn++) {
        for (u32 i = 0; i < turns[turn]; i++)
            serve_for(p, turn % 2 + 1, 100);
    }
    check_eq(counter_of(p, "used_up"), 9); /* the last is not over yet */
    check_eq(counter_of(p, "turns"), 10);
    check_eq(counter_of(p, "emptied"), 0);
}

/* Reads of one process: each begins where the last ended. */
TEST(bfq_waits_for_a_process_that_reads_one_request_after_the_other)
{
    const struct policy *p = bfq(64, 8);
    ask(p, &requests[0], 1, 800, 1);
    ask(p, &requests[1], 2, 90000, 1);
    serve_for(p, 1, 1000);
    u64 done_ns = clock_now_ns;
    check(!next_at(p, done_ns + 1000));
    check_eq(p->sched.again_ns(&queue, clock_now_ns), done_ns + 8000000);
    clock_now_ns = done_ns + 7000000;
    ask(p, &requests[2], 1, 801, 1);
    serve_for(p, 1, 1000);
    check_eq(counter_of(p, "idled"), 1);
    check_eq(counter_of(p, "came"), 1);
    done_ns = clock_now_ns;
    check(!next_at(p, done_ns + 7999999));
    check_eq(next_at(p, done_ns + 8000000)->pid, 2);
    check_eq(counter_of(p, "emptied"), 1);
    tunable_named(p, "idle_us")->value = 0;
    serve_for(p, 2, 1000);
    ask(p, &requests[3], 1, 802, 1);
    check_eq(next_at(p, clock_now_ns)->pid, 1);
}

/* The process takes 9 ms to ask again. After 18 times its average is over 8 ms,
 * for which the disk would wait. */
TEST(bfq_does_not_wait_for_a_process_that_lets_it_wait)
{
    const struct policy *p = bfq(64, 8);
    u32 waits = 0;
    ask(p, &requests[99], 2, 90000, 1);
    for (u32 i = 0; i < 30; i++) {
        ask(p, &requests[i], 1, i, 1);
        while (requests[i].queue)
            serve(p);
        queue.last_ns = queue.done_ns = clock_now_ns;
        if (!requests[99].queue)
            ask(p, &requests[99], 2, 90000, 1);
        waits += !next_at(p, clock_now_ns + 1000);
        clock_now_ns = queue.done_ns + 9000000;
    }
    check_eq(waits, 17);
}

/* Requests are 1,000 sectors from each other: the ninth is one too many. */
TEST(bfq_waits_for_a_seeky_process_for_a_shorter_time)
{
    const struct policy *p = bfq(64, 64);
    for (u32 i = 1; i <= 9; i++) {
        ask(p, &requests[i], 1, 1000 * i, 1);
        if (i == 1)
            ask(p, &requests[99], 2, 900000, 1);
        serve_for(p, 1, 1000);
        check(!next_at(p, clock_now_ns));
        check_eq(p->sched.again_ns(&queue, clock_now_ns) - queue.done_ns,
                 i < 9 ? 8000000 : 2000000);
    }
}

/* The first process takes 30 ms for each sector, so its turn ends after five.
 * It is charged for 64 all the same. So the other process reads 64 sectors
 * before the first has another turn. */
TEST(bfq_ends_a_turn_by_the_time_and_charges_the_most_for_it)
{
    const struct policy *p = bfq(64, 8);
    for (u32 i = 0; i < 20; i++)
        ask(p, &requests[i], 1, i, 1);
    for (u32 i = 0; i < 200; i++)
        ask(p, &requests[100 + i], 2, 90000 + i, 1);
    tunable_named(p, "min_sectors")->value = 64;
    for (u32 i = 0; i < 5; i++)
        serve_for(p, 1, 30000);
    for (u32 i = 0; i < 64; i++)
        serve_for(p, 2, 1);
    for (u32 i = 0; i < 5; i++)
        serve_for(p, 1, 30000);
    serve_for(p, 2, 1);
    check_eq(counter_of(p, "timed_out"), 2);
}

/* Two processes have budgets of 64 sectors by now, which are eight requests. A
 * third that comes has one of 8, and so the earliest finish: it is next. */
TEST(bfq_serves_a_process_that_reads_little_before_one_that_reads_much)
{
    const struct policy *p = bfq(64, 8);
    for (u32 i = 0; i < 100; i++) {
        ask(p, &requests[i], 1, 8 * i, 8);
        ask(p, &requests[100 + i], 3, 70000 + 8 * i, 8);
    }
    for (u32 i = 0; i < 50; i++)
        serve(p);
    ask(p, &requests[300], 2, 90000, 1);
    u64 before = queue.length[SET_READS];
    while (requests[300].queue)
        serve(p);
    check(before - queue.length[SET_READS] <= 8 + 1);
}

/* A hundred processes share 64 queues, and each request is served. */
TEST(bfq_serves_more_processes_than_it_has_queues_for)
{
    const struct policy *p = bfq(64, 8);
    for (u32 round = 0; round < 2; round++) {
        for (u32 i = 0; i < 200; i++)
            ask(p, &requests[i], 1 + i + 100 * round, i / 2, 1);
        for (u32 i = 0; i < 200; i++)
            serve(p);
        check(queue_empty(&queue));
    }
}

TEST(bfq_refuses_a_least_budget_above_the_largest)
{
    const struct policy *p = bfq(64, 64);
    check(!p->refuses());
    tunable_named(p, "min_sectors")->value = 65;
    check(p->refuses() != NULL);
}

/* ---- Kyber ---- */

/* Start Kyber for a device of that depth, with an empty queue, at 1 s. */
static const struct policy *kyber(u64 device_depth)
{
    const struct policy *p = policy_named(POLICY_SCHED, "kyber");
    tunable_named(p, "device_depth")->value = device_depth;
    queue_init(&queue, 0);
    clock_now_ns = NS_PER_S;
    return p;
}

/* Queue this many reads and writes, the first of each at the highest sector. */
static void submit_falling(const struct policy *p, u32 reads, u32 writes)
{
    for (u32 i = 0; i < reads; i++)
        ask(p, &requests[i], 1, 1000 - i, 1);
    for (u32 i = 0; i < writes; i++)
        leave_write(p, &requests[100 + i], 2000 - i, 1);
}

/* 20 reads and 10 writes are queued, and the device holds one request. */
TEST(kyber_lets_16_reads_and_8_writes_in_by_turns_in_order_of_arrival)
{
    const struct policy *p = kyber(1);
    submit_falling(p, 20, 10);
    for (u32 i = 0; i < 16; i++)
        check(serve(p) == &requests[i]);
    for (u32 i = 0; i < 8; i++)
        check(serve(p) == &requests[100 + i]);
    for (u32 i = 16; i < 20; i++)
        check(serve(p) == &requests[i]);
    for (u32 i = 8; i < 10; i++)
        check(serve(p) == &requests[100 + i]);
    check_eq(counter_of(p, "read_batches"), 2);
    check_eq(counter_of(p, "write_batches"), 2);
}

/* The requests are those of SATF above: 105 would begin 55 us later than 350.
 * 105 is preferred once it has been in the device for 8 * 55 = 440 us. */
TEST(kyber_has_the_device_do_next_what_the_head_reaches_soonest)
{
    for (u64 waited_us = 439; waited_us <= 441; waited_us += 2) {
        const struct policy *p = kyber(32);
        drive_approaches = toy_drive;
        submit(p, &requests[0], 105, false);
        next_at(p, SATF_NS - waited_us * 1000);
        submit(p, &requests[1], 350, true);
        check_eq(next_at(p, SATF_NS)->sector, waited_us == 439 ? 350 : 105);
    }
}

/* Of four places, writes that are not waited for may have three: then a read
 * that comes later is the fourth in. */
TEST(kyber_keeps_a_quarter_of_the_device_for_what_is_waited_for)
{
    for (u32 waited = 0; waited < 2; waited++) {
        const struct policy *p = kyber(4);
        for (u32 i = 0; i < 8; i++) {
            requests[i] = (struct request){
                .sector = i, .nsectors = 1, .write = true, .waited = waited};
            queue_add(&queue, &requests[i]);
            p->sched.queued(&queue, &requests[i], clock_now_ns);
        }
        check_eq(serve(p)->sector, 0);
        ask(p, &requests[8], 1, 100, 1);
        for (u32 i = 0; i < 3 - !waited; i++)
            check(serve(p)->write);
        check_eq(serve(p)->write, waited);
    }
}

/* A second in which each command takes 3 ms, and a read or a write comes for
 * each that went. */
static void kyber_second(const struct policy *p)
{
    u64 end_ns = clock_now_ns + 1100 * NS_PER_MS;
    while (clock_now_ns < end_ns) {
        struct request *r = serve(p);
        queue.last_ns = clock_now_ns;
        queue.done_ns = clock_now_ns += 3 * NS_PER_MS;
        if (r->write)
            leave_write(p, r, r->sector, 1);
        else
            ask(p, r, 1, r->sector, 1);
    }
}

/* How many writes go before the read, which comes again. */
static u64 writes_before_read(const struct policy *p)
{
    u64 n = 0;
    struct request *r;
    for (; (r = serve(p))->write; n++)
        leave_write(p, r, r->sector, 1);
    ask(p, r, 1, r->sector, 1);
    return n;
}

/* One read and 100 writes: reads are to take 20 ms, which is six commands, and
 * writes may take 10 s. So writes have 24 places at first; then fewer and
 * fewer, until a read meets its target: behind five writes at most. */
TEST(kyber_throttles_the_domain_that_meets_its_target_while_another_does_not)
{
    const struct policy *p = kyber(32);
    tunable_named(p, "read_lat_us")->value = 20000;
    tunable_named(p, "write_lat_us")->value = 10000000;
    submit_falling(p, 1, 100);
    check_eq(writes_before_read(p), 0);
    check(writes_before_read(p) >= 20);
    for (u32 s = 0; s < 5; s++)
        kyber_second(p);
    check(counter_of(p, "congested") > 0);
    check(counter_of(p, "shallower") > 0);
    check(counter_of(p, "no_token") > 0);
    u64 most = 0;
    for (u32 i = 0; i < 10; i++)
        most = MAX(most, writes_before_read(p));
    check(most >= 1 && most <= 5);
}

/* With targets that nothing meets, both depths stay as they are; and they grow
 * again if it is the writes that miss theirs. */
TEST(kyber_gives_tokens_back_to_a_domain_that_misses_its_target)
{
    const struct policy *p = kyber(32);
    submit_falling(p, 1, 100);
    for (u32 s = 0; s < 3; s++)
        kyber_second(p);
    check_eq(counter_of(p, "shallower"), 0);
    tunable_named(p, "write_lat_us")->value = 10000000;
    for (u32 s = 0; s < 5; s++)
        kyber_second(p);
    u64 shallower = counter_of(p, "shallower");
    check(shallower > 0);
    check_eq(counter_of(p, "deeper"), 0);
    tunable_named(p, "write_lat_us")->value = 10000;
    tunable_named(p, "read_lat_us")->value = 10000000;
    for (u32 s = 0; s < 5; s++)
        kyber_second(p);
    check(counter_of(p, "deeper") > 0);
}

/* Run random arrivals and dispatches, with or without candidates, and check
 * that each request is served exactly once. */
static void run_random(const struct policy *p, u64 seed)
{
    u32 submitted = 0, served = 0, times[MANY] = {0};
    u64 sectors[100];

    if (p->start)
        p->start();
    queue_init(&queue, 0);
    for (u32 i = 0; i < NELEM(sectors); i++)
        sectors[i] = random_u64(&seed) % 10000 * 8;
    add_candidate(p, candidate_writes, sectors, NELEM(sectors));
    while (served < MANY) {
        bool full = submitted == MANY, empty = submitted == served;
        if (empty || (!full && random_u64(&seed) % 2)) {
            submit(p, &requests[submitted], random_u64(&seed) % 10000 * 8,
                   random_u64(&seed) % 2);
            submitted++;
        } else {
            struct request *r = serve(p);
            if (r->candidate)
                continue;
            check_eq(++times[r - requests], 1);
            served++;
        }
    }
    check(queue_empty(&queue));
    if (p->stop)
        p->stop();
}

TEST(every_scheduler_serves_each_request_once)
{
    POLICY_EACH (p)
        for (u64 seed = 0; (*p)->kind == POLICY_SCHED && seed < 50; seed++) {
            policy_start(*p);
            run_random(*p, seed);
        }
}

/* Each tunable in turn has its least and its largest value, for a run of random
 * requests. */
TEST(every_scheduler_serves_each_request_once_at_its_tunables_extremes)
{
    model_start("none");
    model.queue.modelled = true;
    drive_approaches = toy_drive;
    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_SCHED)
            continue;
        policy_start(*p);
        for (struct tunable *t = (*p)->tunables; t && t->name; t++) {
            u64 values[] = {t->min, t->max};
            for (u32 i = 0; i < NELEM(values); i++) {
                t->value = values[i];
                if (!(*p)->refuses || !(*p)->refuses())
                    run_random(*p, i);
            }
            t->value = t->def;
        }
    }
}

/* The kernel swaps by taking the new policy through `start`, then telling it
 * of the requests that are there. */
TEST(no_request_is_lost_between_any_two_schedulers)
{
    POLICY_EACH (from)
        POLICY_EACH (to) {
            if ((*from)->kind != POLICY_SCHED || (*to)->kind != POLICY_SCHED)
                continue;
            policy_start(*from);
            queue_init(&queue, 0);
            for (u32 i = 0; i < 40; i++)
                submit(*from, &requests[i], 8 * ((i * 37) % 41), i % 2);
            for (u32 i = 0; i < 20; i++)
                serve(*from);
            if ((*from)->stop)
                (*from)->stop();
            policy_start(*to);
            for (u32 i = 0; i < 40; i++)
                if (requests[i].queue && (*to)->sched.queued)
                    (*to)->sched.queued(&queue, &requests[i], clock_now_ns);
            for (u32 i = 0; i < 20; i++)
                serve(*to);
            check(queue_empty(&queue));
        }
}

/* ---- what a scheduler refuses ---- */

/* The low mark may be 256, the high one, and no higher. */
TEST(wow_refuses_a_low_mark_above_the_high_one)
{
    const struct policy *p = policy_named(POLICY_SCHED, "wow");
    check(!p->refuses());
    tunable_named(p, "low_blocks")->value = 256; /* as high_blocks */
    check(!p->refuses());
    tunable_named(p, "low_blocks")->value = 257;
    check(p->refuses() != NULL);
}

TEST(freeblock_refuses_a_machine_where_no_disk_has_a_model)
{
    const struct policy *p = policy_named(POLICY_SCHED, "freeblock");
    model_start("none");
    check(p->refuses() != NULL);
    model.disks = 3;
    check(p->refuses() != NULL);
    model.others[1].modelled = true;
    check(!p->refuses());
    model.disks = 2;
    check(p->refuses() != NULL);
    model.queue.modelled = true;
    check(!p->refuses());
}

/* A drive on which 350 is begun a nanosecond later after a write. */
static struct approach almost_free(const struct queue *q, u64 start_ns,
                                   const struct request *first, u64 gap_ns,
                                   const struct request *r)
{
    struct approach a = toy_drive(q, start_ns, first, gap_ns, r);
    a.begin_ns += first != NULL;
    return a;
}

/* With the candidate first, the read at 350 would begin 1 ns later, so the read
 * goes. */
TEST(freeblock_writes_nothing_that_costs_a_nanosecond)
{
    const struct policy *p = freeblock(0);
    struct request candidates[1];
    drive_approaches = almost_free;
    add_candidate(p, candidates, (u64[]){10}, 1);
    submit(p, &requests[0], 350, false);
    check_eq(next_at(p, 1000000)->sector, 350);
}

/* ---- Sluice's choice among those that wait ---- */

/* Return which of these reads is served first. The head is at 0. */
static u64 first_of(const u64 *sectors, u32 n)
{
    const struct policy *p = sluice(30000, 0);
    for (u32 i = 0; i < n; i++)
        submit(p, &requests[i], sectors[i], false);
    return serve_at(p, 1000000)->sector;
}

/* Sectors 101 to 104 have passed when the head is on their track, so 150 can
 * begin before them. As the fourth request above the head, 150 is looked at,
 * and chosen. As the fifth, it is not looked at. */
TEST(sluice_looks_at_four_requests_above_the_head)
{
    check_eq(first_of((u64[]){101, 102, 103, 150}, 4), 150);
    check_eq(first_of((u64[]){101, 102, 103, 104, 150}, 5), 101);
}

/* Return which of these reads is served first, with the head at 199. The order
 * is circular: without the read of 915, 50 would be the next above, too. */
static u64 first_below(const u64 *sectors, u32 n)
{
    const struct policy *p = sluice(30000, 0);
    tunable_named(p, "ageing")->value = 0;
    for (u32 i = 0; i < n; i++)
        submit(p, &requests[i], sectors[i], false);
    queue.head_sector = 199;
    return next_at(p, 1010000)->sector;
}

TEST(sluice_looks_at_four_requests_below_the_head)
{
    check_eq(first_below((u64[]){915, 104, 103, 102, 50}, 5), 50);
    check_eq(first_below((u64[]){915, 105, 104, 103, 102, 50}, 6), 102);
    check_eq(first_below((u64[]){105, 104, 103, 102, 50}, 5), 50);
    check_eq(first_below((u64[]){50, 915, 105, 104, 103, 102}, 6), 50);
}

/* 90 would begin in 90 us, and 330 in 130 us. 330 has waited for 1 ms. `ageing`
 * percent of this count in its favour, divided by the two that are waiting. */
TEST(sluice_prefers_what_has_waited_longer_by_ageing)
{
    for (u64 percent = 7; percent <= 9; percent++) {
        const struct policy *p = sluice(30000, 0);
        tunable_named(p, "ageing")->value = percent;
        submit(p, &requests[0], 330, false);
        clock_now_ns += 1000000;
        submit(p, &requests[1], 90, false);
        u64 first = next_at(p, clock_now_ns)->sector;
        check_eq(first, percent > 7 ? 330 : 90);
    }
}

/* As above, but 90 is a write that a process waits for. The write would begin
 * 40 us before the read, which is 40 percent of a turn of 100 us. */
TEST(sluice_prefers_a_read_to_a_write_that_is_waited_for_by_favour)
{
    for (u64 percent = 39; percent <= 41; percent++) {
        const struct policy *p = sluice(30000, 0);
        tunable_named(p, "ageing")->value = 0;
        tunable_named(p, "favour")->value = percent;
        submit(p, &requests[0], 330, false);
        requests[1] = (struct request){.sector = 90,
                                       .nsectors = 1,
                                       .write = true,
                                       .waited = true,
                                       .queued_ns = clock_now_ns};
        queue_add(&queue, &requests[1]);
        p->sched.queued(&queue, &requests[1], clock_now_ns);
        u64 first = next_at(p, 1001000)->sector;
        if (percent != 40)
            check_eq(first, percent > 40 ? 330 : 90);
    }
}

/* Of two queued writes on an idle disk 360 is begun in 60 us and 90, for which
 * that leaves no time, in 90; nobody else waits, so 90 has all of its favour.
 */
TEST(sluice_prefers_of_queued_writes_too_what_has_waited_longer)
{
    for (u64 percent = 2; percent <= 4; percent++) {
        const struct policy *p = sluice(30000, 0);
        tunable_named(p, "ageing")->value = percent;
        submit(p, &requests[0], 90, true);
        clock_now_ns += 1000000;
        submit(p, &requests[1], 360, true);
        check_eq(next_at(p, 3002000)->sector, percent > 2 ? 90 : 360);
    }
}

/* A dirty block that was there before, long after power-on. */
TEST(sluice_that_takes_over_writes_what_is_dirty_at_its_age)
{
    const struct policy *p = sluice(30000, 10);
    struct request candidates[1];
    clock_now_ns = 100000000000;
    candidates[0] = (struct request){.sector = 10,
                                     .nsectors = 1,
                                     .write = true,
                                     .candidate = true,
                                     .queued_ns = clock_now_ns};
    queue_add(&queue, &candidates[0]);
    p->sched.queued(&queue, &candidates[0], clock_now_ns);
    serve(p);
    check_eq(clock_now_ns / 1000000, 129500);
}

/* Blocks whose tick passes while nothing is asked, more than a round of SLOTS
 * after power-on, are owed at once. */
TEST(sluice_owes_what_is_left_of_ticks_gone_by)
{
    const struct policy *p = sluice(1000, 0);
    struct request candidates[3];
    for (u32 i = 0; i < 3; i++) {
        candidates[i] =
            (struct request){.sector = 10 * i,
                             .nsectors = 1,
                             .write = true,
                             .candidate = true,
                             .queued_ns = 100000000000 + i * 250000000UL};
        clock_now_ns = candidates[i].queued_ns;
        queue_add(&queue, &candidates[i]);
        p->sched.queued(&queue, &candidates[i], clock_now_ns);
    }
    check_eq(serve_at(p, 103000000000)->sector, 0);
    check_eq(clock_now_ns, 103000000000);
    check_eq(serve(p)->sector, 10); /* three in this tick of 250 ms */
    check_eq(clock_now_ns / 1000000, 103083);
    check_eq(serve(p)->sector, 20);
    check_eq(clock_now_ns / 1000000, 103166);
}

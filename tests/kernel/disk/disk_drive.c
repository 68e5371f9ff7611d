/*
 * Disks with a drive model: when commands are done, which the drive takes up
 * first, approaches (a scheduler's question when the drive could begin a
 * request), and caches that are divided while they work.
 *
 * - Time passes in run_to_ns. submit("R0:100+2") submits a read of disk 0, 2
 *   sectors from 100 on; its end is the note "R100 done" (rig.h). The drive
 *   `fixed` takes 10 ms for a command.
 * - drive_service has a drive do a command, and returns when it is done. The
 *   tests call it on a copy of the disk's drive to know what must come.
 */
#include "drives/row.h"
#include "tests/support/native/told.h"
#include "kernel/policy/registry.h"

#define MS 1000000UL

/* ---- when a command is done ---- */

/* Return when a copy of the disk's drive has done this command. */
static u64 done_ns(struct drive *copy, u64 at_ns, u64 sector, u32 n, bool write)
{
    return drive_service(copy, at_ns, sector, n, write);
}

/* Each command takes 10 ms, and its data move at the end, not before.
 * (Histograms have the least time of a bucket.) */
TEST(data_move_when_the_model_says_that_the_command_is_done)
{
    boot_disks("drive=fixed");
    clock_now_ns = 5 * MS;
    submit("R0:100+2 R0:200+2");
    run_to_ns(15 * MS - 1);
    check_commands("");
    run_to_ns(15 * MS);
    check_commands("R0:100+2");
    check_notes("R100 done");
    check_eq(disk_get(0)->in_flight, 1);
    run_to_ns(25 * MS - 1);
    check_notes("");
    run_to_ns(25 * MS);
    check_notes("R200 done");
    check_counters("disk.", "reads 2, read_sectors 4, commands 2");
    check_hist("read_service", 0, "9961472 9961472", 20 * MS);
    check_hist("read_response", 0, "9961472 19922944", 30 * MS);
}

/* As a process: wait for a barrier, and note when it ends. */
static void order(void *end_ns)
{
    check_eq(disk_order(disk_get(0)), 0);
    *(u64 *)end_ns = clock_now_ns;
}

/* A write is done at here_ns and on the platters at durable_ns, as a copy of
 * the drive says. The barrier ends at the latter. */
TEST(a_barrier_waits_until_a_volatile_cache_is_on_the_platters)
{
    rig.can_flush = true;
    boot_disks("drive=cheetah4lp drive_volatile=1");
    struct drive copy = disk_get(0)->drive;
    u64 here_ns = done_ns(&copy, clock_now_ns, 3000, 16, true);
    u64 durable_ns = drive_flush(&copy, here_ns);
    check(durable_ns > here_ns);
    submit("W0:3000+16");
    run_to_ns(here_ns);
    check_notes("W3000 done");
    u64 end_ns = 0;
    struct task *t = start(9, order, &end_ns);
    run_to_ns(durable_ns - 1);
    check(!has_ended(t));
    check_commands("W0:3000+16");
    run_to_ns(durable_ns);
    run_others();
    check(has_ended(t));
    check_eq(end_ns, durable_ns);
    check_commands("F0");
    check_counters("disk.", "writes 1, write_sectors 16, commands 1, "
                            "flushes 1");
}

/* A command needs 0.5 ms to the drive. The second one is there, waiting, when
 * the first is done; the third comes while the second is served. */
TEST(a_command_takes_its_way_to_the_drive_unless_it_waits_there)
{
    boot_disks("drive=fixed drive_command_us=500 drive_depth=8");
    clock_now_ns = 0;
    submit("R0:100+2 R0:200+2");
    run_to_ns(10 * MS + 499999);
    check_notes("");
    run_to_ns(10 * MS + 500000);
    check_notes("R100 done");
    run_to_ns(20 * MS + 400000);
    submit("R0:300+2");
    run_to_ns(20 * MS + 500000);
    check_notes("R200 done");
    run_to_ns(30 * MS + 899999);
    check_notes("");
    run_to_ns(30 * MS + 900000);
    check_notes("R300 done");
}

/* Three neighbouring writes go as one command. It takes as long as one of 24
 * sectors in a copy of the drive, and so does the read after it. */
TEST(a_command_takes_as_long_as_all_its_requests_together)
{
    boot_disks("drive=rz58");
    struct disk *d = disk_get(0);
    struct drive copy = d->drive;
    disk_plug(d);
    submit("W0:1000+8 W0:1008+8 W0:1016+8");
    disk_unplug(d);
    u64 want_ns = done_ns(&copy, clock_now_ns, 1000, 24, true);
    check_eq(d->drive_timer.when_ns, want_ns);
    submit("R0:2000+8");
    run_to_ns(want_ns);
    check_notes("W1000 done; W1008 done; W1016 done");
    check_eq(d->drive_timer.when_ns,
             done_ns(&copy, clock_now_ns, 2000, 8, false));
    run_to_ns(NEVER_NS / 2);
    check_notes("R2000 done");
}

/* ---- which of those it holds the drive takes up ---- */

/* The drive has four commands, at sectors 0, 3800, 2000 and 40. It takes up the
 * one that would be done first. */
TEST(a_drive_takes_up_what_it_has_done_first)
{
    rig.sectors = 4000;
    boot_disks("drive=rz58 drive_depth=4");
    submit("R0:0+2 R0:3800+2 W0:2000+2 R0:40+2");
    run_to_ns(1000 * MS);
    check_notes("R0 done; R40 done; W2000 done; R3800 done");
}

/* The rule, worked out a second time: a command costs the time at which it
 * would end, plus an eighth of the time at which it was dispatched. */
static u64 cost_ns(const struct disk *d, u64 sector, u64 issued_ns)
{
    struct drive copy = d->drive;
    return drive_service(&copy, clock_now_ns, sector, 8, false) + issued_ns / 8;
}

/* The drive has six commands. When one ends, the next must be the one with the
 * least cost by cost_ns: when it would end, plus an eighth of the time at
 * which it was issued, so that an old one costs less. */
TEST(an_eighth_of_the_time_that_a_command_was_held_counts_for_it)
{
    u64 state = 3, sector[6], issued_ns[6], served = 0, older = 0;
    rig.sectors = 4096;
    boot_disks("drive=lps540s drive_depth=6");
    struct disk *d = disk_get(0);
    u32 n = 0;
    while (served < 300) {
        char word[32];
        while (n < 6) { /* the last is in the drive, when there is none */
            sector[n] = random_u64(&state) % 500 * 8;
            issued_ns[n] = clock_now_ns;
            snprintf(word, sizeof word, "R0:%lu+8", sector[n++]);
            submit(word);
            if (!served)
                break;
        }
        if (!served) {
            served++;
            continue;
        }
        /* Command 0 is being served. Of the others, the cheapest is next. */
        u32 best = 1;
        run_to_ns(d->drive_timer.when_ns - 1);
        clock_now_ns = d->drive_timer.when_ns;
        u64 best_ns = NEVER_NS;
        for (u32 i = 1; i < n; i++) {
            u64 ns = cost_ns(d, sector[i], issued_ns[i]);
            if (ns < best_ns) {
                best = i;
                best_ns = ns;
            }
        }
        u64 want = sector[best];
        run_to_ns(clock_now_ns);
        check_eq(d->in_drive->request.sector, want);
        for (u32 i = 1; i < n; i++)
            older += i != best && issued_ns[i] > issued_ns[best];
        memmove(&sector[best + 1 - 1], &sector[best + 1],
                (n - best - 1) * sizeof *sector);
        memmove(&issued_ns[best], &issued_ns[best + 1],
                (n - best - 1) * sizeof *issued_ns);
        sector[0] = want;
        n--;
        served++;
    }
    check(older > 0);
}

/* The drive `fixed` takes 10 ms for each command, and holds three that were
 * sent 8 us apart. */
TEST(what_was_held_longest_goes_first_if_all_take_as_long)
{
    boot_disks("drive=fixed drive_depth=8");
    submit("R0:100+2");
    clock_now_ns += 8000;
    submit("R0:200+2");
    clock_now_ns += 8000;
    submit("R0:300+2");
    run_to_ns(1000 * MS);
    check_notes("R100 done; R200 done; R300 done");
}

TEST(of_those_that_came_at_once_and_take_as_long_the_newest_goes_first)
{
    boot_disks("drive=fixed drive_depth=8");
    submit("R0:100+2 R0:200+2 R0:300+2 R0:400+2");
    run_to_ns(1000 * MS);
    check_notes("R100 done; R400 done; R300 done; R200 done");
}

/* ---- approaches ---- */

/* Return the approach to a request, computed on a copy of the drive. */
static struct approach fresh(struct disk *d, u64 at_ns, const struct request *r)
{
    struct drive copy = d->drive;
    drive_catch_up(&copy, at_ns);
    return drive_approach(&copy, at_ns, r->sector, r->nsectors, r->write);
}

/* Check the approach to a request that the drive would get at this time. */
static void check_approach(struct disk *d, u64 start_ns,
                           const struct request *r)
{
    struct approach got = queue_approach(&d->queue, start_ns, NULL, 0, r);
    struct approach want = fresh(d, start_ns + d->command_ns, r);
    check_eq(got.there_ns, want.there_ns);
    check_eq(got.begin_ns, want.begin_ns);
}

/* check_approach compares the answer with a copy of the drive that serves the
 * request at that time: now, later, and after other commands. */
TEST(an_approach_is_from_where_the_drive_will_be)
{
    static const struct request near = {.sector = 24, .nsectors = 8},
                                far = {.sector = 3900, .nsectors = 8},
                                wr = {
                                    .sector = 40, .nsectors = 8, .write = true};
    boot_disks("drive=rz58 drive_command_us=300");
    struct disk *d = disk_get(0);
    for (u32 round = 0; round < 3; round++) {
        for (u64 later_ns = 0; later_ns < 40 * MS; later_ns += 5 * MS) {
            u64 at_ns = clock_now_ns + later_ns;
            check_approach(d, at_ns, &far);
            check_approach(d, at_ns, &near);
            check_approach(d, at_ns, &wr);
        }
        /* The same question, after the drive was told of something. */
        u64 at_ns = clock_now_ns + 100 * MS;
        check_approach(d, at_ns, &far);
        submit(round ? "W0:2000+8" : "R0:16+8");
        check_approach(d, at_ns, &far);
        run_to_ns(clock_now_ns + 50 * MS);
        check_approach(d, at_ns, &far);
    }
}

/* The approach to r must be right, if the drive gets `first` in 5 ms, and r
 * gap_ns after `first` has ended. */
static void check_approach_after(struct disk *d, const struct request *first,
                                 u64 gap_ns, const struct request *r)
{
    u64 at_ns = clock_now_ns + 5 * MS;
    struct approach got = queue_approach(&d->queue, at_ns, first, gap_ns, r);
    struct drive copy = d->drive;
    drive_catch_up(&copy, at_ns + d->command_ns);
    u64 next_ns = drive_service(&copy, at_ns + d->command_ns, first->sector,
                                first->nsectors, first->write) +
                  gap_ns + d->command_ns;
    drive_catch_up(&copy, next_ns);
    struct approach want =
        drive_approach(&copy, next_ns, r->sector, r->nsectors, r->write);
    check_eq(got.there_ns, want.there_ns);
    check_eq(got.begin_ns, want.begin_ns);
}

/* Approaches after a write and after a read, at six gaps of time; also to a
 * request that the drive may have read ahead. */
TEST(an_approach_after_another_request_is_from_where_that_leaves_the_drive)
{
    static const struct request write = {
        .sector = 2000, .nsectors = 16, .write = true};
    static const struct request read = {.sector = 2000, .nsectors = 16};
    static const struct request r = {.sector = 24, .nsectors = 8};
    static const struct request ahead = {.sector = 2100, .nsectors = 8};
    boot_disks("drive=rz58 drive_command_us=300");
    struct disk *d = disk_get(0);
    for (u64 gap_ns = 0; gap_ns < 40 * MS; gap_ns += 7 * MS) {
        check_approach_after(d, &write, gap_ns, &r);
        check_approach_after(d, &read, gap_ns, &r);
        check_approach_after(d, &read, gap_ns, &ahead);
    }
    /* The drive itself was told nothing. */
    check_approach(d, clock_now_ns, &r);
    check_eq(d->drive.commands, 0);
}

/* Return how far two times are apart as angles of a platter that turns once in
 * turn_ns. */
static u64 apart_ns(u64 one_ns, u64 other_ns, u64 turn_ns)
{
    u64 ns = (one_ns + turn_ns - other_ns % turn_ns) % turn_ns;
    return MIN(ns, turn_ns - ns);
}

/* With drive_misjudged_percent=10 the times of seeks and the platter's angle
 * that the queue reports are wrong by up to a tenth, and for a third to two
 * thirds of the requests by more than a twentieth. */
TEST(a_misjudged_drive_is_known_as_badly_as_was_asked_for)
{
    u32 far_off = 0, behind = 0;
    boot_disks("drive=rz58 drive_misjudged_percent=10");
    struct disk *d = disk_get(0);
    u64 turn_ns = d->queue.turn_ns;
    for (u64 i = 0; i < 300; i++) {
        struct request r = {.sector = i * 13, .nsectors = 8};
        struct approach want = fresh(d, clock_now_ns, &r);
        struct approach got =
            queue_approach(&d->queue, clock_now_ns, NULL, 0, &r);
        u64 off_ns = apart_ns(got.begin_ns, want.begin_ns, turn_ns);
        u64 way_ns = want.there_ns - clock_now_ns;
        check(off_ns <= turn_ns / 10);
        check(got.there_ns + way_ns / 10 >= want.there_ns);
        check(want.there_ns + way_ns / 10 >= got.there_ns);
        check(got.begin_ns - got.there_ns < turn_ns);
        far_off += off_ns > turn_ns / 20;
        behind += got.there_ns > want.there_ns;
    }
    check(far_off > 100 && far_off < 200);
    check(behind > 100 && behind < 200);
}

/* A scheduler is shown approaches that are wrong by up to 10 % of the arm's way
 * and of a rotation. The drive itself is not wrong. */
TEST(an_error_is_the_same_until_the_next_command_and_the_drives_work_is_right)
{
    static const struct request r = {.sector = 2000, .nsectors = 8},
                                first = {.sector = 900, .nsectors = 8};
    boot_disks("drive=rz58 drive_misjudged_percent=10");
    struct disk *d = disk_get(0);
    const struct queue *q = &d->queue;
    u64 at_ns = clock_now_ns + 500 * MS, want_ns = fresh(d, at_ns, &r).begin_ns;
    u64 begin_ns = queue_approach(q, at_ns, NULL, 0, &r).begin_ns;
    u64 after_ns = queue_approach(q, at_ns, &first, 0, &r).begin_ns;
    check(begin_ns != want_ns);
    check_eq(queue_approach(q, at_ns, NULL, 0, &r).begin_ns, begin_ns);
    /* Beside the same request the platter is seen as wrongly. */
    check_eq((after_ns - begin_ns) % q->turn_ns, 0);
    struct drive copy = d->drive;
    u64 done_ns = drive_service(&copy, clock_now_ns, 900, 8, false);
    submit("R0:900+8");
    check_eq(q->done_ns, done_ns);
    run_to_ns(clock_now_ns + 100 * MS);
    check(queue_approach(q, at_ns, NULL, 0, &r).begin_ns != begin_ns);
}

/* The end of a write is misjudged by up to half a rotation, 5.6 ms. So the seek
 * to the request behind it seems to begin as much too early or too late. */
TEST(what_follows_a_misjudged_request_is_misjudged_with_it)
{
    static const struct request r = {.sector = 2000, .nsectors = 8};
    u32 early = 0, late = 0;
    boot_disks("drive=rz58 drive_misjudged_percent=50");
    struct disk *d = disk_get(0);
    for (u64 i = 0; i < 300; i++) {
        struct request first = {.sector = i * 13, .nsectors = 8, .write = true};
        struct drive copy = d->drive;
        u64 next_ns = drive_service(&copy, clock_now_ns, first.sector, 8, true);
        struct approach want =
            drive_approach(&copy, next_ns, r.sector, r.nsectors, false);
        u64 got_ns =
            queue_approach(&d->queue, clock_now_ns, &first, 0, &r).there_ns;
        u64 way_ns = want.there_ns - next_ns;
        early += got_ns + way_ns / 2 + 2 * MS < want.there_ns;
        late += got_ns > want.there_ns + way_ns / 2 + 2 * MS;
    }
    check(early > 30 && late > 30);
}

/* NEVER_NS stands for an unknown time. */
TEST(without_a_model_nothing_is_known_of_an_approach)
{
    static const struct request r = {.sector = 24, .nsectors = 8};
    boot_disks("");
    struct approach a = queue_approach(&disk_get(0)->queue, 0, NULL, 0, &r);
    check_eq(a.there_ns, NEVER_NS);
    check_eq(a.begin_ns, NEVER_NS);
}

/* After one command of 10 ms. Disk 1 had none. */
TEST(a_queue_knows_its_last_command_and_when_the_drive_has_done_it)
{
    boot_disks("drive=fixed");
    submit("R0:100+2");
    const struct queue *q = &disk_get(0)->queue, *idle = &disk_get(1)->queue;
    check_eq(q->commands, 1);
    check_eq(q->last->sector, 100);
    check_eq(q->last_ns, clock_now_ns);
    check_eq(q->done_ns, clock_now_ns + 10 * MS);
    check_eq(idle->commands, 0);
    check_eq(idle->done_ns, 0);
}

/* ---- the arm alone ---- */

/* The order to go to the last cylinder reaches the drive 300 us later.
 * Approaches begin from there, as in a copy of the drive. A drive with a
 * command in flight does not take the order. */
TEST(the_arm_of_an_idle_drive_can_be_moved_and_commands_wait_for_it)
{
    static const struct request r = {.sector = 24, .nsectors = 8};
    boot_disks("drive=rz58 drive_command_us=300");
    struct disk *d = disk_get(0);
    struct drive copy = d->drive;
    u64 told_ns = clock_now_ns + 300000, at_ns = clock_now_ns + 200 * MS;
    check_approach(d, at_ns, &r);
    u64 there_ns = drive_seek_edge(&copy, told_ns, true);
    check(there_ns > told_ns);
    check_eq(queue_seek_edge(&d->queue, true), there_ns);
    check_approach(d, at_ns, &r);
    char want[64];
    snprintf(want, sizeof want, "sought disk0 1 0 %lu", told_ns);
    check_trace(want);
    submit("R0:100+2");
    forget("trace");
    check_eq(queue_seek_edge(&d->queue, false), 0);
    check_trace("");
}

TEST(without_an_arm_none_is_moved)
{
    boot_disks("drive=fixed");
    check_eq(queue_seek_edge(&disk_get(0)->queue, true), 0);
    check_trace("");
}

/* ---- caches that are divided while they work ---- */

/* Return into how many segments disk 0's cache is divided. */
static u32 segments(void)
{
    return disk_get(0)->drive.cache.segments;
}

/* disk_streams says how many sequential readers the disk has. A mode select is
 * the command that divides a drive's cache; there are at most 16 segments. */
TEST(an_adaptive_cache_has_as_many_segments_as_there_are_streams)
{
    boot_disks("drive=cheetah4lp drive_segments=adaptive");
    struct disk *d = disk_get(0);
    check(d->adapts);
    check_eq(segments(), 3);
    disk_streams(d, 3);
    check_counters("disk.", "");
    disk_streams(d, 5);
    check_eq(segments(), 5);
    check_eq(d->drive.cache.segment_sectors, 169);
    disk_streams(d, 100);
    check_eq(segments(), 16);
    check_counters("disk.", "mode_selects 2");
}

/* Five streams need five segments. The number falls only when fewer have been
 * needed for a whole second. */
TEST(segments_are_kept_for_a_second_after_they_were_needed)
{
    boot_disks("drive=cheetah4lp drive_segments=adaptive");
    struct disk *d = disk_get(0);
    disk_streams(d, 5);
    clock_now_ns += 900 * MS;
    disk_streams(d, 5);
    clock_now_ns += 999 * MS;
    disk_streams(d, 2);
    check_eq(segments(), 5);
    clock_now_ns += MS - 1;
    disk_streams(d, 0);
    check_eq(segments(), 5);
    clock_now_ns += 1;
    disk_streams(d, 0);
    check_eq(segments(), 1);
    check_counters("disk.", "mode_selects 2");
    disk_streams(d, 2);
    clock_now_ns += 999 * MS;
    disk_streams(d, 1);
    check_eq(segments(), 2);
}

/* Six streams divide the cache anew, which keeps the drive busy. An approach is
 * computed with the new cache. */
TEST(to_divide_a_cache_takes_a_commands_time_and_changes_what_is_to_come)
{
    static const struct request r = {.sector = 24, .nsectors = 8};
    boot_disks("drive=cheetah4lp drive_segments=adaptive");
    struct disk *d = disk_get(0);
    u64 at_ns = clock_now_ns + MS / 2;
    check_approach(d, at_ns, &r);
    disk_streams(d, 6);
    check_eq(d->drive.free_ns,
             clock_now_ns + d->drive.model->read_miss_ns[AFTER_READ]);
    check_approach(d, at_ns, &r);
}

TEST(a_cache_that_does_not_adapt_stays_as_it_is)
{
    boot_disks("drive=cheetah4lp drive_segments=4");
    disk_streams(disk_get(0), 9);
    check_eq(segments(), 4);
    check_counters("disk.", "");
}

/* ---- the queue while a command is with the drive ---- */

TEST(the_scheduler_is_asked_before_the_data_of_the_last_command_move)
{
    boot_disks("drive=fixed sched=told");
    submit("R0:100+2 R0:200+2");
    forget("notes");
    run_to_ns(clock_now_ns + 10 * MS);
    check_notes("next R1 W0 O0; leaves R200; R100 done");
    check_eq(disk_get(0)->in_flight, 1);
}

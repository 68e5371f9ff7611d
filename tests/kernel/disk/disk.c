/*
 * Disks: how requests end, with counters, histograms and the trace; failures;
 * transfers outside the cache; barriers; the state that policies see; boot
 * arguments.
 *
 * - boot_disks starts the kernel's two disks on the host with these boot
 *   arguments (rig.h). rig.depth is how many commands a device takes.
 * - submit("R0:100+2 W1:200+5") submits a read of disk 0, 2 sectors from 100
 *   on, and a write. Its end is a note: "R100 done" or "R100 failed", which
 *   check_notes expects. end_command(0) ends the oldest command in flight,
 *   end_commands all. Neighbours that are submitted while the disk is plugged
 *   go as one command.
 * - check_commands("R0:100+4=2 F1") expects what the devices got: a command of
 *   2 requests, and a flush of disk 1. check_counters expects these counters,
 *   and 0 of all others; check_hist a histogram's values (of disk 1, say) and
 *   their sum; check_trace events: name, disk, sector, process, argument.
 */
#include "tests/support/native/told.h"
#include "kernel/base/abi.h"
#include "kernel/proc/proc.h"

/* ---- ends ---- */

/* Three requests of two disks, at known times: expect them in counters,
 * histograms (response from arrival, service from dispatch) and trace. */
TEST(a_request_is_counted_timed_and_traced)
{
    rig.depth = 1;
    boot_disks("");
    clock_now_ns = 1000;
    submit("R1:100+3 W1:200+5");
    clock_now_ns = 1100;
    end_command(0);
    clock_now_ns = 1170;
    submit("R0:8+1");
    end_commands();
    check_notes("R100 done; W200 done; R8 done");
    check_counters("disk.", "reads 2, writes 1, read_sectors 4, "
                            "write_sectors 5, commands 3");
    check_hist("read_response", 1, "100", 100);
    check_hist("read_service", 1, "100", 100);
    check_hist("write_response", 1, "170", 170);
    check_hist("write_service", 1, "70", 70);
    check_hist("read_response", 0, "0", 0);
    check_hist("write_response", 0, "", 0);
    check_hist("queued", 1, "0 0", 0);
    check_trace("queued disk1 100 7 3; issued disk1 100 7 3; "
                "queued-write disk1 200 7 5; issued-write disk1 200 7 5; "
                "completed disk1 100 7 100; queued disk0 8 7 1; "
                "issued disk0 8 7 1; completed-write disk1 200 7 170; "
                "completed disk0 8 7 0");
}

/* One command goes at once; each further request finds 0, 1 and 2 requests
 * waiting. */
TEST(a_new_request_finds_so_many_queued)
{
    rig.depth = 1;
    boot_disks("");
    submit("R0:100+2 R0:200+2 W0:300+2 R0:400+2");
    check_hist("queued", 0, "0 0 1 2", 3);
    check_hist("queued", 1, "", 0);
}

static u64 again_sector; /* not 0: submit_again submits the transfer anew */

/* Note the end of a transfer, and submit it again if the test wants that. */
static void submit_again(struct io *io, int error)
{
    note("again %d", error);
    if (again_sector)
        disk_submit(disk_get(0), io);
    again_sector = 0;
}

/* The callback of the first end submits the same read again, so there are two
 * commands and two notes. */
TEST(who_is_told_of_an_end_may_submit)
{
    static struct io io = {.request = {.sector = 40, .nsectors = 2},
                           .done = submit_again};
    boot_disks("");
    again_sector = 40;
    disk_submit(disk_get(0), &io);
    end_command(0);
    check_commands("R0:40+2 R0:40+2");
    end_commands();
    check_notes("again 0; again 0");
}

/* Submit a read of which the last sector is behind the disk. */
static void submit_too_far(void)
{
    submit("R0:4095+2");
}

/* Submit a read of no sector. */
static void submit_nothing(void)
{
    submit("R0:100+0");
}

/* A request that goes past the end of the disk and one of no sectors stop the
 * kernel. The last sector, 4095, can be read. */
TEST(a_request_lies_on_its_disk_and_is_not_empty)
{
    boot_disks("");
    check_panics(submit_too_far, "disk_submit: assertion failed");
    check_panics(submit_nothing, "disk_submit: assertion failed");
    submit("R0:4095+1");
    end_commands();
    check_notes("R4095 done");
}

/* ---- failures ---- */

TEST(a_command_of_one_request_that_fails_fails_it)
{
    boot_disks("");
    fail_sector(0, 101, false, 1);
    submit("R0:100+2");
    clock_now_ns += 90;
    end_commands();
    check_notes("R100 failed");
    check_counters("disk.", "reads 1, read_sectors 2, commands 1, errors 1");
    check_hist("read_response", 0, "90", 90);
    check_trace("queued disk0 100 7 2; issued disk0 100 7 2; "
                "completed disk0 100 7 90; failed disk0 100 7 2");
}

/* Three writes go as one command, which fails. Each is tried alone, and one
 * fails again. */
TEST(a_bad_sector_fails_only_its_request_of_a_command)
{
    boot_disks("");
    struct disk *d = disk_get(0);
    fail_sector(0, 102, true, 2);
    disk_plug(d);
    submit("W0:100+2 W0:102+2 W0:104+2");
    disk_unplug(d);
    end_commands();
    check_commands("W0:100+6=3 W0:100+2 W0:102+2 W0:104+2");
    check_notes("W100 done; W102 failed; W104 done");
    check_counters("disk.", "writes 3, write_sectors 6, commands 4, errors 1");
}

/* The two requests of the failed command are tried one by one. The scheduler
 * hears nothing of that, and they are merged with no neighbour. */
TEST(the_parts_of_a_failed_command_are_tried_alone)
{
    rig.depth = 1;
    boot_disks("sched=told");
    struct disk *d = disk_get(0);
    fail_sector(0, 102, false, 1);
    disk_plug(d);
    submit("R0:100+2 R0:102+2");
    disk_unplug(d);
    submit("R0:98+2 R0:104+2");
    forget("notes");
    end_command(0);
    check_notes("queued R100; queued R102; next R4 W0 O0; leaves R98");
    end_commands();
    check_commands("R0:100+4=2 R0:98+2 R0:104+2 R0:100+2 R0:102+2");
    submit("R0:100+2");
    end_commands();
    check_commands("R0:100+2");
}

/* Two reads are tried alone after their command failed. Submitted again, they
 * are one command. */
TEST(a_request_submitted_anew_may_join_again)
{
    boot_disks("");
    struct disk *d = disk_get(0);
    fail_sector(0, 102, false, 1);
    disk_plug(d);
    struct io *io = submit("R0:100+2 R0:102+2");
    disk_unplug(d);
    end_commands();
    disk_plug(d);
    disk_submit(d, io);
    submit("R0:100+2");
    disk_unplug(d);
    end_commands();
    check_commands("R0:100+4=2 R0:100+2 R0:102+2 R0:100+4=2");
}

/* Submit two commands where the ring has room for one. */
static void overfill(void)
{
    submit("R0:100+2 R0:200+2");
}

TEST(more_commands_than_the_device_takes_are_a_mistake)
{
    rig.depth = 2;
    rig.ring = 1;
    boot_disks("");
    check_panics(overfill, "disk: disk0: more commands than its depth");
}

/* ---- transfers outside the cache ---- */

static u8 bytes[4][SECTOR_BYTES];

static struct io pieces[3] = {
    {.request = {.sector = 100, .nsectors = 1}, .span.data = bytes[0]},
    {.request = {.sector = 101, .nsectors = 2}, .span.data = bytes[1]},
    {.request = {.sector = 300, .nsectors = 1}, .span.data = bytes[3]},
};

/* A read of sectors 100 to 102 and 300, in three pieces. The first two pieces
 * are neighbours and become one command. */
TEST(a_transfer_moves_its_pieces_together_and_waits)
{
    boot_disks("");
    on_device(0, 100)[0] = 11;
    on_device(0, 102)[0] = 13;
    on_device(0, 300)[0] = 14;
    check_eq(disk_transfer(disk_get(0), pieces, 3), 0);
    check_eq(bytes[0][0], 11);
    check_eq(bytes[2][0], 13);
    check_eq(bytes[3][0], 14);
    check_commands("R0:100+3=2 R0:300+1");
    check(pieces[0].request.waited && pieces[2].request.waited);
    check_eq(pieces[1].request.pid, TEST_PID);
    check_counters("disk.", "reads 3, read_sectors 4, commands 2");
}

/* Three pieces are written. Sector 101 fails twice: with its neighbours, and
 * when its request is tried alone. The second transfer succeeds. */
TEST(a_transfer_fails_if_any_piece_does)
{
    boot_disks("");
    for (u32 i = 0; i < 3; i++)
        pieces[i].request.write = true;
    fail_sector(0, 101, true, 2);
    check_eq(disk_transfer(disk_get(0), pieces, 3), (u64)-EIO);
    check_eq(in_flight(), 0);
    check_counters("disk.", "writes 3, write_sectors 4, commands 4, errors 1");
    check_eq(disk_transfer(disk_get(0), pieces, 3), 0);
}

/* As a process: make the transfer of `pieces`. */
static void transfer(void *result)
{
    *(int *)result = disk_transfer(disk_get(0), pieces, 3);
}

/* The second command ends first. The task goes on only when the first has ended
 * too. */
TEST(a_transfer_waits_for_its_last_piece)
{
    int result = 1;
    boot_disks("");
    struct task *t = start(9, transfer, &result);
    end_command(1);
    run_others();
    check(!has_ended(t));
    end_command(0);
    run_others();
    check(has_ended(t));
    check_eq(result, 0);
    check_eq(pieces[0].request.pid, 9);
}

/* ---- barriers ---- */

/* A flush is a command of its own (F1). With nothing written since the last one
 * none is sent. */
TEST(a_barrier_flushes_the_device_and_waits)
{
    rig.can_flush = true;
    boot_disks("");
    submit("W1:100+2");
    end_commands();
    check_commands("W1:100+2");
    u64 kicks = rig.kicks;
    check_eq(disk_flush(disk_get(1)), 0);
    check_commands("F1");
    check_eq(rig.kicks, kicks + 1);
    check_eq(disk_flush(disk_get(1)), 0); /* nothing was written since */
    check_eq(disk_order(disk_get(1)), 0);
    check_commands("");
    submit("W1:100+2");
    end_commands();
    check_eq(disk_order(disk_get(1)), 0);
    check_commands("W1:100+2 F1");
}

TEST(a_device_that_has_no_cache_needs_no_barrier)
{
    boot_disks("");
    check_eq(disk_flush(disk_get(0)), 0);
    check_commands("");
    check_counters("disk.", "");
}

/* disk_order sends no flush to a drive without a volatile cache. disk_flush
 * always does. */
TEST(only_a_volatile_cache_is_flushed_for_order)
{
    rig.can_flush = true;
    boot_disks("drive_volatile=0");
    submit("W0:100+2");
    end_commands();
    check_eq(disk_order(disk_get(0)), 0);
    check_commands("W0:100+2");
    check_eq(disk_flush(disk_get(0)), 0);
    check_commands("F0");
}

/* The model of `fixed` has no volatile cache, so a flush of the device takes no
 * virtual time. */
TEST(a_barrier_under_a_model_takes_no_time)
{
    rig.can_flush = true;
    boot_disks("drive=fixed");
    u64 now_ns = clock_now_ns;
    rig.idle = nothing_ends;
    check_eq(disk_flush(disk_get(0)), 0);
    check_eq(clock_now_ns, now_ns);
    check_commands("F0");
    check_counters("disk.", "flushes 1");
}

/* As a process: flush disk 0's device. */
static void barrier(void *result)
{
    *(int *)result = disk_flush(disk_get(0));
}

/* Flush where the ring has no room. */
static void barrier_without_room(void)
{
    rig.ring = 0;
    disk_flush(disk_get(0));
}

/* The device holds two commands, and both places are taken: the flush goes when
 * one command has ended. */
TEST(a_barrier_waits_for_a_place_in_the_ring)
{
    int done = 1, flushed = 1;
    rig.can_flush = true;
    rig.ring = 2;
    boot_disks("");
    submit("W0:50+1");
    end_commands();
    check_commands("W0:50+1");
    start(8, transfer, &done);
    check_eq(in_flight(), 2);
    struct task *t = start(9, barrier, &flushed);
    check_commands("R0:100+3=2 R0:300+1");
    end_command(1);
    run_others();
    check_commands("F0");
    check(!has_ended(t));
    end_commands();
    check(has_ended(t));
    check_eq(flushed, 0);
    check_eq(done, 0);
}

TEST(a_modelled_device_always_has_room_for_a_barrier)
{
    rig.can_flush = true;
    boot_disks("drive=fixed");
    check_panics(barrier_without_room, "more commands than its depth");
}

/* ---- the state that policies see ---- */

/* Two of six requests are in flight, so one read and three writes are queued.
 * Disk 1 is idle, and there are no other disks. */
TEST(the_state_of_a_disk_says_what_is_queued_and_in_flight)
{
    struct disk_state s;
    rig.depth = 2;
    boot_disks("");
    submit("R0:100+2 R0:200+2 R0:300+2 W0:400+2 W0:500+2 W0:600+2");
    check(disk_state(0, &s));
    check_eq(s.queued_reads, 1);
    check_eq(s.queued_writes, 3);
    check_eq(s.in_flight, 2);
    check(!s.modelled);
    check(disk_state(1, &s));
    check_eq(s.queued_reads + s.queued_writes + s.in_flight, 0);
    check(!disk_state(2, &s));
    check(!disk_state(~0U, &s));
}

TEST(a_modelled_disk_says_so)
{
    struct disk_state s;
    boot_disks("disk1.drive=fixed");
    check(disk_state(1, &s) && s.modelled);
    check(disk_state(0, &s) && !s.modelled);
}

/* Return the state's sum of queued requests over time. */
static u64 queued_ns(void)
{
    struct disk_state s;
    disk_state(0, &s);
    return s.queued_ns;
}

/* queued_ns is the integral over time of how many requests are queued. Divided
 * by the time it is their mean number. */
TEST(the_number_queued_is_summed_over_time)
{
    rig.depth = 1;
    boot_disks("");
    clock_now_ns += 500; /* nothing is queued */
    check_eq(queued_ns(), 0);
    submit("R0:100+2");
    clock_now_ns += 1000; /* it is in flight */
    check_eq(queued_ns(), 0);
    submit("R0:200+2");
    clock_now_ns += 10; /* one */
    check_eq(queued_ns(), 10);
    submit("W0:300+2");
    add_candidate_write(700, 2);
    clock_now_ns += 100; /* two: a candidate is not queued */
    check_eq(queued_ns(), 210);
    end_command(0);
    clock_now_ns += 1000; /* one */
    check_eq(queued_ns(), 1210);
    end_command(0);
    clock_now_ns += 7;
    check_eq(queued_ns(), 1210);
    submit("R0:900+2");
    clock_now_ns += 3;
    check_eq(queued_ns(), 1213);
}

/* ---- set-up ---- */

TEST(disks_are_found_by_number_and_by_name)
{
    boot_disks("");
    check_eq(disk_count(), 2);
    check_eq(disk_get(1)->id, 1);
    check(!disk_get(2) && !disk_get(~0U));
    check(disk_named("disk1") == disk_get(1));
    check(disk_named("disk0") == disk_get(0));
    check(!disk_named("disk2"));
}

/* turn_ns is the time of a rotation; the drive `fixed` has no platter. */
TEST(each_disk_has_the_drive_that_was_asked_for)
{
    boot_disks("drive=fixed disk1.drive=rz58");
    check(!strcmp(disk_get(0)->drive.model->name, "fixed"));
    check(!strcmp(disk_get(1)->drive.model->name, "rz58"));
    check_eq(disk_get(0)->queue.turn_ns, 0);
    check_eq(disk_get(1)->queue.turn_ns, 11111111);
}

TEST(without_an_argument_a_disk_is_as_fast_as_its_device)
{
    boot_disks("");
    check(!strcmp(disk_get(0)->drive.model->name, "none"));
    check_eq(disk_get(0)->depth, 8);
}

static void boot_no_such(void)
{
    boot_disks("drive=rz99");
}

static void boot_large(void)
{
    rig.sectors = 1954051;
    boot_disks("drive=rz57");
}

static void boot_deep(void)
{
    boot_disks("drive=fixed drive_depth=9");
}

static void boot_deepest(void)
{
    boot_disks("drive_depth=257");
}

/* A boot ends if the drive is unknown or smaller than the device, or if its
 * depth is more than the device takes. */
TEST(a_drive_that_does_not_fit_stops_the_boot_with_the_reason)
{
    check_panics(boot_no_such, "drive=rz99: there is no such drive");
    check_panics(boot_large,
                 "drive=rz57: holds 1954050 sectors, disk0 has 1954051");
    check_panics(boot_deep, "drive_depth=9: disk0 takes up to 8");
    check_panics(boot_deepest, "drive_depth=257");
    rig.sectors = 1954050;
    boot_disks("drive=rz57 drive_depth=8");
    check_eq(disk_get(0)->depth, 8);
}

TEST(a_modelled_drive_takes_a_command_at_a_time_unless_it_is_told_more)
{
    boot_disks("drive=rz58 drive_command_us=300");
    check_eq(disk_get(0)->depth, 1);
    check_eq(disk_get(0)->command_ns, 300000);
    check(!disk_get(0)->adapts);
}

TEST(drive_depth_is_for_models_alone)
{
    boot_disks("drive_depth=2 drive_command_us=300");
    check_eq(disk_get(0)->depth, 8);
    check_eq(disk_get(0)->command_ns, 0);
}

/* Boot with these arguments, and check how many segments disk 0's cache has,
 * how large they are, and how much is read ahead. */
static void check_cache(const char *args, u64 segments, u64 sectors, u64 ahead)
{
    rig.sectors = 4096;
    boot_disks(args);
    const struct drive_cache *c = &disk_get(0)->drive.cache;
    check_eq(c->segments, segments);
    check_eq(c->segment_sectors, sectors);
    check_eq(c->read_ahead_sectors, ahead);
}

TEST(a_drives_cache_is_as_the_model_has_it)
{
    check_cache("drive=cheetah4lp", 3, 282, 282);
    check_eq(disk_get(0)->drive.bus_ns, 106000);
}

TEST(a_drives_cache_is_divided_as_the_boot_arguments_say)
{
    check_cache("drive=cheetah4lp drive_segments=6", 6, 141, 141);
}

TEST(segments_can_be_made_larger_and_as_large_a_part_is_read_ahead)
{
    check_cache("drive=cheetah4lp drive_segment_kb=100", 3, 200, 200);
}

TEST(how_much_is_read_ahead_can_be_said)
{
    check_cache("drive=cheetah4lp drive_segments=2 drive_segment_kb=50 "
                "drive_read_ahead_kb=0",
                2, 100, 0);
    check_eq(disk_get(0)->drive.model->read_ahead_sectors, 282);
}

/* The segments stay as they are; only the row's whole_tracks changes. */
TEST(drives_can_read_whole_tracks_ahead)
{
    check_cache("drive=cheetah4lp drive_ahead=track", 3, 282, 282);
    check_eq(disk_get(0)->drive.whole_tracks, true);
    check_cache("drive=hp97560 drive_ahead=track drive_segments=3", 3, 85, 85);
    check_eq(disk_get(0)->drive.whole_tracks, true);
    check_cache("drive=hp97560", 1, 256, 256);
    check_eq(disk_get(0)->drive.whole_tracks, false);
}

TEST(the_rate_of_the_bus_can_be_said)
{
    check_cache("drive=cheetah4lp drive_bus_kb_s=5000", 3, 282, 282);
    check_eq(disk_get(0)->drive.bus_ns, 102400);
    check_cache("drive=cheetah4lp drive_bus_kb_s=100", 3, 282, 282);
    check_eq(disk_get(0)->drive.bus_ns, 5120000);
}

static void boot_no_segments(void)
{
    boot_disks("drive=cheetah4lp drive_segments=0");
}

static void boot_many_segments(void)
{
    boot_disks("drive=cheetah4lp drive_segments=17");
}

static void boot_empty_segments(void)
{
    boot_disks("drive=cheetah4lp drive_segment_kb=0");
}

static void boot_long_segments(void)
{
    boot_disks("drive=cheetah4lp drive_segment_kb=65537");
}

static void boot_slow_bus(void)
{
    boot_disks("drive=cheetah4lp drive_bus_kb_s=99");
}

static void boot_fast_bus(void)
{
    boot_disks("drive=cheetah4lp drive_bus_kb_s=1000001");
}

static void boot_late(void)
{
    boot_disks("drive=cheetah4lp drive_command_us=100001");
}

static void boot_other_ahead(void)
{
    boot_disks("drive=cheetah4lp drive_ahead=1");
}

static void boot_ahead_in_small_segments(void)
{
    boot_disks("drive=hp97560 drive_ahead=track drive_segments=4");
}

static void boot_ahead_in_segments_that_adapt(void)
{
    boot_disks("drive=hp97560 drive_ahead=track drive_segments=adaptive");
}

TEST(whole_tracks_are_refused_with_the_reason)
{
    check_panics(boot_other_ahead, "drive_ahead=1: cheetah4lp: must be track");
    check_panics(boot_ahead_in_small_segments, "smaller than a track");
    check_panics(boot_ahead_in_segments_that_adapt, "segments that adapt");
}

TEST(boot_arguments_of_drives_have_their_ranges)
{
    check_panics(boot_no_segments, "from 1 to 16");
    check_panics(boot_many_segments, "from 1 to 16");
    check_panics(boot_empty_segments, "from 1 to 65536");
    check_panics(boot_long_segments, "from 1 to 65536");
    check_panics(boot_slow_bus, "from 100 to 1000000");
    check_panics(boot_fast_bus, "from 100 to 1000000");
    check_panics(boot_late, "from 0 to 100000");
    boot_disks("drive=cheetah4lp drive_segments=16 drive_segment_kb=65536 "
               "drive_bus_kb_s=1000000 drive_command_us=100000 drive_depth=0 "
               "cluster_kb=1024");
}

/*
 * The model of a drive: sequences worked out by hand, and many random ones
 * against a drive that is worked out one sector at a time.
 */
#include "tests/drives/drive_slow.h"
#include "tests/support/native/test.h"

#define US 1000UL

/*
 * A toy: a rotation is 1 ms. Zone A has 10 sectors a track, so a sector passes
 * in 100 us; B has 8, of 125 us. Two heads. Two sectors in each three tracks
 * are spare: of A's 8 tracks the third, the sixth and the last have 8.
 */
static const struct zone zones[] = {{0, 3, 10, 1, 3}, {4, 40, 8, 2, 3}, {}};
static const struct seek_point points[] = {{1, 200000}, {3, 400000}, {}};
static struct drive_model toy = {
    .name = "toy",
    .modelled = true,
    .sectors = 610,
    .rpm = 60000,
    .heads = 2,
    .zones = zones,
    .spares = 2,
    .spare_tracks = 3,
    .seek = {.table = points,
             .knee_cyls = 10,
             .a_ns = 100000,
             .b_ns = 200000,
             .c_ns = 690000,
             .e_ns = 1000},
    .head_switch_ns = 50000,
    .write_settle_ns = 25000,
    .read_hit_ns = {10000, 11000},
    .read_miss_ns = {20000, 21000},
    .write_hit_ns = {12000, 13000},
    .write_miss_ns = {22000, 23000},
    .bus_ns = 5000,
    .depth = 1,
    .segments = 3,
    .segment_sectors = 24,
    .read_ahead_sectors = 16,
};

static struct drive drive;

/* Start the toy anew: nothing cached, the arm at cylinder 0, at 0 ns. */
static void begin(void)
{
    drive_start(&drive, &toy);
}

/* Read n sectors at that time, in us; returns when they are done, in ns. */
static u64 read_at(u64 now_us, u64 sector, u32 n)
{
    return drive_service(&drive, now_us * US, sector, n, false);
}

/* Like read_at, but write. */
static u64 write_at(u64 now_us, u64 sector, u32 n)
{
    return drive_service(&drive, now_us * US, sector, n, true);
}

/* ---- worked out by hand ---- */

TEST(a_seek_takes_what_the_table_and_the_two_formulas_say)
{
    check_eq(drive_seek_ns(&toy, 0), 0);
    check_eq(drive_seek_ns(&toy, 1), 200000);
    check_eq(drive_seek_ns(&toy, 2), 300000); /* between the points */
    check_eq(drive_seek_ns(&toy, 3), 400000);
    check_eq(drive_seek_ns(&toy, 4), 500000);  /* 100 + 200 * 2 us */
    check_eq(drive_seek_ns(&toy, 9), 700000);  /* 100 + 200 * 3 us */
    check_eq(drive_seek_ns(&toy, 10), 700000); /* 690 + 10 us */
    check_eq(drive_seek_ns(&toy, 40), 730000);
    check_eq(drive_seek_ns(drive_find("rz58"), 0), 0);
    check_eq(drive_seek_ns(&toy, 8), 100000 + 565685); /* sqrt(8) * 200 us */
}

TEST(a_rotation_is_a_minute_divided_by_rpm)
{
    check_eq(drive_rotation_ns(&toy), 1000000);
    check_eq(drive_rotation_ns(drive_find("rz58")), 11111111);
}

/* Zone A has 8 tracks of 10 sectors, in groups of 3, 3 and 2 with 2 spares
 * each: 80 - 6 sectors. Zone B has 74 tracks of 8 sectors, in 25 groups. */
TEST(the_zones_hold_what_spares_leave)
{
    check_eq(drive_room(&toy), 74 + 74 * 8 - 25 * 2);
    struct drive_model whole = toy;
    whole.spare_tracks = 7; /* 2 groups of A, 11 of B */
    check_eq(drive_room(&whole), 80 - 4 + 74 * 8 - 22);
    whole.spares = whole.spare_tracks = 0;
    check_eq(drive_room(&whole), 80 + 74 * 8);
}

/* 20 us of overhead; sector 0 comes by at 1 ms; it crosses the bus after. */
TEST(a_read_costs_overhead_rotation_transfer_and_the_bus)
{
    begin();
    check_eq(read_at(0, 0, 1), 1000000 + 100000 + 5000);
    begin();
    check_eq(read_at(0, 1, 1), 100000 + 100000 + 5000);
    begin();
    check_eq(read_at(90, 1, 2), 1100000 + 200000 + 5000);
}

/* Track 1 (from sector 10) is skewed by 1: its first sector is at slot 1. The
 * head switch, 50 us, fits in. */
TEST(a_read_over_two_tracks_waits_for_the_skew)
{
    begin();
    check_eq(read_at(80, 9, 2), 900000 + 100000 + 100000 + 100000 + 5000);
}

/* Cylinder 1 is skewed by 1 + 3; its first track has 8 sectors, for the group
 * of three ends there. Sector 20 is at slot 4: the seek took 200 us. */
TEST(a_seek_takes_its_time_before_the_rotation)
{
    begin();
    check_eq(read_at(0, 20, 1), 400000 + 100000 + 5000);
    begin();
    check_eq(read_at(170, 20, 1), 400000 + 100000 + 5000);
    begin();
    check_eq(read_at(180, 20, 1), 400000 + 100000 + 5000);
    begin();
    check_eq(read_at(181, 20, 1), 1400000 + 100000 + 5000);
}

/* The next track begins at sector 28, skewed by 1 more: slot 5. */
TEST(spares_end_the_last_track_of_a_group)
{
    begin();
    check_eq(read_at(0, 27, 1), 1100000 + 100000 + 5000);
    begin();
    check_eq(read_at(0, 28, 1), 500000 + 100000 + 5000);
}

/* Zone B begins at sector 74, cylinder 4, slot 0 of 8. */
TEST(a_zone_has_sectors_of_its_own_length)
{
    begin();
    check_eq(read_at(0, 74, 2), 1000000 + 2 * 125000 + 5000);
}

/* Sector 73 is the last of zone A, at slot 0: its track ends in spares. The arm
 * is there at 1.22 ms, and at cylinder 4, for sector 74, at 2.3 ms. */
TEST(a_transfer_goes_on_in_the_next_zone_after_the_last_spares)
{
    begin();
    check_eq(read_at(800, 73, 2), 3000000 + 125000 + 5000);
}

/* A slow bus: 300 us a sector. The first comes by at 100 us. */
TEST(a_bus_that_is_slower_than_the_platter_sets_the_pace)
{
    begin();
    drive.bus_ns = 300000;
    check_eq(read_at(0, 1, 4), 200000 + 4 * 300000);
}

/* After a read of sector 1 the arm reads on. Sectors 2 and 3 have passed by 400
 * us: a hit. Sector 4 passes until 500 us, and a read of it waits for that. */
TEST(what_the_arm_reads_ahead_is_a_hit_and_joins_it)
{
    begin();
    check_eq(read_at(0, 1, 1), 205000);
    check_eq(read_at(450, 2, 2), 450000 + 10000 + 2 * 5000);
    check_eq(read_at(480, 4, 1), 500000 + 5000);
    check_eq(drive.cyl, 0);
}

/* A segment holds 24 sectors. A read of sector 1 reads ahead to 17, one of 18
 * to 34; then the segment holds 11 to 34, and 10 is a miss. A hit takes 10 us
 * and 5 us for each sector. */
TEST(a_segment_keeps_what_was_read_last)
{
    begin();
    read_at(0, 1, 1);
    check_eq(read_at(9000, 1, 16), 9000000 + 10000 + 16 * 5000);
    check_eq(read_at(20000, 17, 1), 20000000 + 10000 + 5000);
    check_eq(read_at(30000, 1, 1), 30000000 + 10000 + 5000);
    read_at(40000, 18, 1);
    check_eq(read_at(50000, 11, 1), 50000000 + 10000 + 5000);
    check(read_at(60000, 10, 1) > 60000000 + 20000 + 5000);
}

/* Overhead 22 us. Slot 1 at 100 us: written by 200. No sector under the head
 * before its data are there. */
TEST(a_write_is_done_when_it_is_on_the_platters)
{
    begin();
    check_eq(write_at(0, 1, 1), 200000);
    begin();
    check_eq(write_at(0, 1, 3), 400000);
    begin();
    check_eq(write_at(73, 1, 1), 200000); /* the data are there at 100 us */
    begin();
    check_eq(write_at(74, 1, 1), 1200000);
}

/* A slow bus of 150 us: the last of 3 sectors is there at 472 us, when it must
 * pass; so the first may at 272, which is slot 3 at 300: not sector 1. */
TEST(a_write_begins_when_its_data_come_fast_enough)
{
    begin();
    drive.bus_ns = 150000;
    check_eq(write_at(0, 3, 3), 600000);
    begin();
    drive.bus_ns = 150000;
    check_eq(write_at(0, 2, 3), 1500000);
}

/* On another track a write settles for 25 us. On cylinder 1 it may begin 22 us
 * (controller) + 200 us (seek) + 25 us after it comes: at 400 us if at 153. */
TEST(a_write_on_another_track_settles)
{
    begin();
    check_eq(write_at(0, 20, 1), 500000);
    begin();
    check_eq(write_at(153, 20, 1), 500000);
    begin();
    check_eq(write_at(154, 20, 1), 1500000);
}

/* Sector 9 is written by 1 ms; sector 10 begins at slot 1 of the next track.
 * The head switch and 25 us fit in before that, the switch and 60 us do not. */
TEST(a_write_settles_on_each_track_that_it_goes_on_to)
{
    begin();
    check_eq(write_at(0, 9, 2), 1200000);
    toy.write_settle_ns = 60000;
    begin();
    check_eq(write_at(0, 9, 2), 2200000);
}

TEST(a_write_that_is_behind_is_done_when_its_data_are_across)
{
    toy.write_behind = true;
    begin();
    check_eq(write_at(0, 1, 3), 22000 + 15000);
    /* It goes on where the last ended, before the arm is done at 400 us. */
    check_eq(write_at(100, 4, 2), 100000 + 13000 + 10000);
    check_eq(drive.arm_ns, 600000);
    /* Another waits for the arm. */
    check_eq(write_at(200, 50, 1), 600000 + 5000);
    toy.write_behind = false;
}

/* The arm is done at 400 us; the overhead of a command is the 22 us that the
 * write above takes without its data. */
TEST(a_flush_waits_until_what_was_written_behind_is_on_the_platters)
{
    toy.write_behind = true;
    begin();
    check_eq(write_at(0, 1, 3), 22000 + 15000);
    check_eq(drive.arm_ns, 400000);
    check_eq(drive_flush(&drive, 100000), 400000);
    check_eq(drive_flush(&drive, 500000), 500000 + toy.write_hit_ns[1]);
    check_eq(write_at(390000, 50, 1) > 500000, true);
    toy.write_behind = false;
    begin();
    u64 done_ns = write_at(0, 1, 3);
    check_eq(drive_flush(&drive, done_ns), done_ns + toy.write_hit_ns[1]);
}

/* 30 sectors; 24 fit. The arm is done with the last at 3,200 us (30 sectors,
 * and a slot of skew each track); 24 slots before that is 800 us. */
TEST(a_long_write_behind_waits_until_the_rest_fits_a_segment)
{
    toy.write_behind = true;
    begin();
    u64 done_ns = write_at(0, 0, 24);
    check_eq(done_ns, 22000 + 24 * 5000);
    begin();
    done_ns = write_at(0, 0, 25);
    check_eq(done_ns, drive.arm_ns - 24 * 100000);
    check(done_ns > 22000 + 25 * 5000);
    toy.write_behind = false;
}

/* Two reads fill segments with 100 to 116 and 200 to 216. Writes of other
 * sectors leave both as they are: a read is a hit, which takes 11 us after a
 * write and 10 us after a read, and 5 us for each sector. A write of sector 116
 * empties the first segment only. */
TEST(a_write_drops_only_what_segments_hold_of_it)
{
    begin();
    read_at(0, 100, 1); /* reads ahead to 117 */
    read_at(10000, 200, 1);
    write_at(20000, 300, 8);
    check_eq(read_at(30000, 100, 8), 30000000 + 11000 + 8 * 5000);
    check_eq(read_at(40000, 200, 8), 40000000 + 10000 + 8 * 5000);
    write_at(50000, 117, 8);
    check_eq(read_at(60000, 100, 8), 60000000 + 11000 + 8 * 5000);
    write_at(70000, 96, 4);
    check_eq(read_at(80000, 100, 8), 80000000 + 11000 + 8 * 5000);
    write_at(90000, 116, 1);
    check_eq(read_at(100000, 200, 8), 100000000 + 11000 + 8 * 5000);
    check(read_at(110000, 100, 1) > 110000000 + 20000 + 5000);
}

/* ---- columns that some rows have ---- */

/* The toy with other columns. */
static struct drive_model other;
#define WITH(...) \
    (other = toy, (void)(__VA_ARGS__), drive_start(&drive, &other))

/* Sectors 1 to 4 pass from 100 to 500 us; the bus takes 50 us for each. At 75 %
 * it begins when the third has passed, at 400 us, and at 100 % after the last.
 * At 1 % it begins early, but it gets the last sector only at 500 us. */
TEST(the_bus_of_a_read_starts_when_the_buffer_has_the_marks_share)
{
    WITH(other.read_mark_percent = 75);
    drive.bus_ns = 50000;
    check_eq(read_at(0, 1, 4), 400000 + 4 * 50000);
    WITH(other.read_mark_percent = 100);
    drive.bus_ns = 50000;
    check_eq(read_at(0, 1, 4), 500000 + 4 * 50000);
    WITH(other.read_mark_percent = 1);
    drive.bus_ns = 50000;
    check_eq(read_at(0, 1, 4), 500000 + 50000);
}

/* Sector 10, the second, is on the next track, at 1.1 ms. */
TEST(a_read_mark_counts_over_tracks)
{
    WITH(other.read_mark_percent = 100);
    check_eq(read_at(80, 9, 2), 900000 + 300000 + 2 * 5000);
}

/* Sectors in the cache count: at 450 us it has sector 2 and 3. */
TEST(a_read_mark_counts_what_the_cache_holds)
{
    WITH(other.read_mark_percent = 50, other.reselect_ns = 7000);
    check_eq(read_at(0, 1, 1), 200000 + 7000 + 5000);
    check_eq(read_at(450, 2, 3), 500000 + 5000);
    WITH(other.read_mark_percent = 100, other.reselect_ns = 7000);
    read_at(0, 1, 1);
    check_eq(read_at(450, 2, 3), 500000 + 7000 + 3 * 5000);
}

/* After the data, a read takes 3 us more and a write 4 us. Taking the bus again
 * costs 7 us, which a hit and a write behind do not need. */
TEST(a_command_ends_some_time_after_its_data)
{
    WITH(other.done_ns[AFTER_READ] = 3000, other.done_ns[AFTER_WRITE] = 4000,
         other.reselect_ns = 7000);
    check_eq(read_at(0, 1, 1), 200000 + 7000 + 5000 + 3000);
    check_eq(read_at(9000, 1, 1), 9000000 + 10000 + 5000 + 3000);
    drive_start(&drive, &other);
    check_eq(write_at(0, 1, 1), 200000 + 7000 + 4000);
    other.write_behind = true;
    drive_start(&drive, &other);
    check_eq(write_at(0, 1, 3), 22000 + 15000 + 4000);
}

/* To cylinder 1 in 22 + 200 - 60 = 162 us: sector 20 comes at 400 us. A
 * write is not faster where the arm stays, as then there is no settle. */
TEST(a_write_may_settle_in_less_time_than_a_read)
{
    WITH(other.write_settle_ns = -60000);
    check_eq(write_at(238, 20, 1), 500000);
    drive_start(&drive, &other);
    check_eq(write_at(239, 20, 1), 1500000);
    drive_start(&drive, &other);
    check_eq(write_at(74, 1, 1), 1200000);
    WITH(other.write_settle_ns = -300000);
    check_eq(write_at(370, 20, 1), 500000);
    WITH(other.write_settle_ns = -950000); /* no arm is there before it left */
    check_eq(write_at(0, 9, 2), 1200000);
}

/* Track 0 ends with sector 9: sectors 5 to 9 are a hit, and 10 is a miss. */
TEST(an_arm_may_read_ahead_to_the_end_of_the_track_only)
{
    WITH(other.ahead = AHEAD_IN_TRACK);
    read_at(0, 1, 1);
    check_eq(read_at(9000, 5, 5), 9000000 + 10000 + 5 * 5000);
    check(read_at(20000, 10, 1) > 20000000 + 20000);
}

/* The segment has 24 sectors: 1 to 24 are read ahead, and 25 is a miss. */
TEST(an_arm_may_read_ahead_until_the_segment_is_full)
{
    WITH(other.ahead = AHEAD_IN_SEGMENT, other.read_ahead_sectors = 100);
    read_at(0, 1, 1);
    check_eq(read_at(20000, 1, 24), 20000000 + 10000 + 24 * 5000);
    check(read_at(40000, 25, 1) > 40000000 + 20000);
}

/* The first read does not read ahead, so sector 2 is a miss. That read goes on
 * from the first one, and reads ahead. */
TEST(an_arm_may_read_ahead_after_a_sequential_read_only)
{
    WITH(other.ahead_if_sequential = true);
    read_at(0, 1, 1);
    check(read_at(9000, 2, 1) > 9000000 + 20000 + 5000);
    check_eq(read_at(19000, 3, 4), 19000000 + 10000 + 4 * 5000);
}

/* ---- whole tracks ---- */

/* The head is in slot 0 at 20 us: it reads from slot 1 on, to the end of slot 0
 * at 1,100 us. */
TEST(a_track_is_read_from_where_the_arm_comes_to_it)
{
    WITH(other.ahead = AHEAD_TRACK);
    check_eq(read_at(0, 5, 1), 600000 + 5000);
    check_eq(read_at(700, 2, 1), 700000 + 10000 + 5000); /* before it */
    check_eq(read_at(720, 0, 1), 1100000 + 5000);        /* when it passes */
    check_eq(read_at(2000, 0, 10), 2000000 + 10000 + 10 * 5000);
    check(read_at(3000, 10, 1) > 3000000 + 20000); /* on the next track */
    WITH(other.ahead = AHEAD_FAR);
    read_at(0, 5, 1);
    check(read_at(700, 2, 1) > 1000000); /* a turn later */
}

/* At slot 5 at 500 us: sectors 5 and 6 come first, 3 and 4 by 1,500 us. They
 * cross the bus in their order. */
TEST(the_arm_may_come_in_the_middle_of_a_request)
{
    WITH(other.ahead = AHEAD_TRACK);
    check_eq(read_at(480, 3, 4), 1500000 + 3 * 5000);
    WITH(other.ahead = AHEAD_TRACK, other.read_mark_percent = 100,
         other.reselect_ns = 7000);
    check_eq(read_at(480, 3, 4), 1500000 + 7000 + 4 * 5000);
}

/* 1 to 5 have passed when the arm leaves for cylinder 3. When it comes back for
 * sector 6, it begins anew. */
TEST(a_command_that_takes_the_arm_away_ends_the_turn)
{
    WITH(other.ahead = AHEAD_TRACK);
    check_eq(read_at(0, 5, 1), 605000);
    read_at(610, 60, 1);
    check_eq(read_at(9000, 1, 5), 9000000 + 10000 + 5 * 5000);
    check_eq(read_at(10000, 5, 2), 10000000 + 700000 + 5000);
    check_eq(drive.cyl, 0);
}

/* Tracks 0, 1 and 2 fill the three segments; track 3, from sector 28, takes the
 * place of the first. */
TEST(each_segment_holds_a_track)
{
    WITH(other.ahead = AHEAD_TRACK);
    read_at(0, 0, 1);
    read_at(3000, 10, 1);
    read_at(6000, 20, 1);
    check_eq(read_at(9000, 0, 28), 9000000 + 10000 + 28 * 5000);
    read_at(12000, 28, 1);
    check_eq(read_at(15000, 10, 27), 15000000 + 10000 + 27 * 5000);
    check(read_at(18000, 0, 1) > 18000000 + 20000);
}

/* Sectors that are not on the written track, or have not passed, stay valid.
 * The write's own data are in a segment, too. */
TEST(a_write_makes_a_track_out_of_date_if_the_segment_has_the_sector)
{
    WITH(other.ahead = AHEAD_TRACK);
    check_eq(read_at(0, 5, 1), 605000);
    write_at(610, 8, 1);
    check_eq(read_at(9000, 1, 5), 9000000 + 11000 + 5 * 5000);
    check_eq(read_at(9100, 8, 1), 9100000 + 10000 + 5000);
    write_at(10000, 5, 1);
    check_eq(read_at(19000, 5, 1), 19000000 + 11000 + 5000);
    check(read_at(20000, 4, 1) > 20000000 + 20000);
}

/* Sector 73 is zone A's last, at slot 0; 66 to 73 are its track. The next zone
 * has tracks of 8. The last sector of all is 609, of a track from 602. */
TEST(a_whole_track_ends_with_the_zone_and_with_the_drive)
{
    WITH(other.ahead = AHEAD_TRACK);
    read_at(0, 70, 1);
    check_eq(read_at(3000, 66, 8), 3000000 + 10000 + 8 * 5000);
    check(read_at(6000, 65, 1) > 6000000 + 20000);
    read_at(9000, 74, 1);
    check_eq(read_at(12000, 74, 8), 12000000 + 10000 + 8 * 5000);
    read_at(15000, 609, 1);
    check_eq(drive.ahead_end, 610);
    read_at(18000, 609, 1);
    check_eq(drive.ahead, MAX_SEGMENTS);
}

/* ---- sectors without data ---- */

/* Zone A: 10 of its first sectors and 4 of its last hold no data, and three
 * slip, of which 30 is the last; so sector 0 is where 10 was, 17 where 29, 18
 * where 31. Its tracks begin 2 slots later. */
static const struct zone_gaps gaps[] = {
    {.first_slot = 2,
     .front = 10,
     .back = 4,
     .slips = (const u32[]){15, 16, 30, 0}},
    {.first_slot = 5},
};

TEST(a_zone_has_sectors_that_hold_no_data)
{
    WITH(other.gaps = gaps);
    check_eq(drive_room(&other), 74 - 10 - 4 - 3 + 74 * 8 - 25 * 2);
    /* Where sector 10 is without gaps, at slot 1, and 2 more. */
    check_eq(read_at(200, 0, 1), 300000 + 100000 + 5000);
    /* Sector 4 is the last before the slips: 5 comes two slots later. */
    drive_start(&drive, &other);
    check_eq(read_at(600, 4, 2), 700000 + 400000 + 5000);
    drive_start(&drive, &other);
    check_eq(read_at(0, 57, 1), 5 * 125000 + 125000 + 5000);
}

/* ---- times drawn at random ---- */

/* Of 100,000 times: the mean and the deviation are 10 ms, the share over three
 * means is e^-3; each within four of its standard errors. */
TEST(a_time_may_vary_exponentially)
{
    drive_start(&drive, drive_find("exponential"));
    u64 n = 100000, sum_us = 0, squares = 0, over = 0, last_ns = 0;
    for (u64 i = 0; i < n; i++) {
        u64 ns = drive_service(&drive, 0, 1, 1, false) - last_ns;
        last_ns = drive.free_ns;
        sum_us += ns / 1000;
        squares += (ns / 1000) * (ns / 1000);
        over += ns > 30000000;
    }
    u64 mean_us = sum_us / n, mean_square = squares / n;
    check(mean_us > 9873 && mean_us < 10127);
    check(mean_square > 194340000 && mean_square < 205660000);
    check(over > 4703 && over < 5255);
}

/* Two drives with seed 0 take the same time, and one with seed 1 takes
 * another. */
TEST(times_drawn_depend_on_the_seed_alone)
{
    u64 ns[3];
    for (u64 i = 0; i < 3; i++) {
        drive_start(&drive, drive_find("exponential"));
        drive.random = i / 2;
        ns[i] = drive_service(&drive, 0, 1, 1, false);
    }
    check_eq(ns[0], ns[1]);
    check(ns[0] != ns[2]);
}

TEST(a_constant_service_time_is_all_there_is_of_some_drives)
{
    drive_start(&drive, drive_find("fixed"));
    check_eq(drive_service(&drive, 5, 1, 1, false), 10000005);
    check_eq(drive_service(&drive, 6, 999, 64, true), 20000005);
    struct approach a = drive_approach(&drive, 7, 5, 1, true);
    check_eq(a.there_ns, 20000005);
    check_eq(a.begin_ns, 20000005);
    check_eq(drive_seek_edge(&drive, 8, true), 0);
}

/* ---- against one sector at a time ---- */

static struct slow_drive slow;

/* Check that the drive and the slow one hold the same sectors in the same
 * segments, and that their arms and times are the same. */
static void check_same(u64 step)
{
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        const struct segment *a = &drive.segment[i], *b = &slow.segment[i];
        check_eq(a->used, b->used);
        if (toy.ahead == AHEAD_TRACK) { /* two ranges, where slow has a table */
            for (u64 k = 0; k < toy.sectors; k++) {
                bool holds = (a->low <= k && k < a->low_end) ||
                             (a->first <= k && k < a->end);
                check_eq(holds, slow_holds(&slow, i, k));
            }
            continue;
        }
        if (a->first != b->first || a->end != b->end || a->used != b->used)
            printf("step %lu, segment %u\n", step, i);
        check_eq(a->first, b->first);
        check_eq(a->end, b->end);
    }
    check_eq(drive.free_ns, slow.free_ns);
    check_eq(drive.arm_ns, slow.arm_ns);
    check_eq(drive.cyl, slow.cyl);
    check_eq(drive.head, slow.head);
    check_eq(drive.ahead, slow.ahead < 0 ? MAX_SEGMENTS : (u32)slow.ahead);
    check_eq(drive.written,
             slow.written < 0 ? MAX_SEGMENTS : (u32)slow.written);
}

/* Check that the drive's approach to a command is possible, and, for a single
 * sector that is not cached, that the slow drive is done with it one sector's
 * time (100 or 125 us) and its other costs later. */
static void check_approach(u64 now_ns, u64 sector, u32 n, bool write)
{
    static struct slow_drive copy;
    copy = slow;
    struct approach a = drive_approach(&drive, now_ns, sector, n, write);
    u64 done_ns = slow_service(&copy, now_ns, sector, n, write);
    u64 ready_ns = MAX(now_ns, slow.free_ns);
    check(a.there_ns >= ready_ns && a.begin_ns >= a.there_ns);
    check(a.begin_ns - a.there_ns < 1000000);
    u64 after_ns = (write ? 0 : toy.bus_ns) + toy.done_ns[write];
    after_ns += toy.reselect_ns;
    if (n == 1 && a.begin_ns > ready_ns) /* alone, it is done right after */
        check(done_ns == a.begin_ns + after_ns + 100000 ||
              done_ns == a.begin_ns + after_ns + 125000);
    if (toy.ahead == AHEAD_TRACK && !write) /* else it goes to another track */
        check_eq(a.begin_ns == ready_ns, copy.turns == slow.turns);
}

/* Give random commands to the drive and to the slow one, and check after each
 * that both agree. Most go on from the last command, or a few sectors back. Of
 * 100 steps, 1 divides the cache anew, 1 moves the arm to an edge, and 8 let
 * the drives catch up. */
static void random_requests(u64 state, u64 steps)
{
    u64 now_ns = 0, sector = 0;
    check_eq(slow_start(&slow, &toy), drive_room(&toy));
    begin();
    for (u64 step = 0; step < steps; step++) {
        u64 dice = random_u64(&state) % 100, back = random_u64(&state) % 20;
        u32 most_sectors = dice < 10 ? 60 : 6;
        u64 most_pause_ns = dice % 3 ? 300000 : 4000000;
        u32 n = 1 + random_u64(&state) % most_sectors;
        bool write = random_u64(&state) % 100 < 35;
        if (random_u64(&state) % 8) /* else the drive is still busy */
            now_ns = MAX(now_ns, drive.free_ns);
        now_ns += random_u64(&state) % most_pause_ns;
        if (dice < 30)
            sector = random_u64(&state) % toy.sectors;
        else if (dice < 50)
            sector -= MIN(sector, back);
        if (sector + n > toy.sectors)
            sector = toy.sectors - n;
        if (dice == 99) {
            u32 most = toy.ahead == AHEAD_TRACK ? 7 : MAX_SEGMENTS;
            struct drive_cache c =
                drive_cache_in(&toy, 1 + random_u64(&state) % most);
            drive_set_cache(&drive, now_ns, &c);
            slow_divide(&slow, now_ns, &c);
        } else if (dice == 98) {
            bool last = random_u64(&state) % 2;
            check_eq(drive_seek_edge(&drive, now_ns, last),
                     slow_seek_edge(&slow, now_ns, last));
        } else if (dice > 90) {
            drive_catch_up(&drive, now_ns);
            slow_catch_up(&slow, now_ns);
            if (!toy.write_behind)
                check_approach(now_ns, sector, n, write);
        } else {
            check_eq(drive_service(&drive, now_ns, sector, n, write),
                     slow_service(&slow, now_ns, sector, n, write));
            sector += n;
        }
        check_same(step);
    }
}

TEST(random_requests_take_as_long_as_sector_by_sector)
{
    random_requests(1, 20000);
}

TEST(random_requests_to_a_drive_that_writes_behind_do_too)
{
    toy.write_behind = true;
    random_requests(2, 20000);
}

TEST(random_requests_to_a_drive_that_settles_slowly_do_too)
{
    toy.write_settle_ns = 110000;
    random_requests(4, 5000);
}

TEST(random_requests_to_a_drive_with_other_columns_do_too)
{
    static const enum ahead aheads[] = {AHEAD_FAR, AHEAD_IN_SEGMENT,
                                        AHEAD_IN_TRACK};
    toy.reselect_ns = 3000;
    toy.done_ns[AFTER_READ] = 2000;
    toy.done_ns[AFTER_WRITE] = 4000;
    toy.write_settle_ns = -30000;
    toy.gaps = gaps;
    toy.sectors = 590;
    for (u32 i = 0; i < 6; i++) {
        toy.ahead = aheads[i % 3];
        toy.ahead_if_sequential = i < 3;
        toy.read_mark_percent = 20 * i;
        random_requests(10 + i, 5000);
    }
}

/* With its spares and with sectors that hold no data; the last track ends
 * before its last sector. */
TEST(random_requests_to_a_drive_that_reads_whole_tracks_do_too)
{
    toy.ahead = AHEAD_TRACK;
    for (u32 i = 0; i < 8; i++) {
        toy.gaps = i % 2 ? gaps : NULL;
        toy.sectors = i % 2 ? 590 : 610;
        toy.write_behind = i / 2 % 2;
        toy.segments = i / 4 ? 3 : 1;
        toy.segment_sectors = i / 4 ? 24 : 72;
        toy.read_mark_percent = 15 * i;
        toy.reselect_ns = 1000 * i;
        random_requests(20 + i, 1500);
    }
}

TEST(random_requests_to_a_drive_without_spares_do_too)
{
    toy.spares = toy.spare_tracks = 0;
    toy.sectors = 80 + 74 * 8;
    toy.segments = 1;
    toy.segment_sectors = 40;
    random_requests(3, 20000);
}

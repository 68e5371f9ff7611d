/*
 * Drives' caches, as they are divided while they work. What the models say of
 * real drives is tested with drive_replay_tool.
 *
 * link: tests/support/native/main.c drives
 */
#include "tests/support/native/test.h"
#include "drives/row.h"

/* A hit of 8 sectors takes less than that, nearly every miss takes more. */
#define HIT_NS 4000000

static struct drive drive;
static u64 now_ns;

/* How long a read of 8 sectors takes, a second after the last. */
static u64 read_ns(u64 sector)
{
    now_ns += 1000000000;
    return drive_service(&drive, now_ns, sector, 8, false) - now_ns;
}

/* Divide the drive's cache into so many segments, now. */
static void divide(u32 segments)
{
    struct drive_cache cache = drive_cache_in(drive.model, segments);
    drive_set_cache(&drive, now_ns, &cache);
}

/* The cache has 3 segments of 282 sectors, 846 in all. Divided by 8, a segment
 * has 105, and as many are read ahead. */
TEST(a_cache_divided_otherwise_is_as_large_and_reads_as_much_of_a_segment_ahead)
{
    const struct drive_model *m = drive_find("cheetah4lp");
    struct drive_cache c = drive_cache_in(m, 3);
    check_eq(c.segment_sectors, 282);
    check_eq(c.read_ahead_sectors, 282);
    c = drive_cache_in(m, 8);
    check_eq(c.segments, 8);
    check_eq(c.segment_sectors, 105);
    check_eq(c.read_ahead_sectors, 105);
    c = drive_cache_in(m, 1);
    check_eq(c.segment_sectors, 846);
}

TEST(dividing_a_cache_empties_it_and_takes_a_commands_time)
{
    drive_start(&drive, drive_find("cheetah4lp"));
    read_ns(1000000);
    check(read_ns(1000008) < HIT_NS); /* read ahead */
    u64 free_ns = drive.free_ns;
    divide(8);
    check_eq(drive.free_ns, free_ns + drive.model->read_miss_ns[AFTER_READ]);
    /* The arm is still there: what it lacks is the rotation. */
    u64 overhead_ns = drive.model->read_miss_ns[AFTER_READ];
    check(read_ns(1000016) > overhead_ns + 8 * drive.bus_ns);
}

/* Sector k of the outermost track of the HP 97560 begins to pass at k of 72
 * parts of a turn, 14,992,503 ns. */
static u64 slot_ns(u64 k)
{
    return k * 14992503 / 72;
}

/*
 * Nine blocks of 8 sectors are a track. By hand, with 2.2 ms for each command
 * and 51.2 us a sector on the bus: the arm is ready at 2.2 ms, in slot 10, and
 * reads from slot 11 on, until that is over in the second turn, at 17.28 ms.
 *
 * - Block 4 is over at slot 40, its last sector across at 8.38 ms.
 * - Block 7, asked for then, is over at slot 64: 13.38 ms.
 * - Block 1: 11 to 15 came first. 8 to 10 come last of all, over at 17.28 ms;
 *   one of them and the other five still have to cross: 17.59 ms.
 * - All others are in the segment: six commands of 2.2 ms and 8 sectors.
 *
 * That is a turn from when the head was there, and overheads.
 */
TEST(a_track_in_random_order_takes_a_turn_and_overheads)
{
    static const u64 blocks[] = {4, 7, 1, 8, 0, 3, 6, 2, 5};
    u64 bus_ns = 51200, hit_ns = 2200000 + 8 * bus_ns;
    u64 turned_ns = slot_ns(72) + slot_ns(11);
    u64 done_ns[9] = {slot_ns(40) + bus_ns, slot_ns(64) + bus_ns,
                      turned_ns + 6 * bus_ns};
    drive_start(&drive, drive_find("hp97560"));
    check(!drive_set_ahead(&drive, "track", false));
    for (u32 i = 0; i < 9; i++) {
        if (i >= 3)
            done_ns[i] = done_ns[i - 1] + hit_ns;
        check_eq(drive_service(&drive, drive.free_ns, 8 * blocks[i], 8, false),
                 done_ns[i]);
    }
    check_eq(done_ns[8], 33247824);
    drive_start(&drive,
                drive_find("hp97560")); /* reads ahead as its row says */
    for (u32 i = 0; i < 9; i++)
        drive_service(&drive, drive.free_ns, 8 * blocks[i], 8, false);
    check(drive.free_ns > done_ns[8] + 2 * slot_ns(72));
}

/* Start a drive, divide its cache (0: as its row says), and let it read whole
 * tracks. Returns what is wrong with that, or NULL. */
static const char *track(const char *name, u32 segments)
{
    drive_start(&drive, drive_find(name));
    if (segments)
        drive.cache = drive_cache_in(drive.model, segments);
    return drive_set_ahead(&drive, "track", false);
}

/* Each segment must hold a track. Of the HP 97560 that is 72 sectors, and 3
 * segments have 85; of the Cheetah 195 at most, and 4 segments have 211. */
TEST(a_drive_reads_whole_tracks_only_into_segments_that_hold_one)
{
    check(!track("hp97560", 3));
    check(drive.whole_tracks);
    check(strstr(track("hp97560", 4), "smaller than a track"));
    check(!drive.whole_tracks);
    check(strstr(track("fixed", 0), "no platters"));
    check(!track("cheetah4lp", 4));
    check(track("cheetah4lp", 5));
    drive_start(&drive, drive_find("hp97560"));
    check(strstr(drive_set_ahead(&drive, "far", false), "must be track"));
    check(strstr(drive_set_ahead(&drive, "track", true), "adapt"));
    drive.ahead_if_sequential = true;
    check(strstr(drive_set_ahead(&drive, "track", false), "if_sequential"));
}

/* Let streams far apart read 8 sectors each by turns, 20 times. Returns how
 * many of these reads were hits. */
static u64 hits_of(u32 streams)
{
    u64 hits = 0;
    for (u64 i = 0; i < 20; i++)
        for (u64 s = 0; s < streams; s++)
            hits += read_ns(1000000 * s + 8 * i) < HIT_NS;
    return hits;
}

TEST(as_many_streams_as_segments_find_what_was_read_ahead)
{
    drive_start(&drive, drive_find("cheetah4lp"));
    check(hits_of(3) >= 3 * 18);
    divide(3);
    check(hits_of(8) < 8 * 5);
    divide(8);
    check(hits_of(8) >= 8 * 17);
}

/* The arm is at the last cylinder, from where it was, when the drive is free;
 * then it goes all the way back. */
TEST(a_seek_to_the_edge_takes_the_way_there)
{
    const struct drive_model *m = drive_find("rz58");
    u32 cyls = m->zones[3].last_cyl;
    drive_start(&drive, m);
    drive.cyl = cyls - 100;
    drive.free_ns = 5000000;
    u64 end_ns = 5000000 + drive_seek_ns(m, 100);
    check_eq(drive_seek_edge(&drive, 1000000, true), end_ns);
    check_eq(drive_seek_edge(&drive, 1000000, false),
             end_ns + drive_seek_ns(m, cyls));
    check_eq(drive.cyl, 0);
}

TEST(a_drive_without_an_arm_moves_none)
{
    drive_start(&drive, drive_find("fixed"));
    check_eq(drive_seek_edge(&drive, 1000000, true), 0);
    check_eq(drive.free_ns, 0);
}

/* When the request would be done, if the drive were given it so much later. */
static u64 done_ns(u64 later_ns, u64 sector, bool write)
{
    struct drive trial = drive;
    return drive_service(&trial, now_ns + later_ns, sector, 8, write);
}

/* Once the arm rests, the rotational slack is exactly what the approach says. A
 * request that comes later by less than the slack ends at the same time. If it
 * comes later by more, it ends a rotation later. */
TEST(a_request_may_come_as_much_later_as_the_platter_keeps_the_arm_waiting)
{
    u64 state = 1, misses = 0;
    drive_start(&drive, drive_find("rz58"));
    u64 rotation_ns = drive_rotation_ns(drive.model);
    for (u32 i = 0; i < 1000; i++) {
        u64 sector = random_u64(&state) % 2000000;
        bool write = random_u64(&state) % 2;
        now_ns = drive.free_ns + 100000000 + random_u64(&state) % 20000000;
        drive_catch_up(&drive, now_ns);
        struct approach a = drive_approach(&drive, now_ns, sector, 8, write);
        u64 spare_ns = a.begin_ns - a.there_ns;
        check(spare_ns < rotation_ns);
        if (spare_ns > 10000) {
            misses++;
            check_eq(done_ns(spare_ns - 1000, sector, write),
                     done_ns(0, sector, write));
            check(done_ns(spare_ns + 1000, sector, write) >
                  done_ns(0, sector, write) + rotation_ns - 2000);
        }
        drive_service(&drive, now_ns, sector, 8, write);
    }
    check(misses > 900);
}

/* The next sector of the same track is written at once. The first sector after
 * a gap comes when the platter brings it, to the drive's own work as to a
 * command that comes so much earlier as the controller and the bus take. */
TEST(what_a_drive_does_inside_takes_the_arm_and_the_platters_alone)
{
    for (u32 i = 0; i < 2; i++) {
        drive_start(&drive, drive_find(i ? "st19101" : "hp97560"));
        u64 sector_ns =
            drive_rotation_ns(drive.model) / drive.model->zones->sectors;
        u64 end_ns = drive_service(&drive, 1000, 8, 8, true);
        u64 outside_ns = done_ns(0, 16, true);
        check(outside_ns > end_ns + drive.model->write_miss_ns[0] + sector_ns);
        drive.inside = true;
        struct approach a = drive_approach(&drive, end_ns, 16, 1, true);
        check_eq(a.there_ns, end_ns);
        check(a.begin_ns - end_ns <= 1);
        u64 took_ns = drive_service(&drive, end_ns, 16, 1, true) - end_ns;
        check(took_ns >= sector_ns - 1 && took_ns <= sector_ns + 2);
        u64 read_ns = drive_service(&drive, drive.free_ns, 25, 1, false);
        check(read_ns - end_ns <= 10 * (sector_ns + 1));
    }
}

/* Blocks behind sector 1,000,000 have been read ahead: a read of them begins at
 * once, a write does not. */
TEST(the_arm_need_not_come_to_what_the_cache_holds)
{
    drive_start(&drive, drive_find("rz58"));
    read_ns(1000000);
    now_ns += 1000000000;
    drive_catch_up(&drive, now_ns);
    struct approach a = drive_approach(&drive, now_ns, 1000008, 8, false);
    check_eq(a.there_ns, now_ns);
    check_eq(a.begin_ns, now_ns);
    a = drive_approach(&drive, now_ns, 1000008, 8, true);
    check(a.begin_ns > now_ns);
}

/* The drive that catches up in eight steps while it is idle serves the next
 * request at the same time as the drive that does not. */
TEST(a_drive_that_has_caught_up_is_the_same_drive)
{
    u64 state = 2;
    drive_start(&drive, drive_find("cheetah4lp"));
    for (u32 i = 0; i < 1000; i++) {
        u64 sector = random_u64(&state) % 1000 * 8;
        bool write = random_u64(&state) % 8 == 0;
        u64 idle_ns = random_u64(&state) % 5000000;
        now_ns = drive.free_ns + idle_ns;
        struct drive asked = drive;
        for (u64 part = 1; part <= 8; part++)
            drive_catch_up(&asked, drive.free_ns + idle_ns * part / 8);
        u64 ns = drive_service(&drive, now_ns, sector, 8, write);
        check_eq(drive_service(&asked, now_ns, sector, 8, write), ns);
    }
}

/*
 * Placement: where requests go on the disk, and when the policy is asked.
 *
 * The place policy `told` notes each call (told.h): "place R10" is the question
 * where the read at sector 10 goes, "placed 10 at 210" says that it went there.
 * boot_placed boots with an answer of the policy. submit("R0:10+2") submits a
 * read of disk 0, 2 sectors from 10 on; check_commands expects the commands
 * with their places (rig.h). Block 5 is sectors 10 and 11.
 */
#include "drives/row.h"
#include "tests/support/native/blocks.h"

#define MS 1000000UL

/* Place each request 200 sectors further. */
static u64 shifted(const struct queue *q, const struct request *r, u64 now_ns)
{
    (void)now_ns;
    (void)q;
    return r->sector + 200;
}

/* Place writes 50 sectors behind the head, and leave reads where they are. */
static u64 behind_head(const struct queue *q, const struct request *r,
                       u64 now_ns)
{
    (void)now_ns;
    return r->write ? q->head_sector + 50 : r->sector;
}

/* Boot with a place policy that answers so. The head is at sector 0. */
static void boot_placed(const char *args,
                        u64 (*place)(const struct queue *,
                                     const struct request *, u64))
{
    told.quiet = true;
    boot(args);
    told.quiet = false;
    told.place = place;
    forget("notes"); /* of the look for a virtual log */
    forget("commands");
    disk0()->queue.head_sector = 0;
}

/* The policy moves everything 200 sectors on: sector 10 is at 210, and the last
 * one that fits is 3894. */
TEST(a_block_is_read_and_written_where_it_is_placed)
{
    boot_placed("nbuf=64 place=told", shifted);
    on_device(0, 210)[0] = 7;
    struct buf *b = bread(disk0(), 5);
    check_eq(((u8 *)b->data)[0], 7);
    brelse(b);
    check_eq(bwrite(getblk(disk0(), 6)), 0);
    check_commands("R0:210+2 W0:212+2");
    read_in(1947);
    check_commands("R0:4094+2");
}

/* ---- when the policy is asked ---- */

/* While the disk is plugged nothing is asked. Then each request is placed once,
 * 200 sectors further. */
TEST(a_request_is_placed_once_when_it_is_dispatched)
{
    boot_placed("place=told", shifted);
    disk_plug(disk0());
    submit("R0:10+2 W0:30+4");
    check_notes("");
    disk_unplug(disk0());
    check_notes("place R10; placed 10 at 210; place W30; placed 30 at 230");
    end_commands();
    check_notes("R10 done; W30 done");
    check_commands("R0:210+2 W0:230+4");
}

/* Block 5 is asked about only when its write is dispatched. It goes to sector
 * 50, which is 50 behind the head. */
TEST(a_dirty_block_is_placed_when_it_is_written_and_not_as_a_candidate)
{
    told_sched.sched.takes_candidates = true;
    boot_placed("nbuf=64 sched=told place=told", behind_head);
    disk_plug(disk0());
    dirty(5, 0);
    dirty(5, 0);
    check_notes("queued O10");
    disk_unplug(disk0());
    check_notes("next R0 W0 O1; leaves O10; queued W10; place W10; "
                "leaves W10; placed 10 at 50");
    check_commands("W0:50+2");
    check_eq(disk0()->queue.head_sector, 52);
}

/* Three neighbours are neighbours where they are placed, too: one command. */
TEST(each_neighbour_is_asked_for_once_and_merged_where_it_is_next)
{
    boot_placed("place=told", shifted);
    disk0()->depth = 1;
    disk0()->queue.head_sector = 12;
    disk_plug(disk0());
    submit("R0:12+2 R0:14+2 R0:10+2");
    disk_unplug(disk0());
    check_notes("place R12; placed 12 at 212; place R14; placed 14 at 214; "
                "place R10; placed 10 at 210");
    check_commands("R0:210+6=3");
    check_eq(disk0()->queue.head_sector, 216);
}

/* Place requests in the opposite order. */
static u64 mirrored(const struct queue *q, const struct request *r, u64 now_ns)
{
    (void)now_ns;
    (void)q;
    return 1000 - r->sector;
}

/* The policy mirrors the order of sectors, so a request's next one lies before
 * it. None is merged. */
TEST(a_neighbour_that_goes_elsewhere_is_not_merged_and_is_asked_for_again)
{
    boot_placed("place=told", mirrored);
    disk0()->depth = 1;
    disk0()->queue.head_sector = 12;
    disk_plug(disk0());
    submit("R0:12+2 R0:14+2 R0:10+2");
    disk_unplug(disk0());
    check_notes("place R12; placed 12 at 988; place R14; place R10");
    check_commands("R0:988+2");
    end_command(0);
    check_notes("place R10; placed 10 at 990; R12 done");
    end_commands();
    check_notes("place R14; placed 14 at 986; R10 done; R14 done");
    check_commands("R0:990+2 R0:986+2");
}

TEST(a_request_that_failed_with_its_neighbours_is_placed_anew)
{
    boot_placed("place=told", shifted);
    disk_plug(disk0());
    fail_sector(0, 212, true, 1);
    submit("W0:10+2 W0:12+2");
    disk_unplug(disk0());
    check_commands("W0:210+4=2");
    forget("notes");
    end_command(0);
    check_notes("place W10; placed 10 at 210; place W12; placed 12 at 212");
    check_commands("W0:210+2 W0:212+2");
}

TEST(raw_transfers_are_not_placed)
{
    static u8 bytes[SECTOR_BYTES];
    boot_placed("place=told", shifted);
    struct io io = {.request = {.sector = 100, .nsectors = 1, .raw = true},
                    .span.data = bytes};
    check_eq(disk_transfer(disk0(), &io, 1), 0);
    check_notes("");
    check_commands("R0:100+1");
    check_eq(io.request.physical, 100);
}

/* ---- what else knows the place ---- */

TEST(the_drive_model_goes_to_the_physical_sector)
{
    boot_placed("drive=rz58 place=told", shifted);
    struct drive copy = disk0()->drive;
    u64 want_ns = drive_service(&copy, clock_now_ns, 1200, 8, false);
    submit("R0:1000+8");
    check_eq(disk0()->drive_timer.when_ns, want_ns);
}

/* The approach to a request that is placed 200 sectors on is that of a raw
 * request 200 sectors on, which is not placed. */
TEST(an_approach_is_to_the_physical_sectors)
{
    boot_placed("drive=rz58 place=told", shifted);
    struct request first = {.sector = 100, .nsectors = 2, .write = true};
    struct request then = {.sector = 3000, .nsectors = 2};
    const struct queue *q = &disk0()->queue;
    struct approach placed = queue_approach(q, 9 * MS, NULL, 0, &then);
    check_notes("place R3000");
    struct approach after = queue_approach(q, 9 * MS, &first, MS, &then);
    first = (struct request){
        .sector = 300, .nsectors = 2, .write = true, .raw = true};
    then = (struct request){.sector = 3200, .nsectors = 2, .raw = true};
    forget("notes");
    struct approach raw = queue_approach(q, 9 * MS, NULL, 0, &then);
    check_eq(placed.there_ns, raw.there_ns);
    check_eq(placed.begin_ns, raw.begin_ns);
    raw = queue_approach(q, 9 * MS, &first, MS, &then);
    check_eq(after.there_ns, raw.there_ns);
    check_eq(after.begin_ns, raw.begin_ns);
    check_notes("");
}

TEST(the_trace_names_requests_by_their_sector_and_says_where_they_go)
{
    boot_placed("trace_k=1 place=told", shifted);
    forget("trace");
    submit("R0:10+2");
    end_commands();
    check_trace("queued disk0 10 7 2; placed disk0 10 7 210; "
                "issued disk0 10 7 2; completed disk0 10 7 0");
}

/* ---- wrong answers and swaps ---- */

/* Return a sector behind the disk's end. */
static u64 past_the_end(const struct queue *q, const struct request *r,
                        u64 now_ns)
{
    (void)now_ns;
    return q->disk || !r->write ? r->sector : 4095;
}

TEST(a_place_off_the_disk_is_a_fault_and_the_block_stays_where_it_is)
{
    boot_placed("place=told", past_the_end);
    submit("W0:4094+1");
    check_commands("W0:4095+1");
    forget("notes");
    submit("W0:20+2");
    check_console("policy fault: place/told: place returned a sector off the "
                  "disk; going on with inplace\n");
    check_notes("place W20; inplace starts");
    submit("R0:30+2");
    check_notes("");
    check_commands("W0:20+2 R0:30+2");
    check_counters("policy.", "faults 1");
}

TEST(the_kernel_can_place_what_a_faulty_policy_did_not_and_leave_it_in_use)
{
    boot_placed("place=told faults=answer", past_the_end);
    submit("W0:20+2");
    told.place = shifted;
    submit("W0:30+2");
    end_commands();
    check_commands("W0:20+2 W0:230+2");
    check(policy_in_use[POLICY_PLACE] == &told_place);
    check_console("policy fault: place/told: place returned a sector off the "
                  "disk; the kernel answers instead\n");
    check_counters("policy.", "faults 1");
}

/* Return a place off the disk. */
static u64 far_away(const struct queue *q, const struct request *r, u64 now_ns)
{
    (void)now_ns;
    (void)q, (void)r;
    return NEVER_NS;
}

TEST(another_disk_goes_to_the_default_when_it_is_told_wrongly_too)
{
    boot_placed("place=told", far_away);
    submit("W0:20+2 W1:20+2 W1:30+2");
    check_notes("place W20; inplace starts; place W20");
    check_commands("W0:20+2 W1:20+2 W1:30+2");
    check_counters("policy.", "faults 1");
}

/* Note that the policy starts. */
static void starts(void)
{
    for (u32 i = 0; i < disk_count(); i++)
        check(disk_get(i)->place != &told_place);
}

TEST(a_place_policy_used_again_after_a_fault_starts_when_no_disk_uses_it)
{
    told_place.start = starts;
    boot_placed("place=told", past_the_end);
    submit("W0:20+2");
    check(disk0()->place != &told_place);
    check(disk_get(1)->place == &told_place);
    control("use place told");
    check(disk_get(1)->place == &told_place);
}

/* Have a request placed while the policy's hook `check` complains. */
static void place_wrongly(void)
{
    told.wrong = "a mistake";
    read_in(6);
}

TEST(a_place_policy_can_be_swapped_and_is_checked_after_each_answer)
{
    boot("nbuf=64 check=1");
    told.place = shifted;
    control("use place told");
    check_notes("inplace stops");
    read_in(5);
    check_commands("R0:210+2");
    check_panics(place_wrongly, "policy check: place/told: a mistake");
}

/* Placement: where blocks are read and written. */
#include "grade/native/kernel/blocks.h"

TEST(a_block_is_read_and_written_where_it_is_placed)
{
    boot("nbuf=64 place=told");
    told.shift = 100;
    read_in(5);
    check_eq(bwrite(getblk(disk0(), 6)), 0);
    check_commands("R0:210+2 W0:212+2");
    read_in(1947);
    check_commands("R0:4094+2");
}

TEST(a_place_off_the_disk_is_a_fault_and_the_block_stays_where_it_is)
{
    boot("nbuf=64 place=told");
    told.shift = 100;
    read_in(1948);
    check_console("policy fault: place/told: physical returned a block off the "
                  "disk; going on with inplace\n");
    check_notes("inplace starts");
    read_in(5);
    check_commands("R0:3896+2 R0:10+2");
    check_counters("policy.", "faults 1");
}

static void place_wrongly(void)
{
    told.wrong = "a mistake";
    read_in(6);
}

TEST(a_place_policy_can_be_swapped_and_is_checked_after_each_answer)
{
    boot("nbuf=64 check=1");
    control("use place told");
    check_notes("inplace stops");
    told.shift = 1;
    read_in(5);
    check_commands("R0:12+2");
    check_panics(place_wrongly, "policy check: place/told: a mistake");
}

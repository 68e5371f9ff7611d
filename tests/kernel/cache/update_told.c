/*
 * Which blocks the update policy is notified of: those that become dirty, and
 * those that are written or dropped.
 *
 * The policy `told` notes each call (told.h): "dirtied 5", "leaves 5".
 * check_notes expects the notes since the last check. dirty(5, 0) makes block 5
 * dirty; bawrite starts a write, binval drops a block (blocks.h).
 */
#include "tests/support/native/blocks.h"
#include "kernel/cache/bio.h"

/* Boot with the update policy told, which nobody has scan. */
static void boot_told_update(const char *args)
{
    char line[256];
    snprintf(line, sizeof line, "nbuf=64 update=told %s", args);
    boot(line);
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = update_switch});
}

TEST(the_update_policy_is_told_once_what_becomes_dirty_and_what_leaves)
{
    boot_told_update("");
    dirty(5, 0);
    dirty(5, 0);
    dirty(6, 0);
    check_notes("dirtied 5; dirtied 6");
    bawrite(getblk(disk0(), 5));
    check_notes("leaves 5");
    binval(disk0(), 6);
    check_notes("leaves 6");
    end_commands();
    check_notes("");
}

TEST(a_failed_write_is_dirty_anew_for_the_update_policy)
{
    boot_told_update("");
    dirty(5, 0);
    fail_sector(0, 10, true, 1);
    bawrite(getblk(disk0(), 5));
    end_commands();
    check_notes("dirtied 5; leaves 5; dirtied 5");
}

/* Blocks 5 to 8 are dirty. Block 7 is on the pending list, as if its write had
 * failed, and is reported first. */
TEST(a_new_update_policy_is_told_of_what_is_dirty_pending_and_oldest_first)
{
    boot_told_update("");
    control("use update pu");
    clock_now_ns = 1000;
    for (u64 i = 5; i < 9; i++) {
        clock_now_ns += 10;
        dirty(i, 0);
    }
    struct buf *b = buffer_of(7); /* pending, as if it could not be written */
    b->flags |= B_PENDING;
    list_remove(&b->dirty);
    list_push_back(&bcache.pending, &b->dirty);
    forget("notes");
    control("use update told");
    check_notes("pu stops; dirtied 7; dirtied 5; dirtied 6; dirtied 8");
    check_eq(bflush(NULL), 0);
    check_notes("leaves 7; leaves 5; leaves 6; leaves 8");
}

TEST(an_update_policy_may_do_without_being_told)
{
    boot_told_update("");
    told_update.update.dirtied = NULL;
    told_update.update.leaves = NULL;
    dirty(5, 0);
    check_eq(bflush(NULL), 0);
    check_notes("");
}

static void dirty_wrongly(void)
{
    told.wrong = "a mistake";
    dirty(5 + bio_dirty(), 0);
}

static void end_update_look_wrongly(void)
{
    told.wrong = "a mistake";
    scan_ends();
}

static void switch_wrongly(void)
{
    told.wrong = "a mistake";
    update_switch(&told_update);
}

/* With check=1, a mistake that the policy finds in its own records is a panic:
 * when a block becomes dirty, at a swap and after a scan, but not during a
 * scan. */
TEST(an_update_policy_is_checked_when_a_block_is_dirty_and_after_its_look)
{
    boot_told_update("check=1");
    check_panics(dirty_wrongly, "policy check: update/told: a mistake");
    check_panics(switch_wrongly, "policy check: update/told: a mistake");
    scan_begins();
    told.wrong = "a mistake";
    dirty(5, 0);
    told.wrong = NULL;
    check_panics(end_update_look_wrongly, "policy check: update/told");
    scan_ends();
    check_panics(dirty_wrongly, "policy check: update/told: a mistake");
}

/* How often the daemon has had the policy look, if it runs now. */
static u64 looks(void)
{
    run_others();
    return stat_of("updated.looks");
}

/* The policy names 4: the fourth dirty block causes one scan. Then it names 3,
 * which is exceeded already: the next dirty block causes one. Without a limit,
 * or for another policy, none comes. */
TEST(the_policy_looks_at_once_when_so_many_blocks_are_dirty_as_it_named)
{
    boot("nbuf=64 update=told");
    start_update_daemon();
    told.quiet = true;
    dirty_all(5, 2);
    check_eq(looks(), 0);
    scan_at_dirty(4);
    dirty(7, 0);
    dirty(7, 0);
    check_eq(looks(), 0);
    dirty(8, 0);
    check_eq(looks(), 1);
    dirty(9, 0);
    check_eq(looks(), 1);
    scan_at_dirty(3);
    dirty(10, 0);
    check_eq(looks(), 2);
    scan_at_dirty(8);
    scan_at_dirty(UNLIMITED);
    dirty_all(20, 5);
    check_eq(looks(), 2);
    scan_at_dirty(20);
    update_switch(&told_update);
    dirty_all(30, 10);
    check_eq(looks(), 2);
}

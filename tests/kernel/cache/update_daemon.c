/*
 * The update daemon: when it queries the update policy and the write policy,
 * when it has them scan, and what it counts.
 *
 * - boot_daemon starts the daemon with the policy `told`, which notes each call
 *   (told.h): "next after 0" is the question when to scan next, after the last
 *   scan at 0 ns; "look" is a scan, and the number behind it is how many writes
 *   the scan started; "dirtied 10" and "leaves 10" are about block 10.
 * - told.next_ns is the answer, NEVER_NS at first. run_to_ns lets time pass.
 *   check_notes expects the notes since the last check.
 */
#include "tests/support/native/blocks.h"
#include "kernel/cache/bio.h"

#define MS 1000000UL
#define S  1000000000UL

/* Boot with these arguments and the policy told, whose scans flush all, and
 * start the daemon. */
static void boot_daemon(const char *args)
{
    char line[256];
    snprintf(line, sizeof line, "nbuf=64 update=told %s", args);
    boot(line);
    told.scan = told_flushes;
    told_flush = flush_all;
    start_update_daemon();
    run_others(); /* it asks twice: a policy was put to use meanwhile */
    forget("notes");
}

/* The policy names 5 ms. At that time it is asked once more, and names 9 ms:
 * there is no scan yet. */
TEST(the_daemon_asks_when_to_scan_and_scans_then)
{
    told.next_ns = 5 * MS;
    boot_daemon("");
    run_to_ns(5 * MS - 1);
    check_notes("");
    told.next_ns = 9 * MS;
    run_to_ns(5 * MS);
    check_notes("next after 0");
    run_to_ns(9 * MS - 1);
    check_notes("");
    check_counters("updated.", "");
}

/* Return a time 4 ms after the last scan. */
static u64 next_after(u64 last_ns)
{
    note("next after %lu", last_ns);
    return last_ns + 4 * MS;
}

TEST(the_policy_is_told_when_it_last_looked)
{
    told_update.update.next_ns = next_after;
    boot_daemon("");
    run_to_ns(4 * MS);
    check_notes("next after 0; look; 0; next after 4000000");
    run_to_ns(8 * MS);
    check_notes("next after 4000000; look; 0; next after 8000000");
    check_counters("updated.", "looks 2");
}

/* The scan writes three dirty blocks: they are one entry, 3, of the histogram
 * of bursts. */
TEST(what_a_look_starts_is_one_burst)
{
    told_update.update.next_ns = next_after;
    boot_daemon("");
    dirty_all(10, 3);
    forget_all();
    run_to_ns(4 * MS);
    check_notes("next after 0; look; leaves 10; leaves 11; leaves 12; 3; next "
                "after 4000000");
    check_counters("updated.", "looks 1, written 3");
    check_hist("bio.burst", 0, "3", 3);
    forget("commands");
    forget("trace");
    end_commands();
    check_at_rest();
}

/* Return the time 0, and after the first scan never. */
static u64 past_then_never(u64 last_ns)
{
    return last_ns ? NEVER_NS : 0;
}

TEST(a_time_in_the_past_means_at_once)
{
    told_update.update.next_ns = past_then_never;
    boot("nbuf=64 update=told");
    start_update_daemon();
    run_others();
    check_notes("look");
    check_counters("updated.", "looks 1");
}

static struct tunable knobs[] = {{"knob", "", 0, 0, 9, "does nothing", 0}, {0}};

/* The policy names no time. The daemon asks again when a tunable of the update
 * policy is set, and when the policy is swapped. */
TEST(never_is_until_a_policy_or_one_of_its_tunables_changes)
{
    told_update.tunables = knobs;
    told_write.tunables = knobs;
    boot_daemon("");
    run_to_ns(100 * S);
    check_notes("");
    control("set update/told.knob 1");
    run_others();
    check_notes("next after 0");
    control("set write/told.knob 1");
    run_others();
    check_notes("");
    control("use update pu");
    run_others();
    check_notes("pu starts");
    control("use update told");
    run_others();
    check_notes("pu stops; next after 0");
    check_counters("updated.", "");
}

TEST(a_dirty_block_wakes_nobody_before_the_time)
{
    told.next_ns = 50 * MS;
    boot_daemon("");
    forget("notes");
    dirty_all(10, 3);
    run_to_ns(50 * MS - 1);
    check_notes("dirtied 10; dirtied 11; dirtied 12");
}

/* scan_at_dirty(2) has the daemon woken when two blocks are dirty, once. */
TEST(the_policy_scans_before_its_time_once_so_much_is_dirty_as_it_named)
{
    told.next_ns = 50 * MS;
    boot_daemon("");
    scan_at_dirty(2);
    forget("notes");
    dirty(10, 0);
    run_others();
    check_notes("dirtied 10");
    dirty(11, 0);
    run_others();
    check_notes("dirtied 11; next after 0; look; leaves 10; leaves 11; 2; next "
                "after 1000000");
    check_counters("updated.", "looks 1, written 2");
    end_commands();
    run_to_ns(3 * MS);
    dirty_all(20, 3);
    run_others();
    check_notes("dirtied 20; dirtied 21; dirtied 22");
}

/* ---- each second of a write policy ---- */

/* Note the time, and flush the oldest block, as a write policy. */
static void each_second(u64 now_ns)
{
    check_eq(now_ns, clock_now_ns);
    note("second at %lu", now_ns / MS);
    note("%lu", flush_oldest(1));
}

/* The hook each_second runs at 1, 1001, 2001 ms and so on, and writes a block
 * each time. */
TEST(a_write_policy_is_called_each_second)
{
    told_write.write.each_second = each_second;
    boot("nbuf=64 update=told write=told");
    start_update_daemon();
    run_others();
    check_notes("second at 1; 0; next after 0; next after 0");
    dirty_all(10, 3);
    forget_all();
    run_to_ns(1001 * MS - 1);
    check_notes("");
    run_to_ns(1001 * MS);
    check_notes("second at 1001; leaves 10; 1; next after 0");
    run_to_ns(3001 * MS);
    check_notes("second at 2001; leaves 11; 1; next after 0; "
                "second at 3001; leaves 12; 1; next after 0");
    check_counters("updated.", "written 3");
    check_hist("bio.burst", 0, "1 1 1", 3);
    end_commands();
}

/* Without the hook each_second the daemon asks nothing for 10 s. With it, it is
 * asked at once after the swap. */
TEST(a_write_policy_without_that_hook_has_nobody_woken)
{
    boot_daemon("write=told");
    forget("notes");
    run_to_ns(10 * S);
    check_notes("");
    told_write.write.each_second = each_second;
    control("use write async");
    control("use write told");
    run_others();
    check_notes("async starts; async stops; second at 10000; 0; next after 0");
}

/* The update policy names 300 ms, the write policy's next second is at 1001
 * ms. */
TEST(the_sooner_of_both_times_wakes_the_daemon)
{
    told_write.write.each_second = each_second;
    told.next_ns = 300 * MS;
    boot_daemon("write=told");
    forget("notes");
    told.next_ns = NEVER_NS;
    run_to_ns(300 * MS);
    check_notes("next after 0");
    run_to_ns(1001 * MS);
    check_notes("second at 1001; 0; next after 0");
}

/* ---- swaps ---- */

/* Scan: start a write, and wait for it. */
static void sleep_in_scan(u64 now_ns)
{
    (void)now_ns;
    note("%lu", flush_oldest(1));
    bflush(NULL);
    note("end of look");
}

/* As a process: swap the update policy. */
static void swap_update(void *arg)
{
    (void)arg;
    control("use update pu");
    note("swapped");
}

/* The scan sleeps until its write ends. Process 9 swaps the policy meanwhile,
 * and waits for that end. */
TEST(a_swap_waits_for_the_end_of_the_scan)
{
    told.next_ns = 5 * MS;
    told_update.tunables = knobs;
    boot_daemon("");
    told.scan = sleep_in_scan;
    dirty(10, 1);
    forget("notes");
    control("set update/told.knob 1");
    clock_now_ns = 5 * MS;
    run_others();
    check_notes("next after 0; look; leaves 10; 1");
    struct task *t = start(9, swap_update, NULL);
    check(!has_ended(t));
    told.next_ns = NEVER_NS;
    end_commands();
    check(has_ended(t));
    check_notes("end of look; next after 5000000; pu starts; swapped");
}

/* The swap from pu tells the new policy of the dirty blocks 10 and 11. */
TEST(the_new_policy_is_given_what_is_dirty)
{
    boot_daemon("");
    control("use update pu");
    dirty_all(10, 2);
    run_others();
    forget("notes");
    control("use update told");
    check_notes("pu stops; dirtied 10; dirtied 11");
    run_others();
    check_notes("next after 0");
}

TEST(the_daemons_processor_time_is_shown)
{
    boot("nbuf=64 update=told");
    start_update_daemon();
    run_others();
    struct proc *daemon = kernel_thread("updated");
    daemon->system_ns = 1234;
    check_eq(stat_of("updated.cpu"), 1234);
}

TEST(before_the_daemon_runs_it_has_computed_for_no_time)
{
    boot("nbuf=64 update=told");
    check_eq(stat_of("updated.cpu"), 0);
}

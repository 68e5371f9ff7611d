/*
 * The queue of a disk: which questions schedulers get, which requests go as one
 * command, candidates, plugs, swaps of schedulers and their faults.
 *
 * - submit("R0:100+2 W0:200+2") submits a read of disk 0, 2 sectors from 100
 *   on, and a write (rig.h). end_command(0) ends the oldest command in flight.
 * - The scheduler `told` notes each call (told.h): "queued R100" is a read at
 *   sector 100 that was queued, "next R1 W0 O0" a question when one read is
 *   queued and no write and no candidate (O), "leaves R100" a request that
 *   goes, "again ..." the question when to ask next. told.next is its answer;
 * without one it takes the oldest. check_notes expects the notes.
 * - check_commands("R0:98+8=3") expects what the disks got: a read of 8 sectors
 *   from 98 on, merged of 3 requests.
 * - use puts a scheduler to use: a swap. A disk that is plugged dispatches
 *   nothing until it is unplugged. A candidate is a dirty block's write, which
 *   is claimed (its buffer is reserved) before it goes.
 */
#include "tests/support/native/told.h"
#include "kernel/policy/registry.h"
#include "kernel/measure/trace.h"

/* Return the youngest of all requests. */
static struct request *youngest(struct queue *q, u64 now_ns)
{
    struct request *last = NULL;
    (void)now_ns;
    for (u32 set = 0; set < QUEUE_SETS; set++)
        LIST_EACH (n, &q->arrived[set])
            last = LIST_ITEM(n, struct request, by_age);
    return last;
}

/* Return none: all requests wait. */
static struct request *none(struct queue *q, u64 now_ns)
{
    (void)q, (void)now_ns;
    return NULL;
}

/* Put a policy to use. */
static void use(const char *kind, const char *name)
{
    char line[64], why[POLICY_LINE_BYTES];
    snprintf(line, sizeof line, "use %s %s", kind, name);
    check_eq(policy_control(line, why), 0);
}

/* A disk that takes one command at a time, and whose device does nothing until
 * the test has it end. */
static struct disk *boot_slow(const char *args)
{
    rig.depth = 1;
    boot_disks(args);
    return disk_get(0);
}

/* ---- questions and notices ---- */

/* The drive takes one command at a time. So the scheduler is asked after the
 * first request and after each end, and told of each request that comes and
 * leaves. */
TEST(a_scheduler_is_told_of_each_request_and_asked_when_the_drive_is_free)
{
    boot_slow("sched=told");
    submit("R0:100+2 W0:200+2 R0:50+2");
    check_notes("queued R100; next R1 W0 O0; leaves R100; queued W200; "
                "queued R50");
    check_commands("R0:100+2");
    end_command(0);
    check_notes("next R1 W1 O0; leaves W200; R100 done");
    end_commands();
    check_notes("next R1 W0 O0; leaves R50; W200 done; R50 done");
    check_commands("W0:200+2 R0:50+2");
    check_counters("disk.", "reads 2, writes 1, read_sectors 4, "
                            "write_sectors 2, commands 3");
}

TEST(what_the_scheduler_chooses_goes)
{
    boot_slow("sched=told");
    told.next = youngest;
    submit("R0:100+2 R0:200+2 R0:300+2");
    end_commands();
    check_commands("R0:100+2 R0:300+2 R0:200+2");
}

/* Each disk takes three commands. The fourth read of disk 0 waits until one of
 * its commands ends. */
TEST(as_many_commands_go_as_the_drive_takes)
{
    rig.depth = 3;
    boot_disks("sched=told");
    submit("R0:100+2 R0:200+2 R0:300+2 R0:400+2 R1:500+2");
    check_eq(in_flight(), 4);
    check_commands("R0:100+2 R0:200+2 R0:300+2 R1:500+2");
    end_command(1);
    check_commands("R0:400+2");
}

/* The disk is plugged twice, so one unplug dispatches nothing. */
TEST(a_plugged_disk_dispatches_when_the_last_plug_is_out)
{
    struct disk *d = boot_slow("sched=told");
    disk_plug(d);
    disk_plug(d);
    submit("R0:100+2 R0:200+2");
    disk_unplug(d);
    check_notes("queued R100; queued R200");
    check_eq(in_flight(), 0);
    disk_unplug(d);
    check_notes("next R2 W0 O0; leaves R100");
    end_command(0);
    disk_plug(d);
    end_commands();
    submit("R0:300+2");
    check_eq(in_flight(), 0);
    disk_unplug(d);
    check_commands("R0:100+2 R0:200+2 R0:300+2");
}

/* rig.kicks counts how often the device was notified. */
TEST(the_device_is_told_once_of_what_goes_together)
{
    boot_disks("");
    struct disk *d = disk_get(0);
    disk_plug(d);
    submit("R0:100+2 R0:200+2 R0:300+2");
    check_eq(rig.kicks, 0);
    disk_unplug(d);
    check_eq(rig.kicks, 1);
    end_command(0);
    check_eq(rig.kicks, 1);
}

/* Four neighbours go as one command of sectors 200 to 209, and the head is
 * behind its last sector. */
TEST(the_head_is_where_the_last_command_ended)
{
    struct disk *d = boot_slow("sched=told");
    submit("R0:100+2");
    check_eq(d->queue.head_sector, 102);
    disk_plug(d);
    submit("R0:204+4 R0:200+2 R0:202+2 R0:208+2");
    end_command(0);
    disk_unplug(d);
    check_eq(d->queue.head_sector, 210);
}

/* ---- swaps ---- */

/* Reads come first, then writes. The scheduler's words of the queue are
 * cleared, and its candidates stay. */
TEST(a_new_scheduler_is_told_once_of_each_queued_request_oldest_first)
{
    struct disk *d = boot_slow("sched=clook");
    submit("R0:100+2 R0:500+2 W0:400+2 R0:300+2 W0:200+2");
    struct io *candidate_writes = add_candidate_write(600, 2);
    d->queue.word[0] = d->queue.word[3] = 9;
    use("sched", "told");
    check_notes("queued R500; queued R300; queued W400; queued W200; "
                "clook stops");
    check_eq(d->queue.word[0] + d->queue.word[3], 0);
    check(candidate_writes->request.queue == &d->queue);
    end_command(0);
    check_notes("next R2 W2 O1; leaves R500; R100 done");
}

/* When `told` takes over from clook, it is told of the read that waits and of
 * both candidates. */
TEST(a_new_scheduler_that_takes_candidates_is_told_of_those_too)
{
    boot_slow("sched=clook");
    submit("R0:100+2 R0:500+2");
    add_candidate_write(600, 2);
    add_candidate_write(550, 2);
    told_sched.sched.takes_candidates = true;
    use("sched", "told");
    check_notes("queued R500; queued O600; queued O550; clook stops");
}

/* Note that the scheduler starts. */
static void say_started(void)
{
    note("start");
}

/* Note that the scheduler stops. */
static void say_stopped(void)
{
    note("stop");
}

/* The words of requests are a scheduler's own: `told` checks that they are 0
 * when it is told of one, and sets them. */
TEST(the_words_of_a_request_begin_at_0_for_each_scheduler)
{
    boot_slow("sched=told");
    submit("R0:100+2 R0:500+2 W0:400+2");
    use("sched", "clook");
    forget("notes");
    use("sched", "told");
    check_notes("queued R500; queued W400; clook stops");
}

/* On each of two disks one read is in flight and one waits. `told` starts, and
 * is told of both that wait. It stops after clook has started. */
TEST(a_scheduler_starts_before_it_is_told_and_stops_after_the_last_question)
{
    boot_slow("sched=clook");
    told_sched.start = say_started;
    told_sched.stop = say_stopped;
    submit("R0:100+2 R0:500+2 R1:10+2 R1:20+2");
    use("sched", "told");
    check_notes("start; queued R500; queued R20; clook stops");
    use("sched", "clook");
    check_notes("clook starts; stop");
    end_commands();
    check_notes("R100 done; R10 done; R500 done; R20 done");
}

/* The scheduler has no hook for what is queued and what leaves. It is still
 * asked which request is next. */
TEST(without_a_hook_a_new_scheduler_is_told_nothing_and_still_asked)
{
    boot_slow("sched=clook");
    submit("R0:100+2 R0:500+2");
    told_sched.sched.queued = NULL;
    told_sched.sched.leaves = NULL;
    use("sched", "told");
    submit("R0:600+2");
    end_command(0);
    check_notes("clook stops; next R2 W0 O0; R100 done");
}

/* `told` lets the only request wait for ever. clook sends it as soon as it is
 * in use. */
TEST(a_new_scheduler_is_asked_at_once_for_the_old_one_may_let_requests_wait)
{
    boot_slow("sched=told");
    told.next = none;
    told.again_ns = NEVER_NS;
    told_sched.sched.again_ns = told_again;
    submit("R0:100+2");
    check_notes("queued R100; next R1 W0 O0; again R1 W0 O0");
    use("sched", "clook");
    check_commands("R0:100+2");
}

/* `told` asks to be asked again at 5 ms. The swap takes the timer away. */
TEST(the_old_schedulers_timer_goes_with_it)
{
    struct disk *d = boot_slow("sched=told");
    told.next = none;
    told.again_ns = 5000000;
    told_sched.sched.again_ns = told_again;
    submit("R0:100+2");
    check(timer_is_set(&d->ask_timer));
    use("sched", "clook");
    check(!timer_is_set(&d->ask_timer));
}

/* Another hart swaps while this disk's queue changes: the new scheduler is
 * told when the disk adopts it, and not before. */
TEST(a_scheduler_is_told_once_of_what_is_queued_while_it_is_put_to_use)
{
    struct disk *d = boot_slow("sched=clook");
    submit("R0:100+2");
    policy_in_use[POLICY_SCHED] = &told_sched;
    struct io *io = submit("R0:200+2");
    disk_remove_candidate(d, io);
    submit("W0:300+2");
    check_notes("");
    end_command(0);
    check_notes("queued W300; next R0 W1 O0; leaves W300; R100 done");
}

/* The old scheduler takes candidates, and there is nothing else when the disk
 * adopts the new one. */
TEST(a_scheduler_that_takes_no_candidates_is_not_asked_about_them)
{
    static const struct policy old = {
        .sched = {.next = none, .takes_candidates = true}};
    struct disk *d = boot_slow("sched=clook");
    submit("R0:100+2");
    add_candidate_write(600, 2);
    d->sched = &old;
    policy_in_use[POLICY_SCHED] = &told_sched;
    end_command(0);
    check_notes("R100 done");
}

/* ---- faults ---- */

static struct request elsewhere;

/* Return a request that is not in the queue. */
static struct request *not_queued(struct queue *q, u64 now_ns)
{
    (void)q, (void)now_ns;
    return &elsewhere;
}

/* The answer is reported, and C-LOOK goes on with what is queued. */
TEST(a_request_that_is_not_queued_is_a_fault_and_the_default_goes_on)
{
    boot_slow("sched=told");
    submit("R0:100+2 R0:300+2 R0:200+2 R1:10+2 R1:20+2");
    told.next = not_queued;
    forget("notes");
    end_command(0);
    check_notes("next R2 W0 O0; clook starts; R100 done");
    check_console("policy fault: sched/told: next returned a request that is "
                  "not queued; going on with clook\n");
    end_commands();
    check_commands("R0:100+2 R1:10+2 R0:200+2 R1:20+2 R0:300+2");
    check_counters("policy.", "faults 1");
}

/* Asked for disk 0, the scheduler answers with a request that says it is in the
 * queue of disk 1. That is a fault. */
TEST(a_request_of_another_disk_is_not_queued_here)
{
    struct io *other;
    boot_slow("sched=told");
    submit("R0:100+2 R0:300+2 R1:10+2");
    other = submit("R1:20+2");
    elsewhere.queue = other->request.queue;
    told.next = not_queued;
    end_command(0);
    check_counters("policy.", "faults 1");
}

/* With faults=answer the kernel sends the oldest request itself. It prints the
 * first fault only, and counts both. */
TEST(the_kernel_can_answer_a_faulty_schedulers_question_and_leave_it_in_use)
{
    boot_slow("sched=told faults=answer");
    submit("R0:100+2 R0:300+2 R0:200+2");
    told.next = not_queued;
    end_command(0);
    check_commands("R0:100+2 R0:300+2");
    check(policy_in_use[POLICY_SCHED] == &told_sched);
    check_console("policy fault: sched/told: next returned a request that is "
                  "not queued; the kernel answers instead\n");
    end_command(0);
    check_console("");
    told.next = NULL;
    submit("R0:400+2");
    end_commands();
    check_commands("R0:200+2 R0:400+2");
    check_counters("policy.", "faults 2");
}

/* The scheduler chooses no request, although none is in flight, and with
 * faults=answer the kernel answers instead. An event in the trace is its name,
 * its disk, a sector, and two words whose sense depends on its name: of a
 * fault, its kind is the last. */
TEST(each_fault_is_traced_with_what_it_was_about_and_its_kind)
{
    boot_slow("sched=told faults=answer trace_k=1");
    told.next = none;
    submit("R0:100+2");
    check_trace("queued disk0 100 7 2; fault disk0 0 0 2; "
                "issued disk0 100 7 2");
}

TEST(to_choose_none_with_nothing_in_flight_is_a_fault)
{
    boot_slow("sched=told");
    told.next = none;
    submit("R0:100+2");
    check_console("policy fault: sched/told: next returned none, with nothing "
                  "in flight; going on with clook\n");
    check_commands("R0:100+2");
}

/* The drive takes two commands. The second request waits, without a fault,
 * until the scheduler chooses it. */
TEST(to_choose_none_is_right_while_a_command_is_in_flight)
{
    rig.depth = 2;
    boot_disks("sched=told");
    submit("R0:100+2");
    told.next = none;
    submit("R0:200+2");
    check_console("");
    check_commands("R0:100+2");
    told.next = NULL;
    end_command(0);
    check_commands("R0:200+2");
}

/* After a fault on disk 0 the default serves disk 0, and disk 1 from its next
 * question on. */
TEST(a_default_starts_when_it_takes_over_after_a_fault)
{
    const struct policy *clook = policy_in_use[POLICY_SCHED];
    boot_slow("sched=told");
    told.next = none;
    check(clook != policy_in_use[POLICY_SCHED]);
    submit("R0:100+2");
    check(policy_in_use[POLICY_SCHED] != &told_sched);
    check(disk_get(0)->sched == policy_in_use[POLICY_SCHED]);
    check(disk_get(1)->sched == &told_sched);
    submit("R1:100+2");
    check(disk_get(1)->sched == policy_in_use[POLICY_SCHED]);
}

/* Submit a read while the scheduler's hook `check` complains. */
static void choose_wrongly(void)
{
    told.wrong = "a mistake";
    submit("R0:100+2");
}

TEST(a_scheduler_is_checked_after_each_choice)
{
    boot_slow("sched=told check=1");
    check_panics(choose_wrongly, "policy check: sched/told: a mistake");
    submit("R1:100+2");
    check(told.checked == &disk_get(1)->queue);
}

/* A scheduler that another hart has just replaced answers wrongly. */
static struct request *replaced_meanwhile(struct queue *q, u64 now_ns)
{
    (void)q, (void)now_ns;
    use("sched", "clook");
    return NULL;
}

/* Note a swap that another hart makes. */
static void swaps_beside(const struct policy *to)
{
    policy_in_use[POLICY_SCHED] = to;
}

/* Another processor swaps the scheduler while it answers. Its answer is
 * dropped, and the new scheduler is asked. */
TEST(a_wrong_answer_of_a_scheduler_that_is_no_more_in_use_is_no_fault)
{
    struct disk *d = boot_slow("sched=clook");
    const struct policy *clook = policy_in_use[POLICY_SCHED];
    use("sched", "told");
    policy_own(POLICY_SCHED,
               (struct policy_owner){
                   .swap = swaps_beside}); /* of another hart: no lock here */
    policy_in_use[POLICY_SCHED] = &told_sched;
    check(d->sched == &told_sched && clook);
    told.next = replaced_meanwhile;
    submit("R0:100+2");
    check_console("");
    check_commands("R0:100+2");
    check_counters("policy.", "swaps 2");
}

/* Return none for disk 0, and for other disks the oldest. */
static struct request *none_on_disk_0(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return q->disk ? queue_oldest(q, BOTH) : NULL;
}

/* The scheduler's records begin anew, so it must get all queued requests. */
TEST(a_scheduler_used_again_after_a_fault_is_told_what_other_disks_have_queued)
{
    boot_slow("sched=told");
    submit("R1:100+2 R1:200+2");
    told.next = none_on_disk_0;
    submit("R0:300+2");
    check(policy_in_use[POLICY_SCHED] != &told_sched);
    check(disk_get(1)->sched == &told_sched);
    check_notes("queued R100; next R1 W0 O0; leaves R100; queued R200; "
                "queued R300; next R1 W0 O0; clook starts");
    use("sched", "told");
    check_notes("queued R200; clook stops");
}

/* Another hart does this when a swap lets go of its first lock. */
static void fails_now(void)
{
    rig.unlocked = NULL;
    told.next = none;
    submit("R0:100+2");
}

TEST(a_scheduler_that_fails_just_before_it_is_replaced_is_replaced_once)
{
    boot_slow("sched=told");
    rig.unlocked = fails_now;
    use("sched", "clook");
    check_notes("queued R100; next R1 W0 O0; clook starts");
    check_counters("policy.", "swaps 1, faults 1");
}

/* The second disk reports the fault when the first has replaced the scheduler,
 * since each disk has only its own lock. */
TEST(of_two_disks_whose_scheduler_fails_at_the_same_time_one_replaces_it)
{
    boot_slow("sched=told");
    told.next = none;
    submit("R0:100+2");
    forget("console");
    check(policy_take_over(&told_sched, 1, 0, "the second"));
    check_console("");
    check_notes("queued R100; next R1 W0 O0; clook starts");
    check_counters("policy.", "faults 1");
}

/* ---- neighbours go as one command ---- */

/* Submit requests to disk 0 while it is plugged. */
static void queue_together(const char *requests)
{
    struct disk *d = disk_get(0);
    disk_plug(d);
    submit(requests);
    disk_unplug(d);
}

/* The scheduler chooses sector 100. What follows it (102) and precedes it (98)
 * joins; 108 and 94 do not touch these. */
TEST(queued_neighbours_go_as_one_command_after_and_before)
{
    boot_slow("sched=told");
    queue_together("R0:100+2 R0:102+4 R0:98+2 R0:108+2 R0:94+2");
    check_commands("R0:98+8=3");
    check_notes("queued R100; queued R102; queued R98; queued R108; queued "
                "R94; next R5 W0 O0; leaves R100; leaves R102; leaves R98");
    check_trace("queued disk0 100 7 2; queued disk0 102 7 4; "
                "queued disk0 98 7 2; queued disk0 108 7 2; "
                "queued disk0 94 7 2; issued disk0 98 7 8");
    end_commands();
    check_notes("next R2 W0 O0; leaves R108; R98 done; R100 done; R102 done; "
                "next R1 W0 O0; leaves R94; R108 done; R94 done");
    check_counters("disk.", "reads 5, read_sectors 12, commands 3");
}

TEST(writes_join_as_reads_do_and_neither_joins_the_other)
{
    boot_slow("sched=told");
    queue_together("W0:100+2 W0:102+2 R0:104+2 R0:98+2 W0:96+2");
    end_commands();
    check_commands("W0:100+4=2 R0:104+2 R0:98+2 W0:96+2");
}

TEST(a_command_has_no_more_pieces_than_the_device_takes)
{
    rig.max_segments = 3;
    boot_slow("sched=told");
    queue_together("R0:100+2 R0:102+2 R0:104+2 R0:106+2 R0:98+2");
    end_commands();
    check_commands("R0:100+6=3 R0:106+2 R0:98+2");
}

TEST(a_command_is_as_long_as_cluster_kb_at_most)
{
    boot_slow("sched=told cluster_kb=4");
    queue_together("R0:100+4 R0:104+4 R0:108+1 R0:99+1 R0:92+7");
    end_commands();
    check_commands("R0:100+8=2 R0:108+1 R0:92+8=2");
}

TEST(without_a_cluster_nothing_joins)
{
    boot_slow("sched=told cluster_kb=0");
    queue_together("R0:100+2 R0:102+2");
    end_commands();
    check_commands("R0:100+2 R0:102+2");
}

/* Each command waits for end_command, so the device stays busy. */
TEST(writes_gather_while_a_live_device_is_busy_until_they_fill_a_command)
{
    rig.live = true;
    boot_disks("cluster_kb=2");
    submit("W0:100+1 W0:101+1 W0:102+1 W0:103+1");
    check_commands("W0:100+1");
    submit("W0:104+1");
    check_commands("W0:101+4=4");
    submit("W0:105+1 W0:106+1");
    check_commands("");
    end_command(0);
    check_commands("W0:105+2=2");
    check_eq(rig.kicks, 3);
    end_commands();
}

/* End a transfer, which must not have failed. */
static void end_unnoted(struct io *io, int error)
{
    (void)io;
    check_eq(error, 0);
}

/* In real time writes gather for a moment, to be merged. Two writes and a read
 * go at once, and so does a write for which somebody waits. */
TEST(no_read_and_no_write_that_is_waited_for_gathers)
{
    static struct io io = {.request = {.sector = 300,
                                       .nsectors = 1,
                                       .write = true,
                                       .waited = true},
                           .done = end_unnoted};
    rig.live = true;
    boot_disks("");
    submit("W0:100+1 W0:101+1 R0:200+1");
    check_commands("W0:100+1 W0:101+1 R0:200+1");
    submit("W0:102+1");
    disk_submit(disk_get(0), &io);
    check_commands("W0:300+1 W0:102+1");
    end_commands();
}

TEST(in_virtual_time_no_write_gathers)
{
    boot_disks("cluster_kb=2");
    submit("W0:100+1 W0:101+1");
    check_commands("W0:100+1 W0:101+1");
    end_commands();
}

static void boot_large_cluster(void)
{
    boot_disks("cluster_kb=1025");
}

/* A boot with a larger cluster_kb ends. By default, of 200 sectors in a row 128
 * go as one command: 64 KB. */
TEST(a_cluster_is_of_1024_kb_at_most_and_64_by_default)
{
    check_panics(boot_large_cluster, "cluster_kb=1025");
    rig.max_segments = 200;
    boot_slow("sched=told");
    disk_plug(disk_get(0));
    for (u32 i = 0; i < 200; i++) {
        char word[32];
        snprintf(word, sizeof word, "R0:%u+1", 100 + i);
        submit(word);
    }
    disk_unplug(disk_get(0));
    check_commands("R0:100+128=128");
}

/* ---- candidates ---- */

/* Boot with a scheduler that takes candidates. */
static void boot_candidates(void)
{
    told_sched.sched.takes_candidates = true;
    told_sched.sched.again_ns = told_again;
    told.again_ns = NEVER_NS;
    boot_slow("sched=told");
}

/* The only candidate is claimed 5 us after it was offered, becomes a write, and
 * is written in 3 us. */
TEST(a_candidate_is_told_of_and_goes_when_the_scheduler_chooses_it)
{
    boot_candidates();
    add_candidate_write(100, 2);
    check_notes("queued O100");
    clock_now_ns += 5000;
    disk_poke(disk_get(0));
    check_notes("next R0 W0 O1; leaves O100; claim 100; queued W100; "
                "leaves W100");
    check_commands("W0:100+2");
    clock_now_ns += 3000;
    end_commands();
    check_notes("W100 done");
    check_trace("queued-write disk0 100 0 2; issued-write disk0 100 0 2; "
                "completed-write disk0 100 0 3000");
    check_counters("disk.",
                   "writes 1, write_sectors 2, commands 1, offers_taken 1");
}

/* The scheduler does not take candidates, so it neither hears of this one nor
 * chooses it. */
TEST(a_candidate_is_told_of_only_to_a_scheduler_that_takes_them)
{
    struct disk *d = boot_slow("sched=told");
    struct io *io = add_candidate_write(100, 2);
    disk_poke(d);
    submit("R0:200+2");
    end_commands();
    disk_remove_candidate(d, io);
    check_notes("queued R200; next R1 W0 O1; leaves R200; R200 done");
    check_commands("R0:200+2");
}

/* To remove the candidate a second time does nothing. */
TEST(a_candidate_that_is_withdrawn_leaves_once)
{
    boot_candidates();
    struct disk *d = disk_get(0);
    struct io *io = add_candidate_write(100, 2);
    disk_remove_candidate(d, io);
    disk_remove_candidate(d, io);
    disk_poke(d);
    check_notes("queued O100; leaves O100");
    check(!io->request.queue);
}

/* When the read ends, the scheduler chooses the candidate. Its claim fails, and
 * nothing is written. */
TEST(when_a_candidate_cannot_be_claimed_the_scheduler_is_asked_again)
{
    boot_candidates();
    add_candidate_write(100, 2);
    claims_fail = true;
    submit("R0:200+2");
    forget("notes");
    told.next = youngest;
    end_command(0);
    check_notes("next R0 W0 O1; leaves O100; claim 100; R200 done");
    check_commands("R0:200+2");
    check_counters("disk.", "reads 1, read_sectors 2, commands 1");
}

/* Refuse a claim, as if the buffer were in use. */
static bool claim_fails(struct io *io, const struct disk *d)
{
    (void)d;
    io->request.candidate = false;
    return false;
}

/* The claim of candidate 100 fails, and candidate 200 is written. */
TEST(after_a_candidate_that_cannot_be_claimed_another_goes)
{
    boot_candidates();
    add_candidate_write(100, 2)->reserve = claim_fails;
    add_candidate_write(200, 2);
    disk_poke(disk_get(0));
    check_notes("queued O100; queued O200; next R0 W0 O2; leaves O100; "
                "next R0 W0 O1; leaves O200; claim 200; queued W200; "
                "leaves W200");
    check_commands("W0:200+2");
}

/* Of five candidates the chosen one takes along those that follow it: 100, 102
 * and 104 go as one command. */
TEST(candidates_join_the_chosen_one_if_the_scheduler_joins_them)
{
    told_sched.sched.joins_candidates = true;
    boot_candidates();
    add_candidate_write(100, 2);
    add_candidate_write(102, 2);
    add_candidate_write(104, 2);
    add_candidate_write(108, 2);
    add_candidate_write(98, 2);
    forget("notes");
    disk_poke(disk_get(0));
    check_notes("next R0 W0 O5; leaves O100; claim 100; leaves O102; claim "
                "102; leaves O104; claim 104; queued W104; queued W102; queued "
                "W100; leaves W100; leaves W102; leaves W104");
    check_commands("W0:100+6=3");
    check_counters("disk.", "commands 1, offers_taken 3");
}

/* Two candidates are neighbours, but only the chosen one goes. */
TEST(candidates_go_one_by_one_if_the_scheduler_does_not_join_them)
{
    boot_candidates();
    add_candidate_write(100, 2);
    add_candidate_write(102, 2);
    disk_poke(disk_get(0));
    check_commands("W0:100+2");
    check_counters("disk.", "commands 1, offers_taken 1");
}

/* Five candidates of 1 KB are neighbours. A cluster has 2 KB, so two go
 * together. */
TEST(no_more_candidates_join_than_a_cluster_holds)
{
    told_sched.sched.joins_candidates = true;
    told_sched.sched.takes_candidates = true;
    boot_slow("sched=told cluster_kb=2");
    for (u64 sector = 100; sector < 110; sector += 2)
        add_candidate_write(sector, 2);
    disk_poke(disk_get(0));
    check_commands("W0:100+4=2");
    check_counters("disk.", "commands 1, offers_taken 2");
}

/* While the candidate is reserved the lock is not held: another request goes,
 * and the drive is full. */
static bool claim_and_submit(struct io *io, const struct disk *d)
{
    (void)d;
    told.next = NULL;
    submit("R0:500+2");
    io->request.candidate = false;
    return true;
}

/* The claim submits a read, which takes the drive's one place. The candidate is
 * queued as a write. */
TEST(a_candidate_waits_as_a_write_if_the_drive_was_filled_while_it_was_claimed)
{
    boot_candidates();
    struct io *io = add_candidate_write(100, 2);
    io->reserve = claim_and_submit;
    disk_poke(disk_get(0));
    check_commands("R0:500+2");
    check_eq(in_flight(), 1);
    check_eq(disk_get(0)->queue.length[SET_WRITES], 1);
    end_commands();
    check_commands("W0:100+2");
}

/* The candidate's time in the queue begins when it is claimed, not when it was
 * offered. */
TEST(a_reserved_candidate_is_queued_as_new)
{
    boot_candidates();
    struct io *io = add_candidate_write(100, 2);
    clock_now_ns += 7000;
    disk_poke(disk_get(0));
    check_eq(io->request.queued_ns, clock_now_ns);
    check_eq(io->issued_ns, clock_now_ns);
}

/* ---- asking again ---- */

/* It names 3 ms, is asked then, and names 4 ms. */
TEST(a_scheduler_that_lets_requests_wait_is_asked_again_when_it_says)
{
    struct disk *d = boot_slow("sched=told");
    told_sched.sched.again_ns = told_again;
    told.next = none;
    told.again_ns = 3000000;
    submit("R0:100+2");
    check_notes("queued R100; next R1 W0 O0; again R1 W0 O0");
    run_to_ns(2999999);
    check_notes("");
    told.again_ns = 4000000;
    run_to_ns(3000000);
    check_notes("next R1 W0 O0; again R1 W0 O0");
    told.next = NULL;
    run_to_ns(4000000);
    check_notes("next R1 W0 O0; leaves R100");
    check(!timer_is_set(&d->ask_timer));
    check_console("");
}

/* The scheduler lets all wait. First it names 3 ms as the time of the next
 * question, and after the second request 5 ms. It is asked at 5 ms only, and
 * not again when it names no time. */
TEST(a_new_request_has_the_scheduler_asked_before_and_its_new_time_counts)
{
    boot_slow("sched=told");
    told_sched.sched.again_ns = told_again;
    told.next = none;
    told.again_ns = 3000000;
    submit("R0:100+2");
    told.again_ns = 5000000;
    submit("R0:200+2");
    forget("notes");
    run_to_ns(4999999);
    check_notes("");
    told.again_ns = NEVER_NS;
    run_to_ns(5000000);
    check_notes("next R2 W0 O0; again R2 W0 O0");
    run_to_ns(1UL << 60);
    check_notes("");
}

/* The question "again" comes only when the scheduler chose nothing and nothing
 * else will wake the disk. */
TEST(no_scheduler_is_asked_again_while_a_command_is_in_flight_or_a_plug_is_in)
{
    rig.depth = 2;
    boot_disks("sched=told");
    struct disk *d = disk_get(0);
    told_sched.sched.again_ns = told_again;
    submit("R0:100+2");
    told.next = none;
    submit("R0:200+2");
    check_notes("queued R100; next R1 W0 O0; leaves R100; queued R200; "
                "next R1 W0 O0");
    disk_plug(d);
    end_command(0);
    check_notes("R100 done");
    told.again_ns = NEVER_NS;
    disk_unplug(d);
    check_notes("next R1 W0 O0; again R1 W0 O0");
}

/* The scheduler lets the first candidate wait until 3 ms. A poke before that
 * asks nothing. Afterwards, without a time, each poke asks. */
TEST(
    a_poke_waits_for_the_time_the_scheduler_named_and_needs_one_that_takes_candidates)
{
    boot_candidates();
    struct disk *d = disk_get(0);
    told.next = none;
    told.again_ns = 3000000;
    add_candidate_write(100, 2);
    disk_poke(d);
    add_candidate_write(200, 2);
    disk_poke(d);
    check_notes("queued O100; next R0 W0 O1; again R0 W0 O1; queued O200");
    told.again_ns = NEVER_NS;
    run_to_ns(3000000);
    check_notes("next R0 W0 O2; again R0 W0 O2");
    disk_poke(d);
    check_notes("next R0 W0 O2; again R0 W0 O2");
}

/* ---- queue_ functions, by which a scheduler reads the queue ---- */

/* A question names sets: READS, WRITES, CANDIDATES, or BOTH reads and writes.
 * "At or after" and "before" are about sectors; "circular" begins again at the
 * first sector. Of requests at one sector the read is first. */
TEST(the_queue_answers_for_the_sets_a_question_is_about)
{
    boot_candidates();
    struct disk *d = disk_get(0);
    const struct queue *q = &d->queue;
    disk_plug(d);
    submit("R0:100+2 W0:110+2 R0:120+2 W0:130+2");
    add_candidate_write(105, 2);
    add_candidate_write(135, 2);
    check_eq(queue_at_or_after(q, BOTH, 101)->sector, 110);
    check_eq(queue_at_or_after(q, BOTH, 111)->sector, 120);
    check_eq(queue_at_or_after(q, READS, 101)->sector, 120);
    check_eq(queue_at_or_after(q, READS, 120)->sector, 120);
    check_eq(queue_at_or_after(q, WRITES, 0)->sector, 110);
    check_eq(queue_at_or_after(q, CANDIDATES, 106)->sector, 135);
    check(!queue_at_or_after(q, CANDIDATES, 136));
    check_eq(queue_at_or_after(q, CANDIDATES | BOTH, 101)->sector, 105);
    check_eq(queue_before(q, BOTH, 120)->sector, 110);
    check_eq(queue_before(q, BOTH, 121)->sector, 120);
    check_eq(queue_before(q, READS, 120)->sector, 100);
    check_eq(queue_before(q, WRITES, 999)->sector, 130);
    check_eq(queue_before(q, CANDIDATES | WRITES, 999)->sector, 135);
    check(!queue_before(q, WRITES, 110));
    check_eq(queue_circular(q, BOTH, 131)->sector, 100);
    check_eq(queue_circular(q, WRITES, 131)->sector, 110);
    check_eq(queue_circular(q, WRITES, 130)->sector, 130);
    check_eq(queue_oldest(q, BOTH)->sector, 100);
    check_eq(queue_oldest(q, WRITES)->sector, 110);
    check_eq(queue_oldest(q, CANDIDATES)->sector, 105);
    check_eq(queue_oldest(q, WRITES | CANDIDATES)->sector, 110);
    submit("W0:0+2 R0:0+2 W0:1+2");
    check_eq(queue_circular(q, BOTH, 131)->sector, 0);
    check(!queue_at_or_after(q, BOTH, 0)->write);
    check(!queue_before(q, BOTH, 1)->write);
    check(queue_at_or_after(q, WRITES | CANDIDATES, 0)->write);
    check_eq(queue_before(q, BOTH, 2)->sector, 1);
    check_eq(q->arrivals, 9);
    check_eq(queue_oldest(q, CANDIDATES)->arrival, 4);
    check_eq(q->disk, 0);
    check_eq(disk_get(1)->queue.disk, 1);
}

/* ---- impossible changes of a request's state ---- */

/* Return a transfer that waits in the queue. */
static struct io *queued_io(void)
{
    boot_disks("drive=fixed drive_depth=1");
    submit("R0:100+2");
    return submit("R0:200+2");
}

/* Submit a transfer that is queued. */
static void submit_twice(void)
{
    struct io *io = queued_io(); /* before there is a disk to get */
    disk_submit(disk_get(0), io);
}

/* Make a candidate of a transfer that is queued. */
static void candidate_queued(void)
{
    struct io *io = queued_io();
    io->request.write = true;
    io->reserve = claim_and_submit;
    disk_add_candidate(disk_get(0), io);
}

/* Submit a transfer whose end nobody hears of. */
static void submit_nobody_waits(void)
{
    struct io io = {.request = {.nsectors = 1}};
    boot_disks("");
    disk_submit(disk_get(0), &io);
}

/* Unplug a disk that is not plugged. */
static void unplug_alone(void)
{
    boot_disks("");
    disk_unplug(disk_get(0));
}

TEST(an_impossible_change_of_state_panics)
{
    check_panics(submit_twice, "enqueue: assertion failed");
    check_panics(candidate_queued, "enqueue: assertion failed");
    check_panics(submit_nobody_waits, "disk_submit: assertion failed");
    check_panics(unplug_alone, "disk_unplug: assertion failed");
}

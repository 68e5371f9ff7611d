/*
 * The buffer cache, making room: victims and the replace policy, writes when
 * no clean buffer is left, limits of what is dirty, blocks that are given up.
 *
 * - boot_small starts the kernel's cache on the host with 16 buffers (N).
 *   Block 100 is sectors 200 and 201 of disk 0.
 * - read_in(5) reads block 5 and releases it; fill(100, N) reads N blocks from
 *   100 on; dirty(5, 3) makes block 5 dirty for file 3; dirty_all does so for
 *   several blocks (blocks.h). buffer_of is the block's buffer, or NULL.
 * - The policy `told` notes each call, and answers what the test says
 *   (told.h): "insert 5" and "remove 5" are blocks that may or may no longer
 *   be victims. check_notes expects the notes since the last check.
 * - check_commands("W0:200+2") expects that the disks got a write of disk 0, 2
 *   sectors from 200 on. check_counters expects these counters, and 0 of all
 *   others. fail_sector makes the next accesses of a sector fail.
 * - A policy fault is a wrong answer: it is reported, and the default policy
 *   takes over. faults=answer has the kernel answer instead.
 */
#include "tests/support/native/blocks.h"
#include "kernel/cache/lost.h"

#define N 16 /* buffers */

static void boot_small(const char *args)
{
    char line[256];
    snprintf(line, sizeof line, "nbuf=16 %s", args);
    boot(line);
}

/* ---- victims ---- */

/* A held, dirty or written buffer cannot be a victim; the release of a clean
 * one inserts it. */
TEST(the_replace_policy_has_a_buffer_while_it_is_clean_and_let_go)
{
    boot_small("replace=told");
    struct buf *b = bread(disk0(), 5);
    check_notes("");
    brelse(b);
    check_notes("insert 5");
    b = bread(disk0(), 5);
    check_notes("remove 5");
    bdwrite(b, 0);
    check_notes("");
    check_eq(bcache.nevictable, 0);
    bawrite(getblk(disk0(), 5));
    check_notes("");
    end_commands();
    check_notes("insert 5");
    check_eq(bcache.nevictable, 1);
}

/* All buffers are in use, so a new block evicts 100, the first that was
 * inserted. The policy's words of the buffer are cleared for the new block. */
TEST(a_victim_gives_way_to_a_block_that_is_not_cached)
{
    boot_small("replace=told");
    told_replace.replace.coming = told_coming;
    told_replace.replace.evicted = told_evicted;
    fill(100, N);
    buffer_of(100)->block.word[0] = 4;
    forget_all();
    struct buf *b = bread(disk0(), 5);
    check_notes("coming 0:5; remove 100; evicted 100");
    check_trace("evicted disk0 100 7 0; miss disk0 5 7 0; "
                "queued disk0 10 7 2; issued disk0 10 7 2; "
                "completed disk0 10 7 0");
    check(!buffer_of(100));
    check_eq(b->block.word[0], 0);
    brelse(b);
    check_notes("insert 5");
    check_counters("bio.", "misses 17, evictions 1");
    read_in(100);
    check_counters("bio.", "misses 18, evictions 2");
}

/* ---- memory of a policy ---- */

static u64 bytes_each, wanted_buffers;

/* Return how much memory the policy wants: bytes_each for each buffer. */
static u64 wanted_bytes(u64 buffers)
{
    wanted_buffers = buffers;
    return bytes_each * buffers;
}

static struct policy_memory wanted = {.bytes = wanted_bytes};

/* Check which replace policy is in use. */
static void check_in_use(const char *name)
{
    check(!strcmp(policy_in_use[POLICY_REPLACE]->name, name));
}

/* The policy wants 64 bytes for each buffer and keeps that memory over swaps.
 * When it wants 100, it gets new memory and the old is released. */
TEST(a_policy_has_memory_for_the_cache_that_there_is_while_it_is_in_use)
{
    bytes_each = 64;
    told_replace.memory = &wanted;
    boot_small("");
    control("use replace told");
    check_in_use("told");
    check_eq(wanted_buffers, N);
    check_eq(wanted.buffers, N);
    memset(wanted.start, 0, bytes_each * N);
    void *before = wanted.start;
    control("use replace lru");
    control("use replace told");
    check(wanted.start == before);
    check_eq(rig.released, 0);
    control("use replace lru");
    bytes_each = 100;
    control("use replace told");
    check(wanted.start != before);
    check_eq(rig.released, 64 * N);
    memset(wanted.start, 0, bytes_each * N);
}

/* The policy wants 1 KB for each buffer, and no reservation of memory succeeds.
 * Once it does, the policy is put to use. */
TEST(a_policy_for_which_memory_lacks_is_refused_and_nothing_changes)
{
    char why[POLICY_LINE_BYTES];
    bytes_each = 1024;
    told_replace.memory = &wanted;
    boot_small("");
    rig.reservations = 0;
    check_eq(policy_control("use replace told", why), -EINVAL);
    check(!strcmp(why, "replace/told: it needs more memory in one piece than "
                       "is left: lower nbuf"));
    check_in_use("lru");
    check_notes("");
    rig.reservations = UNLIMITED;
    control("use replace told");
    check_in_use("told");
}

/* Boot with a scheduler's table that is refused: the console says why, and the
 * policy cannot be used. */
static void check_refused(const char *console)
{
    char why[POLICY_LINE_BYTES];
    boot_small("");
    check_console(console);
    check_eq(policy_control("use sched told", why), -EINVAL);
    check(!strcmp(why, "no sched policy \"told\""));
}

TEST(a_scheduler_that_wants_memory_is_refused_for_two_are_in_use_in_a_swap)
{
    told_sched.memory = &wanted;
    check_refused("policy told refused: its kind has no memory: two are in use "
                  "during a swap\n");
}

static const char *nothing_wrong(void)
{
    return NULL;
}

TEST(a_scheduler_whose_check_is_not_about_one_disk_is_refused)
{
    told_sched.check = nothing_wrong;
    check_refused("policy told refused: its check is about all disks: it wants "
                  "the hook check\n");
}

TEST(a_cache_that_is_not_full_evicts_nothing)
{
    boot_small("replace=told");
    fill(100, N);
    check_counters("bio.", "misses 16");
    check_eq(bcache.used, N);
}

TEST(lru_evicts_the_block_that_was_used_longest_ago)
{
    boot_small("");
    fill(100, N);
    read_in(100); /* used last */
    read_in(5);
    check(buffer_of(100) && !buffer_of(101));
}

/* Each buffer is in the bucket of its block, once, and in no other. */
static void check_buckets(void)
{
    u64 n = 0;
    for (u64 i = 0; i < bcache.nbuckets; i++)
        for (struct buf *b = bcache.buckets[i]; b; b = b->hash) {
            check(n++ < bcache.used);
            check(buffer_of(b->block.blkno) == b);
        }
    check_eq(n, bcache.used);
}

/* After each of 1,000 random reads the hash table has every cached block
 * once. */
TEST(each_buffer_is_in_one_bucket_whatever_was_evicted)
{
    u64 state = 1;
    boot_small("");
    for (u32 i = 0; i < 1000; i++) {
        read_in(random_u64(&state) % 64);
        check_buckets();
    }
    check_eq(stat_of("bio.evictions") + N, stat_of("bio.misses"));
}

/* ---- blocks that will not be wanted ---- */

/* binval and bunwanted insert the buffer anew as unwanted. A later use makes it
 * wanted. */
TEST(a_dropped_or_unwanted_block_is_known_as_such_to_the_policy)
{
    boot_small("replace=told");
    fill(5, 3);
    forget_all();
    bunwanted(disk0(), 6);
    check_notes("remove 6; insert 6 unwanted");
    binval(disk0(), 7);
    check_notes("remove 7; insert 7 unwanted");
    bunwanted(disk0(), 99);
    struct buf *b = bread(disk0(), 5);
    check_notes("remove 5");
    bunwanted(disk0(), 5);
    check_notes("");
    brelse(b);
    check_notes("insert 5");
    check_eq(found_on(disk0(), 6), CACHED);
    read_in(6); /* wanted again */
    check_notes("remove 6; insert 6");
    check_eq(bcache.nevictable, 3);
}

TEST(an_unwanted_block_goes_first)
{
    boot_small("");
    fill(100, N);
    bunwanted(disk0(), 110);
    read_in(5);
    check(!buffer_of(110) && buffer_of(100));
}

static u64 five = 5;

/* As a process: drop block 5. */
static void drop_five(void *arg)
{
    (void)arg;
    binval(disk0(), five);
}

static void read_five(void *arg)
{
    (void)arg;
    read_in(five);
}

/* Process 8 drops block 5, for which process 9 waits. After the read by 9 the
 * buffer is inserted as wanted. */
TEST(a_dropped_block_that_somebody_waits_for_is_wanted_again)
{
    boot_small("replace=told");
    struct buf *b = bread(disk0(), 5);
    start(8, drop_five, NULL);
    start(9, read_five, NULL);
    brelse(b);
    run_others();
    end_commands();
    check_notes("insert 5");
    check_at_rest();
}

/* ---- swaps ---- */

/* The new policy gets the clean buffers that nobody holds, the first victim
 * first, with cleared words. Block 102 is inserted when its holder releases
 * it. */
TEST(a_new_replace_policy_gets_the_buffers_in_the_old_ones_order)
{
    boot_small("");
    fill(100, 4);
    read_in(101);
    struct buf *busy = bread(disk0(), 102);
    dirty(103, 0);
    bunwanted(disk0(), 100);
    buffer_of(100)->block.word[0] = 6;
    buffer_of(101)->block.word[1] = 7;
    forget_all();
    control("use replace told");
    check_notes("lru stops; insert 100 unwanted; insert 101");
    check_eq(bcache.nevictable, 2);
    brelse(busy);
    check_notes("insert 102");
    check_eq(bcache.nevictable, 3);
    control("use replace lru");
    check_notes("remove 100; remove 101; remove 102; lru starts");
    check_eq(bcache.nevictable, 3);
}

static struct block *wrong;

/* Return the victim that the test has chosen. */
static struct block *wrong_victim(void)
{
    return wrong;
}

/* Check that this victim is a fault: it is reported, lru takes over, and the
 * read is done all the same. */
static void check_fault(struct block *victim)
{
    told.victim = wrong_victim;
    wrong = victim;
    told.quiet = true;
    read_in(5);
    check_console("policy fault: replace/told: victim returned no evictable "
                  "buffer; going on with lru\n");
    check(buffer_of(5));
    check_eq(bcache.nevictable, bcache.used - bio_busy() - bio_dirty());
}

/* Fill the cache with clean blocks, under the policy told. */
static void boot_full(void)
{
    boot_small("replace=told");
    fill(100, N);
}

TEST(no_victim_is_a_fault)
{
    boot_full();
    check_fault(NULL);
}

/* The policy names a wrong victim, then a right one. The first time the kernel
 * takes block 101, the first clean one, instead. */
TEST(
    the_kernel_can_take_the_first_clean_buffer_and_leave_a_faulty_policy_in_use)
{
    boot_small("replace=told faults=answer");
    fill(100, N);
    dirty(100, 0);
    struct block *last = &buffer_of(100 + N - 1)->block;
    told.victim = wrong_victim;
    told.quiet = true;
    read_in(5);
    check(buffer_of(100) && !buffer_of(101));
    check(policy_in_use[POLICY_REPLACE] == &told_replace);
    check_console("policy fault: replace/told: victim returned no evictable "
                  "buffer; the kernel answers instead\n");
    wrong = last;
    read_in(6);
    check(!buffer_of(100 + N - 1));
    check_counters("policy.", "faults 1");
    end_commands();
}

TEST(a_victim_that_somebody_has_is_a_fault)
{
    boot_full();
    struct buf *b = bread(disk0(), 103);
    check_fault(&b->block);
    brelse(b);
}

TEST(a_victim_that_is_dirty_is_a_fault)
{
    boot_full();
    dirty(103, 0);
    check_fault(&buffer_of(103)->block);
}

TEST(a_victim_in_the_midst_of_a_buffer_is_a_fault)
{
    boot_full();
    check_fault((struct block *)((u8 *)&buffer_of(103)->block + 8));
}

TEST(a_victim_before_the_buffers_is_a_fault)
{
    boot_full();
    check_fault(&(bcache.bufs - 1)->block);
}

TEST(a_victim_past_the_buffers_is_a_fault)
{
    static struct block far;
    boot_full();
    check_fault(&far);
}

TEST(a_victim_right_past_the_last_buffer_is_a_fault)
{
    boot_full();
    check_fault(&bcache.bufs[N].block);
}

/* The policy's order is lost with its fault: the default evicts 100, the first
 * buffer, though it was used last. */
TEST(after_a_fault_the_default_has_all_in_the_order_of_buffers)
{
    boot_full();
    read_in(100); /* the last, to an honest policy */
    check_fault(NULL);
    check(!buffer_of(100));
    read_in(6);
    check(!buffer_of(101));
}

/* Return block 102's buffer the first time, and afterwards NULL, which is a
 * wrong answer. */
static struct block *first_then_wrong(void)
{
    static u32 n;
    return n++ ? NULL : &buffer_of(102)->block;
}

/* The old policy hands over one buffer and then answers wrongly. The new one
 * gets the other three after it, in the order of buffers. */
TEST(what_an_old_policy_does_not_give_the_new_one_gets_after)
{
    boot_small("replace=told");
    fill(100, 4);
    told.victim = first_then_wrong;
    told.quiet = true;
    control("use replace lru");
    for (u64 i = 0; i < 4; i++)
        check(buffer_of(100 + i)->flags & B_EVICTABLE);
    check_eq(bcache.nevictable, 4);
    fill(200, 13);
    check(!buffer_of(102) && buffer_of(100));
    fill(213, 1);
    check(!buffer_of(100) && buffer_of(101));
}

/* Read a block while the policy's hook `check` complains. */
static void evict_wrongly(void)
{
    told.wrong = "a mistake";
    read_in(5);
}

TEST(a_replace_policy_is_checked_after_each_choice)
{
    boot_small("replace=told check=1");
    fill(100, N);
    check_panics(evict_wrongly, "policy check: replace/told: a mistake");
}

/* ---- dirty victims ---- */

/* Return the block of buffer 3 as victim. */
static struct block *third_buffer(void)
{
    return &bcache.bufs[3].block;
}

/* Boot with a replace policy that takes dirty victims. */
static void boot_takes_dirty(void)
{
    told_replace.replace.takes_dirty = true;
    boot_small("replace=told");
}

/* A dirty block is inserted at once. After a failed write it is removed, until
 * a write succeeds. */
TEST(a_policy_that_takes_dirty_blocks_has_them_except_those_that_failed)
{
    boot_takes_dirty();
    dirty(5, 0);
    check_notes("insert 5");
    check_eq(bcache.nevictable, 0);
    fail_sector(0, 10, true, 1);
    bwrite(getblk(disk0(), 5));
    check_notes("remove 5");
    check(is_dirty(5));
    check_eq(bwrite(getblk(disk0(), 5)), 0);
    check_notes("insert 5");
    check_eq(bcache.nevictable, 1);
}

/* The policy answers with the fourth buffer, which has block 103. Block 103 is
 * written (its age is then 400 ns) and clean again; asked again, the policy
 * answers with it again, and block 5 gets the buffer. */
TEST(a_dirty_victim_is_written_and_the_policy_asked_again)
{
    boot_takes_dirty();
    fill(100, N);
    clock_now_ns = 5000;
    dirty(103, 3);
    clock_now_ns = 5400;
    told.victim = third_buffer;
    forget_all();
    read_in(5);
    check_commands("W0:206+2 R0:10+2");
    check_notes("remove 103; insert 103; remove 103; insert 5");
    check_counters("bio.", "misses 17, hits 1, dirtied 1, written 1, "
                           "dirty_victims 1, evictions 1");
    check_hist("bio.age_written", 0, "400", 400);
    check_eq(on_device(0, 206)[0], ((u8 *)bcache.bufs[3].data)[0]);
    check_at_rest();
}

/* Return the first clean block that may be evicted. */
static struct block *first_clean(void)
{
    for (u64 i = 0; i < N; i++)
        if (bcache.bufs[i].flags & B_EVICTABLE &&
            !(bcache.bufs[i].flags & B_DELWRI))
            return &bcache.bufs[i].block;
    return NULL;
}

/* End a command as soon as no lock is held. */
static void end_at_once(void)
{
    if (in_flight())
        end_command(0);
}

/* The victim, block 103, is dirty. Its write ends as soon as no lock is held,
 * so before the reader sleeps. */
TEST(a_dirty_victim_may_be_written_before_anybody_waits_for_it)
{
    boot_takes_dirty();
    fill(100, N);
    dirty(103, 3);
    told.victim = third_buffer;
    rig.unlocked = end_at_once;
    read_in(5);
    check(!is_dirty(103) && buffer_of(5));
    check_at_rest();
}

/* The policy takes dirty victims but names none. So block 100, the oldest, is
 * written and gives way. */
TEST(with_only_dirty_blocks_left_the_oldest_are_written_not_a_victim)
{
    boot_takes_dirty();
    dirty_all(100, N);
    told.victim = first_clean;
    forget_all();
    read_in(5);
    check_commands("W0:200+2 R0:10+2");
    check_counters("bio.", "misses 17, dirtied 16, written 1, no_clean 1, "
                           "evictions 1");
}

/* The policy's victim, block 103, is dirty. It stays, and block 5 is not
 * read. */
TEST(nothing_is_prefetched_in_place_of_a_dirty_victim)
{
    boot_takes_dirty();
    fill(100, N);
    dirty(103, 3);
    told.victim = third_buffer;
    bprefetch(disk0(), &(u64){5}, 1);
    check(!buffer_of(5) && is_dirty(103));
    check_at_rest();
}

/* ---- no clean buffer is left ---- */

/* All 64 buffers are dirty. A read has the 4 oldest written, and takes one of
 * them. */
TEST(a_sixteenth_of_the_cache_is_written_when_no_clean_buffer_is_left)
{
    boot("nbuf=64 cluster_kb=0");
    dirty_all(100, 64);
    read_in(5);
    check_counters("bio.", "misses 65, dirtied 64, written 4, no_clean 1, "
                           "evictions 1");
    check_eq(bio_dirty(), 60);
    for (u64 i = 101; i < 164; i++)
        check_eq(is_dirty(i), i >= 104);
    end_commands();
    check_at_rest();
}

/* Boot with a write policy whose no_clean returns `answer`, and fill the cache
 * with dirty blocks. */
static void boot_no_clean(u64 answer)
{
    told_write.write.no_clean = told_no_clean;
    told.answer = answer;
    boot_small("write=told cluster_kb=0");
    dirty_all(100, N);
    check_notes("");
}

/* All 16 blocks are dirty. The policy answers 3, so three are written. */
TEST(the_write_policy_says_how_many_to_write_when_no_clean_buffer_is_left)
{
    boot_no_clean(3);
    read_in(5);
    check_notes("no_clean 16 of 16");
    end_commands();
    check_eq(bio_dirty(), N - 3);
    check_counters("bio.", "misses 17, dirtied 16, written 3, no_clean 1, "
                           "evictions 1");
}

/* Decide as a write policy: while fewer than two writes are queued, write now;
 * else hold back. */
static enum write_mode hold_back(const struct write_info *w)
{
    note("%lu at %lu", w->blkno, w->queued);
    check(!w->program);
    return w->queued < 2 ? WRITE_ASYNC : WRITE_HELD_BACK;
}

/* Of the five oldest blocks the policy is asked about all but the first, which
 * must be written so that there is room. */
TEST(the_write_policy_can_hold_back_what_makes_room_except_the_first)
{
    boot_no_clean(5);
    told_write.write.decide = hold_back;
    told_write.write.every_origin = true;
    read_in(5);
    check_notes("no_clean 16 of 16; 101 at 1; 102 at 2; 103 at 2; 104 at 2");
    end_commands();
}

TEST(all_may_be_written_when_no_clean_buffer_is_left)
{
    boot_no_clean(N);
    read_in(5);
    end_commands();
    check_eq(bio_dirty(), 0);
    check_console("");
}

/* Check that this answer of no_clean is a fault, after which the default writes
 * one block. */
static void check_no_clean_fault(u64 answer)
{
    boot_no_clean(answer);
    read_in(5);
    check_notes("no_clean 16 of 16; async starts");
    check_console("policy fault: write/told: no_clean: not from 1 to dirty; "
                  "going on with async\n");
    check_eq(bio_dirty(), N - 1);
    end_commands();
}

TEST(to_write_none_when_no_clean_buffer_is_left_is_a_fault)
{
    check_no_clean_fault(0);
}

TEST(to_write_more_than_is_dirty_is_a_fault)
{
    check_no_clean_fault(N + 1);
}

/* Block 107 is due: it is on the list of pending writes. */
TEST(the_oldest_dirty_blocks_are_written_those_that_are_due_first)
{
    told_write.write.no_clean = told_no_clean;
    told.answer = 1;
    boot_small("write=told");
    dirty_all(100, N);
    struct buf *b = buffer_of(107);
    b->flags |= B_PENDING;
    list_remove(&b->dirty);
    list_push_back(&bcache.pending, &b->dirty);
    forget("commands");
    read_in(5);
    check_commands("W0:214+2 R0:10+2");
    dirty(5, 0);
    read_in(6);
    check_commands("W0:200+2 R0:12+2");
}

#define TRYING(b) \
    "bio: disk0: block " #b " cannot be written now: trying again\n"
#define TRIES 8 /* of a write: after 0, 0.1, 0.2, 0.4 ... 6.4 s */
#define IS_LOST \
    " cannot be written and is lost: fsync, close and sync will say so\n"

/* When all processes sleep: end the oldest command, or go on to the time at
 * which the daemon tries failed writes again. */
static bool end_or_retry(void)
{
    if (in_flight())
        return end_oldest();
    u64 next_ns = bflush_retry();
    if (next_ns != NEVER_NS)
        clock_now_ns = MAX(clock_now_ns, next_ns);
    return in_flight() || next_ns != NEVER_NS;
}

/* Fill the cache with dirty blocks. Each of the first `bad` of them cannot be
 * written so many times. */
static void boot_bad(u32 bad, u32 times)
{
    boot_small("cluster_kb=0");
    rig.idle = end_or_retry;
    dirty_all(100, N);
    for (u32 i = 0; i < bad; i++)
        fail_sector(0, 2 * (100 + i), true, times);
}

/* The write of block 100 fails, and 101 makes room instead. */
TEST(a_block_whose_write_fails_is_passed_over_for_room)
{
    boot_bad(1, 1);
    read_in(5);
    check_commands("W0:200+2 W0:202+2 R0:10+2");
    check(is_dirty(100) && !buffer_of(101));
    check_counters("bio.", "misses 17, dirtied 16, written 2, no_clean 2, "
                           "write_errors 1, evictions 1");
}

/* All writes fail six times, with growing pauses of 0.1 to 1.6 s. The kernel
 * tries again, and gives up nothing, for that ends before GIVE_UP_NS. */
TEST(a_block_that_cannot_be_written_for_a_while_is_not_lost)
{
    boot_bad(N, 6);
    read_in(5);
    check_console(TRYING(100));
    check_eq(stat_of("bio.lost"), 0);
    check_eq(stat_of("bio.write_errors") >= 6, 1);
    check(clock_now_ns < GIVE_UP_NS);
    end_commands();
    check_eq(bflush(NULL), 0);
    check_eq(bio_dirty(), 0);
    check_eq(lost_tell_sync(disk0()), 0);
}

/* Every write fails for ever: block 100 is lost, which is printed and counted,
 * and its buffer is free. */
TEST(when_no_block_can_be_written_the_oldest_is_given_up)
{
    boot_bad(N, 100);
    read_in(5);
    check_console(TRYING(100) "bio: disk0: block 100" IS_LOST);
    check_counters("bio.", "misses 17, dirtied 16, written 128, no_clean 129, "
                           "write_errors 128, lost 1, evictions 1");
    check_eq(bio_dirty(), N - 1);
    check(!buffer_of(100));
    read_in(6);
    check_console("");
    check_at_rest();
}

/* 14 blocks of data and 2 of metadata cannot be written. Room is made by giving
 * up data; metadata is given up only when no data is left that could be. */
TEST(metadata_is_given_up_only_when_no_data_is_left)
{
    boot_small("cluster_kb=0");
    rig.idle = end_or_retry;
    for (u32 i = 0; i < N; i++)
        fail_sector(0, 2 * (100 + i), true, 1000);
    dirty_all(100, N - 2);
    check_eq(bflush(NULL), -EIO);
    clock_now_ns += GIVE_UP_NS - NS_PER_S;
    for (u64 i = N - 2; i < N; i++)
        make_dirty(getblk(disk0(), 100 + i), 7, false, false);
    struct buf *five = bread(disk0(), 5), *six = bread(disk0(), 6);
    check(!lost_structure(disk0()));
    check(!buffer_of(100 + N - 2) && !buffer_of(100 + N - 1));
    check_eq(stat_of("bio.lost"), 2);
    check_eq(bio_dirty(), N - 2);
    read_in(7);
    check(lost_structure(disk0()));
    brelse(five);
    brelse(six);
}

/* Block 100 is the oldest, but held: 101 is given up. */
TEST(a_block_that_somebody_has_is_neither_written_nor_given_up_for_room)
{
    boot_bad(N, 100);
    struct buf *b = getblk(disk0(), 100);
    read_in(5);
    check_console(TRYING(101) "bio: disk0: block 101" IS_LOST);
    check_counters("bio.", "hits 1, misses 17, dirtied 16, written 120, "
                           "no_clean 121, write_errors 120, lost 1, "
                           "evictions 1");
    bdwrite(b, 0);
}

/* A modification that was given up is gone: the block is read from the disk. */
TEST(a_block_that_was_given_up_is_read_again)
{
    boot_bad(N, 100);
    on_device(0, 200)[0] = 77;
    read_in(5);
    check(!is_dirty(100));
    struct buf *b = bread(disk0(), 100);
    check_eq(((u8 *)b->data)[0], 77);
    brelse(b);
}

/* When the last write has failed, and before a block is given up, another hart
 * lets go of this buffer. */
static struct buf *kept;

/* Release the buffer `kept` once all the other blocks have been tried in vain;
 * the rig calls this whenever no lock is held. */
static void let_go_of_it(void)
{
    struct buf *b = kept;
    if (!b || bcache.waiting || in_flight() ||
        stat_of("bio.write_errors") < TRIES * (N - 1))
        return;
    kept = NULL;
    brelse(b);
}

/* No block can be written, and block 100 is held until all others were tried.
 * It is 101 that is given up. */
TEST(a_block_that_is_let_go_unwritten_meanwhile_is_not_given_up)
{
    boot_bad(N, 100);
    kept = getblk(disk0(), 100);
    rig.unlocked = let_go_of_it;
    read_in(5);
    check_console(TRYING(101) "bio: disk0: block 101" IS_LOST);
    check(is_dirty(100));
}

/* Only block 200 is clean, and it is held until all others were tried. Block
 * 100 is given up, but the reader takes the buffer of 200. The next read of 100
 * must go to the disk. */
TEST(a_block_that_was_given_up_is_read_again_if_its_buffer_is_still_there)
{
    boot_small("cluster_kb=0");
    read_in(200);
    dirty_all(100, N - 1);
    for (u32 i = 0; i < N - 1; i++)
        fail_sector(0, 2 * (100 + i), true, 100);
    rig.idle = end_or_retry;
    kept = bread(disk0(), 200);
    rig.unlocked = let_go_of_it;
    read_in(5);
    check_console(TRYING(100) "bio: disk0: block 100" IS_LOST);
    check(buffer_of(100) && !buffer_of(200));
    check_eq(found_on(disk0(), 100), MISSING);
}

/* As a process: read a block, and note when it has it. */
static void read_block(void *blkno)
{
    struct buf *b = bread(disk0(), *(u64 *)blkno);
    note("%u has %lu", myproc()->pid, *(u64 *)blkno);
    brelse(b);
}

/* Two processes need a buffer. The first one starts a write of one block; the
 * second one waits for the same write. */
TEST(who_waits_for_a_buffer_starts_no_writes_while_some_are_under_way)
{
    u64 blocks[2] = {5, 6};
    told_write.write.no_clean = told_no_clean;
    told.answer = 1;
    boot_small("write=told");
    dirty_all(100, N);
    start(11, read_block, &blocks[0]);
    start(12, read_block, &blocks[1]);
    check_commands("W0:200+2");
    check_eq(bcache.waiting, 2);
    check_counters("bio.", "misses 16, dirtied 16, written 1, no_clean 2");
    check_notes("no_clean 16 of 16");
    end_commands();
    check_eq(bcache.waiting, 0);
    told.quiet = true;
    check_at_rest();
    check(buffer_of(6));
}

/* ---- most_dirty: a write policy's limit of what is dirty ---- */

/* Boot with a write policy that delays all writes and allows so many dirty
 * blocks. */
static void boot_limited(u64 most)
{
    told_write.write.most_dirty = told_most_dirty;
    told.answer = most;
    boot("nbuf=64 write=told cluster_kb=0");
    told.mode = WRITE_DELAYED;
}

/* Write data of file 3, as the write policy says. */
static void write_data(u64 blkno)
{
    check_eq(bwrite_data(getblk(disk0(), blkno), 3, true), 0);
}

/* Three dirty blocks are allowed. The fourth has the writer start four writes,
 * a sixteenth of 64 buffers, and wait for one. */
TEST(a_writer_waits_while_more_is_dirty_than_the_write_policy_allows)
{
    boot_limited(3);
    told.quiet = true;
    for (u64 i = 0; i < 3; i++)
        write_data(i);
    check_commands("");
    check_counters("bio.", "misses 3, dirtied 3");
    write_data(3);
    check_eq(bio_dirty(), 0);
    check_commands("W0:6+2 W0:4+2 W0:2+2 W0:0+2");
    check_eq(bcache.nwriting, 3);
    check_counters("bio.", "misses 4, dirtied 4, written 4, throttled 1");
    end_commands();
}

/* One dirty block is allowed. After the second the limit is asked for twice:
 * before and after a write. */
TEST(the_limit_is_asked_for_until_it_is_kept)
{
    boot_limited(1);
    write_data(0);
    write_data(1);
    check_notes("decide 0:0 filled dirty=0 of 64 queued=0; most_dirty of 64; "
                "decide 0:1 filled dirty=1 of 64 queued=0; most_dirty of 64; "
                "most_dirty of 64");
    end_commands();
}

/* The policy allows no dirty block at all. */
TEST(a_limit_of_none_is_a_fault)
{
    boot_limited(0);
    told.quiet = true;
    write_data(0);
    check_console("policy fault: write/told: most_dirty: none; going on with "
                  "async\n");
    write_data(1);
    end_commands();
}

/* As above, but with faults=answer the policy stays and nothing is written. */
TEST(without_a_right_limit_a_writer_does_not_wait)
{
    boot_small("write=told faults=answer");
    told_write.write.most_dirty = told_most_dirty;
    told.answer = 0;
    told.quiet = true;
    write_data(0);
    write_data(1);
    check_console("policy fault: write/told: most_dirty: none; the kernel "
                  "answers instead\n");
    check(policy_in_use[POLICY_WRITE] == &told_write);
    check_commands("");
    end_commands();
}

/* Two writes are under way, as many as may be dirty: the writer of a third
 * block waits for one of them. */
TEST(what_is_being_written_counts_for_the_limit)
{
    boot_limited(2);
    told.quiet = true;
    rig.idle = nothing_ends;
    bawrite(getblk(disk0(), 50));
    bawrite(getblk(disk0(), 52));
    rig.idle = end_oldest;
    write_data(0);
    check_counters("bio.", "misses 3, dirtied 1, written 2, throttled 1");
    check(is_dirty(0));
    check_eq(in_flight(), 1);
    end_commands();
}

/* Four blocks are dirty whose writes failed, and two are allowed. The writer
 * does not wait for ever. */
TEST(a_writer_goes_on_when_no_block_can_be_written)
{
    boot_limited(UNLIMITED);
    told.quiet = true;
    for (u64 i = 0; i < 4; i++) {
        fail_sector(0, 2 * i, true, 1);
        write_data(i);
        bawrite(getblk(disk0(), i));
    }
    end_commands();
    check_eq(bio_dirty(), 4);
    struct buf *busy = getblk(disk0(), 0);
    told.answer = 2;
    bdwrite(busy, 3);
    busy = getblk(disk0(), 1);
    write_data(2);
    check(is_dirty(2));
    brelse(busy);
    check_at_rest();
}

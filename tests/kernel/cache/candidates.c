/*
 * Candidate writes: a dirty block is known to its disk's scheduler, which may
 * write it before it is due.
 *
 * - The scheduler is `told`, which takes candidates and notes each call
 *   (told.h): "queued O10" is the candidate at sector 10, "next R0 W0 O1" is a
 *   question when no read, no write and one candidate are queued. told.next is
 *   its answer; without one it takes the oldest.
 * - dirty(5, 0) makes block 5 dirty, which is sectors 10 and 11 (blocks.h).
 * - To claim a candidate is to reserve its buffer, before it is written. The
 *   claim fails if the buffer is not as it was.
 * - disk_poke has the scheduler queried; check_commands expects the disk's
 *   commands since the last check.
 */
#include "tests/support/native/blocks.h"

/* Boot with a scheduler that takes candidates. */
static void boot_candidates(void)
{
    told_sched.sched.takes_candidates = true;
    told_sched.sched.again_ns = told_again;
    told.again_ns = NEVER_NS;
    boot("nbuf=64 sched=told");
}

/* Return no request: nothing goes now. */
static struct request *not_now(struct queue *q, u64 now_ns)
{
    (void)q, (void)now_ns;
    return NULL;
}

/* A block becomes a candidate (O10) when it becomes dirty. Modified again,
 * it is only marked. A write of it ends that, and is a request of its own
 * (W10). */
TEST(a_dirty_block_is_a_candidate_since_it_is_dirty_until_it_is_written)
{
    boot_candidates();
    told.next = not_now;
    clock_now_ns = 5000;
    dirty(5, 0);
    const struct request *r = &buffer_of(5)->io->request;
    check(r->queue && r->candidate && r->write);
    check_eq(r->sector, 10);
    check_eq(r->nsectors, 2);
    check_eq(r->queued_ns, 5000);
    check(!r->again);
    check_notes("queued O10; next R0 W0 O1; again R0 W0 O1");
    clock_now_ns = 6000;
    dirty(5, 0);
    check(r->again);
    check_eq(r->queued_ns, 5000);
    check_notes("next R0 W0 O1; again R0 W0 O1");
    read_in(5);
    check_notes("");
    bawrite(getblk(disk0(), 5));
    check_notes("leaves O10; queued W10; next R0 W1 O0; again R0 W1 O0");
}

/* The scheduler chooses the candidate when it is queried: the block is written,
 * 700 ns old, for no process. */
TEST(a_candidate_that_is_taken_up_is_written_for_process_0)
{
    boot_candidates();
    clock_now_ns = 5000;
    told.next = not_now;
    dirty(5, 0);
    clock_now_ns = 5700;
    told.next = NULL;
    forget("trace");
    disk_poke(disk0());
    check_commands("W0:10+2");
    check_eq(buffer_of(5)->io->request.pid, 0);
    check(!buffer_of(5)->io->request.waited);
    check_eq(bio_busy(), 1);
    check_eq(bio_dirty(), 0);
    check_hist("bio.age_written", 0, "700", 700);
    end_commands();
    check_trace("writing disk0 5 7 700; queued-write disk0 10 0 2; "
                "issued-write disk0 10 0 2; completed-write disk0 10 0 0");
    check_counters("bio.", "misses 1, dirtied 1, written 1");
    check_at_rest();
}

TEST(to_make_a_block_dirty_has_the_scheduler_asked_whether_to_write_it)
{
    boot_candidates();
    dirty(5, 0);
    check_commands("W0:10+2");
    check_counters("bio.", "misses 1, dirtied 1, written 1");
    end_commands();
}

/* The claim fails while the test holds block 5. At its release it is a
 * candidate again. */
TEST(a_candidate_is_not_claimed_while_somebody_has_the_buffer)
{
    boot_candidates();
    told.next = not_now;
    dirty(5, 0);
    struct buf *b = getblk(disk0(), 5);
    told.next = NULL;
    disk_poke(disk0());
    check_commands("");
    check(is_dirty(5) && !b->io->request.queue);
    forget("notes");
    brelse(b); /* and is a candidate again */
    check_notes("queued O10");
    disk_poke(disk0());
    check_commands("W0:10+2");
    end_commands();
    check_at_rest();
}

/* Check that a candidate cannot be claimed after fn. The scheduler has chosen
 * it; before it is reserved, with no lock held, fn happens to its buffer. */
static void check_no_claim_after(void (*fn)(void))
{
    boot_candidates();
    told.next = not_now;
    dirty(5, 0);
    struct io *io = buffer_of(5)->io;
    bool (*claim)(struct io *, const struct disk *) = io->reserve;
    fn();
    forget("commands");
    check(!claim(io, disk0()));
    check_commands("");
}

/* Start the write of the block. */
static void write_it(void)
{
    told.next = NULL;
    bawrite(getblk(disk0(), 5));
}

/* Write the block, and wait. */
static void clean_it(void)
{
    told.next = NULL;
    check_eq(bwrite(getblk(disk0(), 5)), 0);
}

/* Drop the block. */
static void drop_it(void)
{
    binval(disk0(), 5);
}

/* Write the block, and make it dirty again. */
static void write_and_dirty_it(void)
{
    clean_it();
    told.next = not_now;
    dirty(5, 0); /* it is a candidate anew */
}

TEST(a_candidate_is_not_claimed_while_it_is_written)
{
    check_no_claim_after(write_it);
    end_commands();
}

TEST(a_candidate_is_not_claimed_when_it_was_written)
{
    check_no_claim_after(clean_it);
}

TEST(a_candidate_is_not_claimed_when_its_block_was_dropped)
{
    check_no_claim_after(drop_it);
}

TEST(a_candidate_is_not_claimed_when_it_was_a_candidate_anew)
{
    check_no_claim_after(write_and_dirty_it);
}

TEST(a_candidate_is_not_claimed_for_another_disk)
{
    boot_candidates();
    told.next = not_now;
    dirty(5, 0);
    struct io *io = buffer_of(5)->io;
    disk_remove_candidate(disk0(), io);
    check(!io->reserve(io, disk_get(1)));
    check(io->reserve(io, disk0()));
}

TEST(a_block_whose_write_failed_is_not_a_candidate)
{
    boot_candidates();
    told.next = not_now;
    dirty(5, 0);
    told.next = NULL;
    fail_sector(0, 10, true, 1);
    bawrite(getblk(disk0(), 5));
    end_commands();
    check(is_dirty(5));
    check(!buffer_of(5)->io->request.queue);
}

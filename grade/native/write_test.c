/*
 * Write, prefetch and place policies: what they answer.
 *
 * link: grade/native/test.c
 */
#include "grade/native/test.h"

static enum write_mode decide(const char *name, bool filled)
{
    const struct write_info w = {
        .blkno = 9, .filled = filled, .dirty = 1, .buffers = 100};
    return policy_named(POLICY_WRITE, name)->write.decide(&w);
}

TEST(through_waits_for_every_write)
{
    check_eq(decide("through", true), WRITE_THROUGH);
    check_eq(decide("through", false), WRITE_THROUGH);
}

TEST(async_delays_partly_filled_blocks_only)
{
    check_eq(decide("async", true), WRITE_ASYNC);
    check_eq(decide("async", false), WRITE_DELAYED);
}

TEST(delayed_delays_all)
{
    check_eq(decide("delayed", true), WRITE_DELAYED);
    check_eq(decide("delayed", false), WRITE_DELAYED);
}

TEST(wt_starts_every_write_and_waits_for_none)
{
    check_eq(decide("wt", true), WRITE_ASYNC);
    check_eq(decide("wt", false), WRITE_ASYNC);
}

TEST(every_write_policy_answers_within_its_contract)
{
    u64 seed = 1;

    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_WRITE)
            continue;
        policy_start(*p);
        for (u32 i = 0; i < 10000; i++) {
            u64 buffers = 16 + random_u64(&seed) % 100000;
            u64 dirty = 1 + random_u64(&seed) % buffers;
            const struct write_info w = {.disk = i % 8,
                                         .blkno = random_u64(&seed),
                                         .filled = i % 2,
                                         .dirty = dirty,
                                         .buffers = buffers,
                                         .now_ns = i * 1000UL};
            check((*p)->write.decide(&w) <= WRITE_DELAYED);
            if (!(*p)->write.no_clean)
                continue;
            u64 n = (*p)->write.no_clean(dirty, buffers);
            check(n >= 1 && n <= dirty);
        }
    }
}

/* A stream of reads, sequential runs with jumps between, of one file. */
static void read_a_file(const struct policy *p, u64 seed, u64 file_blocks)
{
    struct stream s = {0};
    struct access a = {.file_blocks = file_blocks, .block_bytes = 4096};

    for (u32 i = 0; i < 2000; i++) {
        if (random_u64(&seed) % 16 == 0 || s.next_block >= file_blocks)
            s.next_block = random_u64(&seed) % file_blocks;
        a.block = s.next_block;
        a.nblocks = 1 + random_u64(&seed) % MIN(8, file_blocks - a.block);
        u64 first = 0, n = p->prefetch.ahead(&s, &a, &first);
        check(n == 0 || (first < file_blocks && n <= file_blocks - first));
        s.next_block = a.block + a.nblocks;
    }
}

/* What is read ahead of a read of n blocks of a file of 10, or 0; the stream
 * goes on as the kernel has it. */
static u64 read_ahead(struct stream *s, u64 block, u64 n)
{
    const struct policy *p = policy_named(POLICY_PREFETCH, "oneblock");
    const struct access a = {
        .block = block, .nblocks = n, .file_blocks = 10, .block_bytes = 4096};
    u64 first = 0, count = p->prefetch.ahead(s, &a, &first);
    check(count == 0 || count == 1);
    s->next_block = block + n;
    return count ? first : 0;
}

TEST(oneblock_reads_the_next_block_of_a_sequential_read)
{
    struct stream s = {0};
    check_eq(read_ahead(&s, 0, 1), 1); /* a file just opened */
    check_eq(read_ahead(&s, 1, 1), 2);
    check_eq(read_ahead(&s, 2, 3), 5);
}

TEST(oneblock_reads_nothing_after_a_jump)
{
    struct stream s = {0};
    check_eq(read_ahead(&s, 3, 1), 0);
    check_eq(read_ahead(&s, 6, 1), 0);
    check_eq(read_ahead(&s, 7, 1), 8); /* goes on */
    check_eq(read_ahead(&s, 2, 1), 0);
    check_eq(read_ahead(&s, 1, 4), 0); /* back, and past where it was */
}

TEST(oneblock_asks_once_a_block_when_reads_are_small)
{
    struct stream s = {0};
    check_eq(read_ahead(&s, 0, 1), 1); /* bytes 0 to 2999 */
    check_eq(read_ahead(&s, 0, 2), 2); /* 3000 to 5999 */
    check_eq(read_ahead(&s, 1, 1), 0); /* 6000 to 6999 */
    check_eq(read_ahead(&s, 1, 1), 0); /* 7000 to 8191 */
    check_eq(read_ahead(&s, 2, 1), 3); /* 8192 on */
}

TEST(oneblock_stops_at_the_end_of_the_file)
{
    struct stream s = {.next_block = 8};
    check_eq(read_ahead(&s, 8, 1), 9);
    check_eq(read_ahead(&s, 9, 1), 0);
    s.next_block = 7;
    check_eq(read_ahead(&s, 7, 3), 0);
    s.next_block = 0;
    check_eq(read_ahead(&s, 0, 10), 0);
}

TEST(no_prefetching_goes_past_the_end_of_the_file)
{
    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_PREFETCH)
            continue;
        policy_start(*p);
        for (u64 seed = 0; seed < 50; seed++)
            read_a_file(*p, seed, 1 + seed * seed * 17);
    }
}

TEST(inplace_keeps_every_block_where_it_is)
{
    const struct policy *p = policy_named(POLICY_PLACE, "inplace");
    for (u64 blkno = 0; blkno < 1UL << 40; blkno = blkno * 3 + 1) {
        check_eq(p->place.physical(0, blkno, false), blkno);
        check_eq(p->place.physical(3, blkno, true), blkno);
    }
}

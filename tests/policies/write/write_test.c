/*
 * Write and place policies: what they answer.
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/test.h"

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

/* For 10,000 random writes: a mode that is one, and between 1 and all dirty
 * blocks to write when no buffer is clean. */
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

TEST(inplace_keeps_every_sector_where_it_is)
{
    const struct policy *p = policy_named(POLICY_PLACE, "inplace");
    check(!p->place.place); /* which is what the kernel does without it */
}

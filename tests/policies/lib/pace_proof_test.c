/*
 * The answers that proofs take for possible (tools/prove/policies/lib/pace.h)
 * against those of the kernel's pace, in random steps.
 *
 * link: tests/support/native/main.c tests/support/native/random.c
 * link: policies/lib/pace.c
 */
#include "policies/lib/pace.h"
#include "tests/support/native/test.h"

/* The proofs' ones have the same names. What their harness would choose is not
 * asked for here. */
#define CLAIM(holds, what) check(holds)
#define ASSUME(holds)      check(holds)
#define any_below(end)     0
#define any_bool()         false
#define pace               proof_pace
#define pace_start         proof_start
#define pace_keep          proof_keep
#define pace_due           proof_due
#define pace_add           proof_add
#define pace_drop          proof_drop
#define pace_owe_next      proof_owe_next
#define pace_check         proof_check
#undef SLUICE_LIB_PACE_H
#include "tools/prove/policies/lib/pace.h"
#undef pace
#undef pace_start
#undef pace_keep
#undef pace_due
#undef pace_add
#undef pace_drop
#undef pace_owe_next
#undef pace_check

enum { STEPS = 20000, BLOCKS = 40 };

static struct pace kernels;
static u64 dues[BLOCKS]; /* of each dirty block; 0: it is clean */

/* The kernel's pace, as the proofs have it. */
static struct proof_pace seen(void)
{
    struct proof_pace p = {.dirty = kernels.dirty,
                           .tick = kernels.tick,
                           .todo = kernels.todo,
                           .next_ns = kernels.next_ns};
    for (u64 i = 0; i < BLOCKS; i++)
        p.dues += dues[i];
    return p;
}

/* A block becomes dirty or clean: the pace of the proofs must change as the
 * kernel's does. */
static void change(u64 i, u64 at_ns)
{
    struct proof_pace want = seen();
    if (dues[i]) {
        proof_drop(&want, dues[i]);
        pace_drop(&kernels, dues[i]);
        dues[i] = 0;
    } else {
        dues[i] = pace_due(at_ns);
        check(pace_may_be_due(dues[i], at_ns));
        check(!pace_may_be_due(dues[i] + 1, at_ns));
        proof_add(&want, dues[i]);
        pace_add(&kernels, dues[i]);
    }
    struct proof_pace got = seen();
    check(!memcmp(&got, &want, sizeof got));
}

/* Let time pass, owe the next write, or let a block become due at another time,
 * at random. What the kernel's pace does must be among what the pace of proofs
 * may do. */
TEST(the_kernels_pace_is_among_those_of_proofs)
{
    u64 seed = 1, now_ns = 0, owed = 0;
    pace_start(&kernels);
    for (u64 step = 0; step < STEPS; step++) {
        struct proof_pace old = seen();
        u64 what = random_u64(&seed) % 4;
        if (what == 0) {
            now_ns += random_u64(&seed) % (2 * PACE_TICK_NS);
            u64 back_ns = random_u64(&seed) % (4 * PACE_TICK_NS);
            u64 at_ns = step % 3 ? now_ns : now_ns - MIN(now_ns, back_ns);
            pace_keep(&kernels, at_ns, random_u64(&seed) % 240);
            struct proof_pace got = seen();
            check(pace_may_keep(&old, &got, at_ns));
        } else if (what == 1) {
            pace_owe_next(&kernels);
            check(pace_may_owe(&old, kernels.next_ns));
            owed += kernels.next_ns != old.next_ns;
        } else {
            u64 in_ns = (4 + random_u64(&seed) % 200) * PACE_TICK_NS;
            change(random_u64(&seed) % BLOCKS, now_ns + in_ns);
        }
        struct proof_pace got = seen();
        check(!pace_check(&kernels) && !proof_check(&got));
    }
    check(owed);
}

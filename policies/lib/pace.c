/* Pace (pace.h): when to write dirty blocks. */
#include "policies/lib/pace.h"

/* Begin with no block, and no write to come. */
void pace_start(struct pace *p)
{
    *p = (struct pace){.next_ns = NEVER_NS};
}

/* The fewest writes in this tick that leave no later tick with more. */
static u64 least_now(const struct pace *p, u64 early)
{
    u64 least = 0, due = 0;
    for (u64 k = 1; k <= early + 1; k++) {
        due += p->due[(p->tick + k - 1) % PACE_SLOTS];
        if (due / k > least)
            least = due / k;
    }
    return least;
}

/* Begin the tick of now_ns. Writes that are left of earlier ticks become due in
 * it; compute how many it must do. */
void pace_keep(struct pace *p, u64 now_ns, u64 early)
{
    u64 tick = now_ns / PACE_TICK_NS, left = 0;
    if (tick <= p->tick)
        return;
    for (u64 t = p->tick; t < tick && t < p->tick + PACE_SLOTS; t++) {
        left += p->due[t % PACE_SLOTS];
        p->due[t % PACE_SLOTS] = 0;
    }
    p->tick = tick;
    p->due[tick % PACE_SLOTS] += left;
    p->todo = least_now(p, early);
    p->next_ns = p->todo ? tick * PACE_TICK_NS : NEVER_NS;
}

/* Return the tick by whose end a block is written that should be at at_ns: two
 * earlier, so that it is on the disk by then. */
u64 pace_due(u64 at_ns)
{
    return at_ns / PACE_TICK_NS - 2;
}

/* Return the number of blocks due in this tick. What is overdue counts in the
 * present tick. */
static u32 *slot(struct pace *p, u64 due)
{
    return &p->due[MAX(due, p->tick) % PACE_SLOTS];
}

/* A block is dirty, and due in this tick. */
void pace_add(struct pace *p, u64 due)
{
    ++*slot(p, due);
    p->dirty++;
}

/* A block that was due in this tick is dirty no more. */
void pace_drop(struct pace *p, u64 due)
{
    --*slot(p, due);
    p->dirty--;
}

/* One of this tick's writes is done: space the next one evenly. */
void pace_owe_next(struct pace *p)
{
    if (p->todo)
        p->next_ns += PACE_TICK_NS / p->todo;
}

/* Each dirty block is due in one tick, at most PACE_SLOTS from now; the next
 * write has a time exactly if writes are to be done in this tick. */
const char *pace_check(const struct pace *p)
{
    u64 due = 0;
    for (u32 t = 0; t < PACE_SLOTS && p->dirty; t++)
        due += p->due[t];
    if (due != p->dirty)
        return "not every dirty block is due in one tick";
    if ((p->next_ns == NEVER_NS) != (p->todo == 0))
        return "writes are to be done now, and none is owed";
    return NULL;
}

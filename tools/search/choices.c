/* The choices that a state offers, and the step that a choice makes. */
#include "tools/search/explore.h"

const char letters[] = "reftpl";

/* The kernel is not preempted, so a task that is paused keeps its hart. */
static u32 tasks_paused(void)
{
    u32 n = 0;
    for (u32 i = 0; i < watch->ntasks; i++)
        n += world.tasks[i].paused;
    return n;
}

/* All that may happen next: a task runs, a command of the device ends or fails,
 * a timer fires, time passes, or memory runs out. Returns how many. */
u32 list_choices(struct choice *c)
{
    u32 n = 0;
    u64 until_ns;
    bool free_hart = tasks_paused() < watch->harts;
    for (u32 i = 0; i < watch->ntasks; i++)
        if (world.tasks[i].state == TASK_READY &&
            (free_hart || world.tasks[i].paused))
            c[n++] = (struct choice){RUN, i, 0};
    for (u32 i = 0; i < watch->depth; i++) {
        if (!world.slots[i].first)
            continue;
        c[n++] = (struct choice){END, i, 0};
        if (world.failures_left)
            c[n++] = (struct choice){FAIL, i, 0};
    }
    for (u32 i = 0; i < TIMERS_MOST; i++)
        if (world.timers[i] && world.timers[i]->when_ns <= world.now_ns)
            c[n++] = (struct choice){FIRE, i, 0};
    if (time_can_pass(&until_ns))
        c[n++] = (struct choice){WAIT, 0, 0};
    if (world.shortages_left && !world.lacks_memory)
        c[n++] = (struct choice){LACK, 0, 0};
    return n;
}

static void perform(struct choice c)
{
    u64 until_ns;
    switch (c.kind) {
    case RUN:
        task_run(&world.tasks[c.what], c.pause);
        break;
    case END:
    case FAIL:
        slot_end(&world.slots[c.what], c.kind == FAIL);
        break;
    case FIRE:
        timer_fire(c.what);
        break;
    case WAIT:
        if (time_can_pass(&until_ns))
            time_pass(until_ns);
        break;
    case LACK:
        world.lacks_memory = true;
        world.shortages_left--;
        break;
    }
}

bool step(struct choice c)
{
    search->steps++;
    state_changes();
    watch->running = NULL;
    if (sigsetjmp(watch->broken, 0)) {
        search->stepping = false;
        return false;
    }
    search->stepping = true;
    step_begins();
    perform(c);
    step_ends();
    check_state();
    search->stepping = false;
    return true;
}

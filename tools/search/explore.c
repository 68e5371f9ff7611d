/*
 * The search: breadth first over all that may come next, so that the first
 * violation found is one that takes the fewest steps.
 *
 * - A state found is kept as its hash, the state before it and the choice that
 *   led here, and, while there is memory (KEPT_MOST), as a snapshot until the
 *   search has gone on from it. Without one its path is run again from the last
 *   state that it shares with the path before. Siblings share all but a step.
 * - What may come next: a task that can run (until it stops, or paused at one
 *   of its releases of a lock), a command of the device that ends, or fails, a
 *   timer that is due, and time, when no task can run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/search/explore.h"

static u64 read_clock(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

u64 host_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* ---- the states found ---- */

/* Add a state's hash to the table of all seen. True if it is new. */
static bool add_seen(u64 hash)
{
    u64 at = hash & (search->seen_room - 1);
    for (; search->seen[at]; at = (at + 1) & (search->seen_room - 1))
        if (search->seen[at] == hash)
            return false;
    search->seen[at] = hash;
    return true;
}

static void add_found(u32 before, struct choice by)
{
    u32 depth = before == NONE ? 0 : search->found[before].depth + 1;
    search->found[search->nfound++] = (struct node){before, by, depth};
    search->depth = MAX(search->depth, depth);
}

static u32 path_of(u32 state, u32 *path)
{
    u32 n = search->found[state].depth;
    for (u32 i = n; i; i--) {
        path[i] = state;
        state = search->found[state].before;
    }
    path[0] = state;
    return n;
}

/* Keep the state of now, which was just found, if there is room. */
static void keep(u32 state)
{
    struct snapshot *s = &search->kept[state];
    if (search->kept_bytes > KEPT_MOST)
        return;
    state_save(s);
    search->kept_bytes += s->n * SNAPSHOT_LINE;
}

static void drop_kept(u32 state)
{
    struct snapshot *s = &search->kept[state];
    search->kept_bytes -= s->n * SNAPSHOT_LINE;
    state_drop(s);
}

/* Bring the machine into this state. The levels have snapshots of the states on
 * the path to the last one: begin with the last level that both paths share,
 * repeat the steps from there on, and keep a snapshot of each. */
static void go_along(u32 state)
{
    u32 path[DEPTH_MOST + 2], n = path_of(state, path), level = 0;
    while (level < n && level + 1 < search->nlevels &&
           search->levels[level + 1].state == path[level + 1])
        level++;
    state_restore(&search->levels[level].snapshot);
    for (; level < n; level++) {
        if (!step(search->found[path[level + 1]].by)) {
            fprintf(stderr, "a path does not repeat: %s\n", watch->what);
            exit(3);
        }
        search->levels[level + 1].state = path[level + 1];
        state_save(&search->levels[level + 1].snapshot);
    }
    search->nlevels = n + 1;
    search->from = &search->levels[n].snapshot;
}

static void go_to(u32 state)
{
    if (!search->kept[state].n) {
        go_along(state);
        return;
    }
    search->from = &search->kept[state];
    state_restore(search->from);
}

/* ---- output ---- */

static void print_choice(struct choice c)
{
    printf("%c%u", letters[c.kind], c.what);
    if (c.pause)
        printf(".%u", c.pause);
}

static void print_path(u32 state, struct choice last)
{
    u32 path[DEPTH_MOST + 2], n = path_of(state, path);
    printf("path ");
    for (u32 i = 1; i <= n; i++) {
        print_choice(search->found[path[i]].by);
        printf(",");
    }
    print_choice(last);
    printf("\n");
}

void print_result(const char *how, const char *why)
{
    u64 took_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    covered_print();
    printf("result %s\n", how);
    if (*why)
        printf("why %s\n", why);
    printf("states %u\ntransitions %lu\ndepth %u\nleft %u\n"
           "seconds %.2f\nbytes %lu of %lu\nquiet %lu\n",
           search->nfound, search->steps, search->depth,
           search->nfound - search->begun, took_ns / 1e9, state_live_bytes(),
           state_bytes(), search->quiet);
    printf("kinds run %lu end %lu fail %lu fire %lu pass %lu lack %lu "
           "pause %lu\n",
           search->taken[RUN], search->taken[END], search->taken[FAIL],
           search->taken[FIRE], search->taken[WAIT], search->taken[LACK],
           search->pauses);
}

static void print_violation(struct choice last)
{
    if (watch->refused)
        return;
    printf("violation %s\n", watch->what);
    print_path(search->begun, last);
    print_result("violation", "");
}

/* ---- the search ---- */

/* Everything is done: no program has anything left, and no transfer is under
 * way. */
static bool is_quiet(void)
{
    for (u32 i = 1; i < watch->ntasks; i++)
        if (world.tasks[i].state != TASK_DONE)
            return false;
    return !bcache.nbusy;
}

/* Take a choice from the state begun. False: a violation. *releases: how many
 * places there are to pause at. */
static bool try(struct choice c, u32 *releases)
{
    state_restore(search->from);
    if (!step(c))
        return false;
    search->taken[c.kind]++;
    search->pauses += c.pause != 0;
    *releases = c.kind == RUN ? watch->releases : 0;
    if (!add_seen(state_hash()))
        return true;
    add_found(search->begun, c);
    keep(search->nfound - 1);
    search->quiet += is_quiet();
    return true;
}

static bool try_all(void)
{
    struct choice choices[CHOICES_MOST];
    u32 n = list_choices(choices), releases;
    bool may_pause = world.pauses_left;
    search->dead_ends += !n;
    for (u32 i = 0; i < n; i++) {
        struct choice c = choices[i];
        if (!try(c, &releases)) {
            print_violation(c);
            return false;
        }
        for (c.pause = 1; may_pause && c.pause < MIN(releases, 60); c.pause++) {
            u32 ignored;
            if (!try(c, &ignored)) {
                print_violation(c);
                return false;
            }
        }
    }
    return true;
}

/* A line each second, for whoever waits. */
static void print_progress(u64 now_ns)
{
    if (now_ns - search->told_ns < NS_PER_S)
        return;
    search->told_ns = now_ns;
    printf("progress states %u transitions %lu depth %u left %u\n",
           search->nfound, search->steps, search->found[search->begun].depth,
           search->nfound - search->begun);
}

/* Why the search ends before all states are visited, or NULL. */
static const char *why_over(void)
{
    if (search->interrupted)
        return "it was interrupted";
    if (search->nfound + CHOICES_MOST * 8 > search->states_most)
        return "there are more states than it may keep";
    if (search->found[search->begun].depth >= DEPTH_MOST)
        return "a path is longer than it may be";
    if (search->begun & 63)
        return NULL;
    u64 now_ns = host_ns();
    print_progress(now_ns);
    return now_ns - search->started_ns > search->limit_ns ? "its time is over"
                                                          : NULL;
}

int explore(void)
{
    add_seen(state_hash());
    add_found(NONE, (struct choice){0});
    state_save(&search->levels[0].snapshot);
    search->nlevels = 1;
    for (; search->begun < search->nfound; search->begun++) {
        const char *why = why_over();
        if (why) {
            print_result("stopped", why);
            return 0;
        }
        go_to(search->begun);
        if (!try_all())
            return watch->refused ? wrong("a program", watch->what) : 1;
        drop_kept(search->begun);
    }
    print_result("complete", "");
    return 0;
}

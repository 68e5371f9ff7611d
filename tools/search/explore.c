/*
 * The search: breadth first over all that may come next, so that the first
 * violation found is one that takes the fewest steps.
 *
 *   search [OPTION VALUE]... PROGRAM...
 *   search [OPTION VALUE]... --replay CHOICES PROGRAM...
 *   search [OPTION VALUE]... --words CHOICES PROGRAM...
 *
 * - If no search ends, a word counts up for ever: two states that should be
 *   equal, printed by --words, show which.
 * - A state found is kept as its hash, the state before it and the choice that
 *   led here, and, while there is memory (KEPT_MOST), as a snapshot until the
 *   search has gone on from it. Without one its path is run again from the last
 *   state that it shares with the path before. Siblings share all but a step.
 * - What may come next: a task that can run (until it stops, or paused at one
 *   of its releases of a lock), a command of the device that ends, or fails, a
 *   timer that is due, and time, when no task can run.
 * - Lines on the standard output are for sluice (tools/search/path_story.py).
 */
#include "tools/search/machine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

struct observer *watch;

enum kind { RUN, END, FAIL, FIRE, WAIT, KINDS };
static const char *const letters = "reftp";

/* kind, what, and for RUN at which release it is paused. */
struct choice {
    u8 kind, what, pause;
};

struct node {
    u32 before;
    struct choice by;
    u16 depth;
};

#define CHOICES_MOST 256
#define DEPTH_MOST   4000
#define NONE         UINT32_MAX
#define KEPT_MOST    (256UL << 20) /* bytes of snapshots */

static struct search {
    u64 *seen; /* a table of hashes, 0: free */
    u64 seen_room;
    struct node *found;
    u32 nfound, states_most;
    struct level {
        u32 state;
        struct snapshot snapshot;
    } levels[DEPTH_MOST + 2];
    u32 nlevels;
    struct snapshot *kept; /* of states not gone on from yet, while there is */
    u64 kept_bytes;        /* room for them */
    const struct snapshot *from; /* of the state being gone on from */
    u64 steps, taken[KINDS], pauses, dead_ends, quiet;
    u64 started_ns, limit_ns;
    u32 depth, begun; /* the state being gone on from */
    volatile sig_atomic_t interrupted, stuck, stepping; /* in step() */
    volatile u64 seen_steps;
    u64 told_ns;       /* when progress was last printed */
    bool prints_words; /* --words: replay, and print what the hash counts */
} * search;

static u64 host_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int wrong(const char *what, const char *why)
{
    fprintf(stderr, "search: %s: %s\n", what, why);
    return 2;
}

/* ---- choices ---- */

/* The kernel is not preempted, so a task that is paused keeps its hart. */
static u32 tasks_paused(void)
{
    u32 n = 0;
    for (u32 i = 0; i < watch->ntasks; i++)
        n += world.tasks[i].paused;
    return n;
}

static u32 list_choices(struct choice *c)
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
    }
}

/* A step, and the checks. False: something is wrong, and watch->what says. */
static bool step(struct choice c)
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

/* ---- the states found ---- */

/* True if it is new. */
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

/* Make the machine's state this one by its path, and keep a snapshot on each
 * level. */
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

static void print_result(const char *how, const char *why)
{
    u64 took_ns = host_ns() - search->started_ns;
    covered_print();
    printf("result %s\n", how);
    if (*why)
        printf("why %s\n", why);
    printf("states %u\ntransitions %lu\ndepth %u\nleft %u\n"
           "seconds %.2f\nbytes %lu of %lu\nquiet %lu\n",
           search->nfound, search->steps, search->depth,
           search->nfound - search->begun, took_ns / 1e9, state_live_bytes(),
           state_bytes(), search->quiet);
    printf("kinds run %lu end %lu fail %lu fire %lu pass %lu pause %lu\n",
           search->taken[RUN], search->taken[END], search->taken[FAIL],
           search->taken[FIRE], search->taken[WAIT], search->pauses);
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

static int explore(void)
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

/* ---- the story ---- */

static void tell_buffers(void)
{
    static const char *const flags[] = {
        "busy",       "asked",         "valid", "dirty",  "pending",
        "being read", "being written", "async", "failed", "unwanted",
        "prefetched", "evictable",     "pinned"};
    printf("state buffers");
    BUF_EACH (b) {
        printf(" [block %lu:", b->block.blkno);
        for (u32 i = 0; i < NELEM(flags); i++)
            if (b->flags & 1U << i && !(b->flags & (B_ASYNC)&1U << i))
                printf(" %s", flags[i]);
        if (b->block.dirtied_ns)
            printf(" for %lu ms",
                   (world.now_ns - b->block.dirtied_ns) / NS_PER_MS);
        printf("]");
    }
    const struct queue *q = &the_disk()->queue;
    printf("; queued %lu reads, %lu writes, %lu candidates; at the device",
           q->length[SET_READS], q->length[SET_WRITES],
           q->length[SET_CANDIDATES]);
    for (u32 i = 0; i < SLOTS_MOST; i++)
        if (world.slots[i].first)
            printf(" %s %lu+%u", world.slots[i].write ? "write" : "read",
                   world.slots[i].sector, world.slots[i].n);
    printf("\nstate disk");
    for (u32 i = 0; i < watch->nblocks; i++)
        printf(" %u:%u%s", i, (u32)world.disk[i],
               world.disk[i] == world.wanted[i] ? "" : "(old)");
    printf("\n");
}

static void tell_choice(struct choice c)
{
    const struct task *t = &world.tasks[c.what];
    const struct slot *s = &world.slots[c.what];
    u64 until_ns;
    switch (c.kind) {
    case RUN:
        printf("%s ", t->proc.name);
        if (c.what != DAEMON)
            printf(t->inside ? "goes on with %s" : "begins %s",
                   watch->ops[c.what][t->at].text ?: "nothing more");
        else
            printf("runs");
        if (c.pause)
            printf(", and is paused where it releases its locks for the "
                   "%uth time",
                   c.pause);
        break;
    case END:
    case FAIL:
        printf("the device %s command %u: %s of %u block%s from %lu on",
               c.kind == FAIL ? "fails" : "has done", c.what,
               s->write ? "write" : "read", s->n, s->n > 1 ? "s" : "",
               s->sector);
        break;
    case FIRE:
        printf("a timer of the disk fires");
        break;
    case WAIT:
        time_can_pass(&until_ns);
        printf("%lu ms pass", (until_ns - world.now_ns) / NS_PER_MS);
    }
}

static void tell_tasks(void)
{
    for (u32 i = 0; i < watch->ntasks; i++) {
        const struct task *t = &world.tasks[i];
        static const char *const states[] = {"absent", "can run", "sleeps",
                                             "has ended"};
        printf("%s%s %s", i ? ", " : "state ", t->proc.name, states[t->state]);
    }
    printf("\n");
}

static int replay(const char *path)
{
    watch->tells = true;
    tell_tasks();
    tell_buffers();
    for (u32 n = 1; *path; n++) {
        char letter;
        u32 what = 0, pause = 0;
        if (sscanf(path, "%c%u.%u", &letter, &what, &pause) < 2 ||
            !strchr(letters, letter)) {
            fprintf(stderr, "a choice is wrong: %s\n", path);
            return 2;
        }
        struct choice c = {strchr(letters, letter) - letters, what, pause},
                      may[CHOICES_MOST];
        u32 nmay = list_choices(may), i = 0;
        while (i < nmay && (may[i].kind != c.kind || may[i].what != c.what))
            i++;
        if (i == nmay) {
            fprintf(stderr, "step %u is not possible here: %s\n", n, path);
            return 2;
        }
        printf("step %u ", n);
        tell_choice(c);
        printf("\n");
        if (!step(c)) {
            printf("violation %s\n", watch->what);
            return 1;
        }
        tell_tasks();
        tell_buffers();
        path = strchr(path, ',') ? strchr(path, ',') + 1 : "";
    }
    if (search->prints_words)
        state_print();
    printf("result nothing is wrong\n");
    return 0;
}

/* ---- signals ---- */

/* Each quarter of a second of the processor's time. Only a step is ended: the
 * search itself may take as long as it likes. */
static void on_alarm(int signal)
{
    (void)signal;
    if (!search->stepping)
        return;
    if (search->seen_steps != search->steps) {
        search->seen_steps = search->steps;
        search->stuck = 0;
    } else if (++search->stuck >= 3) {
        search->stuck = 0;
        violated(0, "a step does not end");
    }
}

static void on_interrupt(int signal)
{
    (void)signal;
    search->interrupted = 1;
}

static void catch (int signal, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler,
                          .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
    sigaction(signal, &a, NULL);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal == SIGSEGV && state_first_write(info->si_addr))
        return;
    if (!search->stepping) { /* a fault of the search: it ends by the signal */
        catch (signal, SIG_DFL);
        return;
    }
    violated(0, signal == SIGFPE ? "a division by zero"
                                 : "memory that is not there is used");
}

static void catch_fault(int signal)
{
    struct sigaction a = {.sa_sigaction = on_fault,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(signal, &a, NULL);
}

static void catch_all(void)
{
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (u32 i = 0; i < NELEM(faults); i++)
        catch_fault(faults[i]);
    catch (SIGINT, on_interrupt);
    catch (SIGTERM, on_interrupt);
    catch (SIGVTALRM, on_alarm);
    struct itimerval each = {{0, 250000}, {0, 250000}};
    setitimer(ITIMER_VIRTUAL, &each, NULL);
}

/* ---- the command line ---- */

static bool option(const char *name, const char *value, const char **path)
{
    u64 n = strtoul(value, NULL, 10);
    struct number {
        const char *name;
        u32 *to;
    } numbers[] = {
        {"--blocks", &watch->nblocks}, {"--buffers", &watch->nbuffers},
        {"--depth", &watch->depth},    {"--failures", &watch->failures},
        {"--pauses", &watch->pauses},  {"--states", &search->states_most},
        {"--harts", &watch->harts}};
    for (u32 i = 0; i < NELEM(numbers); i++) {
        if (strcmp(name, numbers[i].name))
            continue;
        *numbers[i].to = n;
        return true;
    }
    if (!strcmp(name, "--milliseconds"))
        search->limit_ns = n * NS_PER_MS;
    else if (!strcmp(name, "--args"))
        snprintf(watch->args, sizeof watch->args, "%s", value);
    else if (!strcmp(name, "--replay") || !strcmp(name, "--words")) {
        *path = value;
        search->prints_words = name[2] == 'w';
    } else
        return false;
    return true;
}

static const char *sizes_wrong(void)
{
    if (!watch->nblocks || watch->nblocks > MIN(10U, (u32)BLOCKS_MOST))
        return "give --blocks from 1 to 10";
    if (watch->nbuffers < BUFFERS_HELD || watch->nbuffers > BUFFERS_MOST)
        return "give --buffers from 2 to 16";
    if (!watch->depth || watch->depth > SLOTS_MOST)
        return "give --depth from 1 to 4";
    if (!watch->harts || watch->harts > 8)
        return "give --harts from 1 to 8";
    if (search->states_most < CHOICES_MOST * 9)
        return "give --states from 2304";
    return watch->ntasks == 1 ? "give a program, as 'D0 F'" : NULL;
}

static int read_options(int argc, char **argv, const char **path)
{
    int i = 1;
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2)
        if (!option(argv[i], argv[i + 1], path))
            return wrong(argv[i], "there is no such option");
    watch->ntasks = 1;
    for (; i < argc; i++) {
        if (watch->ntasks == TASKS_MOST)
            return wrong(argv[i], "too many programs");
        const char *why = program_read(watch->ntasks++, argv[i]);
        if (why)
            return wrong(argv[i], why);
    }
    const char *why = sizes_wrong();
    if (why)
        return wrong("the configuration", why);
    snprintf(watch->args + strlen(watch->args),
             sizeof watch->args - strlen(watch->args), " nbuf=%u check=1",
             watch->nbuffers);
    return 0;
}

static void make_search(void)
{
    search = calloc(1, sizeof *search);
    watch = calloc(1, sizeof *watch);
    search->states_most = 1 << 20;
    watch->harts = 2;
    search->limit_ns = NEVER_NS / 2;
}

static void make_tables(void)
{
    search->seen_room = 1 << 12;
    while (search->seen_room < 2UL * search->states_most)
        search->seen_room *= 2;
    search->seen = calloc(search->seen_room, sizeof(u64));
    search->found = calloc(search->states_most, sizeof *search->found);
    search->kept = calloc(search->states_most, sizeof *search->kept);
}

/* False: something is wrong, and watch->what says. */
static bool boot(void)
{
    if (sigsetjmp(watch->broken, 0)) {
        search->stepping = false;
        return false;
    }
    search->stepping = true;
    machine_boot();
    limits_set();
    search->stepping = false;
    return true;
}

static int boot_failed(void)
{
    if (watch->refused)
        return wrong("the boot is refused", watch->what);
    printf("violation at the boot: %s\npath \n", watch->what);
    print_result("violation", "");
    return 1;
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    make_search();
    int status = read_options(argc, argv, &path);
    if (status)
        return status;
    make_tables();
    covered_make();
    catch_all();
    search->started_ns = host_ns();
    if (!boot())
        return boot_failed();
    const char *unknown = arg_unknown();
    if (unknown)
        return wrong(unknown, "the search has no such boot argument");
    state_root();
    return path ? replay(path) : explore();
}

/*
 * The program of the search:
 *
 *   search [OPTION VALUE]... PROGRAM...
 *   search [OPTION VALUE]... --replay CHOICES PROGRAM...
 *   search [OPTION VALUE]... --words CHOICES PROGRAM...
 *
 * If no search ends, a word counts up for ever: two states that should be
 * equal, printed by --words, show which. Lines on the standard output are for
 * sluice (tools/search/path_story.py).
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/search/explore.h"

struct observer *watch;
struct search *search;

int wrong(const char *what, const char *why)
{
    fprintf(stderr, "search: %s: %s\n", what, why);
    return 2;
}

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
        {"--harts", &watch->harts},    {"--shortages", &watch->shortages},
        {"--live", &watch->live}};
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

/* `seen` is a hash table: a power of 2 of places, at least twice as many as
 * there are states. */
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

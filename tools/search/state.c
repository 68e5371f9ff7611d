/*
 * The state of the machine: what it is, how it is saved, and when two are
 * equal.
 *
 * - A state is all static memory of this program: the kernel's variables, the
 *   arena and the stacks of the tasks. It is kept as the lines of 64 bytes in
 *   which it differs from the root, the state after the boot.
 * - Most pages are never written: what belongs to other disks, and to policies
 *   that are not in use. From the root on each page is protected until the
 *   first write to it, and only those that were written are looked at.
 * - Two states are equal if their hashes are. The hash is a sum over the words
 *   that differ from the root's, each mixed with its place. So it does not
 *   depend on the order in which the words are visited.
 * - Words that count up for ever are hashed by what they mean. A time is hashed
 *   as the time since then; one that is older than any limit that it could be
 *   held against (state_age) is as good as any older. The numbers of writes,
 *   uses and arrivals and the contents of a block are hashed by their rank
 *   among those in the state. A policy may count seconds since the power-on,
 *   say: such a word is hashed as the units since then, and the hash also has
 *   where in the policy's period it is (state_calendar).
 * - What decides nothing any more is not left out of the hash, which would hide
 *   a use of it: machine.c clears it after each step.
 */
#include "tools/search/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LINE       64
#define WORDS      (LINE / 8)
#define PAGE_LINES (PAGE_SIZE / LINE)
#define RANKED     1024 /* words of one class in a state */

#define CALENDARS_MOST 4
#define FAR            1024 /* units: a count that is further off is as good */

extern char __data_start, _end;
extern struct stat_row __start_stats[], __stop_stats[];
extern const struct policy *const __start_policies[], *const __stop_policies[];

static struct memory {
    u64 *start, oldest_ns;
    struct calendar {
        u64 unit_ns, repeats_ns;
    } calendars[CALENDARS_MOST];
    u32 ncalendars;
    u32 lines;
    u64 *root;    /* a copy of all memory */
    u8 *excluded; /* for each word: it is no part of the state */
    u8 *is_class; /* for each word: in_class() of the root's value */
    u32 *classed; /* the words with is_class that are not excluded */
    u32 nclassed;
    u32 *live; /* pages that were written since the root */
    u32 nlive;
    u8 *is_live;  /* for each page: it is among those of `live` */
    u32 *changed; /* lines that differ from the root */
    u32 nchanged;
    bool known;       /* `changed` is up to date */
    u8 *line_changed; /* for each line: it is among those of `changed` */
} * region;

/* The words of the state whose meaning is their rank. */
static struct ranked {
    u64 *values;
    u32 n;
} * ranked;

static u32 words(void)
{
    return region->lines * WORDS;
}

static void region_make(void)
{
    if (region)
        return;
    u64 start = (u64)&__data_start / PAGE_SIZE * PAGE_SIZE;
    u64 end = ((u64)&_end + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    region = calloc(1, sizeof *region);
    ranked = calloc(1, sizeof *ranked);
    ranked->values = calloc(RANKED, sizeof(u64));
    region->start = (u64 *)start;
    region->lines = (end - start) / LINE;
    region->root = aligned_alloc(LINE, end - start);
    region->excluded = calloc(words(), 1);
    region->is_class = calloc(words(), 1);
    region->classed = calloc(words(), sizeof(u32));
    region->live = calloc(region->lines / PAGE_LINES, sizeof(u32));
    region->is_live = calloc(region->lines / PAGE_LINES, 1);
    region->changed = calloc(region->lines, sizeof(u32));
    region->line_changed = calloc(region->lines, 1);
}

u64 state_bytes(void)
{
    return region ? region->lines * LINE : 0;
}

void state_exclude(const void *start, u64 bytes)
{
    region_make();
    u64 first = ((u64)start - (u64)region->start) / 8;
    memset(region->excluded + first, 1, (bytes + 7) / 8);
}

void state_age(u64 oldest_ns)
{
    region_make();
    region->oldest_ns = oldest_ns;
}

void state_calendar(u64 unit_ns, u64 repeats_ns)
{
    region_make();
    if (region->ncalendars == CALENDARS_MOST)
        violated(0, "too many calendars");
    region->calendars[region->ncalendars++] =
        (struct calendar){unit_ns, repeats_ns};
}

/* The calendar in whose units the word counts, or NULL. Ordinary numbers are
 * not near the units that have passed since the power-on. */
static const struct calendar *calendar_of(u64 word)
{
    for (u32 i = 0; i < region->ncalendars; i++) {
        const struct calendar *c = &region->calendars[i];
        u64 zero = c->unit_ns ? TIME_ZERO / c->unit_ns : NEVER_NS;
        if (word >= zero - FAR && word < zero + (1 << 20))
            return c;
    }
    return NULL;
}

static bool has_number_class(u64 word)
{
    return CLASS_OF(word) >= CLASS_WRITE && CLASS_OF(word) < CLASS_TIME;
}

static bool in_class(u64 word)
{
    return has_number_class(word) || CLASS_OF(word) == CLASS_TIME ||
           calendar_of(word);
}

/* Counters for people decide nothing, so they are not part of a state. */
static void exclude_counts(void)
{
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        state_exclude(&s->value, sizeof s->value);
    for (const struct policy *const *p = __start_policies; p < __stop_policies;
         p++)
        for (struct policy_counter *c = (*p)->counters; c && c->name; c++)
            state_exclude(&c->value, sizeof c->value);
}

void state_root(void)
{
    region_make();
    exclude_counts();
    memcpy(region->root, region->start, state_bytes());
    for (u32 i = 0; i < words(); i++) {
        region->is_class[i] = in_class(region->root[i]);
        if (region->is_class[i] && !region->excluded[i])
            region->classed[region->nclassed++] = i;
    }
    region->known = true;
    mprotect(region->start, state_bytes(), PROT_READ);
}

/* A write has met a protected page: allow it, and note that the page is live.
 * False if it is no page of the state, or was written before. */
bool state_first_write(const void *at)
{
    if (!region || at < (void *)region->start)
        return false;
    u64 page = ((u64)at - (u64)region->start) / PAGE_SIZE;
    if (page >= region->lines / PAGE_LINES || region->is_live[page])
        return false;
    void *start = (u8 *)region->start + page * PAGE_SIZE;
    if (mprotect(start, PAGE_SIZE, PROT_READ | PROT_WRITE))
        return false;
    region->is_live[page] = 1;
    region->live[region->nlive++] = page;
    return true;
}

u64 state_live_bytes(void)
{
    return region ? region->nlive * PAGE_SIZE : 0;
}

void state_changes(void)
{
    region->known = false;
}

/* ---- what has changed ---- */

static bool differs(const u64 *a, const u64 *b)
{
    u64 d = 0;
    for (u32 i = 0; i < WORDS; i++)
        d |= a[i] ^ b[i];
    return d;
}

static void forget_changed(void)
{
    for (u32 i = 0; i < region->nchanged; i++)
        region->line_changed[region->changed[i]] = 0;
    region->nchanged = 0;
}

static void add_changed(u32 line)
{
    region->changed[region->nchanged++] = line;
    region->line_changed[line] = 1;
}

static void find_changed_in(u32 first, u32 lines)
{
    const u64 *now = region->start + first * WORDS;
    const u64 *root = region->root + first * WORDS;
    if (!memcmp(now, root, lines * LINE))
        return;
    for (u32 i = 0; i < lines; i++, now += WORDS, root += WORDS)
        if (differs(now, root))
            add_changed(first + i);
}

/* Eight lines at a time: most are equal. */
static void find_changed(void)
{
    if (region->known)
        return;
    forget_changed();
    for (u32 p = 0; p < region->nlive; p++)
        for (u32 i = 0; i < PAGE_LINES; i += 8)
            find_changed_in(region->live[p] * PAGE_LINES + i, 8);
    region->known = true;
}

void state_save(struct snapshot *s)
{
    find_changed();
    if (s->room < region->nchanged) {
        s->room = region->nchanged;
        s->line = realloc(s->line, s->room * sizeof *s->line);
        s->bytes = realloc(s->bytes, s->room * LINE);
    }
    s->n = region->nchanged;
    for (u32 i = 0; i < s->n; i++) {
        s->line[i] = region->changed[i];
        memcpy(s->bytes + i * LINE, region->start + s->line[i] * WORDS, LINE);
    }
}

void state_restore(const struct snapshot *s)
{
    find_changed();
    for (u32 i = 0; i < region->nchanged; i++) {
        u32 at = region->changed[i] * WORDS;
        memcpy(region->start + at, region->root + at, LINE);
    }
    forget_changed();
    for (u32 i = 0; i < s->n; i++) {
        memcpy(region->start + s->line[i] * WORDS, s->bytes + i * LINE, LINE);
        add_changed(s->line[i]);
    }
}

void state_drop(struct snapshot *s)
{
    free(s->line);
    free(s->bytes);
    *s = (struct snapshot){0};
}

/* ---- the hash ---- */

static u64 mix(u64 x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93UL;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93UL;
    return x ^ x >> 32;
}

static int compare(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return (x > y) - (x < y);
}

static void collect(u64 word)
{
    if (ranked->n == RANKED)
        violated(0, "too many words to rank");
    ranked->values[ranked->n++] = word;
}

/* Sort by insertion: faster than qsort for a few values. */
static void sort_few(u64 *values, u32 n)
{
    for (u32 i = 1; i < n; i++) {
        u64 v = values[i];
        u32 k = i;
        for (; k && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
}

/* Sort the collected words, and keep one of equal words. */
static void sort_ranked(void)
{
    u32 kept = 0;
    if (ranked->n > 40)
        qsort(ranked->values, ranked->n, sizeof(u64), compare);
    else
        sort_few(ranked->values, ranked->n);
    for (u32 i = 0; i < ranked->n; i++)
        if (!i || ranked->values[i] != ranked->values[kept - 1])
            ranked->values[kept++] = ranked->values[i];
    ranked->n = kept;
}

/* The words among which a word is ranked: those of its class. The contents of a
 * block, which have the block in their upper half, are ranked among those of
 * this block only. */
static u64 group_of(u64 word)
{
    return CLASS_OF(word) == CLASS_VALUE ? word >> 32 : CLASS_OF(word) << 16;
}

/* A word's group, and how many smaller words of the group the state has. */
static u64 rank_of(u64 word)
{
    u32 low = 0, high = ranked->n;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (ranked->values[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    u32 first = low;
    while (first && group_of(ranked->values[first - 1]) == group_of(word))
        first--;
    return group_of(word) << 16 | (low - first);
}

/* What is hashed in place of a word: units or ns since a time, a number's rank,
 * or the word itself. Old times are all as good as the oldest. */
static u64 meaning(u64 word)
{
    const struct calendar *c = calendar_of(word);
    if (c) {
        u64 now = world.now_ns / c->unit_ns;
        u64 since = now > word ? MIN(now - word, FAR) : now - word;
        return mix(since + FAR);
    }
    if (has_number_class(word))
        return rank_of(word);
    if (CLASS_OF(word) != CLASS_TIME)
        return word;
    u64 since_ns = world.now_ns - word;
    if (word < world.now_ns)
        since_ns = MIN(since_ns, region->oldest_ns);
    return mix(since_ns + CLASS_TIME);
}

/* Call fn for each word that counts: those that differ from the root's, and
 * those whose meaning may change while they stay as they are (is_class). */
static inline void each_word(void (*fn)(u32 at, u64 word, void *), void *arg)
{
    const u64 *now = region->start;
    for (u32 i = 0; i < region->nclassed; i++) {
        u32 at = region->classed[i];
        if (!region->line_changed[at / WORDS])
            fn(at, now[at], arg);
    }
    for (u32 k = 0; k < region->nchanged; k++) {
        u32 first = region->changed[k] * WORDS;
        for (u32 i = first; i < first + WORDS; i++)
            if (!region->excluded[i] &&
                (region->is_class[i] || now[i] != region->root[i]))
                fn(i, now[i], arg);
    }
}

static inline void collect_word(u32 at, u64 word, void *arg)
{
    (void)at, (void)arg;
    if (has_number_class(word))
        collect(word);
}

static inline void hash_word(u32 at, u64 word, void *sum)
{
    *(u64 *)sum += mix(meaning(word) + at * 0x9e3779b97f4a7c15UL);
}

/* Where in their periods the calendars are. */
static u64 phase(void)
{
    u64 sum = 0;
    for (u32 i = 0; i < region->ncalendars; i++)
        sum = mix(sum + world.now_ns % region->calendars[i].repeats_ns);
    return sum;
}

u64 state_hash(void)
{
    find_changed();
    ranked->n = 0;
    each_word(collect_word, NULL);
    sort_ranked();
    u64 sum = phase();
    each_word(hash_word, &sum);
    return sum ? sum : 1;
}

static void print_word(u32 at, u64 word, void *arg)
{
    (void)arg;
    printf("word %p %lx %lx\n", (void *)(region->start + at), meaning(word),
           word);
}

void state_print(void)
{
    state_hash();
    each_word(print_word, NULL);
}

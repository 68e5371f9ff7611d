/*
 * Prefetch policies: what each asks for on examples worked by hand, and what
 * holds for all. kernel/cache/prefetch.c asks them, as in the kernel: it tells
 * the streams of the file apart and checks each answer.
 *
 * link: tests/support/native/test.c kernel/cache/prefetch.c
 */
#include "tests/support/native/script.h"
#include "kernel/cache/bio.h"
#include "kernel/cache/prefetch.h"
#include "kernel/policy/registry.h"

#define BLOCKS 2000 /* of the file, of 8 KB each */

/* An open file, what of it is cached, and the last read-ahead request. */
static struct {
    const struct policy *policy;
    struct streams streams;
    struct access access;
    bool cached[BLOCKS];
    u64 coming; /* this block is not there yet; 0: all are */
    struct readahead readahead;
} file;

/* ---- what prefetch.c calls ---- */

const struct policy *policy_in_use[POLICY_KINDS];

void policy_check(const struct policy *p)
{
    (void)p;
}

const struct policy *policy_fault(enum policy_kind kind, u32 disk, u64 block,
                                  const char *what)
{
    (void)kind, (void)disk, (void)block;
    check(!what);
    return NULL;
}

void policy_own(enum policy_kind kind, struct policy_owner owner)
{
    (void)kind, (void)owner;
}

void policy_switch(const struct policy *to)
{
    (void)to;
}

u64 bio_buffers(void)
{
    return cache_buffers;
}

void readers_go_on(struct disk *d, const struct stream *s)
{
    (void)d, (void)s;
}

void spin_lock(struct spinlock *l)
{
    (void)l;
}

void spin_unlock(struct spinlock *l)
{
    (void)l;
}

/* ---- scripts ---- */

/* The file has just been opened, under this policy. */
static void open_file(const char *policy, u64 blocks)
{
    memset(&file, 0, sizeof file);
    file.policy = policy_named(POLICY_PREFETCH, policy);
    file.access.file_blocks = blocks;
    file.access.block_bytes = 8192;
}

static u64 requested(u64 i)
{
    return file.readahead.first +
           file.readahead.step * (i64)(i / file.readahead.n) +
           i % file.readahead.n;
}

/* n blocks are read; what is requested is cached at once. */
static void read_file(u64 block, u64 n)
{
    struct access *a = &file.access;
    a->block = block;
    a->nblocks = n;
    a->found = !file.cached[block]                   ? MISSING
               : file.coming && block == file.coming ? COMING
                                                     : CACHED;
    static struct disk disk;
    policy_in_use[POLICY_PREFETCH] = file.policy;
    file.readahead = prefetch_readahead(&disk, &file.streams, a);
    for (u64 i = 0; i < n; i++)
        file.cached[block + i] = true;
    for (u64 i = 0; i < file.readahead.n * file.readahead.times; i++) {
        check(requested(i) < a->file_blocks);
        file.cached[requested(i)] = true;
    }
}

/* Read n blocks from this one on: the read-ahead request must be "1", "4-7",
 * "10-11 20-21" or "" for none. */
#define reads(block, n, want) check_read(block, n, want, __LINE__)
/* Read n blocks, and expect the read-ahead request as a text: "16-31" are
 * blocks 16 to 31, "" is none. Several runs have a blank between them. */
static void check_read(u64 block, u64 n, const char *want, u32 line)
{
    char got[200] = "", *at = got;
    read_file(block, n);
    for (u64 i = 0; file.readahead.n && i < file.readahead.times; i++) {
        u64 first = requested(i * file.readahead.n),
            last = first + file.readahead.n - 1;
        at += sprintf(at, first < last ? "%s%lu-%lu" : "%s%lu", i ? " " : "",
                      first, last);
    }
    if (strcmp(got, want) == 0)
        return;
    printf("%s:%u: %sread of %lu, %lu blocks: expected \"%s\", got \"%s\"\n",
           __FILE__, line, test_step, block, n, want, got);
    exit(1);
}

static void set(const char *tunable, u64 value)
{
    tunable_named(file.policy, tunable)->value = value;
}

static u64 counter(const char *name)
{
    return counter_of(file.policy, name);
}

/* ---- reads and requests ---- */

/*
 * Examples as scripts (script.h). A step is a read and the read-ahead request
 * that follows: "2 3-6" is of block 2, "5+3 8" of blocks 5 to 7, "5-7" of 5, 6
 * and 7 one by one; what is requested is cached at once, and no numbers are no
 * wish. Other steps:
 *
 *   open 100         the file has so many blocks, and has just been opened
 *   blocks 4096      its blocks have so many bytes, not 8192
 *   set NAME=VALUE   a tunable
 *   sequential       the program says that it reads so
 *   gone 18 19       these are cached no more; cached 7-9: they are
 *   coming 24        this block is not there yet
 *   NAME 3           a counter is this
 */
static const struct example {
    const char *name, *policy, *steps;
} examples[] = {
    {"a_read_belongs_to_the_stream_that_it_goes_on_from", "oneblock",
     "0 1; 500;" /* a second stream */
     "1 2; 501 502; 2 3"},

    {"oneblock_reads_the_next_block_of_a_sequential_read", "oneblock",
     "open 10; 0 1;"    /* a file just opened */
     "1 2; 2+3 5; 5+5;" /* the end of the file */
     "3; sequential_reads 4; ahead 3"},
    {"oneblock_reads_nothing_after_a_jump", "oneblock",
     "open 10; 3; 6; 7 8;" /* goes on */
     "2"},
    {"oneblock_asks_once_a_block_when_reads_are_small", "oneblock",
     "open 10; 0 1;" /* bytes 0 to 5999 */
     "0+2 2;"        /* 6000 to 11999 */
     "1; 1;"         /* 12000 to 14000, and to the block's end */
     "2 3"},
    {"oneblock_stops_at_the_end_of_the_file", "oneblock",
     "open 10; 0+8 8; 8 9; 9; open 10; 0+10"},

    {"bsd44_doubles_up_to_the_cluster", "bsd44",
     "0 1; 1 2-3;" /* it has come to what was read ahead last */
     "2 4-7; 3; 4 8-15; 5-7; 8 16-23;" /* 64 KB are 8 blocks */
     "9+7; 16 24-31"},
    {"bsd44_reads_ahead_after_a_large_request", "bsd44",
     "0+8 8; 8+8 16-17; 16+8 24-27; 24+8 32-39; 32+8 40-47"},
    {"bsd44_reads_nothing_ahead_of_random_reads", "bsd44",
     "500; 700+2; 300; 301 302"}, /* goes on: as from the beginning */
    {"bsd44_begins_with_a_cluster_where_the_program_says_sequential", "bsd44",
     "sequential; 0 1-8; 1 9-16"},

    {"cluster_reads_the_rest_of_the_cluster_where_the_head_is", "cluster",
     "100 101-103;"   /* 96 to 103 are a cluster */
     "503+2 505-511;" /* of the last block's */
     "1000+8"},
    {"cluster_reads_the_next_one_of_a_sequential_reader", "cluster",
     "0 1-7; 1 8-15; 2-7; 8 16-23; gone 9;"
     "9 10-23"}, /* what is cached the kernel leaves out */

    /* 128 KB are 16 blocks: one block is more than 1/32 of them, so the first
     * window is of twice what is asked for. */
    {"ondemand_moves_its_window_when_the_mark_is_reached", "ondemand",
     "0 1;" /* the window is blocks 0 and 1, the mark block 1 */
     "1 2-5; 2 6-13; 3+3; 6 14-29; 7+7; 14 30-45; opened 1; pushed 4"},
    {"ondemand_begins_with_four_times_a_request_that_is_small", "ondemand",
     "set max_kb=1024;" /* 128 blocks */
     "0+3 3-15;"        /* 4 blocks, times 4 */
     "3+3 16-47; 6+10; 16 48-111; 17+31; 48 112-239"},
    {"ondemand_reads_nothing_ahead_of_random_reads_or_cached_blocks",
     "ondemand",
     "500; 700+2; 300; 301 302;" /* goes on, and is not cached */
     "open 2000; cached 0-9; 0+5; 5+5;"
     "10 11"}, /* the first that must be read */

    /* Linux 6.12 in its guest, with blocks of 4 KB: a step is a call, and what
     * it read besides what it asked for. */
    {"ondemand_reads_twice_a_call_as_large_as_its_window_like_linux",
     "ondemand",
     "blocks 4096; 0+32 32-63; 32+32 64-95; 64+32 96-127; 96+32 128-159"},
    {"ondemand_grows_its_window_to_a_larger_call_like_linux", "ondemand",
     "blocks 4096; 0+64 64-127; 64+64 128-191; 128+64 192-255;"
     "open 2000; blocks 4096; 0+256 256-511; 256+256 512-767;"
     "open 2000; blocks 4096;"
     "0+640 640-959; 640+320 960-1279"}, /* io_kb: 320 blocks */
    {"ondemand_opens_a_window_at_every_second_block_like_linux", "ondemand",
     "blocks 4096; 0 1-3; 2; 4 5-7; 6; 8 9-11; 10; 12 13-15"},
    {"ondemand_keeps_its_window_where_a_reader_skips_blocks_like_linux",
     "ondemand",
     "blocks 4096; 0 1-3; 1 4-11; 3; 4 12-27; 5; 7; 8; 10; 12 28-59"},
    {"ondemand_goes_on_where_a_reader_skips_to_the_mark", "ondemand",
     "blocks 4096; 0 1-3; 1 4-11; 4 12-27; 12 28-59"},
    {"ondemand_only_doubles_its_window_if_told_sequential_like_linux",
     "ondemand",
     "blocks 4096; sequential; 32; 64; 96; 128; 160; 500;"
     "open 2000; blocks 4096; sequential;"
     "0+16 16-31; 16+16 32-95; 32+64 96-159; 96+64 160-223"},

    {"stride_finds_the_distance_and_begins_the_reads_expected", "stride",
     "10+2; 30+2;" /* 20, once */
     "50+2 70-71;" /* twice */
     "70+2 90-91 110-111;"
     "90+2 130-131 150-151 170-171;" /* 4 ahead, which is `depth` */
     "110+2 190-191"},
    {"stride_goes_backwards_and_stops_at_the_files_ends", "stride",
     "open 100; 50; 40; 30 20; 20 10 0; 10;"
     "open 100; 50+5; 60+5; 70+5 80-84; 80+5 90-94; 90+5"},
    {"stride_keeps_two_streams_in_one_file_apart", "stride",
     "set depth=1; 10; 1000; 20; 1003; 30 40; 1006 1009; 40 50"},
    {"stride_reads_nothing_ahead_when_distances_differ", "stride",
     "10; 30; 55; 56; 57 58"}, /* twice the same at last */

    {"hints_reads_ahead_only_where_the_program_says_so", "hints",
     "0; 1; sequential; 2 3-18;" /* 128 KB are 16 blocks */
     "3+7; 10 19-26;"            /* half of it is left */
     "11; 900 901-916"},

    {"amps_degree_grows_with_each_set_that_was_used", "amp",
     "0; 1 2;" /* p 1 */
     "2; 3 4-5; 4-5; 6 7-9; 7-9; 10 11-14; 11-14;"
     "15 16-20;"        /* p 5, more than 4: from now on before a miss */
     "16-17; 18 21-25;" /* g is 2: at the block 2 before the last */
     "19-22; 23 26-31;" /* p 6 */
     "grown 5; lost 0; late 0"},
    {"amps_distance_grows_when_the_reader_waits_for_a_set", "amp",
     "0+4; 4+4 8-11; 8+4; 12+4 16-23;" /* p 8 */
     "16+4; 20+4 24-31;" /* g 2, and it reads behind the trigger */
     "coming 24; 24;"    /* waits: p 9, g 3 */
     "late 1; 25-27; 28 32-40; coming 33;" /* not the first of a set */
     "29-36; late 1"},
    {"amp_shrinks_when_what_it_read_is_gone", "amp",
     "0+8; 8+8 16-23;" /* p 8, g 2 */
     "16-20; 21 24-31; gone 24 25; 22-23;"
     "24 25-31;" /* p 7, g 1 */
     "lost 1; 25-29; 30 32-38"},
    {"amp_reads_nothing_ahead_of_random_reads", "amp",
     "500; 700+2; 300; 300;"    /* nothing new */
     "301 302; 702+2 704-705"}, /* another stream, with a p of its own */
    {"amp_stops_at_its_limit_and_at_the_end_of_the_file", "amp",
     "open 100; set max_kb=128;" /* 16 blocks */
     "0+20; 20+20 40-55; 40+16 56-71; 56+16 72-87; 72+16 88-99; 88+12"},

    {"leap_begins_when_most_of_the_last_eight_distances_are_equal", "leap",
     "0-4; 5 6;"                       /* five of eight */
     "6; 7 8 9;"                       /* one hit */
     "8-9; 10 11 12 13 14; coming 11;" /* is a hit, too */
     "11-14; 15 16 17 18 19 20 21 22 23; 16-23;"
     "24 25 26 27 28 29 30 31 32;" /* `most` */
     "trends 5; stopped 5"},
    {"leap_finds_a_trend_among_other_distances", "leap",
     "100+2; 110+2; 120+2; 130+2; 500+2; 140+2; 150+2; 160+2 170-171; 170+2;"
     "180+2 190-191 200-201"},
    {"leap_tries_the_last_trend_if_there_is_none", "leap",
     "cached 1000 1050 1100; 0-4; 5 6; 1000; 1100; 1050; 6;"
     "700 701 702;" /* one hit */
     "old_trends 1"},
    {"leap_goes_backwards_and_stops_at_the_files_ends", "leap",
     "open 60; 55; 50; 45; 40; 35; 30 25;"
     "open 60; 50; 40; 30; 20; 10; 0;"
     "open 60; 42+3; 45+3; 48+3; 51+3; 54+3; 57+3"},
};

/* Do a word of a step that is no read: open a file of that many blocks, set a
 * tunable, change what is cached, or check a counter. */
static void do_to_file(const char *verb, const char *word)
{
    if (strcmp(verb, "open") == 0) {
        open_file(file.policy->name, range_of(word).first);
    } else if (strcmp(verb, "set") == 0) {
        set(name_in(word), value_in(word));
    } else if (strcmp(verb, "blocks") == 0) {
        file.access.block_bytes = range_of(word).first;
    } else if (strcmp(verb, "sequential") == 0) {
        file.streams.hint = HINT_SEQUENTIAL;
    } else if (strcmp(verb, "gone") == 0 || strcmp(verb, "cached") == 0) {
        struct range r = range_of(word);
        for (u64 block = r.first; block <= r.last; block++)
            file.cached[block] = *verb == 'c';
    } else if (strcmp(verb, "coming") == 0) {
        file.coming = range_of(word).first;
    } else {
        if (strcmp(verb, "sequential_reads") == 0)
            verb = "sequential"; /* the counter */
        check_eq(counter(verb), range_of(word).first);
    }
}

/* Do a step of a script: "8+2 16-31" reads 2 blocks from 8 on, and expects
 * that request; "8-11 ..." reads each of these blocks; other verbs are
 * do_to_file's. */
static void do_step(const char *verb, const char *words)
{
    char *after;
    u64 block = strtoul(verb, &after, 10);
    u64 n = *after == '+' ? strtoul(after + 1, NULL, 10) : 1;
    if (after == verb) {
        script_words(verb, words, do_to_file);
        return;
    }
    u64 last = *after == '-' ? range_of(verb).last : block;
    for (; block <= last; block++)
        check_read(block, n, words, __LINE__);
}

TEST_ROWS(example, struct example, examples)
{
    open_file(row->policy, BLOCKS);
    script_run_steps(row->steps, do_step);
}

/* ---- streams ---- */

TEST(a_ninth_stream_takes_the_place_of_the_one_not_read_for_longest)
{
    open_file("oneblock", BLOCKS);
    for (u64 i = 1; i <= STREAMS; i++)
        read_file(100 * i, 1);
    reads(101, 1, "102");
    reads(50, 1, "");     /* takes the place of the stream at 200 */
    reads(201, 1, "");    /* a new stream, which takes the place of 300's */
    reads(401, 1, "402"); /* the other streams are still there */
    reads(102, 1, "103");
}

/* ---- each policy's algorithm ---- */

/* Blocks 18 and 19 were read ahead and evicted. The window of 16 blocks becomes
 * one of 8, which is also the limit; after 16 windows the limit grows by a
 * block. */
TEST(ondemand_halves_its_window_when_what_it_read_is_gone)
{
    open_file("ondemand", BLOCKS);
    reads(0, 8, "8-15");
    reads(8, 8, "16-31"); /* 16 blocks */
    file.cached[18] = file.cached[19] = false;
    reads(16, 2, "32-47");
    reads(18, 1, "19-25"); /* 8 from 18 on */
    check_eq(counter("shrunk"), 1);
    reads(19, 1, "26-33"); /* the limit: 8 blocks */
    for (u64 i = 0; i < 14; i++) {
        reads(20 + 8 * i, 6, "");
        read_file(26 + 8 * i, 2);
        check_eq(file.readahead.n, 8);
    }
    reads(132, 6, "");
    reads(138, 2, "146-154"); /* and a block more after 16 windows */
}

/* ---- Leap ---- */

/* Reads are 10 blocks apart. A trend is a distance that most of the newest 8,
 * 16 or 32 distances have, so it outlives some other distances. */
TEST(leap_looks_at_more_of_the_history_if_its_newest_part_has_no_trend)
{
    open_file("leap", BLOCKS);
    for (u64 i = 1; i <= 10; i++)
        read_file(10 * i, 1);
    check_eq(counter("trends"), 2); /* at 60 and 80 */
    reads(105, 1, "115 125 135 145");
    reads(106, 1, "116 126");
    reads(108, 1, "118"); /* five of the newest eight */
    check_eq(counter("trends"), 5);
    reads(111, 1, ""); /* four of eight, but nine of sixteen */
    check_eq(counter("trends"), 6);
}

/* After a jump nothing that was read ahead is used: 8 blocks become 4, 2, 1 and
 * none. */
TEST(leap_starts_less_and_less_when_nothing_is_used)
{
    open_file("leap", BLOCKS);
    for (u64 block = 0; block <= 24; block++)
        read_file(block, 1);
    check_eq(file.readahead.times, 8);
    reads(1000, 1, "1001 1002 1003 1004");
    reads(500, 1, "501 502");
    reads(1500, 1, "1501");
    reads(300, 1, "");
    reads(1200, 1, "");
}

/* Twenty reads without a trend, then twenty of one block. */
TEST(leap_reads_nothing_ahead_of_random_reads_or_of_reads_in_one_block)
{
    open_file("leap", BLOCKS);
    for (u64 i = 0; i < 20; i++)
        reads(i * i * 97 % 1999, 1, "");
    for (u64 i = 0; i < 20; i++)
        reads(777, 1, "");
    check_eq(counter("trends"), 0);
}

/* Read one block of a file that was left. */
static const char *read_of(struct streams *left, u64 block)
{
    file.streams = *left;
    memset(file.cached, false, sizeof file.cached);
    read_file(block, 1);
    *left = file.streams;
    return file.readahead.n ? "some" : "none";
}

/* Sixty-four files are read in turn. A further file takes the place of the one
 * that was read longest ago. */
TEST(leap_remembers_sixty_four_files_and_forgets_the_one_read_longest_ago)
{
    static struct streams files[65];
    open_file("leap", BLOCKS);
    for (u64 block = 0; block < 5; block++)
        for (u32 i = 0; i < 64; i++)
            check(strcmp(read_of(&files[i], block), "none") == 0);
    check(strcmp(read_of(&files[0], 5), "some") == 0);
    read_of(&files[64], 0); /* takes the place of file 1 */
    check(strcmp(read_of(&files[1], 5), "none") == 0); /* takes file 2's */
    check(strcmp(read_of(&files[3], 5), "some") == 0);
    check(strcmp(read_of(&files[0], 6), "some") == 0);
}

/* ---- what holds for all ---- */

/* Streams of reads, sequential runs with jumps between, of one file; blocks
 * are evicted at times. read_file checks the requests. */
static void read_at_random(u64 seed, u64 blocks)
{
    u64 block = 0;
    for (u32 i = 0; i < 2000; i++) {
        file.streams.hint = random_u64(&seed) % 16 == 0;
        file.cached[random_u64(&seed) % blocks] = false;
        if (random_u64(&seed) % 16 == 0 || block >= blocks)
            block = random_u64(&seed) % blocks;
        u64 n = 1 + random_u64(&seed) % MIN(8, blocks - block);
        read_file(block, n);
        block += random_u64(&seed) % 4 ? n : 3 * n;
    }
}

/* Read files of 1 to 2,000 blocks at random; prefetch.c reports a fault if a
 * policy's request leaves the file. */
TEST(no_prefetching_goes_past_the_ends_of_the_file)
{
    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_PREFETCH)
            continue;
        for (u64 seed = 0; seed < 30; seed++) {
            u64 blocks = MIN(BLOCKS, 1 + seed * seed * 17);
            open_file((*p)->name, blocks);
            read_at_random(seed, blocks);
        }
    }
}

/* Each tunable in turn has its least and its largest value, for random reads of
 * a file of 1,000 blocks. */
TEST(no_prefetching_at_its_tunables_extremes_goes_past_the_ends_of_the_file)
{
    POLICY_EACH (p) {
        struct tunable *t = (*p)->tunables;
        for (; (*p)->kind == POLICY_PREFETCH && t && t->name; t++) {
            u64 values[] = {t->min, t->max};
            for (u32 i = 0; i < NELEM(values); i++) {
                open_file((*p)->name, 1000);
                t->value = values[i];
                read_at_random(i, 1000);
            }
        }
    }
}

/* A file is read block by block. At most three reads miss. */
TEST(a_sequential_reader_finds_all_but_the_beginning_cached)
{
    static const char *const names[] = {"oneblock", "bsd44", "cluster",
                                        "ondemand", "stride"};
    for (u32 i = 0; i < NELEM(names); i++) {
        u64 missed = 0;
        open_file(names[i], BLOCKS);
        for (u64 block = 0; block < BLOCKS; block++) {
            missed += !file.cached[block];
            read_file(block, 1);
        }
        check(missed <= 3);
    }
}

/*
 * Prefetch policies: what each wishes for on examples worked by hand, and what
 * holds for all. The streams of the file are told apart by
 * kernel/cache/stream.c.
 *
 * link: tests/native/test.c kernel/cache/stream.c
 */
#include "tests/native/test.h"
#include "kernel/cache/stream.h"

#define BLOCKS 2000 /* of the file, of 8 KB each */

/* An open file, what of it is cached, and the last wish. */
static struct {
    const struct policy *policy;
    struct streams streams;
    struct access access;
    bool cached[BLOCKS];
    u64 coming; /* this block is not there yet; 0: all are */
    struct wish wish;
} file;

/* The file has just been opened, under this policy. */
static void open_file(const char *policy, u64 blocks)
{
    memset(&file, 0, sizeof file);
    file.policy = policy_named(POLICY_PREFETCH, policy);
    file.access.file_blocks = blocks;
    file.access.block_bytes = 8192;
}

static u64 wished(u64 i)
{
    return file.wish.first + file.wish.step * (i64)(i / file.wish.n) +
           i % file.wish.n;
}

/* n blocks are read; what is wished for is cached at once. */
static void read_file(u64 block, u64 n)
{
    struct access *a = &file.access;
    a->block = block;
    a->nblocks = n;
    a->found = !file.cached[block]                   ? MISSING
               : file.coming && block == file.coming ? COMING
                                                     : CACHED;
    struct stream *s = stream_of(&file.streams, a, &file.policy->prefetch);
    file.wish = (struct wish){.times = 1};
    file.policy->prefetch.ahead(s, a, &file.wish);
    check(file.wish.times > 0 || file.wish.n == 0);
    s->next_block = block + n;
    for (u64 i = 0; i < n; i++)
        file.cached[block + i] = true;
    for (u64 i = 0; i < file.wish.n * file.wish.times; i++) {
        check(wished(i) < a->file_blocks);
        file.cached[wished(i)] = true;
    }
}

/* Read n blocks from this one on: the wish must be "1", "4-7", "10-11 20-21"
 * or "" for none. */
#define reads(block, n, want) check_read(block, n, want, __LINE__)
static void check_read(u64 block, u64 n, const char *want, u32 line)
{
    char got[200] = "", *at = got;
    read_file(block, n);
    for (u64 i = 0; file.wish.n && i < file.wish.times; i++) {
        u64 first = wished(i * file.wish.n), last = first + file.wish.n - 1;
        at += sprintf(at, first < last ? "%s%lu-%lu" : "%s%lu", i ? " " : "",
                      first, last);
    }
    if (strcmp(got, want) == 0)
        return;
    printf("%s:%u: read of %lu, %lu blocks: expected \"%s\", got \"%s\"\n",
           __FILE__, line, block, n, want, got);
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

/* ---- streams ---- */

TEST(a_read_belongs_to_the_stream_that_it_goes_on_from)
{
    open_file("oneblock", BLOCKS);
    reads(0, 1, "1");
    reads(500, 1, ""); /* a second stream */
    reads(1, 1, "2");
    reads(501, 1, "502");
    reads(2, 1, "3");
}

TEST(a_ninth_stream_takes_the_place_of_the_one_not_read_for_longest)
{
    open_file("oneblock", BLOCKS);
    for (u64 i = 1; i <= STREAMS; i++)
        read_file(100 * i, 1);
    reads(101, 1, "102");
    reads(50, 1, "");     /* in the place of the stream at 200 */
    reads(201, 1, "");    /* and that, begun again, of the one at 300 */
    reads(401, 1, "402"); /* the others are there */
    reads(102, 1, "103");
}

/* ---- each policy's algorithm ---- */

TEST(oneblock_reads_the_next_block_of_a_sequential_read)
{
    open_file("oneblock", 10);
    reads(0, 1, "1"); /* a file just opened */
    reads(1, 1, "2");
    reads(2, 3, "5");
    reads(5, 5, ""); /* the end of the file */
    reads(3, 1, "");
    check_eq(counter("sequential"), 4);
    check_eq(counter("ahead"), 3);
}

TEST(oneblock_reads_nothing_after_a_jump)
{
    open_file("oneblock", 10);
    reads(3, 1, "");
    reads(6, 1, "");
    reads(7, 1, "8"); /* goes on */
    reads(2, 1, "");
}

TEST(oneblock_asks_once_a_block_when_reads_are_small)
{
    open_file("oneblock", 10);
    reads(0, 1, "1"); /* bytes 0 to 5999 */
    reads(0, 2, "2"); /* 6000 to 11999 */
    reads(1, 1, "");  /* 12000 to 14000 */
    reads(1, 1, "");  /* to the block's end */
    reads(2, 1, "3");
}

TEST(oneblock_stops_at_the_end_of_the_file)
{
    open_file("oneblock", 10);
    reads(0, 8, "8");
    reads(8, 1, "9");
    reads(9, 1, "");
    open_file("oneblock", 10);
    reads(0, 10, "");
}

TEST(bsd44_doubles_up_to_the_cluster)
{
    open_file("bsd44", BLOCKS);
    reads(0, 1, "1");
    reads(1, 1, "2-3"); /* it has come to what was read ahead last */
    reads(2, 1, "4-7");
    reads(3, 1, "");
    reads(4, 1, "8-15");
    for (u64 block = 5; block < 8; block++)
        reads(block, 1, "");
    reads(8, 1, "16-23"); /* 64 KB are 8 blocks */
    reads(9, 7, "");
    reads(16, 1, "24-31");
}

TEST(bsd44_reads_ahead_after_a_large_request)
{
    open_file("bsd44", BLOCKS);
    reads(0, 8, "8");
    reads(8, 8, "16-17");
    reads(16, 8, "24-27");
    reads(24, 8, "32-39");
    reads(32, 8, "40-47");
}

TEST(bsd44_reads_nothing_ahead_of_random_reads)
{
    open_file("bsd44", BLOCKS);
    reads(500, 1, "");
    reads(700, 2, "");
    reads(300, 1, "");
    reads(301, 1, "302"); /* goes on: as from the beginning */
}

TEST(bsd44_begins_with_a_cluster_where_the_program_says_sequential)
{
    open_file("bsd44", BLOCKS);
    file.access.hint = HINT_SEQUENTIAL;
    reads(0, 1, "1-8");
    reads(1, 1, "9-16");
}

TEST(cluster_reads_the_rest_of_the_cluster_where_the_head_is)
{
    open_file("cluster", BLOCKS);
    reads(100, 1, "101-103"); /* 96 to 103 are a cluster */
    reads(503, 2, "505-511"); /* of the last block's */
    reads(1000, 8, "");
}

TEST(cluster_reads_the_next_one_of_a_sequential_reader)
{
    open_file("cluster", BLOCKS);
    reads(0, 1, "1-7");
    reads(1, 1, "8-15");
    for (u64 block = 2; block < 8; block++)
        reads(block, 1, "");
    reads(8, 1, "16-23");
    file.cached[9] = false;
    reads(9, 1, "10-23"); /* what is cached the kernel leaves out */
}

/* 128 KB are 16 blocks: one block is more than 1/32 of them, so the first
 * window is of twice what is asked for. */
TEST(ondemand_moves_its_window_when_the_mark_is_reached)
{
    open_file("ondemand", BLOCKS);
    reads(0, 1, "1"); /* window 0 to 1, mark 1 */
    reads(1, 1, "2-5");
    reads(2, 1, "6-13");
    reads(3, 3, "");
    reads(6, 1, "14-29");
    reads(7, 7, "");
    reads(14, 1, "30-45");
    check_eq(counter("opened"), 1);
    check_eq(counter("pushed"), 4);
}

TEST(ondemand_begins_with_four_times_a_request_that_is_small)
{
    open_file("ondemand", BLOCKS);
    set("max_kb", 1024); /* 128 blocks */
    reads(0, 3, "3-15"); /* 4 blocks, times 4 */
    reads(3, 3, "16-47");
    reads(6, 10, "");
    reads(16, 1, "48-111");
    reads(17, 31, "");
    reads(48, 1, "112-239");
}

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
        check_eq(file.wish.n, 8);
    }
    reads(132, 6, "");
    reads(138, 2, "146-154"); /* and a block more after 16 windows */
}

TEST(ondemand_reads_nothing_ahead_of_random_reads_or_cached_blocks)
{
    open_file("ondemand", BLOCKS);
    reads(500, 1, "");
    reads(700, 2, "");
    reads(300, 1, "");
    reads(301, 1, "302"); /* goes on, and is not cached */
    open_file("ondemand", BLOCKS);
    memset(file.cached, true, 10);
    reads(0, 5, "");
    reads(5, 5, "");
    reads(10, 1, "11"); /* the first that must be read */
}

TEST(stride_finds_the_distance_and_begins_the_reads_expected)
{
    open_file("stride", BLOCKS);
    reads(10, 2, "");
    reads(30, 2, "");      /* 20, once */
    reads(50, 2, "70-71"); /* twice */
    reads(70, 2, "90-91 110-111");
    reads(90, 2, "130-131 150-151 170-171"); /* 4 ahead, which is `depth` */
    reads(110, 2, "190-191");
}

TEST(stride_goes_backwards_and_stops_at_the_files_ends)
{
    open_file("stride", 100);
    reads(50, 1, "");
    reads(40, 1, "");
    reads(30, 1, "20");
    reads(20, 1, "10 0");
    reads(10, 1, "");
    open_file("stride", 100);
    reads(50, 5, "");
    reads(60, 5, "");
    reads(70, 5, "80-84");
    reads(80, 5, "90-94");
    reads(90, 5, "");
}

TEST(stride_keeps_two_streams_in_one_file_apart)
{
    open_file("stride", BLOCKS);
    set("depth", 1);
    reads(10, 1, "");
    reads(1000, 1, "");
    reads(20, 1, "");
    reads(1003, 1, "");
    reads(30, 1, "40");
    reads(1006, 1, "1009");
    reads(40, 1, "50");
}

TEST(stride_reads_nothing_ahead_when_distances_differ)
{
    open_file("stride", BLOCKS);
    reads(10, 1, "");
    reads(30, 1, "");
    reads(55, 1, "");
    reads(56, 1, "");
    reads(57, 1, "58"); /* twice the same at last */
}

TEST(hints_reads_ahead_only_where_the_program_says_so)
{
    open_file("hints", BLOCKS);
    reads(0, 1, "");
    reads(1, 1, "");
    file.access.hint = HINT_SEQUENTIAL;
    reads(2, 1, "3-18"); /* 128 KB are 16 blocks */
    reads(3, 7, "");
    reads(10, 1, "19-26"); /* half of it is left */
    reads(11, 1, "");
    reads(900, 1, "901-916");
}

/* Read the blocks from one to another, one by one; nothing is wished for. */
#define reads_on(block, last) check_reads_on(block, last, __LINE__)
static void check_reads_on(u64 block, u64 last, u32 line)
{
    for (; block <= last; block++)
        check_read(block, 1, "", line);
}

/* ---- AMP ---- */

TEST(amps_degree_grows_with_each_set_that_was_used)
{
    open_file("amp", BLOCKS);
    reads(0, 1, "");
    reads(1, 1, "2"); /* p 1 */
    reads_on(2, 2);
    reads(3, 1, "4-5");
    reads_on(4, 5);
    reads(6, 1, "7-9");
    reads_on(7, 9);
    reads(10, 1, "11-14");
    reads_on(11, 14);
    reads(15, 1, "16-20"); /* p 5, more than 4: from now on before a miss */
    reads_on(16, 17);
    reads(18, 1, "21-25"); /* g is 2: at the block 2 before the last */
    reads_on(19, 22);
    reads(23, 1, "26-31"); /* p 6 */
    check_eq(counter("grown"), 5);
    check_eq(counter("lost") + counter("late"), 0);
}

TEST(amps_distance_grows_when_the_reader_waits_for_a_set)
{
    open_file("amp", BLOCKS);
    reads(0, 4, "");
    reads(4, 4, "8-11");
    reads(8, 4, "");
    reads(12, 4, "16-23"); /* p 8 */
    reads(16, 4, "");
    reads(20, 4, "24-31"); /* g 2, and it reads behind the trigger */
    file.coming = 24;
    reads(24, 1, ""); /* waits: p 9, g 3 */
    check_eq(counter("late"), 1);
    reads_on(25, 27);
    reads(28, 1, "32-40");
    file.coming = 33; /* not the first of a set */
    reads_on(29, 36);
    check_eq(counter("late"), 1);
}

TEST(amp_shrinks_when_what_it_read_is_gone)
{
    open_file("amp", BLOCKS);
    reads(0, 8, "");
    reads(8, 8, "16-23"); /* p 8, g 2 */
    reads_on(16, 20);
    reads(21, 1, "24-31");
    file.cached[24] = file.cached[25] = false;
    reads_on(22, 23);
    reads(24, 1, "25-31"); /* p 7, g 1 */
    check_eq(counter("lost"), 1);
    reads_on(25, 29);
    reads(30, 1, "32-38");
}

TEST(amp_reads_nothing_ahead_of_random_reads)
{
    open_file("amp", BLOCKS);
    reads(500, 1, "");
    reads(700, 2, "");
    reads(300, 1, "");
    reads(300, 1, ""); /* nothing new */
    reads(301, 1, "302");
    reads(702, 2, "704-705"); /* another stream, with a p of its own */
}

TEST(amp_stops_at_its_limit_and_at_the_end_of_the_file)
{
    open_file("amp", 100);
    set("max_kb", 128); /* 16 blocks */
    reads(0, 20, "");
    reads(20, 20, "40-55");
    reads(40, 16, "56-71");
    reads(56, 16, "72-87");
    reads(72, 16, "88-99");
    reads(88, 12, "");
}

/* ---- Leap ---- */

TEST(leap_begins_when_most_of_the_last_eight_distances_are_equal)
{
    open_file("leap", BLOCKS);
    reads_on(0, 4);
    reads(5, 1, "6"); /* five of eight */
    reads_on(6, 6);
    reads(7, 1, "8 9"); /* one hit */
    reads_on(8, 9);
    reads(10, 1, "11 12 13 14");
    file.coming = 11; /* is a hit, too */
    reads_on(11, 14);
    reads(15, 1, "16 17 18 19 20 21 22 23");
    reads_on(16, 23);
    reads(24, 1, "25 26 27 28 29 30 31 32"); /* `most` */
    check_eq(counter("trends"), 5);
    check_eq(counter("stopped"), 5);
}

TEST(leap_finds_a_trend_among_other_distances)
{
    open_file("leap", BLOCKS);
    reads(100, 2, "");
    reads(110, 2, "");
    reads(120, 2, "");
    reads(130, 2, "");
    reads(500, 2, "");
    reads(140, 2, "");
    reads(150, 2, "");
    reads(160, 2, "170-171");
    reads(170, 2, "");
    reads(180, 2, "190-191 200-201");
}

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

TEST(leap_starts_less_and_less_when_nothing_is_used)
{
    open_file("leap", BLOCKS);
    for (u64 block = 0; block <= 24; block++)
        read_file(block, 1);
    check_eq(file.wish.times, 8);
    reads(1000, 1, "1001 1002 1003 1004");
    reads(500, 1, "501 502");
    reads(1500, 1, "1501");
    reads(300, 1, "");
    reads(1200, 1, "");
}

TEST(leap_tries_the_last_trend_if_there_is_none)
{
    open_file("leap", BLOCKS);
    file.cached[1000] = file.cached[1050] = file.cached[1100] = true;
    reads_on(0, 4);
    reads(5, 1, "6");
    reads(1000, 1, "");
    reads(1100, 1, "");
    reads(1050, 1, "");
    reads(6, 1, "");
    reads(700, 1, "701 702"); /* one hit */
    check_eq(counter("old_trends"), 1);
}

TEST(leap_goes_backwards_and_stops_at_the_files_ends)
{
    open_file("leap", 60);
    for (u64 i = 0; i < 5; i++)
        reads(55 - 5 * i, 1, "");
    reads(30, 1, "25");
    open_file("leap", 60);
    for (u64 i = 0; i < 5; i++)
        reads(50 - 10 * i, 1, "");
    reads(0, 1, "");
    open_file("leap", 60);
    for (u64 i = 0; i < 5; i++)
        reads(42 + 3 * i, 3, "");
    reads(57, 3, "");
}

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
    return file.wish.n ? "some" : "none";
}

TEST(leap_remembers_sixty_four_files_and_forgets_the_one_read_longest_ago)
{
    static struct streams files[65];
    open_file("leap", BLOCKS);
    for (u64 block = 0; block < 5; block++)
        for (u32 i = 0; i < 64; i++)
            check(strcmp(read_of(&files[i], block), "none") == 0);
    check(strcmp(read_of(&files[0], 5), "some") == 0);
    read_of(&files[64], 0); /* in the place of file 1 */
    check(strcmp(read_of(&files[1], 5), "none") == 0); /* and that of 2 */
    check(strcmp(read_of(&files[3], 5), "some") == 0);
    check(strcmp(read_of(&files[0], 6), "some") == 0);
}

/* ---- what holds for all ---- */

/* Streams of reads, sequential runs with jumps between, of one file; blocks
 * are evicted at times. read_file checks the wishes. */
static void read_at_random(u64 seed, u64 blocks)
{
    u64 block = 0;
    for (u32 i = 0; i < 2000; i++) {
        file.access.hint = random_u64(&seed) % 16 == 0;
        file.cached[random_u64(&seed) % blocks] = false;
        if (random_u64(&seed) % 16 == 0 || block >= blocks)
            block = random_u64(&seed) % blocks;
        u64 n = 1 + random_u64(&seed) % MIN(8, blocks - block);
        read_file(block, n);
        block += random_u64(&seed) % 4 ? n : 3 * n;
    }
}

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

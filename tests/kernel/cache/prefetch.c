/*
 * Prefetching by the kernel: which questions prefetch policies get, which of
 * their requests are faults, streams of open files, and the readers of each
 * disk that a drive's cache adapts to.
 *
 * - read_blocks(3, 2) is a program's read of blocks 3 and 4 of an open file of
 *   100 blocks. It returns the policy's read-ahead request: `n` blocks from
 *   `first` on, `times` times, each `step` blocks further. n 0 is no request.
 * - A stream is a reader of the open file that goes on where it stopped. The
 *   policy `told` notes each question: the read, the stream's next block, and
 *   a word of the stream that the policy counts up (told.h).
 * - told.readahead is the answer of `told`. A request of blocks that the file
 *   has not is a policy fault.
 */
#include "tests/support/native/blocks.h"
#include "kernel/cache/prefetch.h"
#include "kernel/cache/stream.h"

#define MS 1000000UL

static struct streams file;

/* Boot the cache and prefetching with these boot arguments. */
static void boot_prefetch(const char *args)
{
    boot(args);
    prefetch_init();
    forget("notes");
}

/* Read n blocks of the open file. Return the policy's read-ahead request. */
static struct readahead read_blocks(u64 block, u64 n)
{
    struct access a = {.block = block, .nblocks = n, .file_blocks = 100};
    return prefetch_readahead(disk0(), &file, &a);
}

/* ---- questions ---- */

/* Blocks 3 to 6 are one stream, whose word counts its questions; block 50
 * begins another. */
TEST(the_policy_is_asked_with_the_stream_that_the_read_belongs_to)
{
    boot_prefetch("prefetch=told");
    read_blocks(3, 2);
    read_blocks(5, 1);
    read_blocks(50, 2);
    read_blocks(6, 1);
    check_notes("ahead 3+2 of 100, next 0, word 0; "
                "ahead 5+1 of 100, next 5, word 1; "
                "ahead 50+2 of 100, next 0, word 0; "
                "ahead 6+1 of 100, next 6, word 2");
}

/* `times` is 1 unless the policy sets it. Block number i of a request is first
 * + i % n + i / n * step. */
TEST(a_request_is_passed_on_and_is_once_unless_the_policy_says)
{
    boot_prefetch("prefetch=told");
    told.readahead = (struct readahead){.first = 7, .n = 3};
    struct readahead w = read_blocks(3, 2);
    check_eq(w.first, 7);
    check_eq(w.n, 3);
    check_eq(w.times, 1);
    told.readahead =
        (struct readahead){.first = 7, .n = 3, .step = 10, .times = 4};
    w = read_blocks(5, 2);
    check_eq(w.times, 4);
    check_eq(readahead_block(&w, 0), 7);
    check_eq(readahead_block(&w, 2), 9);
    check_eq(readahead_block(&w, 3), 17);
    check_eq(readahead_block(&w, 11), 39);
}

TEST(a_policy_that_requests_nothing_reads_nothing)
{
    boot_prefetch("");
    check_eq(read_blocks(3, 2).n, 0);
}

TEST(whether_the_policy_in_use_takes_hints_is_known)
{
    boot_prefetch("prefetch=told");
    check(!prefetch_takes_hints());
    told_prefetch.prefetch.takes_hints = true;
    check(prefetch_takes_hints());
}

/* Return true. */
static bool yes(void)
{
    return true;
}

TEST(whether_the_policy_in_use_wants_single_blocks_is_known)
{
    boot_prefetch("prefetch=told");
    check(!prefetch_by_block());
    told_prefetch.prefetch.by_block = yes;
    check(prefetch_by_block());
}

static enum hint hint_seen;

/* Note the hint of a read, as a policy. */
static void see_hint(struct stream *s, const struct access *a,
                     struct readahead *w)
{
    (void)s, (void)w;
    hint_seen = a->hint;
    note("asked");
}

/* Without takes_hints the policy is asked whatever the hint is; with it, not
 * while the file's hint is HINT_RANDOM. */
TEST(a_policy_sees_the_hint_and_one_that_takes_hints_is_not_asked_at_random)
{
    boot_prefetch("prefetch=told");
    told_prefetch.prefetch.readahead = see_hint;
    file.hint = HINT_SEQUENTIAL;
    read_blocks(1, 1);
    check_eq(hint_seen, HINT_SEQUENTIAL);
    file.hint = HINT_RANDOM;
    read_blocks(2, 1);
    check_eq(hint_seen, HINT_RANDOM);
    check_notes("asked; asked");
    told_prefetch.prefetch.takes_hints = true;
    check_eq(read_blocks(3, 1).n, 0);
    check_notes("");
    file.hint = HINT_NONE;
    read_blocks(4, 1);
    check_notes("asked");
    check_eq(file.hint, HINT_NONE);
}

/* ---- requests off the file ---- */

/* Check that a request is taken as it is. */
static void check_good(u64 first, u64 n, i64 step, u64 times)
{
    told.readahead = (struct readahead){
        .first = first, .n = n, .step = step, .times = times};
    check_eq(read_blocks(3, 2).n, n);
    check_console("");
}

/* check_good expects that a request (first, n, step, times) within the file's
 * 100 blocks is accepted. */
TEST(a_request_may_be_of_all_of_the_file)
{
    boot_prefetch("prefetch=told");
    check_good(0, 100, 0, 1);
    check_good(0, 100, 0, 100);
    check_good(99, 1, 0, 1);
    check_good(0, 1, 99, 2);
    check_good(99, 1, -99, 2);
    check_good(0, 10, 10, 10);
    check_good(90, 10, -10, 10);
    check_good(0, 1, 100, 1);
    check_good(50, 1, -100, 1);
    check_good(5, 0, 999999, 999999);
}

/* Expect that this request is a fault: it is reported, nothing is read ahead,
 * and the policy `none` takes over. */
static void check_fault(u64 first, u64 n, i64 step, u64 times)
{
    boot_prefetch("prefetch=told");
    told.readahead = (struct readahead){
        .first = first, .n = n, .step = step, .times = times};
    check_eq(read_blocks(3, 2).n, 0);
    check_console("policy fault: prefetch/told: readahead asked for blocks off "
                  "the file; going on with none\n");
    check_notes("ahead 3+2 of 100, next 0, word 0; none starts");
    read_blocks(5, 2);
    check_notes("");
    check_counters("policy.", "faults 1");
}

static const struct wrong_wish {
    const char *name;
    u64 first, n;
    i64 step;
    u64 times;
} wrong_wishes[] = {
    {"a_wish_past_the_last_block_is_a_fault", 98, 3, 0, 1},
    {"a_wish_beyond_the_file_is_a_fault", 101, 1, 0, 1},
    {"a_wish_longer_than_the_file_is_a_fault", 0, 101, 0, 1},
    {"a_wish_before_the_first_block_is_a_fault", NEVER_NS, 1, 0, 1},
    {"a_wish_whose_last_part_is_past_the_last_block_is_a_fault", 0, 1, 50, 3},
    {"a_wish_whose_last_part_is_before_the_first_block_is_a_fault", 60, 1, -31,
     3},
    {"a_wish_of_more_parts_than_the_file_has_blocks_is_a_fault", 0, 1, 0, 101},
    {"a_wish_of_parts_further_apart_than_the_file_is_long_is_a_fault", 0, 1,
     101, 1},
    {"a_wish_of_parts_further_back_than_the_file_is_long_is_a_fault", 50, 1,
     -101, 1},
};

TEST_ROWS(wrong_wish, struct wrong_wish, wrong_wishes)
{
    check_fault(row->first, row->n, row->step, row->times);
}

static void never_times(struct stream *s, const struct access *a,
                        struct readahead *w)
{
    (void)s, (void)a;
    *w = (struct readahead){.first = 1, .n = 1};
}

TEST(a_wish_for_no_times_is_a_fault)
{
    boot_prefetch("prefetch=told");
    told_prefetch.prefetch.readahead = never_times;
    check_eq(read_blocks(3, 2).n, 0);
    check_counters("policy.", "faults 1");
}

/* The file has 100 blocks. To ask for blocks 99 and 100 is a fault, to ask for
 * 99 is right. */
TEST(the_kernel_can_prefetch_nothing_instead_and_leave_a_faulty_policy_in_use)
{
    boot_prefetch("prefetch=told faults=answer");
    told.readahead = (struct readahead){.first = 99, .n = 2, .times = 1};
    check_eq(read_blocks(3, 2).n, 0);
    check_console("policy fault: prefetch/told: readahead asked for blocks off "
                  "the file; the kernel answers instead\n");
    told.readahead = (struct readahead){.first = 99, .n = 1, .times = 1};
    check_eq(read_blocks(5, 2).n, 1);
    check(policy_in_use[POLICY_PREFETCH] == &told_prefetch);
    check_counters("policy.", "faults 1");
}

static void read_wrongly(void)
{
    told.wrong = "a mistake";
    read_blocks(3, 2);
}

TEST(a_prefetch_policy_is_checked_after_each_answer)
{
    boot_prefetch("prefetch=told check=1");
    check_panics(read_wrongly, "policy check: prefetch/told: a mistake");
}

/* ---- swaps ---- */

/* After a swap to none and back the stream's next block and the policy's word
 * are 0. The file's hint stays. */
TEST(streams_begin_anew_when_a_policy_is_put_to_use_but_not_the_hint)
{
    boot_prefetch("prefetch=told");
    file.hint = HINT_SEQUENTIAL;
    read_blocks(3, 2);
    read_blocks(5, 2);
    control("use prefetch none");
    control("use prefetch told");
    read_blocks(7, 2);
    check_notes("ahead 3+2 of 100, next 0, word 0; "
                "ahead 5+2 of 100, next 5, word 1; none starts; none stops; "
                "ahead 7+2 of 100, next 0, word 0");
    check_eq(file.hint, HINT_SEQUENTIAL);
    read_blocks(9, 1);
    check_notes("ahead 9+1 of 100, next 9, word 1");
}

/* The fault ended the first stream, so the policy finds an empty one when it is
 * used again. */
TEST(streams_begin_anew_after_a_fault)
{
    boot_prefetch("prefetch=told");
    told.readahead = (struct readahead){.first = 200, .n = 1};
    read_blocks(3, 2);
    told.readahead = (struct readahead){0};
    control("use prefetch told");
    forget("notes");
    read_blocks(5, 2);
    check_notes("ahead 5+2 of 100, next 0, word 0");
}

/* ---- streams ---- */

/* Eight streams begin at 1, 11 to 71, and each goes on. A ninth takes the place
 * of the one that was used longest ago. */
TEST(eight_streams_of_a_file_are_told_apart_and_the_oldest_gives_way)
{
    boot_prefetch("prefetch=told");
    for (u64 i = 0; i < 8; i++)
        read_blocks(10 * i + 1, 1);
    for (u64 i = 0; i < 8; i++)
        read_blocks(10 * i + 2, 1);
    forget("notes");
    read_blocks(2, 1);  /* the last block again: the first stream goes on */
    read_blocks(95, 1); /* takes the place of the stream at 11 */
    read_blocks(13, 1);
    read_blocks(3, 1);
    check_notes("ahead 2+1 of 100, next 3, word 2; "
                "ahead 95+1 of 100, next 0, word 0; "
                "ahead 13+1 of 100, next 0, word 0; "
                "ahead 3+1 of 100, next 3, word 3");
}

static u64 reach;

/* Return whether a read is within `reach` blocks of a stream's next block. */
static bool near(const struct stream *s, const struct access *a)
{
    return a->block <= s->next_block + reach &&
           a->block + reach >= s->next_block;
}

/* If a read belongs to several streams, it goes to the stream read last. */
TEST(a_policy_may_say_which_reads_belong_together)
{
    boot_prefetch("prefetch=told");
    told_prefetch.prefetch.follows = near;
    reach = 5;
    read_blocks(10, 1);
    read_blocks(20, 1);
    read_blocks(30, 1);
    forget("notes");
    reach = 12;
    read_blocks(20, 1); /* the latest is asked first: 31 */
    check_notes("ahead 20+1 of 100, next 31, word 1");
    read_blocks(60, 1);
    reach = 40;
    file.latest = 4; /* as if another had been read last: none used yet */
    read_blocks(25, 1);
    check_notes("ahead 60+1 of 100, next 0, word 0; "
                "ahead 25+1 of 100, next 61, word 1");
}

/* The second read of block 0 goes on with no stream: it begins a new one, with
 * next block 0 and word 0. */
TEST(a_stream_that_is_new_belongs_to_no_read_yet)
{
    boot_prefetch("prefetch=told");
    read_blocks(0, 1);
    read_blocks(1, 1);
    read_blocks(0, 1);
    check_notes("ahead 0+1 of 100, next 0, word 0; "
                "ahead 1+1 of 100, next 1, word 1; "
                "ahead 0+1 of 100, next 0, word 0");
}

/* ---- readers of a disk ---- */

static struct streams files[20];

/* Read the next block of file i. */
static void read_on(u32 i)
{
    struct stream *s = &files[i].stream[files[i].latest];
    struct access a = {
        .block = s->next_block, .nblocks = 1, .file_blocks = 100};
    prefetch_readahead(disk0(), &files[i], &a);
}

/* Return into how many segments the drive's cache is divided. */
static u32 segments(void)
{
    return disk0()->drive.cache.segments;
}

/* Boot with a drive whose cache adapts, and begin to read 20 files. */
static void boot_adaptive(void)
{
    boot_prefetch("drive=cheetah4lp drive_segments=adaptive");
    for (u32 i = 0; i < 20; i++)
        read_on(i); /* begins */
    check_eq(segments(), 3);
}

/* Five streams divide the drive's cache into five segments; a sixth within the
 * second makes six. */
TEST(a_drive_has_as_many_segments_as_streams_went_on_in_the_last_second)
{
    boot_adaptive();
    for (u32 i = 0; i < 5; i++)
        read_on(i);
    check_eq(segments(), 5);
    read_on(2);
    check_eq(segments(), 5);
    clock_now_ns += 999999999;
    read_on(5);
    check_eq(segments(), 6);
    check_counters("disk.", "mode_selects 3");
}

/* Five files are read on, and a second later another one. Only the last stream
 * counts. */
TEST(a_stream_counts_for_a_second)
{
    boot_adaptive();
    for (u32 i = 0; i < 5; i++)
        read_on(i);
    clock_now_ns += 1000000000;
    read_on(5);
    check_eq(segments(), 1);
}

/* Files 0 to 3 are read again each half second, file 4 only once. Then file 0
 * is closed, on its disk; file 1 is not, because the disk is another one. */
TEST(a_file_that_is_closed_does_not_count)
{
    boot_adaptive();
    for (u32 i = 0; i < 5; i++)
        read_on(i);
    for (u32 round = 0; round < 2; round++) {
        clock_now_ns += round ? 500 * MS : 600 * MS;
        for (u32 i = 0; i < 4; i++)
            read_on(i);
        check_eq(segments(), 5);
    }
    clock_now_ns += 500 * MS;
    readers_end(disk0(), &files[0]);
    readers_end(disk_get(1), &files[1]);
    read_on(1);
    check_eq(segments(), 3);
}

/* Sixteen streams are all that are counted. Ten files are closed, so that a new
 * stream has a row. A second after their last reads the others no longer count,
 * and one segment is left. */
TEST(closing_a_file_frees_the_row_of_each_of_its_streams)
{
    boot_adaptive();
    for (u32 i = 0; i < 16; i++)
        read_on(i);
    check_eq(segments(), 16);
    clock_now_ns += 999 * MS;
    for (u32 i = 0; i < 10; i++)
        readers_end(disk0(), &files[i]);
    read_on(16);
    check_eq(segments(), 16);
    clock_now_ns += 2 * MS;
    read_on(16);
    check_eq(segments(), 1);
}

/* Streams of files 0 to 15 go on at 1 to 16 ms, and file 16's takes the place
 * of file 0's. */
TEST(the_oldest_reader_gives_way_to_a_seventeenth)
{
    boot_adaptive();
    for (u32 i = 0; i < 16; i++) {
        clock_now_ns += MS;
        read_on(i);
    }
    clock_now_ns += MS;
    read_on(16);              /* in place of file 0 */
    clock_now_ns += 994 * MS; /* files 11 to 16 are left, from 12 ms on */
    read_on(0);
    check_eq(segments(), 16);
    clock_now_ns += 6 * MS;
    read_on(0);
    check_eq(segments(), 1);
}

/* Six files are read at a block that their streams did not expect. The cache is
 * divided as before. */
TEST(a_jump_is_no_sequential_stream)
{
    boot_adaptive();
    for (u32 i = 0; i < 6; i++) {
        struct access a = {.block = 50, .nblocks = 1, .file_blocks = 100};
        prefetch_readahead(disk0(), &files[i], &a);
    }
    check_eq(segments(), 3);
    check_counters("disk.", "");
}

/* Five files were read on. A second later a jump does not make it count them
 * anew. */
TEST(a_jump_leaves_the_cache_as_it_was_divided)
{
    boot_adaptive();
    for (u32 i = 0; i < 5; i++)
        read_on(i);
    clock_now_ns += 1000000000;
    struct access a = {.block = 50, .nblocks = 1, .file_blocks = 100};
    prefetch_readahead(disk0(), &files[1], &a);
    check_eq(segments(), 5);
}

/* Return true: each read belongs to the stream. */
static bool always(const struct stream *s, const struct access *a)
{
    (void)s, (void)a;
    return true;
}

/* The policy says of every read that it belongs to the stream. A jump from
 * block 1 to 60 counts as no sequential stream all the same. */
TEST(a_stream_that_a_policy_sees_elsewhere_is_not_sequential)
{
    boot_prefetch("prefetch=told drive=cheetah4lp drive_segments=adaptive");
    told_prefetch.prefetch.follows = always;
    told.quiet = true;
    for (u32 i = 0; i < 6; i++) {
        struct access a = {.block = 1, .nblocks = 1, .file_blocks = 100};
        prefetch_readahead(disk0(), &files[i], &a);
        a.block = 60;
        prefetch_readahead(disk0(), &files[i], &a);
    }
    check_eq(segments(), 3);
}

TEST(readers_are_counted_for_drives_that_adapt_alone)
{
    boot_prefetch("drive=cheetah4lp");
    for (u32 round = 0; round < 2; round++)
        for (u32 i = 0; i < 6; i++)
            read_on(i);
    check_eq(segments(), 3);
}

/* Four streams of disk 0 divide the cache of its drive only. */
TEST(each_disk_has_readers_of_its_own)
{
    boot_adaptive();
    for (u32 i = 0; i < 4; i++)
        read_on(i);
    check_eq(segments(), 4);
    struct access a = {.nblocks = 1, .file_blocks = 100};
    for (u32 round = 0; round < 2; round++) {
        a.block = round;
        prefetch_readahead(disk_get(1), &files[10], &a);
    }
    check_eq(disk_get(1)->drive.cache.segments, 3);
}

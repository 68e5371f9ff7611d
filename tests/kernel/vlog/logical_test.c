/*
 * The logical disk: what it finds again after a power cut at any sector's
 * write, compared with a model that knows what was acknowledged.
 *
 * - Each block may be in any place (slot) of the disk. The map says where; it
 *   is written in pieces, each a sector, which point to others: a tree, whose
 *   root is the newest piece. The tail, if there is one, says where the root
 *   is; without it the disk is scanned. The label is the first sector.
 * - A write is a block's data and then a piece of the map, which acknowledges
 *   it. cut() checks what a power cut now would leave.
 *
 * link: tests/support/native/main.c kernel/vlog/log.c kernel/vlog/map.c
 */
#include "tests/support/native/test.h"
#include "kernel/vlog/logical.h"

#define MOST_PLACES 4400
#define SECTORS     (MOST_PLACES * SLOT_SECTORS)
#define SECTOR      512

/* ---- a disk ---- */

static u8 platters[SECTORS][SECTOR];
static u64 reads;
static u64 unreadable; /* a sector that is; 0: none */

/* Read a sector, and count it. One sector may be unreadable. */
static int read_sector(void *arg, u64 sector, void *to)
{
    (void)arg;
    reads++;
    check(sector < SECTORS);
    memcpy(to, platters[sector], SECTOR);
    return sector && sector == unreadable ? -5 : 0;
}

/* ---- the model ---- */

/* The version of each block's data, 0 if it was never written. A write under
 * way may be found or not. */
static u64 acknowledged[MOST_PLACES], under_way[MOST_PLACES];

static struct logical log_, found;
static u64 memory[1 << 16], memory_found[1 << 16];
static u64 seed, versions;
static u32 cut_each = 1; /* at each so many sectors */
static u32 nsummaries;   /* of the next log */

/* Return a random number from 0 to n - 1. */
static u64 below(u64 n)
{
    return random_u64(&seed) % n;
}

/* Complete a sector, as the log does, and write it. */
static void forge(struct log_sector *s, u32 sector)
{
    const u64 *word = (const u64 *)s;
    s->magic = 0x676f4c6c61757472;
    s->id = log_.id;
    s->sum = s->magic;
    for (u32 i = 2; i < SECTOR / 8; i++)
        s->sum = (s->sum ^ word[i]) * 0x9e3779b97f4a7c15UL;
    memcpy(platters[sector], s, SECTOR);
}

/* Make a disk with a new log, on which nothing was written. */
static void make_log(u32 nslots, u64 id)
{
    memset(platters, 0xa5, sizeof platters);
    memset(platters[TAIL_SECTOR], 0, SECTOR);
    memset(acknowledged, 0, sizeof acknowledged);
    memset(under_way, 0, sizeof under_way);
    log_ = (struct logical){.id = id};
    logical_size(&log_, nslots, nsummaries);
    forge(
        &(struct log_sector){.piece = LOG_LABEL,
                             .entry = {log_.nblocks, log_.nslots, nsummaries}},
        LABEL_SECTOR);
    check(logical_bytes(&log_) <= sizeof memory);
    logical_start(&log_, memory);
}

/* Find the map again, as after a power cut now. */
static const char *recover(struct logical *l, u64 *room, bool *scanned)
{
    *l = (struct logical){0};
    const char *why =
        logical_open(l, (struct log_sector *)platters[LABEL_SECTOR]);
    check(!why);
    logical_start(l, room);
    reads = 0;
    return logical_recover(l, read_sector, NULL, scanned);
}

/* The version that a block has, whose sectors all must have it. */
static u64 version_at(u32 slot, u32 block)
{
    u64 first[2], other[2];
    memcpy(first, platters[slot * SLOT_SECTORS], sizeof first);
    for (u32 i = 1; i < SLOT_SECTORS; i++) {
        memcpy(other, platters[slot * SLOT_SECTORS + i], sizeof other);
        check_eq(other[0], first[0]);
        check_eq(other[1], first[1]);
    }
    check_eq(first[0], block);
    return first[1];
}

/* Check each block's version: that which was acknowledged, or one under way. */
static void compare(const struct logical *l)
{
    for (u32 b = 0; b < l->nblocks; b++) {
        u32 slot = l->map[b];
        u64 version = slot ? version_at(slot, b) : 0;
        if (!under_way[b] || version != under_way[b])
            check_eq(version, acknowledged[b]);
    }
}

/* Return how many pieces of the map have been written. */
static u64 pieces_written(const struct logical *l)
{
    u64 n = 0;
    for (u32 i = 0; i < l->npieces; i++)
        n += l->pieces[i].seq != 0;
    return n;
}

static u64 cuts;

/* The power is cut now, with no tail on the disk. */
static void cut(void)
{
    bool scanned;
    const char *why = recover(&found, memory_found, &scanned);
    if (why)
        printf("after %lu cuts: %s\n", cuts, why);
    check(!why);
    check(scanned);
    compare(&found);
    cuts++;
}

/* Write a sector. After every cut_each-th one, check what a power cut would
 * leave. */
static void write_sector(u64 sector, const void *data)
{
    static u64 n;
    memcpy(platters[sector], data, SECTOR);
    if (++n % cut_each == 0)
        cut();
}

/* ---- writing, as the disk layer does ---- */

/* A free place: any, the first, or one that has just become obsolete or is
 * about to: a mistake about those is the worst. */
enum choice { ANY, FIRST, LAST, CHOICES };
static enum choice choice;
static u32 obsolete;

/* Return a free place for the next write. */
static u32 choose(void)
{
    u32 from = choice == FIRST ? 1 : 1 + below(log_.nslots - 1);
    if (choice == LAST && logical_free(&log_, obsolete))
        return obsolete;
    u32 slot = logical_free_from(&log_, from, log_.nslots);
    return slot ? slot : logical_free_from(&log_, 1, log_.nslots);
}

/* A write of a block, from its data to its entry in the map. */
struct writing {
    u32 block, slot;
};

/* Take a place for a block, and write its data there. */
static struct writing begin_write(u32 block)
{
    u64 data[SECTOR / 8] = {block, ++versions};
    u32 slot = choose();
    check(logical_take(&log_, slot));
    under_way[block] = versions;
    for (u32 s = 0; s < SLOT_SECTORS; s++)
        write_sector((u64)slot * SLOT_SECTORS + s, data);
    return (struct writing){block, slot};
}

static u64 before_due; /* pieces that had to be written before another one */

/* Another write, which begins while a sector of the map is under way. */
static struct writing other;

/* Write the map's sector that is due. At times another write begins
 * meanwhile. */
static void write_piece(void)
{
    u32 slot = choose();
    check(logical_seal(&log_, slot));
    u32 block = below(log_.nblocks);
    if (!other.slot && !under_way[block] && log_.nfree > 2 && below(4) == 0)
        other = begin_write(block);
    write_sector((u64)slot * SLOT_SECTORS, &log_.sector);
    logical_commit(&log_);
}

/* These blocks lie in one piece of the map, and their data are written:
 * acknowledge the blocks together. */
static void finish_writes(const struct writing *w, u32 n)
{
    u32 piece = logical_piece(w->block), due;
    while ((due = logical_due(&log_, piece)) != piece) {
        logical_begin(&log_, due);
        write_piece();
        before_due++;
    }
    logical_begin(&log_, piece);
    for (u32 i = 0; i < n; i++)
        logical_enter(&log_, w[i].block, w[i].slot);
    obsolete = log_.map[w->block];
    write_piece();
    for (u32 i = 0; i < n; i++) {
        acknowledged[w[i].block] = under_way[w[i].block];
        under_way[w[i].block] = 0;
    }
}

/* Write blocks at once, and then those that began meanwhile. */
static void write_blocks(const u32 *block, u32 n)
{
    struct writing w[8];
    for (u32 i = 0; i < n; i++)
        w[i] = begin_write(block[i]);
    finish_writes(w, n);
    while (other.slot) {
        struct writing next = other;
        other.slot = 0;
        finish_writes(&next, 1);
    }
}

static void write_block(u32 block)
{
    write_blocks(&block, 1);
}

/* The log knows the same as what is found on the disk. */
static void same_as_found(void)
{
    check_eq(found.nfree, log_.nfree);
    check_eq(found.root, log_.root);
    check(!memcmp(found.map, log_.map, log_.nblocks * sizeof *log_.map));
    check(!memcmp(found.owner, log_.owner, log_.nslots * sizeof *log_.owner));
    for (u32 i = 0; i < log_.npieces; i++) {
        check_eq(found.pieces[i].seq, log_.pieces[i].seq);
        check_eq(found.pieces[i].slot, log_.pieces[i].slot);
    }
}

/* Power-off with a tail: each sector of the map that counts is read once. Then
 * the machine starts from what was found. */
static void restart(bool with_tail)
{
    bool scanned;
    if (with_tail)
        logical_tail(&log_, (struct log_sector *)platters[TAIL_SECTOR]);
    check(!recover(&found, memory_found, &scanned));
    check_eq(scanned, !with_tail);
    u64 most = with_tail ? 1 + pieces_written(&log_)
                         : log_.nslots + pieces_written(&log_);
    check_eq(reads, most);
    compare(&found);
    same_as_found();
    memset(platters[TAIL_SECTOR], 0, SECTOR);
    check(!recover(&log_, memory, &scanned));
}

/* ---- runs, of which a summary tells ---- */

/* The first of n free places that follow one another, or 0. */
static u32 free_run(u32 n)
{
    u32 from = 1 + below(log_.nslots - 1);
    for (u32 i = 0; i < log_.nslots; i++) {
        u32 first = 1 + (from + i) % (log_.nslots - 1), k = 0;
        while (k < n && logical_free(&log_, first + k))
            k++;
        if (k == n)
            return first;
    }
    return 0;
}

static u64 summaries, owed_pieces;

/* Write n blocks to a run of places, and a summary. */
static void write_run(u32 n)
{
    u32 block[LOG_RUN], first = free_run(n), piece;
    if (!first || log_.nfree < n + 2)
        return;
    for (u32 i = 0; i < n; i++) {
        u64 data[SECTOR / 8] = {0, ++versions};
        do
            block[i] = below(log_.nblocks);
        while (under_way[block[i]]);
        data[0] = block[i];
        under_way[block[i]] = versions;
        check(logical_take(&log_, first + i));
        for (u32 s = 0; s < SLOT_SECTORS; s++)
            write_sector((u64)(first + i) * SLOT_SECTORS + s, data);
    }
    while ((piece = logical_summary(&log_)) < log_.nmap ||
           logical_due(&log_, piece) != piece) {
        owed_pieces += piece < log_.nmap;
        logical_begin(&log_, logical_due(&log_, piece));
        write_piece();
    }
    logical_summarize(&log_, piece, first);
    for (u32 i = 0; i < n; i++)
        logical_enter(&log_, block[i], first + i);
    write_piece();
    summaries++;
    for (u32 i = 0; i < n; i++) {
        acknowledged[block[i]] = under_way[block[i]];
        under_way[block[i]] = 0;
    }
    while (other.slot) {
        struct writing next = other;
        other.slot = 0;
        finish_writes(&next, 1);
    }
}

/* Write a piece or a summary again, as it is, somewhere else. */
static void rewrite(u32 piece)
{
    if (!log_.pieces[piece].seq)
        return;
    logical_begin(&log_, logical_due(&log_, piece));
    write_piece();
    while (other.slot) {
        struct writing next = other;
        other.slot = 0;
        finish_writes(&next, 1);
    }
}

/* ---- tests ---- */

/* Write blocks at random, mostly those below `hot`, with each way to choose a
 * place; power cuts are among it. */
static void work(u32 nslots, u32 writes, u64 hot)
{
    for (choice = ANY; choice < CHOICES; choice++) {
        seed = nslots * 7 + choice;
        make_log(nslots, seed);
        for (u32 i = 0; i < writes; i++) {
            u32 block = below(below(3) ? hot : log_.nblocks);
            write_block(block);
            if (below(40) == 0)
                restart(below(2));
        }
    }
}

TEST(no_acknowledged_write_is_lost_whatever_sector_is_the_last_one_written)
{
    work(400, 250, 100);
    work(30, 300, 10);
    check(cuts > 10000);
}

/* Blocks are written alone and in runs, pieces of the map are written again,
 * and the power is cut at each sector, in a log with 5 summaries. */
TEST(no_write_is_lost_of_which_a_summary_tells)
{
    u64 before = cuts;
    nsummaries = 5;
    for (choice = ANY; choice < CHOICES; choice++) {
        make_log(600, 30 + choice);
        for (u32 i = 0; i < 200; i++) {
            switch (below(4)) {
            case 0:
                write_block(below(log_.nblocks));
                break;
            case 1:
                rewrite(below(log_.npieces));
                break;
            default:
                write_run(2 + below(12));
            }
            if (below(30) == 0)
                restart(below(2));
        }
        restart(false);
    }
    nsummaries = 0;
    check(cuts - before > 10000);
    check(summaries > 200);
    check(owed_pieces > 50);
}

/* Write each block of a disk of 120 places, then 100 random ones: one place
 * stays free for the next write. */
TEST(a_full_disk_can_be_written_for_ever)
{
    for (choice = ANY; choice < CHOICES; choice++) {
        make_log(120, 5);
        for (u32 i = 0; i < log_.nblocks; i++)
            write_block(i);
        check_eq(log_.nfree, 120 - 1 - log_.nblocks - log_.npieces);
        for (u32 i = 0; i < 100; i++)
            write_block(below(log_.nblocks));
        restart(true);
    }
}

/* Write one to four neighbours at a time, as many as one piece of the map tells
 * of. */
TEST(blocks_of_one_piece_are_acknowledged_together)
{
    choice = ANY;
    make_log(300, 6);
    for (u32 i = 0; i < 60; i++) {
        u32 first = below(log_.nblocks - 4), n = 1 + below(4);
        u32 block[4] = {first, first + 1, first + 2, first + 3};
        while (logical_piece(block[n - 1]) != logical_piece(first))
            n--;
        write_blocks(block, n);
    }
    restart(true);
}

/* Return the piece with the most children, except the root: it is the hardest
 * one to write. */
static u32 fullest(void)
{
    u32 best = below(log_.npieces);
    for (u32 p = 0; p < log_.npieces; p++)
        if (p != log_.root &&
            log_.pieces[p].nchildren > log_.pieces[best].nchildren)
            best = p;
    return best;
}

/* Write blocks of random pieces, half of them of the piece with the most
 * children: that piece can only be written after other ones. */
TEST(a_piece_has_no_more_children_than_a_sector_has_pointers)
{
    choice = ANY;
    cut_each = 101;
    make_log(MOST_PLACES, 7);
    for (u32 i = 0; i < 2000; i++) {
        u32 piece = below(2) ? fullest() : below(log_.npieces);
        write_block(piece * LOG_ENTRIES);
        for (u32 p = 0; p < log_.npieces; p++)
            check(log_.pieces[p].nchildren <= LOG_POINTERS);
    }
    check(before_due > 100);
    restart(true);
    restart(false);
}

TEST(a_block_never_written_has_no_place)
{
    make_log(50, 8);
    write_block(3);
    check(log_.map[3]);
    check_eq(log_.map[2], 0);
    restart(false);
    check_eq(log_.map[2], 0);
}

/* Of 50 places, those of a block, of a piece and of the label are in use. */
TEST(a_place_in_use_or_off_the_disk_is_not_taken)
{
    make_log(50, 9);
    write_block(3);
    check(!logical_take(&log_, log_.map[3]));
    check(!logical_take(&log_, log_.pieces[0].slot));
    check(!logical_take(&log_, 0));
    check(!logical_take(&log_, 50));
    check(!logical_take(&log_, ~0U));
    logical_begin(&log_, 0);
    check(!logical_seal(&log_, log_.map[3]));
}

/* 48 of 50 places can be taken for data. The last one can only be taken for a
 * piece of the map. */
TEST(the_last_free_place_is_kept_for_the_map)
{
    make_log(50, 10);
    u32 taken = 0, slot;
    while ((slot = choose()) && logical_take(&log_, slot))
        taken++;
    check_eq(taken, 48);
    check(!logical_room(&log_));
    logical_begin(&log_, 0);
    check(logical_seal(&log_, choose()));
}

/* A write that failed may be on the disk all the same. */
TEST(a_sector_of_the_map_that_failed_does_no_harm)
{
    choice = ANY;
    make_log(60, 11);
    for (u32 i = 0; i < 3; i++) {
        write_block(i);
        u64 data[SECTOR / 8] = {i, ++versions};
        u32 slot = choose(), at;
        check(logical_take(&log_, slot));
        for (u32 s = 0; s < SLOT_SECTORS; s++)
            memcpy(platters[slot * SLOT_SECTORS + s], data, SECTOR);
        under_way[i] = versions;
        logical_begin(&log_, 0);
        logical_enter(&log_, i, slot);
        check(logical_seal(&log_, at = choose()));
        write_sector((u64)at * SLOT_SECTORS, &log_.sector);
    }
    u64 before = log_.nfree;
    write_block(10);
    check_eq(log_.nfree, before - 1); /* what failed stays taken */
    under_way[0] = under_way[1] = under_way[2] = 0;
    cut();
}

/* Why recovery of the log refuses; NULL: it does not. */
static const char *why_not(void)
{
    bool scanned;
    return recover(&found, memory_found, &scanned);
}

/* Damage each byte of the tail in turn. The disk is scanned, and found as it
 * was. */
TEST(a_tail_that_is_wrong_makes_recovery_scan)
{
    bool scanned;
    choice = ANY;
    make_log(200, 12);
    for (u32 i = 0; i < 40; i++)
        write_block(below(log_.nblocks));
    logical_tail(&log_, (struct log_sector *)platters[TAIL_SECTOR]);
    for (u32 i = 0; i < SECTOR; i++) {
        platters[TAIL_SECTOR][i] ^= 1 << below(8);
        check(!recover(&found, memory_found, &scanned));
        check(scanned);
        same_as_found();
        logical_tail(&log_, (struct log_sector *)platters[TAIL_SECTOR]);
    }
    check(!recover(&found, memory_found, &scanned));
    check(!scanned);
}

/* A tail that is right names a sector that is damaged: what was before that is
 * not what was acknowledged. */
TEST(a_damaged_root_is_told_if_there_is_a_tail)
{
    choice = ANY;
    make_log(200, 20);
    for (u32 i = 0; i < 5; i++)
        write_block(below(log_.nblocks));
    u64 sector = (u64)log_.pieces[log_.root].slot * SLOT_SECTORS;
    logical_tail(&log_, (struct log_sector *)platters[TAIL_SECTOR]);
    platters[sector][100] ^= 1;
    check(why_not() != NULL);
    memset(platters[TAIL_SECTOR], 0, SECTOR);
    check(why_not() == NULL);
}

/* Without a tail, a sector that cannot be read may have been the newest piece,
 * so the disk is refused. With a tail it is not. */
TEST(a_place_that_cannot_be_read_may_be_the_root)
{
    choice = ANY;
    make_log(60, 21);
    write_block(1);
    unreadable = (u64)log_.map[1] * SLOT_SECTORS;
    check(why_not() != NULL);
    logical_tail(&log_, (struct log_sector *)platters[TAIL_SECTOR]);
    check(why_not() == NULL);
    unreadable = TAIL_SECTOR;
    check(why_not() == NULL);
}

/* Damage each piece below the root, or make it unreadable: the disk is refused
 * each time. */
TEST(a_damaged_map_is_told_and_not_guessed)
{
    choice = ANY;
    make_log(300, 13);
    for (u32 i = 0; i < 60; i++)
        write_block(below(log_.nblocks));
    for (u32 p = 0; p < log_.npieces; p++) {
        if (p == log_.root)
            continue;
        u64 sector = (u64)log_.pieces[p].slot * SLOT_SECTORS;
        u32 byte = below(SECTOR);
        platters[sector][byte] ^= 4;
        check(why_not() != NULL);
        platters[sector][byte] ^= 4;
        unreadable = sector;
        check(why_not() != NULL);
        unreadable = 0;
    }
    check(why_not() == NULL);
}

/* The drive said that it had written a sector, and had not: in its place is an
 * older sector of the log. */
TEST(a_lost_write_of_the_map_is_damage)
{
    static struct log_sector last[300], before[300];
    u32 tried = 0;
    choice = ANY;
    make_log(300, 18);
    for (u32 i = 0; i < 100; i++) {
        write_block(below(log_.nblocks));
        before[log_.sector.slot] = last[log_.sector.slot];
        last[log_.sector.slot] = log_.sector;
    }
    for (u32 p = 0; p < log_.npieces; p++) {
        u32 slot = log_.pieces[p].slot;
        if (p == log_.root || !before[slot].seq)
            continue;
        memcpy(platters[slot * SLOT_SECTORS], &before[slot], SECTOR);
        check(why_not() != NULL);
        memcpy(platters[slot * SLOT_SECTORS], &last[slot], SECTOR);
        tried++;
    }
    check(tried);
    check(why_not() == NULL);
}

/* A piece is written that says that block 2 is where block 1 is. */
TEST(a_map_with_two_blocks_in_one_place_is_damaged)
{
    make_log(60, 14);
    write_block(1);
    logical_begin(&log_, 0);
    logical_enter(&log_, 2, log_.map[1]);
    u32 slot = choose();
    check(logical_seal(&log_, slot));
    memcpy(platters[slot * SLOT_SECTORS], &log_.sector, SECTOR);
    check(why_not() != NULL);
}

TEST(a_place_off_the_disk_in_the_map_is_damage)
{
    make_log(60, 15);
    logical_begin(&log_, 0);
    logical_enter(&log_, 2, 1000000);
    check(logical_seal(&log_, 7));
    memcpy(platters[7 * SLOT_SECTORS], &log_.sector, SECTOR);
    check(why_not() != NULL);
}

/* A wrong bit in any byte of the label is noticed. */
TEST(a_label_that_is_wrong_is_told)
{
    make_log(60, 16);
    struct log_sector label;
    memcpy(&label, platters[LABEL_SECTOR], SECTOR);
    for (u32 i = 0; i < SECTOR; i++) {
        ((u8 *)&label)[i] ^= 0x10;
        check(logical_open(&found, &label) != NULL);
        ((u8 *)&label)[i] ^= 0x10;
    }
    check(logical_open(&found, &label) == NULL);
}

/* A file on the disk may hold copies of sectors of the log, even of the newest:
 * they are not where they say. */
TEST(a_copy_of_a_sector_of_the_map_is_data)
{
    choice = ANY;
    make_log(80, 17);
    for (u32 i = 0; i < 40; i++)
        write_block(below(log_.nblocks));
    struct log_sector newest = log_.sector;
    for (u32 slot = 1; slot < log_.nslots; slot++)
        if (slot != log_.pieces[0].slot)
            memcpy(platters[slot * SLOT_SECTORS], &newest, SECTOR);
    check_eq(log_.npieces, 1);
    check(why_not() == NULL);
    same_as_found();
}

/* forge writes a root with a right checksum. Its pointers name a piece or a
 * place that does not exist, or one piece several times. */
TEST(pointers_that_cannot_be_are_damage)
{
    choice = ANY;
    make_log(300, 19);
    for (u32 i = 0; i < 60; i++)
        write_block(below(log_.nblocks));
    u32 slot = log_.pieces[log_.root].slot;
    const struct log_sector good = log_.sector;
    struct log_sector bad = good;
    forge(&bad, slot * SLOT_SECTORS);
    check(why_not() == NULL);
    bad.down[0].piece = 1 << 24;
    forge(&bad, slot * SLOT_SECTORS);
    check(why_not() != NULL);
    bad = good;
    bad.down[0].slot = 1 << 30;
    forge(&bad, slot * SLOT_SECTORS);
    check(why_not() != NULL);
    bad = good;
    bad.down[LOG_POINTERS - 1] = bad.down[0];
    bad.down[LOG_POINTERS - 1].seq--;
    for (u32 i = 1; i < LOG_POINTERS - 1; i++)
        bad.down[i] = bad.down[0];
    forge(&bad, slot * SLOT_SECTORS);
    check(why_not() != NULL);
}

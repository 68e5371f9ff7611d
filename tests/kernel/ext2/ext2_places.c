/*
 * Unit tests of where things go, of ext2_test: the allocator, against the rules
 * at the head of ext2/alloc.c told once more; and the block map.
 *
 * - The image has four groups of 128 blocks of 1 KiB, and a boot block before
 *   them. `spec` is the second version of the rules: which blocks are used, and
 *   which one the allocator must take for a goal. A goal is the block that the
 *   caller would like best.
 * - rig_script does commands that must succeed; rig_do does one and returns its
 *   error; rig_open returns a path's inode; rig_restore goes back to the image
 *   that rig_keep has kept.
 */
#include "tests/kernel/ext2/ext2_rig.h"
#include "kernel/ext2/internal.h"

/* ---- the rules of the allocator ---- */

static struct {
    u32 blocks, per_group, groups, own_end;
    u8 *used; /* by block */
} spec;

/* Read from the image which blocks are used. */
static void spec_begin(void)
{
    const struct ext2_super *sb = image_super(rig_image());
    spec.blocks = sb->blocks_count;
    spec.per_group = sb->blocks_per_group;
    spec.groups = (spec.blocks - 1 + spec.per_group - 1) / spec.per_group;
    spec.own_end = 3;
    free(spec.used);
    spec.used = calloc(1, spec.blocks);
    for (u32 b = 1; b < spec.blocks; b++)
        spec.used[b] = image_used(rig_image(), b);
}

/* Return the first block of a group. */
static u32 start_of(u32 g)
{
    return 1 + g * spec.per_group;
}

/* Return the end of a group. */
static u32 end_of(u32 g)
{
    return MIN(start_of(g) + spec.per_group, spec.blocks);
}

/* Return how many blocks of a group are free. */
static u32 spec_free(u32 g)
{
    u32 n = 0;
    for (u32 b = start_of(g); b < end_of(g); b++)
        n += !spec.used[b];
    return n;
}

/* Return the first of n free blocks in a group, from `from` on, that begins at
 * a multiple of n from the group's start; 0: there is none. */
static u32 first_run(u32 g, u32 from, u32 n)
{
    for (u32 b = start_of(g); b + n <= end_of(g); b += n) {
        u32 free = 0;
        while (free < n && !spec.used[b + free])
            free++;
        if (b >= from && free == n)
            return b;
    }
    return 0;
}

/* Return the block of a group that the rules choose; 0: none is free. */
static u32 spec_in_group(u32 g, u32 goal)
{
    u32 start = start_of(g), found = 0;
    if (goal > start && goal < end_of(g) && !spec.used[goal])
        return goal;
    for (u32 n = 8; n && !found; n = n == 8 ? 1 : 0) {
        found = first_run(g, MAX(goal, start), n);
        if (!found)
            found = first_run(g, start, n);
    }
    return found;
}

/* Return the block that the rules choose for a goal, for an inode of a group;
 * 0: none is free. */
static u32 spec_alloc(u32 goal, u32 inodes_group)
{
    u32 g = inodes_group;
    if (goal >= spec.own_end && goal < spec.blocks)
        g = (goal - 1) / spec.per_group;
    else
        goal = 0;
    for (u32 i = 0; i < spec.groups; i++, g = (g + 1) % spec.groups, goal = 0) {
        u32 found = spec_in_group(g, goal);
        if (found)
            return found;
    }
    return 0;
}

/* ---- blocks ---- */

/* Make a directory and a file in each group. */
static void files_in_groups(u32 groups)
{
    rig_script("mount /m\n");
    for (u32 g = 0; g < groups; g++) {
        rig_do("mkdir /m/%u", g);
        check_eq(rig_do("create /m/%u/f", g), 0);
    }
    check_eq(rig_do("umount /m"), 0);
}

/* Blocks are allocated at random goals and freed again, first more often
 * allocated than freed, then the opposite. */
TEST(blocks_go_where_the_rules_send_them)
{
    u64 seed = 1;
    u32 first = 0;
    rig_make(NULL);
    files_in_groups(4);
    spec_begin();
    rig_script("mount /m\n");
    for (u32 file = 0; file < 4; file++) {
        char path[16];
        sprintf(path, "/m/%u/f", file);
        struct inode *ip = rig_open(path);
        u32 group = (ip->ino - 1) / 32;
        for (u32 i = 0; i < 900; i++) {
            u32 goal = random_u64(&seed) % 4 ? random_u64(&seed) % 530 : 0;
            u32 want = spec_alloc(goal, group), got = 0;
            bool take = random_u64(&seed) % 100 < (i < 500 ? 75 : 45);
            if (take) {
                check_eq(block_alloc(ip, goal, &got), want ? 0 : -ENOSPC);
                if (!want)
                    continue;
                check_eq(got, want);
                spec.used[got] = 2;
            } else if (goal < spec.blocks && spec.used[goal] == 2) {
                u32 n = 1;
                while (goal + n < end_of((goal - 1) / spec.per_group) &&
                       spec.used[goal + n] == 2 && n < 5)
                    n++;
                check_eq(blocks_free(ip->fs, goal, n), 0);
                memset(spec.used + goal, 0, n);
            }
            first += take;
        }
        rig_close(ip);
    }
    struct inode *ip = rig_open("/m");
    for (u32 b = 0; b < spec.blocks; b++)
        if (spec.used[b] == 2)
            check_eq(blocks_free(ip->fs, b, 1), 0);
    rig_close(ip);
    rig_end();
    check(first > 1000);
}

/* Blocks are taken at random. From each block the goal must be the start of
 * the next group that has at least a quarter of the free blocks, for there are
 * four groups. */
TEST(a_goal_elsewhere_is_in_the_next_group_with_its_share)
{
    u64 seed = 3;
    rig_make(NULL);
    for (u32 round = 0; round < 40; round++) {
        rig_make(NULL);
        for (u32 i = 0; i < 12; i++) {
            u32 b = 20 + random_u64(&seed) % 480, n = random_u64(&seed) % 40;
            u32 g = (b - 1) / 128;
            n = MIN(n, MIN(513, 1 + (g + 1) * 128) - b - (b + n > 512));
            bool own = (b - 1) % 128 < 12;
            if (!own)
                image_use(rig_image(), b, n, true);
        }
        if (round == 0) /* equal shares: the last is one block short */
            rig_make(NULL);
        spec_begin();
        rig_script("mount /m\n");
        struct inode *ip = rig_open("/m");
        for (u32 b = 3; b < 512; b += 31) {
            u32 g = (b - 1) / 128, total = 0;
            for (u32 i = 0; i < 4; i++)
                total += spec_free(i);
            for (u32 i = 0; i < 4; i++) {
                g = (g + 1) % 4;
                if (spec_free(g) >= total / 4)
                    break;
            }
            check_eq(goal_elsewhere(ip->fs, b), start_of(g));
        }
        rig_close(ip);
        rig_script("umount /m\n");
    }
}

/* Each run of up to 139 blocks: it may be a file's if it lies in one group and
 * has no bitmap, table or superblock in it. */
TEST(blocks_of_the_system_are_no_files)
{
    rig_make(NULL);
    spec_begin();
    struct ext2_group *g1 = image_group(rig_image(), 1); /* all are apart */
    g1->block_bitmap = 150;
    g1->inode_bitmap = 160;
    g1->inode_table = 170;
    rig_script("mount /m\n");
    struct inode *ip = rig_open("/m");
    for (u32 first = 0; first < 600; first++) {
        u32 g = first ? (first - 1) / 128 : 0;
        for (u32 n = 1; n < 140; n++) {
            bool ok = first && first + n <= end_of(g);
            for (u32 b = first; ok && b < first + n; b++) {
                const struct ext2_group *gd = image_group(rig_image(), g);
                ok = b >= 3 && b < 512 && b != gd->block_bitmap &&
                     b != gd->inode_bitmap &&
                     (b < gd->inode_table || b >= gd->inode_table + 4);
            }
            if (g > 3)
                ok = false;
            if (blocks_ok(ip->fs, first, n) != ok) {
                printf("%u blocks from %u: not %u\n", n, first, ok);
                exit(1);
            }
        }
    }
    check_eq(blocks_ok(ip->fs, 100, ~0U), false);
    check_eq(blocks_ok(ip->fs, ~0U, 1), false);
    rig_close(ip);
    rig_script("umount /m\n");
}

/* In turn, a bitmap says that all or nothing is used, against its count, or a
 * count says that all is free. */
TEST(a_bitmap_that_contradicts_its_count_gives_nothing_out)
{
    u32 got;
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 3000 1\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < 6; i++) {
        rig_restore();
        struct ext2_group *g = image_group(rig_image(), 0);
        if (i == 0)
            memset(image_block(rig_image(), g->block_bitmap), 0xff, 16);
        if (i == 1)
            memset(image_block(rig_image(), g->block_bitmap), 0, 16);
        if (i == 2 || i == 3)
            g->free_blocks_count = 128;
        if (i == 4)
            memset(image_block(rig_image(), g->inode_bitmap), 0xff, 4);
        if (i == 5)
            memset(image_block(rig_image(), g->inode_bitmap), 0, 4);
        u32 block = image_map(rig_image(), image_ino(rig_image(), "/f"), 0);
        rig_script("mount /m\n");
        struct inode *ip = rig_open("/m/f");
        shim_printed();
        if (i < 2) {
            check_eq(block_alloc(ip, i ? 4 : 0, &got), -EIO);
            check(strstr(shim_printed(), "block bitmap of group 0 is wrong"));
        } else if (i == 2) {
            check_eq(blocks_free(ip->fs, block, 1), -EIO);
            check(strstr(shim_printed(), "is freed but not in use"));
        } else if (i == 3) {
            check_eq(block_alloc(ip, 0, &got), 0);
            check_eq(blocks_free(ip->fs, got, 1), 0);
            check_eq(blocks_free(ip->fs, block, 2), -EIO);
        } else {
            check_eq(ino_alloc(ip, S_IFREG, &got), -EIO);
            check(strstr(shim_printed(), "inode bitmap of group 0 is wrong"));
        }
        check_eq(fs_writable(ip->fs), -EROFS);
        rig_close(ip);
        rig_script("umount /m\n");
        check_eq(image_super(rig_image())->state, EXT2_ERROR_FS);
    }
}

/* What is freed, on a disk with a file of three blocks. */
enum freed {
    THE_FILES_INODE,
    THE_FILES_BLOCKS,
    THE_FILES_INODE_AS_A_DIRECTORYS,
    /* What is freed from here on is not in use, or is no file's. */
    A_BLOCK_BEHIND_THE_FILE,
    A_BLOCK_OF_THE_FILE_AND_ONE_BEHIND,
    A_BLOCK_OF_THE_SYSTEM,
    A_FREE_INODE_OF_THE_SAME_GROUP,
    AN_INODE_OF_A_FREE_GROUP,
    AN_INODE_OF_A_FREE_GROUP_AS_A_DIRECTORYS,
    A_BLOCK_BEHIND_THE_DISK,
    FREED
};

/* Free something; the row of a test says what. */
static int free_it(enum freed what, const struct inode *ip)
{
    u32 first = ip->block[0];
    switch (what) {
    case THE_FILES_INODE:
        return ino_free(ip->fs, ip->ino, false);
    case THE_FILES_BLOCKS:
        return blocks_free(ip->fs, first, 3);
    case THE_FILES_INODE_AS_A_DIRECTORYS:
        return ino_free(ip->fs, ip->ino, true);
    case A_BLOCK_BEHIND_THE_FILE:
        return blocks_free(ip->fs, first + 3, 1);
    case A_BLOCK_OF_THE_FILE_AND_ONE_BEHIND:
        return blocks_free(ip->fs, first + 2, 2);
    case A_BLOCK_OF_THE_SYSTEM:
        return blocks_free(ip->fs, 2, 1);
    case A_FREE_INODE_OF_THE_SAME_GROUP:
        return ino_free(ip->fs, ip->ino + 1, false);
    case AN_INODE_OF_A_FREE_GROUP:
        return ino_free(ip->fs, 40, false);
    case AN_INODE_OF_A_FREE_GROUP_AS_A_DIRECTORYS:
        return ino_free(ip->fs, 99, true);
    default:
        return blocks_free(ip->fs, 600, 1);
    }
}

/* Free each thing of the list. What is in use is freed, and counted; else
 * the file system becomes read-only. The image has 480 free blocks and 118
 * inodes. */
TEST(what_is_not_in_use_cannot_be_freed)
{
    for (enum freed what = 0; what < FREED; what++) {
        rig_make(NULL);
        rig_script("mount /m\nwrite /m/f 3000 1\n");
        struct inode *ip = rig_open("/m/f");
        u32 first = ip->block[0];
        shim_printed();
        int error = free_it(what, ip);
        bool fine = what < A_BLOCK_BEHIND_THE_FILE;
        check_eq(error, fine ? 0 : -EIO);
        check_eq(fs_writable(ip->fs), fine ? 0 : -EROFS);
        const char *said = shim_printed();
        check(fine ? !*said : !!strstr(said, "is freed but n"));
        if (fine) {
            const struct ext2_group *g = group_of(ip->fs, 0);
            bool is_dir = what == THE_FILES_INODE_AS_A_DIRECTORYS;
            u32 inodes_used = what == THE_FILES_BLOCKS;
            u32 blocks_used = what == THE_FILES_BLOCKS ? 0 : 3;
            check_eq(g->free_inodes_count, 32 - 10 - inodes_used);
            check_eq(g->free_blocks_count, 128 - 8 - 1 - blocks_used);
            check_eq(g->used_dirs_count, is_dir ? 0 : 1);
            check_eq(ip->fs->free_blocks, 480 - blocks_used);
            check_eq(ip->fs->free_inodes, 118 - inodes_used);
        } else {
            check_eq(blocks_free(ip->fs, first, 3), -EROFS);
            check_eq(ino_free(ip->fs, ip->ino, false), -EROFS);
        }
        rig_close(ip);
        rig_do("umount /m");
    }
}

/* ---- inodes ---- */

/* 400 inodes are asked for at random, some are freed. The test works out the
 * place of each: a file's in the group of its directory, a directory's in the
 * group with most free blocks among those with their share of free inodes; if
 * there is none free, in the next group that has one. */
TEST(inodes_go_where_the_rules_send_them)
{
    u64 seed = 7;
    u8 used[129] = {0}; /* 0: free, 1: before the test, 2: file, 3: directory */
    rig_make(NULL);
    files_in_groups(4);
    for (u32 ino = 1; ino <= 128; ino++)
        used[ino] = ino < 11 || image_inode(rig_image(), ino)->links_count;
    spec_begin();
    rig_script("mount /m\n");
    for (u32 i = 0; i < 400; i++) {
        char path[16];
        sprintf(path, "/m/%lu", random_u64(&seed) % 4);
        struct inode *dir = rig_open(path);
        bool directory = random_u64(&seed) % 2;
        u32 first = (dir->ino - 1) / 32; /* group */
        u32 free[4] = {0}, total = 0;    /* inodes, of each group and of all */
        u32 got, want;                   /* an inode's number */
        for (u32 ino = 1; ino <= 128; ino++) {
            free[(ino - 1) / 32] += !used[ino];
            total += !used[ino];
        }
        if (directory) {
            u32 best = 4;
            for (u32 g = 0; g < 4; g++)
                if (free[g] && free[g] >= total / 4 &&
                    (best == 4 || spec_free(g) > spec_free(best)))
                    best = g;
            first = best % 4;
        }
        while (total && !free[first])
            first = (first + 1) % 4;
        for (want = first * 32 + 1; total && used[want]; want++)
            ;
        int error = ino_alloc(dir, directory ? S_IFDIR : S_IFREG, &got);
        check_eq(error, total ? 0 : -ENOSPC);
        if (!error) {
            check_eq(got, want);
            used[got] = directory ? 3 : 2;
        }
        u32 back = 1 + random_u64(&seed) % 128;
        if (used[back] > 1 && random_u64(&seed) % 3 == 0) {
            check_eq(ino_free(dir->fs, back, used[back] == 3), 0);
            used[back] = 0;
        }
        if (i % 5 == 0 && i < 300) { /* the blocks become uneven */
            u32 blkno;
            if (block_alloc(dir, 0, &blkno) == 0)
                spec.used[blkno] = 2;
        }
        rig_close(dir);
    }
    struct inode *ip = rig_open("/m");
    for (u32 ino = 1; ino <= 128; ino++)
        if (used[ino] > 1)
            check_eq(ino_free(ip->fs, ino, used[ino] == 3), 0);
    for (u32 b = 0; b < spec.blocks; b++)
        if (spec.used[b] == 2)
            check_eq(blocks_free(ip->fs, b, 1), 0);
    rig_close(ip);
    rig_end();
}

/* Only who holds the lock of the file system changes what it guards. */
static u32 guarded;

/* Called at each change of a block: who changes a bitmap or the groups' table
 * must hold the lock. */
static void see_change(struct disk *d, u64 blkno)
{
    if (d != rig_disk || blkno < 2)
        return;
    const struct ext2_group *g = image_group(rig_image(), (blkno - 1) / 128);
    if (blkno == 2 || blkno == g->block_bitmap || blkno == g->inode_bitmap) {
        check(shim_holds("fs"));
        guarded++;
    }
}

TEST(bitmaps_and_descriptors_change_under_their_lock)
{
    rig_make(NULL);
    shim_on_change = see_change;
    rig_script("mount /m\nmkdir /m/d\nwrite /m/d/f 20000 1\nrm /m/d/f\n"
               "rmdir /m/d\n");
    rig_end();
    check(guarded > 50);
}

/* ---- the block map ---- */

static const u32 edges[] = {
    0,   1,   11,    12,    13,    139,   140,   267,   268,    269,    523,
    524, 525, 65803, 65804, 65805, 66059, 66060, 66061, 131339, 131340, 131341};

/* Write the blocks at all edges, each with a seed of its own. */
static void write_edges(void)
{
    rig_script("mount /m\n");
    for (u32 i = 0; i < NELEM(edges); i++)
        check_eq(rig_do("pwrite /m/f %lu 1024 %u", edges[i] * 1024UL, i), 0);
}

/* The file must have those of the blocks at edges that are below this one, and
 * no others. */
static void expect_edges(u64 below)
{
    u32 ino = image_ino(rig_image(), "/f");
    for (u32 i = 0; i < NELEM(edges); i++)
        check_eq(image_map(rig_image(), ino, edges[i]) != 0, edges[i] < below);
}

/* Write the blocks at all edges, upwards and then downwards: exactly they are
 * there, and what lies between reads as zeros. */
TEST(blocks_are_mapped_at_every_edge_of_the_pointers)
{
    rig_make(NULL);
    write_edges();
    rig_end();
    expect_edges(~0U);
    rig_script("mount /m\n");
    for (u32 i = 0; i < NELEM(edges); i++) {
        check_eq(rig_do("verify /m/f %lu 1024 %u", edges[i] * 1024UL, i), 0);
        check_eq(command_failed, false);
    }
    for (u32 i = 0; i + 1 < NELEM(edges); i++) {
        u64 from = (edges[i] + 1) * 1024UL, to = edges[i + 1] * 1024UL;
        check_eq(
            rig_do("verify /m/f %lu %lu zero", from, MIN(to - from, 300000)),
            0);
        check_eq(command_failed, false);
    }
    rig_end();
    /* in any order, too */
    rig_make(NULL);
    rig_script("mount /m\n");
    for (u32 i = NELEM(edges); i > 0; i--)
        check_eq(rig_do("pwrite /m/f %lu 1024 %u", edges[i - 1] * 1024UL, i),
                 0);
    rig_end();
    expect_edges(~0U);
}

/* 12 direct pointers, and 256, 256^2 and 256^3 through one to three levels. */
TEST(no_block_is_past_the_last_pointer)
{
    u32 blkno;
    bool fresh;
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/f\n");
    struct inode *ip = rig_open("/m/f");
    u64 end = 12 + 256 + 256 * 256 + 256UL * 256 * 256;
    check_eq(map(ip, end - 1, &blkno), 0);
    check_eq(blkno, 0);
    check_eq(map(ip, end, &blkno), -EFBIG);
    check_eq(map_alloc(ip, end, &blkno, &fresh), -EFBIG);
    rig_close(ip);
    rig_end();
}

/* Cut the file one block below each edge, at it, and above it. */
TEST(truncation_frees_what_is_past_the_end_at_every_edge)
{
    rig_make(NULL);
    write_edges();
    rig_end();
    rig_keep();
    for (u32 i = 0; i < NELEM(edges); i++)
        for (i32 by = -1; by <= 1; by++) {
            if (edges[i] + by > 200000)
                continue;
            u64 keep = edges[i] + by;
            rig_restore();
            rig_script("mount /m\n");
            check_eq(rig_do("truncate /m/f %lu", keep * 1024), 0);
            rig_end();
            expect_edges(keep);
            if (by == 0) { /* a byte more keeps one block more */
                rig_restore();
                rig_script("mount /m\n");
                check_eq(rig_do("truncate /m/f %lu", keep * 1024 + 1), 0);
                rig_end();
                expect_edges(keep + 1);
            }
        }
}

/* All blocks of the file are in a row. To read the file, a block of pointers is
 * looked at once for 64 of its pointers. */
TEST(runs_of_blocks_are_found_at_once)
{
    rig_make(&(struct image_options){.blocks = 2048, .blocks_per_group = 2047});
    rig_script("mount /m\nwrite /m/f 1000000 1\numount /m\nmount /m\n");
    u32 ino = image_ino(rig_image(), "/f");
    for (u32 b = 1; b < 977; b++) { /* with blocks of pointers between */
        u32 step = b == 12 ? 2 : b == 268 ? 3 : b == 524 || b == 780 ? 2 : 1;
        check_eq(image_map(rig_image(), ino, b) -
                     image_map(rig_image(), ino, b - 1),
                 step);
    }
    static const struct readahead none;
    static u8 data[1024];
    shim.readahead = &none;
    struct inode *ip = rig_open("/m/f");
    u64 looks = shim_looks();
    struct uio u = {.left = 0};
    for (u32 i = 0; i < 977; i++) {
        u.addr = (u64)data;
        u.left = sizeof(data);
        check_eq(ext2_read(ip, &u, NULL), 0);
    }
    /* A block of 256 pointers is four runs. Where there are two levels, each
     * run costs a look at a second block. 197 pointers are four runs, too. */
    check_eq(shim_looks() - looks, 977 + 4 + 2 * (4 + 4 + 4));
    rig_close(ip);
    rig_end();
}

/* A run is blocks of the file that lie one behind the other: here from 12 on,
 * behind the block of pointers. */
TEST(a_file_that_grows_remembers_its_run)
{
    rig_make(&(struct image_options){.blocks = 2048, .blocks_per_group = 2047});
    rig_script("mount /m\nwrite /m/f 100000 1\n");
    struct inode *ip = rig_open("/m/f");
    check_eq(ip->run_block, 12);
    check_eq(ip->run_start, ip->block[0] + 13);
    check_eq(ip->run_blocks, 98 - 12);
    check_eq(ip->goal, ip->block[0] + 99);
    rig_close(ip);
    rig_script("append /m/f 2000 1\npwrite /m/f 200000 1000 1\n"
               "verify /m/f 0 102000 1\n");
    rig_end();
}

/* A file of 586 blocks, without and with indirect=far: then each block of
 * pointers begins another group. */
TEST(far_indirect_sends_each_table_and_its_data_elsewhere)
{
    u64 writes = 0;
    rig_make(&(struct image_options){.blocks = 4 * 1024 + 1,
                                     .blocks_per_group = 1024});
    for (u32 far = 0; far < 2; far++) {
        shim.far = far;
        far_indirect = far;
        rig_script("mount /m\nwrite /m/f 600000 1\nverify /m/f 0 600000 1\n");
        rig_end();
        u32 ino = image_ino(rig_image(), "/f");
        const u32 begins[] = {0, 12, 268, 524};
        for (u32 i = 0; i < NELEM(begins); i++) {
            u32 b = image_map(rig_image(), ino, begins[i]);
            u32 last =
                image_map(rig_image(), ino, i == 3 ? 585 : begins[i + 1] - 1);
            check_eq((b - 1) / 1024, far ? i % 4 : 0);
            check_eq(last - b, (i == 3 ? 585 : begins[i + 1] - 1) - begins[i]);
        }
        rig_script("mount /m\nrm /m/f\n");
        rig_end();
        writes++;
    }
    far_indirect = true; /* a directory stays together */
    rig_script("mount /m\nmkdir /m/d\n");
    check_eq(rig_do("many /m/d 15 %0200u", 1), 0);
    rig_end();
    far_indirect = false;
    check_eq(writes, 2);
}

/* A pointer to the system's own blocks, at each level. */
TEST(a_wrong_pointer_is_not_followed)
{
    rig_make(NULL);
    write_edges();
    rig_end();
    rig_keep();
    const u32 wrong[] = {1, 2, 3, 5, 512, ~0U};
    for (u32 w = 0; w < NELEM(wrong); w++)
        for (u32 level = 0; level < 4; level++) {
            const u64 at[] = {11, 139, 524, 66060};
            rig_restore();
            struct ext2_inode *in =
                image_inode(rig_image(), image_ino(rig_image(), "/f"));
            in->block[level ? 11 + level : 11] = wrong[w];
            rig_script("mount /m\n");
            shim_printed();
            check_eq(rig_do("verify /m/f %lu 1024 0", at[level] * 1024), -EIO);
            char want[60];
            sprintf(want, "points to block %u\n", wrong[w]);
            check(strstr(shim_printed(), want));
            check_eq(rig_do("pwrite /m/f %lu 1024 0", at[level] * 1024), -EIO);
            check_eq(rig_do("verify /m/f 1024 1024 1"), 0);
            check_eq(rig_do("create /m/still_writable"), 0);
            check_eq(rig_do("truncate /m/f 0"), -EIO);
            check_eq(rig_do("create /m/not_any_more"), -EROFS);
            rig_script("umount /m\n");
            check_eq(image_super(rig_image())->state, EXT2_ERROR_FS);
        }
}

/* Let all pointers of a table lead to block 4, which is no file's: reading is
 * an error, and removing leaves the file system read-only. */
TEST(a_wrong_pointer_in_a_block_of_pointers_is_not_followed)
{
    rig_make(NULL);
    write_edges();
    rig_end();
    rig_keep();
    for (u32 depth = 1; depth <= 3; depth++) {
        const u64 at[] = {0, 139, 524, 66060};
        rig_restore();
        u32 ino = image_ino(rig_image(), "/f");
        u32 table = image_inode(rig_image(), ino)->block[11 + depth];
        u32 *p = image_block(rig_image(), table);
        for (u32 i = 0; i < 256; i++)
            p[i] = p[i] ? 4 : 0;
        rig_script("mount /m\n");
        shim_printed();
        check_eq(rig_do("verify /m/f %lu 1024 0", at[depth] * 1024), -EIO);
        check(strstr(shim_printed(), "points to block 4\n"));
        check_eq(rig_do("rm /m/f"), 0);
        check_eq(rig_do("create /m/not_any_more"), -EROFS);
        rig_script("umount /m\n");
        check_eq(image_super(rig_image())->state, EXT2_ERROR_FS);
    }
}

/* Its four blocks are 8 sectors. The count is 7, 8 and 9, and then so large
 * that a further block does not fit. */
TEST(an_inode_that_counts_fewer_sectors_than_it_has_is_an_error)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 4096 1\nwrite /m/g 4096 1\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < 3; i++) {
        rig_restore();
        u32 f = image_ino(rig_image(), "/f");
        image_inode(rig_image(), f)->blocks = 8 + i - 1;
        rig_script("mount /m\n");
        shim_printed();
        check_eq(rig_do("truncate /m/f 0"), i ? 0 : -EIO);
        check_eq(!!strstr(shim_printed(), "more blocks than it counts"), !i);
        rig_script("umount /m\n");
    }
    rig_restore();
    u32 f = image_ino(rig_image(), "/f");
    image_inode(rig_image(), f)->blocks = UINT32_MAX - 1;
    rig_script("mount /m\n");
    check_eq(rig_do("append /m/f 1 1"), -EFBIG);
    rig_script("umount /m\n");
    image_inode(rig_image(), f)->blocks = UINT32_MAX - 2;
    rig_script("mount /m\nappend /m/f 1 1\numount /m\n");
}

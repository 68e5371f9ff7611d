/*
 * Unit tests of mounting, of ext2_test: what is accepted, what is refused and
 * how, and what a mount does to the superblock.
 *
 * - A row changes a field of the superblock, a group's descriptor or an inode
 *   to a value; then it has the error of the mount, 0 if there is none, and a
 *   part of the kernel's message.
 * - The image, which has four groups of 128 blocks of 1 KiB, is disk1, mounted
 *   at /m. rig_do does a command and returns its error; rig_restore goes back
 *   to the image that rig_keep has kept; shim_printed is what the kernel
 *   printed since its last call.
 */
#include <stddef.h>

#include "tests/kernel/ext2/ext2_rig.h"
#include "kernel/cache/bio.h"

/* ---- one field made wrong, or just right ---- */

struct row {
    u32 at, bytes; /* the field, from the start of its structure */
    u32 value;
    int error;
    const char *said; /* by the kernel, after the disk's name */
};

#define SUPER(field) \
    offsetof(struct ext2_super, field), sizeof(((struct ext2_super *)0)->field)
#define GROUP(field) \
    offsetof(struct ext2_group, field), sizeof(((struct ext2_group *)0)->field)
#define INODE(field) \
    offsetof(struct ext2_inode, field), sizeof(((struct ext2_inode *)0)->field)

/* Change a field of the image, and check what a mount says. */
static void mount_with(void *structure, const struct row *r)
{
    memcpy((u8 *)structure + r->at, &r->value, r->bytes);
    shim_printed();
    u64 in_use = ext2_inodes_in_use();
    int error = rig_do("mount /m");
    const char *said = shim_printed();
    if (error == 0)
        check_eq(rig_do("umount /m"), 0);
    if (error != r->error || !strstr(said, r->said) || !*r->said != !*said) {
        printf("byte %u is %u: %d, said %s\n", r->at, r->value, error, said);
        exit(1);
    }
    check_eq(ext2_inodes_in_use(), in_use);
    check_eq(rig_disk->mounted, false);
}

/* Check each row on the image as it was kept. group: whose descriptor; ~0: the
 * superblock. */
static void mount_each(u32 group, const struct row *rows, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        rig_restore();
        void *structure = group == ~0U ? (void *)image_super(rig_image())
                                       : image_group(rig_image(), group);
        mount_with(structure, &rows[i]);
    }
}

#define SENSE  "the superblock makes no sense"
#define WRONG  "is described wrongly"
#define COUNTS "the superblock's counts disagree"

/* A row sets one field of the superblock, and says what the mount must return
 * and print. */
TEST(a_superblock_is_mounted_only_if_its_figures_agree)
{
    static const struct row rows[] = {
        {SUPER(magic), EXT2_MAGIC, 0, ""},
        {SUPER(magic), 0xef52, -EINVAL, "holds no ext2 file system"},
        {SUPER(log_block_size), 4, -EINVAL, "1024 << 4 is not supported"},
        {SUPER(log_block_size), 3, -EINVAL,
         "block size 8192, the cache has the root's 1024"},
        {SUPER(rev_level), 2, -EINVAL, "revision 2 is not known"},
        {SUPER(feature_incompat), 6, -EINVAL, "incompatible features 0x4"},
        {SUPER(feature_incompat), 0, 0, ""},
        {SUPER(feature_compat), ~0U, 0, ""},
        {SUPER(first_data_block), 0, -EIO, SENSE},
        {SUPER(first_data_block), 2, -EIO, SENSE},
        {SUPER(blocks_count), 1, -EIO, SENSE},
        {SUPER(blocks_count), 0, -EIO, SENSE},
        {SUPER(blocks_count), 2, -EIO, COUNTS},
        {SUPER(blocks_count), 513, -EIO, "larger than the disk"},
        {SUPER(blocks_count), 385, -EIO, COUNTS},
        {SUPER(blocks_per_group), 0, -EIO, SENSE},
        {SUPER(blocks_per_group), 8193, -EIO, SENSE},
        {SUPER(blocks_per_group), 8192, -EIO, COUNTS},
        {SUPER(inodes_per_group), 0, -EIO, SENSE},
        {SUPER(inodes_per_group), 8193, -EIO, SENSE},
        {SUPER(inodes_per_group), 8192, -EIO, COUNTS},
        {SUPER(inode_size), 64, -EIO, SENSE},
        {SUPER(inode_size), 192, -EIO, SENSE},
        {SUPER(inode_size), 2048, -EIO, SENSE},
        {SUPER(inode_size), 1024, -EIO, "inode 2 is damaged"},
        {SUPER(first_ino), 10, -EIO, SENSE},
        {SUPER(first_ino), 12, 0, ""},
        {SUPER(first_ino), 128, 0, ""},
        {SUPER(first_ino), 129, -EIO, SENSE},
        {SUPER(inodes_count), 127, -EIO, COUNTS},
        {SUPER(inodes_count), 129, -EIO, COUNTS},
        {SUPER(reserved_gdt_blocks), 1, -EIO, "group 0 " WRONG},
        {SUPER(state), 0, 0,
         "disk1: was not unmounted cleanly: e2fsck is advised\n"},
        {SUPER(state), EXT2_VALID_FS | EXT2_ERROR_FS, 0,
         "disk1: read-only: damage was found before: run e2fsck\n"},
        {SUPER(feature_ro_compat), 11, 0,
         "disk1: read-only: features 0x8: huge_file is not handled: "
         "tune2fs -O clears it, with a ^ before its name\n"},
        {SUPER(feature_ro_compat), 0x80000003, 0,
         "disk1: read-only: features 0x80000000 are not known: "
         "make the image with mke2fs -t ext2\n"},
        {SUPER(feature_incompat), 0x42, -EINVAL,
         "incompatible features 0x40: extents is not handled: "},
        {SUPER(feature_incompat), 0x80000002, -EINVAL,
         "incompatible features 0x80000000 are not known: "},
    };
    rig_make(NULL);
    rig_keep();
    mount_each(~0U, rows, NELEM(rows));
}

/* Each row sets a field of the superblock of a file system with 4 KiB blocks,
 * whose first data block is 0. Unchanged, it is mounted and used. */
TEST(blocks_of_4_KiB_begin_at_0)
{
    static const struct row rows[] = {
        {SUPER(first_data_block), 1, -EIO, SENSE},
        {SUPER(blocks_per_group), 32768, -EIO, COUNTS},
        {SUPER(blocks_per_group), 32769, -EIO, SENSE},
        {SUPER(inode_size), 256, -EIO, "inode 2 is damaged"},
        {SUPER(blocks_count), 512, 0, ""},
    };
    rig_make(&(struct image_options){.block_bytes = 4096});
    rig_keep();
    mount_each(~0U, rows, NELEM(rows));
    rig_restore();
    rig_script("mount /m\nmkdir /m/d\nwrite /m/d/f 70000 1\n"
               "verify /m/d/f 0 70000 1\n");
    rig_end();
}

/* A bitmap of 8 KiB has 65,536 bits, but the counts of a group have 16 bits:
 * 65,528 is the most, in whole bytes. */
TEST(bitmaps_of_8_KiB_end_where_counts_of_16_bits_do)
{
    static const struct row rows[] = {
        {SUPER(blocks_per_group), 65528, -EIO, COUNTS},
        {SUPER(blocks_per_group), 65529, -EIO, SENSE},
        {SUPER(inodes_per_group), 65528, -EIO, COUNTS},
        {SUPER(inodes_per_group), 65529, -EIO, SENSE},
        {SUPER(inode_size), 8192, -EIO, "inode 2 is damaged"},
    };
    rig_make(&(struct image_options){.block_bytes = 8192, .blocks = 256});
    rig_keep();
    mount_each(~0U, rows, NELEM(rows));
}

/* A superblock claims 65,536 groups and then one more. The first only fails
 * because the disk is too short. */
TEST(no_more_groups_are_mounted_than_descriptors_fit_in_memory)
{
    rig_make(NULL);
    rig_keep();
    for (u32 groups = 65536; groups <= 65537; groups++) {
        rig_restore();
        struct ext2_super *sb = image_super(rig_image());
        sb->blocks_per_group = 16;
        sb->inodes_per_group = 8;
        sb->blocks_count = 1 + groups * 16;
        sb->inodes_count = groups * 8;
        rig_disk->nsectors = 2 * sb->blocks_count;
        shim_printed();
        check_eq(rig_do("mount /m"), groups > 65536 ? -EINVAL : -EIO);
        check(strstr(shim_printed(), groups > 65536
                                         ? "more than 65536 groups"
                                         : "descriptors cannot be read"));
    }
}

/* A mount with `ro`, once of a file system with an unknown feature: it can be
 * read, each change is refused, and no byte of the image changes. So it is with
 * a disk that is read-only. */
TEST(what_is_mounted_read_only_is_not_written)
{
    static const u32 features[] = {3, 11};
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 100 1\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < NELEM(features); i++) {
        rig_restore();
        image_super(rig_image())->feature_ro_compat = features[i];
        image_super(rig_image())->state = i ? 0 : EXT2_VALID_FS;
        u8 *before = malloc(rig_bytes());
        memcpy(before, rig_image(), rig_bytes());
        shim_printed();
        rig_script("mount /m ro\nverify /m/f 0 100 1\nls /m\nfsync /m/f\n"
                   "sync\nstatfs /m\n");
        check(strstr(rig_said(), " ro 1 "));
        check(*shim_printed() == 0);
        static const char *const refused[] = {
            "create /m/x",    "mkdir /m/x",       "symlink a /m/x",
            "mknod /m/x 1",   "ln /m/f /m/x",     "rm /m/f",
            "mv /m/f /m/g",   "append /m/f 1 1",  "truncate /m/f 1",
            "chmod /m/f 600", "truncate /m/f 999"};
        for (u32 r = 0; r < NELEM(refused); r++)
            check_eq(rig_do("%s", refused[r]), -EROFS);
        check_eq(rig_do("umount /m"), 0);
        check(memcmp(before, rig_image(), rig_bytes()) == 0);
        free(before);
    }
    rig_restore();
    rig_disk->read_only = true;
    rig_script("mount /m\n");
    check_eq(rig_do("create /m/x"), -EROFS);
    check_eq(rig_do("mounts"), 0);
    check(strstr(rig_said(), " /m ro"));
    check_eq(rig_do("umount /m"), 0);
    check(memcmp(rig_kept(), rig_image(), rig_bytes()) == 0);
    rig_disk->read_only = false;
}

/* ---- groups ---- */

/* A row sets where a bitmap or table of group g is: at its edges, outside it,
 * and on each other. */
TEST(a_groups_structures_lie_inside_it_and_apart)
{
    rig_make(NULL);
    rig_keep();
    for (u32 g = 0; g < 4; g++) {
        u32 head = g == 2 ? 0 : 2, start = 1 + g * 128;
        u32 end = g == 3 ? 512 : start + 128;
        struct ext2_group was = *image_group(rig_image(), g);
        const struct row rows[] = {
            {GROUP(block_bitmap), start + head - 1, -EIO, WRONG},
            {GROUP(block_bitmap), start + head, 0, ""},
            {GROUP(block_bitmap), end - 1, 0, ""},
            {GROUP(block_bitmap), end, -EIO, WRONG},
            {GROUP(block_bitmap), was.inode_bitmap, -EIO, WRONG},
            {GROUP(block_bitmap), was.inode_table, -EIO, WRONG},
            {GROUP(block_bitmap), was.inode_table + 3, -EIO, WRONG},
            {GROUP(block_bitmap), was.inode_table + 4, 0, ""},
            {GROUP(inode_bitmap), start + head - 1, -EIO, WRONG},
            {GROUP(inode_bitmap), end - 1, 0, ""},
            {GROUP(inode_bitmap), end, -EIO, WRONG},
            {GROUP(inode_bitmap), was.inode_table, -EIO, WRONG},
            {GROUP(inode_bitmap), was.inode_table + 3, -EIO, WRONG},
            {GROUP(inode_bitmap), was.inode_table + 4, 0, ""},
            {GROUP(inode_table), start + head - 1, -EIO, WRONG},
            {GROUP(inode_table), end - 3, -EIO, WRONG},
            {GROUP(inode_table), ~0U, -EIO, WRONG},
            {GROUP(free_blocks_count), end - start, 0, ""},
            {GROUP(free_blocks_count), end - start + 1, -EIO, WRONG},
            {GROUP(free_inodes_count), 32, 0, ""},
            {GROUP(free_inodes_count), 33, -EIO, WRONG},
        };
        mount_each(g, rows, NELEM(rows));
        rig_restore();
        /* The root's inode is in group 0: only there it is missed. */
        struct row last = {GROUP(inode_table), end - 4, g ? 0 : -EIO,
                           g ? "" : "inode 2 is damaged"};
        mount_with(image_group(rig_image(), g), &last);
    }
    /* where both bitmaps may go, the table begins right after the head */
    rig_restore();
    struct ext2_group *g = image_group(rig_image(), 2);
    g->block_bitmap = 1 + 2 * 128 + 4;
    g->inode_bitmap = 1 + 2 * 128 + 5;
    g->inode_table = 1 + 2 * 128;
    check_eq(rig_do("mount /m"), 0);
    check_eq(rig_do("umount /m"), 0);
}

/* Say that a group's bitmap lies where its superblock may be: that is damage
 * exactly in the groups that have one, 0, 1 and the powers of 3, 5 and 7. */
TEST(sparse_superblocks_are_in_the_groups_of_the_format)
{
    static const char having[] = " 0 1 3 5 7 9 25 27 49 ";
    char word[16];
    for (u32 sparse = 0; sparse < 2; sparse++) {
        rig_make(&(struct image_options){.blocks = 1 + 50 * 32,
                                         .blocks_per_group = 32,
                                         .inodes_per_group = 16,
                                         .every_super = !sparse});
        rig_keep();
        for (u32 g = 0; g < 50; g++) {
            rig_restore();
            image_group(rig_image(), g)->block_bitmap = 1 + g * 32;
            snprintf(word, sizeof(word), " %u ", g);
            bool super = !sparse || strstr(having, word);
            check_eq(rig_do("mount /m"), super ? -EIO : 0);
            if (!super)
                check_eq(rig_do("umount /m"), 0);
        }
    }
}

/* With sparse_super2 the first superblock names the groups of the two others. A
 * number 0 stands for no group. */
TEST(two_superblocks_are_in_the_groups_that_the_first_names)
{
    static const u32 pairs[][2] = {{0, 0}, {1, 9}, {1, 49}, {2, 0}, {6, 8}};
    for (u32 i = 0; i < NELEM(pairs); i++) {
        rig_make(&(struct image_options){.blocks = 1 + 50 * 32,
                                         .blocks_per_group = 32,
                                         .inodes_per_group = 16,
                                         .every_super = true});
        struct ext2_super *sb = image_super(rig_image());
        sb->feature_compat = EXT2_COMPAT_SPARSE_SUPER2;
        memcpy(sb->super_groups, pairs[i], sizeof(pairs[i]));
        rig_keep();
        for (u32 g = 0; g < 50; g++) {
            rig_restore();
            image_group(rig_image(), g)->block_bitmap = 1 + g * 32;
            bool super = g == 0 || g == pairs[i][0] || g == pairs[i][1];
            check_eq(rig_do("mount /m"), super ? -EIO : 0);
            if (!super)
                check_eq(rig_do("umount /m"), 0);
        }
    }
}

/* The group's bitmap is at a wrong place, and the superblock has an unknown
 * feature. The mount fails, and its message names the feature. */
TEST(a_group_that_an_unknown_feature_may_have_moved_is_not_called_damaged)
{
    rig_make(NULL);
    image_super(rig_image())->feature_compat = 1U << 31;
    image_group(rig_image(), 0)->block_bitmap = 1;
    shim_printed();
    check_eq(rig_do("mount /m"), -EINVAL);
    if (!strstr(shim_printed(),
                "group 0: features 0x80000000, which are not known"))
        exit(1);
}

/* ---- what statfs says ---- */

/* Mount an image so made, and compare what statfs prints. */
static void expect_statfs(const struct image_options *o, const char *want)
{
    rig_make(o);
    check_eq(rig_do("mount /m"), 0);
    check_eq(rig_do("statfs /m"), 0);
    if (strcmp(rig_said(), want)) {
        printf("expected %sgot %s", want, rig_said());
        exit(1);
    }
    rig_end();
}

/* Blocks are all of the disk but those of the groups' own tables. */
TEST(statfs_counts_what_files_may_have)
{
    /* 512 blocks - boot - 4 * (2 bitmaps + 4 table) - 3 * 2 heads = 481 */
    expect_statfs(NULL, "disk1: size 1024 ro 0 blocks 481 free 480 inodes 128 "
                        "free 118\n");
    expect_statfs(
        &(struct image_options){.every_super = true, .reserved_gdt = 3},
        "disk1: size 1024 ro 0 blocks 467 free 466 inodes 128 "
        "free 118\n");
    expect_statfs(&(struct image_options){.revision_0 = true},
                  "disk1: size 1024 ro 0 blocks 479 free 478 inodes 128 "
                  "free 118\n");
    /* 65 groups: descriptors fill three blocks, in 9 of the groups */
    expect_statfs(&(struct image_options){.blocks = 1 + 65 * 32,
                                          .blocks_per_group = 32,
                                          .inodes_per_group = 12,
                                          .inode_bytes = 256},
                  "disk1: size 1024 ro 0 blocks 1719 free 1718 inodes 780 "
                  "free 770\n");
}

/* 300 groups of 16 blocks; 200 directories are made, which go into many
 * groups. */
TEST(descriptors_that_fill_many_pages_are_all_read_and_written)
{
    rig_make(&(struct image_options){.blocks = 1 + 300 * 16,
                                     .blocks_per_group = 16,
                                     .inodes_per_group = 12,
                                     .no_types = true});
    /* 300 descriptors are ten blocks: heads fill the groups that have them */
    check(image_group(rig_image(), 299)->free_blocks_count > 0);
    rig_script("mount /m\n");
    for (u32 i = 0; i < 200; i++)
        check_eq(rig_do("mkdir /m/d%u", i), 0);
    rig_end();
}

/* ---- what mounting writes ---- */

/* The state is 0 while it is mounted. Expect times and counts after the mount,
 * a sync and the unmount. */
TEST(a_mount_is_marked_in_the_superblock_till_it_ends)
{
    rig_make(NULL);
    struct ext2_super *sb = image_super(rig_image());
    shim.now_s = 5000;
    check_eq(rig_do("mount /m"), 0);
    check_eq(rig_disk->mounted, true);
    check_eq(sb->state, 0);
    check_eq(sb->mtime, 5000);
    check_eq(sb->wtime, 5000);
    check_eq(sb->mnt_count, 1);
    check_eq(sb->feature_ro_compat, EXT2_RO_COMPAT_SPARSE_SUPER);
    shim.now_s = 6000;
    rig_script("write /m/f 4000 1\nsync\n");
    check_eq(sb->free_blocks_count, 480 - 4);
    check_eq(sb->free_inodes_count, 118 - 1);
    check_eq(sb->state, 0);
    check_eq(sb->wtime, 6000);
    check_eq(shim_unflushed(rig_disk), 0);
    shim.now_s = 7000;
    rig_end();
    check_eq(sb->wtime, 7000);
    check_eq(sb->mtime, 5000);
    check_eq(shim_unflushed(rig_disk), 0);
    check_eq(rig_disk->mounted, false);
}

/* For each state in the superblock: with EXT2_ERROR_FS nothing can be made, and
 * the unmount writes the same state back. */
TEST(the_state_a_file_system_was_found_in_comes_back)
{
    static const u32 states[] = {0, 1, 2, 3, 4, 5};
    rig_make(NULL);
    rig_keep();
    for (u32 i = 0; i < NELEM(states); i++) {
        rig_restore();
        image_super(rig_image())->state = states[i];
        rig_script("mount /m\n");
        check_eq(rig_do("create /m/x"), states[i] & EXT2_ERROR_FS ? -EROFS : 0);
        check_eq(rig_do("umount /m"), 0);
        check_eq(image_super(rig_image())->state, states[i]);
    }
}

static u64 late; /* writes that a flush still missed when the state came */

/* Called after each write: note how many writes the flush missed, once the disk
 * says that it is clean. */
static void see_state(struct disk *d)
{
    if (d == rig_disk && image_super(rig_image())->state == EXT2_VALID_FS)
        late = shim_unflushed(d);
}

/* see_state counts the writes after the mark in the superblock: one, the mark
 * itself. */
TEST(the_disk_has_all_before_it_has_the_mark_that_it_is_whole)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 40000 1\n");
    shim_on_write = see_state;
    rig_end();
    check_eq(late, 1); /* the mark itself */
    shim_on_write = NULL;
    rig_script("mount /m\nappend /m/f 40000 1\n");
    shim_on_write = see_state;
    late = 0;
    check_eq(ext2_shutdown(), 0);
    check_eq(late, 1);
    check_eq(shim_unflushed(rig_disk), 0);
    check_eq(rig_do("create /m/x"), -EROFS); /* nothing follows the mark */
}

/* Such a write would overwrite blocks of a file system made there afterwards.
 */
TEST(no_delayed_write_is_left_of_a_disk_that_is_no_longer_mounted)
{
    u32 closed = 0;
    bool failed = true;
    rig_make(NULL);
    rig_keep();
    for (u32 n = 1; failed; n++) {
        rig_restore();
        rig_script("mount /m\nwrite /m/f 100 1\n");
        shim_fail(FAULT_WRITE, rig_disk, n, true);
        int error = rig_do("umount /m");
        failed = shim_failed();
        check_eq(error, failed ? -EIO : 0);
        shim_fail(FAULT_WRITE, NULL, 0, false);
        rig_script("mounts\n");
        if (strstr(rig_said(), "/m")) {
            check_eq(rig_do("umount /m"), 0);
            continue;
        }
        closed += failed;
        u8 *before = malloc(rig_bytes());
        memcpy(before, rig_image(), rig_bytes());
        check_eq(bflush(rig_disk), 0);
        check(memcmp(before, rig_image(), rig_bytes()) == 0);
        free(before);
    }
    check(closed > 0);
}

/* ---- the table of mounts ---- */

/* Three disks, mounted in one another; what is in use is neither unmounted,
 * removed nor renamed, and no name leads from one disk to another. */
TEST(a_disk_is_mounted_once_and_only_on_a_free_directory)
{
    struct inode *ip;
    rig_make(NULL);
    check_eq(rig_do("create /file"), 0);
    check_eq(rig_do("mount /file"), -ENOTDIR);
    check_eq(rig_do("mount /"), -EBUSY);
    check_eq(rig_do("mkdir /gone"), 0);
    check_eq(namei("/gone", 0, &ip), 0);
    check_eq(rig_do("rmdir /gone"), 0);
    check_eq(ext2_mount(rig_disk, ip, 0), -ENOENT);
    iput(ip);
    check_eq(namei("/m", 0, &ip), 0);
    check_eq(ext2_mount(rig_disk, ip, MS_RDONLY << 1), -EINVAL);
    check_eq(ext2_mount_root(rig_disk), -EBUSY);
    check_eq(ext2_umount(ip), -EINVAL);
    check_eq(rig_do("umount /"), -EBUSY);
    rig_script("mkdir /other\nmount /m\n");
    check_eq(rig_do("mount /other"), -EBUSY); /* the same disk again */
    u64 n;
    u8 *image = image_make(&(struct image_options){0}, &n);
    struct disk *first = rig_disk, *second = shim_disk_of(image, n);
    command_disk = second;
    check_eq(rig_do("mount /m"), -EBUSY); /* the root of another one */
    check_eq(ext2_inodes_in_use(), 3);    /* two roots and /m */
    rig_script("mkdir /m/in\nmount /m/in\nmounts\n");
    check(strcmp(rig_said(), "disk0 / rw\ndisk1 /m rw\ndisk2 /m/in rw\n") == 0);
    check_eq(rig_do("umount /m"), -EBUSY);
    check_eq(rig_do("rmdir /m/in"), -EBUSY);
    check_eq(rig_do("mv /m/in /m/out"), -EBUSY);
    check_eq(rig_do("mv /m/in/x /m/out"), -EXDEV);
    rig_script("write /m/in/f 3000 1\nmkdir /m/in/d\ncd /m/in/d\npwd\n");
    check(strcmp(rig_said(), "/m/in/d\n") == 0);
    check_eq(rig_do("umount /m/in"), -EBUSY);
    check_eq(rig_do("mv /m/in/f /m/f"), -EXDEV);
    check_eq(rig_do("ln /m/in/f /m/f"), -EXDEV);
    check_eq(rig_do("stat ../../../file"), 0);
    check_eq(rig_do("stat ../../in/f"), 0);
    rig_script("cd /\numount /m/in\n");
    char *wrong;
    free(image_look(shim_bytes(second), n, IMAGE_WHOLE, &wrong));
    check_eq(*wrong, 0);
    free(wrong);
    check_eq(rig_do("stat /m/in/f"), -ENOENT);
    check_eq(rig_do("rmdir /m/in"), 0);
    command_disk = first;
    rig_end();
    check_eq(ext2_inodes_in_use(), 1);
}

/* Mount every disk, unmount one and mount it again. */
TEST(as_many_are_mounted_as_there_are_disks)
{
    char want[1000] = "disk0 / rw\ndisk1 /m rw\n";
    struct disk *disks[MAX_DISKS];
    rig_make(NULL);
    for (u32 i = 2; i < MAX_DISKS; i++) {
        u64 n;
        u8 *image = image_make(&(struct image_options){.blocks = 256}, &n);
        command_disk = disks[i] = shim_disk_of(image, n);
        check_eq(rig_do("mkdir /m%u", i), 0);
        check_eq(rig_do("mount /m%u", i), 0);
        check_eq(rig_do("create /m%u/name%u", i, i), 0);
        sprintf(want + strlen(want), "disk%u /m%u rw\n", i, i);
    }
    command_disk = rig_disk;
    check_eq(rig_do("mount /m"), 0);
    check_eq(rig_do("mounts"), 0);
    check(strcmp(rig_said(), want) == 0);
    /* rows are reused */
    check_eq(rig_do("umount /m5"), 0);
    check_eq(rig_do("stat /m5/name5"), -ENOENT);
    command_disk = disks[5];
    check_eq(rig_do("mount /m"), -EBUSY);
    check_eq(rig_do("mount /m5"), 0);
    for (u32 i = 2; i < MAX_DISKS; i++)
        check_eq(rig_do("stat /m%u/name%u", i, i), 0);
    check_eq(ext2_shutdown(), 0);
}

/* While a process holds a file or the root of the mount, it cannot be
 * unmounted. */
TEST(a_file_held_keeps_its_mount)
{
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/f\nhold 1 /m/f\n");
    check_eq(rig_do("umount /m"), -EBUSY);
    rig_script("release 1\nhold 1 /m\n");
    check_eq(rig_do("umount /m"), -EBUSY);
    rig_script("release 1\n");
    rig_end();
}

/* After the unmount the disk is exchanged for an older one. The file has its
 * older data. */
TEST(what_was_written_is_not_remembered_after_an_unmount)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 5000 1\n");
    rig_end();
    rig_keep();
    rig_script("mount /m\nwrite /m/f 5000 2\numount /m\n");
    memcpy(rig_image(), rig_kept(), rig_bytes()); /* another disk is put in */
    rig_script("mount /m\nverify /m/f 0 5000 1\n");
    rig_end();
}

/* ---- before there is a cache ---- */

/* ext2_probe returns 1 to 8 KiB, refuses larger ones, and returns the error
 * when the read or the memory fails, or without the magic number. */
TEST(the_probe_tells_block_sizes)
{
    rig_make(NULL);
    struct ext2_super *sb = image_super(rig_image());
    for (u32 shift = 0; shift < 6; shift++) {
        sb->log_block_size = shift;
        check_eq(ext2_probe(rig_disk), shift > 3 ? -EINVAL : 1024 << shift);
    }
    sb->log_block_size = 0;
    shim_fail(FAULT_READ, rig_disk, 1, false);
    check_eq(ext2_probe(rig_disk), -EIO);
    shim_fail(FAULT_PAGE, rig_disk, 1, false);
    check_eq(ext2_probe(rig_disk), -ENOMEM);
    shim_fail(FAULT_PAGE, rig_disk, 0, false);
    sb->magic++;
    check_eq(ext2_probe(rig_disk), -EINVAL);
}

/* ---- inodes ---- */

/* A row sets one field of one inode on the disk, and says what looking its
 * path up must return and print. */
TEST(an_inode_that_cannot_be_is_refused)
{
    enum { FILE_, DIR_, LINK_, DEV_, PATHS };
    static const char *const paths[PATHS] = {"/f", "/d", "/l", "/dev"};
    static const struct {
        u32 path;
        struct row row;
    } rows[] = {
        {FILE_, {INODE(flags), 0x80000, -EIO, "is damaged"}},
        {FILE_, {INODE(flags), 0x10000000, -EIO, "is damaged"}},
        {FILE_, {INODE(flags), 0x40, 0, ""}},
        {FILE_, {INODE(mode), 0, -EIO, "is damaged"}},
        {FILE_, {INODE(mode), 0xffff, -EIO, "is damaged"}},
        {FILE_, {INODE(mode), S_IFBLK, 0, ""}},
        {FILE_, {INODE(mode), S_IFIFO, 0, ""}},
        {FILE_, {INODE(mode), S_IFSOCK, 0, ""}},
        {FILE_, {INODE(links_count), 0, -EIO, "is damaged"}},
        {FILE_, {INODE(size_high), 3, 0, ""}},
        {FILE_, {INODE(size_high), 5, -EIO, "is damaged"}},
        {DIR_, {INODE(size), 0, -EIO, "is damaged"}},
        {DIR_, {INODE(size), 1023, -EIO, "is damaged"}},
        {DIR_, {INODE(size), 2048, 0, ""}},
        {DIR_, {INODE(size), 0x7ffffc00, 0, ""}},
        {DIR_, {INODE(size), 0x80000000, -EIO, "is damaged"}},
        {DIR_, {INODE(size_high), 5, 0, ""}},
        {LINK_, {INODE(size), 1023, 0, ""}},
        {LINK_, {INODE(size), 1024, -EIO, "is damaged"}},
        {DEV_, {INODE(size), 77777, 0, ""}},
    };
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 100 1\nmkdir /m/d\nmknod /m/dev 7\n"
               "symlink 123456789012345678901234567890123456789012345678901234"
               "567890 /m/l\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < NELEM(rows); i++) {
        const struct row *r = &rows[i].row;
        const char *path = paths[rows[i].path];
        struct inode *ip;
        rig_restore();
        u32 ino = image_ino(rig_image(), path);
        u8 *at = (u8 *)image_inode(rig_image(), ino) + r->at;
        memcpy(at, &r->value, r->bytes);
        rig_script("mount /m\n");
        shim_printed();
        char full[20];
        snprintf(full, sizeof(full), "/m%s", path);
        int error = namei(full, NAMEI_NOFOLLOW, &ip);
        if (error != r->error) {
            printf("row %u: %d\n", i, error);
            exit(1);
        }
        const char *said = shim_printed();
        if (!r->error) {
            ilock(ip);
            check_eq(ivalid(ip), 0);
            iunlock(ip);
            iput(ip);
        }
        check(strstr(said, r->said) && !*r->said == !*said);
        rig_script("umount /m\n");
    }
}

/* The largest size of a file, and a byte more, which is damage. */
TEST(the_size_of_a_file_is_bounded_to_the_byte)
{
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/f\numount /m\n");
    struct ext2_inode *in =
        image_inode(rig_image(), image_ino(rig_image(), "/f"));
    in->size_high = 4;
    in->size = 67383296;
    rig_script("mount /m\nstat /m/f\n");
    check(strstr(rig_said(), "size 17247252480 "));
    rig_script("umount /m\n");
    in->size++;
    rig_script("mount /m\n");
    check_eq(rig_do("stat /m/f"), -EIO);
}

/* The mount fails, and leaves no inode in use. With the root as it was the
 * mount succeeds. */
TEST(a_root_that_is_no_directory_is_not_mounted)
{
    rig_make(NULL);
    struct ext2_inode *root = image_inode(rig_image(), EXT2_ROOT_INO);
    root->mode = S_IFREG | 0644;
    shim_printed();
    u64 in_use = ext2_inodes_in_use();
    check_eq(rig_do("mount /m"), -EIO);
    check(strstr(shim_printed(), "the root is no directory"));
    check_eq(ext2_inodes_in_use(), in_use);
    root->mode = S_IFDIR | 0755;
    rig_script("mount /m\n");
    rig_end();
}

/* The path /m needs 3 bytes. In 2 bytes it is told as "?". Row 0 is the root's
 * mount, and there is no row 2. */
TEST(a_mount_whose_path_is_too_long_is_listed_all_the_same)
{
    char path[3] = "xx";
    struct disk *d;
    bool ro;
    rig_make(NULL);
    rig_script("mount /m ro\n");
    check_eq(ext2_mount_row(1, path, 2, &d, &ro), true);
    check(strcmp(path, "?") == 0 && d == rig_disk && ro);
    check_eq(ext2_mount_row(1, path, 3, &d, &ro), true);
    check(strcmp(path, "/m") == 0);
    check_eq(ext2_mount_row(0, path, 3, &d, &ro), true);
    check(strcmp(path, "/") == 0 && d->id == 0 && !ro);
    check_eq(ext2_mount_row(2, path, 3, &d, &ro), false);
    rig_script("umount /m\n");
}

/* The largest size of a file: 12 + 256 + 256^2 + 256^3 blocks of 1 KiB. */
TEST(a_file_may_be_as_large_as_its_pointers_reach)
{
    u64 limit = (12 + 256 + 256 * 256 + 256UL * 256 * 256) * 1024;
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/f\n");
    check_eq(rig_do("truncate /m/f %lu", limit + 1), -EFBIG);
    check_eq(rig_do("truncate /m/f %lu", limit), 0);
    check_eq(rig_do("pwrite /m/f %lu 1 1", limit), -EFBIG);
    check_eq(rig_do("pwrite /m/f %lu 3 1", limit - 2), -EFBIG);
    check_eq(rig_do("verify /m/f %lu 2 1", limit - 2), 0);
    rig_end();
    check_eq(image_super(rig_image())->feature_ro_compat, 3);
    struct ext2_inode *in =
        image_inode(rig_image(), image_ino(rig_image(), "/f"));
    check_eq((u64)in->size_high << 32 | in->size, limit);
    rig_script("mount /m\nrm /m/f\n");
    rig_end();
    rig_make(&(struct image_options){.revision_0 = true});
    rig_script("mount /m\ncreate /m/f\n");
    check_eq(rig_do("truncate /m/f %u", 1U << 31), -EFBIG);
    check_eq(rig_do("truncate /m/f %u", INT32_MAX), 0);
    rig_end();
    check_eq(image_super(rig_image())->feature_ro_compat, 0);
}

/* A file of 2 GiB needs the feature: the superblock is written at once, and
 * once. */
TEST(the_feature_of_large_files_is_on_the_disk_before_there_is_one)
{
    rig_make(NULL);
    struct ext2_super *sb = image_super(rig_image());
    rig_script("mount /m\ncreate /m/f\nsync\n");
    u64 writes = shim_writes_waited();
    rig_script("truncate /m/f 2147483647\n");
    check_eq(shim_writes_waited(), writes);
    check_eq(sb->feature_ro_compat, EXT2_RO_COMPAT_SPARSE_SUPER);
    rig_script("truncate /m/f 2147483648\n");
    check_eq(shim_writes_waited(), writes + 1);
    check_eq(sb->feature_ro_compat, 3);
    check_eq(sb->state, 0);
    rig_script("truncate /m/f 0\npwrite /m/f 3000000000 1 1\n");
    check_eq(shim_writes_waited(), writes + 1 + 3); /* blocks of pointers */
    rig_script("rm /m/f\n");
    rig_end();
}

/*
 * Torn writes, of ext2_test: a drive writes sector by sector, so a power cut
 * may leave a block of which some sectors are new and the others old. Random
 * commands change directories whose names are short and long, so that entries
 * lie across sectors; each is cut at and within all its writes, and must be
 * found done or not begun, by mounting and by e2fsck -p.
 *
 * SLUICE_SEEDS multiplies the number of commands.
 */
#include <stdlib.h>

#include "tests/kernel/ext2/ext2_cuts.h"
#include "tests/kernel/ext2/ext2_rig.h"

#define NAMES  24  /* in each of two directories */
#define STEPS  120 /* commands cut of a disk */
#define PREENS 16  /* one cut of so many is repaired by e2fsck */

static u64 state;
static char names[NAMES][256];

/* A random number below n. */
static u32 below(u32 n)
{
    return random_u64(&state) % n;
}

/* Draw the names; half of them are short. */
static void make_names(void)
{
    for (u32 i = 0; i < NAMES; i++) {
        u32 most = below(2) ? 14 : below(2) ? 80 : 240;
        u32 n = sprintf(names[i], "%c%u", 'a' + below(26), i);
        u32 length = n + below(most);
        memset(names[i] + n, names[i][0], length - n);
        names[i][length] = 0;
    }
}

/* A path of either directory, mostly of the first. */
static const char *any_path(char path[300])
{
    sprintf(path, "/m/%c/%s", 'a' + (below(4) == 0), names[below(NAMES)]);
    return path;
}

/* A command; it may fail, and then it must have changed nothing. */
static void any_command(char *line)
{
    static const char *const targets[] = {"here",
                                          "12345678901234567890123456789012"
                                          "34567890123456789012345678901234"};
    char a[300], b[300];
    any_path(a);
    any_path(b);
    u32 choice = below(16);
    if (choice < 9)
        sprintf(line, "mv %s %s", a, b);
    else if (choice < 11)
        sprintf(line, "ln %s %s", a, b);
    else if (choice < 13)
        sprintf(line, "%s %s", below(4) ? "rm" : "rmdir", a);
    else if (choice < 14)
        sprintf(line, "create %s x", a);
    else if (choice < 15)
        sprintf(line, "mkdir %s", a);
    else
        sprintf(line, "symlink %s %s", targets[below(2)], a);
}

/* Files with contents, of which a cut must lose none. */
static void fill(u32 files)
{
    char path[300];
    check_eq(rig_do("mount /m"), 0);
    for (u32 i = 0; i < files; i++)
        rig_do("write %s %u %u", any_path(path), 1 + below(3000), i);
    check_eq(rig_do("umount /m"), 0);
}

/* Do a random command, keep what it made for the next, and judge its cuts. */
static void cut_one(u32 *total, u32 *bad)
{
    char line[700];
    struct outcome o;
    any_command(line);
    rig_restore();
    cuts_gather(line, &o);
    rig_keep();
    o.asks = true;
    cuts_judge(&o, PREENS);
    *total += o.cuts;
    *bad += o.bad;
    cuts_end(&o);
}

/* Cut random commands on disks with blocks of this size; no cut may show a
 * command in part. */
static void torn(u32 block_bytes)
{
    u32 total = 0, bad = 0;
    const char *more = getenv("SLUICE_SEEDS");
    u32 disks = more ? atoi(more) : 1;
    for (u32 seed = 0; seed < disks && !bad; seed++) {
        state = 1000 * block_bytes + seed;
        shim.seed = state;
        rig_make(&(struct image_options){
            .block_bytes = block_bytes, .blocks = 256, .inodes_per_group = 64});
        make_names();
        rig_script("mount /m\nmkdir /m/lost+found\nmkdir /m/a\nmkdir /m/b\n"
                   "umount /m\n");
        fill(NAMES);
        rig_keep();
        for (u32 i = 0; i < STEPS; i++) {
            if (i % 16 == 15) {
                rig_restore();
                fill(4);
                rig_keep();
            }
            cut_one(&total, &bad);
        }
    }
    if (getenv("SLUICE_CUTS"))
        printf("blocks of %u: %u cuts, %u bad\n", block_bytes, total, bad);
    check_eq(bad, 0);
    check(total > 500 * disks);
}

TEST(no_torn_write_of_a_block_of_1024_bytes_shows)
{
    torn(1024);
}

TEST(no_torn_write_of_a_block_of_2048_bytes_shows)
{
    torn(2048);
}

TEST(no_torn_write_of_a_block_of_4096_bytes_shows)
{
    torn(4096);
}

TEST(no_torn_write_of_a_block_of_8192_bytes_shows)
{
    torn(8192);
}

TEST(no_torn_write_shows_on_a_drive_with_a_volatile_cache)
{
    shim.volatile_cache = true;
    torn(4096);
}

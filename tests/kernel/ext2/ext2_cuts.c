/*
 * Power cuts during renames, of ext2_test: after a cut at every write and
 * within it, between two sectors, with every choice of what else was pending,
 * mounting leaves the names as they were before the rename or as they are
 * after it, and nothing else. So it is when e2fsck -p came first, and when the
 * power goes while mounting finishes the rename.
 */
#include <stdlib.h>

#include "tests/kernel/ext2/ext2_cuts.h"
#include "tests/kernel/ext2/ext2_rig.h"

#define SUBSETS 4  /* up to 4 pending writes: each subset may be on the disk */
#define RANDOM  12 /* of more, 12 random subsets */

/* /m/long has no room for a longer name, so that goes to another block. */
static const char base[] =
    "mount /m\nmkdir /m/lost+found\n"
    "mkdir /m/d\nmkdir /m/e\nmkdir /m/d/sub\nmkdir /m/long\n"
    "many /m/long 18 aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\n"
    "write /m/doc 5000 1\nwrite /m/tmp 3000 2\nwrite /m/long/doc 900 3\n"
    "write /m/d/new 700 4\nwrite /m/e/old 800 5\nln /m/e/old /m/e/hard\n"
    "write /m/d/one 600 6\nln /m/d/one /m/d/two\nwrite /m/d/sub/in 300 7\n"
    "symlink somewhere /m/d/link\numount /m\n";

#define LONG                                                \
    "/m/long/eeeeeeeeeeffffffffffgggggggggghhhhhhhhhhiiiii" \
    "iiiiijjjjjjjjjj"

#define MANY "/m/long/aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"

/* An operation, the operations before it, and whether a directory may have two
 * names, about which e2fsck -p asks. */
static const struct rename {
    const char *line, *first;
    bool asks;
} renames[] = {
    {"mv /m/tmp /m/doc"},
    {"mv /m/d/new /m/doc"},
    {"mv /m/tmp /m/d/new"},
    {"mv /m/d/new /m/d/fresh"},
    {"mv /m/d/new /m/e/fresh"},
    {"mv /m/d/one /m/e/fresh"},
    {"mv /m/d/one /m/e/hard"},
    {"mv /m/d/link /m/e/old", "rm /m/e/hard"},
    {"mv /m/e/hard /m/doc"},
    {"mv /m/long/doc " LONG},
    {"mv " MANY "0 " MANY "17", "write " MANY "0 3000 9"},
    {"mv " MANY "17 " MANY "0", "write " MANY "0 3000 9"},
    {"mv " LONG " /m/long/doc", "write " LONG " 2000 8"},
    {"mv /m/d /m/e/d", NULL, true},
    {"mv /m/d/sub /m/sub", NULL, true},
    {"mv /m/d/sub /m/e/sub", "mkdir /m/e/sub", true},
    {"mv /m/d /m/empty", "mkdir /m/empty", true},
    {"mv /m/long/dir " LONG, "mkdir /m/long/dir", true},
};

/* ---- gathering ---- */

static struct {
    u8 **image;
    u64 *hash;
    bool *done; /* the rename had returned */
    u32 n;
} cuts;

static bool returned;

/* Images that are in use no more, all of one size. Most cuts leave what another
 * cut has left, and new memory for an image costs more than the copy. */
static struct {
    u8 **image;
    u64 bytes;
    u32 n, room;
} spare;

/* Memory for an image. */
static u8 *take_image(void)
{
    if (spare.bytes == rig_bytes() && spare.n)
        return spare.image[--spare.n];
    while (spare.n)
        free(spare.image[--spare.n]);
    spare.bytes = rig_bytes();
    return malloc(spare.bytes);
}

/* Give an image's memory back, for the next. */
static void give_image(u8 *image)
{
    if (spare.n == spare.room) {
        spare.room += 64;
        spare.image = realloc(spare.image, spare.room * sizeof(*spare.image));
    }
    spare.image[spare.n++] = image;
}

/* A hash of an image, and of whether the command had returned. */
static u64 hash_of(const u8 *data)
{
    u64 h = returned, n = rig_bytes() / 8;
    const u64 *words = (const u64 *)data;
    for (u64 i = 0; i < n; i++)
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15UL;
    return h;
}

/* Keep an image to be judged, unless there is an equal one. */
static void keep(u8 *image)
{
    u64 hash = hash_of(image);
    for (u32 i = 0; i < cuts.n; i++) {
        if (cuts.hash[i] == hash) {
            give_image(image);
            return;
        }
    }
    cuts.image = realloc(cuts.image, (cuts.n + 1) * sizeof(*cuts.image));
    cuts.hash = realloc(cuts.hash, (cuts.n + 1) * sizeof(*cuts.hash));
    cuts.done = realloc(cuts.done, (cuts.n + 1) * sizeof(*cuts.done));
    cuts.image[cuts.n] = image;
    cuts.done[cuts.n] = returned;
    cuts.hash[cuts.n++] = hash;
}

/* The power goes in the midst of the last write; none of what is pending is
 * there, or all, or each sector at random. */
static void tear(struct disk *d, u32 sectors)
{
    for (u32 which = 0; which < 3; which++) {
        u8 *image = take_image();
        shim_cut_torn(d, image, sectors, which);
        keep(image);
    }
}

/* Keep what a cut now may leave: with each choice of the pending writes, if
 * they are few, else with some at random. */
static void cut(struct disk *d)
{
    u32 pending = d == rig_disk ? shim_pending(d) : 0;
    u32 ways = pending > SUBSETS ? 2 + RANDOM : 1U << pending;
    for (u32 i = 0; i < ways && d == rig_disk; i++) {
        u8 *image = take_image();
        if (pending > SUBSETS)
            shim_cut(d, image, i);
        else
            shim_cut_to(d, image, i);
        keep(image);
    }
    if (d == rig_disk && !returned)
        shim_each_tear(d, tear);
}

/* ---- judging ---- */

/* Return the lines of a tree without their counts of names: after a cut these
 * are wrong until e2fsck mends them. Frees the tree; the caller frees the
 * text. */
static char *uncounted(char *tree)
{
    char *text, *line = strtok(tree, "\n");
    size_t n;
    FILE *f = open_memstream(&text, &n);
    for (; line; line = strtok(NULL, "\n"))
        fprintf(f, "%.*s\n", (int)(strrchr(line, '\t') - line), line);
    fclose(f);
    free(tree);
    return text;
}

static const char *judged; /* the command */

/* The image is in the disk: mount and unmount it. Then its tree must be the one
 * after the rename; unless `done`, it may also be the one before. `how` is for
 * messages. */
static void judge(struct outcome *o, bool done, const char *how)
{
    char *wrong, *tree;
    o->cuts++;
    check_eq(rig_do("mount /m"), 0);
    check_eq(rig_do("mounts"), 0);
    bool writable = strstr(rig_said(), " /m rw");
    check_eq(rig_do("umount /m"), 0);
    tree = uncounted(image_look(rig_image(), rig_bytes(), IMAGE_CUT, &wrong));
    bool fine = !strcmp(tree, o->after) || (!done && !strcmp(tree, o->before));
    if ((!fine || !writable || *wrong) && o->bad++ < 3)
        printf("%s, %s, %s: %s%s\n", judged, how, writable ? "rw" : "ro", wrong,
               tree);
    free(wrong);
    free(tree);
}

/* Put an image into the disk. */
static void insert(const u8 *image)
{
    shim_refill(rig_disk, image, rig_bytes());
}

/* e2fsck -fp on the image in the disk. Its status. */
static int preen(void)
{
    char name[] = "/tmp/ext2_cuts.XXXXXX", line[100];
    FILE *f = fdopen(mkstemp(name), "wb+");
    check(f && fwrite(rig_image(), 1, rig_bytes(), f) == rig_bytes());
    check(fflush(f) == 0);
    snprintf(line, sizeof(line), "e2fsck -fp %s > /dev/null 2>&1", name);
    int status = system(line);
    u8 *image = take_image();
    rewind(f);
    check(fread(image, 1, rig_bytes(), f) == rig_bytes());
    insert(image);
    give_image(image);
    fclose(f);
    remove(name);
    return status >> 8; /* as wait(2) has it */
}

/* e2fsck -p comes before the mount, except where it may ask. */
static void preen_one(struct outcome *o, u32 i)
{
    insert(cuts.image[i]);
    int status = preen();
    if (status == 4 && o->asks) {
        insert(cuts.image[i]);
        check_eq(rig_do("mount /m"), 0);
        check_eq(rig_do("umount /m"), 0);
        status = preen();
    }
    if (status > 1 && o->bad++ < 3)
        printf("%s, cut %u: e2fsck -p says %d\n", judged, i, status);
    judge(o, cuts.done[i], "e2fsck -p, then mounted");
}

/* The tree on the disk, which is not mounted, without counts of names. */
static char *look(const char *line)
{
    return uncounted(rig_look(rig_image(), IMAGE_WHOLE, line));
}

/* Do a command and keep what a power cut would leave at each of its writes, and
 * after it. Returns the command's error. */
int cuts_gather(const char *line, struct outcome *o)
{
    *o = (struct outcome){.before = look(line)};
    check_eq(rig_do("mount /m"), 0);
    returned = false;
    shim_on_write = cut;
    int error = rig_do("%s", line);
    shim_on_write = NULL;
    returned = true;
    cut(rig_disk);
    check_eq(rig_do("umount /m"), 0);
    o->after = look(line);
    judged = line;
    return error;
}

/* Judge each image that was kept; one in preen_one_of also after e2fsck -p. */
void cuts_judge(struct outcome *o, u32 preen_one_of)
{
    for (u32 i = 0; i < cuts.n; i++) {
        insert(cuts.image[i]);
        judge(o, cuts.done[i], "mounted");
        if (i % preen_one_of == 0)
            preen_one(o, i);
    }
}

void cuts_end(struct outcome *o)
{
    for (u32 i = 0; i < cuts.n; i++)
        give_image(cuts.image[i]);
    cuts.n = 0;
    free(o->before);
    free(o->after);
}

/* Do the rename, and gather what a cut leaves of it at every write. */
static void gather(const struct rename *r, struct outcome *o)
{
    rig_restore();
    if (r->first) {
        check_eq(rig_do("mount /m"), 0);
        check_eq(rig_do("%s", r->first), 0);
        check_eq(rig_do("sync"), 0);
        check_eq(rig_do("umount /m"), 0);
    }
    check_eq(cuts_gather(r->line, o), 0);
    o->asks = r->asks;
}

/* Gather the cuts of every rename, and have fn judge them. Returns how many
 * were judged. */
static u32 all_cuts(void (*fn)(const struct rename *, struct outcome *))
{
    u32 total = 0, bad = 0;
    if (!rig_disk) {
        rig_make(NULL);
        shim.now_s = 1000;
        rig_script(base);
        rig_keep();
    }
    for (const struct rename *r = renames; r < renames + NELEM(renames); r++) {
        struct outcome o = {0};
        gather(r, &o);
        fn(r, &o);
        if (getenv("SLUICE_CUTS"))
            printf("%6u cuts, %4u bad: %s\n", o.cuts, o.bad, r->line);
        total += o.cuts;
        bad += o.bad;
        cuts_end(&o);
    }
    check_eq(bad, 0);
    return total;
}

/* Judge each image by a mount. */
static void mount_each(const struct rename *r, struct outcome *o)
{
    (void)r;
    for (u32 i = 0; i < cuts.n; i++) {
        insert(cuts.image[i]);
        judge(o, cuts.done[i], "mounted");
    }
}

TEST(a_rename_is_whole_after_a_cut_and_a_mount)
{
    check(all_cuts(mount_each) > 200);
}

TEST(a_rename_is_whole_after_a_cut_of_a_drive_with_a_volatile_cache)
{
    shim.volatile_cache = true;
    check(all_cuts(mount_each) > 250);
}

/* Judge each image by e2fsck -p, and then a mount. */
static void preen_each(const struct rename *r, struct outcome *o)
{
    (void)r;
    for (u32 i = 0; i < cuts.n; i++)
        preen_one(o, i);
}

TEST(a_rename_is_whole_after_a_cut_when_e2fsck_comes_first)
{
    check(all_cuts(preen_each) > 200);
}

/* Put aside the images of the cuts so far. Mount each of these images, and cut
 * the mount, too. mount_each judges the images of the second cuts. */
static void cut_the_mount(const struct rename *r, struct outcome *o)
{
    (void)r;
    u32 n = cuts.n;
    u8 **image = cuts.image;
    bool *done = cuts.done;
    cuts.image = NULL;
    cuts.done = NULL;
    cuts.n = 0;
    for (u32 i = 0; i < n; i++) {
        returned = done[i];
        insert(image[i]);
        shim_on_write = cut;
        check_eq(rig_do("mount /m"), 0);
        shim_on_write = NULL;
        check_eq(rig_do("umount /m"), 0);
        give_image(image[i]);
    }
    free(image);
    free(done);
    mount_each(r, o);
}

TEST(a_rename_is_whole_after_a_cut_and_another_during_the_mount)
{
    check(all_cuts(cut_the_mount) > 400);
}

/* ---- a record that has outlived its rename ---- */

/* Each pair leaves the disk with a record, and perhaps with what would be a
 * state in between, had it not been made on purpose. */
static const char *const outlived[][2] = {
    {"mv /m/d/new /m/e/fresh", "ln /m/e/fresh /m/d/new"},
    {"mv /m/tmp /m/doc", "write /m/tmp 3000 9"},
    {"mv /m/tmp /m/doc", "ln /m/doc /m/tmp"},
    {"mv /m/d/one /m/e/hard", "ln /m/e/hard /m/d/one"},
    {"mv /m/d/new /m/doc", "mv /m/doc /m/d/new"},
    {"mv /m/d/new /m/doc", "write /m/d/new 500 9"},
    {"mv /m/d/sub /m/sub", "mkdir /m/d/sub"},
    {"mv /m/d/sub /m/sub", "mv /m/sub /m/d/sub"},
    {"mv /m/d /m/e/d", "mkdir /m/d"},
    {"mv /m/a /m/b", "mv /m/b /m/a"},
    {"mv /m/a /m/b", "mkdir /m/a"},
    {"mv /m/only/x /m/y", "rmdir /m/only"},
    {"mv /m/only/x /m/e/y", "rm /m/e/y"},
    {"mv /m/a_long_one /m/b", "mv /m/b /m/a_long_one"},
    {"mv /m/long/doc " LONG, "ln " LONG " /m/long/doc"},
    {"mv /m/long/doc " LONG, "mv " LONG " /m/long/doc"},
    {"mv /m/long/doc " LONG, "rm " LONG},
};

/* A rename leaves a record in the superblock. After a further operation and a
 * power cut it must not be done again. */
TEST(a_record_that_has_outlived_its_rename_changes_nothing)
{
    rig_make(NULL);
    shim.now_s = 1000;
    rig_script(base);
    rig_script("mount /m\nmkdir /m/a\nmkdir /m/a_long_one\n"
               "mkdir /m/b\nmkdir /m/last\nmkdir /m/only\n"
               "create /m/only/x\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < NELEM(outlived); i++) {
        struct outcome o = {0};
        rig_restore();
        check_eq(rig_do("mount /m"), 0);
        check_eq(rig_do("%s", outlived[i][0]), 0);
        check_eq(rig_do("%s", outlived[i][1]), 0);
        u8 *image = malloc(rig_bytes());
        shim_cut(rig_disk, image, 1);
        check_eq(rig_do("umount /m"), 0);
        o.after = uncounted(rig_look(rig_image(), IMAGE_WHOLE, "both"));
        shim_insert(rig_disk, image, rig_bytes());
        judged = outlived[i][1];
        judge(&o, true, "after a rename");
        check_eq(o.bad, 0);
        free(o.after);
    }
}

/* ---- a record that nobody wrote ---- */

/* Return the inode of one of these paths, or else the root, 0 or a number below
 * 40. */
static u32 some_ino(u64 *random)
{
    static const char *const paths[] = {"/tmp", "/doc",   "/d",   "/d/sub",
                                        "/e",   "/e/old", "/long"};
    u32 i = random_u64(random) % 10;
    if (i < NELEM(paths))
        return image_ino(rig_image(), paths[i]);
    return i == 7 ? random_u64(random) % 40 : i == 8 ? 0 : EXT2_ROOT_INO;
}

/* Draw an inode. At random, let the path's entry lead to it; at random, make it
 * a husk. */
static void disturb(const char *path, u64 *random)
{
    u32 ino = some_ino(random);
    if (ino < 11)
        return;
    if (random_u64(random) % 2)
        image_entry(rig_image(), path)->ino = ino;
    if (random_u64(random) % 4)
        return;
    struct ext2_inode *husk = image_inode(rig_image(), ino);
    *husk = (struct ext2_inode){.mode = S_IFDIR | 0700,
                                .links_count = 2,
                                .generation = husk->generation};
}

/* Give a number of a record the generation that its inode has. */
static void agree(struct ext2_named *named)
{
    named->generation =
        image_inode(rig_image(), MAX(named->ino, 1))->generation;
}

/* Write a record of a rename that nobody began: its numbers are drawn, but
 * often of inodes that there are. */
static void invent(u64 *random, u32 root)
{
    struct ext2_intent *i = &image_super(rig_image())->intent;
    u32 *numbers = &i->from.ino;
    for (u32 k = 0; k < 10; k++)
        numbers[k] = some_ino(random);
    if (random_u64(random) % 2)
        i->from.ino = i->to.ino = EXT2_ROOT_INO;
    agree(&i->from);
    agree(&i->to);
    if (i->moved.ino && random_u64(random) % 8)
        agree(&i->moved);
    if (i->replaced.ino && random_u64(random) % 8)
        agree(&i->replaced);
    if (random_u64(random) % 4) {
        i->block = 0;
        i->at = (u8 *)image_entry(rig_image(), "/tmp") -
                (u8 *)image_block(rig_image(), root);
    }
    i->magic = EXT2_INTENT_MAGIC;
    i->name_len = random_u64(random) % 8 ? 3 : random_u64(random);
    memcpy(i->name, random_u64(random) % 8 ? "doc" : "a/b", 3);
}

/* Mount with random records and random damage, 1,500 times. */
TEST(a_wrong_record_ends_in_no_panic)
{
    u64 random = 1;
    rig_make(NULL);
    rig_script(base);
    u32 doc = image_ino(rig_image(), "/doc");
    rig_script("mount /m\n");
    check_eq(rig_do("ln /m/doc /m/.replaced.%u", doc), 0);
    rig_script("umount /m\n");
    rig_keep();
    for (u32 n = 0; n < 1500; n++) {
        rig_restore();
        invent(&random, image_map(rig_image(), EXT2_ROOT_INO, 0));
        disturb("/doc", &random);
        disturb("/tmp", &random);
        check_eq(rig_do("mount /m"), 0);
        check_eq(rig_do("umount /m"), 0);
        check_eq(ext2_inodes_in_use(), 1);
    }
}

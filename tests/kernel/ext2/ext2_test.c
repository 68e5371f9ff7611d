/*
 * The kernel's ext2 on small images in memory: what each operation does and
 * costs; that it survives every failure of the disk and of memory; and that a
 * power cut at any of its writes leaves what e2fsck -p can repair.
 *
 * - The image is mounted at /m. rig_do does a command and returns its error;
 *   rig_script does several, which must succeed (ext2_rig.h). base_make makes
 *   the image `base`, and base_mount restores and mounts it.
 * - A tree is the text that image_look gives: a line for each path, with its
 *   kind, contents and number of names (ext2_image.h).
 * - shim_fail makes the n-th read, write, flush or page fail; shim_cut gives
 *   what a power cut would leave (ext2_shim.h).
 *
 * link: tests/kernel/ext2/ext2_rig.c tests/kernel/ext2/ext2_mounts.c
 * link: tests/kernel/ext2/ext2_places.c tests/kernel/ext2/ext2_files.c
 * link: tests/kernel/ext2/ext2_names.c tests/kernel/ext2/ext2_cuts.c
 * link: tests/kernel/ext2/ext2_torn.c tests/kernel/ext2/ext2_order.c
 */
#include "tests/kernel/ext2/ext2_rig.h"

#define T0 1000 /* seconds since 1970 when the image was made */
#define T1 2000 /* when an operation is done */

/* Some of everything; /m/full has no room for a name of 40 bytes. */
static const char base[] =
    "mount /m\n"
    "mkdir /m/d\n"
    "mkdir /m/d/sub\n"
    "mkdir /m/e\n"
    "mkdir /m/full\n"
    "many /m/full 19 aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\n"
    "write /m/f 5000 1\n"
    "ln /m/f /m/d/hard\n"
    "write /m/d/g 700 2\n"
    "create /m/none\n"
    "write /m/big 30000 3\n"
    "pwrite /m/huge 3000 2000 4\n"
    "pwrite /m/huge 280000 4000 4\n"
    "pwrite /m/huge 67700000 3000 5\n"
    "symlink f /m/s\n"
    "symlink d/../d/../d/../d/../d/../d/../d/../d/../d/../d/../d/../f /m/l\n"
    "mknod /m/dev 1281\n"
    "umount /m\n";

/* An operation, what it returns; how many writes it waits for, how many
 * buffers it asks for; and whose times it changes: access, modification,
 * change. Each is done once on the base. */
static const struct operation {
    const char *line;
    int error;
    u32 writes, looks;
    const char *times;
    const char *partly; /* a file's names: an error may leave it changed in
                           part; an empty directory: or without it */
    bool moved;         /* a directory may have two names after a power cut */
    bool named; /* what it did is on the disk when it returns, whatever is
                   still to be written */
} operations[] = {
#include "tests/kernel/ext2/ext2_operations.h"
};

#define OPERATION_EACH(o)                        \
    for (const struct operation *o = operations; \
         o < operations + NELEM(operations); o++)

/* Make the base image, and keep it. */
static void base_make(void)
{
    rig_make(NULL);
    shim.now_s = T0;
    rig_script(base);
    free(rig_look(rig_image(), IMAGE_WHOLE, "the preparation"));
    rig_keep();
    shim.now_s = T1;
}

/* Restore the base image and mount it. Nothing of it is cached. */
static void base_mount(void)
{
    rig_restore();
    check_eq(rig_do("mount /m"), 0);
}

/* Return whether an operation is a mount, so that the image must not be mounted
 * before. */
static bool mounts_itself(const struct operation *o)
{
    return strncmp(o->line, "mount", 5) == 0;
}

/* ---- what they do ---- */

/* Print the path, and a, m, c for each of its times that differs from the
 * base's: of access, modification and change. Print nothing if none differs. */
static void times_changed(FILE *f, const char *path, u32 ino)
{
    const struct ext2_inode *was = image_inode(rig_kept(), ino);
    const struct ext2_inode *is = image_inode(rig_image(), ino);
    bool old = was->links_count && is->generation == was->generation;
    bool a = !old || is->atime != was->atime;
    bool m = !old || is->mtime != was->mtime;
    bool c = !old || is->ctime != was->ctime;
    u32 times[] = {is->atime, is->mtime, is->ctime};
    /* Never set, or of the image, of an operation, or the shim's clock. */
    for (u32 i = 0; i < 3; i++)
        check(times[i] == 0 || times[i] == T0 || times[i] == T1 ||
              times[i] >= 1000000000);
    if (a || m || c)
        fprintf(f, " %s:%s%s%s", path, a ? "a" : "", m ? "m" : "",
                c ? "c" : "");
}

/* Return what times_changed prints of all paths in a tree. To be freed. */
static char *times_of(const char *tree)
{
    char *text, path[512];
    size_t n;
    FILE *f = open_memstream(&text, &n);
    for (const char *at = tree; *at; at = strchr(at, '\n') + 1) {
        snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\t"), at);
        times_changed(f, path, image_ino(rig_image(), path));
    }
    fclose(f);
    return text;
}

/* Each row of the operations' table says how many writes the operation waits
 * for, how many buffers it asks for, and which times it changes. */
TEST(operations_cost_what_is_written_of_them)
{
    bool bad = false;
    base_make();
    OPERATION_EACH(o)
    {
        if (!mounts_itself(o))
            base_mount();
        else
            rig_restore();
        u64 writes = shim_writes_waited(), looks = shim_looks();
        int error = rig_do("%s", o->line);
        writes = shim_writes_waited() - writes;
        looks = shim_looks() - looks;
        rig_do("umount /m");
        char *tree = rig_look(rig_image(), IMAGE_WHOLE, o->line);
        char *times = times_of(tree);
        const char *changed = *times ? times + 1 : times;
        if (error != o->error || writes != o->writes || looks != o->looks ||
            strcmp(changed, o->times)) {
            printf("%s: {%d, %lu, %lu, \"%s\"}\n", o->line, error, writes,
                   looks, changed);
            bad = true;
        }
        free(tree);
        free(times);
    }
    check(!bad);
}

/* ---- that they survive failures ---- */

/* Return the length of a tree's line, without the count of names at its end. */
static u32 line_length(const char *line)
{
    const char *tab = strchr(strchr(line, '\t') + 1, '\t');
    return tab - line;
}

/* Return whether a tree has a line, apart from the number of names. */
static bool has_line(const char *tree, const char *line)
{
    u32 n = line_length(line);
    for (; *tree; tree = strchr(tree, '\n') + 1)
        if (line_length(tree) == n && memcmp(tree, line, n) == 0)
            return true;
    return false;
}

/* True if the line's path is one of these. */
static bool is_path(const char *line, const char *paths)
{
    u32 n = strcspn(line, "\t");
    for (; paths && *paths; paths += *paths == ' ') {
        u32 length = strcspn(paths, " ");
        if (length == n && memcmp(line, paths, n) == 0)
            return true;
        paths += length;
    }
    return false;
}

/* Check that the tree has each line that is in both a and b (b NULL: each line
 * of a). Lines of the paths in `but` may be missing. */
static void expect_lines(const char *tree, const char *a, const char *b,
                         const char *but, const char *where)
{
    for (; *a; a = strchr(a, '\n') + 1) {
        if ((b && !has_line(b, a)) || has_line(tree, a) || is_path(a, but))
            continue;
        printf("%s: this is lost: %.*s\n", where, (int)strcspn(a, "\n"), a);
        exit(1);
    }
}

/* True if both trees have the same lines, except for the paths in `but`. */
static bool same_tree(const char *tree, const char *want, const char *but)
{
    const char *t = tree, *w = want;
    while (*t || *w) {
        if (is_path(t, but) || is_path(w, but)) {
            t += is_path(t, but) ? strcspn(t, "\n") + 1 : 0;
            w += is_path(w, but) ? strcspn(w, "\n") + 1 : 0;
            continue;
        }
        u32 n = strcspn(w, "\n") + 1;
        if (strncmp(t, w, n))
            return false;
        t += n;
        w += n;
    }
    return true;
}

/* A file's contents in an image; its size in *n. To be freed. */
static u8 *contents(const u8 *image, const char *path, u64 *n)
{
    u32 bytes = image_block_bytes(image), ino = image_ino(image, path);
    *n = ino ? image_inode(image, ino)->size : 0;
    u8 *data = calloc(1, *n + bytes);
    for (u64 at = 0; at < *n; at += bytes) {
        u32 blkno = image_map(image, ino, at / bytes);
        if (blkno)
            memcpy(data + at, image_block(image, blkno), bytes);
    }
    return data;
}

/* Check that each byte of a file that was written in part is an old or a new
 * one, or a hole's. */
static void expect_old_or_new(const u8 *after, const char *paths,
                              const char *where)
{
    char path[PATH_BYTES];
    u64 n, old_n, new_n;
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(paths, " "), paths);
    u32 ino = image_ino(rig_image(), path);
    if (ino && image_inode(rig_image(), ino)->size > 1000000)
        return; /* most of it is holes */
    u8 *got = contents(rig_image(), path, &n);
    u8 *old = contents(rig_kept(), path, &old_n);
    u8 *new = contents(after, path, &new_n);
    for (u64 at = 0; at < n; at++) {
        if (got[at] == 0 || (at < old_n && got[at] == old[at]) ||
            (at < new_n && got[at] == new[at]))
            continue;
        printf("%s: byte %lu of %s is %u, neither old nor new\n", where, at,
               path, got[at]);
        exit(1);
    }
    free(got);
    free(old);
    free(new);
}

/* The result of an operation in which nothing fails. */
struct outcome {
    const char *before; /* trees */
    char *after, *said;
    u8 *image;
};

/* Do an operation in which nothing fails, and remember what it left. */
static void outcome_find(const struct operation *o, const char *before,
                         struct outcome *out)
{
    if (mounts_itself(o))
        rig_restore();
    else
        base_mount();
    check_eq(rig_do("%s", o->line), o->error);
    out->said = strdup(rig_said());
    rig_do("umount /m");
    out->before = before;
    out->after = rig_look(rig_image(), IMAGE_WHOLE, o->line);
    out->image = malloc(rig_bytes());
    memcpy(out->image, rig_image(), rig_bytes());
}

/* Free what an outcome has. */
static void outcome_free(struct outcome *out)
{
    free(out->after);
    free(out->said);
    free(out->image);
}

/* Check the image after a failure and an unmount. Its superblock says whether
 * it is whole. If it is, the operation has been done completely or not at all.
 */
static void judge(const struct operation *o, int error,
                  const struct outcome *out, const char *where)
{
    const struct ext2_super *sb = image_super(rig_image());
    const char *partly = error ? o->partly : NULL;
    bool whole = sb->state == EXT2_VALID_FS;
    enum image_state state = whole      ? IMAGE_WHOLE
                             : o->moved ? IMAGE_MOVED
                                        : IMAGE_CUT;
    char *tree = rig_look(rig_image(), state, where);
    if (!error)
        expect_lines(tree, out->after, NULL, NULL, where);
    else
        expect_lines(tree, out->before, out->after, partly, where);
    partly = o->moved ? NULL : partly;
    if (whole && !same_tree(tree, out->after, partly) &&
        !(error && same_tree(tree, out->before, partly))) {
        printf("%s: %d, but not as %s:\n%s", where, error,
               error ? "before or after" : "after", tree);
        exit(1);
    }
    if (partly)
        expect_old_or_new(out->image, partly, where);
    free(tree);
}

static const char *const fault_names[FAULTS] = {"read", "write", "flush",
                                                "page"};

/* Do an operation in which the n-th read, write, flush or page fails. Return
 * false if there are not so many. */
static bool trial(const struct operation *o, enum shim_fault fault, u32 n,
                  bool on, const struct outcome *out)
{
    char where[512];
    snprintf(where, sizeof(where), "%s, %s %u %s", o->line, fault_names[fault],
             n, on ? "and on" : "");
    if (mounts_itself(o))
        rig_restore();
    else
        base_mount();
    u64 in_use = ext2_inodes_in_use();
    shim_fail(fault, rig_disk, n, on);
    int error = rig_do("%s", o->line);
    bool failed = shim_failed();
    shim_fail(fault, rig_disk, 0, false);
    int want = fault == FAULT_PAGE ? -ENOMEM : -EIO;
    if (error != o->error && !(failed && error == want)) {
        printf("%s: returned %d\n", where, error);
        exit(1);
    }
    if (!error && strcmp(rig_said(), out->said)) {
        printf("%s: said %s\ninstead of %s\n", where, rig_said(), out->said);
        exit(1);
    }
    if (!strstr(o->line, "mount"))
        check_eq(ext2_inodes_in_use(), in_use);
    error = error == o->error ? 0 : error;
    rig_do("umount /m"); /* it may have been */
    check_eq(ext2_inodes_in_use(), 1);
    judge(o, error, out, where);
    return failed;
}

/* Do each operation again and again: the first failure of this kind in it, then
 * the second, until none comes. There must be `least` trials. */
static void trials(enum shim_fault fault, bool on, u32 least)
{
    u32 count = 0;
    if (!rig_disk)
        base_make();
    char *before = rig_look(rig_kept(), IMAGE_WHOLE, "nothing");
    OPERATION_EACH(o)
    {
        struct outcome out;
        outcome_find(o, before, &out);
        for (u32 n = 1; trial(o, fault, n, on, &out); n++)
            count++;
        outcome_free(&out);
    }
    free(before);
    if (count < least)
        printf("there were only %u\n", count);
    check(count >= least);
}

TEST(every_operation_bears_the_failure_of_any_read)
{
    trials(FAULT_READ, false, 300);
}

/* Nothing stays in the cache, so every block that is looked at is read. */
TEST(every_operation_bears_the_failure_of_any_read_without_a_cache)
{
    base_make();
    shim.buffers = 0;
    shim.flush_permille = 1000;
    trials(FAULT_READ, false, 800);
}

TEST(every_operation_bears_the_failure_of_any_write)
{
    trials(FAULT_WRITE, false, 100);
}

TEST(
    every_operation_bears_the_failure_of_any_write_when_data_is_written_through)
{
    shim.through_permille = 1000;
    trials(FAULT_WRITE, false, 100);
}

TEST(every_operation_bears_a_disk_that_takes_no_more_writes)
{
    trials(FAULT_WRITE, true, 100);
}

TEST(every_operation_bears_the_failure_of_any_flush)
{
    trials(FAULT_FLUSH, false, 4);
}

TEST(every_operation_bears_the_lack_of_memory)
{
    trials(FAULT_PAGE, false, 4);
}

/* ---- that the power may go ---- */

static struct {
    const struct operation *o;
    const struct outcome *out;
    u32 cuts;
} cutting;

/* Memory for an image that a cut leaves. */
static u8 *cut_image(void)
{
    static u8 *image;
    return image ?: (image = malloc(rig_bytes()));
}

/* The cut's image: how is it? */
static void cut_judge(u32 which, bool done)
{
    const struct operation *o = cutting.o;
    const u8 *image = cut_image();
    char where[512];
    snprintf(where, sizeof(where), "a power cut during %s, cut %u", o->line,
             cutting.cuts++);
    enum image_state state = image_super(image)->state == EXT2_VALID_FS
                                 ? IMAGE_WHOLE
                             : o->moved ? IMAGE_MOVED
                                        : IMAGE_CUT;
    char *tree = rig_look(image, state, where);
    expect_lines(tree, cutting.out->before, cutting.out->after, o->partly,
                 where);
    if (done && which < 2)
        expect_lines(tree, cutting.out->after, NULL, NULL, where);
    if (done && o->named)
        expect_lines(cutting.out->after, tree, NULL, NULL, where);
    free(tree);
}

/* Judge the image that a cut now leaves. */
static void cut_look(u32 which, bool done)
{
    shim_cut(rig_disk, cut_image(), which);
    cut_judge(which, done);
}

/* The last write is cut in its midst. */
static void cut_torn(struct disk *d, u32 sectors)
{
    for (u32 which = 0; which < 4; which++) {
        shim_cut_torn(d, cut_image(), sectors, which);
        cut_judge(which, false);
    }
}

/* Called after each write: judge what some cuts now would leave, and cuts
 * within the write. */
static void cut_here(struct disk *d)
{
    if (d != rig_disk)
        return;
    for (u32 which = 0; which < 5; which++)
        cut_look(which, false);
    shim_each_tear(d, cut_torn);
}

/* Do each operation, and cut the power at each of its writes, and after it. */
static void cut_operations(void)
{
    base_make();
    char *before = rig_look(rig_kept(), IMAGE_WHOLE, "nothing");
    OPERATION_EACH(o)
    {
        struct outcome out;
        outcome_find(o, before, &out);
        if (mounts_itself(o))
            rig_restore();
        else
            base_mount();
        cutting.o = o;
        cutting.out = &out;
        shim_on_write = cut_here;
        check_eq(rig_do("%s", o->line), o->error);
        if (o->named)
            cut_look(0, true);
        cut_look(1, true);
        rig_do("umount /m");
        shim_on_write = NULL;
        outcome_free(&out);
    }
    free(before);
    check(cutting.cuts > 100);
}

TEST(a_power_cut_at_any_write_leaves_what_can_be_repaired)
{
    cut_operations();
}

TEST(so_does_one_of_a_drive_with_a_volatile_cache)
{
    shim.volatile_cache = true;
    cut_operations();
}

/* ---- that several work at once ---- */

/* Each two of a row, done at the same time, end as if one had come first, or as
 * if one had found its path gone, which is walked before the rest. */
static const char *const meetings[][2] = {
    {"rm /m/d/g", "mv /m/d/g /m/x"},
    {"rm /m/d/g", "rm /m/d/g"},
    {"rm /m/d/g", "mv /m/f /m/d/g"},
    {"rm /m/none", "ln /m/none /m/d/n"},
    {"rm /m/d/g", "create /m/d/g"},
    {"rmdir /m/e", "create /m/e/n"},
    {"rmdir /m/e", "mv /m/f /m/e/f"},
    {"rmdir /m/d/sub", "mv /m/e /m/d/sub"},
    {"create /m/n", "create /m/n"},
    {"mkdir /m/n", "mv /m/e /m/n"},
    {"mv /m/f /m/n", "mv /m/f /m/d/n"},
    {"mv /m/f /m/n", "mv /m/none /m/n"},
    {"mv /m/f /m/d/g", "mv /m/d/g /m/f"},
    {"mv /m/f /m/d/g", "rm /m/f"},
    {"mv /m/f /m/d/g", "rm /m/d/g"},
    {"mv /m/d /m/e/d", "mv /m/e /m/d/e"},
    {"mv /m/d /m/e/d", "rmdir /m/d/sub"},
    {"mv /m/d/sub /m/e/x", "mkdir /m/d/sub/y"},
    {"mv /m/d/sub /m/e", "create /m/e/n"},
    {"ln /m/f /m/e/n", "ln /m/big /m/e/n"},
    {"ln /m/f /m/e/n", "rmdir /m/e"},
    {"pwrite /m/f 5000 3000 1", "truncate /m/f 100"},
    {"truncate /m/big 0", "rm /m/big"},
    {"symlink a /m/n", "mknod /m/n 5"},
    {"fsync /m/f", "pwrite /m/f 5000 3000 1"},
    {"chmod /m/f 600", "rm /m/f"},
};

static const char *const *meeting;
static int met[2];

/* One of two processes, which does its command. */
static void meet(u32 fibre)
{
    char line[200];
    strcpy(line, meeting[fibre - 1]);
    met[fibre - 1] = command_run(line, NULL);
}

/* The results of a pair of operations, and the tree afterwards. */
static char *ended(const char *where)
{
    char *tree, *text;
    rig_do("umount /m");
    check_eq(ext2_inodes_in_use(), 1);
    check_eq(image_super(rig_image())->state, EXT2_VALID_FS);
    tree = rig_look(rig_image(), IMAGE_WHOLE, where);
    text = malloc(strlen(tree) + 50);
    sprintf(text, "%d %d\n%s", !met[0], !met[1], tree);
    free(tree);
    return text;
}

/* Do the two operations, the one with number `first` before the other. If
 * `alone`, do only this one: the other counts as failed. */
static char *in_order(u32 first, bool alone)
{
    base_mount();
    meet(1 + first);
    met[1 - first] = -ENOENT;
    if (!alone)
        meet(2 - first);
    return ended(meeting[0]);
}

/* Do both commands at once, the first stopping at this step. The tree must be
 * one that they leave in either order; or, if one did not find what it needs,
 * that of the other alone. */
static bool at_once(u64 stop, char *want[4])
{
    char where[300];
    snprintf(where, sizeof(where), "%s, and at %lu %s", meeting[0], stop,
             meeting[1]);
    base_mount();
    bool stopped = shim_fibres(2, meet, stop);
    char *got = ended(where);
    bool fine = false;
    for (u32 i = 0; i < 4; i++)
        fine |= !strcmp(got, want[i]) && (i < 2 || met[3 - i] == -ENOENT);
    if (!fine) {
        printf("%s: %sis neither %snor %s", where, got, want[0], want[1]);
        exit(1);
    }
    free(got);
    return stopped;
}

/* Stop the first of two operations at each of its locks, buffers and writes,
 * and let the second run. The result must be that of one order or the other. */
TEST(two_operations_at_once_end_as_if_one_came_first)
{
    u32 count = 0;
    base_make();
    rig_do("umount /m");
    for (u32 i = 0; i < 2 * NELEM(meetings); i++) {
        const char *pair[2] = {meetings[i / 2][i % 2],
                               meetings[i / 2][1 - i % 2]};
        meeting = pair;
        char *want[4] = {in_order(0, false), in_order(1, false),
                         in_order(0, true), in_order(1, true)};
        for (u64 stop = 1; at_once(stop, want); stop++)
            count++;
        for (u32 w = 0; w < NELEM(want); w++)
            free(want[w]);
    }
    check(count > 500);
}

/* ---- the last user of an inode ---- */

static bool second_stays; /* its reference does */
static struct inode *stayed;

/* Read a file, and check that it has the contents of /m/g. */
static int read_g(struct inode *ip)
{
    u8 data[700];
    struct streams streams = {0};
    struct uio u = {.addr = (u64)data, .left = sizeof(data)};
    int error = ext2_read(ip, &u, &streams);
    for (u32 i = 0; !error && i < sizeof(data); i++)
        check_eq(data[i], command_pattern(2, i));
    return error;
}

/* The first reads a file and lets go of it, which writes its access time; the
 * second uses it, too, and removes its only name. */
static void use(u32 fibre)
{
    struct inode *ip;
    int error = command_open("/m/d/g", false, &ip);
    if (error)
        return;
    check_eq(read_g(ip), 0);
    iunlock(ip);
    if (fibre == 2)
        check_eq(ext2_unlink("/m/d/g"), 0);
    if (fibre == 2 && second_stays)
        stayed = ip;
    else
        iput(ip);
}

/* Two processes use a file. In each trial the second one does all its work at
 * another point of the first one's. Returns how many points there are. */
static u32 uses(bool stays)
{
    bool more = true;
    u32 n = 0;
    for (second_stays = stays; more; n++) {
        base_mount();
        stayed = NULL;
        more = shim_fibres(2, use, n + 1);
        if (stayed) {
            check_eq(ilock_valid(stayed), 0);
            check_eq(read_g(stayed), 0);
            command_close(stayed);
        }
        check_eq(rig_do("umount /m"), 0);
        check_eq(ext2_inodes_in_use(), 1);
        char *tree = rig_look(rig_image(), IMAGE_WHOLE, "two users of a file");
        check(!strstr(tree, "/d/g\t"));
        free(tree);
    }
    return n;
}

TEST(the_last_user_of_an_inode_without_names_frees_it_and_no_other)
{
    base_make();
    shim.spin_switches = true;
    check(uses(false) > 20);
    check(uses(true) > 20);
}

/*
 * Unit tests of names, of ext2_test: paths and links, what each operation
 * refuses, directories' entries, and directories that are damaged.
 *
 * - The image, with blocks of 1 KiB, is mounted at /m. rig_script does commands
 *   that must succeed; rig_do does one, and returns its error; rig_end unmounts
 *   and checks the image; rig_keep and rig_restore keep it and go back to it.
 * - A tree, from rig_look, is a text with a line for each path.
 * - `family` makes files, directories, and links: loop leads to itself,
 *   dangling nowhere, tof to the file f, tolink to tof, tod to the directory d,
 *   and in d, up to f.
 */
#include <stddef.h>

#include "tests/kernel/ext2/ext2_rig.h"
#include "kernel/ext2/internal.h"

/* ---- what is refused ---- */

static const struct {
    const char *line;
    int error;
} refusals[] = {
    {"create /m/none/x", -ENOENT},
    {"create /m/f/x", -ENOTDIR},
    {"create /m/new/", -EISDIR},
    {"create /m/f/", -ENOTDIR},
    {"create /m/f/ x", -EEXIST},
    {"create /m/d x", -EEXIST},
    {"create /m/loop", -ELOOP},
    {"create /m/loop x", -EEXIST},
    {"create /m/dangling/x", -ENOENT},
    {"mkdir /", -EEXIST},
    {"mkdir /m", -EEXIST},
    {"mkdir /m/d/.", -EEXIST},
    {"mkdir /m/d/..", -EEXIST},
    {"mkdir /m/f", -EEXIST},
    {"mkdir /m/f/x", -ENOTDIR},
    {"mkdir /m/dangling", -EEXIST},
    {"mkdir /m/dangling/", -EEXIST},
    {"symlink x /m/f", -EEXIST},
    {"symlink x /m/new/", -ENOENT},
    {"symlink x /m/none/y", -ENOENT},
    {"mknod /m/f 1", -EEXIST},
    {"mknod /m/new/ 1", -ENOENT},
    {"mknod /m/n 65536", -EINVAL},
    {"rm /m/none", -ENOENT},
    {"rm /m/none/x", -ENOENT},
    {"rm /m/d", -EISDIR},
    {"rm /", -EISDIR},
    {"rm /m/d/.", -EISDIR},
    {"rm /m/d/..", -EISDIR},
    {"rm /m/f/", -ENOTDIR},
    {"rm /m/tolink/", -ENOTDIR},
    {"rm /m/f/x", -ENOTDIR},
    {"rmdir /m/f", -ENOTDIR},
    {"rmdir /m/f/", -ENOTDIR},
    {"rmdir /m/none", -ENOENT},
    {"rmdir /m/d", -ENOTEMPTY},
    {"rmdir /m/d/.", -EINVAL},
    {"rmdir /m/d/..", -ENOTEMPTY},
    {"rmdir /m", -EBUSY},
    {"rmdir /m/tod", -ENOTDIR},
    {"rmdir /m/tod/", -ENOTDIR},
    {"ln /m/none /m/x", -ENOENT},
    {"ln /m/d /m/x", -EPERM},
    {"ln /m/f /m/g", -EEXIST},
    {"ln /m/f /m/d", -EEXIST},
    {"ln /m/f /m/x/", -ENOENT},
    {"ln /m/f /m/none/x", -ENOENT},
    {"ln /m/f /m/g/x", -ENOTDIR},
    {"ln /m/f /x", -EXDEV},
    {"ln /m/f/ /m/x", -ENOTDIR},
    {"mv /m/none /m/x", -ENOENT},
    {"mv /m/f /m/none/x", -ENOENT},
    {"mv /m/f /m/g/x", -ENOTDIR},
    {"mv /m/f /m/d", -EISDIR},
    {"mv /m/d /m/f", -ENOTDIR},
    {"mv /m/e /m/d", -ENOTEMPTY},
    {"mv /m/d /m/d/sub", -EINVAL},
    {"mv /m/d /m/d/sub/x", -EINVAL},
    {"mv /m/d /m/d/x", -EINVAL},
    {"mv /m/d/sub/x /m/d", -ENOENT},
    {"mv /m/d/sub /m/d", -ENOTEMPTY},
    {"mv /m/d/in /m/d", -EISDIR},
    {"mv /m/f /m/x/", -ENOTDIR},
    {"mv /m/f/ /m/x", -ENOTDIR},
    {"mv /m/f /m/d/.", -EBUSY},
    {"mv /m/d/.. /m/x", -EBUSY},
    {"mv /m/. /m/x", -EBUSY},
    {"mv /m/f /x", -EXDEV},
    {"mv /m/f /m/g/", -ENOTDIR},
    {"stat /m/none", -ENOENT},
    {"stat /m/f/", -ENOTDIR},
    {"stat /m/f/.", -ENOTDIR},
    {"stat /m/f/..", -ENOTDIR},
    {"stat /m/loop", -ELOOP},
    {"stat /m/loop/x", -ELOOP},
    {"stat /m/dangling", -ENOENT},
    {"stat /m/tof/", -ENOTDIR},
    {"stat /m/empty_name/", -ENOENT},
    {"readlink /m/f", -EINVAL},
    {"readlink /m/tod/", -EINVAL},
    {"readlink /m/d", -EINVAL},
    {"ls /m/f", -ENOTDIR},
    {"truncate /m/d 0", -EISDIR},
    {"truncate /m/none 0", -ENOENT},
    {"chmod /m/none 600", -ENOENT},
    {"chmod /m/f 10000", -EINVAL},
    {"cd /m/none", -ENOENT},
};

static const char family[] = "mount /m\n"
                             "write /m/f 10 1\n"
                             "create /m/g\n"
                             "mkdir /m/d\n"
                             "mkdir /m/d/sub\n"
                             "create /m/d/in\n"
                             "mkdir /m/e\n"
                             "symlink loop /m/loop\n"
                             "symlink nowhere /m/dangling\n"
                             "symlink f /m/tof\n"
                             "symlink tof /m/tolink\n"
                             "symlink d /m/tod\n"
                             "symlink /m/d/ /m/abs\n"
                             "symlink ../f /m/d/up\n";

/* Do each row's command on the family, and compare the tree before and
 * after. */
TEST(a_wrong_name_gives_its_error_and_changes_nothing)
{
    rig_make(NULL);
    rig_script(family);
    rig_end();
    rig_keep();
    char *before = rig_look(rig_image(), IMAGE_WHOLE, "nothing");
    for (u32 i = 0; i < NELEM(refusals); i++) {
        rig_restore();
        rig_script("mount /m\n");
        int error = rig_do("%s", refusals[i].line);
        if (error != refusals[i].error) {
            printf("%s: %d\n", refusals[i].line, error);
            exit(1);
        }
        rig_end();
        char *after = rig_look(rig_image(), IMAGE_WHOLE, refusals[i].line);
        if (strcmp(before, after)) {
            printf("%s changes something:\n%s", refusals[i].line, after);
            exit(1);
        }
        free(after);
    }
    free(before);
}

/* ---- paths ---- */

/* Return the number of a path's inode; 0: there is none. */
static u32 ino_of(const char *path)
{
    struct inode *ip;
    if (namei(path, 0, &ip))
        return 0;
    u32 ino = ip->ino;
    iput(ip);
    return ino;
}

/* The two paths of a row lead to one inode: by slashes, by . and .., and by
 * symbolic links. */
TEST(a_path_has_many_spellings)
{
    static const char *const same[][2] = {
        {"/m/f", "//m///f"},
        {"/m/f", "/m/./f"},
        {"/m/f", "/m/d/../f"},
        {"/m/f", "/m/d/sub/../../f"},
        {"/m/f", "/m/tof"},
        {"/m/f", "/m/tolink"},
        {"/m/d", "/m/d/"},
        {"/m/d", "/m/d//"},
        {"/m/d", "/m/d/."},
        {"/m/d", "/m/d/sub/.."},
        {"/m/d", "/m/tod"},
        {"/m/d", "/m/tod/"},
        {"/m/d/sub", "/m/tod/sub"},
        {"/m/d/sub", "/m/abs/sub"},
        {"/m/f", "/m/d/up"},
        {"/m/f", "/m/tod/up"},
        {"/m/f", "/m/abs/up"},
        {"/m", "/m/."},
        {"/", "/m/.."},
        {"/", "/.."},
        {"/", "/./../"},
        {"/m", "/m/d/.."},
        {"/m/d/in", "/m/d/../abs/in"},
    };
    rig_make(NULL);
    rig_script(family);
    for (u32 i = 0; i < NELEM(same); i++) {
        check(ino_of(same[i][0]) != 0);
        check_eq(ino_of(same[i][0]), ino_of(same[i][1]));
    }
    struct inode *ip;
    check_eq(namei("", 0, &ip), -ENOENT);
    check_eq(namei("/m/tof", NAMEI_NOFOLLOW, &ip), 0);
    ilock(ip);
    check(S_ISLNK(ip->mode));
    command_close(ip);
    check_eq(namei("/m/tod/", NAMEI_NOFOLLOW, &ip), 0);
    ilock(ip);
    check(S_ISDIR(ip->mode));
    command_close(ip);
    check_eq(rig_do("cd /m/d"), 0);
    check_eq(ino_of("sub"), ino_of("/m/d/sub"));
    check_eq(ino_of("../f"), ino_of("/m/f"));
    check_eq(ino_of("."), ino_of("/m/d"));
    check_eq(ino_of("up"), ino_of("/m/f"));
    rig_script("create new\nstat /m/d/new\ncd /\n");
    rig_end();
}

/* To create a file at a symbolic link makes or opens the file to which it
 * leads, and to create a directory that is there opens it. To remove a link
 * removes the link alone. */
TEST(links_are_created_through)
{
    rig_make(NULL);
    rig_script(family);
    rig_script("create /m/dangling\nstat /m/nowhere\n"
               "write /m/d/up 50 1\nverify /m/f 0 50 1\n"
               "symlink d/deep /m/to_deep\ncreate /m/to_deep\nstat /m/d/deep\n"
               "create /m/tod/x\nstat /m/d/x\ncreate /m\ncreate /m/tod/\n");
    check_eq(rig_do("rm /m/tolink"), 0);
    check_eq(rig_do("stat /m/tof"), 0);
    rig_end();
}

/* l1 leads to l0, l2 to l1, and so on: 40 links are followed, 41 are too
 * many. */
TEST(as_many_links_are_followed_as_are_allowed)
{
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/l0\n");
    for (u32 i = 1; i <= 41; i++)
        check_eq(rig_do("symlink l%u /m/l%u", i - 1, i), 0);
    check_eq(rig_do("stat /m/l40"), 0);
    check_eq(rig_do("stat /m/l41"), -ELOOP);
    check_eq(rig_do("create /m/l40"), 0);
    check_eq(rig_do("create /m/l41"), -ELOOP);
    rig_end();
}

/* Write a piece of text n times to out, and return out. */
static char *repeat(char *out, const char *piece, u32 n)
{
    *out = 0;
    while (n--)
        strcat(out, piece);
    return out;
}

/* A name has 255 bytes at most, and a link's text with the rest of the path
 * 4,096. */
TEST(names_and_links_have_the_lengths_of_the_format)
{
    static char name[300], text[6000], line[7000];
    rig_make(NULL);
    rig_script("mount /m\n");
    check_eq(rig_do("create /m/%s", repeat(name, "n", 255)), 0);
    check_eq(rig_do("stat /m/%s", name), 0);
    check_eq(rig_do("create /m/%s", repeat(name, "n", 256)), -ENAMETOOLONG);
    check_eq(rig_do("stat /m/%s/x", name), -ENAMETOOLONG);
    check_eq(rig_do("stat /m/%s", repeat(name, "n", 254)), -ENOENT);
    check_eq(ext2_symlink("", "/m/s"), -ENOENT);
    check_eq(ext2_symlink(repeat(text, "x", 1023), "/m/s"), 0);
    check_eq(ext2_symlink(repeat(text, "x", 1024), "/m/t"), -ENAMETOOLONG);
    check_eq(rig_do("readlink /m/s"), 0);
    check_eq(strlen(rig_said()), 1024);
    /* what follows a link and its text fit in a page together */
    check_eq(ext2_symlink(repeat(text, "./", 500), "/m/dots"), 0);
    rig_script("mkdir /m/d\n");
    for (u32 rest = 3090; rest < 3100; rest++) {
        u32 n = (rest - 3) / 2;
        sprintf(line, "/m/dots/%s%s", repeat(text, "./", n),
                rest % 2 ? "d/" : "d");
        bool fits = 1000 + 1 + strlen(text) + (rest % 2 ? 2 : 1) + 1 <= 4096;
        struct inode *ip;
        int error = namei(line, 0, &ip);
        check_eq(error, fits ? 0 : -ENAMETOOLONG);
        if (!error)
            iput(ip);
    }
    rig_end();
}

/* With blocks of 4 KiB a link could be longer than a path may be. */
TEST(a_link_is_shorter_than_a_path_may_be)
{
    static char text[5000];
    rig_make(&(struct image_options){.block_bytes = 4096});
    rig_script("mount /m\n");
    check_eq(ext2_symlink(repeat(text, "x", 1023), "/m/s"), 0);
    check_eq(ext2_symlink(repeat(text, "x", 1024), "/m/t"), -ENAMETOOLONG);
    rig_end();
}

/* A mode has 12 bits beside the type, and mknod makes character devices
 * only. */
TEST(modes_out_of_their_range_are_refused)
{
    struct inode *ip;
    rig_make(NULL);
    rig_script("mount /m\n");
    check_eq(ext2_create("/m/f", 010000, false, &ip), -EINVAL);
    check_eq(ext2_mkdir("/m/d", 010000), -EINVAL);
    check_eq(ext2_mkdir("/m/d", 07777), 0);
    check_eq(ext2_mknod("/m/n", S_IFBLK | 0600, 1), -EINVAL);
    check_eq(ext2_mknod("/m/n", S_IFREG | 0600, 1), -EINVAL);
    check_eq(ext2_mknod("/m/n", S_IFCHR | 0200000, 1), -EINVAL);
    check_eq(ext2_mknod("/m/n", S_IFCHR | 07777, 65535), 0);
    check_eq(ext2_create("/m/f", 07777, true, &ip), 0);
    check_eq(ip->mode, S_IFREG | 07777);
    iput(ip);
    ip = rig_open("/m/d");
    check_eq(ip->mode, S_IFDIR | 07777);
    rig_close(ip);
    ip = rig_open("/m/n");
    check_eq(ip->mode, S_IFCHR | 07777);
    check_eq(ip->rdev, 65535);
    rig_close(ip);
    rig_script("symlink x /m/s\n");
    check_eq(namei("/m/s", NAMEI_NOFOLLOW, &ip), 0);
    ilock(ip);
    check_eq(ip->mode, S_IFLNK | 0777);
    rig_close(ip);
    rig_end();
}

/* Write the path of the current directory. */
static int path_in(const char *dir, char *out, size_t n)
{
    struct inode *ip;
    check_eq(namei(dir, 0, &ip), 0);
    int length = ext2_path(ip, out, n);
    iput(ip);
    return length;
}

/* getcwd of a path with its 0 in exactly so many bytes; fewer are -ERANGE. */
TEST(the_path_of_a_directory_fits_to_the_byte)
{
    char out[100];
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/long\nmkdir /m/long/er\n");
    check_eq(path_in("/m/long/er", out, 11), 11);
    check(strcmp(out, "/m/long/er") == 0);
    check_eq(path_in("/m/long/er", out, 100), 11);
    check(strcmp(out, "/m/long/er") == 0);
    for (int n = 0; n < 11; n++)
        check_eq(path_in("/m/long/er", out, n), -ERANGE);
    check_eq(path_in("/", out, 2), 2);
    check(strcmp(out, "/") == 0);
    check_eq(path_in("/", out, 1), -ERANGE);
    check_eq(path_in("/m", out, 3), 3);
    check_eq(path_in("/m", out, 2), -ERANGE);
    check_eq(path_in("/m", out, 50), 3);
    check(strcmp(out, "/m") == 0);
    rig_script("cd /m/long/er\npwd\n");
    check(strcmp(rig_said(), "/m/long/er\n") == 0);
    for (u32 n = 1; n < 10; n++) { /* of every block that is read on the way */
        rig_script("cd /\numount /m\nmount /m\ncd /m/long/er\n");
        shim_fail(FAULT_READ, rig_disk, n, false);
        int error = rig_do("pwd");
        check_eq(error, shim_failed() ? -EIO : 0);
        shim_fail(FAULT_READ, rig_disk, 0, false);
    }
    rig_script("cd /\n");
    rig_end();
}

/* ---- counts of names ---- */

/* Set the number of names that an inode of the image counts. */
static void set_nlink(const char *path, u32 n)
{
    struct inode *ip = rig_open(path);
    ip->nlink = n;
    ip->dirty = true;
    rig_close(ip);
}

/* 32,000 names are the most; a rename may need one more for a while. */
TEST(an_inode_has_no_more_names_than_the_format_allows)
{
    rig_make(NULL);
    rig_script(family);
    set_nlink("/m/f", 31999);
    check_eq(rig_do("ln /m/f /m/one"), 0);
    check_eq(rig_do("ln /m/f /m/two"), -EMLINK);
    check_eq(rig_do("mv /m/f /m/e/f"), -EMLINK); /* it had two for a while */
    check_eq(rig_do("mv /m/f /m/other"), 0);     /* but in one block not */
    set_nlink("/m/e", 31999);
    check_eq(rig_do("mkdir /m/e/one"), 0);
    check_eq(rig_do("mkdir /m/e/two"), -EMLINK);
    check_eq(rig_do("mv /m/d /m/e/d"), -EMLINK);
    check_eq(rig_do("mv /m/e/one /m/e/three"), 0);
    check_eq(rig_do("rmdir /m/e/three"), 0);
    check_eq(rig_do("mv /m/d /m/e/d"), 0);
    check_eq(rig_do("mv /m/e/d /m/d"), 0);
    set_nlink("/m/e", 2);
    set_nlink("/m/other", 2);
    rig_end();
    rig_script("mount /m\nwrite /m/d/last 5 1\n");
    set_nlink("/m/other", 32000);
    check_eq(rig_do("mv /m/other /m/d/last"), -EMLINK);
    set_nlink("/m/other", 2);
    rig_end();
}

/* A directory's names are 2 and one for each directory in it. */
TEST(directories_count_those_in_them)
{
    rig_make(NULL);
    rig_script(family);
    u8 *i = rig_image();
    rig_script("sync\n");
    u32 root = image_inode(i, 2)->links_count;
    check_eq(root, 4);
    rig_script("mkdir /m/new\nsync\n");
    check_eq(image_inode(i, 2)->links_count, 5);
    rig_script("mv /m/new /m/d/new\nsync\n");
    check_eq(image_inode(i, 2)->links_count, 4);
    check_eq(image_inode(i, image_ino(i, "/d"))->links_count, 4);
    rig_script("mv /m/d/new /m/e\nsync\n"); /* over an empty one */
    check_eq(image_inode(i, 2)->links_count, 4);
    check_eq(image_inode(i, image_ino(i, "/d"))->links_count, 3);
    rig_script("rmdir /m/e\nsync\n");
    check_eq(image_inode(i, 2)->links_count, 3);
    rig_end();
}

/* ---- entries ---- */

/* In an empty block . and .. take 24 of 1,024 bytes; 25 names of 40 bytes fill
 * the rest. The gap of a removed name takes a name as long, or several shorter
 * ones. */
TEST(entries_fill_a_block_to_the_last_byte)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\n");
    for (u32 i = 0; i < 25; i++)
        check_eq(rig_do("create /m/d/%032u", i), 0);
    struct inode *dir = rig_open("/m/d");
    check_eq(dir->size, 1024);
    rig_close(dir);
    rig_script("create /m/d/x\n");
    dir = rig_open("/m/d");
    check_eq(dir->size, 2048);
    rig_close(dir);
    rig_script("rm /m/d/x\n");
    check_eq(rig_do("rm /m/d/%032u", 7), 0);
    check_eq(rig_do("create /m/d/%032u", 77), 0);
    check_eq(rig_do("rm /m/d/%032u", 8), 0);
    check_eq(rig_do("create /m/d/12"), 0);
    check_eq(rig_do("create /m/d/345"), 0);
    check_eq(rig_do("create /m/d/6789"), 0);
    check_eq(rig_do("stat /m/d/%032u", 9), 0);
    rig_end();
    const u8 *i = rig_image();
    u32 ino = image_ino(i, "/d");
    u8 *first = image_block(i, image_map(i, ino, 0));
    u8 *at = (u8 *)image_entry(i, "/d/12");
    check(at - first < 1024);
    check_eq((u8 *)image_entry(i, "/d/345") - at, 12);
    check_eq((u8 *)image_entry(i, "/d/6789") - at, 24);
    check_eq(image_entry(i, "/d/6789")->length, 16);
    rig_script("mount /m\n");
    for (u32 n = 0; n < 25; n++)
        rig_do("rm /m/d/%032u", n == 7 ? 77 : n);
    rig_script("rm /m/d/12\nrm /m/d/345\nrm /m/d/6789\nrmdir /m/d\n");
    rig_end();
}

/* Names of 1 to 100 letters are made, and each second one is removed. Then an
 * image whose entries have no types. */
TEST(names_of_every_length_and_type_are_found)
{
    static char name[300];
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\n");
    for (u32 i = 1; i <= 100; i++)
        check_eq(rig_do("create /m/d/%s", repeat(name, "x", i)), 0);
    for (u32 i = 1; i <= 100; i++)
        check_eq(rig_do("stat /m/d/%s", repeat(name, "x", i)), 0);
    for (u32 i = 2; i <= 100; i += 2)
        check_eq(rig_do("rm /m/d/%s", repeat(name, "x", i)), 0);
    for (u32 i = 1; i <= 100; i++)
        check_eq(rig_do("stat /m/d/%s", repeat(name, "x", i)),
                 i % 2 ? 0 : -ENOENT);
    rig_end();
    rig_make(&(struct image_options){.no_types = true});
    rig_script("mount /m\nmkdir /m/d\ncreate /m/d/f\nsymlink a /m/d/s\n"
               "mknod /m/d/n 5\nmv /m/d /m/e\nls /m/e\n");
    check(strstr(rig_said(), " 0 f\n"));
    rig_end();
}

/* Remove 600 names in the order of the list: each removal looks at 17 buffers
 * at most, not at all of the directory. */
TEST(removing_what_was_listed_is_linear)
{
    rig_make(&(struct image_options){
        .blocks_per_group = 1000, .blocks = 1001, .inodes_per_group = 800});
    rig_script("mount /m\nmkdir /m/d\nmany /m/d 600 abcdefghijklmnopqrstuv\n");
    u64 looks = shim_looks();
    rig_script("rmmany /m/d 600 abcdefghijklmnopqrstuv\n");
    check_eq(shim_looks() - looks > 600 * 17, false);
    looks = shim_looks();
    rig_script("many /m/d 25 abcdefghijklmnopqrstuv\n");
    rig_end();
}

/* ---- lists ---- */

/* List a directory into a buffer of n bytes, from *place on. Return the
 * bytes. */
static u32 list(const char *path, char *out, u64 n, u64 *place, int *error)
{
    struct inode *dir = rig_open(path);
    struct uio u = {.addr = (u64)out, .left = n, .offset = *place};
    *error = ext2_getdents(dir, &u, NULL);
    *place = u.offset;
    rig_close(dir);
    return n - u.left;
}

/* A directory is listed with room for n bytes a call. The calls together must
 * give each entry once, in order; with less than 16 bytes the longest name
 * never fits. */
TEST(lists_have_each_entry_once_whatever_the_space)
{
    static char out[5000];
    static const char *const names[] = {".",   "..",   "a",     "bc",
                                        "def", "ghij", "subdir"};
    static const u32 types[] = {DT_DIR, DT_DIR, DT_REG, DT_LNK,
                                DT_CHR, DT_REG, DT_DIR};
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\ncreate /m/d/a\nsymlink x /m/d/bc\n"
               "mknod /m/d/def 3\ncreate /m/d/ghij\nmkdir /m/d/subdir\n");
    for (u64 n = 0; n < 140; n++) {
        u64 place = 0;
        u32 found = 0;
        int error = 0;
        for (u32 calls = 0; calls < 9 && !error; calls++) {
            u32 got = list("/m/d", out, n, &place, &error);
            for (u32 at = 0; at < got; found++) {
                struct dirent *d = (void *)(out + at);
                check(strcmp(d->name, names[found]) == 0);
                check_eq(d->name_len, strlen(names[found]));
                check_eq(d->type, types[found]);
                check_eq(d->length, ROUND_UP(8 + d->name_len + 1, 4));
                char path[300];
                snprintf(path, sizeof(path), "/m/d/%.255s", d->name);
                struct inode *ip;
                check_eq(namei(path, NAMEI_NOFOLLOW, &ip), 0);
                check_eq(d->ino, ip->ino);
                iput(ip);
                at += d->length;
            }
            if (got == 0 && !error)
                break;
        }
        check_eq(error, n < 16 ? -EINVAL : 0);
        check_eq(found, n < 12 ? 0 : n < 16 ? 5 : 7);
    }
    u64 place = 1 << 20;
    int error;
    check_eq(list("/m/d", out, 500, &place, &error), 0);
    check_eq(error, 0);
    place = 0;
    shim_fault_at = (u64)out + 20;
    struct inode *dir = rig_open("/m/d");
    struct uio u = {.addr = (u64)out, .left = 500, .user = true};
    check_eq(ext2_getdents(dir, &u, NULL), 0); /* the first fitted */
    check_eq(u.left, 488);
    check_eq(u.offset, 12);
    check_eq(ext2_getdents(dir, &u, NULL), -EFAULT);
    check_eq(u.offset, 12);
    shim_fault_at = SHIM_FAULT_NEVER;
    rig_close(dir);
    rig_end();
}

/* 90 names, with . and .. 92, are read in pieces of 3000 bytes. The last place
 * is the directory's size. */
TEST(lists_go_over_many_blocks)
{
    static char out[3000];
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\nmany /m/d 90 a_name_of_some_length\n");
    u64 place = 0;
    u32 found = 0, got;
    int error;
    while ((got = list("/m/d", out, sizeof(out), &place, &error)))
        for (u32 at = 0; at < got; found++)
            at += ((struct dirent *)(out + at))->length;
    check_eq(found, 92);
    struct inode *dir = rig_open("/m/d");
    check_eq(place, dir->size);
    rig_close(dir);
    rig_end();
}

/* ---- damaged directories ---- */

#define AT(field) offsetof(struct ext2_entry, field)

/* The directory /d has the names a, b and c. A field of b's entry gets a value.
 * The block is still used if the value is `fine`. */
TEST(a_damaged_block_of_a_directory_is_not_changed)
{
    static const struct {
        u32 at, bytes, value;
        bool fine;
    } rows[] = {
        {AT(length), 2, 12, true},    {AT(length), 2, 8, false},
        {AT(length), 2, 0, false},    {AT(length), 2, 14, false},
        {AT(length), 2, 2000, false}, {AT(length), 2, 988, true},
        {AT(length), 2, 992, false},  {AT(length), 2, 980, false},
        {AT(length), 2, 976, false},  {AT(name_len), 1, 0, false},
        {AT(name_len), 1, 5, false},  {AT(name_len), 1, 4, true},
        {AT(ino), 4, 1, false},       {AT(ino), 4, 10, false},
        {AT(ino), 4, 129, false},     {AT(ino), 4, 0, true},
        {AT(ino), 4, 128, true},
    };
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\ncreate /m/d/a\ncreate /m/d/b\n"
               "create /m/d/c\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < NELEM(rows); i++) {
        rig_restore();
        u8 *e = (u8 *)image_entry(rig_image(), "/d/b");
        memcpy(e + rows[i].at, &rows[i].value, rows[i].bytes);
        rig_script("mount /m\n");
        shim_printed();
        bool fine = rows[i].fine;
        check_eq(rig_do("stat /m/d/a"), 0); /* it comes first */
        if (rig_do("stat /m/d/nothing") != (fine ? -ENOENT : -EIO)) {
            printf("row %u is not as it should be\n", i);
            exit(1);
        }
        const char *said = shim_printed();
        if (fine == !!strstr(said, "block 0 is damaged")) {
            printf("row %u: %s\n", i, said);
            exit(1);
        }
        bool zeros = rows[i].at == AT(name_len); /* in the longer name */
        check_eq(rig_do("ls /m/d"), fine && !zeros ? 0 : -EIO);
        check(strstr(rig_said(), " a\n")); /* it comes before */
        check_eq(rig_do("rm /m/d/a"), fine ? 0 : -EIO);
        check_eq(rig_do("create /m/d/n"), fine ? 0 : -EIO);
        check_eq(rig_do("mkdir /m/elsewhere"), 0);
        rig_script("umount /m\n");
    }
}

/* Put a / or a 0 into a name on the disk: the list ends with an error. */
TEST(names_that_are_no_names_are_not_listed)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\ncreate /m/d/abc\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < 6; i++) {
        rig_restore();
        image_entry(rig_image(), "/d/abc")->name[i % 3] = i < 3 ? '/' : 0;
        rig_script("mount /m\n");
        check_eq(rig_do("ls /m/d"), -EIO);
        check(strstr(rig_said(), " ..\n") && !strstr(rig_said(), "c\n"));
        rig_script("umount /m\n");
    }
}

/* Each of three blocks is missing in turn. */
TEST(a_hole_in_a_directory_is_damage)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\nmany /m/d 90 a_name_of_some_length\n"
               "umount /m\n");
    rig_keep();
    for (u32 hole = 0; hole < 3; hole++) {
        rig_restore();
        u32 ino = image_ino(rig_image(), "/d");
        image_inode(rig_image(), ino)->block[hole] = 0;
        rig_script("mount /m\n");
        shim_printed();
        check_eq(rig_do("stat /m/d/none"), -EIO);
        char want[60];
        sprintf(want, "directory %u: block %u is damaged", ino, hole);
        check(strstr(shim_printed(), want));
        check_eq(rig_do("create /m/d/none"), -EIO);
        check_eq(rig_do("rmdir /m/d"), hole ? -ENOTEMPTY : -EIO);
        rig_script("umount /m\n");
    }
}

/* A directory's blocks past its size are not taken for new ones. */
TEST(a_block_past_a_directorys_end_is_damage)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\nwrite /m/f 2000 1\numount /m\n");
    u8 *i = rig_image();
    struct ext2_inode *d = image_inode(i, image_ino(i, "/d"));
    d->block[1] = image_map(i, image_ino(i, "/f"), 1);
    rig_script("mount /m\n");
    check_eq(rig_do("many /m/d 30 a_name_of_some_length_to_fill_blocks"), -EIO);
    check_eq(rig_do("verify /m/f 0 2000 1"), 0);
    check_eq(command_failed, false);
    rig_script("umount /m\n");
}

/* The directory's size is set close to the limit, so a new name does not
 * fit. */
TEST(a_directory_has_a_largest_size)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\nmany /m/d 25 a_name_of_length_32\n");
    struct inode *dir = rig_open("/m/d");
    dir->size = INT32_MAX - 1023;
    struct search s = {.room = false};
    struct inode other = {.ino = 20, .mode = S_IFREG};
    check_eq(dir_enter(dir, &s, "n", &other), -EFBIG);
    dir->size = 1024;
    rig_close(dir);
    rig_script("rmmany /m/d 25 a_name_of_length_32\n");
    rig_end();
}

/* Directories that are in themselves, or in each other. */
TEST(a_circle_of_directories_is_damage)
{
    static const struct {
        const char *entry, *names;
        const char *line;
        const char *said;
    } rows[] = {
        {"/d/sub", "/d", "rmdir /m/d/sub", "is in itself"},
        {"/d/sub", "/d", "mv /m/d/sub /m/e/x", "is in itself"},
        {"/d/sub", "/d", "mv /m/e /m/d/sub", "is in itself"},
        {"/d/x", "/d", "rm /m/d/x", "is in itself"},
        {"/d/..", "/d/sub", "mv /m/e /m/d/sub/x", "is above itself"},
        {"/d/..", "/d", "mv /m/e /m/d/sub/x", "is above itself"},
    };
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\nmkdir /m/d/sub\ncreate /m/d/x\n"
               "mkdir /m/e\nmkdir /m/d/sub/y\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < NELEM(rows); i++) {
        rig_restore();
        u8 *image = rig_image();
        image_entry(image, rows[i].entry)->ino =
            image_ino(image, rows[i].names);
        rig_script("mount /m\n");
        shim_printed();
        int error = rig_do("%s", rows[i].line);
        const char *said = shim_printed();
        if (error != -EIO || !strstr(said, rows[i].said)) {
            printf("row %u: %d %s\n", i, error, said);
            exit(1);
        }
        rig_script("umount /m\n");
    }
    rig_restore();
    u8 *image = rig_image();
    image_entry(image, "/d/sub/..")->ino = image_ino(image, "/d/sub");
    image_entry(image, "/d/sub/y")->ino = image_ino(image, "/d/sub");
    rig_script("mount /m\ncd /m/d/sub\n");
    check_eq(rig_do("pwd"), -EIO);
    check_eq(rig_do("mv /m/e /m/d/sub/x"), -EIO);
    rig_script("cd /\numount /m\n");
}

/* The entry .. of /d is damaged. The rename of /d fails, nothing can be made
 * any more, and after the unmount the superblock says that there was an
 * error. */
TEST(a_directory_without_its_parent_is_damage)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\nmkdir /m/e\numount /m\n");
    struct ext2_entry *dots = image_entry(rig_image(), "/d/..");
    dots->name[1] = 'x';
    image_super(rig_image())->state = EXT2_VALID_FS | 4; /* another's bit */
    rig_script("mount /m\n");
    shim_printed();
    check_eq(rig_do("mv /m/d /m/e/d"), -EIO);
    check(strstr(shim_printed(), "has no .."));
    check_eq(rig_do("create /m/x"), -EROFS);
    rig_script("umount /m\n");
    check_eq(image_super(rig_image())->state, EXT2_ERROR_FS | 4);
}

/* The inode of /d has a flag that it may not have. Of 20 failures eight are
 * printed. */
TEST(damage_is_told_eight_times)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\numount /m\n");
    u8 *i = rig_image();
    image_inode(i, image_ino(i, "/d"))->flags = 0x80000;
    rig_script("mount /m\n");
    u32 told = 0;
    for (u32 n = 0; n < 20; n++) {
        shim_printed();
        check_eq(rig_do("stat /m/d"), -EIO);
        told += *shim_printed() != 0;
    }
    check_eq(told, 8);
    rig_script("umount /m\n");
}

/* A short link of size 0, and a long one without its block. */
TEST(an_empty_link_leads_nowhere)
{
    rig_make(NULL);
    rig_script(
        "mount /m\nsymlink abc /m/s\n"
        "symlink 12345678901234567890123456789012345678901234567890123456"
        "7890123 /m/l\numount /m\n");
    u8 *i = rig_image();
    image_inode(i, image_ino(i, "/s"))->size = 0;
    image_inode(i, image_ino(i, "/l"))->block[0] = 0;
    rig_script("mount /m\n");
    shim_printed();
    check_eq(rig_do("stat /m/s"), -ENOENT);
    check_eq(rig_do("stat /m/s/x"), -ENOENT);
    check_eq(rig_do("stat /m/l"), -EIO);
    check(strstr(shim_printed(), "has no text"));
    rig_script("umount /m\n");
}

/* A hash tree is a plain directory once it is changed. */
TEST(the_flag_of_a_hash_tree_goes_before_the_first_change)
{
    static const char *const changes[] = {"create /m/d/n", "rm /m/d/f",
                                          "mv /m/d/f /m/d/g",
                                          "ln /m/d/f /m/d/n", "mkdir /m/d/n"};
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\ncreate /m/d/f\numount /m\n");
    u8 *i = rig_image();
    image_inode(i, image_ino(i, "/d"))->flags = EXT2_INDEX_FL | 0x40;
    rig_keep();
    for (u32 c = 0; c < NELEM(changes); c++) {
        rig_restore();
        i = rig_image();
        struct ext2_inode *d = image_inode(i, image_ino(i, "/d"));
        rig_script("mount /m\nls /m/d\nstat /m/d/f\n");
        rig_do("%s", "sync");
        check_eq(d->flags, EXT2_INDEX_FL | 0x40);
        check_eq(rig_do("%s", changes[c]), 0);
        check_eq(d->flags, 0x40); /* on the disk, without a sync */
        rig_end();
    }
}

/* After each rename the new path leads to the inode that the old one led to,
 * and the old path to none. Here no other process interferes (ext2_tool has
 * those that do). Some new names fit the old block, and some need another. */
TEST(renames_of_every_kind_keep_what_they_move)
{
    static const char *const pairs[][2] = {
        {"/m/f", "/m/x"},       {"/m/f", "/m/a_much_longer_name_than_f"},
        {"/m/f", "/m/g"},       {"/m/f", "/m/d/in"},
        {"/m/f", "/m/d/x"},     {"/m/d", "/m/e"},
        {"/m/d", "/m/e/x"},     {"/m/d/sub", "/m/e"},
        {"/m/tof", "/m/g"},     {"/m/f", "/m/tof"},
        {"/m/d/in", "/m/f"},    {"/m/d/sub", "/m/x"},
        {"/m/e", "/m/d/sub"},   {"/m/d/", "/m/x/"},
        {"/m/d/sub/", "/m/e/"}, {"/m/abs/in", "/m/g"},
    };
    for (u32 i = 0; i < NELEM(pairs); i++) {
        rig_make(NULL);
        rig_script(family);
        u32 ino = image_ino(rig_image(), pairs[i][0]);
        struct inode *ip;
        check_eq(namei(pairs[i][0], NAMEI_NOFOLLOW, &ip), 0);
        ino = ip->ino;
        iput(ip);
        check_eq(rig_do("mv %s %s", pairs[i][0], pairs[i][1]), 0);
        check_eq(namei(pairs[i][1], NAMEI_NOFOLLOW, &ip), 0);
        check_eq(ip->ino, ino);
        iput(ip);
        check_eq(namei(pairs[i][0], NAMEI_NOFOLLOW, &ip), -ENOENT);
        rig_end();
    }
}

/* A rename over a file first moves that to .replaced.INODE; here this name is
 * taken. */
TEST(a_spare_name_that_is_taken_stops_a_rename)
{
    rig_make(NULL);
    rig_script(family);
    struct inode *ip = rig_open("/m/d/in");
    u32 ino = ip->ino;
    rig_close(ip);
    check_eq(rig_do("create /m/.replaced.%u", ino), 0);
    check_eq(rig_do("mv /m/f /m/d/in"), -EEXIST);
    check_eq(rig_do("rm /m/.replaced.%u", ino), 0);
    check_eq(rig_do("mv /m/f /m/d/in"), 0);
    rig_end();
}

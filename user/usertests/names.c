/* Files by name: stat, links, directories, paths, rename. */
#include "user/usertests/usertests.h"

/* ---- stat ---- */

TEST(stat_tells_what_a_file_is)
{
    struct stat st, st2;
    int fd = OK(open("f", O_RDWR | O_CREAT, 0640)), fds[2];
    OK(pipe(fds));
    OK(stat("f", &st));
    OK(fstat(fd, &st2));
    IS(memcmp(&st, &st2, sizeof st), 0);
    IS(st.st_mode, S_IFREG | 0640);
    IS(st.st_nlink, 1);
    IS(st.st_blocks, 0);
    IS(STAT(".").st_nlink, 2);
    IS(STAT(".").st_dev, st.st_dev);
    TRUE(S_ISDIR(STAT(".").st_mode) && S_ISCHR(STAT("/dev/null").st_mode));
    OK(fstat(fds[0], &st));
    TRUE(S_ISFIFO(st.st_mode));
    FAILS(ENOENT, stat("missing", &st));
    FAILS(ENOENT, lstat("missing", &st));
}

TEST(chmod_changes_permissions_and_nothing_else)
{
    WRITE_FILE("f", 10, 1);
    OK(chmod("f", 07751));
    IS(STAT("f").st_mode, S_IFREG | 07751);
    OK(chmod(".", 0700));
    IS(STAT(".").st_mode, S_IFDIR | 0700);
    FAILS(EINVAL, chmod("f", 010000));
    FAILS(ENOENT, chmod("missing", 0644));
    CHECK_FILE("f", 10, 1);
}

TEST(times_move_when_a_file_is_used)
{
    int fd = OK(create("f"));
    OK(utime("f", 1000, 2000));
    IS(STAT("f").st_atime_s, 1000);
    IS(STAT("f").st_mtime_s, 2000);
    IS(write(fd, "x", 1), 1);
    TRUE(STAT("f").st_mtime_s != 2000);
    OK(utime("f", 1000, 2000));
    OK(ftruncate(fd, 0));
    TRUE(STAT("f").st_mtime_s != 2000);
    OK(utime(".", 0, 0xffffffff));
    IS(STAT(".").st_mtime_s, 0xffffffff);
    OK(unlink("f"));
    TRUE(STAT(".").st_mtime_s != 0xffffffff);
    OK(utime(".", UTIME_NOW, 1000));
    TRUE(STAT(".").st_atime_s > 1000);
    IS(STAT(".").st_mtime_s, 1000);
    FAILS(EINVAL, utime(".", 1UL << 32, 0));
    FAILS(EINVAL, utime(".", 0, 1UL << 32));
    FAILS(ENOENT, utime("f", 0, 0));
}

TEST(statfs_counts_blocks_and_inodes)
{
    struct statfs before = space(), st;
    TRUE(before.free_blocks < before.blocks);
    TRUE(before.free_inodes < before.inodes);
    IS(before.read_only, 0);
    WRITE_FILE("f", before.block_size * 5, 1);
    IS(space().free_blocks, before.free_blocks - 5);
    IS(space().free_inodes, before.free_inodes - 1);
    OK(unlink("f"));
    IS(space().free_blocks, before.free_blocks);
    IS(space().free_inodes, before.free_inodes);
    FAILS(ENOENT, statfs("missing", &st));
}

/* ---- names ---- */

TEST(a_file_lives_until_its_last_name_and_user_are_gone)
{
    struct statfs before = space();
    WRITE_FILE("f", 100000, 1);
    int fd = OK(open("f", O_RDWR));
    OK(link("f", "g"));
    IS(STAT("f").st_nlink, 2);
    IS(STAT("f").st_ino, STAT("g").st_ino);
    OK(unlink("f"));
    CHECK_FILE("g", 100000, 1);
    OK(unlink("g"));
    FAILS(ENOENT, open("g", O_RDONLY));
    TRUE(space().free_blocks < before.free_blocks);
    IS(pread(fd, buf, 1, 5000), 1);
    IS(buf[0], pattern_byte(1, 5000));
    IS(pwrite(fd, "y", 1, 200000), 1);
    OK(close(fd));
    IS(space().free_blocks, before.free_blocks);
    IS(space().free_inodes, before.free_inodes);
}

TEST(link_and_unlink_refuse_wrong_names)
{
    WRITE_FILE("f", 1, 1);
    OK(mkdir("d", 0755));
    FAILS(EEXIST, link("f", "f"));
    FAILS(EEXIST, link("f", "d"));
    FAILS(ENOENT, link("missing", "x"));
    FAILS(ENOENT, link("f", "missing/x"));
    FAILS(ENOTDIR, link("f", "f/x"));
    FAILS(EPERM, link("d", "x"));
    FAILS(ENOENT, unlink("missing"));
    FAILS(ENOENT, unlink(""));
    FAILS(EISDIR, unlink("d"));
    FAILS(EISDIR, unlink("/"));
    FAILS(EISDIR, unlink("."));
    FAILS(ENOTDIR, unlink("f/x"));
    IS(STAT("f").st_nlink, 1);
}

TEST(directories_are_made_and_removed_when_empty)
{
    OK(mkdir("d", 0750));
    IS(STAT("d").st_mode, S_IFDIR | 0750);
    IS(STAT("d").st_nlink, 2);
    IS(STAT(".").st_nlink, 3);
    OK(mkdir("d/e/", 0755));
    IS(STAT("d").st_nlink, 3);
    IS(STAT("d/e/..").st_ino, STAT("d").st_ino);
    FAILS(ENOTEMPTY, rmdir("d"));
    OK(rmdir("d/e"));
    OK(rmdir("d"));
    IS(STAT(".").st_nlink, 2);
    TRUE(!exists("d"));
}

TEST(mkdir_and_rmdir_refuse_wrong_names)
{
    OK(mkdir("d", 0755));
    OK(mkdir("d/e", 0755));
    WRITE_FILE("f", 1, 1);
    FAILS(EEXIST, mkdir("d", 0755));
    FAILS(EEXIST, mkdir("/", 0755));
    FAILS(EEXIST, mkdir(".", 0755));
    FAILS(EEXIST, mkdir("f", 0755));
    FAILS(ENOENT, mkdir("missing/x", 0755));
    FAILS(ENOTDIR, mkdir("f/x", 0755));
    FAILS(EINVAL, mkdir("x", 010000));
    FAILS(EINVAL, rmdir("d/."));
    FAILS(ENOTEMPTY, rmdir("d/e/.."));
    IS(rmdir("/"), -1);
    FAILS(ENOENT, rmdir("missing"));
    FAILS(ENOTDIR, rmdir("f"));
}

TEST(a_removed_directory_takes_no_new_names)
{
    OK(mkdir("d", 0755));
    OK(chdir("d"));
    OK(rmdir("../d"));
    FAILS(ENOENT, create("f"));
    FAILS(ENOENT, mkdir("x", 0755));
    FAILS(ENOENT, getcwd(buf, sizeof buf));
    OK(chdir("/"));
}

TEST(the_current_directory_is_where_chdir_went)
{
    WRITE_FILE("f", 1, 1);
    FAILS(ENOENT, chdir("missing"));
    FAILS(ENOTDIR, chdir("f"));
    OK(mkdir("d", 0755));
    OK(mkdir("d/e", 0755));
    OK(symlink("d/e", "short"));
    OK(chdir("short"));
    u64 n = OK(getcwd(buf, sizeof buf));
    IS(n, strlen(buf) + 1);
    IS(strcmp(buf + n - 5, "/d/e"), 0);
    FAILS(ERANGE, getcwd(buf, n - 1));
    IS(getcwd(buf, n), n);
    OK(chdir("/.."));
    IS(getcwd(buf, sizeof buf), 2);
    IS(strcmp(buf, "/"), 0);
}

/* Return how many names getdents lists in d, with a buffer of this size. Except
 * for . and .. the names are the numbers from 0 on. */
static u32 count_names(u64 size)
{
    int fd = OK(open("d", O_RDONLY));
    u32 n = 0, sum = 0;
    for (i64 got; (got = OK(getdents(fd, buf, size))) > 0;)
        for (i64 at = 0; at < got; n++) {
            struct dirent *e = (struct dirent *)(buf + at);
            TRUE(e->length % 4 == 0 && e->name_len == strlen(e->name));
            TRUE(e->type == (is_dot(e->name) ? DT_DIR : DT_REG));
            sum += is_dot(e->name) ? 0 : atoi(e->name);
            at += e->length;
        }
    close(fd);
    IS(sum, (n - 2) * (n - 3) / 2);
    return n;
}

TEST(a_directory_of_a_thousand_lists_every_name_once)
{
    enum { N = 1000 };
    char name[20];
    OK(mkdir("d", 0755));
    WRITE_FILE("f", 10, 1);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "d/%d", i);
        OK(link("f", name));
    }
    IS(STAT("f").st_nlink, N + 1);
    IS(count_names(sizeof buf), N + 2);
    IS(count_names(300), N + 2);
    for (int i = 0; i < N; i += 2) {
        snprintf(name, sizeof name, "d/%d", (i + N / 2) % N);
        OK(unlink(name));
        TRUE(!exists(name));
    }
    IS(STAT("f").st_nlink, N / 2 + 1);
    FAILS(ENOTEMPTY, rmdir("d"));
    remove_tree("d");
    TRUE(!exists("d"));
}

TEST(directories_are_read_by_getdents_only)
{
    int dir = OK(open(".", O_RDONLY)), file = OK(create("f"));
    FAILS(ENOTDIR, getdents(file, buf, 1000));
    FAILS(EINVAL, getdents(dir, buf, 4));
    FAILS(EISDIR, read(dir, buf, 100));
    FAILS(EISDIR, pread(dir, buf, 100, 0));
    FAILS(EBADF, write(dir, buf, 100));
}

TEST(symbolic_links_lead_on)
{
    struct stat st;
    char target[300];
    memset(target, 'x', sizeof target);
    target[sizeof target - 1] = 0;
    OK(mkdir("d", 0755));
    WRITE_FILE("d/f", 100, 1);
    OK(symlink("d/f", "a"));
    OK(symlink("../a", "d/b"));
    OK(symlink(target, "long"));
    CHECK_FILE("d/b", 100, 1);
    IS(readlink("a", buf, 100), 3);
    IS(memcmp(buf, "d/f", 3), 0);
    IS(readlink("a", buf, 2), 2);
    IS(readlink("long", buf, 1000), sizeof target - 1);
    IS(memcmp(buf, target, sizeof target - 1), 0);
    TRUE(S_ISLNK(STAT("a").st_mode) && STAT("a").st_size == 3);
    OK(stat("a", &st));
    TRUE(S_ISREG(st.st_mode));
    FAILS(EINVAL, readlink("d/f", buf, 100));
    FAILS(EINVAL, readlink("a", buf, 0));
    FAILS(EEXIST, symlink("x", "a"));
    FAILS(ENOENT, symlink("", "x"));
    OK(unlink("d/b"));
    TRUE(exists("a"));
}

TEST(symbolic_links_that_lead_nowhere_are_told)
{
    OK(symlink("missing", "dangling"));
    OK(symlink("loop2", "loop1"));
    OK(symlink("loop1", "loop2"));
    FAILS(ENOENT, open("dangling", O_RDONLY));
    FAILS(ENOENT, chmod("dangling", 0644));
    FAILS(EEXIST, open("dangling", O_RDWR | O_CREAT | O_EXCL, 0644));
    FAILS(ELOOP, open("loop1", O_RDONLY));
    FAILS(ELOOP, open("loop1/x", O_RDONLY));
    FAILS(ELOOP, create("loop1"));
    close(OK(create("dangling")));
    TRUE(exists("missing"));
}

/* ---- rename ---- */

TEST(rename_moves_a_file_with_its_bytes)
{
    OK(mkdir("d", 0755));
    WRITE_FILE("f", 5000, 1);
    u32 ino = STAT("f").st_ino;
    OK(rename("f", "g"));
    TRUE(!exists("f"));
    OK(rename("g", "d/h"));
    OK(rename("d/h", "d/h"));
    IS(STAT("d/h").st_ino, ino);
    IS(STAT("d/h").st_nlink, 1);
    CHECK_FILE("d/h", 5000, 1);
}

TEST(rename_replaces_what_was_there)
{
    struct statfs before = space();
    WRITE_FILE("f", 5000, 1);
    WRITE_FILE("g", 9000, 2);
    int fd = OK(open("g", O_RDONLY));
    OK(rename("f", "g"));
    TRUE(!exists("f"));
    CHECK_FILE("g", 5000, 1);
    IS(read(fd, buf, 10000), 9000);
    IS(buf[8999], pattern_byte(2, 8999));
    close(fd);
    OK(link("g", "same"));
    OK(rename("g", "same")); /* two names of one file: nothing happens */
    IS(STAT("g").st_nlink, 2);
    OK(unlink("g"));
    OK(unlink("same"));
    IS(space().free_blocks, before.free_blocks);
}

TEST(rename_moves_directories_with_their_parents)
{
    OK(mkdir("a", 0755));
    OK(mkdir("a/d", 0755));
    OK(mkdir("b", 0755));
    WRITE_FILE("a/d/f", 10, 1);
    OK(rename("a/d", "b/d"));
    CHECK_FILE("b/d/f", 10, 1);
    IS(STAT("a").st_nlink, 2);
    IS(STAT("b").st_nlink, 3);
    IS(STAT("b/d/..").st_ino, STAT("b").st_ino);
    OK(mkdir("empty", 0755));
    OK(rename("b/d", "empty"));
    CHECK_FILE("empty/f", 10, 1);
    IS(STAT("empty").st_nlink, 2);
    IS(STAT("b").st_nlink, 2);
    IS(STAT(".").st_nlink, 5);
}

TEST(rename_refuses_what_would_break_the_tree)
{
    OK(mkdir("a", 0755));
    OK(mkdir("a/b", 0755));
    OK(mkdir("c", 0755));
    WRITE_FILE("f", 10, 1);
    FAILS(EINVAL, rename("a", "a/b/x"));
    FAILS(EINVAL, rename("a", "a/x"));
    FAILS(ENOTEMPTY, rename("c", "a"));
    FAILS(ENOTEMPTY, rename("a/b", "a"));
    FAILS(EISDIR, rename("f", "c"));
    FAILS(ENOTDIR, rename("c", "f"));
    FAILS(ENOTDIR, rename("f/x", "y"));
    FAILS(ENOTDIR, rename("f", "f/y"));
    FAILS(ENOENT, rename("missing", "x"));
    FAILS(ENOENT, rename("f", "missing/x"));
    TRUE(rename("a/.", "x") == -1 && rename("a/b/..", "x") == -1);
    TRUE(rename("c", "a/b/.") == -1 && rename("/", "x") == -1);
    CHECK_FILE("f", 10, 1);
    IS(STAT("a").st_nlink, 3);
}

/* Mounting a second disk, disk1. Without one the tests are skipped. */
#include "user/usertests/usertests.h"

/* Mount disk1 at m, or end the test if there is none. */
static void mount_at_m(int flags)
{
    if (!exists("m"))
        OK(mkdir("m", 0755));
    if (mount("disk1", "m", flags) == -1 && errno == ENXIO)
        _exit(SKIPPED);
    TRUE(exists("m/.."));
    IS(STAT("m").st_ino, 2); /* the root of an ext2 */
}

TEST(mount_and_umount_refuse_wrong_arguments)
{
    WRITE_FILE("f", 1, 1);
    OK(mkdir("d", 0755));
    FAILS(ENXIO, mount("nosuch", "d", 0));
    FAILS(ENXIO, mount("", "d", 0));
    FAILS(EINVAL, mount("disk0", "d", 2));
    FAILS(EBUSY, mount("disk0", "d", 0));
    FAILS(EINVAL, umount("d", false));
    FAILS(EINVAL, umount("f", false));
    FAILS(ENOENT, umount("missing", false));
    FAILS(EBUSY, umount("/", false));
}

TEST(a_mounted_disk_is_part_of_the_tree)
{
    mount_at_m(0);
    TRUE(STAT("m").st_dev != STAT(".").st_dev);
    IS(STAT("m/..").st_ino, STAT(".").st_ino);
    WRITE_FILE("m/f", 100000, 1);
    WRITE_FILE("f", 10, 2);
    FAILS(EXDEV, link("f", "m/g"));
    FAILS(EXDEV, rename("m/f", "g"));
    FAILS(EBUSY, rmdir("m"));
    FAILS(EBUSY, rename("m", "n"));
    FAILS(EBUSY, mount("disk1", "m", 0));
    OK(umount("m", false));
    TRUE(!exists("m/f"));
    mount_at_m(0);
    CHECK_FILE("m/f", 100000, 1);
    OK(unlink("m/f"));
    OK(umount("m", false));
}

TEST(a_disk_in_use_is_not_unmounted)
{
    mount_at_m(0);
    int fd = OK(create("m/f"));
    FAILS(EBUSY, umount("m", false));
    OK(unlink("m/f"));
    FAILS(EBUSY, umount("m", false));
    OK(close(fd));
    OK(chdir("m"));
    FAILS(EBUSY, umount("../m", false));
    OK(getcwd(buf, sizeof buf));
    IS(strcmp(buf + strlen(buf) - 2, "/m"), 0);
    OK(chdir(".."));
    OK(umount("m", false));
    FAILS(EINVAL, umount("m", false));
}

TEST(a_read_only_disk_is_not_changed)
{
    mount_at_m(0);
    WRITE_FILE("m/f", 100, 1);
    OK(umount("m", false));
    mount_at_m(MS_RDONLY);
    CHECK_FILE("m/f", 100, 1);
    FAILS(EROFS, open("m/f", O_RDWR));
    FAILS(EROFS, create("m/g"));
    FAILS(EROFS, unlink("m/f"));
    FAILS(EROFS, mkdir("m/d", 0755));
    FAILS(EROFS, symlink("x", "m/s"));
    FAILS(EROFS, link("m/f", "m/g"));
    FAILS(EROFS, rename("m/f", "m/g"));
    FAILS(EROFS, chmod("m/f", 0600));
    FAILS(EROFS, utime("m/f", 0, 0));
    FAILS(EROFS, truncate("m/f", 0));
    FAILS(EROFS, mknod("m/n", S_IFCHR | 0600, 0x200));
    read_device("/dev/mounts", buf, sizeof buf);
    TRUE(strstr(buf, "/m ro\n"));
    OK(umount("m", false));
    mount_at_m(0);
    OK(unlink("m/f"));
    OK(umount("m", false));
}

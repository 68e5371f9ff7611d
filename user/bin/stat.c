/* stat: prints a file's inode; -L: that of the file to which a symbolic link
 * leads. */
#include "user/lib.h"

static const char *type_name(u32 mode)
{
    return S_ISREG(mode)    ? "regular file"
           : S_ISDIR(mode)  ? "directory"
           : S_ISLNK(mode)  ? "symbolic link"
           : S_ISCHR(mode)  ? "character device"
           : S_ISFIFO(mode) ? "pipe"
                            : "other";
}

static void print(const char *path, const struct stat *st)
{
    char date[DATE_BYTES];
    printf("%s: %s\n", path, type_name(st->st_mode));
    printf("  size %lu bytes, %lu sectors of 512, block %u bytes\n",
           st->st_size, st->st_blocks, st->st_blksize);
    printf("  disk %u, inode %u, names %u, mode %04o", st->st_dev, st->st_ino,
           st->st_nlink, st->st_mode & 07777);
    if (S_ISCHR(st->st_mode))
        printf(", device %u,%u", st->st_rdev >> 8, st->st_rdev & 255);
    printf("\n  read     %s\n", date_text(date, st->st_atime_s));
    printf("  modified %s\n", date_text(date, st->st_mtime_s));
    printf("  changed  %s\n", date_text(date, st->st_ctime_s));
}

int main(int argc, char **argv)
{
    static const char usage[] = "stat [-L] FILE...";
    bool follow = false;
    int failed = 0;
    while (options(argc, argv, "L", usage) > 0)
        follow = true;
    if (optind == argc)
        usage_exit(usage);
    for (; optind < argc; optind++) {
        struct stat st;
        char *path = argv[optind];
        if ((follow ? stat(path, &st) : lstat(path, &st)) == 0) {
            print(path, &st);
        } else {
            warn("%s", path);
            failed = 1;
        }
    }
    return failed;
}

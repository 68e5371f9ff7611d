/* mv: renames a file, or moves files into a directory. Regular files are copied
 * to another disk. */
#include "user/lib.h"

/* Copy a regular file next to `to`, and rename the complete copy over `to`. So
 * the old file is replaced (a link itself, not its target) or stays as it was.
 */
static int replace_by_copy(const char *from, const struct stat *st,
                           const char *to)
{
    char copy[PATH_BYTES];
    if (spare_name(copy, to) < 0) {
        warn("%s", to);
        return 1;
    }
    int failed = copy_file(from, copy) < 0;
    if (!failed && (utime(copy, st->st_atime_s, st->st_mtime_s) < 0 ||
                    rename(copy, to) < 0)) {
        warn("%s to %s", from, to);
        failed = 1;
    }
    if (failed)
        unlink(copy);
    return failed;
}

/* Rename a file. If `to` is on another disk, copy it there and remove it
 * here. */
static int mv(const char *from, const char *to)
{
    struct stat st;
    if (rename(from, to) == 0)
        return 0;
    bool other_disk = errno == EXDEV;
    if (!other_disk || lstat(from, &st) < 0 || !S_ISREG(st.st_mode)) {
        warn("%s to %s", from, to);
        return 1;
    }
    if (replace_by_copy(from, &st, to))
        return 1;
    if (unlink(from) < 0) {
        warn("%s", from);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const char usage[] = "mv FILE... TO";
    char path[PATH_BYTES];
    struct stat st;
    int failed = 0;
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind < 2)
        usage_exit(usage);
    for (int i = optind; i < argc; i++)
        strip_slashes(argv[i]);
    const char *to = argv[argc - 1];
    bool into = stat(to, &st) == 0 && S_ISDIR(st.st_mode);
    if (argc - optind > 2 && !into)
        diex("%s: %s", to, strerror(ENOTDIR));
    for (; optind < argc - 1; optind++) {
        if (!into)
            failed |= mv(argv[optind], to);
        else if (join_path(path, sizeof path, to, basename(argv[optind])))
            failed |= mv(argv[optind], path);
        else
            failed = 1;
    }
    return failed;
}

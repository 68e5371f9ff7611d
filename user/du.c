/* du: prints the KiB that directories use with everything in them. -s: only one
 * line for each argument. A file with several names counts once. */
#include "user/lib.h"

static bool sum_only;
static int failed;
static u64 *seen; /* device << 32 | inode */
static size_t seen_count, seen_room;

static bool seen_before(const struct stat *st)
{
    u64 id = (u64)st->st_dev << 32 | st->st_ino;
    if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
        return false;
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i] == id)
            return true;
    }
    if (seen_count == seen_room) {
        seen_room = 2 * seen_room + 64;
        seen = xrealloc(seen, seen_room * sizeof seen[0]);
    }
    seen[seen_count++] = id;
    return false;
}

static u64 du(const char *path, bool top);

static u64 du_entries(const char *dir)
{
    char path[PATH_BYTES];
    u64 sectors = 0;
    DIR *d = opendir(dir);
    if (!d) {
        warn("%s", dir);
        failed = 1;
        return 0;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (is_dot(e->name))
            continue;
        join_path(path, sizeof path, dir, e->name);
        sectors += du(path, false);
    }
    closedir(d);
    return sectors;
}

/* In sectors of 512 bytes. */
static u64 du(const char *path, bool top)
{
    struct stat st;
    if (lstat(path, &st) < 0) {
        warn("%s", path);
        failed = 1;
        return 0;
    }
    if (seen_before(&st))
        return 0;
    u64 sectors = st.st_blocks;
    if (S_ISDIR(st.st_mode))
        sectors += du_entries(path);
    if (top || (S_ISDIR(st.st_mode) && !sum_only))
        printf("%-7lu %s\n", (sectors + 1) / 2, path);
    return sectors;
}

int main(int argc, char **argv)
{
    while (options(argc, argv, "s", "du [-s] [FILE...]") > 0)
        sum_only = true;
    if (optind == argc)
        du(".", true);
    for (; optind < argc; optind++)
        du(argv[optind], true);
    return failed;
}

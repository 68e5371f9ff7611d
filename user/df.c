/* df: prints the free room of the mounted disks, or of those that hold the
 * named files. -i: in inodes instead of KiB. */
#include "user/lib.h"

static bool inodes;

static int df(const char *path, const char *dir)
{
    struct statfs s;
    if (statfs(path, &s) < 0) {
        warn("%s", path);
        return 1;
    }
    u64 total = inodes ? s.inodes : s.blocks * s.block_size / 1024;
    u64 available =
        inodes ? s.free_inodes : s.free_blocks * s.block_size / 1024;
    u64 used = total - available;
    printf("%-8s %11lu %11lu %11lu %4lu%% %s %s\n", s.disk, total, used,
           available, total ? (used * 100 + total - 1) / total : 0,
           s.read_only ? "ro" : "rw", dir);
    return 0;
}

static int df_mounts(void)
{
    char *text = read_text("/dev/mounts", NULL), *rest = text, *line;
    int failed = 0;
    if (!text)
        die("/dev/mounts");
    while ((line = strsep(&rest, "\n")) && *line) {
        char *words = line;
        strsep(&words, " ");
        char *dir = strsep(&words, " ");
        failed |= df(dir, dir);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    while (options(argc, argv, "i", "df [-i] [FILE...]") > 0)
        inodes = true;
    printf("%-8s %11s %11s %11s  use on\n", "disk", inodes ? "inodes" : "KiB",
           "used", "free");
    if (optind == argc)
        return df_mounts();
    for (; optind < argc; optind++)
        failed |= df(argv[optind], argv[optind]);
    return failed;
}

/* df: prints the free room of the mounted disks, or of those that hold the
 * named files. -i: in inodes instead of KiB. If a disk keeps a virtual log,
 * also what has been written to the disks since power-on, and why. */
#include "user/lib.h"

static bool inodes;

/* Print a line for the file system at `path`, in blocks of 1 KiB or, with -i,
 * in inodes. The share in use is rounded up. */
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

/* Print a row for each mount. A line of /dev/mounts has the disk, the directory
 * and the mode, with blanks between. Returns 1 if a row failed. */
static int df_mounts(void)
{
    char *text = read_printed("/dev/mounts"), *rest = text, *line;
    int failed = 0;
    if (!text)
        die("/dev/mounts");
    while ((line = strsep(&rest, "\n")) && *line) {
        char *dir = strchr(line, ' ') + 1; /* it may have blanks itself */
        *strrchr(dir, ' ') = 0;
        failed |= df(dir, dir);
    }
    return failed;
}

/* The value of a row of /dev/stat. */
static u64 value_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return strtoul(line + n, NULL, 10);
    }
    return 0;
}

/* Print what a virtual log has written, if a disk has one. */
static void print_writes(void)
{
    char *text = read_printed("/dev/stat");
    u64 map = text ? value_of(text, "disk.map_writes") : 0;
    if (map)
        printf("written: %lu requests, %lu sectors of a map, %lu blocks to "
               "empty their places\n",
               value_of(text, "disk.writes"), map,
               value_of(text, "disk.moved"));
    free(text);
}

static int df_files(int n, char **files)
{
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed |= df(files[i], files[i]);
    return failed;
}

int main(int argc, char **argv)
{
    while (options(argc, argv, "i", "df [-i] [FILE...]") > 0)
        inodes = true;
    printf("%-8s %11s %11s %11s  use on\n", "disk", inodes ? "inodes" : "KiB",
           "used", "free");
    int failed =
        optind == argc ? df_mounts() : df_files(argc - optind, argv + optind);
    print_writes();
    return failed;
}

/* cmp: compares two files, and prints where they first differ; -s: prints
 * nothing. Status 0: equal, 1: different, 2: an error. */
#include "user/lib.h"

static char buf[2][64 << 10];

static int open_or_die(const char *name)
{
    int fd = strcmp(name, "-") == 0 ? 0 : open(name, O_RDONLY);
    if (fd < 0) {
        warn("%s", name);
        exit(2);
    }
    return fd;
}

/* Read as much as fits into one of the two buffers. Returns the bytes. */
static i64 fill(int fd, int which, const char *name)
{
    i64 n = read_all(fd, buf[which], sizeof buf[0]);
    if (n < 0) {
        warn("%s", name);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const char usage[] = "cmp [-s] FILE FILE";
    bool silent = false;
    while (options(argc, argv, "s", usage) > 0)
        silent = true;
    if (argc - optind != 2)
        usage_exit(usage);
    char **name = argv + optind;
    int fd[2] = {open_or_die(name[0]), open_or_die(name[1])};
    for (u64 offset = 0;; offset += sizeof buf[0]) {
        i64 n[2] = {fill(fd[0], 0, name[0]), fill(fd[1], 1, name[1])};
        i64 i = 0, both = MIN(n[0], n[1]);
        if (memcmp(buf[0], buf[1], both) != 0) {
            while (buf[0][i] == buf[1][i])
                i++;
            if (!silent)
                printf("%s %s differ at byte %lu\n", name[0], name[1],
                       offset + i);
            return 1;
        }
        if (n[0] != n[1]) {
            if (!silent)
                printf("%s ends at byte %lu\n", name[n[1] < n[0]],
                       offset + both);
            return 1;
        }
        if (n[0] == 0)
            return 0;
    }
}

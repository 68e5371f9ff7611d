/* tee: copies standard input to standard output and to files; -a: appends to
 * the files. */
#include "user/lib.h"

static int complain(const char *name)
{
    warn("%s", name);
    return 1;
}

static bool any_open(const int *fds, int n)
{
    while (n > 0 && fds[n - 1] < 0)
        n--;
    return n > 0;
}

int main(int argc, char **argv)
{
    static char buf[64 << 10];
    int flags = O_TRUNC, failed = 0;
    while (options(argc, argv, "a", "tee [-a] [FILE...]") > 0)
        flags = O_APPEND;
    int count = argc - optind, *fds = xmalloc((count + 1) * sizeof fds[0]);
    char **names = argv + optind;
    for (int i = 0; i < count; i++) {
        fds[i] = open(names[i], O_WRONLY | O_CREAT | flags, 0666);
        if (fds[i] < 0)
            failed = complain(names[i]);
        if (fds[i] >= 0 && is_same_file(fds[i], 0)) {
            warnx("%s: is the input too", names[i]);
            fds[i] = -1, failed = 1;
        }
    }
    fds[count] = is_output(0, "standard input") ? -1 : 1;
    failed |= fds[count] < 0;
    i64 n = 0;
    while (any_open(fds, count + 1) && (n = read(0, buf, sizeof buf)) > 0) {
        for (int i = 0; i <= count; i++) {
            if (fds[i] < 0 || write_all(fds[i], buf, n) >= 0)
                continue;
            failed = complain(i < count ? names[i] : "standard output");
            fds[i] = -1; /* the others get the rest */
        }
    }
    return n < 0 ? complain("standard input") : failed;
}

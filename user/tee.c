/* tee: copies standard input to standard output and to files; -a: appends to
 * the files. */
#include "user/lib.h"

static int complain(const char *name)
{
    warn("%s", name);
    return 1;
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
    }
    fds[count] = 1;
    i64 n;
    while ((n = read(0, buf, sizeof buf)) > 0) {
        for (int i = 0; i <= count; i++) {
            if (fds[i] < 0 || write_all(fds[i], buf, n) >= 0)
                continue;
            failed = complain(i < count ? names[i] : "standard output");
            fds[i] = -1; /* the others get the rest */
        }
    }
    return n < 0 ? complain("standard input") : failed;
}

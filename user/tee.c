/* tee: copies standard input to standard output and to files; -a: appends to
 * the files. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static char buf[64 << 10];
    int flags = O_TRUNC, failed = 0;
    while (options(argc, argv, "a", "tee [-a] [FILE...]") > 0)
        flags = O_APPEND;
    int count = argc - optind, fds[count + 1];
    for (int i = 0; i < count; i++) {
        fds[i] = open(argv[optind + i], O_WRONLY | O_CREAT | flags, 0666);
        if (fds[i] < 0)
            die("%s", argv[optind + i]);
    }
    fds[count] = 1;
    i64 n;
    while ((n = read(0, buf, sizeof buf)) > 0) {
        for (int i = 0; i <= count; i++)
            failed |= write_all(fds[i], buf, n) < 0;
    }
    if (n < 0 || failed)
        die("%s", n < 0 ? "standard input" : "write");
    return 0;
}

/* cat: prints files, or standard input. `-` is standard input too. */
#include "user/lib.h"

static char buf[64 << 10];

/* Copy a file, or "-" for standard input, to standard output. Returns 1 if that
 * failed. */
static int cat(const char *name)
{
    int fd = strcmp(name, "-") == 0 ? 0 : open(name, O_RDONLY);
    i64 n = -1;
    if (fd >= 0 && is_output(fd, name)) {
        if (fd > 0)
            close(fd);
        return 1;
    }
    while (fd >= 0 && (n = read(fd, buf, sizeof buf)) > 0) {
        if (write_all(1, buf, n) < 0) {
            if (errno == EPIPE)
                exit(1); /* the reader has ended and wants no message */
            die("standard output");
        }
    }
    if (n < 0)
        warn("%s", name);
    if (fd > 0)
        close(fd);
    return n < 0;
}

int main(int argc, char **argv)
{
    while (options(argc, argv, "", "cat [FILE...]") > 0)
        ;
    int failed = optind == argc ? cat("-") : 0;
    for (; optind < argc; optind++)
        failed |= cat(argv[optind]);
    return failed;
}

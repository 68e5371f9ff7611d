/* touch: sets the times of files to now, and makes files that do not exist
 * (-c: does not make any). */
#include "user/lib.h"

static bool no_create;

static int touch(const char *path)
{
    if (utime(path, UTIME_NOW, UTIME_NOW) == 0)
        return 0;
    if (errno == ENOENT && no_create)
        return 0;
    int fd = errno == ENOENT ? open(path, O_WRONLY | O_CREAT, 0666) : -1;
    if (fd < 0 || close(fd) < 0) {
        warn("%s", path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const char usage[] = "touch [-c] FILE...";
    int failed = 0;
    while (options(argc, argv, "c", usage) > 0)
        no_create = true;
    if (optind == argc)
        usage_exit(usage);
    for (; optind < argc; optind++)
        failed |= touch(argv[optind]);
    return failed;
}

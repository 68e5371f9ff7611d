/* truncate: sets the size of files, and makes those that do not exist. The part
 * that is added reads as zeros and takes no room. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "truncate -s SIZE FILE...";
    u64 size = 0;
    bool sized = false;
    int failed = 0;
    while (options(argc, argv, "s:", usage) > 0) {
        size = size_arg(optarg, "-s");
        sized = true;
    }
    if (!sized || optind == argc)
        usage_exit(usage);
    for (; optind < argc; optind++) {
        int fd = open(argv[optind], O_WRONLY | O_CREAT, 0666);
        bool bad = fd < 0 || ftruncate(fd, size) < 0;
        if (bad)
            warn("%s", argv[optind]);
        if (fd >= 0 && close(fd) < 0 && !bad) {
            warn("%s", argv[optind]);
            bad = true;
        }
        failed |= bad;
    }
    return failed;
}

/* rmdir: removes empty directories. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "rmdir DIRECTORY...";
    int failed = 0;
    while (options(argc, argv, "", usage) > 0)
        ;
    if (optind == argc)
        usage_exit(usage);
    for (; optind < argc; optind++) {
        if (rmdir(argv[optind]) < 0) {
            warn("%s", argv[optind]);
            failed = 1;
        }
    }
    return failed;
}

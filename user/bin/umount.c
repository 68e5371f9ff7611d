/* umount: writes out the disk mounted at a directory and unmounts it. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "umount DIRECTORY";
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind != 1)
        usage_exit(usage);
    if (umount(argv[optind]) < 0)
        die("%s", argv[optind]);
    return 0;
}

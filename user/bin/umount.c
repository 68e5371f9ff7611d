/* umount: writes out the disk mounted at a directory and unmounts it. -f: waits
 * no more for a server that does not answer, and what it does not have is lost.
 */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "umount [-f] DIRECTORY";
    bool force = false;
    while (options(argc, argv, "f", usage) > 0)
        force = true;
    if (argc - optind != 1)
        usage_exit(usage);
    if (umount(argv[optind], force) < 0)
        die("%s", argv[optind]);
    return 0;
}

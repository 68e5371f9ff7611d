/* sync: writes all delayed writes, or those of the named files, and ends when
 * they are on the disk. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    int failed = 0;
    while (options(argc, argv, "", "sync [FILE...]") > 0)
        ;
    if (optind == argc && sync() < 0)
        die("sync");
    for (; optind < argc; optind++) {
        int fd = open(argv[optind], O_RDONLY);
        if (fd < 0 || fsync(fd) < 0) {
            warn("%s", argv[optind]);
            failed = 1;
        }
        if (fd >= 0)
            close(fd);
    }
    return failed;
}

/* mount: mounts a disk at a directory (-r: read-only); without arguments
 * lists what is mounted. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "mount [[-r] DISK DIRECTORY]";
    int flags = 0;
    while (options(argc, argv, "r", usage) > 0)
        flags = MS_RDONLY;
    if (argc == 1) {
        char *text = read_printed("/dev/mounts");
        if (!text)
            die("/dev/mounts");
        fputs(text, stdout);
        return 0;
    }
    if (argc - optind != 2)
        usage_exit(usage);
    const char *disk = basename(argv[optind]); /* disk1 or /dev/disk1 */
    if (mount(disk, argv[optind + 1], flags) < 0)
        die("%s at %s", disk, argv[optind + 1]);
    return 0;
}

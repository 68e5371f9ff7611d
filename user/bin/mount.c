/* mount: mounts a disk, or with -t nfs a directory of another machine, at a
 * directory (-r: read-only); without arguments lists what is mounted.
 *
 *   mount -t nfs HOST:/DIRECTORY DIRECTORY
 *
 * HOST:PORT:/DIRECTORY asks that port instead of the port mapper. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] =
        "mount [[-r] [-t nfs] DISK|HOST:/DIRECTORY DIRECTORY]";
    int flags = 0;
    bool nfs = false;
    for (int c; (c = options(argc, argv, "rt:", usage)) > 0;) {
        if (c == 'r')
            flags = MS_RDONLY;
        else if (!(nfs = !strcmp(optarg, "nfs")))
            diex("-t %s: the one type is nfs", optarg);
    }
    if (argc == 1) {
        char *text = read_printed("/dev/mounts");
        if (!text)
            die("/dev/mounts");
        fputs(text, stdout);
        return 0;
    }
    if (argc - optind != 2)
        usage_exit(usage);
    const char *disk = argv[optind];
    if (nfs != (strchr(disk, ':') != NULL))
        diex("%s: %s", disk,
             nfs ? "say HOST:/DIRECTORY" : "another machine's needs -t nfs");
    if (!nfs)
        disk = basename(argv[optind]); /* disk1 or /dev/disk1 */
    if (mount(disk, argv[optind + 1], flags) < 0)
        die("%s at %s", disk, argv[optind + 1]);
    return 0;
}

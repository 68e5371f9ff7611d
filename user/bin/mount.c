/* mount: mounts a disk, or with -t nfs a directory of another machine, at a
 * directory (-r: read-only); without arguments lists what is mounted.
 *
 *   mount -t nfs [-o consistency=NAME] HOST:/DIRECTORY DIRECTORY
 *
 * HOST:PORT:/DIRECTORY asks that port instead of the port mapper. NAME says how
 * this machine sees what others write: nfs, spritely
 * or leases. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] =
        "mount [[-r] [-t nfs [-o consistency=NAME]] DISK|HOST:/DIRECTORY "
        "DIRECTORY]";
    static const char option[] = "consistency=";
    const char *consistency = NULL;
    char named[128];
    int flags = 0;
    bool nfs = false;
    for (int c; (c = options(argc, argv, "rt:o:", usage)) > 0;) {
        if (c == 'r')
            flags = MS_RDONLY;
        else if (c == 'o' && !strncmp(optarg, option, strlen(option)))
            consistency = optarg + strlen(option);
        else if (c == 'o')
            diex("-o %s: the one option is consistency=NAME", optarg);
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
    if (consistency && !nfs)
        diex("-o consistency: needs -t nfs");
    if (consistency && snprintf(named, sizeof named, "%s@%s", consistency,
                                disk) >= (int)sizeof named)
        diex("%s: too long", disk);
    if (consistency)
        disk = named;
    if (!nfs)
        disk = basename(argv[optind]); /* disk1 or /dev/disk1 */
    if (mount(disk, argv[optind + 1], flags) < 0)
        die("%s at %s", disk, argv[optind + 1]);
    return 0;
}

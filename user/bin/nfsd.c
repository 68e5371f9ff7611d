/*
 * nfsd: serves a directory to other machines by NFS, version 3, over UDP.
 *
 *   nfsd [-n COUNT] DIRECTORY
 *
 * COUNT processes (4) answer calls of MOUNT and NFS at port 2049, and one
 * answers the port mapper's at port 111. Each works in the kernel until it is
 * killed (kernel/nfs/nfs.h).
 */
#include "user/lib.h"

#define PORTMAP_PORT 111
#define NFS_PORT     2049
#define MOST         64 /* processes */

static int open_socket(u32 port)
{
    int fd = socket(SOCKET_UDP, port);
    if (fd < 0)
        die("port %u", port);
    return fd;
}

/* Start a process that serves NFS on this socket until it is killed. */
static void start(int fd, const char *directory)
{
    int pid = fork();
    if (pid < 0)
        die("fork");
    if (pid)
        return;
    nfssvc(fd, directory);
    die("%s", directory);
}

int main(int argc, char **argv)
{
    static const char usage[] = "nfsd [-n COUNT] DIRECTORY";
    u64 count = 4;
    int status, failed = 0;
    for (int c; (c = options(argc, argv, "n:", usage)) > 0;)
        count = size_arg(optarg, "nfsd");
    if (argc - optind != 1)
        usage_exit(usage);
    if (count == 0 || count > MOST)
        diex("COUNT is from 1 to %u", MOST);
    int portmap = open_socket(PORTMAP_PORT), nfs = open_socket(NFS_PORT);
    start(portmap, argv[optind]);
    for (u64 i = 0; i < count; i++)
        start(nfs, argv[optind]);
    while (wait(-1, &status, 0) > 0)
        failed |= status;
    return failed != 0;
}

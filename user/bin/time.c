/* time: runs a command, and prints how long it took, and how long it and its
 * children computed in user mode and in the kernel. The status is the
 * command's. */
#include "user/lib.h"

static void print(const char *name, u64 ns)
{
    fprintf(stderr, "%-5s %lu.%06lu s\n", name, ns / NS_PER_S,
            ns % NS_PER_S / NS_PER_US);
}

int main(int argc, char **argv)
{
    struct rusage before, after;
    if (argc < 2 || strcmp(argv[1], "-h") == 0)
        usage_exit("time COMMAND...");
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    if (rusage(RUSAGE_CHILDREN, &before) < 0)
        die("rusage");
    int status = run(argv + 1);
    if (status < 0)
        die("fork");
    u64 real_ns = gettime(CLOCK_VIRTUAL) - start_ns;
    rusage(RUSAGE_CHILDREN, &after);
    print("real", real_ns);
    print("user", after.user_ns - before.user_ns);
    print("sys", after.system_ns - before.system_ns);
    return status;
}

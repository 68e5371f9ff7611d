/* smoothsync: starts the writes of all blocks that have been dirty for at least
 * SECONDS seconds (0 if not given: all), waits for none, and prints how many
 * the kernel says it has started. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "smoothsync [SECONDS]";
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind > 1)
        usage_exit(usage);
    u64 age_ns = optind < argc ? seconds_arg_ns(argv[optind], "age") : 0;
    int started = smoothsync(age_ns);
    if (started < 0)
        die("smoothsync");
    printf("%d\n", started);
    return 0;
}

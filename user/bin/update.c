/* update: starts the writes of all blocks that have been dirty for at least
 * SECONDS seconds (0 if not given: all), and waits for none. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "update [SECONDS]";
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind > 1)
        usage_exit(usage);
    u64 age_ns = optind < argc ? seconds_arg_ns(argv[optind], "age") : 0;
    if (smoothsync(age_ns) < 0)
        die("smoothsync");
    return 0;
}

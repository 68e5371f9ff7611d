/* sleep: waits for a number of seconds, such as 2 or 0.25. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "sleep SECONDS";
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind != 1)
        usage_exit(usage);
    if (sleep(seconds_arg_ns(argv[optind], "sleep")) < 0)
        die("sleep");
    return 0;
}

/*
 * sleep: waits for a number of seconds, such as 2 or 0.25; with -e, until the
 * time since power-on is a multiple of it.
 *
 * -e sleeps twice: the first time, the clock may go on by a tick more or less
 * between reading it and sleeping, by where in a tick it was.
 */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "sleep [-e] SECONDS   (-e: evenly)";
    u64 times = 1, ns;
    for (int c; (c = options(argc, argv, "e", usage)) > 0;)
        times = 2;
    if (argc - optind != 1)
        usage_exit(usage);
    ns = seconds_arg_ns(argv[optind], "sleep");
    for (u64 i = 0; i < times; i++) {
        u64 past_ns = times == 2 && ns ? gettime(CLOCK_VIRTUAL) % ns : 0;
        if (sleep(ns - past_ns) < 0)
            die("sleep");
    }
    return 0;
}

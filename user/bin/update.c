/*
 * update: starts the writes of all blocks that have been dirty for at least
 * SECONDS seconds (0 if not given: all), and waits for none.
 *
 * With -e it does so for ever, whenever the time since power-on is a multiple
 * of EVERY seconds: the program /etc/update of old Unix, or Mogul's, for a
 * kernel with update=none. With -s it calls sync instead, which waits until
 * all is written.
 */
#include "user/lib.h"

static const char usage[] = "update [-e EVERY] [-s | SECONDS]";

static void sleep_evenly(u64 every_ns)
{
    if (sleep(every_ns - gettime(CLOCK_VIRTUAL) % every_ns) < 0)
        die("sleep");
}

int main(int argc, char **argv)
{
    u64 every_ns = 0, age_ns = 0;
    bool by_sync = false;
    for (int c; (c = options(argc, argv, "e:s", usage)) > 0;) {
        if (c == 'e' && !(every_ns = seconds_arg_ns(optarg, "-e")))
            diex("-e: %s: must be more than 0", optarg);
        by_sync |= c == 's';
    }
    if (argc - optind > !by_sync)
        usage_exit(usage);
    if (optind < argc)
        age_ns = seconds_arg_ns(argv[optind], "age");
    do {
        if (every_ns)
            sleep_evenly(every_ns);
        if (by_sync ? sync() < 0 : smoothsync(age_ns) < 0)
            die(by_sync ? "sync" : "smoothsync");
    } while (every_ns);
    return 0;
}

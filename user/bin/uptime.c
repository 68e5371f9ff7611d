/* uptime: how long ago the machine was switched on. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    while (options(argc, argv, "", "uptime") > 0)
        ;
    u64 ms = gettime(CLOCK_VIRTUAL) / NS_PER_MS;
    u64 s = ms / 1000, days = s / 86400;
    printf("up ");
    if (days > 0)
        printf("%lu day%s, ", days, days > 1 ? "s" : "");
    printf("%02lu:%02lu:%02lu.%03lu\n", s / 3600 % 24, s / 60 % 60, s % 60,
           ms % 1000);
    return 0;
}

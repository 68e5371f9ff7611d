/* date: the time now, UTC. -s: as seconds since 1970. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    char text[DATE_BYTES];
    bool seconds = false;
    while (options(argc, argv, "s", "date [-s]") > 0)
        seconds = true;
    u64 now_s = gettime(CLOCK_WALL) / NS_PER_S;
    if (seconds)
        printf("%lu\n", now_s);
    else
        printf("%s UTC\n", date_text(text, now_s));
    return 0;
}

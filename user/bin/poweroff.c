/* poweroff: writes everything out, but with -n, and switches the machine off;
 * the number is QEMU's exit status. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    bool sync_first = true;
    while (options(argc, argv, "n", "poweroff [-n] [STATUS]") > 0)
        sync_first = false;
    u64 status = optind < argc ? size_arg(argv[optind], "status") : 0;
    if (status > 255)
        diex("%lu: a status is at most 255", status);
    poweroff(status, sync_first);
    die("poweroff");
}

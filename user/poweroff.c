/* poweroff: writes everything out and switches the machine off; the number
 * is QEMU's exit status. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    while (options(argc, argv, "", "poweroff [STATUS]") > 0)
        ;
    u64 status = optind < argc ? size_arg(argv[optind], "status") : 0;
    if (status > 255)
        diex("%lu: a status is at most 255", status);
    poweroff(status);
    die("poweroff");
}

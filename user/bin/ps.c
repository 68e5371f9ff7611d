/* ps: prints the processes, from /dev/proc. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    while (options(argc, argv, "", "ps") > 0)
        ;
    char *text = read_printed("/dev/proc");
    if (!text)
        die("/dev/proc");
    fputs(text, stdout);
    return 0;
}

/* echo: prints its arguments on a line. -n: without the newline. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    bool newline = argc < 2 || strcmp(argv[1], "-n") != 0;
    for (int i = newline ? 1 : 2; i < argc; i++)
        printf("%s%s", argv[i], i + 1 < argc ? " " : "");
    if (newline)
        putchar('\n');
    return 0;
}

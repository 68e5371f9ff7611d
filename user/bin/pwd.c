/* pwd: prints the path of the directory it runs in. */
#include "user/lib.h"

int main(void)
{
    char path[PATH_BYTES];
    if (getcwd(path, sizeof path) < 0)
        die("getcwd");
    puts(path);
    return 0;
}

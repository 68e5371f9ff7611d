/* ln: gives a file another name. -s: by a symbolic link. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "ln [-s] EXISTING NEW";
    char path[PATH_BYTES];
    struct stat st;
    bool symbolic = false;
    while (options(argc, argv, "s", usage) > 0)
        symbolic = true;
    if (argc - optind != 2)
        usage_exit(usage);
    const char *existing = argv[optind];
    strlcpy(path, argv[optind + 1], sizeof path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        join_path(path, sizeof path, argv[optind + 1], basename(existing));
    if ((symbolic ? symlink(existing, path) : link(existing, path)) < 0)
        die("%s", errno == ENOENT && !symbolic ? existing : path);
    return 0;
}

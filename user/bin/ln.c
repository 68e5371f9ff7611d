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
    const char *new = argv[optind + 1];
    bool into = stat(new, &st) == 0 && S_ISDIR(st.st_mode);
    if (into) {
        char *name = strdup(existing);
        strip_slashes(name);
        if (!join_path(path, sizeof path, new, basename(name)))
            return 1;
        new = path;
    }
    if ((symbolic ? symlink(existing, new) : link(existing, new)) < 0)
        die("%s", errno == ENOENT && !symbolic ? existing : new);
    return 0;
}

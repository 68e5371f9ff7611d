/* mkdir: makes directories. -p: also the directories above; one that exists is
 * no error. */
#include "user/lib.h"

/* Make a directory. One that is there already is no error. */
static int make(const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return 0;
    int error = errno;
    if (error == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    errno = error;
    return -1;
}

/* Make a directory with all that lead to it. */
static int make_all(char *path)
{
    for (char *s = path; *s; s++) {
        if (*s != '/' || s == path)
            continue;
        *s = 0;
        int result = make(path);
        *s = '/';
        if (result < 0)
            return -1;
    }
    return make(path);
}

int main(int argc, char **argv)
{
    static const char usage[] = "mkdir [-p] DIRECTORY...";
    bool parents = false;
    int failed = 0;
    while (options(argc, argv, "p", usage) > 0)
        parents = true;
    if (optind == argc)
        usage_exit(usage);
    for (; optind < argc; optind++) {
        char *path = argv[optind];
        if ((parents ? make_all(path) : mkdir(path, 0777)) < 0) {
            warn("%s", path);
            failed = 1;
        }
    }
    return failed;
}

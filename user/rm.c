/* rm: removes files. -r: directories with all that is in them; -f: a file that
 * does not exist is no error. */
#include "user/lib.h"

static bool force, recursive;

static int rm(const char *path);

/* Empty a directory. The position of a directory that changes is not to be
 * relied on: read it anew until a pass has found nothing to remove. */
static int empty(const char *dir)
{
    char path[PATH_BYTES];
    int failed = 0, removed;
    do {
        removed = 0;
        DIR *d = opendir(dir);
        if (!d) {
            warn("%s", dir);
            return 1;
        }
        for (struct dirent *e; (e = readdir(d));) {
            if (is_dot(e->name))
                continue;
            join_path(path, sizeof path, dir, e->name);
            if (rm(path))
                failed = 1;
            else
                removed++;
        }
        closedir(d);
    } while (removed > 0 && !failed);
    return failed;
}

static int rm(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0) {
        if (force && errno == ENOENT)
            return 0;
        warn("%s", path);
        return 1;
    }
    if (S_ISDIR(st.st_mode) && recursive) {
        if (empty(path))
            return 1;
        if (rmdir(path) == 0)
            return 0;
    } else if (unlink(path) == 0) {
        return 0;
    }
    warn("%s", path);
    return 1;
}

int main(int argc, char **argv)
{
    static const char usage[] = "rm [-rf] FILE...";
    int failed = 0;
    for (int c; (c = options(argc, argv, "rRf", usage)) > 0;) {
        force |= c == 'f';
        recursive |= c != 'f';
    }
    if (optind == argc && !force)
        usage_exit(usage);
    for (; optind < argc; optind++) {
        if (is_dot(basename(argv[optind]))) {
            warnx("%s: not . or ..", argv[optind]);
            failed = 1;
        } else {
            failed |= rm(argv[optind]);
        }
    }
    return failed;
}

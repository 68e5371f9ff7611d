/* rm: removes files. -r: directories with all that is in them; -f: a file that
 * does not exist is no error. */
#include "user/lib.h"

static bool force, recursive;

static int remove_entry(const struct tree_entry *e)
{
    if (e->failed)
        return 1; /* a directory that is not empty, as a message said */
    if ((S_ISDIR(e->st.st_mode) ? rmdir(e->name) : unlink(e->name)) == 0)
        return 0;
    warn("%s", e->path);
    return 1;
}

static int rm(const char *path)
{
    if (recursive)
        return tree_walk(path, force, remove_entry);
    if (unlink(path) == 0 || (force && errno == ENOENT))
        return 0;
    warn("%s", path);
    return 1;
}

/* True if rm must not remove the path: it is ., .. or /, in any spelling. */
static bool is_protected(const char *path)
{
    struct stat st, root;
    char *name = strdup(path);
    strip_slashes(name);
    bool dot = is_dot(basename(name));
    free(name);
    return dot || (lstat(path, &st) == 0 && stat("/", &root) == 0 &&
                   st.st_dev == root.st_dev && st.st_ino == root.st_ino);
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
        if (is_protected(argv[optind])) {
            warnx("%s: not . or .. or /", argv[optind]);
            failed = 1;
        } else {
            failed |= rm(argv[optind]);
        }
    }
    return failed;
}

/* cp: copies a file to another, or files into a directory. -r: directories
 * with all that is in them, symbolic links as links. */
#include "user/lib.h"

static bool recursive;

static int cp(const char *from, const char *to);

static int copy_directory(const char *from, const char *to, u32 mode)
{
    char a[PATH_BYTES], b[PATH_BYTES];
    struct stat st;
    if (mkdir(to, mode & 0777) < 0 &&
        (errno != EEXIST || stat(to, &st) < 0 || !S_ISDIR(st.st_mode))) {
        warn("%s", to);
        return 1;
    }
    DIR *d = opendir(from);
    if (!d) {
        warn("%s", from);
        return 1;
    }
    int failed = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (is_dot(e->name))
            continue;
        join_path(a, sizeof a, from, e->name);
        join_path(b, sizeof b, to, e->name);
        failed |= cp(a, b);
    }
    closedir(d);
    return failed;
}

static int copy_link(const char *from, const char *to)
{
    char target[PATH_BYTES];
    i64 n = readlink(from, target, sizeof target - 1);
    if (n < 0) {
        warn("%s", from);
        return 1;
    }
    target[n] = 0;
    if (symlink(target, to) < 0) {
        warn("%s", to);
        return 1;
    }
    return 0;
}

static int cp(const char *from, const char *to)
{
    struct stat st;
    if ((recursive ? lstat(from, &st) : stat(from, &st)) < 0) {
        warn("%s", from);
        return 1;
    }
    if (S_ISLNK(st.st_mode))
        return copy_link(from, to);
    if (!S_ISDIR(st.st_mode))
        return copy_file(from, to) < 0;
    if (recursive)
        return copy_directory(from, to, st.st_mode);
    warnx("%s: %s (-r copies it)", from, strerror(EISDIR));
    return 1;
}

/* Is `inner` the directory `outer` or below it? Then a copy has no end. */
static bool is_inside(const char *inner, const char *outer)
{
    struct stat out, in;
    char path[PATH_BYTES];
    if (stat(outer, &out) < 0 || !S_ISDIR(out.st_mode))
        return false;
    strlcpy(path, inner, sizeof path);
    for (u64 last = 0; strlen(path) + 4 < sizeof path;) {
        if (stat(path, &in) < 0)
            return false;
        if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return true;
        u64 here = (u64)in.st_dev << 32 | in.st_ino;
        if (here == last)
            return false;
        last = here;
        strlcat(path, "/..", sizeof path);
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char usage[] = "cp [-r] FILE... TO";
    char path[PATH_BYTES];
    struct stat st;
    int failed = 0;
    while (options(argc, argv, "rR", usage) > 0)
        recursive = true;
    if (argc - optind < 2)
        usage_exit(usage);
    for (int i = optind; i < argc; i++)
        strip_slashes(argv[i]);
    const char *to = argv[argc - 1];
    bool into = stat(to, &st) == 0 && S_ISDIR(st.st_mode);
    if (argc - optind > 2 && !into)
        diex("%s: %s", to, strerror(ENOTDIR));
    for (; optind < argc - 1; optind++) {
        const char *from = argv[optind];
        strlcpy(path, to, sizeof path);
        if (into)
            join_path(path, sizeof path, to, basename(from));
        if (recursive && into && is_inside(to, from)) {
            warnx("%s: cannot be copied into itself", from);
            failed = 1;
        } else {
            failed |= cp(from, path);
        }
    }
    return failed;
}

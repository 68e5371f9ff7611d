/* cp: copies a file to another, or files into a directory. -r: directories
 * with all that is in them, symbolic links as links, devices as devices. */
#include "user/lib.h"

static bool recursive;

/* The paths of the current file and of its copy. The walk changes this one pair
 * at each level. */
static char from[PATH_BYTES], to[PATH_BYTES];

static int cp(void);

static int complain(const char *path)
{
    warn("%s", path);
    return 1;
}

/* Append /name to the path; an empty path becomes name. False after a message.
 */
static bool append(char path[PATH_BYTES], const char *name)
{
    size_t n = strlen(path);
    bool slash = n > 0 && path[n - 1] != '/';
    if (n + slash + strlen(name) < PATH_BYTES) {
        strlcat(path, slash ? "/" : "", PATH_BYTES);
        strlcat(path, name, PATH_BYTES);
        return true;
    }
    warnx("%s%s%s: %s", path, slash ? "/" : "", name, strerror(ENAMETOOLONG));
    return false;
}

/* Copy the file of this name in the directory `from` into `to`. */
static int copy_entry(const char *name)
{
    size_t from_length = strlen(from), to_length = strlen(to);
    int failed = !append(from, name) || !append(to, name) || cp();
    from[from_length] = 0;
    to[to_length] = 0;
    return failed;
}

/* Copy the directory `from` to `to`, which may be there, with all that is in
 * it. */
static int copy_directory(u32 mode)
{
    struct stat st;
    if (mkdir(to, mode & 0777) < 0 &&
        (errno != EEXIST || lstat(to, &st) < 0 || !S_ISDIR(st.st_mode)))
        return complain(to);
    char **names = read_names(from);
    if (!names)
        return complain(from);
    int failed = 0;
    for (char **name = names; *name; name++)
        failed |= copy_entry(*name);
    free_names(names);
    return failed;
}

static int copy_link(void)
{
    char target[PATH_BYTES];
    i64 n = readlink(from, target, sizeof target - 1);
    if (n < 0)
        return complain(from);
    target[n] = 0;
    return symlink(target, to) < 0 ? complain(to) : 0;
}

/* Copy what `from` is to `to`. Without -r a link's target is copied; with -r
 * the link, and directories and devices, too. */
static int cp(void)
{
    struct stat st;
    if ((recursive ? lstat(from, &st) : stat(from, &st)) < 0)
        return complain(from);
    if (S_ISDIR(st.st_mode) && !recursive) {
        warnx("%s: %s (-r copies it)", from, strerror(EISDIR));
        return 1;
    }
    if (S_ISDIR(st.st_mode))
        return copy_directory(st.st_mode);
    if (S_ISLNK(st.st_mode))
        return copy_link();
    if (!recursive || S_ISREG(st.st_mode))
        return copy_file(from, to) < 0;
    return mknod(to, st.st_mode, st.st_rdev) < 0 ? complain(to) : 0;
}

/* True if the directory `path` is `outer` or below it. Goes up by chdir(), so
 * that the depth is not limited by the length of a path. */
static bool climbs_to(const char *path, const struct stat *outer)
{
    struct stat here;
    if (chdir(path) < 0)
        return false;
    for (u64 last = 0; stat(".", &here) == 0;) {
        u64 id = (u64)here.st_dev << 32 | here.st_ino;
        if (here.st_dev == outer->st_dev && here.st_ino == outer->st_ino)
            return true;
        if (id == last || chdir("..") < 0)
            return false;
        last = id;
    }
    return false;
}

/* True if the new file at `path` is `outer`, or is in the directory `outer` or
 * below it: then the copy would not end. A child checks this, because this
 * process might be unable to return to its directory. */
static bool is_inside(const char *path, const char *outer)
{
    struct stat out, in;
    char at[PATH_BYTES];
    int status = 0;
    if (lstat(outer, &out) < 0 || !S_ISDIR(out.st_mode))
        return false;
    strlcpy(at, path, sizeof at);
    if (stat(at, &in) < 0) {
        char *slash = strrchr(at, '/');
        strlcpy(slash ? slash + 1 : at, slash ? "" : ".", 2);
    }
    fflush(NULL);
    int pid = fork();
    if (pid == 0)
        _exit(climbs_to(at, &out));
    if (pid < 0 || wait(pid, &status, 0) < 0)
        die("%s", outer);
    return status != 0;
}

/* Copy the operand to `target`, or into it if that is a directory. What is
 * below . and .. is copied right into it. */
static int copy_operand(const char *operand, const char *target, bool into)
{
    from[0] = to[0] = 0;
    if (!append(from, operand) || !append(to, target))
        return 1;
    if (into && !is_dot(basename(from)) && !append(to, basename(from)))
        return 1;
    if (recursive && is_inside(to, from)) {
        warnx("%s: cannot be copied into itself", from);
        return 1;
    }
    return cp();
}

int main(int argc, char **argv)
{
    static const char usage[] = "cp [-r] FILE... TO";
    struct stat st;
    int failed = 0;
    while (options(argc, argv, "rR", usage) > 0)
        recursive = true;
    if (argc - optind < 2)
        usage_exit(usage);
    for (int i = optind; i < argc; i++)
        strip_slashes(argv[i]);
    const char *target = argv[argc - 1];
    bool into = stat(target, &st) == 0 && S_ISDIR(st.st_mode);
    if (argc - optind > 2 && !into)
        diex("%s: %s", target, strerror(ENOTDIR));
    for (; optind < argc - 1; optind++)
        failed |= copy_operand(argv[optind], target, into);
    return failed;
}

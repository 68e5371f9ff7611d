/*
 * ls: lists directories and files, in the order of their names.
 * -a: also names that begin with a dot; -d: a directory itself, not its
 * contents; -i: inode numbers; -l: type and permissions, number of names, size,
 * modification time; -R: subdirectories too; -1: one name on a line (as always
 * when the output is not the console).
 */
#include "user/lib.h"

#define SCREEN_COLUMNS 80

struct entry {
    char *name;
    char *path;
    struct stat st;
};

struct entries {
    struct entry *at;
    u32 count, room;
};

static bool all, itself, inodes, details, recursive, one_a_line;
static int failed;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name,
                  ((const struct entry *)b)->name);
}

/* Append an entry. One that cannot be looked up is reported and left out. */
static void add(struct entries *e, const char *name, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0) {
        warn("%s", path);
        failed = 1;
        return;
    }
    if (e->count == e->room) {
        e->room = 2 * e->room + 16;
        e->at = xrealloc(e->at, e->room * sizeof e->at[0]);
    }
    e->at[e->count++] = (struct entry){strdup(name), strdup(path), st};
}

/* Write a mode as -rwxr-xr-x: a letter for the type, then one for each of the
 * nine lower bits, from the highest on. */
static void mode_text(char text[11], u32 mode)
{
    static const char types[] = "?pc?d?b?-?l?s???";
    text[0] = types[(mode & S_IFMT) >> 12];
    for (u32 i = 0; i < 9; i++)
        text[1 + i] = mode & 0400 >> i ? "rwx"[i % 3] : '-';
    text[10] = 0;
}

/* Print a line as `ls -l` does; a device has its numbers where a file has its
 * size, and a link shows its target. */
static void print_details(const struct entry *e)
{
    char mode[11], date[DATE_BYTES], target[PATH_BYTES];
    mode_text(mode, e->st.st_mode);
    date_text(date, e->st.st_mtime_s);
    printf("%s %3u ", mode, e->st.st_nlink);
    if (S_ISCHR(e->st.st_mode))
        printf("%6u, %3u", e->st.st_rdev >> 8, e->st.st_rdev & 255);
    else
        printf("%11lu", e->st.st_size);
    printf(" %.16s %s", date, e->name);
    i64 n =
        S_ISLNK(e->st.st_mode) ? readlink(e->path, target, sizeof target) : -1;
    if (n >= 0)
        printf(" -> %.*s", (int)n, target);
    printf("\n");
}

/* Print the names down the columns, as many columns as fit the screen. */
static void print_columns(const struct entries *e)
{
    u32 width = 1;
    for (u32 i = 0; i < e->count; i++)
        width = MAX(width, strlen(e->at[i].name) + 2);
    u32 columns = MAX(SCREEN_COLUMNS / width, 1);
    u32 rows = (e->count + columns - 1) / columns;
    for (u32 row = 0; row < rows; row++) {
        for (u32 i = row; i < e->count; i += rows) {
            bool is_last = i + rows >= e->count;
            printf("%-*s", is_last ? 0 : width, e->at[i].name);
        }
        printf("\n");
    }
}

/* Print the entries by name: in columns on a terminal, else one a line. */
static void print(struct entries *e)
{
    qsort(e->at, e->count, sizeof e->at[0], by_name);
    if (!details && !inodes && !one_a_line && isatty(1))
        return print_columns(e);
    for (u32 i = 0; i < e->count; i++) {
        if (inodes)
            printf("%7u ", e->at[i].st.st_ino);
        if (details)
            print_details(&e->at[i]);
        else
            printf("%s\n", e->at[i].name);
    }
}

static void forget(struct entries *e)
{
    for (u32 i = 0; i < e->count; i++) {
        free(e->at[i].name);
        free(e->at[i].path);
    }
    free(e->at);
}

/* List a directory, and with -R the directories in it. */
static void list_directory(const char *dir)
{
    struct entries e = {0};
    static char path[PATH_BYTES]; /* not one for each level */
    DIR *d = opendir(dir);
    if (!d) {
        warn("%s", dir);
        failed = 1;
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(d))) {
        if (!all && entry->name[0] == '.')
            continue;
        if (join_path(path, sizeof path, dir, entry->name))
            add(&e, entry->name, path);
        else
            failed = 1;
    }
    if (errno) {
        warn("%s", dir);
        failed = 1;
    }
    closedir(d);
    print(&e);
    for (u32 i = 0; i < e.count && recursive; i++) {
        if (S_ISDIR(e.at[i].st.st_mode) && !is_dot(e.at[i].name)) {
            printf("\n%s:\n", e.at[i].path);
            list_directory(e.at[i].path);
        }
    }
    forget(&e);
}

/* List files first, and then each directory under its name. */
static void list(int count, char **names)
{
    struct entries files = {0}, dirs = {0};
    for (int i = 0; i < count; i++) {
        struct stat st;
        bool dir = !itself && stat(names[i], &st) == 0 && S_ISDIR(st.st_mode);
        if (dir && details && lstat(names[i], &st) == 0)
            dir = S_ISDIR(st.st_mode);
        add(dir ? &dirs : &files, names[i], names[i]);
    }
    if (files.count > 0)
        print(&files);
    for (u32 i = 0; i < dirs.count; i++) {
        if (files.count + dirs.count > 1 || recursive)
            printf("%s%s:\n", i + files.count > 0 ? "\n" : "", dirs.at[i].name);
        list_directory(dirs.at[i].path);
    }
    forget(&files);
    forget(&dirs);
}

int main(int argc, char **argv)
{
    int c;
    while ((c = options(argc, argv, "1adilR", "ls [-1adilR] [FILE...]")) > 0) {
        all |= c == 'a';
        itself |= c == 'd';
        inodes |= c == 'i';
        details |= c == 'l';
        recursive |= c == 'R';
        one_a_line |= c == '1';
    }
    if (optind == argc)
        list(1, (char *[]){"."});
    else
        list(argc - optind, argv + optind);
    return failed;
}

/*
 * Walk down a tree of directories of any depth.
 *
 * - Each level is on a list in memory, with its names; no level holds a
 *   descriptor or a place on the stack.
 * - The walk goes down by chdir(name), because a path may be longer than the
 *   kernel takes, and up by chdir(".."). If ".." leads elsewhere, another
 *   program has moved the tree. Then this program ends, because names would
 *   mean other files.
 * - In the end it returns to the directory where it began. If it cannot (that
 *   directory may be removed by now), later walks of relative paths fail.
 */
#include "user/lib.h"

struct level {
    struct level *up;
    struct tree_entry entry; /* the directory */
    size_t length;           /* of its path */
    u32 from_dev, from_ino;  /* the directory that it was entered from */
    char **names, **next;
};

struct walk {
    int (*visit)(const struct tree_entry *);
    struct level *level; /* the lowest that was entered, or NULL */
    char *path;
    size_t length, room;
    char home[PATH_BYTES]; /* where the walk began; "": it is the parent */
};

static bool lost; /* a walk could not return to where it began */

/* Cut the path to `length` bytes and append /name. */
static void set_path(struct walk *w, size_t length, const char *name)
{
    bool slash = length > 0 && w->path[length - 1] != '/';
    size_t n = strlen(name), need = length + slash + n + 1;
    if (need > w->room) {
        w->room = 2 * need;
        w->path = xrealloc(w->path, w->room);
    }
    if (slash)
        w->path[length++] = '/';
    memcpy(w->path + length, name, n + 1);
    w->length = length + n;
}

/* Enter the directory. False after a message. */
static bool enter(struct walk *w, const struct tree_entry *e)
{
    struct stat here, there;
    char **names = read_names(e->name);
    if (!names || stat(".", &here) < 0 || chdir(e->name) < 0) {
        warn("%s", e->path);
        if (names)
            free_names(names);
        return false;
    }
    if (stat(".", &there) < 0 || there.st_dev != e->st.st_dev ||
        there.st_ino != e->st.st_ino)
        diex("%s: was replaced during the walk", e->path);
    struct level *l = xmalloc(sizeof *l);
    *l = (struct level){w->level,    *e,    w->length, here.st_dev,
                        here.st_ino, names, names};
    l->entry.name = strdup(e->name);
    w->level = l;
    return true;
}

/* Return to the directory from which the walk entered this level. False if the
 * walk began there and it is gone. */
static bool go_up(const struct walk *w, const struct level *l)
{
    struct stat here;
    bool first = !l->up && *w->home;
    if (chdir(first ? w->home : "..") == 0 && stat(".", &here) == 0 &&
        here.st_dev == l->from_dev && here.st_ino == l->from_ino)
        return true;
    if (l->up)
        diex("%s: was moved during the walk", w->path);
    warnx("%s: the directory where the walk began is gone", w->path);
    lost = true;
    return false;
}

/* Visit a file, and note a failure in the level above. */
static int finish(struct walk *w, const struct tree_entry *e)
{
    int failed = w->visit(e) != 0 || e->failed;
    if (w->level)
        w->level->entry.failed |= failed;
    return failed;
}

/* Leave the lowest level, whose names have all been visited. */
static int leave(struct walk *w)
{
    struct level *l = w->level;
    w->length = l->length;
    w->path[w->length] = 0;
    w->level = l->up;
    l->entry.path = w->path;
    int failed = !go_up(w, l) || finish(w, &l->entry);
    free((char *)l->entry.name);
    free_names(l->names);
    free(l);
    return failed;
}

/* Visit the file of this name, or enter it if it is a directory. The caller has
 * set w->path to the path of the file. */
static int arrive(struct walk *w, const char *name, bool may_miss)
{
    size_t depth = w->level ? w->level->entry.depth + 1 : 0;
    struct tree_entry e = {.path = w->path, .name = name, .depth = depth};
    if (lstat(name, &e.st) < 0) {
        if (may_miss && errno == ENOENT)
            return 0;
        warn("%s", w->path);
        e.failed = true;
    } else if (!S_ISDIR(e.st.st_mode)) {
        return finish(w, &e);
    } else {
        e.failed = !enter(w, &e);
    }
    if (e.failed && w->level)
        w->level->entry.failed = true;
    return e.failed;
}

/* Remember how to return to the current directory: its path or, if the path is
 * too long, "..". ".." needs the walk to start one level below. True if one of
 * them works. */
static bool find_home(struct walk *w, const char *path)
{
    if (getcwd(w->home, sizeof w->home) >= 0)
        return true;
    w->home[0] = 0;
    return !strchr(path, '/') && !is_dot(path);
}

/* Visit a path and, if it is a directory, all below it; a directory after what
 * is in it. Returns 1 if anything failed. */
int tree_walk(const char *path, bool may_miss,
              int (*visit)(const struct tree_entry *))
{
    struct walk w = {.visit = visit};
    if (!find_home(&w, path) || (lost && *path != '/')) {
        warnx("%s: the way back from it cannot be found", path);
        return 1;
    }
    set_path(&w, 0, path);
    int failed = arrive(&w, path, may_miss);
    while (w.level) {
        const char *name = *w.level->next;
        if (name) {
            w.level->next++;
            set_path(&w, w.level->length, name);
            failed |= arrive(&w, name, may_miss);
        } else {
            failed |= leave(&w);
        }
    }
    free(w.path);
    return failed;
}

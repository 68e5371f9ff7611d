/*
 * The tree of everything that goes into the image: the folder's files, those of
 * --file and --scatter, lost+found, and /aged. This file writes nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mkfs/mkfs.h"

#define NAME_MAX_BYTES   255
#define LOST_FOUND_BYTES 16384 /* so that e2fsck need not allocate */

bool node_is_dir(const struct node *n)
{
    return S_ISDIR(n->disk.mode);
}

/* Return a name's index among the sorted children, or where to insert it. */
static u32 position(const struct node *dir, const char *name)
{
    u32 low = 0, high = dir->nchild;

    while (low < high) {
        u32 mid = (low + high) / 2;
        if (strcmp(dir->child[mid]->name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct node *child_named(const struct node *dir, const char *name)
{
    u32 i = position(dir, name);

    if (i == dir->nchild || strcmp(dir->child[i]->name, name))
        return NULL;
    return dir->child[i];
}

/* Insert a child in the order of names. */
static void insert(struct node *dir, struct node *n)
{
    u32 i = position(dir, n->name);

    /* The array doubles when its children are 0 or a power of two. */
    if ((dir->nchild & (dir->nchild - 1)) == 0) {
        u64 room = MAX(1, 2 * (u64)dir->nchild);
        dir->child = realloc(dir->child, room * sizeof(*dir->child));
        if (!dir->child)
            die("out of memory");
    }
    memmove(&dir->child[i + 1], &dir->child[i],
            (dir->nchild - i) * sizeof(*dir->child));
    dir->child[i] = n;
    dir->nchild++;
}

/* Add a file or directory to a directory. */
struct node *tree_add(struct node *dir, const char *name, u16 mode)
{
    struct node *n = zalloc(sizeof(*n));

    if (strlen(name) > NAME_MAX_BYTES)
        die("%s: name longer than %u bytes", name, NAME_MAX_BYTES);
    if (child_named(dir, name))
        die("%s: is there twice", name);
    n->name = text("%s", name);
    n->parent = dir;
    n->disk.mode = mode;
    n->disk.links_count = S_ISDIR(mode) ? 2 : 1;
    if (S_ISDIR(mode) && ++dir->disk.links_count > EXT2_LINK_MAX)
        die("%s: more than %u directories in one", name, EXT2_LINK_MAX - 2);
    insert(dir, n);
    return n;
}

/* ---- the folder ---- */

static char *read_target(const char *host, u64 size)
{
    char *target = zalloc(size + 1);

    if (readlink(host, target, size + 1) != (ssize_t)size)
        die("%s: cannot read the link: %s", host, strerror(errno));
    return target;
}

static void scan(const struct options *, struct node *dir);

/* Add a file of the host's folder, with permissions that do not depend on the
 * host. */
static void add_host_file(const struct options *opt, struct node *dir,
                          const char *name)
{
    char *host = text("%s/%s", dir->host, name);
    struct stat st;

    if (lstat(host, &st) < 0)
        die("%s: %s", host, strerror(errno));
    u16 permission = st.st_mode & 0111 ? 0755 : 0644;
    if (S_ISDIR(st.st_mode))
        permission = 0755;
    else if (S_ISLNK(st.st_mode))
        permission = 0777;
    else if (!S_ISREG(st.st_mode))
        die("%s: not a file, a directory or a symbolic link", host);

    if (child_named(dir, name))
        die("%s: mkfs makes this one itself", host);
    struct node *n = tree_add(dir, name, (st.st_mode & S_IFMT) | permission);
    n->host = host;
    if (node_is_dir(n)) {
        scan(opt, n);
        return;
    }
    n->size = st.st_size;
    if (!S_ISLNK(st.st_mode))
        return;
    if (n->size >= opt->block_bytes)
        die("%s: target of %lu bytes does not fit into a block", host, n->size);
    n->target = read_target(host, n->size);
}

static void scan(const struct options *opt, struct node *dir)
{
    DIR *d = opendir(dir->host);
    struct dirent *e;

    if (!d)
        die("%s: %s", dir->host, strerror(errno));
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            add_host_file(opt, dir, e->d_name);
    closedir(d);
}

/* ---- paths ---- */

/* Return the node at a path, or NULL. */
struct node *tree_find(struct node *root, const char *path)
{
    char *copy = text("%s", path), *rest = copy;
    struct node *n = root;

    for (char *name; n && (name = strsep(&rest, "/"));)
        if (*name)
            n = child_named(n, name);
    free(copy);
    return n;
}

/* Add an empty file at a path, with the directories that lead to it. */
struct node *tree_add_file(struct node *root, const char *path,
                           const char *option, const char *arg)
{
    char *copy = text("%s", path), *rest = copy;
    struct node *dir = root;
    char *name = strsep(&rest, "/");
    for (; rest; name = strsep(&rest, "/")) {
        if (!*name)
            continue;
        struct node *next = child_named(dir, name);
        dir = next ? next : tree_add(dir, name, S_IFDIR | 0755);
        if (!node_is_dir(dir))
            die("%s %s: %s is not a directory", option, arg, name);
    }
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        die("%s %s: no file name before the =", option, arg);
    struct node *n = tree_add(dir, name, S_IFREG | 0644);
    free(copy);
    return n;
}

/* PATH=SIZE, the k-th. */
static void add_file(const struct options *opt, struct node *root, u32 k)
{
    const char *arg = opt->file[k], *equals = strrchr(arg, '=');
    u64 size;

    if (!equals || !parse_size(equals + 1, &size))
        die("--file %s: not PATH=SIZE", arg);
    char *path = text("%.*s", (int)(equals - arg), arg);
    struct node *n = tree_add_file(root, path, "--file", arg);
    n->size = size;
    n->pattern = opt->pattern;
    n->pattern_seed = opt->pattern_seed + k;
    free(path);
}

/* Build the tree of all files that the options name. */
struct node *tree_build(const struct options *opt)
{
    struct node *root = zalloc(sizeof(*root));

    root->name = "";
    root->parent = root;
    root->disk.mode = S_IFDIR | 0755;
    root->disk.links_count = 2;
    tree_add(root, LOST_FOUND, S_IFDIR | 0700)->size = LOST_FOUND_BYTES;
    if (opt->fill_percent)
        tree_add(root, AGED, S_IFDIR | 0755)->late = true;
    if (opt->folder) {
        root->host = text("%s", opt->folder);
        scan(opt, root);
    }
    for (u32 k = 0; opt->file[k]; k++)
        add_file(opt, root, k);
    for (u32 k = 0; opt->scatter[k]; k++)
        scatter_add(opt, root, opt->scatter[k]);
    return root;
}

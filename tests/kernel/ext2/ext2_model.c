/*
 * A model of a file system's names and contents, with which random operations
 * are compared (ext2_model.h). Names are whole paths, kept in one list.
 *
 * An operation draws what it works on, works out from the model what must
 * happen, does the same to ext2, compares the error, and if there was none
 * changes the model. A lack of room is never worked out: it is accepted.
 *
 * For power cuts the model also writes facts to a file: from one length of the
 * shim's log to another, this path has contents with this hash.
 */
#include "tests/kernel/ext2/ext2_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernel/ext2/ext2_shim.h"
#include "kernel/base/string.h"

#define NAMES   300
#define HANDLES 6
#define TEXT    900

/* The inode that a name leads to. */
struct object {
    u32 type; /* S_IFREG, S_IFDIR, S_IFLNK */
    u32 names, handles;
    u8 *data; /* a link's text ends in 0 */
    u64 size;
    bool synced; /* the same on the disk */
};

struct name {
    char path[TEXT];
    struct object *object;
};

static struct name names[NAMES];
static u32 name_count;
static struct {
    struct inode *ip;
    struct object *object;
} handles[HANDLES];
static struct model_options options;
static FILE *facts;

/* A rule about the log from one length to another. */
struct fact {
    u64 from;
    const struct object *object;
    char path[TEXT];
};
static struct fact open_facts[NAMES];
static u32 fact_count;

/* ---- the model ---- */

/* The name with this path; NULL: there is none. */
static struct name *find(const char *path)
{
    for (u32 i = 0; i < name_count; i++)
        if (strcmp(names[i].path, path) == 0)
            return &names[i];
    return NULL;
}

/* Free an object that neither a name nor a handle leads to. */
static void unref(struct object *o)
{
    if (o->names || o->handles)
        return;
    free(o->data);
    free(o);
}

static void add_name(const char *path, struct object *o)
{
    struct name *n = &names[name_count++];
    strlcpy(n->path, path, sizeof(n->path));
    n->object = o;
    o->names++;
}

static void remove_name(struct name *n)
{
    struct object *o = n->object;
    *n = names[--name_count];
    o->names--;
    unref(o);
}

static struct object *new_object(u32 type)
{
    struct object *o = calloc(1, sizeof(*o));
    o->type = type;
    return o;
}

/* Return whether a path is below a directory. */
static bool below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Return whether anything is below a directory. */
static bool has_children(const char *dir)
{
    for (u32 i = 0; i < name_count; i++)
        if (below(names[i].path, dir))
            return true;
    return false;
}

/* Put the path of its directory into `dir`. */
static void parent_of(const char *path, char *dir)
{
    size_t n = strlen(path);
    while (path[--n] != '/')
        ;
    memcpy(dir, path, n);
    dir[n] = 0;
}

/* ---- choosing ---- */

/* A random name of this type, or of any if that is 0; NULL: there is none. */
static struct name *any_name(u32 type)
{
    u32 n = 0, start = shim_random(MAX(name_count, 1));
    for (; n < name_count; n++) {
        struct name *at = &names[(start + n) % name_count];
        if (!type || at->object->type == type)
            return at;
    }
    return NULL;
}

/* A path in a random directory, by a name that is probably new. */
static void new_path(char path[TEXT])
{
    struct name *dir = shim_random(4) ? any_name(S_IFDIR) : NULL;
    const char *at = dir ? dir->path : options.dir;
    u32 length =
        shim_random(30) ? 1 + shim_random(3) : 1 + shim_random(NAME_BYTES - 1);
    if (strlen(at) + length + 2 > TEXT - 20)
        at = options.dir;
    int n = snprintf(path, TEXT, "%s/", at);
    for (u32 i = 0; i < length; i++)
        path[n++] = "abcdefghijklmnopqrstuvwxyz0123456789.-_"[shim_random(36)];
    path[n] = 0;
}

/* A path that may or may not be there. */
static void some_path(char path[TEXT])
{
    struct name *n = shim_random(3) ? any_name(0) : NULL;
    if (n)
        strlcpy(path, n->path, TEXT);
    else
        new_path(path);
}

/* ---- facts ---- */

static u64 hash_of(const u8 *data, u64 n)
{
    u64 h = 0xcbf29ce484222325UL ^ n; /* FNV-1a */
    for (u64 i = 0; i < n; i++)
        h = (h ^ data[i]) * 0x100000001b3UL;
    return h;
}

/* Write down a fact that ends now. */
static void fact_close(u32 i)
{
    struct fact *f = &open_facts[i];
    const struct object *o = f->object;
    fprintf(facts, "%lu %lu %s %lx - 0\n", f->from, shim_log_length(), f->path,
            hash_of(o->data, o->size));
    *f = open_facts[--fact_count];
}

/* The object, or what lies at or below the path, is about to change. */
static void facts_close(const struct object *o, const char *path)
{
    for (u32 i = 0; i < fact_count;) {
        const struct fact *f = &open_facts[i];
        if (f->object == o ||
            (path && (strcmp(f->path, path) == 0 || below(f->path, path))))
            fact_close(i);
        else
            i++;
    }
}

/* A fact begins now: the path has the object's contents, for they are on the
 * disk. */
static void fact_open(const char *path, const struct object *o)
{
    if (!facts || fact_count == NAMES)
        return;
    struct fact *f = &open_facts[fact_count++];
    f->from = shim_log_length();
    f->object = o;
    strlcpy(f->path, path, sizeof(f->path));
}

/* Since `from` one of two was so: for the time of a rename. */
static void fact_either(u64 from, const char *path, u64 hash, const char *other,
                        u64 other_hash)
{
    if (facts)
        fprintf(facts, "%lu %lu %s %lx %s %lx\n", from, shim_log_length() + 1,
                path, hash, other, other_hash);
}

/* ---- comparing ---- */

/* Panic with what was expected. */
static void differ(const char *what, const char *path, int got, int want)
{
    panic("%s %s: expected %d, got %d", what, path, want, got);
}

/* True if the state of the disk alone can cause this error. */
static bool no_room(int error)
{
    return error == -ENOSPC || error == -EMLINK;
}

/* Compare an error with what it must be; -ENOSPC and -EMLINK are accepted in
 * place of success. True if the operation succeeded, so that the model is to do
 * it. */
static bool expect(const char *what, const char *path, int got, int want)
{
    if (got == want)
        return got == 0;
    if (!no_room(got) || want)
        differ(what, path, got, want);
    return false;
}

/* Read up to n bytes of a file, in calls of a random size. Returns how many
 * there are. */
static u64 read_all(struct inode *ip, u8 *out, u64 n)
{
    u64 got = 0, chunk = shim_random(3) ? 1 + shim_random(200000) : 4096;
    struct streams streams = {0};
    while (got < n) {
        struct uio u = {
            .addr = (u64)out + got, .left = MIN(chunk, n - got), .offset = got};
        u64 wanted = u.left;
        int error = ext2_read(ip, &u, &streams);
        if (error)
            panic("read: error %d", error);
        if (u.left == wanted)
            break;
        got += wanted - u.left;
    }
    return got;
}

/* Compare a file's size, names and bytes with the model's. */
static void compare_contents(struct inode *ip, const struct object *o,
                             const char *path)
{
    struct stat st;
    ext2_stat(ip, &st);
    if (st.st_size != o->size || st.st_nlink != o->names)
        panic("%s: size %lu and %u names, expected %lu and %u", path,
              st.st_size, st.st_nlink, o->size, o->names);
    u8 *got = malloc(o->size + 1);
    u64 n = read_all(ip, got, o->size + 1);
    if (n != o->size)
        panic("%s: read %lu of %lu bytes", path, n, o->size);
    for (u64 i = 0; i < n; i++)
        if (got[i] != o->data[i])
            panic("%s: byte %lu of %lu is %02x, expected %02x", path, i, n,
                  got[i], o->data[i]);
    free(got);
}

/* Compare a directory's entries with the model's names. */
static void compare_directory(struct inode *ip, const char *path)
{
    u32 want = 2, got = 0;
    char buf[2000], dir[TEXT], full[TEXT + NAME_BYTES + 2];
    for (u32 i = 0; i < name_count; i++) {
        parent_of(names[i].path, dir);
        want += strcmp(dir, path) == 0;
    }
    u64 place = 0;
    for (;;) {
        struct uio u = {.addr = (u64)buf,
                        .left = 280 + shim_random(sizeof(buf) - 280),
                        .offset = place};
        u64 left = u.left;
        if (ext2_getdents(ip, &u, NULL))
            panic("%s: getdents failed", path);
        if (u.left == left)
            break;
        for (u64 at = 0; at < left - u.left;) {
            struct dirent *d = (void *)(buf + at);
            at += d->length;
            got++;
            if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
                continue;
            strlcpy(full, path, TEXT);
            strlcpy(full + strlen(full), "/", 2);
            strlcpy(full + strlen(full), d->name, NAME_BYTES + 1);
            if (!find(full))
                panic("%s should not be there", full);
        }
        place = u.offset;
    }
    if (got != want)
        panic("%s: %u entries, expected %u", path, got, want);
}

/* Compare what a symbolic link says with the model's. */
static void compare_link(struct inode *ip, const struct object *o)
{
    char text[PATH_BYTES];
    struct uio u = {.addr = (u64)text, .left = sizeof(text)};
    if (ext2_readlink(ip, &u) || sizeof(text) - u.left != o->size ||
        memcmp(text, o->data, o->size))
        panic("link to %s is wrong", (char *)o->data);
}

/* Look a name up, and compare what it leads to. */
static void compare_name(const struct name *n)
{
    struct inode *ip;
    int error = namei(n->path, NAMEI_NOFOLLOW, &ip);
    if (error)
        differ("look up", n->path, error, 0);
    ilock(ip);
    if (ivalid(ip) || (ip->mode & S_IFMT) != n->object->type)
        panic("%s: wrong type", n->path);
    if (S_ISDIR(ip->mode))
        compare_directory(ip, n->path);
    else if (S_ISLNK(ip->mode))
        compare_link(ip, n->object);
    else
        compare_contents(ip, n->object, n->path);
    iunlock(ip);
    iput(ip);
}

/* ---- operations ---- */

/* What making a path must return. */
static int expect_new(const char *path)
{
    char dir[TEXT];
    parent_of(path, dir);
    struct name *d = *dir && strcmp(dir, options.dir) ? find(dir) : NULL;
    if (d && d->object->type != S_IFDIR)
        return -ENOTDIR;
    return find(path) ? -EEXIST : 0;
}

static void do_create(void)
{
    char path[TEXT];
    struct inode *ip;
    new_path(path);
    if (name_count == NAMES)
        return;
    int want = expect_new(path);
    if (expect("create", path, ext2_create(path, 0644, true, &ip), want)) {
        add_name(path, new_object(S_IFREG));
        iput(ip);
    }
}

static void do_mkdir(void)
{
    char path[TEXT];
    new_path(path);
    if (name_count == NAMES)
        return;
    int want = expect_new(path);
    if (expect("mkdir", path, ext2_mkdir(path, 0755), want))
        add_name(path, new_object(S_IFDIR));
}

static void do_symlink(void)
{
    char path[TEXT], text[TEXT];
    new_path(path);
    if (name_count == NAMES)
        return;
    u32 n = shim_random(2) ? 1 + shim_random(70) : 1 + shim_random(TEXT - 1);
    for (u32 i = 0; i < n; i++)
        text[i] = 'a' + i % 26;
    text[n] = 0;
    int want = expect_new(path);
    if (expect("symlink", path, ext2_symlink(text, path), want)) {
        struct object *o = new_object(S_IFLNK);
        o->size = n;
        o->data = calloc(1, n + 1);
        memcpy(o->data, text, n);
        add_name(path, o);
    }
}

static void do_link(void)
{
    char path[TEXT];
    struct name *from = any_name(0);
    new_path(path);
    if (!from || name_count == NAMES)
        return;
    int want = from->object->type == S_IFDIR ? -EPERM : expect_new(path);
    if (expect("link", path, ext2_link(from->path, path), want))
        add_name(path, from->object);
}

static void do_unlink(void)
{
    char path[TEXT];
    some_path(path);
    struct name *n = find(path);
    int want = !n ? -ENOENT : n->object->type == S_IFDIR ? -EISDIR : 0;
    facts_close(NULL, path);
    if (expect("unlink", path, ext2_unlink(path), want))
        remove_name(n);
}

static void do_rmdir(void)
{
    char path[TEXT];
    some_path(path);
    struct name *n = find(path);
    int want = 0;
    if (!n)
        want = -ENOENT;
    else if (n->object->type != S_IFDIR)
        want = -ENOTDIR;
    else if (has_children(path))
        want = -ENOTEMPTY;
    if (expect("rmdir", path, ext2_rmdir(path), want))
        remove_name(n);
}

/* What a rename must return. */
static int expect_rename(const char *from, const char *to)
{
    struct name *f = find(from), *t = find(to);
    if (!f)
        return -ENOENT;
    bool dir = f->object->type == S_IFDIR;
    if (dir && below(to, from))
        return -EINVAL;
    if (!t || t->object == f->object)
        return 0;
    if (dir != (t->object->type == S_IFDIR))
        return dir ? -ENOTDIR : -EISDIR;
    return dir && has_children(to) ? -ENOTEMPTY : 0;
}

/* Rename a path in the model, with all that is below it. */
static void move_names(const char *from, const char *to)
{
    char rest[TEXT];
    size_t n = strlen(from), m = strlen(to);
    for (u32 i = 0; i < name_count; i++) {
        char *path = names[i].path;
        if (!below(path, from))
            continue;
        strlcpy(rest, path + n, TEXT);
        strlcpy(path, to, TEXT);
        strlcpy(path + m, rest, TEXT - m);
    }
    strlcpy(find(from)->path, to, TEXT);
}

/* Return whether two paths are in one directory. */
static bool same_directory(const char *a, const char *b)
{
    char x[TEXT], y[TEXT];
    parent_of(a, x);
    parent_of(b, y);
    return strcmp(x, y) == 0;
}

/* Rename something, and note what a power cut may leave of files whose contents
 * were synced: the old name or the new one. */
static void do_rename(void)
{
    char from[TEXT], to[TEXT];
    some_path(from);
    if (shim_random(2))
        new_path(to);
    else
        some_path(to);
    struct name *f = find(from), *t = find(to);
    if (f && f->object->type == S_IFDIR) {
        if (!options.move_directories && !same_directory(from, to))
            return;
        if (strlen(to) > TEXT / 4)
            return;
    }
    int want = expect_rename(from, to);
    bool synced = f && f->object->type == S_IFREG && f->object->synced;
    bool replaces = t && t->object->type == S_IFREG && t->object->synced;
    u64 hash = synced ? hash_of(f->object->data, f->object->size) : 0;
    u64 old = replaces ? hash_of(t->object->data, t->object->size) : 0;
    facts_close(NULL, from);
    facts_close(NULL, to);
    u64 start = shim_log_length();
    int got = ext2_rename(from, to);
    if (!expect("rename", to, got, want) || (t && t->object == f->object))
        return;
    if (synced)
        fact_either(start, from, hash, to, hash);
    if (synced && replaces)
        fact_either(start, to, hash, to, old);
    if (t)
        remove_name(t);
    move_names(from, to);
    if (synced)
        fact_open(to, find(to)->object);
}

/* A file to work on: a handle, or the file of some name. */
static struct inode *some_file(struct object **o, char path[TEXT])
{
    struct inode *ip;
    u32 i = shim_random(2 * HANDLES);
    if (i < HANDLES && handles[i].ip) {
        *o = handles[i].object;
        strlcpy(path, "a handle", TEXT);
        ip = idup(handles[i].ip);
    } else {
        struct name *n = any_name(S_IFREG);
        if (!n)
            return NULL;
        *o = n->object;
        strlcpy(path, n->path, TEXT);
        if (namei(path, 0, &ip))
            panic("%s cannot be found", path);
    }
    ilock(ip);
    if (ivalid(ip))
        panic("%s is not valid", path);
    return ip;
}

/* Change the size in the model; what is new is zeros. */
static void resize(struct object *o, u64 size)
{
    o->data = realloc(o->data, size + 1);
    if (size > o->size)
        memset(o->data + o->size, 0, size - o->size);
    o->size = size;
}

/* After a fault in the middle of a block that is part of the file, its bytes
 * may be old, new, or zero if there was a hole: take what is there. */
static void adopt(struct inode *ip, struct object *o, const u8 *new, u64 at,
                  u64 end)
{
    if (at >= MIN(end, o->size))
        return;
    u64 n = MIN(end, o->size) - at;
    u8 *got = malloc(n), *old = o->data + at;
    struct uio u = {.addr = (u64)got, .left = n, .offset = at};
    if (ext2_read(ip, &u, NULL) || u.left)
        panic("%lu bytes at %lu cannot be read", n, at);
    for (u64 i = 0; i < n; i++)
        if (got[i] != old[i] && got[i] != new[i] && got[i] != 0)
            panic("byte %lu is %02x: neither old nor new", at + i, got[i]);
    memcpy(old, got, n);
    free(got);
}

/* Write random bytes to a file. In one of ten writes a part of the user's
 * memory is missing. */
static void do_write(void)
{
    char path[TEXT];
    struct object *o;
    struct inode *ip = some_file(&o, path);
    if (!ip)
        return;
    u64 max = options.max_file_bytes;
    /* Mostly in the file and short; at times whole blocks, or at the end. */
    u64 at = shim_random(3) ? shim_random(o->size + 1) : shim_random(max);
    u64 n = shim_random(3) ? 1 + shim_random(9000) : 1 + shim_random(max / 4);
    at = shim_random(3) ? at : at & ~(u64)(shim.block_bytes - 1);
    n = shim_random(3) ? n : ROUND_UP(n, shim.block_bytes);
    at = shim_random(4) ? at : o->size;
    n = at >= max ? 1 : MIN(n, max - at);
    u8 *data = malloc(n);
    for (u64 i = 0; i < n; i++)
        data[i] = shim_random(256);
    struct uio u = {.addr = (u64)data,
                    .left = n,
                    .offset = at,
                    .write = true,
                    .user = true};
    bool fault = shim_random(10) == 0;
    shim_fault_at = fault ? u.addr + shim_random(n) : SHIM_FAULT_NEVER;
    facts_close(o, NULL);
    o->synced = false;
    int error = ext2_write(ip, &u);
    shim_fault_at = SHIM_FAULT_NEVER;
    if (error != (fault ? -EFAULT : 0) && error != -ENOSPC)
        differ("write", path, error, 0);
    u64 done = n - u.left;
    if (error == 0 && u.left)
        panic("write: %lu of %lu bytes without an error", done, n);
    if (done && at + done > o->size)
        resize(o, at + done);
    if (done)
        memcpy(o->data + at, data, done);
    if (fault)
        adopt(ip, o, data + done, at + done, at + n);
    free(data);
    iunlock(ip);
    iput(ip);
}

/* Cut or extend a random file, to 0 in one case of four. */
static void do_truncate(void)
{
    char path[TEXT];
    struct object *o;
    struct inode *ip = some_file(&o, path);
    if (!ip)
        return;
    bool shorter = shim_random(2);
    u64 below = shorter ? o->size + 1 : options.max_file_bytes;
    u64 size = shim_random(below);
    size = shim_random(4) ? size : 0;
    facts_close(o, NULL);
    o->synced = false;
    if (expect("truncate", path, ext2_truncate(ip, size), 0))
        resize(o, size);
    iunlock(ip);
    iput(ip);
}

static void do_read(void)
{
    char path[TEXT];
    struct object *o;
    struct inode *ip = some_file(&o, path);
    if (!ip)
        return;
    compare_contents(ip, o, path);
    iunlock(ip);
    iput(ip);
}

static void do_fsync(void)
{
    char path[TEXT];
    struct object *o;
    struct inode *ip = some_file(&o, path);
    if (!ip)
        return;
    bool all = shim_random(2);
    expect("fsync", path, all ? ext2_fsync(ip) : ext2_fdatasync(ip), 0);
    o->synced = true;
    facts_close(o, NULL);
    if (*path == '/')
        fact_open(path, o);
    iunlock(ip);
    iput(ip);
}

/* Open a file, or close one that is open. */
static void do_handle(void)
{
    u32 i = shim_random(HANDLES);
    struct name *n;
    if (handles[i].ip) {
        iput(handles[i].ip);
        handles[i].object->handles--;
        unref(handles[i].object);
        handles[i].ip = NULL;
    } else if ((n = any_name(S_IFREG))) {
        if (namei(n->path, 0, &handles[i].ip))
            panic("%s cannot be found", n->path);
        handles[i].object = n->object;
        n->object->handles++;
    }
}

static void do_sync(void)
{
    expect("sync", "", ext2_sync(), 0);
}

static void do_compare(void)
{
    struct name *n = any_name(0);
    if (n)
        compare_name(n);
}

/* Each as often as it is listed here. */
static void (*const operations[])(void) = {
    do_create,   do_create, do_create, do_create,  do_create,   do_mkdir,
    do_mkdir,    do_write,  do_write,  do_write,   do_write,    do_write,
    do_write,    do_write,  do_read,   do_symlink, do_link,     do_unlink,
    do_unlink,   do_unlink, do_rmdir,  do_rename,  do_rename,   do_rename,
    do_truncate, do_fsync,  do_fsync,  do_handle,  do_truncate, do_handle,
    do_compare,  do_compare};

/* Do n random operations, and compare all names at the end. */
void model_run(const struct model_options *o, u64 n)
{
    options = *o;
    if (o->facts)
        facts = fopen(o->facts, "w");
    while (n--) {
        if (shim_random(200) == 0)
            do_sync();
        operations[shim_random(NELEM(operations))]();
        shim_check_idle("after an operation");
    }
    for (u32 i = 0; i < name_count; i++)
        compare_name(&names[i]);
    for (u32 i = 0; i < HANDLES; i++)
        while (handles[i].ip) {
            iput(handles[i].ip);
            handles[i].ip = NULL;
        }
    while (fact_count)
        fact_close(0);
    if (facts)
        fclose(facts);
}

/* ---- after a power cut ---- */

/* Return whether the path is a file whose contents have this hash. */
static bool holds(const char *path, u64 hash)
{
    struct inode *ip;
    if (*path != '/' || namei(path, NAMEI_NOFOLLOW, &ip))
        return false;
    ilock(ip);
    bool same = false;
    if (ivalid(ip) == 0 && S_ISREG(ip->mode)) {
        u8 *data = malloc(ip->size + 1);
        u64 n = read_all(ip, data, ip->size);
        same = n == ip->size && hash_of(data, n) == hash;
        free(data);
    }
    iunlock(ip);
    iput(ip);
    return same;
}

/* Check the facts of a file against the image that n writes have left. Returns
 * how many are broken. */
u32 model_check_facts(const char *file, u64 n, bool torn)
{
    u64 from, to, hash[2];
    char path[2][TEXT];
    u32 broken = 0;
    FILE *f = fopen(file, "r");
    while (f && fscanf(f, "%lu %lu %899s %lx %899s %lx", &from, &to, path[0],
                       &hash[0], path[1], &hash[1]) == 6) {
        if (n < from || n + torn > to || holds(path[0], hash[0]) ||
            holds(path[1], hash[1]))
            continue;
        printf("after %lu writes: %s is not what was fsynced\n", n, path[0]);
        broken++;
    }
    if (f)
        fclose(f);
    return broken;
}

/*
 * churn: make, rename, link and remove files at random in a directory, and
 * compare the files with a model.
 *
 *   churn [-flo] [-s SEED] [-n OPERATIONS] DIRECTORY
 *
 * - The model has each name, its file, and the file's bytes, which follow from
 *   a number and a length. There are only a few names, so most operations use a
 *   name that exists.
 * - The model lists the errors that apply to a call (objections). Without an
 *   objection the call must succeed. Otherwise it must fail with one of these
 *   errors and change nothing.
 * - All names and files are compared every CHECK_EVERY operations and at the
 *   end. A file without a name is compared as long as it is open.
 * - The directory must be empty, and no other program may use it meanwhile.
 *   Several churns may run at the same time in different directories.
 * - The same seed makes the same operations, so a failure can be repeated.
 * - The first difference ends it with status 1 and a line that says the seed,
 *   the number and kind of the operation, and what was expected.
 * - With -f the disk may be full, or have no free inode. Then a call must
 *   change nothing, except that a write may write a part.
 * - With -l writes may be lost. If an fsync or a close reports the loss, a
 *   difference is excused. An excused difference, or another call that fails
 *   because of a loss, ends the program with status 0 and a line that says so.
 *   A difference that no fsync reports is a failure. With -o writes of another
 *   disk may be lost, and sync may report this.
 *
 * The method is that of fsstress (Silicon Graphics, 1990s), which has no
 * model.
 */
#include "user/lib.h"
#include "user/lib/model.h"
#include "user/lib/random.h"

#define CHECK_EVERY 1000UL
#define ENTRIES     120U
#define FILE_MAX    (48 * 1024UL)
#define DEPTH       3  /* of directories below the one that is given */
#define TOP         0U /* the entry that is the directory itself */
#define NONE        ~0U

/* A file of any type, as an inode is. */
struct item {
    u32 type;    /* S_IF... */
    u32 nlinks;  /* names; 0: free, unless it is held open */
    u64 content; /* the number from which its bytes follow */
    u64 size;
};

/* A name in a directory. */
struct entry {
    bool used;
    u32 parent; /* an entry */
    u32 item;
    const char *name;
};

static struct item items[ENTRIES + 1]; /* a file may be open without a name */
static struct entry entries[ENTRIES];
static struct {
    int fd; /* -1: none */
    u32 item;
} held = {.fd = -1};

static struct model_run *const job = &model_run;
static char wanted[FILE_MAX], buf[FILE_MAX + 1];

/* Short ones, and ones that soon fill a directory's block. */
static char longest[NAME_BYTES + 1];
static const char *const names[] = {
    "a",
    "b",
    "c",
    "d",
    "e",
    "file",
    "other.txt",
    "A",
    ".hidden",
    "\xc3\xa4",
    longest,
    "with a blank",
    "a-name-of-middling-length-that-takes-some-of-a-block"};

/* The operation in words, for the message. */
static const char *kind = "start";
static char path[2][PATH_BYTES];

/* ---- failures ---- */

static void describe(char *to, u64 bytes)
{
    snprintf(to, bytes, "%s of '%s' '%s'", kind, path[0], path[1]);
}

/* Objections to a call: a bit for each error number. */
#define BIT(error) (1UL << (error))

/* Return the first of these errors. By a loop, because some compilers make of a
 * builtin a call into their library, which has another ABI. */
static int lowest(u64 objections)
{
    int error = 0;
    while (!(objections & BIT(error)))
        error++;
    return error;
}

/* Return whether the call succeeded. Fails if the model disagrees. */
static bool expect(i64 got, u64 objections)
{
    const char *said = got < 0 ? strerror(errno) : "success";
    const char *should = objections ? strerror(lowest(objections)) : "success";
    bool as_expected =
        got < 0 ? errno < 64 && objections & BIT(errno) : !objections;
    if (!as_expected && got < 0)
        end_if_told(-1);
    if (!as_expected)
        fail("expected: %s, got: %s", should, said);
    return got >= 0;
}

/* Like expect, for a call that needs free space on the disk. */
static bool expect_if_room(i64 got, u64 objections)
{
    return !was_full(got) && expect(got, objections);
}

static void expect_number(const char *what, u64 got, u64 should)
{
    if (got != should)
        fail("expected %s %lu, got %lu", what, should, got);
}

/* ---- the model ---- */

static struct item *item_of(u32 entry)
{
    return &items[entries[entry].item];
}

static bool is_directory(u32 entry)
{
    return entry != NONE && item_of(entry)->type == S_IFDIR;
}

/* Return the entry of that name in a directory, or NONE. */
static u32 find(u32 parent, const char *name)
{
    for (u32 i = 1; i < ENTRIES; i++) {
        if (entries[i].used && entries[i].parent == parent &&
            entries[i].name == name)
            return i;
    }
    return NONE;
}

static u32 count_in(u32 parent)
{
    u32 n = 0;
    for (u32 i = 1; i < ENTRIES; i++)
        n += entries[i].used && entries[i].parent == parent;
    return n;
}

static u32 directories_in(u32 parent)
{
    u32 n = 0;
    for (u32 i = 1; i < ENTRIES; i++)
        n += entries[i].used && entries[i].parent == parent && is_directory(i);
    return n;
}

static u32 depth_of(u32 entry)
{
    u32 depth = 0;
    for (; entry != TOP; entry = entries[entry].parent)
        depth++;
    return depth;
}

static bool is_above(u32 entry, u32 other)
{
    while (other != TOP && other != entry)
        other = entries[other].parent;
    return other == entry;
}

/* How many levels are below an entry. */
static u32 height_of(u32 entry)
{
    u32 most = 0;
    for (u32 i = 1; i < ENTRIES; i++) {
        if (entries[i].used && is_above(entry, i))
            most = MAX(most, depth_of(i) - depth_of(entry));
    }
    return most;
}

static u32 free_entry(void)
{
    for (u32 i = 1; i < ENTRIES; i++) {
        if (!entries[i].used)
            return i;
    }
    return NONE;
}

static u32 free_item(void)
{
    u32 i = 1;
    while (items[i].nlinks || (held.fd >= 0 && held.item == i))
        i++;
    return i;
}

/* ---- names ---- */

/* A name in a directory, and the entry that has it. */
struct place {
    u32 parent;
    const char *name;
    u32 entry; /* NONE: there is none */
};

/* Make the path of a name in a directory, from the top down. */
static void path_to(char *to, u32 parent, const char *name)
{
    char below_it[PATH_BYTES];
    strlcpy(to, name, PATH_BYTES);
    for (; parent != TOP; parent = entries[parent].parent) {
        strlcpy(below_it, to, PATH_BYTES);
        snprintf(to, PATH_BYTES, "%s/%s", entries[parent].name, below_it);
    }
}

/* Choose any name in any directory. n: the index of the path in the call. */
static struct place choose(u32 n)
{
    struct place p;
    do
        p.parent = below(ENTRIES);
    while (!entries[p.parent].used || !is_directory(p.parent) ||
           depth_of(p.parent) > DEPTH - 1);
    p.name = names[below(NELEM(names))];
    p.entry = find(p.parent, p.name);
    path_to(path[n], p.parent, p.name);
    return p;
}

static void add_name(struct place p, u32 item)
{
    entries[free_entry()] = (struct entry){true, p.parent, item, p.name};
    items[item].nlinks++;
}

static void drop_name(u32 entry)
{
    item_of(entry)->nlinks--;
    entries[entry].used = false;
}

/* The objections to a call that makes this name: it may be there already. */
static u64 must_be_new(struct place p)
{
    return p.entry != NONE ? BIT(EEXIST) : 0;
}

static u64 must_be_there(struct place p)
{
    return p.entry == NONE ? BIT(ENOENT) : 0;
}

/* ---- contents ---- */

/* The bytes of an item go to `wanted`. */
static void make_content(const struct item *it)
{
    u64 state = it->content;
    for (u64 i = 0; i < it->size; i += sizeof(u64)) {
        u64 word = random_u64(&state);
        memcpy(wanted + i, &word, MIN(sizeof word, it->size - i));
    }
}

static u64 choose_size(void)
{
    return below(1 + below(4) * FILE_MAX / 4);
}

/* The text of a symbolic link, of 1 to 200 letters: some fit into an inode. */
static void link_text(char *text, const struct item *it)
{
    memset(text, 'a' + it->content % 26, it->size);
    text[it->size] = 0;
}

/* Compare an open file with what it should have: size, names, each byte. */
static void check_open(int fd, const struct item *it)
{
    struct stat st;
    expect(fstat(fd, &st), 0);
    expect_number("size", st.st_size, it->size);
    expect_number("names", st.st_nlink, it->nlinks);
    make_content(it);
    expect_number("bytes read", pread(fd, buf, sizeof buf, 0), it->size);
    for (u64 i = 0; i < it->size; i++) {
        if (buf[i] != wanted[i]) {
            end_if_told(fd);
            fail("at offset %lu of %lu expected 0x%02x, got 0x%02x", i,
                 it->size, (u8)wanted[i], (u8)buf[i]);
        }
    }
}

/* ---- operations ---- */

/* Return how many of n bytes a failed or short write wrote. If may_lose is set,
 * a reported loss or a short write ends the process. Otherwise the write may
 * fail or be short only if may_be_full is set. */
static u64 written_less(i64 got, u64 n)
{
    if (got >= 0 && job->may_lose)
        errno = EIO;
    if (got < 0 || job->may_lose)
        end_if_told(-1);
    if (was_full(got))
        return 0;
    if (got < 0 || !job->may_be_full)
        fail("expected %lu bytes written, got %ld", n, got);
    return got;
}

/* Write an item's contents from that offset on, sometimes fsync, and close. A
 * disk that is full may write less. */
static void write_from(int fd, struct item *it, u64 from)
{
    make_content(it);
    u64 n = it->size - from;
    i64 got = write(fd, wanted + from, n);
    if (got < 0 || (u64)got < n)
        got = written_less(got, n);
    it->size = from + got;
    if (below(8) == 0)
        expect_or_told(fsync(fd));
    expect_or_told(close(fd));
}

/* Create a file with random contents. If its name exists, the call must
 * fail. */
static void do_create(void)
{
    struct place p = choose(0);
    if (free_entry() == NONE)
        return;
    int fd = open(path[0], O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (!expect_if_room(fd, must_be_new(p)))
        return;
    u32 i = free_item();
    items[i] =
        (struct item){S_IFREG, 0, random_u64(&job->chance), choose_size()};
    add_name(p, i);
    write_from(fd, &items[i], 0);
}

static bool is_regular(u32 entry)
{
    return entry != NONE && item_of(entry)->type == S_IFREG;
}

/* Cut a file to nothing and write new contents of another size. */
static void do_rewrite(void)
{
    struct place p = choose(0);
    if (!is_regular(p.entry))
        return;
    struct item *it = item_of(p.entry);
    int fd = open(path[0], O_WRONLY | O_TRUNC);
    expect(fd, 0);
    it->content = random_u64(&job->chance);
    it->size = choose_size();
    write_from(fd, it, 0);
}

/* Write behind a file's end, so that it is FILE_MAX long at most. */
static void do_append(void)
{
    struct place p = choose(0);
    if (!is_regular(p.entry))
        return;
    struct item *it = item_of(p.entry);
    int fd = open(path[0], O_WRONLY | O_APPEND);
    expect(fd, 0);
    u64 from = it->size;
    it->size += below(FILE_MAX - from + 1);
    write_from(fd, it, from);
}

/* Make a file shorter, or leave it as it is. */
static void do_truncate(void)
{
    struct place p = choose(0);
    if (!is_regular(p.entry))
        return;
    struct item *it = item_of(p.entry);
    it->size = below(it->size + 1);
    expect(truncate(path[0], it->size), 0);
}

/* Make a directory. If its name exists, the call must fail. */
static void do_mkdir(void)
{
    struct place p = choose(0);
    if (free_entry() == NONE ||
        !expect_if_room(mkdir(path[0], 0755), must_be_new(p)))
        return;
    u32 i = free_item();
    items[i] = (struct item){.type = S_IFDIR};
    add_name(p, i);
}

/* Make a symbolic link with a text of 1 to 200 characters. If its name exists,
 * the call must fail. */
static void do_symlink(void)
{
    struct place p = choose(0);
    char text[256];
    struct item it = {S_IFLNK, 0, random_u64(&job->chance), 1 + below(200)};
    link_text(text, &it);
    if (free_entry() == NONE ||
        !expect_if_room(symlink(text, path[0]), must_be_new(p)))
        return;
    u32 i = free_item();
    items[i] = it;
    add_name(p, i);
}

/* Make a second name of a file, unless a directory or a link makes that
 * pointless. */
static void do_link(void)
{
    struct place from = choose(0), to = choose(1);
    u64 no = must_be_there(from) | must_be_new(to);
    /* A link to a symbolic link is a link to its target, which does not
     * exist. */
    if (from.entry != NONE && item_of(from.entry)->type == S_IFLNK)
        return;
    if (is_directory(from.entry))
        no |= BIT(EPERM);
    if (free_entry() != NONE && expect_if_room(link(path[0], path[1]), no))
        add_name(to, entries[from.entry].item);
}

static void do_unlink(void)
{
    struct place p = choose(0);
    u64 no = must_be_there(p) | (is_directory(p.entry) ? BIT(EISDIR) : 0);
    if (expect(unlink(path[0]), no))
        drop_name(p.entry);
}

/* Remove a directory. The call must fail if there is none, if the name is of
 * something else, or if the directory is not empty. */
static void do_rmdir(void)
{
    struct place p = choose(0);
    u64 no = must_be_there(p);
    if (p.entry != NONE && !is_directory(p.entry))
        no |= BIT(ENOTDIR);
    if (is_directory(p.entry) && count_in(p.entry))
        no |= BIT(ENOTEMPTY);
    if (expect(rmdir(path[0]), no))
        drop_name(p.entry);
}

/* Return the errors that a rename may end with, a bit each; 0: it must
 * succeed. */
static u64 objections_to_rename(struct place from, struct place to)
{
    u64 no = 0;
    if (from.entry == NONE)
        return BIT(ENOENT);
    bool directory = is_directory(from.entry);
    if (directory && is_above(from.entry, to.parent))
        no |= BIT(EINVAL);
    if (to.entry == NONE || to.entry == from.entry)
        return no;
    if (directory && !is_directory(to.entry))
        no |= BIT(ENOTDIR);
    if (!directory && is_directory(to.entry))
        no |= BIT(EISDIR);
    if (directory && is_directory(to.entry) && count_in(to.entry))
        no |= BIT(ENOTEMPTY);
    return no;
}

/* Rename something, in the model, too. It must not become deeper than DEPTH. */
static void do_rename(void)
{
    struct place from = choose(0), to = choose(1);
    u64 no = objections_to_rename(from, to);
    if (!no && depth_of(to.parent) + 1 + height_of(from.entry) > DEPTH)
        return;
    if (!expect_if_room(rename(path[0], path[1]), no))
        return;
    if (to.entry != NONE) {
        if (item_of(to.entry) == item_of(from.entry))
            return; /* two names of one file: nothing happens */
        drop_name(to.entry);
    }
    entries[from.entry].parent = to.parent;
    entries[from.entry].name = to.name;
}

/* Open a file and leave it open. If a file is open, compare and close it. */
static void do_hold(void)
{
    struct place p = choose(0);
    if (held.fd >= 0) {
        check_open(held.fd, &items[held.item]);
        expect_or_told(close(held.fd));
        held.fd = -1;
    } else if (is_regular(p.entry)) {
        held.fd = open(path[0], O_RDONLY);
        expect(held.fd, 0);
        held.item = entries[p.entry].item;
    }
}

static void do_sync(void)
{
    sync_or_tell();
}

/* ---- comparing ---- */

/* Compare a symbolic link's text, at path[0], with the model. */
static void check_link(const struct item *it)
{
    char text[256], got[256];
    link_text(text, it);
    i64 n = readlink(path[0], got, sizeof got - 1);
    expect(n, 0);
    got[n] = 0;
    if (strcmp(text, got) != 0)
        fail("expected a link to '%s', got '%s'", text, got);
}

/* Check that each name is in the model, and that there are equally many. */
static void check_directory(u32 entry)
{
    u32 n = 0;
    DIR *dir = opendir(entry == TOP ? "." : path[0]);
    expect(dir ? 0 : -1, 0);
    for (struct dirent *d; (d = readdir(dir));) {
        u32 i = 0;
        while (i < NELEM(names) && strcmp(names[i], d->name) != 0)
            i++;
        if (is_dot(d->name))
            continue;
        n++;
        if (i == NELEM(names) || find(entry, names[i]) == NONE)
            fail("did not expect the name '%s'", d->name);
    }
    expect(errno ? -1 : 0, 0);
    closedir(dir);
    expect_number("entries", n, count_in(entry));
}

/* Compare a name's type and contents with the model. Uses path[0]. */
static void check_entry(u32 entry)
{
    struct stat st;
    const struct item *it = item_of(entry);
    path_to(path[0], entries[entry].parent, entries[entry].name);
    expect(lstat(path[0], &st), 0);
    expect_number("type", st.st_mode & S_IFMT, it->type);
    if (it->type == S_IFDIR) {
        expect_number("links", st.st_nlink, 2 + directories_in(entry));
        check_directory(entry);
    } else if (it->type == S_IFLNK) {
        check_link(it);
    } else {
        int fd = open(path[0], O_RDONLY);
        expect(fd, 0);
        check_open(fd, it);
        expect_or_told(close(fd));
    }
}

/* Compare one name, or check that a name which the model does not have is not
 * there. */
static void do_check(void)
{
    struct place p = choose(0);
    struct stat st;
    if (p.entry != NONE)
        check_entry(p.entry);
    else
        expect(lstat(path[0], &st), BIT(ENOENT));
}

/* Compare the whole directory with the model. */
static void check_all(void)
{
    path[0][0] = path[1][0] = 0;
    check_directory(TOP);
    for (u32 i = 1; i < ENTRIES; i++) {
        if (entries[i].used)
            check_entry(i);
    }
    job->told = false;
}

static const struct weighted kinds[] = {
    {"create", do_create, 15}, {"rewrite", do_rewrite, 10},
    {"append", do_append, 10}, {"truncate", do_truncate, 5},
    {"mkdir", do_mkdir, 6},    {"symlink", do_symlink, 4},
    {"link", do_link, 6},      {"unlink", do_unlink, 12},
    {"rmdir", do_rmdir, 6},    {"rename", do_rename, 20},
    {"hold", do_hold, 5},      {"check", do_check, 30},
    {"sync", do_sync, 1},
};

/* Do a random operation; at times compare everything. */
static void operate(void)
{
    const struct weighted *w =
        random_weighted(&job->chance, kinds, NELEM(kinds));
    kind = w->name;
    path[1][0] = 0;
    w->act();
    if (job->number % CHECK_EVERY == 0 || job->number == job->operations) {
        kind = "comparison";
        check_all();
    }
}

/* Take the options of the command line into `job`. */
static void read_options(int argc, char **argv)
{
    static const char usage[] =
        "churn [-flo] [-s SEED] [-n OPERATIONS] DIRECTORY";
    int c;
    while ((c = options(argc, argv, "flos:n:", usage)) > 0) {
        job->may_be_full |= c == 'f';
        job->may_lose |= c == 'l';
        job->other_may_lose |= c == 'o';
        if (!strchr("flo", c))
            *(c == 's' ? &job->seed : &job->operations) =
                size_arg(optarg, c == 's' ? "-s" : "-n");
    }
    if (argc - optind != 1)
        usage_exit(usage);
    job->path = argv[optind];
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    if (chdir(job->path) < 0)
        die("%s", job->path);
    job->describe = describe;
    job->chance = random_stream(job->seed, 0, 0);
    memset(longest, 'x', sizeof longest - 1);
    items[TOP] = (struct item){.type = S_IFDIR, .nlinks = 1};
    entries[TOP] = (struct entry){.used = true, .name = "."};
    check_directory(TOP);
    for (job->number = 1; job->number <= job->operations; job->number++)
        operate();
    printf("churn: %lu operations in %s, no difference\n", job->operations,
           job->path);
    return 0;
}

/*
 * mkfs: lay out an ext2 revision 1 image (file types, sparse superblocks,
 * large files) from a folder. Runs on the host.
 *
 * - The same options and folder give the same bytes: entries are sorted, the
 *   owner is 0:0, modes are 755 or 644 by the host's x bit, and times and UUID
 *   come only from options.
 * - Options are rows of a table, which drives parsing and help.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mkfs/mkfs.h"

enum option_type { SIZE, PERCENT, TEXT, LIST, FLAG };

static struct options opt = {
    .block_bytes = 4096,
    .size_bytes = 64 << 20,
    .label = "",
};

#define INDENT "        "

static const struct option_row {
    int letter; /* from 256: long only */
    const char *name;
    enum option_type type;
    const char *arg;
    void *value;
    const char *about;
} rows[] = {
    {'b', "block", SIZE, "SIZE", &opt.block_bytes,
     "block size: 1K, 2K, 4K (default) or 8K"},
    {'s', "size", SIZE, "SIZE", &opt.size_bytes,
     "size of the image; default 64M"},
    {'g', "group", SIZE, "SIZE", &opt.group_bytes,
     "size of a block group, a multiple of 8 blocks; default: the largest"},
    {'i', "inode", SIZE, "BYTES", &opt.bytes_per_inode,
     "bytes for each inode; default 8K, with 8K blocks 16K"},
    {'L', "label", TEXT, "LABEL", &opt.label,
     "name of the file system, at most 16 bytes"},
    {'m', "reserved", PERCENT, "PERCENT", &opt.reserved_percent,
     "blocks kept for root; default 0"},
    {'d', "folder", TEXT, "FOLDER", &opt.folder,
     "folder whose contents go into the image; hard links become\n" INDENT
     "separate files"},
    {'U', "seed", SIZE, "SEED", &opt.seed,
     "seed of the UUID, of ageing and of places; default 0"},
    {'T', "time", SIZE, "SECONDS", &opt.time_s,
     "time of all files, in seconds since 1970; default 0"},
    {'J', "journal", SIZE, "SIZE", &opt.journal_bytes,
     "make a journal of this size, of 1,024 blocks or more, as mke2fs "
     "-j\n" INDENT "does; default: none"},
    {256, "sparse", FLAG, NULL, &opt.sparse,
     "blocks of zeros in the folder's files become holes"},
    {262, "far-indirect", FLAG, NULL, &opt.far,
     "as in FFS, a file's indirect block, and the data it points to, "
     "begin\n" INDENT "in another group"},
    {266, "random-indirect", FLAG, NULL, &opt.random,
     "like --far-indirect, in a group drawn at random by the seed"},
    {264, "spread", TEXT, "SIZE[:GROUPS]", &opt.spread,
     "as in FFS, a file goes on in another group where its indirect\n" INDENT
     "block begins, and again after each SIZE of data (FFS: 1M): the\n" INDENT
     "next group, or so many groups on, that has room"},
    {265, "from-log", TEXT, "DISK", &opt.from_log,
     "make no file system: IMAGE becomes the blocks of this disk, "
     "which\n" INDENT
     "has a virtual log; a block that was never written becomes a hole"},
    {257, "file", LIST, "PATH=SIZE", opt.file,
     "add a file of zeros, with all its blocks allocated"},
    {258, "pattern", TEXT, "SEED", &opt.pattern,
     "fill the k-th --file (from 0) with the outputs of splitmix64,\n" INDENT
     "little-endian, its state starting at SEED + k"},
    {259, "at", LIST, "PATH=GROUP[:BLOCK]", opt.at,
     "where a file's data begins; BLOCK counts from the group's start"},
    {263, "scatter", LIST, "PATH=COUNT:SIZE", opt.scatter,
     "add COUNT files PATH0, PATH1, ... as by --file, each whole at a\n" INDENT
     "random place, its inode in the group where its data begins"},
    {260, "fill", PERCENT, "PERCENT", &opt.fill_percent,
     "add filler files of 1 to 64 blocks under /" AGED " until used\n" INDENT
     "blocks / (blocks for data - reserved ones) is this, as df has it"},
    {261, "fragment", PERCENT, "PERCENT", &opt.fragment_percent,
     "with --fill: lay down more filler files, of which this share of\n" INDENT
     "blocks, chosen at random, is then free again between the others"},
    {'h', "help", FLAG, NULL, NULL, "this text"},
};

static char *unfinished; /* the image's temporary name while it is written */

/* Print a message, remove the image if it is unfinished, and end the
 * program. */
void die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("mkfs: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    if (unfinished)
        unlink(unfinished);
    exit(1);
}

void *zalloc(u64 bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);

    if (!p)
        die("out of memory: %llu bytes", (unsigned long long)bytes);
    return p;
}

char *text(const char *fmt, ...)
{
    char *out;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&out, fmt, args) < 0)
        die("out of memory");
    va_end(args);
    return out;
}

u64 splitmix64(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

bool parse_size(const char *s, u64 *value)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    errno = 0;
    *value = strtoull(s, &end, 0);
    if (errno)
        return false;

    const char *units = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        u32 shift = 10 * (unit - units + 1);
        if (*value > UINT64_MAX >> shift)
            return false;
        *value <<= shift;
        end++;
    }
    return *end == 0;
}

static void help(void)
{
    printf("usage: mkfs [OPTION]... IMAGE\n"
           "Lay out an ext2 file system in the file IMAGE.\n\n");
    for (u32 i = 0; i < NELEM(rows); i++) {
        const struct option_row *r = &rows[i];
        if (r->letter < 256)
            printf("-%c, ", r->letter);
        printf("--%s %s\n", r->name, r->arg ? r->arg : "");
        printf(INDENT "%s\n", r->about);
    }
    printf("Sizes and numbers may end in K, M or G.\n");
    exit(0);
}

static void append(const char **list, const struct option_row *r,
                   const char *arg)
{
    u32 n = 0;

    while (list[n])
        n++;
    if (n == MAX_LIST - 1)
        die("--%s %s: more than %u of them", r->name, arg, MAX_LIST - 1);
    list[n] = arg;
}

/* Store an option's argument as the type of its row says, or print the help. */
static void set_option(const struct option_row *r, const char *arg)
{
    u64 number = 0;
    bool numeric = r->type == SIZE || r->type == PERCENT;

    if (numeric && !parse_size(arg, &number))
        die("--%s %s: not a number such as 64 or 512K or 16M", r->name, arg);
    if (r->type == PERCENT && number > 100)
        die("--%s %s: not a percentage, 0 to 100", r->name, arg);

    if (numeric)
        *(u64 *)r->value = number;
    else if (r->type == TEXT)
        *(const char **)r->value = arg;
    else if (r->type == LIST)
        append(r->value, r, arg);
    else if (r->value)
        *(bool *)r->value = true;
    else
        help();
}

static const struct option_row *row_of(int letter)
{
    for (u32 i = 0; i < NELEM(rows); i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

/* Make the tables of getopt_long from the rows, and set each option. */
static void parse_options(int argc, char **argv)
{
    struct option longs[NELEM(rows) + 1] = {0};
    char shorts[2 * NELEM(rows) + 2] = ":";
    int c;

    for (u32 i = 0; i < NELEM(rows); i++) {
        longs[i].name = rows[i].name;
        longs[i].has_arg = rows[i].arg != NULL;
        longs[i].val = rows[i].letter;
        if (rows[i].letter < 256) {
            char one[] = {rows[i].letter, rows[i].arg ? ':' : 0, 0};
            strcat(shorts, one);
        }
    }
    opterr = 0;
    while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (c == ':')
            die("%s: needs a value; -h lists the options", argv[optind - 1]);
        if (c == '?' && optopt && optopt < 256)
            die("unknown option -%c; -h lists the options", optopt);
        if (c == '?')
            die("unknown option %s; -h lists the options", argv[optind - 1]);
        set_option(row_of(c), optarg);
    }
    if (optind != argc - 1)
        die("%s; -h lists the options",
            optind < argc ? "more than one IMAGE" : "no IMAGE");
    opt.image = argv[optind];
}

/* SIZE[:GROUPS] */
static void parse_spread(void)
{
    char size[32];
    int end = 0, more = 0;

    opt.spread_groups = 1;
    sscanf(opt.spread, "%31[0-9A-Z]%n:%u%n", size, &end, &opt.spread_groups,
           &more);
    if (!end || opt.spread[MAX(end, more)] ||
        !parse_size(size, &opt.spread_bytes) || !opt.spread_bytes ||
        !opt.spread_groups)
        die("--spread %s: not SIZE or SIZE:GROUPS, both from 1", opt.spread);
    if (opt.spread_bytes % opt.block_bytes)
        die("--spread %s: not a multiple of the block size %lu", opt.spread,
            opt.block_bytes);
}

static void check_options(void)
{
    u64 b = opt.block_bytes;

    if (b != 1024 && b != 2048 && b != 4096 && b != 8192)
        die("--block %lu: not 1K, 2K, 4K or 8K", b);
    if (opt.size_bytes % b)
        die("--size %lu: not a multiple of the block size %lu", opt.size_bytes,
            b);
    if (strlen(opt.label) > 16)
        die("--label %s: longer than 16 bytes", opt.label);
    if (opt.pattern && !parse_size(opt.pattern, &opt.pattern_seed))
        die("--pattern %s: not a number", opt.pattern);
    if (opt.reserved_percent > 50)
        die("--reserved %lu: more than 50", opt.reserved_percent);
    if (opt.time_s > UINT32_MAX)
        die("--time %lu: past %u, ext2's last second", opt.time_s, UINT32_MAX);
    if (opt.fragment_percent && !opt.fill_percent)
        die("--fragment %lu: only together with --fill", opt.fragment_percent);
    journal_check(&opt);
    if (opt.spread)
        parse_spread();
    if (opt.fragment_percent == 100)
        die("--fragment 100: would leave no file; at most 99");
}

/* Add the blocks and inodes that a file, or a directory with all in it,
 * needs. */
static void add_need(const struct fs *fs, const struct node *n, u64 *blocks,
                     u64 *inodes)
{
    *blocks += file_blocks(fs, n);
    *inodes += 1;
    for (u32 i = 0; i < n->nchild; i++)
        add_need(fs, n->child[i], blocks, inodes);
}

static void check_fits(const struct fs *fs, const struct node *root)
{
    u64 blocks = journal_blocks(fs), inodes = 0;

    add_need(fs, root, &blocks, &inodes);
    inodes--; /* the root's is reserved, not free */
    if (blocks > layout_free(fs))
        die("%s: does not fit: needs %lu blocks of %u bytes (%luK), "
            "--size %luK leaves %lu for data",
            opt.image, blocks, fs->block_bytes, blocks * fs->block_bytes / 1024,
            opt.size_bytes / 1024, layout_free(fs));
    if (inodes > layout_free_inodes(fs))
        die("%s: does not fit: needs %lu inodes, has %lu; "
            "a smaller --inode makes more",
            opt.image, inodes, layout_free_inodes(fs));
}

/* PATH=GROUP[:BLOCK] */
static void lay_at(struct fs *fs, struct node *root, const char *arg)
{
    const char *equals = strrchr(arg, '=');
    unsigned group, block = 0;
    int end = 0;

    if (equals && sscanf(equals, "=%u%n:%u%n", &group, &end, &block, &end) < 1)
        end = 0;
    if (!end || equals[end])
        die("--at %s: not PATH=GROUP or PATH=GROUP:BLOCK", arg);
    char *path = text("%.*s", (int)(equals - arg), arg);
    struct node *n = tree_find(root, path);
    if (!n || (n->disk.mode & 0170000) != 0100000 || !n->size)
        die("--at %s: no file with data of this name in the image", arg);
    if (n->laid)
        die("--at %s: this file has been placed already", arg);
    if (group >= fs->ngroups)
        die("--at %s: the last group is %u", arg, fs->ngroups - 1);

    u32 at = layout_group_start(fs, group) + block;
    if (!strchr(equals, ':'))
        at = layout_find(fs, group, file_blocks(fs, n));
    if (layout_group_of(fs, at) != group)
        die("--at %s: group %u has no such block", arg, group);
    if (!layout_is_free(fs, at))
        die("--at %s: the block is in use; data begins at block %u", arg,
            layout_data_start(fs, group) - layout_group_start(fs, group));
    file_lay_at(fs, n, at);
    free(path);
}

/* Create the image under a temporary name, so that none is ever there in
 * part. */
static void begin_image(struct fs *fs)
{
    char *name = text("%s.%d.tmp", opt.image, (int)getpid());

    fs->fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0666);
    if (fs->fd < 0)
        die("%s: %s", name, strerror(errno));
    unfinished = name;
    if (ftruncate(fs->fd, opt.size_bytes) < 0)
        die("%s: %s", name, strerror(errno));
}

static void finish_image(struct fs *fs)
{
    if (close(fs->fd) < 0)
        die("%s: %s", unfinished, strerror(errno));
    if (rename(unfinished, opt.image) < 0)
        die("%s: %s", opt.image, strerror(errno));
    unfinished = NULL;
}

int main(int argc, char **argv)
{
    struct fs fs = {0};

    parse_options(argc, argv);
    if (opt.from_log) {
        opt.size_bytes = log_read(opt.from_log);
        begin_image(&fs);
        u64 written = log_write(fs.fd);
        finish_image(&fs);
        printf("%s: %lu blocks, %lu of them written\n", opt.image,
               opt.size_bytes / 4096, written);
        return 0;
    }
    check_options();
    layout_plan(&fs, &opt);
    struct node *root = tree_build(&opt);
    check_fits(&fs, root);

    begin_image(&fs);
    journal_lay(&fs);
    for (u32 i = 0; opt.at[i]; i++)
        lay_at(&fs, root, opt.at[i]);
    file_lay(&fs, root, 0);
    file_lay(&fs, tree_find(root, LOST_FOUND), 0);
    scatter(&fs, root);
    file_lay_tree(&fs, root);
    if (opt.fill_percent)
        age(&fs, tree_find(root, AGED));
    file_write_directories(&fs, root);
    layout_write(&fs);
    finish_image(&fs);
    printf("%s: %u blocks of %u bytes in %u groups, %lu free; "
           "%u inodes, %lu free\n",
           opt.image, fs.nblocks, fs.block_bytes, fs.ngroups, layout_free(&fs),
           fs.group_inodes * fs.ngroups, layout_free_inodes(&fs));
    return 0;
}

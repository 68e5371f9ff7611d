/* du: prints the KiB that directories use with everything in them. -s: only one
 * line for each argument. A file with several names counts once. */
#include "user/lib.h"

static bool sum_only;
static int failed;
static u64 *seen; /* device << 32 | inode */
static size_t seen_count, seen_room;

/* True if the file has several names and another one was counted already. */
static bool seen_before(const struct stat *st)
{
    u64 id = (u64)st->st_dev << 32 | st->st_ino;
    if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
        return false;
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i] == id)
            return true;
    }
    if (seen_count == seen_room) {
        seen_room = 2 * seen_room + 64;
        seen = xrealloc(seen, seen_room * sizeof seen[0]);
    }
    seen[seen_count++] = id;
    return false;
}

/* Sectors below the directories that the walk is in, by their depth. */
static u64 *below;
static size_t below_room;

/* Make room for the sums of directories at that depth. */
static void make_room(size_t depth)
{
    if (depth < below_room)
        return;
    size_t room = 2 * depth + 64;
    below = xrealloc(below, room * sizeof below[0]);
    memset(below + below_room, 0, (room - below_room) * sizeof below[0]);
    below_room = room;
}

/* Count an entry. below[d] is the sum of what was seen so far below the open
 * directory at depth d - 1, in sectors; a directory comes after its entries. */
static int count(const struct tree_entry *e)
{
    bool directory = S_ISDIR(e->st.st_mode);
    if (seen_before(&e->st))
        return 0;
    make_room(e->depth + 1);
    u64 sectors = e->st.st_blocks + below[e->depth + 1]; /* of 512 bytes */
    below[e->depth + 1] = 0;
    below[e->depth] += sectors;
    if (e->depth == 0 || (directory && !sum_only))
        printf("%-7lu %s\n", (sectors + 1) / 2, e->path);
    return 0;
}

static void du(const char *path)
{
    if (below)
        below[0] = 0;
    failed |= tree_walk(path, false, count);
}

int main(int argc, char **argv)
{
    while (options(argc, argv, "s", "du [-s] [FILE...]") > 0)
        sum_only = true;
    if (optind == argc)
        du(".");
    for (; optind < argc; optind++)
        du(argv[optind]);
    return failed;
}

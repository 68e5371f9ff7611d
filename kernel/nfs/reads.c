/*
 * The streams of files that clients read (kernel/cache/stream.h), by which the
 * prefetch policy knows what it has seen of a file.
 *
 * - A client does not say when it opens and closes a file. So the server
 *   remembers the FILES files that were read last.
 * - reads_begin takes a file's row out of the table, and reads_end puts it
 *   back. In between it belongs to the process that has locked the inode.
 */
#include "kernel/nfs/internal.h"

#define FILES 16

static struct row {
    u32 ino, generation; /* 0: free */
    u64 used;            /* when, counted in reads */
    struct streams streams;
} rows[FILES];     /* lock */
static u64 nreads; /* lock */
static struct spinlock lock = SPINLOCK("reads", RANK_FILE);

/* Return the row of the inode, or NULL. */
static struct row *find(const struct inode *ip)
{
    struct row *r = rows;
    while (r < rows + FILES &&
           (r->ino != ip->ino || r->generation != ip->generation))
        r++;
    return r < rows + FILES ? r : NULL;
}

/* Get the streams of a file that is about to be read; none if it is not
 * remembered. */
void reads_begin(const struct inode *ip, struct streams *s)
{
    HOLD(spin, &lock);
    struct row *r = find(ip);
    if (r)
        *s = r->streams;
    else
        memset(s, 0, sizeof *s);
}

/* Return the row that was used longest ago. */
static struct row *oldest(void)
{
    struct row *r = rows;
    for (struct row *i = rows; i < rows + FILES; i++)
        if (i->used < r->used)
            r = i;
    return r;
}

/* Remember the streams of a file that was read, in place of the oldest row. */
void reads_end(struct inode *ip, const struct streams *s)
{
    struct streams gone = {0};
    spin_lock(&lock);
    struct row *r = find(ip);
    if (!r) {
        r = oldest();
        gone = r->streams;
    }
    *r = (struct row){ip->ino, ip->generation, ++nreads, *s};
    spin_unlock(&lock);
    ext2_end_reads(ip, &gone); /* all files are on one disk */
}

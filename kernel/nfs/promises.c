/*
 * Promises to clients about files, for the servers of leases and of Spritely
 * NFS: a table, which is empty when the server starts.
 *
 * - The server's epoch is its verifier of writes: a table of another epoch is
 *   from an earlier start, and its promises do not count.
 * - A server that has ever promised anything has a file, its mark, in the
 *   exported directory. If the mark is there at the start, nothing is promised
 *   before `grace_ns`: earlier promises are over then, or renewed.
 */
#include "kernel/machine/mem.h"
#include "kernel/nfs/internal.h"

/* True if the table is of this start of the server. */
bool promises_current(const struct promises *p)
{
    return p && p->epoch == exported.verifier;
}

/* Make the table empty, once for each start of the server. Return 0 or
 * -ENOMEM. */
int promises_start(struct promises **p, u64 bytes, const char *mark,
                   u64 grace_ns, struct spinlock *lock)
{
    OWNED(inode) struct inode *marked = NULL;
    if (promises_current(*p))
        return 0;
    bool wait = lookup(exported.root, mark, &marked) == 0;
    HOLD(spin, lock);
    if (promises_current(*p))
        return 0;
    *p = *p ?: mem_reserve(bytes);
    if (!*p)
        return -ENOMEM;
    memset(*p, 0, bytes);
    (*p)->epoch = (*p)->counter = exported.verifier;
    (*p)->grace_ns = wait ? clock_ns() + grace_ns : 0;
    return 0;
}

/* Make the mark, before the first promise. Return 0 or an error. */
int promises_mark(const char *mark)
{
    struct inode *ip;
    int error = ext2_create_at(exported.root, mark, 0600, true, &ip);
    if (!error)
        iput(ip);
    return error == -EEXIST ? 0 : error ?: make_stable(exported.root);
}

/* True if one more serving process may wait for a client; then it is counted.
 * More than half of them must be free to answer. */
bool promises_may_wait(struct promises *p)
{
    bool may = 2 * p->waiting + 2 < exported.users;
    p->waiting += may;
    return may;
}

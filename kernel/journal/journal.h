/*
 * The journal of a file system: the room's interface.
 */
#pragma once

#include "kernel/cache/bio.h"
#include "kernel/journal/format.h"

/* Where a log lies. */
struct log {
    struct disk *disk;
    const u32 *where; /* the disk's block of each block of the log */
    u32 blocks;       /* how many */
    u32 fs_blocks;    /* of the file system: a home is below */
};

/* What a recovery found. */
struct recovered {
    u32 transactions, blocks; /* replayed */
    u32 revoked;              /* copies that were not, because of a revoke */
    bool failed;              /* the log says that damage was found before */
    const char *wrong;        /* why it is refused */
};

/*
 * Bring home the blocks of all whole transactions, and empty the log. On return
 * they are on the disk; the cache has them, too.
 *
 * Refused, with nothing changed and the reason in `wrong`: -EIO if the log is
 * damaged, -EINVAL if it has features that are not handled. Else 0, -ENOMEM, or
 * -EIO if the disk failed; then it can be done again.
 */
int journal_recover(const struct log *, struct recovered *);

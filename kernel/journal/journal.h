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

/* The ring of a log that is written. One process at a time appends. */
struct ring {
    const struct log *log;
    u32 first, blocks; /* it is [first, blocks) of the log */
    u32 head, free;    /* the next transaction's place; blocks that are free */
    u32 sequence;      /* the next transaction's */
};

/* A block of the file system as it is to be logged. */
struct logged {
    u32 home;
    const void *data; /* unchanged until it has been appended */
};

/* How many blocks of the log a transaction takes. */
u32 journal_room(u32 nblocks, u32 nrevokes);

/* Append a whole transaction; it is on the disk on return. -ENOSPC: there is no
 * room for it, and nothing was written. -EIO or -ENOMEM: it does not count.
 * May sleep; no buffer is held. */
int journal_append(struct ring *, const struct logged *, u32 n,
                   const u32 *revokes, u32 nrevokes);

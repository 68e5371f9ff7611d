/*
 * The journal of a file system: the room's interface.
 */
#pragma once

#include "kernel/depend/depend.h"
#include "kernel/journal/format.h"

/* The place of a log. */
struct log {
    struct disk *disk;
    const u32 *where; /* the disk's block of each block of the log */
    u32 blocks;       /* how many */
    u32 fs_blocks;    /* of the file system: a home is below */
};

/* The result of a recovery. */
struct recovered {
    u32 transactions, blocks; /* whole ones in the log; replayed */
    u32 revoked;              /* copies that were not, because of a revoke */
    bool emptied;             /* the log was emptied, which changed it */
    bool failed;              /* the log says that damage was found before */
    const char *wrong;        /* why it is refused */
};

/*
 * Bring home the blocks of all whole transactions, and empty the log. On return
 * they are on the disk; the cache has them, too. drop: only empty the log, if
 * it is not; what it says is older than the disk.
 *
 * Refused, with nothing changed and the reason in `wrong`: -EIO if the log is
 * damaged, -EINVAL if it has features that are not handled. Else 0, -ENOMEM, or
 * -EIO if the disk failed; then it can be done again.
 */
int journal_recover(const struct log *, bool drop, struct recovered *);

/* Read the first bytes of a log's block. Return 0 or -EIO. */
int journal_read(const struct log *, u32 at, void *to, u32 bytes);

/* Check a log's superblock; writes: the log is to be written, too. 0, -EIO or
 * -EINVAL, and why. */
int journal_check_super(const struct log *, const struct journal_super *,
                        bool writes, const char **why);

/* Write a log's superblock, with this start and sequence. On return it is on
 * the platters. 0 or -EIO. */
int journal_write_super(const struct log *, struct journal_super *, u32 start,
                        u32 sequence);

/* The ring of a log that is written. One process at a time appends. */
struct ring {
    const struct log *log;
    u32 first, blocks; /* the ring is [first, blocks) of the log */
    u32 head, free;    /* where the next transaction begins; free blocks */
    u32 sequence;      /* number of the next transaction */
};

/* A block of the file system as it is to be logged. */
struct logged {
    u32 home;
    const void *data; /* unchanged until it has been appended */
};

/* Return how many blocks of the log a transaction takes. */
u32 journal_room(u32 nblocks, u32 nrevokes);

/* True if a block begins as the log's own blocks do: its copy is changed. */
bool journal_escapes(const void *data);

/* Return the bytes that appending so many blocks and revokes takes. */
u64 journal_bytes(u32 nblocks, u32 nescaped, u32 nrevokes);

/* Append a whole transaction; it is on the disk on return. -ENOSPC: there is no
 * room for it, and nothing was written. -EIO: it does not count.
 * May sleep; no buffer is held. The memory is of at least journal_bytes. */
int journal_append(struct ring *, void *memory, const struct logged *, u32 n,
                   const u32 *revokes, u32 nrevokes);

/* ---- transactions ---- */

/* The functions that a journal calls in its file system. */
struct journal_user {
    /* These blocks, given to journal_free, are free from now on: adds the
     * changes of bitmaps and counts to the transaction. 0 or -EIO. */
    int (*give_back)(void *arg, u32 first, u32 n);
    void (*begun)(void); /* a transaction has its first change */
    void *arg;
    u32 changes; /* how many blocks giving back changes at most */
};

struct freed_page;

/* A journal. It is in use while `open` is true; all zeros: it is not in use. */
struct journal {
    struct log log;
    struct journal_user user;
    struct journal_super super; /* as it is on the disk */
    u64 most;                   /* blocks that a transaction may pin */
    /* lock */
    struct spinlock lock;
    bool open;       /* changes go into transactions */
    bool closed;     /* the gate: no operation may begin */
    bool committing; /* one process commits */
    bool failed;     /* a transaction could not be appended: none will be */
    u32 inside;      /* processes in operations */
    u64 running;     /* number of the running transaction */
    u64 begun_ns;    /* its first change; 0: there is none */
    /* processes that ask for commits, and how long these take */
    u64 asked, again;     /* processes that asked for this commit; those of
                             them that asked for the last one, too */
    u64 before, expected; /* asked for the last one; expected to ask for this */
    u64 took_ns, last[64]; /* mean time of a commit; commit asked for last, by
                              pid % 64 */
    /* for processes inside, or for the one that has closed the gate */
    struct spinlock freed_lock;
    struct freed_page *freed; /* freed_lock */
    u64 nfreed;               /* freed_lock: blocks in these pages */
    /* for the process that has closed the gate */
    struct ring ring;
    u8 *logged; /* a bit for each block with a copy in the log */
};

void journal_init(struct journal *);

/* Read the superblock of a log; nothing is written. 0, or an error and why. */
int journal_look(struct journal *, const struct log *, const char **why);

/* Put a journal to use, after journal_look: all that is dirty is written, and
 * the log begins. The file system says on the disk that it needs recovery. 0,
 * -EIO or -ENOMEM. */
int journal_open(struct journal *, struct journal_user);

/* Commit, write all home, and empty the log, which is not in use then. */
int journal_close(struct journal *);

/* True while changes of metadata go to the log. */
static inline bool journal_is_open(const struct journal *j)
{
    return __atomic_load_n(&j->open, __ATOMIC_RELAXED);
}

/* Begin and end an operation: what it changes is committed as a whole.
 * Operations nest. One waits before it begins, never inside: for the end of a
 * commit, or until the transaction has room. The caller holds no buffer, and
 * has locked all inodes that it needs; inside it takes no further lock that is
 * held by a process that may be about to begin. */
void journal_enter(struct journal *);
void journal_leave(struct journal *);
bool journal_inside(void); /* is the process in an operation? */

/* Add a changed buffer to the running transaction, and let go of it. In an
 * operation, of a journal that is open. */
void journal_add(struct journal *, struct buf *, u64 owner);

/* These blocks are free when the running transaction is on the disk. */
int journal_free(struct journal *, u32 first, u32 n);

/* False if the transaction is so large that an operation should end, if it
 * can. */
bool journal_has_room(const struct journal *);

/* Commit: on return the changes of ended operations are on the disk, and what
 * was written before the call, except data whose writes fail: sync and an fsync
 * of the file tell of that. 0, -EIO or -ENOMEM; then a later call tries it
 * again, unless the journal has failed. In no operation. asked: a process asks
 * for it, and waits a while for others to ask; else it is due, or room is
 * needed. */
int journal_commit(struct journal *, bool asked);

/*
 * Transactions: operations on a file system are gathered, and reach the log
 * together.
 *
 *   journal_enter, journal_add ..., journal_leave     an operation
 *   set_gate(true)                    no operation begins, those inside end
 *   give_back                         blocks freed meanwhile become free
 *   journal_append                    the transaction is on the disk
 *   bunpin                            its blocks become dirty, to be written
 *   checkpoint                        if the log is half full: they are
 *   set_gate(false)                   the next transaction begins
 *
 * - A block that the running transaction has changed is pinned in the cache, so
 *   it cannot be written home before its commit.
 * - Ordered data: file data is written before the transaction that leads to it.
 *   A block of data whose write fails counts as written, as in kernel/depend:
 *   one bad sector shall not hold up the other files. If the log cannot be
 *   written either, nothing is done, and a later commit tries it all again.
 * - A freed block is given out only when its transaction is on the disk: until
 *   then its bit in the bitmap stays set. Else new data might be written over a
 *   file that a power cut brings back. If the log has a copy of the block, the
 *   block is revoked: else recovery might write the copy over new data.
 * - No block is in a transaction twice, or both in it and revoked by it: a
 *   freed block is given out only after the transaction.
 * - One commit at a time. A process that asks for one meanwhile shares it:
 *   operations that have ended by then are in it.
 * - Processes that fsync again and again shall share commits: else those that
 *   one commit releases are at work while the next begins, and each carries
 *   half of them. So a commit waits for the processes that asked for one of the
 *   last two, but no longer than a commit takes (as JBD2, which waits so long
 *   after a change of processes), and not if operations wait for room. A
 *   commit that no process asked for, because it was due, is not counted.
 * - A transaction takes at most a quarter of the log, and what a commit adds to
 *   it, so half of the log is always enough.
 * - If a transaction cannot be appended, its blocks stay pinned: what is on the
 *   disk is the state before it.
 */
#include "kernel/journal/journal.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/machine/mem.h"
#include "kernel/proc/proc.h"

/* The most blocks that an operation pins, nearly always. */
#define OPERATION_BLOCKS 16
#define RUNS             ((PAGE_SIZE - 16) / 8)

struct freed_page {
    struct freed_page *next;
    u64 n;
    struct run {
        u32 first, n;
    } runs[RUNS];
};
_Static_assert(sizeof(struct freed_page) <= PAGE_SIZE, "freed_page");

COUNTER(commits, "journal.commits", "transactions", "on the disk");
COUNTER(logged, "journal.logged", "blocks", "copied to the log");
COUNTER(revoked, "journal.revoked", "blocks", "revoked");
COUNTER(joined, "journal.joined", "times", "a commit was shared");
COUNTER(checkpoints, "journal.checkpoints", "times", "all was written home");

void journal_init(struct journal *j)
{
    j->lock = SPINLOCK("transactions", RANK_POLICY);
    j->freed_lock = SPINLOCK("freed", RANK_POLICY);
}

/* ---- operations ---- */

/* True if one more operation fits: each inside, and the new one, may pin
 * OPERATION_BLOCKS. The first one of a transaction is never refused. */
bool journal_has_room(const struct journal *j)
{
    if (!j->open || j->failed)
        return true;
    u64 pinned = bpinned(j->log.disk), more = j->inside + 1;
    return (!pinned && !j->inside) ||
           pinned + more * OPERATION_BLOCKS <= j->most;
}

/* True if the current process is in the midst of an operation. */
bool journal_inside(void)
{
    return myproc()->operations;
}

/* Wait until the gate is open and there is room, or make some. Caller holds the
 * lock. */
static void wait_for_room(struct journal *j)
{
    int error = 0;
    while (j->closed || (!journal_has_room(j) && !error)) {
        if (j->closed || j->committing || j->inside) {
            sleep_on(j, &j->lock);
            continue;
        }
        spin_unlock(&j->lock);
        error = journal_commit(j, false);
        spin_lock(&j->lock);
    }
}

/* Begin an operation; wait until the transaction has room. Calls nest. */
void journal_enter(struct journal *j)
{
    if (!journal_inside()) {
        HOLD(spin, &j->lock);
        wait_for_room(j);
        j->inside++;
    }
    myproc()->operations++;
}

/* End an operation, and wake a commit that may wait for its end. */
void journal_leave(struct journal *j)
{
    assert(journal_inside());
    if (--myproc()->operations)
        return;
    HOLD(spin, &j->lock);
    j->inside--;
    wakeup(j);
}

/* Note when the running transaction got its first change. */
static void note_change(struct journal *j)
{
    assert(journal_inside() && j->open);
    /* The time may be set by either of two first changes that come at once. */
    if (!__atomic_load_n(&j->begun_ns, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&j->begun_ns, clock_ns(), __ATOMIC_RELAXED))
        j->user.begun();
}

/* Add a changed buffer to the running transaction: what is pinned on the
 * disk is that transaction. owner: of the inode that the block belongs to
 * (bdwrite). */
void journal_add(struct journal *j, struct buf *b, u64 owner)
{
    note_change(j);
    bpin(b, owner);
}

/* ---- freed blocks ---- */

/* Note that n blocks are freed: the commit gives them back. -ENOMEM: they stay
 * in use. */
int journal_free(struct journal *j, u32 first, u32 n)
{
    note_change(j);
    HOLD(spin, &j->freed_lock);
    if (!j->freed || j->freed->n == RUNS) {
        struct freed_page *page = page_alloc_zero();
        if (!page)
            return -ENOMEM;
        page->next = j->freed;
        j->freed = page;
    }
    j->freed->runs[j->freed->n++] = (struct run){first, n};
    j->nfreed += n;
    return 0;
}

#define RUN_EACH(j, r)                                       \
    for (const struct freed_page *page_ = (j)->freed; page_; \
         page_ = page_->next)                                \
        for (const struct run *r = page_->runs; r < page_->runs + page_->n; r++)

/* Release the pages of the list of freed blocks. */
static void forget_freed(struct journal *j)
{
    while (j->freed) {
        struct freed_page *page = j->freed;
        j->freed = page->next;
        page_free(page);
    }
    j->nfreed = 0;
}

/* Free the blocks of the list in their bitmaps. */
static int give_back(struct journal *j)
{
    RUN_EACH(j, r)
    TRY(j->user.give_back(j->user.arg, r->first, r->n));
    return 0;
}

/* ---- which blocks have a copy in the log ---- */

/* Return the size of the bitmap of blocks that have a copy in the log. */
static u64 logged_bytes(const struct journal *j)
{
    return j->log.fs_blocks / 8 + 1;
}

/* True if the log has a copy of the block. */
static bool is_logged(const struct journal *j, u32 blkno)
{
    return j->logged[blkno / 8] >> blkno % 8 & 1;
}

/* Note whether the log has a copy of the block. */
static void set_logged(struct journal *j, u32 blkno, bool is)
{
    j->logged[blkno / 8] &= ~(1 << blkno % 8);
    j->logged[blkno / 8] |= is << blkno % 8;
}

/* Put the freed blocks that have a copy in the log into an array, or if that is
 * NULL only count them. */
static u32 gather_revokes(const struct journal *j, u32 *out)
{
    u32 n = 0;
    RUN_EACH(j, r)
    for (u32 i = r->first; i < r->first + r->n; i++) {
        if (is_logged(j, i) && out)
            out[n] = i;
        n += is_logged(j, i);
    }
    return n;
}

/* ---- the log's superblock ---- */

/* Write the superblock: the log starts at this block, or is empty (start 0). */
static int write_super(struct journal *j, u32 start)
{
    j->super.feature_incompat |= be32(JOURNAL_INCOMPAT_REVOKE);
    return journal_write_super(&j->log, &j->super, start, j->ring.sequence);
}

/* Read the log's superblock. Return 0 if it can be written, or an error, with
 * *why set. */
int journal_look(struct journal *j, const struct log *log, const char **why)
{
    j->log = *log;
    *why = "it cannot be read";
    TRY(journal_read(log, 0, &j->super, sizeof(j->super)));
    return journal_check_super(log, &j->super, true, why);
}

/* ---- committing ---- */

/* Close the gate and wait until no operation is under way; or open it. Only one
 * process has it closed. */
static void set_gate(struct journal *j, bool closed)
{
    HOLD(spin, &j->lock);
    while (closed && j->closed)
        sleep_on(j, &j->lock);
    j->closed = closed;
    while (closed && j->inside)
        sleep_on(j, &j->lock);
    wakeup(j);
}

/* Return how many blocks of the log hold transactions. */
static u32 ring_blocks(const struct journal *j)
{
    return j->ring.blocks - j->ring.first;
}

/* Write all blocks home. From then on, recovery begins at the log's head; if
 * `empty`, it finds an empty log. The log has metadata alone, so dirty data may
 * wait. */
static int checkpoint(struct journal *j, bool empty)
{
    TRY(bflush_kind(j->log.disk, true) ?: disk_order(j->log.disk));
    TRY(write_super(j, empty ? 0 : j->ring.head));
    j->ring.free = ring_blocks(j);
    memset(j->logged, 0, logged_bytes(j));
    count(&checkpoints, 1);
    return 0;
}

/* The blocks that a commit writes, and the memory for them. */
struct batch {
    void *memory;
    u64 bytes, n, most;
    struct logged *blocks;
    u32 *revokes, nrevokes;
};

/* Count a block whose copy must be escaped. */
static void count_escaped(void *arg, u64, const void *data)
{
    *(u32 *)arg += journal_escapes(data);
}

/* Take all memory for what is pinned, and for what giving back will change. */
static int reserve(struct journal *j, struct batch *b)
{
    u32 more = MIN(2 * j->nfreed, j->user.changes), nescaped = more;
    bpinned_each(j->log.disk, count_escaped, &nescaped);
    b->most = bpinned(j->log.disk) + more;
    b->nrevokes = gather_revokes(j, NULL);
    u64 append_bytes = journal_bytes(b->most, nescaped, b->nrevokes);
    b->bytes = append_bytes + b->most * sizeof(struct logged) +
               b->nrevokes * sizeof(u32);
    b->memory = mem_reserve(b->bytes);
    b->blocks = b->memory + append_bytes;
    b->revokes = (u32 *)(b->blocks + b->most);
    return b->memory ? 0 : -ENOMEM;
}

/* Add a pinned block to those that the transaction logs. */
static void gather(void *arg, u64 blkno, const void *data)
{
    struct batch *b = arg;
    assert(b->n < b->most);
    b->blocks[b->n++] = (struct logged){blkno, data};
}

/* Append all that is pinned, and the revokes. */
static int append_all(struct journal *j, struct batch *b)
{
    bpinned_each(j->log.disk, gather, b);
    gather_revokes(j, b->revokes);
    /* Revokes do not come alone: the bitmap of what was freed has changed. */
    if (!b->n && !b->nrevokes)
        return 0;
    TRY(journal_append(&j->ring, b->memory, b->blocks, b->n, b->revokes,
                       b->nrevokes));
    for (u64 i = 0; i < b->n; i++)
        set_logged(j, b->blocks[i].home, true);
    for (u32 i = 0; i < b->nrevokes; i++)
        set_logged(j, b->revokes[i], false);
    forget_freed(j);
    bunpin(j->log.disk);
    count(&commits, 1);
    count(&logged, b->n);
    count(&revoked, b->nrevokes);
    return 0;
}

/* Write the transaction to the log; the gate is closed, and nobody is inside.
 * Once a block has been given back no operation may begin before all is on the
 * disk: without the memory for that, nothing is done. */
static int commit_all(struct journal *j, bool close)
{
    struct batch b = {0};
    bflush_kind(j->log.disk, false); /* commit() has looked at errors */
    TRY(reserve(j, &b));
    myproc()->operations++;
    int error = give_back(j) ?: append_all(j, &b);
    myproc()->operations--;
    mem_release(b.memory, b.bytes);
    j->failed |= error != 0;
    TRY(error);
    bool full = j->ring.free < ring_blocks(j) / 2;
    return close || full ? checkpoint(j, close) : 0;
}

/* Only one process at a time is here. */
static int commit(struct journal *j, bool close)
{
    /* Most, before others must wait. */
    if (bflush_kind(j->log.disk, false))
        TRY(journal_write_super(&j->log, &j->super, be32(j->super.start),
                                be32(j->super.sequence)));
    set_gate(j, true);
    int error = j->failed ? -EIO : commit_all(j, close);
    if (!error) {
        j->running++;
        j->begun_ns = 0;
        j->open = !close;
    }
    set_gate(j, false);
    return error;
}

/* Note that the process asks for a commit. `again` counts those that asked for
 * the last one, too. Caller holds the lock. */
static void ask(struct journal *j)
{
    u64 *last = &j->last[myproc()->pid % NELEM(j->last)];
    j->again += *last + 1 == j->running;
    *last = j->running;
    j->asked++;
    wakeup(j);
}

/* Wait until as many processes have asked for a commit as are expected, at most
 * for as long as a commit takes on average. */
static void await_others(struct journal *j)
{
    u64 until_ns = clock_ns() + j->took_ns;
    while (journal_has_room(j) && j->asked < j->expected &&
           !sleep_until(j, &j->lock, until_ns))
        ;
}

/* Commit as the only process that does; asked: after a while for others to ask,
 * too. Caller holds the lock, which is let go of meanwhile. */
static int commit_alone(struct journal *j, bool asked, bool close)
{
    j->committing = true;
    if (asked)
        await_others(j);
    spin_unlock(&j->lock);
    u64 start_ns = clock_ns();
    int error = commit(j, close);
    spin_lock(&j->lock);
    j->took_ns = (3 * j->took_ns + clock_ns() - start_ns) / 4;
    j->expected = j->asked + j->before - j->again;
    j->before = j->asked;
    j->asked = j->again = 0;
    j->committing = false;
    wakeup(j);
    return error;
}

/* Return when all changes before the call are durable, or an error. Shares a
 * commit that carries them, or makes one. asked: a process waits. */
int journal_commit(struct journal *j, bool asked)
{
    assert(!journal_inside());
    int error = 0;
    spin_lock(&j->lock);
    u64 wanted = j->running;
    bool idle = !j->committing && !j->begun_ns, own = false;
    bool late = j->closed && !j->inside; /* it is being appended */
    if (!idle && asked)
        ask(j);
    while (j->open && !idle && j->running == wanted && !error) {
        if (j->committing) {
            sleep_on(j, &j->lock);
            continue;
        }
        own = true;
        error = commit_alone(j, asked, false);
    }
    spin_unlock(&j->lock);
    count(&joined, !idle && !own);
    return error ?: idle || late ? disk_order(j->log.disk) : 0;
}

/* ---- opening and closing ---- */

/* Make an empty log on the disk, after all that is dirty has been written. */
static int begin(struct journal *j)
{
    TRY(depend_flush(j->log.disk) ?: disk_order(j->log.disk));
    u32 first = be32(j->super.first), blocks = be32(j->super.blocks);
    j->ring = (struct ring){&j->log, first,          blocks,
                            first,   blocks - first, be32(j->super.sequence)};
    j->most = MIN(bio_buffers() / 2, ring_blocks(j) / 4);
    TRY(write_super(j, j->ring.head));
    j->open = true;
    return 0;
}

/* Begin to log. Afterwards metadata reaches the disk in transactions. Return 0
 * or an error, with nothing open. */
int journal_open(struct journal *j, struct journal_user user)
{
    j->user = user;
    j->failed = false;
    j->logged = mem_clear(mem_reserve(logged_bytes(j)), logged_bytes(j));
    TRY(j->logged ? 0 : -ENOMEM);
    set_gate(j, true);
    int error = begin(j);
    set_gate(j, false);
    if (error)
        mem_release(j->logged, logged_bytes(j));
    return error;
}

/* Commit and empty the log, and stop logging. On an error the journal stays
 * open. */
int journal_close(struct journal *j)
{
    spin_lock(&j->lock);
    while (j->committing)
        sleep_on(j, &j->lock);
    int error = commit_alone(j, false, true);
    spin_unlock(&j->lock);
    TRY(error);
    mem_release(j->logged, logged_bytes(j));
    return 0;
}

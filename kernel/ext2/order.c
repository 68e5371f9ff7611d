/*
 * How metadata reaches the disk: this file asks the order policy, and carries
 * out its answer.
 *
 * - Under a policy that delays, a power cut may leave what e2fsck must be asked
 *   about. A rename then leaves no record (fs_intend): its steps may reach the
 *   disk in any order, and the record speaks of one.
 * - A swap, which waits for a rename under way, is followed by a write of all
 *   that is dirty: from then on the new policy's promise holds. A step that was
 *   answered by the old policy, and delayed after that write, finds that the
 *   policy has changed, and writes what is dirty itself.
 * - After a wrong answer the default takes over. The step goes to the disk at
 *   once, and so does all that the policy has delayed.
 * - Under a policy that uses journals, the journal of each file system that is
 *   mounted for writing is open: all metadata but the superblock goes into its
 *   transactions (kernel/journal/transaction.c), whatever the policy answers
 *   meanwhile. It is opened and closed between operations: by a swap, or after
 *   a fault by the next operation that begins. If a journal cannot be
 *   opened, that is printed, and each step is written at once.
 * - A thread commits what has been running long enough. It begins when the
 *   first policy that uses journals is put to use.
 */
#include "kernel/ext2/internal.h"
#include "kernel/policy/registry.h"
#include "kernel/proc/proc.h"

#define BUFFERS_LEAST 64 /* of the cache, for transactions */
#define SCARCE_BLOCKS 64 /* if fewer are free, a commit frees more */

static struct {
    struct spinlock lock;
    u64 changes; /* lock: of the policy in use */
    u64 due_ns;  /* mount_lock: when the next transaction is to be committed */
    bool has_thread; /* set once */
    u64 wakes;       /* lock: of the thread */
} order = {.lock = SPINLOCK("order policy", RANK_POLICY)};

/* Report a wrong answer of the policy. Caller holds the lock. */
static void fault(const struct order_info *info)
{
    const struct policy *to = policy_fault(POLICY_ORDER, info->disk,
                                           info->blkno, "decide: no such mode");
    if (!to)
        return;
    policy_switch(to);
    order.changes++;
}

/* True if the policy wants journals: it says how long a transaction runs. */
static bool uses_journals(const struct policy *p)
{
    return p->order.commit_after_ns;
}

/* Ask what to do with a block. *changes: order.changes at that time. */
static enum order_mode ask(struct fs *fs, u64 blkno, u64 owner, u64 *changes)
{
    struct order_info info = {.disk = fs->disk->id,
                              .blkno = blkno,
                              .owner = owner,
                              .dirty = bio_dirty(),
                              .buffers = bio_buffers(),
                              .now_ns = clock_ns()};
    HOLD(spin, &order.lock);
    const struct policy *p = policy_in_use[POLICY_ORDER];
    *changes = order.changes;
    enum order_mode mode = p->order.decide(&info);
    policy_check(p);
    if (mode <= ORDER_LOGGED && uses_journals(p) == (mode == ORDER_LOGGED))
        return mode;
    fault(&info);
    return ORDER_NOW;
}

/* Return the policy in use. *changes counts swaps, so that a later one is
 * noticed. */
static const struct policy *in_use(u64 *changes)
{
    HOLD(spin, &order.lock);
    *changes = order.changes;
    return policy_in_use[POLICY_ORDER];
}

/* Write the metadata so that it is on the disk before what is written later. If
 * that fails, the file system becomes read-only. */
int write_stable(struct fs *fs, struct buf *b)
{
    if (depend_write(b) < 0 || disk_order(fs->disk) < 0)
        return fs_error(fs, "could not write what must be on the disk");
    return 0;
}

/* Bring to the disk what the order policy has delayed: all, or only the
 * metadata. */
int order_settle(struct fs *fs, bool metadata)
{
    if (!__atomic_load_n(&fs->delays, __ATOMIC_RELAXED))
        return 0;
    /* What waits for a new block (kernel/depend) is not dirty. Data that cannot
     * be written is told by sync and by its file's fsync, and does no harm. */
    bool all = !metadata || bpinned(fs->disk);
    int error = all ? depend_flush(fs->disk) : 0;
    if (!all || (error && !bpinned(fs->disk)))
        error = bflush_kind(fs->disk, true);
    if (error < 0 || disk_order(fs->disk) < 0)
        return fs_error(fs, "could not write what must be on the disk");
    return 0;
}

/* Write the metadata some time: in the running transaction or as a delayed
 * write. */
void write_late(struct fs *fs, struct buf *b, u64 owner)
{
    if (journal_is_open(&fs->journal))
        journal_add(&fs->journal, b, owner);
    else
        depend_delay(b, owner);
}

/* Write the metadata as the order policy says: before what is written later, or
 * late. If the policy has changed meanwhile, also write all that is dirty. */
int write_now(struct fs *fs, struct buf *b, u64 owner)
{
    u64 changes, now;
    enum order_mode mode = ask(fs, b->block.blkno, owner, &changes);
    if (journal_is_open(&fs->journal)) {
        journal_add(&fs->journal, b, owner);
        return 0;
    }
    if (mode == ORDER_DELAYED) {
        __atomic_store_n(&fs->delays, true, __ATOMIC_RELAXED);
        depend_delay(b, owner);
    } else {
        TRY(write_stable(fs, b));
    }
    in_use(&now);
    return now == changes ? 0 : order_settle(fs, false);
}

/* True if metadata is not written at once, so that the order of steps is not
 * kept. */
bool order_delays(struct fs *fs, u64 blkno)
{
    u64 changes;
    return ask(fs, blkno, 0, &changes) == ORDER_DELAYED ||
           journal_is_open(&fs->journal);
}

/* ---- journals ---- */

/* Wake the thread that commits: another commit may be due earlier. */
static void wake_thread(void)
{
    HOLD(spin, &order.lock);
    order.wakes++;
    wakeup(&order);
}

/* Open the journal that was found, after a look whether it can be used. */
static int open_found(struct fs *fs, struct log *log, const char **why)
{
    struct journal_user user = {blocks_give_back, wake_thread, fs,
                                2 * fs->groups};
    TRY(journal_look(&fs->journal, log, why));
    /* A commit pins what giving back changes, and half of the cache may be
     * pinned before it. */
    *why = "a commit may change blocks of too many groups: raise nbuf";
    TRY(user.changes > bio_buffers() / 2 ? -ENOMEM : 0);
    *why = "the disk failed, or no memory";
    TRY(super_needs_recovery(fs, true));
    return journal_open(&fs->journal, user);
}

/* Find and open the journal. If that fails, say why: the file system goes on
 * without. */
static int open_journal(struct fs *fs)
{
    struct log log;
    const char *why = "there is none";
    int error = fs->has_journal ? log_find(fs, &log, &why) : -EINVAL;
    if (!error) {
        error = open_found(fs, &log, &why);
        if (error)
            log_release(&log);
    }
    if (!error)
        return 0;
    return fs_report(fs, REFUSED, error,
                     "the journal is not used: %s: each step is written at "
                     "once",
                     why);
}

/* Empty and close the journal. Return 0 or an error. */
static int close_journal(struct fs *fs)
{
    if (fs_writable(fs))
        return -EROFS;
    if (journal_close(&fs->journal))
        return fs_error(fs, "the journal cannot be emptied");
    log_release(&fs->journal.log);
    if (super_needs_recovery(fs, false))
        return fs_error(fs, "the superblock cannot be written");
    return 0;
}

/* True if the policy has changed since the journal was opened or closed. */
static bool is_behind(struct fs *fs)
{
    return __atomic_load_n(&fs->followed, __ATOMIC_RELAXED) !=
           __atomic_load_n(&order.changes, __ATOMIC_RELAXED);
}

/* Do for one file system what the policy in use wants: open or close its
 * journal, and write what the last policy has delayed. Return the first
 * error. */
int order_follow(struct fs *fs)
{
    u64 changes;
    if (fs->elsewhere)
        return 0;
    HOLD(sleep, &fs->follow_lock);
    bool wanted = uses_journals(in_use(&changes)) && !fs_writable(fs);
    int error = 0;
    if (is_behind(fs) && wanted != journal_is_open(&fs->journal))
        error = wanted ? open_journal(fs) : close_journal(fs);
    __atomic_store_n(&fs->followed, changes, __ATOMIC_RELAXED);
    int settle_error = order_settle(fs, false);
    return error ?: settle_error;
}

/* Close the journal before the file system is unmounted. */
int order_end(struct fs *fs)
{
    HOLD(sleep, &fs->follow_lock);
    return journal_is_open(&fs->journal) ? close_journal(fs) : 0;
}

/* Refuse to mount a disk without a journal if the policy needs one. */
int order_check(struct fs *fs)
{
    u64 changes;
    if (!uses_journals(in_use(&changes)) || fs->has_journal || fs->read_only)
        return 0;
    return fs_report(fs, REFUSED, -EINVAL,
                     "the order policy needs a journal: make the image with "
                     "mkfs --journal, or tune2fs -j");
}

/* Commit the running transaction, if there is a journal; asked: a process
 * waits. */
int order_commit(struct fs *fs, bool asked)
{
    if (!journal_is_open(&fs->journal))
        return 0;
    if (__atomic_load_n(&fs->failed, __ATOMIC_RELAXED))
        return -EIO;
    int error = journal_commit(&fs->journal, asked);
    if (fs->journal.failed)
        return fs_error(fs, "a transaction cannot be written to the journal");
    return error;
}

/* ---- operations ---- */

/* True if so few blocks are free that a commit is needed to free more. */
static bool needs_commit(struct fs *fs)
{
    u64 later = __atomic_load_n(&fs->journal.nfreed, __ATOMIC_RELAXED);
    return later && fs->free_blocks < later + SCARCE_BLOCKS;
}

/* Begin an operation: no commit will come in the midst of it. First follow the
 * policy, and commit if the transaction is large. */
void operation_begin(struct fs *fs)
{
    if (!fs->has_journal)
        return;
    if (!journal_inside() && is_behind(fs))
        order_follow(fs); /* prints what it cannot do */
    if (!journal_inside() && needs_commit(fs))
        order_commit(fs, false);
    journal_enter(&fs->journal);
}

/* End an operation. */
void operation_end(struct fs *fs)
{
    if (fs->has_journal)
        journal_leave(&fs->journal);
}

/* Between two steps of a long write: if a commit is wanted, end the operation
 * and begin another, with the inode written as it is. */
int operation_pause(struct inode *ip)
{
    struct fs *fs = ip->fs;
    if (!journal_is_open(&fs->journal) ||
        (journal_has_room(&fs->journal) && !needs_commit(fs)))
        return 0;
    TRY(inode_write(ip, false));
    operation_end(fs);
    operation_begin(fs);
    return fs_writable(fs);
}

/* ---- the thread ---- */

/* Commit if the transaction has run long enough; else note when it will
 * have. */
static int commit_if_due(struct fs *fs)
{
    u64 changes, begun_ns = fs->journal.begun_ns;
    const struct policy *p = in_use(&changes);
    if (!journal_is_open(&fs->journal) || !begun_ns)
        return 0;
    u64 due_ns = begun_ns + (uses_journals(p) ? p->order.commit_after_ns() : 0);
    if (due_ns > clock_ns())
        order.due_ns = MIN(order.due_ns, due_ns);
    else if (order_commit(fs, false)) /* printed; or it is tried again */
        order.due_ns = MIN(order.due_ns, clock_ns() + NS_PER_S);
    return 0;
}

/* Sleep until that time (NEVER_NS: no time), or until the thread is woken. */
static void rest(u64 until_ns)
{
    HOLD(spin, &order.lock);
    u64 seen = order.wakes;
    int timeout = 0;
    while (seen == order.wakes && !timeout)
        timeout = sleep_until(&order, &order.lock,
                              until_ns == NEVER_NS ? 0 : until_ns);
}

/* The thread: make the commits that are due, and sleep until the next one. */
static void commit_thread(void *)
{
    for (;;) {
        order.due_ns = NEVER_NS;
        each_mount(commit_if_due);
        rest(order.due_ns);
    }
}

/* Start the thread that commits, once. False if there is no memory for it. */
static bool start_thread(void)
{
    if (!order.has_thread)
        order.has_thread = kthread_try("commit", commit_thread, NULL);
    return order.has_thread;
}

/* ---- swaps ---- */

/* Put the policy to use, while no rename is under way. */
static void change_over(const struct policy *to)
{
    HOLD(sleep, &tree_lock);
    HOLD(spin, &order.lock);
    policy_switch(to);
    order.changes++;
}

/* Put another order policy to use, and have each file system follow it. */
static void swap(const struct policy *to)
{
    if (uses_journals(to) && !start_thread())
        panic("order: no room for the thread that commits"); /* at boot only */
    change_over(to);
    each_mount(order_follow); /* prints what it cannot do */
}

/* For each_mount: return an error if the file system needs a journal and has
 * none. */
static int lacks_journal(struct fs *fs)
{
    return fs->has_journal || fs->elsewhere || fs_writable(fs) ? 0 : -EINVAL;
}

/* Return why the policy cannot be put to use, or NULL. */
static const char *refuses(const struct policy *to)
{
    if (!uses_journals(to))
        return NULL;
    if (bio_buffers() < BUFFERS_LEAST)
        return "it needs 64 buffers: raise nbuf";
    if (each_mount(lacks_journal))
        return "a disk that is mounted has no journal: mkfs --journal makes "
               "one";
    if (!start_thread())
        return "no process is free for its thread: end one";
    return NULL;
}

void order_init(void)
{
    policy_own(POLICY_ORDER, (struct policy_owner){.swap = swap,
                                                   .tuned = wake_thread,
                                                   .refuses = refuses,
                                                   .buffers = bio_buffers()});
}

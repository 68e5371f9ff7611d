/*
 * Histograms of each process, read as /dev/prochist: for each process a line
 * `process PID NAME`, then its histograms, as hist.h says, with names like
 * proc14.read_response.
 *
 * - A request counts for the process that queued it: a delayed write for the
 *   update daemon or the process that flushes, and a candidate write that the
 *   scheduler chose for process 0, "offers". The name is the one that the
 *   process had when it last queued a request or had one done.
 * - Memory is bounded: MAX_ACCOUNTS processes, and a pool of groups of buckets
 *   (hist.h), which a process takes as its values need them. Processes that
 *   have ended stay. When there is no room, the account that was longest
 *   without a request is emptied for a new one, and counted.
 */
#include "kernel/measure/hist.h"
#include "kernel/machine/lock.h"
#include "kernel/base/stat.h"

#define MAX_ACCOUNTS    64
#define POOL_SHARE      64 /* of memory: 1/64, */
#define GROUPS_EXPECTED 12 /* but no more than this a histogram */

/* A process's histogram. */
struct sparse {
    u64 sum;
    u32 *group[HIST_GROUPS]; /* of counts; NULL: all zeros */
};

struct account {
    struct list link;
    bool used; /* by a process: of this pid */
    u32 pid;
    char name[PROC_NAME_BYTES];
    struct sparse hist[];
};

static struct {
    struct spinlock lock; /* guards all of this */
    u32 histograms;       /* in an account */
    struct list accounts; /* unused ones first, then least recently used */
    u32 (*pool)[HIST_GROUP];
    u64 groups, fresh; /* of the pool; those from fresh on were never used */
    u32 *freed;        /* given back; each begins with the next */
} store = {.lock = SPINLOCK("prochist", RANK_HIST)};

COUNTER(lost, "prochist.lost", "processes", "that gave way to newer ones");

/* Return memory; end the boot if there is none. */
static void *reserve(u64 bytes)
{
    void *start = mem_reserve(bytes);
    if (!start)
        boot_fail("no memory for the histograms of processes");
    return start;
}

/* Make all accounts, each with one histogram of each kind behind it. */
static void make_accounts(void)
{
    u64 bytes =
        sizeof(struct account) + store.histograms * sizeof(struct sparse);
    u8 *accounts = reserve(MAX_ACCOUNTS * bytes);
    memset(accounts, 0, MAX_ACCOUNTS * bytes);
    list_init(&store.accounts);
    for (u32 i = 0; i < MAX_ACCOUNTS; i++) {
        struct account *a = (struct account *)(accounts + i * bytes);
        list_push_back(&store.accounts, &a->link);
    }
}

/* Make the pool of groups of buckets: as large as is expected to be used, at
 * most a share of the memory. */
static void make_pool(void)
{
    u64 least = store.histograms * HIST_GROUPS; /* one process needs no more */
    u64 most = MAX_ACCOUNTS * store.histograms * GROUPS_EXPECTED;
    u64 share = mem_total_pages() * PAGE_SIZE / POOL_SHARE;
    store.groups = MAX(least, MIN(most, share / sizeof *store.pool));
    store.pool = reserve(store.groups * sizeof *store.pool);
}

void prochist_init(u32 histograms)
{
    store.histograms = histograms;
    make_accounts();
    make_pool();
}

/* ---- room. Caller holds the lock. ---- */

/* Empty an account, if it is used. */
static void give_way(struct account *a)
{
    if (!a->used)
        return;
    for (u32 i = 0; i < store.histograms * HIST_GROUPS; i++) {
        u32 *group = a->hist[i / HIST_GROUPS].group[i % HIST_GROUPS];
        if (!group)
            continue;
        memcpy(group, &store.freed, sizeof store.freed);
        store.freed = group;
    }
    memset(a->hist, 0, store.histograms * sizeof *a->hist);
    a->used = false;
    count(&lost, 1);
}

/* Return a group of zeros. */
static u32 *group_make(void)
{
    if (store.fresh == store.groups)
        for (struct list *n = store.accounts.next; !store.freed; n = n->next)
            give_way(LIST_ITEM(n, struct account, link));
    u32 *group = store.freed ?: store.pool[store.fresh++];
    if (group == store.freed)
        memcpy(&store.freed, group, sizeof store.freed);
    return memset(group, 0, sizeof *store.pool);
}

/* Return a process's account, or NULL. The search begins at the end of the
 * list, with the one used last: few processes have requests at a time. */
static struct account *account_find(u32 pid)
{
    for (struct list *n = store.accounts.prev; n != &store.accounts;
         n = n->prev) {
        struct account *a = LIST_ITEM(n, struct account, link);
        if (a->used && a->pid == pid)
            return a;
    }
    return NULL;
}

/* Return an account for the process: that of the one longest without a
 * request. */
static struct account *account_make(u32 pid)
{
    struct account *a = LIST_ITEM(store.accounts.next, struct account, link);
    give_way(a);
    a->used = true;
    a->pid = pid;
    strlcpy(a->name, pid ? "" : "offers", sizeof a->name);
    return a;
}

/* ---- counting ---- */

/* Return a process's account, which becomes the one used last. */
static struct account *account_of(u32 pid)
{
    struct account *a = account_find(pid) ?: account_make(pid);
    list_remove(&a->link);
    list_push_back(&store.accounts, &a->link);
    if (pid && mycpu()->pid == pid)
        strlcpy(a->name, mycpu()->name, sizeof a->name);
    return a;
}

/* Add a value to the process's histogram. */
void prochist_add(const struct histogram *h, u32 pid, u32 bucket, u64 value)
{
    HOLD(spin, &store.lock);
    struct sparse *s = &account_of(pid)->hist[h->place];
    u32 **group = &s->group[bucket / HIST_GROUP];
    if (!*group)
        *group = group_make();
    (*group)[bucket % HIST_GROUP]++;
    s->sum += value;
}

/* ---- as text ---- */

/* Return the account of the least pid that is not below `first`, or NULL.
 * Caller holds the lock. */
static struct account *account_from(u32 first)
{
    struct account *least = NULL;
    ITEM_EACH (struct account, a, &store.accounts, link)
        if (a->used && a->pid >= first && (!least || a->pid < least->pid))
            least = a;
    return least;
}

/* Print a process's histograms. Caller holds the lock. */
static void print_account(struct text *t, const struct account *a)
{
    char name[48];
    text_printf(t, "process %u %s\n", a->pid, a->name);
    HISTOGRAM_EACH (h) {
        const struct sparse *s = &a->hist[h->place];
        if (!h->of_disks)
            continue;
        ksnprintf(name, sizeof name, "proc%u.%s", a->pid, h->name);
        hist_print(t, name, h->unit, s->sum, (const u32 *const *)s->group);
    }
}

/* Print all accounts by pid. The lock is given back after each. */
static void print_all(struct text *t)
{
    u64 next = 0;
    for (struct account *a; next <= ~0U;) {
        HOLD(spin, &store.lock);
        a = account_from(next);
        if (a)
            print_account(t, a);
        next = a ? a->pid + 1UL : ~0UL;
    }
}

static const struct device prochist_device = {
    .id = 11, .name = "prochist", .print = print_all};
DEVICE(prochist_device);

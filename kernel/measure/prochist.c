/*
 * Histograms of each process, read as /dev/prochist: for each process a line
 * `process PID NAME`, then its histograms, as hist.h says, with names like
 * proc14.read_response.
 *
 * - Requests count for the process that queued them; delayed writes for the
 *   update daemon, or whoever flushes; those that the scheduler took up by
 *   itself for process 0, "offers". The name is the one that the process had
 *   when it last queued a request or had one done.
 * - Memory is bounded: MAX_ACCOUNTS processes, and a pool of groups of buckets
 *   (hist.h), which a process takes as its values need them. Processes that
 *   have ended stay. When there is no room, the process that was longest
 *   without a request gives way to a new one, and is counted.
 */
#include "kernel/measure/prochist.h"
#include "kernel/machine/args.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"
#include "kernel/machine/cpu.h"
#include "kernel/base/stat.h"
#include "kernel/base/string.h"

#define MAX_ACCOUNTS    64
#define POOL_SHARE      64 /* of memory: 1/64, */
#define GROUPS_EXPECTED 12 /* but no more than this a histogram */

/* A process's histogram. */
struct sparse {
    u64 sum;
    u32 *group[HIST_GROUPS]; /* of counts; NULL: all zeros */
};

struct account {
    struct list by_pid, by_use;
    u32 pid;
    char name[PROC_NAME_BYTES];
    struct sparse hist[];
};

static struct {
    struct spinlock lock;                     /* of all of it */
    u32 histograms;                           /* of an account */
    struct list unused;                       /* accounts */
    struct list by_pid[MAX_ACCOUNTS], by_use; /* the longest unused first */
    u32 (*pool)[HIST_GROUP];
    u64 groups, fresh; /* of the pool; those from fresh on were never used */
    u32 *freed;        /* given back; each begins with the next */
} store;

COUNTER(lost, "prochist.lost", "processes", "that gave way to newer ones");

static u64 account_bytes(void)
{
    return sizeof(struct account) + store.histograms * sizeof(struct sparse);
}

static void make_accounts(void)
{
    u8 *accounts = mem_reserve(MAX_ACCOUNTS * account_bytes());
    if (!accounts)
        boot_fail("no memory for the histograms of processes");
    memset(accounts, 0, MAX_ACCOUNTS * account_bytes());
    list_init(&store.unused);
    list_init(&store.by_use);
    for (u32 i = 0; i < MAX_ACCOUNTS; i++) {
        struct account *a = (struct account *)(accounts + i * account_bytes());
        list_push_back(&store.unused, &a->by_use);
        list_init(&store.by_pid[i]);
    }
}

static void make_pool(void)
{
    u64 least = store.histograms * HIST_GROUPS; /* one process needs no more */
    u64 most = MAX_ACCOUNTS * store.histograms * GROUPS_EXPECTED;
    u64 share = mem_total_pages() * PAGE_SIZE / POOL_SHARE;
    store.groups = MAX(least, MIN(most, share / sizeof *store.pool));
    store.pool = mem_reserve(store.groups * sizeof *store.pool);
    if (!store.pool)
        boot_fail("no memory for the histograms of processes");
}

void prochist_init(u32 histograms)
{
    store.lock = SPINLOCK("prochist", RANK_HIST);
    store.histograms = histograms;
    make_accounts();
    make_pool();
}

/* ---- room. Caller holds the lock. ---- */

static void group_free(u32 *group)
{
    memcpy(group, &store.freed, sizeof store.freed);
    store.freed = group;
}

/* The process that was longest without a request gives way. */
static void give_way(void)
{
    struct list *oldest = list_pop_front(&store.by_use);
    struct account *a = LIST_ITEM(oldest, struct account, by_use);
    list_remove(&a->by_pid);
    for (u32 i = 0; i < store.histograms * HIST_GROUPS; i++) {
        u32 *group = a->hist[i / HIST_GROUPS].group[i % HIST_GROUPS];
        if (group)
            group_free(group);
    }
    memset(a, 0, account_bytes());
    list_push_back(&store.unused, &a->by_use);
    count(&lost, 1);
}

/* A group of zeros. */
static u32 *group_make(void)
{
    u32 *group;
    while (!store.freed && store.fresh == store.groups)
        give_way();
    if (store.freed) {
        group = store.freed;
        memcpy(&store.freed, group, sizeof store.freed);
    } else {
        group = store.pool[store.fresh++];
    }
    return memset(group, 0, sizeof *store.pool);
}

static struct list *bucket_of(u32 pid)
{
    return &store.by_pid[pid % MAX_ACCOUNTS];
}

static struct account *account_find(u32 pid)
{
    LIST_EACH (n, bucket_of(pid)) {
        struct account *a = LIST_ITEM(n, struct account, by_pid);
        if (a->pid == pid)
            return a;
    }
    return NULL;
}

static struct account *account_make(u32 pid)
{
    if (list_empty(&store.unused))
        give_way();
    struct list *n = list_pop_front(&store.unused);
    struct account *a = LIST_ITEM(n, struct account, by_use);
    a->pid = pid;
    strlcpy(a->name, pid ? "" : "offers", sizeof a->name);
    list_push_front(bucket_of(pid), &a->by_pid);
    return a;
}

/* ---- counting ---- */

/* A process's account, as the one used last. */
static struct account *account_of(u32 pid)
{
    struct account *a = account_find(pid);
    if (!a)
        a = account_make(pid);
    else
        list_remove(&a->by_use);
    list_push_back(&store.by_use, &a->by_use);
    if (pid && mycpu()->pid == pid)
        strlcpy(a->name, mycpu()->name, sizeof a->name);
    return a;
}

void prochist_add(const struct histogram *h, u32 pid, u32 bucket, u64 value)
{
    spin_lock(&store.lock);
    struct sparse *s = &account_of(pid)->hist[h->place];
    u32 **group = &s->group[bucket / HIST_GROUP];
    if (!*group)
        *group = group_make();
    (*group)[bucket % HIST_GROUP]++;
    s->sum += value;
    spin_unlock(&store.lock);
}

/* ---- as text ---- */

/* Of the accounts of pids from `first` on, that of the least; or NULL. Caller
 * holds the lock. */
static struct account *account_from(u32 first)
{
    struct account *least = NULL;
    LIST_EACH (n, &store.by_use) {
        struct account *a = LIST_ITEM(n, struct account, by_use);
        if (a->pid >= first && (!least || a->pid < least->pid))
            least = a;
    }
    return least;
}

/* Caller holds the lock. */
static void print_account(struct text *t, const struct account *a)
{
    char name[48];
    text_printf(t, "process %u %s\n", a->pid, a->name);
    for (struct histogram *h = __start_histograms; h < __stop_histograms; h++) {
        const struct sparse *s = &a->hist[h->place];
        if (!h->of_disks)
            continue;
        ksnprintf(name, sizeof name, "proc%u.%s", a->pid, h->name);
        hist_print(t, name, h->unit, s->sum, (const u32 *const *)s->group);
    }
}

static void print_all(struct text *t)
{
    u64 next = 0;
    for (struct account *a; next <= ~0U;) {
        spin_lock(&store.lock);
        a = account_from(next);
        if (a)
            print_account(t, a);
        next = a ? a->pid + 1UL : ~0UL;
        spin_unlock(&store.lock);
    }
}

static const struct device prochist_device = {
    .id = 11, .name = "prochist", .print = print_all};
DEVICE(prochist_device);

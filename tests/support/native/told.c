/*
 * The policies that note each call (told.h): for each kind its hooks, then its
 * table. The hooks also check what the kernel promises a policy: times that
 * are not in the future, and words of a block or request that are 0 at first.
 */
#include "tests/support/native/told.h"

static struct list have; /* the blocks that the replace policy has */

struct told told = {.next_ns = NEVER_NS, .mode = WRITE_DELAYED};

#define tell(...)              \
    do {                       \
        if (!told.quiet)       \
            note(__VA_ARGS__); \
    } while (0)

/* The hook `check` of all kinds but those of a queue. */
static const char *find_wrong(void)
{
    return told.wrong;
}

/* The hook `check` of the kinds that have a record for each queue. */
static const char *find_wrong_of(const struct queue *q)
{
    told.checked = q;
    return told.wrong;
}

/* ---- update ---- */

/* The hook update.next_ns: when the next scan is. */
static u64 update_next(u64 last_ns)
{
    tell("next after %lu", last_ns);
    return told.next_ns;
}

/* The hook update.scan. */
static void update_scan(u64 now_ns)
{
    tell("look");
    if (told.scan)
        told.scan(now_ns);
}

/* The hook update.dirtied. It sets the block's mark, which update_leaves
 * checks. */
static void update_dirtied(struct block *b, u64 now_ns)
{
    check(b->dirtied_ns && b->dirtied_ns <= now_ns);
    check_eq(b->mark, 0);
    b->mark = 1;
    tell("dirtied %lu", b->blkno);
}

/* The hook update.leaves. */
static void update_leaves(struct block *b)
{
    check_eq(b->mark, 1);
    tell("leaves %lu", b->blkno);
}

/* The hook update.wanted. */
static void update_wanted(const struct block *b, bool hit)
{
    tell("wanted %lu %s", b->blkno, hit ? "hit" : "miss");
}

struct policy told_update = {
    .kind = POLICY_UPDATE,
    .name = "told",
    .about = "tells what it is asked",
    .check = find_wrong,
    .update = {update_next, update_scan, update_dirtied, update_leaves,
               update_wanted},
};
POLICY(told_update);

u64 (*told_flush)(void);

void told_flushes(u64 now_ns)
{
    (void)now_ns;
    tell("%lu", told_flush());
}

/* ---- write ---- */

/* The hook write.decide. */
static enum write_mode write_decide(const struct write_info *w)
{
    tell("decide %u:%lu%s dirty=%lu of %lu queued=%lu", w->disk, w->blkno,
         w->filled ? " filled" : "", w->dirty, w->buffers, w->queued);
    check_eq(w->now_ns, clock_now_ns);
    check(w->program); /* the kernel's own are not asked about */
    return told.mode;
}

u64 told_no_clean(u64 dirty, u64 buffers)
{
    tell("no_clean %lu of %lu", dirty, buffers);
    return told.answer;
}

u64 told_most_dirty(u64 buffers)
{
    tell("most_dirty of %lu", buffers);
    return told.answer;
}

struct policy told_write = {
    .kind = POLICY_WRITE,
    .name = "told",
    .about = "tells what it is asked",
    .check = find_wrong,
    .write = {.decide = write_decide},
};
POLICY(told_write);

/* ---- sched ---- */

/* The letter of a request in a note. */
static char letter(const struct request *r)
{
    return r->candidate ? 'O' : r->write ? 'W' : 'R';
}

/* The hook sched.next. */
static struct request *sched_next(struct queue *q, u64 now_ns)
{
    tell("next R%lu W%lu O%lu", q->length[SET_READS], q->length[SET_WRITES],
         q->length[SET_CANDIDATES]);
    if (told.next)
        return told.next(q, now_ns);
    struct request *r = queue_oldest(q, BOTH);
    return r ? r : queue_oldest(q, CANDIDATES);
}

u64 told_again(const struct queue *q, u64 now_ns)
{
    tell("again R%lu W%lu O%lu", q->length[SET_READS], q->length[SET_WRITES],
         q->length[SET_CANDIDATES]);
    check_eq(now_ns, clock_now_ns);
    return told.again_ns;
}

/* The hook sched.queued. It sets the request's words, which sched_leaves
 * checks. */
static void sched_queued(struct queue *q, struct request *r, u64 now_ns)
{
    check(r->queue == q && now_ns <= clock_now_ns);
    check(!r->word[0] && !r->word[1]);
    r->word[0] = r->word[1] = 1;
    tell("queued %c%lu", letter(r), r->sector);
}

/* The hook sched.leaves. */
static void sched_leaves(struct queue *q, struct request *r, u64 now_ns)
{
    check(r->queue == q && now_ns == clock_now_ns);
    check(r->word[0] && r->word[1]);
    tell("leaves %c%lu", letter(r), r->sector);
}

struct policy told_sched = {
    .kind = POLICY_SCHED,
    .name = "told",
    .about = "tells what it is asked",
    .sched = {.next = sched_next,
              .queued = sched_queued,
              .leaves = sched_leaves,
              .check = find_wrong_of},
};
POLICY(told_sched);

/* ---- replace ---- */

static void replace_start(void)
{
    list_init(&have);
}

/* The hook replace.insert. */
static void replace_insert(struct block *b, bool reuse)
{
    check(!b->word[0] && !b->word[1]);
    tell("insert %lu%s", b->blkno, reuse ? "" : " unwanted");
    list_push_back(&have, &b->link);
}

/* The hook replace.remove. */
static void replace_remove(struct block *b)
{
    tell("remove %lu", b->blkno);
    list_remove(&b->link);
}

/* The hook replace.victim. */
static struct block *replace_victim(void)
{
    if (told.victim)
        return told.victim();
    struct list *first = list_first(&have);
    return first ? LIST_ITEM(first, struct block, link) : NULL;
}

void told_coming(u32 disk, u64 blkno)
{
    tell("coming %u:%lu", disk, blkno);
}

void told_evicted(const struct block *b)
{
    tell("evicted %lu", b->blkno);
}

struct policy told_replace = {
    .kind = POLICY_REPLACE,
    .name = "told",
    .about = "tells what it is asked",
    .check = find_wrong,
    .start = replace_start,
    .replace = {.insert = replace_insert,
                .remove = replace_remove,
                .victim = replace_victim},
};
POLICY(told_replace);

/* ---- prefetch ---- */

/* The hook prefetch.readahead. It counts the stream's calls in its word. */
static void prefetch_readahead_(struct stream *s, const struct access *a,
                                struct readahead *w)
{
    tell("ahead %lu+%lu of %lu, next %lu, word %lu", a->block, a->nblocks,
         a->file_blocks, s->next_block, s->word[0]);
    s->word[0]++;
    u64 times = w->times;
    *w = told.readahead;
    if (!w->times)
        w->times = times;
}

struct policy told_prefetch = {
    .kind = POLICY_PREFETCH,
    .name = "told",
    .about = "tells what it is asked",
    .check = find_wrong,
    .prefetch = {.readahead = prefetch_readahead_},
};
POLICY(told_prefetch);

/* ---- place ---- */

/* The hook place.place: the sector where the request's data is or goes to. */
static u64 place_(const struct queue *q, const struct request *r, u64 now_ns)
{
    tell("place %c%lu", r->write ? 'W' : 'R', r->sector);
    return told.place ? told.place(q, r, now_ns) : r->sector;
}

/* The hook place.placed. */
static void placed_(const struct queue *q, const struct request *r)
{
    (void)q;
    tell("placed %lu at %lu", r->sector, r->physical);
}

struct policy told_place = {
    .kind = POLICY_PLACE,
    .name = "told",
    .about = "tells what it is asked",
    .place = {.place = place_, .placed = placed_, .check = find_wrong_of},
};
POLICY(told_place);

/* ---- order ---- */

static enum order_mode order_decide(const struct order_info *i)
{
    tell("order %lu", i->blkno);
    return ORDER_NOW;
}

static const struct policy told_order = {
    .kind = POLICY_ORDER,
    .name = "told",
    .about = "tells what it is asked",
    .order = {.decide = order_decide},
};
POLICY(told_order);

/* ---- the defaults ---- */

/* Define and register a default policy, with hooks `start` and `stop` that note
 * the calls. */
#define DEFAULT(id, of_kind, ...)     \
    static void id##_start(void)      \
    {                                 \
        tell(#id " starts");          \
    }                                 \
    static void id##_stop(void)       \
    {                                 \
        tell(#id " stops");           \
    }                                 \
    static const struct policy id = { \
        .kind = of_kind,              \
        .name = #id,                  \
        .about = "a default",         \
        .start = id##_start,          \
        .stop = id##_stop,            \
        __VA_ARGS__,                  \
    };                                \
    POLICY(id)

static u64 pu_next(u64 last_ns)
{
    (void)last_ns;
    return NEVER_NS;
}

/* A scan, which writes all that is dirty. */
static void pu_scan(u64 now_ns)
{
    (void)now_ns;
    flush_all();
}

DEFAULT(pu, POLICY_UPDATE, .update = {.next_ns = pu_next, .scan = pu_scan});

static enum write_mode async_decide(const struct write_info *w)
{
    return w->filled ? WRITE_ASYNC : WRITE_DELAYED;
}

DEFAULT(async, POLICY_WRITE, .write = {.decide = async_decide});

/* The next request upwards from the head, or the lowest. */
static struct request *clook_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return queue_circular(q, BOTH, q->head_sector);
}

DEFAULT(clook, POLICY_SCHED, .sched = {.next = clook_next});

/* The list is a default of its own, for blocks may be the other's, too. */
static struct list unused = {&unused, &unused};

static void lru_insert(struct block *b, bool reuse)
{
    if (reuse)
        list_push_back(&unused, &b->link);
    else
        list_push_front(&unused, &b->link);
}

static void lru_remove(struct block *b)
{
    list_remove(&b->link);
}

static struct block *lru_victim(void)
{
    struct list *first = list_first(&unused);
    return first ? LIST_ITEM(first, struct block, link) : NULL;
}

DEFAULT(lru, POLICY_REPLACE,
        .replace = {
            .insert = lru_insert, .remove = lru_remove, .victim = lru_victim});

static void none_readahead(struct stream *s, const struct access *a,
                           struct readahead *w)
{
    (void)s, (void)a, (void)w;
}

DEFAULT(none, POLICY_PREFETCH, .prefetch = {.readahead = none_readahead});

DEFAULT(inplace, POLICY_PLACE, .place = {NULL, NULL});

DEFAULT(sync, POLICY_ORDER, .order = {.decide = order_decide});

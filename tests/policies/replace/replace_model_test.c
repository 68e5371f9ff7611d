/*
 * Replace policies held against models: each victim of a random run, and each
 * counter after it, must be the model's. A model keeps plain lists of numbers,
 * and shares no code with the policy of its name.
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/test.h"

#define BUFFERS  24
#define BLOCKS   60 /* that the buffers may hold */
#define STEPS    4000
#define SEEDS    25
#define COUNTERS 4
#define NOBODY   ~0UL

/* ---- lists of numbers ---- */

struct numbers {
    u64 n, at[200];
};

static bool has(const struct numbers *l, u64 number)
{
    for (u64 i = 0; i < l->n; i++) {
        if (l->at[i] == number)
            return true;
    }
    return false;
}

/* Take a number out of a list. False: it was not there. */
static bool take(struct numbers *l, u64 number)
{
    u64 n = 0;
    for (u64 i = 0; i < l->n; i++) {
        if (l->at[i] != number)
            l->at[n++] = l->at[i];
    }
    bool was = n < l->n;
    l->n = n;
    return was;
}

static void push_back(struct numbers *l, u64 number)
{
    l->at[l->n++] = number;
}

static void push_front(struct numbers *l, u64 number)
{
    memmove(l->at + 1, l->at, l->n * sizeof *l->at);
    l->at[0] = number;
    l->n++;
}

static void shorten(struct numbers *l, u64 n)
{
    while (l->n > n)
        take(l, l->at[0]);
}

static u64 first(const struct numbers *l)
{
    return l->n ? l->at[0] : NOBODY;
}

/* ---- a run ---- */

/* A model, by numbers of buffers; NULL: it does not care. It begins with its
 * state 0, with tunables that are drawn, and with `begin`. */
struct model {
    const char *name, *policy;
    void *state;
    u64 state_bytes;
    void (*insert)(u64 i, bool reuse);
    void (*remove)(u64 i);
    u64 (*victim)(void);
    void (*coming)(u64 blkno);
    void (*evicted)(u64 i);
    void (*begin)(void);
    struct {
        const char *name;
        u64 *value, least, most;
    } tunables[3];
};

static struct block buffers[BUFFERS];
static bool cached[BUFFERS], evictable[BUFFERS];
/* What the model counts, in the order of the policy's table of counters. */
static u64 counted[COUNTERS];

/* Return the first evictable buffer of a list, or NOBODY. */
static u64 first_evictable(const struct numbers *l)
{
    for (u64 i = 0; i < l->n; i++) {
        if (evictable[l->at[i]])
            return l->at[i];
    }
    return NOBODY;
}

static bool is_cached(u64 blkno)
{
    for (u32 i = 0; i < BUFFERS; i++) {
        if (cached[i] && buffers[i].blkno == blkno)
            return true;
    }
    return false;
}

/* Make a buffer evictable, for the policy and for its model. */
static void put(const struct policy *p, const struct model *m, u64 i,
                bool reuse)
{
    evictable[i] = true;
    p->replace.insert(&buffers[i], reuse);
    m->insert(i, reuse);
}

/* Like put, of a buffer that was used just now. */
static void insert(const struct policy *p, const struct model *m, u64 i,
                   bool reuse)
{
    static u64 uses;
    buffers[i].used = ++uses;
    put(p, m, i, reuse);
}

/* Make a buffer busy, so that it cannot be a victim. */
static void remove_buffer(const struct policy *p, const struct model *m, u64 i)
{
    evictable[i] = false;
    p->replace.remove(&buffers[i]);
    m->remove(i);
}

/* Return the victim that policy and model both choose. It stays cached. */
static u64 victim(const struct policy *p, const struct model *m)
{
    struct block *b = p->replace.victim();
    u64 want = m->victim();
    check(!p->check || !(p->check)());
    check_eq(b ? (u64)(b - buffers) : NOBODY, want);
    return want;
}

/* Let the victim's block leave its buffer. A dirty victim is written instead:
 * it is put back clean, as a block that may be reused. */
static void evict(const struct policy *p, const struct model *m)
{
    u64 i = victim(p, m);
    if (i == NOBODY)
        return;
    if (buffers[i].dirtied_ns) { /* it is written, which is no use */
        remove_buffer(p, m, i);
        buffers[i].dirtied_ns = 0;
        put(p, m, i, true);
        return;
    }
    remove_buffer(p, m, i);
    if (p->replace.evicted)
        p->replace.evicted(&buffers[i]);
    if (m->evicted)
        m->evicted(i);
    buffers[i] = (struct block){0};
    cached[i] = false;
}

/* A block that is not cached is read, into a buffer that is free or becomes
 * so. */
static void miss(const struct policy *p, const struct model *m, u64 *seed)
{
    u64 blkno = random_u64(seed) % BLOCKS, i = 0;
    while (i < BUFFERS && cached[i])
        i++;
    if (is_cached(blkno))
        return;
    if (i == BUFFERS) {
        if (p->replace.coming)
            p->replace.coming(0, blkno);
        if (m->coming)
            m->coming(blkno);
        evict(p, m);
        return;
    }
    cached[i] = true;
    buffers[i].blkno = blkno;
    insert(p, m, i, random_u64(seed) % 16);
}

/* Do one random thing of four: evict a block, read one, take a buffer into use,
 * or end its use. A policy that takes dirty buffers gets some. */
static void step(const struct policy *p, const struct model *m, u64 *seed)
{
    u64 i = random_u64(seed) % BUFFERS, what = random_u64(seed) % 32;
    if (what == 0)
        evict(p, m);
    else if (what < 16)
        miss(p, m, seed);
    else if (cached[i] && evictable[i])
        remove_buffer(p, m, i);
    else if (cached[i])
        insert(p, m, i, random_u64(seed) % 16);
    if (p->replace.takes_dirty && !evictable[i] && random_u64(seed) % 2)
        buffers[i].dirtied_ns = cached[i];
}

/* Set the model's state to 0 and draw its tunables, which the policy gets
 * too. */
static void begin_model(const struct model *m, const struct policy *p,
                        u64 *seed)
{
    if (m->state)
        memset(m->state, 0, m->state_bytes);
    if (m->begin)
        m->begin();
    for (u32 i = 0; i < NELEM(m->tunables) && m->tunables[i].name; i++) {
        u64 span = m->tunables[i].most - m->tunables[i].least + 1;
        *m->tunables[i].value = m->tunables[i].least + random_u64(seed) % span;
        tunable_named(p, m->tunables[i].name)->value = *m->tunables[i].value;
    }
}

/* Make one random run, and check that each counter of the policy grew by as
 * much as the model counted. */
static void run(const struct model *m, u64 seed)
{
    const struct policy *p = policy_named(POLICY_REPLACE, m->policy);
    struct policy_counter *c = p->counters;
    u64 before[COUNTERS];
    memset(buffers, 0, sizeof buffers);
    memset(cached, 0, sizeof cached);
    memset(evictable, 0, sizeof evictable);
    memset(counted, 0, sizeof counted);
    for (u32 i = 0; c && c[i].name; i++)
        before[i] = c[i].value;
    begin_model(m, p, &seed);
    for (u32 i = 0; i < STEPS; i++)
        step(p, m, &seed);
    for (u32 i = 0; c && c[i].name; i++)
        check_eq(counter_of(p, c[i].name) - before[i], counted[i]);
}

/* ---- LRU ---- */

static struct numbers order;

static void lru_insert(u64 i, bool reuse)
{
    if (reuse)
        push_back(&order, i);
    else
        push_front(&order, i);
}

static void lru_remove(u64 i)
{
    take(&order, i);
}

static u64 lru_victim(void)
{
    return first(&order);
}

/* ---- Clock ---- */

/* Buffers in the order of the hand, those in use too; and unwanted ones. */
static struct {
    struct numbers hand, unwanted;
    bool marked[BUFFERS];
} clock_;

/* An unwanted block enters like a new one. */
static void clock_insert(u64 i, bool reuse)
{
    clock_.marked[i] = reuse && has(&clock_.hand, i);
    if (!reuse) {
        take(&clock_.hand, i);
        push_back(&clock_.unwanted, i);
    } else if (!has(&clock_.hand, i)) {
        push_back(&clock_.hand, i);
    }
}

static void clock_remove(u64 i)
{
    take(&clock_.unwanted, i);
}

/* counted[0]: marked buffers that the hand passed over. */
static u64 clock_victim(void)
{
    if (clock_.unwanted.n)
        return first(&clock_.unwanted);
    for (;; counted[0]++) {
        u64 i = first_evictable(&clock_.hand);
        if (i == NOBODY || !clock_.marked[i])
            return i;
        clock_.marked[i] = false;
        take(&clock_.hand, i);
        push_back(&clock_.hand, i);
    }
}

static void clock_evicted(u64 i)
{
    take(&clock_.hand, i);
}

/* ---- 2Q ---- */

static struct {
    u64 kin, kout;                     /* the tunables */
    struct numbers unwanted, a1in, am; /* a1in has buffers in use, too */
    struct numbers ghosts, coming;     /* blocks: A1out; about to be read */
    bool in_a1in[BUFFERS], in_am[BUFFERS];
    u64 most; /* the most evictable buffers so far */
} q;

/* Return how many buffers of a list are evictable. */
static u64 evictable_of(const struct numbers *l)
{
    u64 n = 0;
    for (u64 i = 0; i < l->n; i++)
        n += evictable[l->at[i]];
    return n;
}

/* A block joins A1in when it is new, and Am when its name is a ghost
 * (counted[2]). It stays in the list that it joined. */
static void two_q_insert(u64 i, bool reuse)
{
    if (!reuse) {
        take(&q.a1in, i);
        q.in_a1in[i] = q.in_am[i] = false;
        push_back(&q.unwanted, i);
    } else if (q.in_am[i]) {
        push_back(&q.am, i);
    } else if (!q.in_a1in[i]) {
        bool again = take(&q.coming, buffers[i].blkno) ||
                     take(&q.ghosts, buffers[i].blkno);
        counted[2] += again;
        q.in_am[i] = again;
        q.in_a1in[i] = !again;
        push_back(again ? &q.am : &q.a1in, i);
    }
    u64 now =
        evictable_of(&q.unwanted) + evictable_of(&q.a1in) + evictable_of(&q.am);
    q.most = MAX(q.most, now);
}

static void two_q_remove(u64 i)
{
    take(&q.unwanted, i);
    take(&q.am, i);
}

static void two_q_coming(u64 blkno)
{
    if (take(&q.ghosts, blkno))
        push_back(&q.coming, blkno);
}

/* From A1in if it has more than kin percent of the buffers, else from Am. */
static u64 two_q_victim(void)
{
    u64 n = evictable_of(&q.a1in);
    if (q.unwanted.n)
        return first(&q.unwanted);
    if (n <= q.most * q.kin / 100 && q.am.n)
        return first(&q.am);
    return first_evictable(&q.a1in);
}

/* Keep the names of blocks from A1in. counted[0] and [1]: victims from A1in and
 * from Am. */
static void two_q_evicted(u64 i)
{
    counted[0] += q.in_a1in[i];
    counted[1] += q.in_am[i];
    if (q.in_a1in[i]) {
        take(&q.a1in, i);
        push_back(&q.ghosts, buffers[i].blkno);
        shorten(&q.ghosts, q.most * q.kout / 100);
    }
    q.in_a1in[i] = q.in_am[i] = false;
}

/* ---- ARC ---- */

enum { NONE, UNWANTED, T1, T2, LISTS };

/* The model's counters: victims from T1 and T2, names found in B1 and B2. */
enum { FROM_T1, FROM_T2, IN_B1, IN_B2 };

static struct {
    u32 list_of[BUFFERS];                /* also of buffers in use */
    struct numbers lists[LISTS], b1, b2; /* evictable buffers; blocks */
    u64 p, c;                            /* as in the paper */
    bool in_b2; /* the block to be read has its name in B2 */
} arc;

/* Return how many buffers belong to a list, evictable or not. */
static u64 belong_to(u32 list)
{
    u64 n = 0;
    for (u32 i = 0; i < BUFFERS; i++)
        n += arc.list_of[i] == list;
    return n;
}

/* A block is about to be read. If B1 has its name, T1's target size p grows by
 * MAX(b2 / b1, 1); if B2 has it, p shrinks by MAX(b1 / b2, 1). */
static void arc_coming(u64 blkno)
{
    u64 b1 = arc.b1.n, b2 = arc.b2.n;
    arc.in_b2 = has(&arc.b2, blkno);
    if (arc.in_b2) {
        u64 less = b1 / b2 ? b1 / b2 : 1;
        arc.p = arc.p > less ? arc.p - less : 0;
    } else if (has(&arc.b1, blkno)) {
        u64 more = b2 / b1 ? b2 / b1 : 1;
        arc.p = MIN(arc.p + more, arc.c);
    }
}

/* Return the list that a buffer joins after a use: T2 if the block was used
 * before or has a ghost's name, else T1. */
static u32 arc_list_for(u64 i, bool reuse)
{
    if (!reuse)
        return UNWANTED;
    if (arc.list_of[i] >= T1)
        return T2;
    bool in_b1 = take(&arc.b1, buffers[i].blkno);
    bool in_b2 = take(&arc.b2, buffers[i].blkno);
    counted[IN_B1] += in_b1;
    counted[IN_B2] += in_b2;
    return in_b1 || in_b2 ? T2 : T1;
}

/* Put a buffer into its list, and shorten the ghost lists: T1 and B1 have c
 * names at most, and all four lists 2c. */
static void arc_insert(u64 i, bool reuse)
{
    u32 list = arc_list_for(i, reuse);
    arc.list_of[i] = list;
    push_back(&arc.lists[list], i);
    u64 t1 = belong_to(T1), t2 = belong_to(T2);
    arc.c = MAX(arc.c, t1 + t2);
    shorten(&arc.b1, arc.c - t1);
    shorten(&arc.b2, 2 * arc.c - t1 - t2 - arc.b1.n);
}

static void arc_remove(u64 i)
{
    take(&arc.lists[arc.list_of[i]], i);
}

/* The oldest of T1 if that has more than p blocks, or p of them and the block
 * to be read is in B2; else the oldest of T2. Unwanted buffers go first. */
static u64 arc_victim(void)
{
    u64 t1 = belong_to(T1);
    bool from_t1 = t1 > arc.p || (arc.in_b2 && t1 == arc.p && t1);
    u32 order_[] = {UNWANTED, from_t1 ? T1 : T2, from_t1 ? T2 : T1};
    for (u32 i = 0; i < 3; i++) {
        if (arc.lists[order_[i]].n)
            return first(&arc.lists[order_[i]]);
    }
    return NOBODY;
}

/* Keep the block's name, in B1 if it came from T1, else in B2. */
static void arc_evicted(u64 i)
{
    u32 list = arc.list_of[i];
    arc.list_of[i] = NONE;
    if (list == UNWANTED)
        return;
    counted[list == T1 ? FROM_T1 : FROM_T2]++;
    push_back(list == T1 ? &arc.b1 : &arc.b2, buffers[i].blkno);
}

/* ---- CAR ---- */

/* The clocks T1 and T2 have buffers in use, too: the hand passes over them. */
static struct {
    u32 list_of[BUFFERS];
    struct numbers lists[LISTS], b1, b2; /* buffers; blocks */
    bool marked[BUFFERS];
    u64 p, c;
} car;

/* Move a buffer behind the hand of that clock, without a mark. */
static void car_join(u64 i, u32 list)
{
    take(&car.lists[car.list_of[i]], i);
    push_back(&car.lists[list], i);
    car.list_of[i] = list;
    car.marked[i] = false;
}

/* Return the clock that a block joins which was read just now, and adapt T1's
 * target size p if B1 or B2 has its name. */
static u32 car_list_for(u64 blkno)
{
    u64 n1 = car.b1.n, n2 = car.b2.n;
    if (take(&car.b1, blkno)) {
        counted[IN_B1]++;
        car.p = MIN(car.p + MAX(1, n2 / n1), car.c);
        return T2;
    }
    if (!take(&car.b2, blkno))
        return T1;
    counted[IN_B2]++;
    u64 less = MAX(1, n1 / n2);
    car.p = car.p > less ? car.p - less : 0;
    return T2;
}

/* Put a block that comes into its list, or mark one that is used again. Then
 * shorten the ghost lists as ARC does. */
static void car_insert(u64 i, bool reuse)
{
    if (!reuse)
        car_join(i, UNWANTED);
    else if (car.list_of[i] >= T1)
        car.marked[i] = true;
    else
        car_join(i, car_list_for(buffers[i].blkno));
    u64 t1 = car.lists[T1].n, t2 = car.lists[T2].n;
    car.c = MAX(car.c, t1 + t2);
    shorten(&car.b1, car.c - t1);
    shorten(&car.b2, 2 * car.c - t1 - t2 - car.b1.n);
}

/* Do nothing: a buffer in use keeps its place in the model's lists. */
static void stays(u64 i)
{
    (void)i;
}

/* The hand of T1 goes on if T1 has p blocks or more, else T2's. It moves marked
 * buffers to T2 and stops at the first one without a mark. */
static u64 car_victim(void)
{
    u64 unwanted = first_evictable(&car.lists[UNWANTED]);
    while (unwanted == NOBODY) {
        u64 in_t1 = first_evictable(&car.lists[T1]);
        u64 in_t2 = first_evictable(&car.lists[T2]);
        bool long_enough = car.lists[T1].n && car.lists[T1].n >= car.p;
        bool from_t1 = in_t2 == NOBODY || (in_t1 != NOBODY && long_enough);
        u64 i = from_t1 ? in_t1 : in_t2;
        if (i == NOBODY || !car.marked[i])
            return i;
        car_join(i, T2);
    }
    return unwanted;
}

/* Remove a victim from its list. Its name goes to the ghost list B1 or B2,
 * except if the block was unwanted. */
static void car_evicted(u64 i)
{
    u32 list = car.list_of[i];
    take(&car.lists[list], i);
    car.list_of[i] = NONE;
    if (list == UNWANTED)
        return;
    counted[list == T1 ? FROM_T1 : FROM_T2]++;
    push_back(list == T1 ? &car.b1 : &car.b2, buffers[i].blkno);
}

/* ---- LIRS ---- */

enum { LIR = T1, HIR = T2, FALLEN = LISTS };
enum { FROM_HIR, FROM_LIR, RISEN, REMEMBERED }; /* the model's counters */

/* This follows the definition of LIRS and keeps no stack. A block is in the
 * paper's stack if it was used after the LIR buffer that was used longest ago.
 * Times are numbers of uses. */
static struct {
    u64 hir_percent, names_percent; /* the tunables */
    u32 kind[BUFFERS];
    u64 at[BUFFERS];     /* when each buffer was used last, or fell */
    u64 name_at[BLOCKS]; /* when each block was used that is only a name */
    u64 now, most;       /* the last use; the most buffers with a kind */
    struct numbers names, unwanted;
} lirs;

/* Of the evictable buffers of kind `kind` or `or`, the one that was used
 * longest ago, or NOBODY. */
static u64 lirs_oldest(u32 kind, u32 or)
{
    u64 best = NOBODY;
    for (u64 i = 0; i < BUFFERS; i++) {
        if (evictable[i] && (lirs.kind[i] == kind || lirs.kind[i] == or) &&
            (best == NOBODY || lirs.at[i] < lirs.at[best]))
            best = i;
    }
    return best;
}

/* True if what was used at that time is in the paper's stack. */
static bool lirs_in_stack(u64 at)
{
    u64 bottom = lirs_oldest(LIR, LIR);
    return bottom != NOBODY && lirs.at[bottom] < at;
}

static u64 number_of(u32 kind)
{
    u64 n = 0;
    for (u32 i = 0; i < BUFFERS; i++)
        n += lirs.kind[i] == kind;
    return n;
}

/* Return how many buffers may be LIR. */
static u64 lirs_room(void)
{
    u64 hirs = MAX(1, lirs.most * lirs.hir_percent / 100);
    return lirs.most > hirs ? lirs.most - hirs : 0;
}

/* Return the kind of a buffer that was used just now. HIR becomes LIR if it was
 * used again while it, or its name, was in the stack. */
static u32 lirs_kind_for(u64 i)
{
    u64 blkno = buffers[i].blkno;
    if (lirs.kind[i] == LIR || lirs.kind[i] == FALLEN)
        return lirs.kind[i] == LIR ? LIR : HIR;
    if (lirs.kind[i] == HIR) {
        bool rises = lirs_in_stack(lirs.at[i]);
        counted[RISEN] += rises;
        return rises ? LIR : HIR;
    }
    bool known = take(&lirs.names, blkno) && lirs_in_stack(lirs.name_at[blkno]);
    u64 cached_now = number_of(LIR) + number_of(HIR) + number_of(FALLEN) + 1;
    lirs.most = MAX(lirs.most, cached_now);
    counted[REMEMBERED] += known;
    return known || number_of(LIR) < lirs_room() ? LIR : HIR;
}

/* Give the buffer its kind. While too many are LIR, the one that was used
 * longest ago falls, as if it were used now as HIR. Names below the stack are
 * forgotten. */
static void lirs_insert(u64 i, bool reuse)
{
    evictable[i] = false; /* it is not the bottom, whatever it was */
    u32 kind = reuse ? lirs_kind_for(i) : UNWANTED;
    evictable[i] = true;
    lirs.kind[i] = kind;
    lirs.at[i] = ++lirs.now;
    for (u64 b; number_of(LIR) > lirs_room() &&
                (b = lirs_oldest(LIR, LIR)) != NOBODY;) {
        lirs.kind[b] = FALLEN;
        lirs.at[b] = ++lirs.now;
    }
    while (lirs.names.n && !lirs_in_stack(lirs.name_at[first(&lirs.names)]))
        take(&lirs.names, first(&lirs.names));
    shorten(&lirs.names, lirs.most * lirs.names_percent / 100);
}

static u64 lirs_victim(void)
{
    u64 victim = lirs_oldest(UNWANTED, UNWANTED);
    if (victim == NOBODY)
        victim = lirs_oldest(HIR, FALLEN);
    return victim != NOBODY ? victim : lirs_oldest(LIR, LIR);
}

/* Forget a victim, and count it by its kind. The name of a HIR block that is
 * still in the stack is kept. */
static void lirs_evicted(u64 i)
{
    u32 kind = lirs.kind[i];
    lirs.kind[i] = NONE;
    if (kind == HIR && lirs_in_stack(lirs.at[i])) {
        push_back(&lirs.names, buffers[i].blkno);
        lirs.name_at[buffers[i].blkno] = lirs.at[i];
    }
    counted[FROM_HIR] += kind == HIR || kind == FALLEN;
    counted[FROM_LIR] += kind == LIR;
}

/* ---- SIEVE ---- */

/* Buffers in the order in which they came, also those in use. The hand is at
 * one of them. */
static struct {
    struct numbers queue, unwanted;
    bool marked[BUFFERS];
    u64 hand; /* a place in the queue */
} sieve;

/* Return the index of a number in a list; the list's length if it is not
 * there. */
static u64 place_in(const struct numbers *l, u64 number)
{
    u64 at = 0;
    while (at < l->n && l->at[at] != number)
        at++;
    return at;
}

/* Take a buffer out of the queue. The hand stays at its buffer, so its index
 * goes down by 1 if the one that leaves stood before it. */
static void sieve_leave(u64 i)
{
    sieve.hand -= place_in(&sieve.queue, i) < sieve.hand;
    take(&sieve.queue, i);
}

/* Mark a block of the queue that is used again; put a new one at the queue's
 * end, and one that will not be wanted into its list. */
static void sieve_insert(u64 i, bool reuse)
{
    sieve.marked[i] = reuse && has(&sieve.queue, i);
    take(&sieve.unwanted, i);
    if (!reuse) {
        sieve_leave(i);
        push_back(&sieve.unwanted, i);
    } else if (!has(&sieve.queue, i)) {
        push_back(&sieve.queue, i);
    }
}

/* Return the first buffer from the hand on that is evictable and not marked.
 * Marks on the way are taken away (counted[0]). */
static u64 sieve_victim(void)
{
    u64 none = first_evictable(&sieve.unwanted);
    if (none != NOBODY || first_evictable(&sieve.queue) == NOBODY)
        return none;
    for (;; sieve.hand++) {
        sieve.hand = sieve.hand < sieve.queue.n ? sieve.hand : 0;
        u64 i = sieve.queue.at[sieve.hand];
        if (!evictable[i])
            continue;
        if (!sieve.marked[i])
            return i;
        sieve.marked[i] = false;
        counted[0]++;
    }
}

/* Take the victim out of the queue. The hand begins anew if no evictable buffer
 * comes after it. */
static void sieve_evicted(u64 i)
{
    u64 at = place_in(&sieve.queue, i), after = at + 1;
    bool was = take(&sieve.queue, i);
    take(&sieve.unwanted, i);
    while (was && after <= sieve.queue.n &&
           !evictable[sieve.queue.at[after - 1]])
        after++;
    if (was)
        sieve.hand = after > sieve.queue.n ? 0 : at;
}

/* ---- S3-FIFO ---- */

enum { SMALL = T1, MAIN = T2 };

static struct {
    u64 percent; /* the tunable: small's share of the buffers */
    u32 list_of[BUFFERS];
    u64 uses[BUFFERS]; /* since the buffer joined its list, 3 at most */
    u64 most;          /* the most buffers that were in small and main */
    struct numbers lists[LISTS]; /* of buffers, also of those in use */
    struct numbers ghosts;       /* blocks */
} s3;

/* Move a buffer to the end of that list, with that number of uses. */
static void s3fifo_join(u64 i, u32 list, u64 uses)
{
    take(&s3.lists[s3.list_of[i]], i);
    push_back(&s3.lists[list], i);
    s3.list_of[i] = list;
    s3.uses[i] = uses;
}

/* A new block joins small, or main if its name is a ghost (counted[3]). A use
 * of a cached block is only counted. */
static void s3fifo_insert(u64 i, bool reuse)
{
    if (!reuse) {
        s3fifo_join(i, UNWANTED, 0);
    } else if (s3.list_of[i] >= SMALL) {
        s3.uses[i] = MIN(s3.uses[i] + 1, 3);
    } else {
        bool again = take(&s3.ghosts, buffers[i].blkno);
        counted[3] += again;
        s3fifo_join(i, again ? MAIN : SMALL, 0);
    }
    s3.most = MAX(s3.most, s3.lists[SMALL].n + s3.lists[MAIN].n);
}

/* The oldest of small if that has its share, else of main. A block of small
 * with 2 uses moves to main (counted[2]); a block of main goes round once for
 * each use. */
static u64 s3fifo_victim(void)
{
    u64 small_size = MAX(1, s3.most * s3.percent / 100), i;
    if ((i = first_evictable(&s3.lists[UNWANTED])) != NOBODY)
        return i;
    for (;;) {
        u64 small = first_evictable(&s3.lists[SMALL]);
        i = first_evictable(&s3.lists[MAIN]);
        if (small != NOBODY &&
            (i == NOBODY || s3.lists[SMALL].n >= small_size)) {
            if (s3.uses[small] < 2)
                return small;
            s3fifo_join(small, MAIN, 0);
            counted[2]++;
        } else if (i == NOBODY || !s3.uses[i]) {
            return i;
        } else {
            s3fifo_join(i, MAIN, s3.uses[i] - 1);
        }
    }
}

/* Keep the names of blocks from small. counted[0] and [1]: victims from small
 * and from main. */
static void s3fifo_evicted(u64 i)
{
    u64 small_size = MAX(1, s3.most * s3.percent / 100);
    u32 list = s3.list_of[i];
    take(&s3.lists[list], i);
    s3.list_of[i] = NONE;
    if (list == SMALL) {
        push_back(&s3.ghosts, buffers[i].blkno);
        shorten(&s3.ghosts, s3.most - MIN(s3.most, small_size));
    }
    counted[0] += list == SMALL;
    counted[1] += list == MAIN;
}

/* ---- W-TinyLFU ---- */

enum { WINDOW = T1, PROBATION = T2, PROTECTED = LISTS };

/* It counts uses exactly: so few blocks are not mistaken in the sketch. */
static struct {
    u64 window_percent, protected_percent, factor; /* the tunables */
    u32 list_of[BUFFERS];
    struct numbers lists[LISTS + 1]; /* evictable ones */
    u64 uses[BLOCKS], sampled, most;
} lfu;

/* Return how many buffers belong to a list, evictable or not. */
static u64 lfu_number(u32 list)
{
    u64 n = 0;
    for (u32 i = 0; i < BUFFERS; i++)
        n += lfu.list_of[i] == list;
    return n;
}

/* Count a use, up to 15. When sample_factor uses for each buffer have been
 * counted, all counts are halved (counted[2]). */
static void lfu_use(u64 blkno)
{
    lfu.uses[blkno] = MIN(lfu.uses[blkno] + 1, 15);
    if (++lfu.sampled < lfu.most * lfu.factor)
        return;
    counted[2]++;
    lfu.sampled /= 2;
    for (u32 i = 0; i < BLOCKS; i++)
        lfu.uses[i] /= 2;
}

/* Move a buffer to the end of that list. */
static void lfu_join(u64 i, u32 list)
{
    take(&lfu.lists[lfu.list_of[i]], i);
    push_back(&lfu.lists[list], i);
    lfu.list_of[i] = list;
}

/* Move the oldest evictable buffers of a list to probation, until at most n
 * belong to the list. */
static void lfu_shorten(u32 list, u64 n)
{
    while (lfu_number(list) > n && lfu.lists[list].n)
        lfu_join(first(&lfu.lists[list]), PROBATION);
}

/* Return the size of the window, in buffers. */
static u64 lfu_window(void)
{
    return MAX(1, lfu.most * lfu.window_percent / 100);
}

/* A new block joins the window; a block of main that is used again joins
 * protected. Then both lists are cut to their sizes. */
static void lfu_insert(u64 i, bool reuse)
{
    bool in_main = lfu.list_of[i] == PROBATION || lfu.list_of[i] == PROTECTED;
    lfu_join(i, !reuse ? UNWANTED : in_main ? PROTECTED : WINDOW);
    u64 n = lfu_number(WINDOW) + lfu_number(PROBATION) + lfu_number(PROTECTED);
    lfu.most = MAX(lfu.most, n);
    if (reuse)
        lfu_use(buffers[i].blkno);
    u64 main = lfu.most > lfu_window() ? lfu.most - lfu_window() : 0;
    lfu_shorten(WINDOW, lfu_window());
    lfu_shorten(PROTECTED, main * lfu.protected_percent / 100);
}

static void lfu_remove(u64 i)
{
    take(&lfu.lists[lfu.list_of[i]], i);
}

/* Return how often the block of a buffer was used, as far as counted. */
static u64 lfu_uses(u64 i)
{
    return lfu.uses[buffers[i].blkno];
}

/* The oldest of the window competes with the oldest of main, and the one with
 * fewer uses is the victim. counted[0] and [1]: how often the window's block
 * was admitted to main, and how often rejected. */
static u64 lfu_victim(void)
{
    u64 new = first(&lfu.lists[WINDOW]), old = first(&lfu.lists[PROBATION]);
    old = old == NOBODY ? first(&lfu.lists[PROTECTED]) : old;
    if (lfu.lists[UNWANTED].n)
        return first(&lfu.lists[UNWANTED]);
    if (new == NOBODY || (old != NOBODY && lfu_number(WINDOW) < lfu_window()))
        return old;
    if (old == NOBODY)
        return new;
    bool admitted = lfu_uses(new) > lfu_uses(old);
    counted[admitted ? 0 : 1]++;
    if (admitted)
        lfu_join(new, PROBATION);
    return admitted ? old : new;
}

static void lfu_evicted(u64 i)
{
    lfu.list_of[i] = NONE;
}

/* ---- CLOCK-Pro ---- */

enum { HOT = T1, COLD = T2, ON_TEST = LISTS };

enum { FROM_COLD, TO_HOT, NAME_KNOWN, TEST_ENDED }; /* the model's counters */

/* There is no clock here: each buffer and name has a number that says where on
 * the clock it is, the smallest number where the hands come next. */
static struct {
    u32 kind[BUFFERS];
    bool marked[BUFFERS];
    u64 at[BUFFERS], name_at[BLOCKS], now; /* places; the last one given */
    u64 most, hot_most;   /* buffers on the clock; how many may be hot */
    struct numbers names; /* the first that was evicted first */
} pro;

/* Of the evictable buffers of kind `kind` or `or`, the one to which the hands
 * come first, or NOBODY. */
static u64 pro_first(u32 kind, u32 or)
{
    u64 best = NOBODY;
    for (u64 i = 0; i < BUFFERS; i++) {
        if (evictable[i] && (pro.kind[i] == kind || pro.kind[i] == or) &&
            (best == NOBODY || pro.at[i] < pro.at[best]))
            best = i;
    }
    return best;
}

/* Return how many buffers are of a kind, evictable or not. */
static u64 pro_number(u32 kind)
{
    u64 n = 0;
    for (u32 i = 0; i < BUFFERS; i++)
        n += pro.kind[i] == kind;
    return n;
}

/* End the test of the next buffer or name before that place. False: there is
 * none. If it was not used in its test, more blocks may be hot. */
static bool pro_end_test(u64 before)
{
    u64 i = pro_first(ON_TEST, ON_TEST), name = first(&pro.names);
    u64 at = i == NOBODY ? NOBODY : pro.at[i];
    u64 name_at = name == NOBODY ? NOBODY : pro.name_at[name];
    if (MIN(at, name_at) >= before)
        return false;
    bool used = name_at >= at && pro.marked[i];
    if (name_at < at)
        take(&pro.names, name);
    else
        pro.kind[i] = COLD;
    if (used)
        return true;
    counted[TEST_ENDED]++;
    pro.hot_most = MIN(pro.hot_most + 1, pro.most - 1);
    return true;
}

/* Move the hot hand by one hot buffer, which becomes cold if it has no mark.
 * False: there is none, or few enough are hot and `must` is false. */
static bool pro_move_hot(bool must)
{
    u64 i = pro_first(HOT, HOT);
    if (i == NOBODY)
        return false;
    while (pro_end_test(pro.at[i]))
        ;
    if (!must && pro_number(HOT) <= pro.hot_most)
        return false;
    pro.kind[i] = pro.marked[i] ? HOT : COLD;
    pro.marked[i] = false;
    pro.at[i] = ++pro.now;
    return true;
}

/* Make a buffer hot that was used in its test; fewer may be hot then. */
static void pro_heat(u64 i)
{
    pro.kind[i] = HOT;
    pro.marked[i] = false;
    pro.at[i] = ++pro.now;
    pro.hot_most -= pro.hot_most > 0;
    while (pro_number(HOT) > pro.hot_most && pro_move_hot(false))
        ;
}

/* The clock has so many buffers for the first time: one more may be hot, and
 * the next cold one is, if there is room. */
static void pro_grow(u64 blocks)
{
    u64 cold = pro_first(COLD, ON_TEST);
    pro.most = blocks;
    pro.hot_most += blocks > 1;
    if (cold != NOBODY && pro_number(HOT) < pro.hot_most)
        pro.kind[cold] = HOT;
}

/* A cached block that is used again gets a mark. A new block begins its test,
 * and is hot at once if its name was in a test. */
static void pro_insert(u64 i, bool reuse)
{
    if (!reuse) {
        pro.kind[i] = UNWANTED;
        pro.marked[i] = false;
        pro.at[i] = ++pro.now;
    } else if (pro.kind[i] >= HOT) {
        pro.marked[i] = true;
    } else {
        u64 now = pro_number(HOT) + pro_number(COLD) + pro_number(ON_TEST) + 1;
        if (now > pro.most)
            pro_grow(now);
        pro.kind[i] = ON_TEST;
        pro.at[i] = ++pro.now;
        if (!take(&pro.names, buffers[i].blkno))
            return;
        counted[NAME_KNOWN]++;
        pro_heat(i);
    }
}

/* Move the cold hand to the first cold buffer without a mark. A marked one
 * becomes hot if it was in its test, else its test begins. */
static u64 pro_victim(void)
{
    u64 i = pro_first(UNWANTED, UNWANTED);
    while (i == NOBODY) {
        i = pro_first(COLD, ON_TEST);
        if (i == NOBODY) {
            if (!pro_move_hot(true))
                return NOBODY;
        } else if (pro.marked[i]) {
            pro.marked[i] = false;
            if (pro.kind[i] == ON_TEST) {
                counted[TO_HOT]++;
                pro_heat(i);
            } else {
                pro.kind[i] = ON_TEST;
                pro.at[i] = ++pro.now;
            }
            i = NOBODY;
        }
    }
    return i;
}

/* Keep the block's name, if it was in its test, in the buffer's place on the
 * clock. */
static void pro_evicted(u64 i)
{
    u32 kind = pro.kind[i];
    pro.kind[i] = NONE;
    pro.marked[i] = false;
    if (kind != ON_TEST)
        return;
    counted[FROM_COLD]++;
    push_back(&pro.names, buffers[i].blkno);
    pro.name_at[buffers[i].blkno] = pro.at[i];
    while (pro.names.n > pro.most && pro_end_test(NOBODY))
        ;
}

/* ---- MGLRU ---- */

/* The model's counters. */
enum { PROTECTED_BY_TIER, REFAULTS, BORN, ENDED };

static struct {
    u64 least, margin;       /* the tunables */
    u64 generation[BUFFERS]; /* 0: not cached, or unwanted */
    u64 uses[BUFFERS];       /* since the buffer joined its generation */
    u64 at[BUFFERS], now;    /* the order of joining; the last number given */
    u64 most;                /* the most buffers with a generation so far */
    u64 oldest, youngest;    /* generations */
    /* Refaults and evictions of each tier: [0] the average of the past, [1]
     * since the last generation ended. */
    u64 again[2][4], total[2][4];
    u64 name_born[BLOCKS]; /* the youngest generation at the eviction */
    u64 name_tier[BLOCKS];
    struct numbers names, unwanted;
} gen;

static void gen_begins(void)
{
    gen.oldest = 1;
    gen.youngest = 2;
}

/* Return how many buffers are in the generations `from` to `to`. */
static u64 gen_number(u64 from, u64 to)
{
    u64 n = 0;
    for (u64 i = 0; i < BUFFERS; i++)
        n += gen.generation[i] >= from && gen.generation[i] <= to;
    return n;
}

/* Return the tier of a buffer, 0 to 3: the rounded-down logarithm of its uses,
 * to the base 2, except that 4 uses are in tier 2. */
static u64 gen_tier(u64 i)
{
    static const u64 tier[] = {0, 0, 1, 2, 2};
    return gen.uses[i] < NELEM(tier) ? tier[gen.uses[i]] : 3;
}

/* A new block joins the second youngest generation. It is a refault if its
 * block was evicted less than 4 generations ago. */
static void gen_insert(u64 i, bool reuse)
{
    u64 blkno = buffers[i].blkno;
    take(&gen.unwanted, i);
    if (!reuse) {
        gen.generation[i] = 0;
        push_back(&gen.unwanted, i);
    } else if (gen.generation[i]) {
        gen.uses[i]++;
    } else {
        if (take(&gen.names, blkno) &&
            gen.youngest < gen.name_born[blkno] + 4) {
            gen.again[1][gen.name_tier[blkno]]++;
            counted[REFAULTS]++;
        }
        gen.generation[i] = gen.youngest - 1;
        gen.uses[i] = 1;
        gen.at[i] = ++gen.now;
        gen.most = MAX(gen.most, gen_number(1, NOBODY));
    }
}

/* True if a tier, up to this one, has refaults / total above margin percent of
 * tier 0's (both sums of the present and the past), and enough refaults. */
static bool gen_protects(u64 tier)
{
    for (u64 t = 1; t <= tier; t++) {
        u64 again = gen.again[0][t] + gen.again[1][t];
        u64 total = gen.total[0][t] + gen.total[1][t];
        u64 base = gen.again[0][0] + gen.again[1][0] + 1;
        u64 of = gen.total[0][0] + gen.total[1][0] + gen.least;
        if (again >= gen.least && 100 * again * of > gen.margin * base * total)
            return true;
    }
    return false;
}

/* Return the first evictable buffer of the oldest generation that has one, or
 * NOBODY. */
static u64 gen_first(void)
{
    u64 best = NOBODY;
    for (u64 i = 0; i < BUFFERS; i++) {
        if (!evictable[i] || !gen.generation[i])
            continue;
        if (best == NOBODY || gen.generation[i] < gen.generation[best] ||
            (gen.generation[i] == gen.generation[best] &&
             gen.at[i] < gen.at[best]))
            best = i;
    }
    return best;
}

/* Return the first evictable buffer whose tier is not protected. Those that are
 * protected move to the next generation. */
static u64 gen_victim(void)
{
    bool spared[4];
    u64 i = first_evictable(&gen.unwanted);
    for (u64 tier = 0; tier < 4; tier++)
        spared[tier] = gen_protects(tier);
    while (i == NOBODY && (i = gen_first()) != NOBODY) {
        if (!spared[gen_tier(i)] || gen.generation[i] == gen.youngest)
            break;
        gen.total[1][gen_tier(i)]++;
        counted[PROTECTED_BY_TIER]++;
        gen.generation[i]++;
        gen.uses[i] = 0;
        gen.at[i] = ++gen.now;
        i = NOBODY;
    }
    return i;
}

/* End the generations that are empty, the oldest first; two stay. Begin one if
 * less than a quarter of the buffers is in the second youngest; 4 at most. */
static void gen_turn(void)
{
    for (; gen.oldest + 1 < gen.youngest && !gen_number(gen.oldest, gen.oldest);
         gen.oldest++, counted[ENDED]++) {
        for (u64 t = 0; t < 4; t++) {
            gen.again[0][t] = (gen.again[0][t] + gen.again[1][t]) / 2;
            gen.total[0][t] = (gen.total[0][t] + gen.total[1][t]) / 2;
            gen.again[1][t] = gen.total[1][t] = 0;
        }
    }
    u64 joined = gen_number(gen.youngest - 1, gen.youngest - 1);
    if (gen.youngest < gen.oldest + 3 && 4 * joined < gen_number(1, NOBODY)) {
        gen.youngest++;
        counted[BORN]++;
    }
}

/* Keep the block's name, with its tier and the youngest generation, unless it
 * was unwanted. */
static void gen_evicted(u64 i)
{
    u64 blkno = buffers[i].blkno;
    if (!take(&gen.unwanted, i)) {
        gen.total[1][gen_tier(i)]++;
        push_back(&gen.names, blkno);
        gen.name_born[blkno] = gen.youngest;
        gen.name_tier[blkno] = gen_tier(i);
        shorten(&gen.names, gen.most);
    }
    gen.generation[i] = 0;
    gen_turn();
}

/* ---- CFLRU ---- */

/* The evictable buffers: first `unwanted`, in the order in which they came;
 * then `order`, by buffers[].used. */
static struct {
    struct numbers unwanted, order;
    u64 window_percent; /* the tunable */
} cflru;

/* Put a buffer among those of its list; `order` is kept sorted by the last
 * use. */
static void cflru_insert(u64 i, bool reuse)
{
    push_back(reuse ? &cflru.order : &cflru.unwanted, i);
    if (!reuse)
        return;
    u64 at = cflru.order.n - 1, *order = cflru.order.at;
    for (; at && buffers[order[at - 1]].used > buffers[i].used; at--)
        order[at] = order[at - 1];
    order[at] = i;
}

static void cflru_remove(u64 i)
{
    take(&cflru.order, i);
    take(&cflru.unwanted, i);
}

/* The oldest clean buffer of the window, which is a share of all evictable
 * ones; without one there, the oldest of all, which is dirty. counted[0] and
 * [1]: a dirty one was passed over; was the victim. */
static u64 cflru_victim(void)
{
    u64 all[BUFFERS], n = 0;
    for (u64 i = 0; i < cflru.unwanted.n; i++)
        all[n++] = cflru.unwanted.at[i];
    for (u64 i = 0; i < cflru.order.n; i++)
        all[n++] = cflru.order.at[i];
    u64 window = MAX(1, n * cflru.window_percent / 100);
    for (u64 i = 0; i < MIN(n, window); i++) {
        if (buffers[all[i]].dirtied_ns)
            continue;
        counted[0] += i > 0;
        return all[i];
    }
    counted[1] += n > 0;
    return n ? all[0] : NOBODY;
}

/* ---- all of them ---- */

#define STATE(of) &(of), sizeof(of)

static const struct model models[] = {
    {"lru_evicts_as_its_model", "lru", STATE(order), lru_insert, lru_remove,
     lru_victim},
    {"clock_evicts_as_its_model", "clock", STATE(clock_), clock_insert,
     clock_remove, clock_victim, NULL, clock_evicted},
    {"two_q_evicts_as_its_model", "2q", STATE(q), two_q_insert, two_q_remove,
     two_q_victim, two_q_coming, two_q_evicted,
     .tunables = {{"kin_percent", &q.kin, 1, 99},
                  {"kout_percent", &q.kout, 0, 199}}},
    {"arc_evicts_as_its_model", "arc", STATE(arc), arc_insert, arc_remove,
     arc_victim, arc_coming, arc_evicted},
    {"car_evicts_as_its_model", "car", STATE(car), car_insert, stays,
     car_victim, NULL, car_evicted},
    {"lirs_evicts_as_its_model", "lirs", STATE(lirs), lirs_insert, stays,
     lirs_victim, NULL, lirs_evicted,
     .tunables = {{"hir_percent", &lirs.hir_percent, 1, 99},
                  {"names_percent", &lirs.names_percent, 0, 299}}},
    {"sieve_evicts_as_its_model", "sieve", STATE(sieve), sieve_insert, stays,
     sieve_victim, NULL, sieve_evicted},
    {"s3fifo_evicts_as_its_model", "s3fifo", STATE(s3), s3fifo_insert, stays,
     s3fifo_victim, NULL, s3fifo_evicted,
     .tunables = {{"small_percent", &s3.percent, 1, 99}}},
    {"wtinylfu_evicts_as_its_model", "wtinylfu", STATE(lfu), lfu_insert,
     lfu_remove, lfu_victim, NULL, lfu_evicted,
     .tunables = {{"window_percent", &lfu.window_percent, 1, 99},
                  {"protected_percent", &lfu.protected_percent, 0, 100},
                  {"sample_factor", &lfu.factor, 1, 30}}},
    {"clockpro_evicts_as_its_model", "clockpro", STATE(pro), pro_insert, stays,
     pro_victim, NULL, pro_evicted},
    {"mglru_evicts_as_its_model", "mglru", STATE(gen), gen_insert, stays,
     gen_victim, NULL, gen_evicted, gen_begins,
     .tunables = {{"least_refaults", &gen.least, 1, 6},
                  {"margin_percent", &gen.margin, 100, 199}}},
    {"cflru_evicts_as_its_model", "cflru", STATE(cflru), cflru_insert,
     cflru_remove, cflru_victim,
     .tunables = {{"window_percent", &cflru.window_percent, 0, 100}}},
};

TEST_ROWS(model, struct model, models)
{
    for (u64 seed = 0; seed < SEEDS; seed++)
        run(row, seed);
}

/*
 * The checks of policies: each has nothing to say of what is right, and says
 * what is wrong of each inconsistency that is planted here.
 *
 * - plant(p, "paces", 3, 1, "...") adds 1 to the 64-bit word number 3 of the
 *   policy's static variable `paces`, expects that the check says so, and takes
 *   the 1 away again. NULL in place of the text: that is no inconsistency.
 * - An enum in a function below numbers the words of such a variable, in the
 *   order of the fields of its structure.
 * - model_start, run_to_ms and dirty bring an update policy into a state that
 *   has something to be wrong (cache_model.h).
 *
 * link: tests/support/native/test.c tests/support/native/statics.c
 */
#include "tests/support/native/cache_model.h"
#include "tests/support/native/statics.h"
#include "kernel/disk/queue.h"

/* True if the policy can check its own records. */
static bool has_check(const struct policy *p)
{
    return p->kind == POLICY_SCHED ? p->sched.check != NULL : p->check != NULL;
}

/* Return what the policy's check finds wrong, or NULL. A scheduler is checked
 * for each disk, and may find something wrong on one disk at most. */
static const char *said(const struct policy *p)
{
    const char *said = NULL;
    if (p->kind != POLICY_SCHED)
        return (p->check)();
    for (u32 disk = 0; disk < MAX_DISKS; disk++) {
        const char *why = (p->sched.check)(&(struct queue){.disk = disk});
        check(!why || !said);
        said = why ? why : said;
    }
    return said;
}

/* Expect that the policy's check finds nothing wrong. */
static void check_right(const struct policy *p)
{
    const char *wrong = said(p);
    if (wrong)
        printf("%s: %s\n", p->name, wrong);
    check(!wrong);
}

/* Expect that the policy's check finds this wrong. */
static void check_says(const struct policy *p, const char *want)
{
    const char *got = said(p);
    if (got && strcmp(got, want) == 0)
        return;
    printf("%s: expected \"%s\", got \"%s\"\n", p->name, want,
           got ? got : "(nothing)");
    exit(1);
}

/* Expect what the check says with `more` added to a word of a static variable;
 * NULL: nothing. */
static void plant(const struct policy *p, const char *variable, u32 word,
                  i64 more, const char *want)
{
    char file[40];
    snprintf(file, sizeof file, "%s.c", p->name);
    u64 *at = static_of(file, variable) + word;
    *at += more;
    if (want)
        check_says(p, want);
    else
        check_right(p);
    *at -= more;
}

/* ---- schedulers ---- */

static void sluice(const struct policy *p)
{
    /* the words of a struct pace */
    enum { DIRTY = 128, TICK, TODO, OWED_NS, WORDS };
    for (u32 disk = 0; disk < MAX_DISKS; disk++) {
        plant(p, "paces", disk * WORDS + DIRTY, 1,
              "not every dirty block is due in one tick");
        plant(p, "paces", disk * WORDS + TODO, 1,
              "writes are to be done now, and none is owed");
        plant(p, "paces", disk * WORDS + OWED_NS, -1,
              "writes are to be done now, and none is owed");
        plant(p, "paces", disk * WORDS + TICK, 1, NULL);
    }
}

static void bfq(const struct policy *p)
{
    /* the words of a struct process, and those after 64 of them */
    enum { REQUESTS = 1, START = 3, FINISH, WORDS = 11 };
    enum { ALL = 64 * WORDS + 1, DISK = 64 * WORDS + 9 };
    for (u32 disk = 0; disk < MAX_DISKS; disk++) {
        plant(p, "disks", disk * DISK + REQUESTS, 1,
              "a request is in no queue");
        plant(p, "disks", disk * DISK + 63 * WORDS + REQUESTS, 1,
              "a request is in no queue");
        plant(p, "disks", disk * DISK + ALL, 1, "a request is in no queue");
        plant(p, "disks", disk * DISK + 5 * WORDS + START, 1,
              "a queue finishes before it starts");
        plant(p, "disks", disk * DISK + 5 * WORDS + FINISH, 1, NULL);
    }
}

static void kyber(const struct policy *p)
{
    /* the words of a struct domain, and those after two of them */
    enum { DEPTH, TAKEN, WORDS = 25 };
    enum { INSIDE = 2 * WORDS + 2 };
    const char *many = "a domain has more tokens than it may have";
    plant(p, "devices", DEPTH, 1, many);
    plant(p, "devices", DEPTH, -255, NULL);
    plant(p, "devices", WORDS + DEPTH, 1, many);
    plant(p, "devices", TAKEN, 1, "tokens are lost");
    plant(p, "devices", WORDS + TAKEN, 1, "tokens are lost");
    plant(p, "devices", INSIDE, 1, "tokens are lost");
}

/* ---- update policies ---- */

/* A block is dirty. Each of the counts of dirty blocks may be wrong, and so may
 * the kernel's. */
static void acp(const struct policy *p)
{
    const char *wrong = "dirty blocks are miscounted";
    model_start("acp");
    run_to_ms(1);
    dirty(1);
    plant(p, "dirty_in", 0, 1, wrong);
    plant(p, "dirty_in", 8 * 512 - 1, 1, wrong);
    plant(p, "dirty", 0, 1, wrong);
    model.now.dirty++;
    check_says(p, wrong);
}

static void alru(const struct policy *p)
{
    enum { WOKE, USES, UNUSED, BATCH, DONE_AT, LEFT, MOST, WROTE };
    model_start("alru");
    run_to_ms(1);
    dirty(1);
    run_to_ms(200000); /* the last batch had none */
    plant(p, "state", WROTE, 100, NULL);
    plant(p, "state", WROTE, 101, "a batch had too many blocks");
    plant(p, "state", MOST, -100, NULL);
}

static void ahlw(const struct policy *p)
{
    enum { HIGH, LOW };
    model_start("ahlw");
    plant(p, "watermarks", LOW, 50, NULL); /* as high */
    plant(p, "watermarks", LOW, 51, "the low mark is above the high one");
    plant(p, "watermarks", HIGH, -51, "the low mark is above the high one");
}

static void awol(const struct policy *p)
{
    enum { HIGH, LOW };
    model_start("awol");
    plant(p, "watermarks", LOW, 50, NULL);
    plant(p, "watermarks", LOW, 51, "the low mark is above the high one");
    plant(p, "watermarks", HIGH, -51, "the low mark is above the high one");
}

/* The wheel has 64 slots, one for each second; b->mark is the second for which
 * a block is due. A block may be in no slot, in another's, or left behind. */
static void bsd_syncer(const struct policy *p)
{
    const char *lost = "not every dirty block is on it";
    model_start("bsd_syncer");
    run_to_ms(100000);
    struct block *b = dirty(1); /* of second 130; 100 s are done */
    dirty(2);
    plant(p, "on_wheel", 0, 1, lost);
    b->mark++;
    check_says(p, "a block is in a slot that is not its own");
    b->mark -= 1 + 64; /* 130 - 64 = 66: a round before */
    check_right(p);
    b->mark -= 64; /* 2, and 2 + 64 seconds are done */
    check_says(p, "a block was passed over for a round");
    b->mark += 2 * 64;
    p->update.leaves(b);
    b->dirtied_ns = 134 * NS_PER_S;
    p->update.dirtied(b, model.now_ns); /* of second 164 */
    b->mark -= 2 * 64; /* 36, and it is the round of 36 + 64 = 100 still */
    check_right(p);
    b->mark += 2 * 64;
    stall_to_ms(250000);
    p->update.scan(164 * NS_PER_S); /* all is written */
    check_right(p);
    b = dirty(1);
    model.now.dirty++;
    check_says(p, lost);
    model.now.dirty -= 2;
    list_remove(&b->owing);
    check_says(p, lost);
}

/* The last scan adds writes to disks that have room for them, up to 8 requests.
 * Disk 0 had 3 reads queued, so it got 5; disk 1 had no room. */
static void hac(const struct policy *p)
{
    enum { ACCEPTED, ROOMS, DISKS, LENGTH, ADDED = LENGTH + MAX_DISKS };
    model_start("hac");
    model.disks = 2;
    model.queue.queued_reads = 3;
    model.others[0].in_flight = 40; /* more than is accepted */
    run_to_ms(1);
    for (u64 i = 0; i < 100; i++)
        dirty(i);
    run_to_ms(100); /* 8 requests are accepted: 5 went to disk 0 */
    plant(p, "last", ROOMS, 1, "room at a disk was not counted");
    plant(p, "last", ADDED, -1, "room at a disk was not counted");
    plant(p, "last", ADDED, 1,
          "more was added to a queue than it had room for");
    plant(p, "last", ADDED + 1, 1,
          "more was added to a queue than it had room for");
}

/* Each age has as many blocks as the threshold, 6, at most; after a scan the
 * counts of all ages make the blocks that were looked at. */
static void ldcl(const struct policy *p)
{
    enum { SCANNED, OVERFULL };
    model_start("ldcl");
    run_to_ms(1);
    for (u64 i = 0; i < 6; i++)
        dirty(i);
    run_to_ms(1000); /* six are of age 0, the threshold */
    plant(p, "last", SCANNED, 1,
          "the ages do not have as many blocks as were looked at");
    plant(p, "of_age", 60, 1,
          "the ages do not have as many blocks as were looked at");
    u64 *last = static_of("ldcl.c", "last");
    last[SCANNED]++;
    plant(p, "of_age", 0, 1, "an age has too many blocks");
    plant(p, "of_age", 59, 1, NULL);
    last[SCANNED]--;
    tune("range_s", 0);
    for (u64 i = 6; i < 9; i++)
        dirty(i);
    run_to_ms(2000); /* three of age 0 and six of age 1 */
    for (u64 i = 9; i < 15; i++)
        dirty(i);
    run_to_ms(3000); /* nine of age 1: three beyond the threshold */
    last[SCANNED]++;
    plant(p, "of_age", 1, 1, "an age has too many blocks");
    plant(p, "of_age", 60, 1, NULL); /* the last age may have any number */
    last[SCANNED]--;
}

/* Each disk has counts of its dirty blocks, which make the kernel's. */
static void linux_like(const struct policy *p)
{
    enum { DIRTY, RECENT, ABOVE, WORDS }; /* of a disk */
    const char *lost = "dirty blocks are not all counted";
    model_start("linux");
    run_to_ms(1);
    for (u64 i = 0; i < 150; i++)
        dirty(i);
    run_to_ms(2); /* a part is written, because of the limit */
    plant(p, "disks", DIRTY, -1, lost);
    plant(p, "disks", WORDS + DIRTY, 1, lost);
    run_to_ms(40000); /* all is written */
    plant(p, "disks", DIRTY, 1, lost);
    plant(p, "disks", RECENT, 1, NULL);
}

/* A list names the blocks that are due: dirty since before the last scan
 * began. */
static void sprite(const struct policy *p)
{
    model_start("sprite");
    run_to_ms(1);
    dirty(1);
    run_to_ms(
        40000); /* the scan at 40 s has found block 1 due, and written it */
    struct block *old = dirty(2);
    struct list *due = (struct list *)static_of("sprite.c", "due");
    list_push_back(due, &old->owing);
    old->dirtied_ns = NS_PER_MS;
    check_right(p);
    old->dirtied_ns++;
    check_says(p, "a block is due that became dirty since");
    model_start("sprite"); /* nothing was due before it started */
    run_to_ms(1);
    struct block *b = dirty(1);
    b->dirtied_ns = 1;
    list_push_back(due, &b->owing);
    check_says(p, "a block is due that became dirty since");
    plant(p, "due_ns", 0, 1, NULL);
    b->dirtied_ns = 0;
    check_says(p, "a block is due that is clean");
}

/* A scan looks at a share of all buffers: turn 1 of 60 is buffers 0 to 15. The
 * last turn must end with the last buffer. */
static void svr4(const struct policy *p)
{
    enum { TURN, TURNS, FIRST, END, BUFFERS };
    const char *beyond = "a turn goes beyond the round or the cache";
    const char *end = "a round does not end with the last buffer";
    model_start("svr4");
    run_to_ms(1000); /* turn 1 of 60: buffers 0 to 15 of 1000 */
    plant(p, "last", TURN, 60, beyond);
    plant(p, "last", FIRST, 17, beyond);
    plant(p, "last", END, 985, beyond);
    plant(p, "last", FIRST, 1, "a round does not begin with the first buffer");
    plant(p, "last", TURNS, -59, end);
    run_to_ms(60000);
    plant(p, "last", END, -1, end);
    plant(p, "last", TURNS, 1, NULL);
    p->counters[3].value = p->counters[1].value;
    check_right(p);
    p->counters[3].value++;
    check_says(p, "more was written by turn than looked at");
}

/* ---- write policies ---- */

static void balanced(const struct policy *p)
{
    plant(p, "account", 0, 32 * 1024, NULL);
    plant(p, "account", 0, 32 * 1024 + 1,
          "writers are more in credit than they may be");
    plant(p, "account", 0, -1, NULL);
}

/* A queue may be made as long as its mean and one request more. The policy
 * notes what it started in the last second. */
static void oaw(const struct policy *p)
{
    enum { MOST = 2, QUEUED, STARTED, WORDS };
    model_start("none");
    model_use_write("oaw");
    tune_write("floor", 5); /* a queue of 5 may be one longer */
    model.queue.queued_reads = 10;
    run_to_ms(1);
    for (u64 i = 0; i < 9; i++)
        write_data(i, true);
    model.queue.queued_reads = 3;
    run_to_ms(1000);
    check_eq(counter_write("released"), 3);
    plant(p, "disks", STARTED, 1, "a queue was made longer than it may be");
    plant(p, "disks", QUEUED, 1, "a queue was made longer than it may be");
    plant(p, "disks", STARTED, -3, NULL);
    plant(p, "disks", 7 * WORDS + STARTED, 7,
          "a queue was made longer than it may be");
    p->counters[2].value = p->counters[1].value;
    check_right(p);
    p->counters[2].value++;
    check_says(p, "more was released than held back");
}

/* ---- replace policies ---- */

/* Word 2 of each of the four lists, which have three words, counts its
 * blocks. */
static void two_q(const struct policy *p)
{
    struct block b = {.blkno = 1};
    for (u32 list = 0; list < 4; list++) {
        u64 *n = static_of("2q.c", "lists") + 3 * list + 2;
        ++*n;
        check_says(p, "the blocks of a list are miscounted");
        --*n;
    }
    p->replace.insert(&b, true);
    check_right(p);
    static_of("2q.c", "lists")[3 * 2 + 2] = 0; /* b is in A1in */
    check_says(p, "the blocks of a list are miscounted");
}

/* Four blocks are in T1. Change the target size and the lengths of the lists,
 * up to and beyond what the paper allows. */
static void arc(const struct policy *p)
{
    enum { T1 = 2, T2, WORDS = 3, N = 2 };
    struct block blocks[4];
    for (u64 i = 0; i < 4; i++) {
        blocks[i] = (struct block){.blkno = i};
        p->replace.insert(&blocks[i], true);
    }
    plant(p, "target", 0, 4, NULL); /* the whole cache */
    plant(p, "target", 0, 5, "the target is more than the cache");
    plant(p, "lists", T1 * WORDS + N, 1, "T1 and B1 have more than the cache");
    plant(p, "b1", 0, 1, "T1 and B1 have more than the cache");
    plant(p, "lists", T2 * WORDS + N, 4, NULL);
    plant(p, "lists", T2 * WORDS + N, 5, "all lists have more than two caches");
    plant(p, "b2", 0, 5, "all lists have more than two caches");
    check_right(p);
}

/* Change the counts of all blocks and of those in the window. */
static void cflru(const struct policy *p)
{
    struct block b = {.blkno = 1};
    plant(p, "blocks", 0, 1, "blocks are miscounted");
    p->replace.insert(&b, true);
    plant(p, "blocks", 0, 1, NULL);
    plant(p, "blocks", 0, -1, "blocks are miscounted");
    plant(p, "inside", 0, 1, "the window has more than all blocks");
}

static struct block some[4];

/* Four blocks come into the cache. */
static void four_blocks(const struct policy *p)
{
    for (u64 i = 0; i < NELEM(some); i++) {
        some[i] = (struct block){.blkno = i};
        if (p->replace.coming)
            p->replace.coming(0, i);
        p->replace.insert(&some[i], true);
    }
    check_right(p);
}

/* For each list with blocks, from the second on: plant a length of 0 and expect
 * this complaint. A list has `words` words, and the last is its length. */
static void empty_lists(const struct policy *p, const char *variable, u32 lists,
                        u32 words, const char *want)
{
    char file[40];
    snprintf(file, sizeof file, "%s.c", p->name);
    u64 *n = static_of(file, variable), had;
    u32 planted_in = 0;
    for (u32 i = 1; i < lists; i++) {
        u64 *number = &n[words * i + words - 1];
        had = *number;
        *number = 0;
        if (had) {
            check_says(p, want);
            planted_in++;
        }
        *number = had;
    }
    check(planted_in);
}

static void sieve(const struct policy *p)
{
    four_blocks(p);
    plant(p, "hand", 0, 5, "the hand is beyond all blocks");
}

static void s3fifo(const struct policy *p)
{
    four_blocks(p);
    empty_lists(p, "queues", 4, 3, "the blocks of a list are miscounted");
    plant(p, "ghost", 0, 5, "more names are remembered than there are blocks");
}

static void car(const struct policy *p)
{
    enum { T1 = 2, T2, WORDS = 3, N = 2 };
    four_blocks(p);
    plant(p, "target", 0, 5, "the target is more than the cache");
    plant(p, "lists", T1 * WORDS + N, 1, "T1 and B1 have more than the cache");
    plant(p, "b1", 0, 1, "T1 and B1 have more than the cache");
    plant(p, "lists", T2 * WORDS + N, 5, "all lists have more than two caches");
    plant(p, "b2", 0, 5, "all lists have more than two caches");
}

static void lirs(const struct policy *p)
{
    four_blocks(p);
    empty_lists(p, "kinds", 3, 3, "the blocks of a kind are miscounted");
    plant(p, "most", 0, -4, "more blocks are LIR than there are");
}

static void wtinylfu(const struct policy *p)
{
    four_blocks(p);
    empty_lists(p, "lists", 5, 3, "the blocks of a list are miscounted");
}

static void clockpro(const struct policy *p)
{
    four_blocks(p);
    empty_lists(p, "kinds", 5, 3, "the blocks of a kind are miscounted");
    plant(p, "names", 0, 4, NULL);
    plant(p, "names", 0, 5, "more names are remembered than there are blocks");
    plant(p, "hot_most", 0, -3, NULL);
    plant(p, "hot_most", 0, 1, "no block may be cold");
}

static void mglru(const struct policy *p)
{
    const char *few = "there are not 2 to 4 generations";
    four_blocks(p);
    empty_lists(p, "slots", 5, 3, "the blocks of a generation are miscounted");
    plant(p, "youngest", 0, 2, NULL);
    plant(p, "youngest", 0, 3, few);
    plant(p, "oldest", 0, 1, few);
    plant(p, "ghosts", 0, 4, NULL);
    plant(p, "ghosts", 0, 5, "more names are remembered than there are blocks");
}

/* ---- all of them ---- */

static const struct {
    enum policy_kind kind;
    const char *name;
    void (*plants)(const struct policy *);
} planted[] = {
    {POLICY_SCHED, "bfq", bfq},
    {POLICY_SCHED, "kyber", kyber},
    {POLICY_SCHED, "sluice", sluice},
    {POLICY_UPDATE, "acp", acp},
    {POLICY_UPDATE, "ahlw", ahlw},
    {POLICY_UPDATE, "alru", alru},
    {POLICY_UPDATE, "awol", awol},
    {POLICY_UPDATE, "bsd_syncer", bsd_syncer},
    {POLICY_UPDATE, "hac", hac},
    {POLICY_UPDATE, "ldcl", ldcl},
    {POLICY_UPDATE, "linux", linux_like},
    {POLICY_UPDATE, "sprite", sprite},
    {POLICY_UPDATE, "svr4", svr4},
    {POLICY_WRITE, "balanced", balanced},
    {POLICY_WRITE, "oaw", oaw},
    {POLICY_REPLACE, "2q", two_q},
    {POLICY_REPLACE, "arc", arc},
    {POLICY_REPLACE, "car", car},
    {POLICY_REPLACE, "cflru", cflru},
    {POLICY_REPLACE, "clockpro", clockpro},
    {POLICY_REPLACE, "lirs", lirs},
    {POLICY_REPLACE, "mglru", mglru},
    {POLICY_REPLACE, "s3fifo", s3fifo},
    {POLICY_REPLACE, "sieve", sieve},
    {POLICY_REPLACE, "wtinylfu", wtinylfu},
};

/* For each policy: nothing is wrong before, and then each inconsistency of the
 * table is planted. */
TEST(every_check_says_what_is_wrong_of_each_inconsistency_that_is_planted)
{
    for (u32 i = 0; i < NELEM(planted); i++) {
        const struct policy *p = policy_named(planted[i].kind, planted[i].name);
        model.now.dirty = 0; /* what the policy before this one left */
        check_right(p);
        planted[i].plants(p);
    }
}

/* The table above has one row for each policy with a check, and none for the
 * others. */
TEST(an_inconsistency_is_planted_for_every_policy_that_has_a_check)
{
    POLICY_EACH (p) {
        u32 plants = 0;
        for (u32 i = 0; i < NELEM(planted); i++)
            plants += planted[i].kind == (*p)->kind &&
                      strcmp(planted[i].name, (*p)->name) == 0;
        if (has_check(*p) && !plants)
            printf("checks_test.c plants nothing in %s\n", (*p)->name);
        check(plants == has_check(*p));
    }
}

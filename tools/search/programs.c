/*
 * The programs of the search: each is a few operations of the cache, and knows
 * what it must read and what must be on the disk afterwards.
 *
 *   R3 read block 3; N3 read it if it is cached; P34 read 3 and start reading 4
 *   D3 A3 W3 M3 J3 change it: bdwrite, bawrite, bwrite, bwrite_data, bpin;
 *   D33 reads it first
 *   g3 take it and keep it; then r3 d3 a3 w3 m3 j3 let it go, as above
 *   K let all that is pinned become dirty (bunpin)
 *   F flush all; O1 flush owner 1; S30 flush what is 30 s old
 *   X3 drop it (binval); U3 it is not wanted (bunwanted); L34 prefetch 3 and 4
 *   T5 sleep for 5 s; use:KIND:NAME swap a policy
 *
 * A block's owner is 1 + its number % 2, and the other of the two after M or m.
 *
 * What the callers of the cache promise is checked before the search: a program
 * takes blocks in rising order, BUFFERS_HELD at most, and lets all go; and what
 * is pinned leaves each program the buffers that it takes at once.
 */
#include "tools/search/machine.h"

#include <stdio.h>
#include <stdlib.h>

static u64 owner_of(u64 block)
{
    return 1 + block % 2;
}

static u64 *contents(struct buf *b)
{
    return b->data;
}

/* Give a buffer new contents: a number that no block has had, with the block in
 * its upper half. `wanted` is what the next read must find. */
static void change(struct buf *b)
{
    u64 block = b->block.blkno;
    u64 value = FIRST_OF(CLASS_VALUE) + (block << 32) + world.next_value++;
    *contents(b) = value;
    world.wanted[block] = value;
}

static void check_read(struct task *t, struct buf *b)
{
    if (b->block.blkno >= watch->nblocks || b->disk != the_disk())
        violated(1, "%s gets the buffer of another block", t->proc.name);
    if (*contents(b) != world.wanted[b->block.blkno])
        violated(0, "%s reads something else from block %lu than was written",
                 t->proc.name, b->block.blkno);
}

static void owe(struct task *t, struct buf *b)
{
    t->owed[b->block.blkno] = *contents(b);
}

/* ---- taking and letting go ---- */

/* True if a command of the device has failed since the operation began. */
static bool failed_meanwhile(const struct task *t)
{
    return world.failures_left != t->failures_before;
}

/* A read that succeeds gives the block's contents, and one fails only with the
 * device. */
static void check_bread(struct task *t, const struct buf *b, u64 block)
{
    if (!b && !failed_meanwhile(t))
        violated(0, "%s cannot read block %lu, and no command has failed",
                 t->proc.name, block);
    if (b && !(b->flags & B_VALID))
        violated(0, "%s reads block %lu and does not get its contents",
                 t->proc.name, block);
}

static struct buf *take(struct task *t, u64 block, bool reads)
{
    struct buf *b =
        reads ? bread(the_disk(), block) : getblk(the_disk(), block);
    if (reads)
        check_bread(t, b, block);
    if (b && b->flags & B_VALID)
        check_read(t, b);
    return b;
}

static void let_go(struct task *t, struct buf *b, char how)
{
    u64 owner = owner_of(b->block.blkno);
    int error = 0;
    if (how != 'r')
        change(b);
    switch (how) {
    case 'r':
        brelse(b);
        break;
    case 'd':
        bdwrite(b, owner);
        break;
    case 'a':
        bawrite(b);
        break;
    case 'w':
        owe(t, b);
        error = bwrite(b);
        if (!error)
            check_owed(t, "bwrite");
        break;
    case 'm':
        error = bwrite_data(b, 3 - owner, true);
        break;
    case 'j':
        bpin(b, owner);
        break;
    }
    memset(t->owed, 0, sizeof t->owed);
    if (error && !failed_meanwhile(t))
        violated(0, "%s gets an error, and no command has failed",
                 t->proc.name);
}

/* Let go of what `g` took. If its read failed, there is nothing to let go. */
static void let_kept_go(struct task *t, u64 block, char how)
{
    struct buf *b = t->kept[block];
    t->kept[block] = NULL;
    if (b)
        let_go(t, b, how);
}

/* ---- operations ---- */

static void flush(struct task *t, u64 owner)
{
    owe_dirty(t, owner);
    int error = owner ? bflush_owner(the_disk(), owner) : bflush(the_disk());
    if (error && world.failures_left == watch->failures)
        violated(0, "a flush fails, and no command has failed");
    if (!error && !(owner && write_keeps()))
        check_owed(t, "a flush");
    memset(t->owed, 0, sizeof t->owed);
}

static void drop(u64 block)
{
    binval(the_disk(), block);
    world.wanted[block] = world.disk[block];
    for (u32 i = 0; i < TASKS_MOST; i++)
        world.tasks[i].owed[block] = 0;
}

static void read_with_more(struct task *t, const struct op *op)
{
    u64 more[2] = {op->blocks[1], op->blocks[2]};
    struct further_reads further = {.asked = more, .nasked = op->n - 1};
    struct buf *b = breada(the_disk(), op->blocks[0], &further);
    check_bread(t, b, op->blocks[0]);
    if (!b)
        return;
    check_read(t, b);
    brelse(b);
}

static void read_if_cached(struct task *t, u64 block)
{
    enum found found;
    struct buf *b = bcached(the_disk(), block, &found);
    if (!b)
        return;
    check_read(t, b);
    brelse(b);
}

static void prefetch(const struct op *op)
{
    u64 blocks[3];
    for (u32 i = 0; i < op->n; i++)
        blocks[i] = op->blocks[i];
    bprefetch(the_disk(), blocks, op->n);
}

static void nap(u64 seconds)
{
    static struct spinlock lock = SPINLOCK("nap", RANK_PIPE);
    u64 until_ns = world.now_ns + seconds * NS_PER_S;
    HOLD(spin, &lock);
    while (sleep_until(&lock, &lock, until_ns) != -ETIMEDOUT)
        ;
}

/* Swap a policy. It must be refused if there is no memory for the new one. */
static void use(const char *kind_and_name)
{
    char line[POLICY_LINE_BYTES], why[POLICY_LINE_BYTES];
    u32 refused = world.refused;
    snprintf(line, sizeof line, "use %s", kind_and_name);
    *strchr(line, ':') = ' ';
    int error = policy_control(line, why);
    bool lacked = world.refused != refused;
    if (!error && !lacked)
        return;
    if (!error)
        violated(0, "%s: there was no memory, and nobody was told", line);
    if (lacked)
        return;
    watch->refused = true;
    violated(0, "%s: %s", line, why);
}

static void operate(struct task *t, const struct op *op)
{
    u32 first = op->blocks[0];
    struct buf *b;
    switch (op->what) {
    case 'R':
        if ((b = take(t, first, true)))
            brelse(b);
        break;
    case 'N':
        read_if_cached(t, first);
        break;
    case 'P':
        read_with_more(t, op);
        break;
    case 'D':
    case 'A':
    case 'W':
    case 'M':
    case 'J':
        if ((b = take(t, first, op->n > 1)))
            let_go(t, b, op->what + 'a' - 'A');
        break;
    case 'g':
        t->kept[first] = take(t, first, true);
        break;
    case 'r':
    case 'd':
    case 'a':
    case 'w':
    case 'm':
    case 'j':
        let_kept_go(t, first, op->what);
        break;
    case 'K':
        bunpin(the_disk());
        break;
    case 'F':
        flush(t, 0);
        break;
    case 'O':
        flush(t, first);
        break;
    case 'S':
        bflush_smooth(NULL, first * NS_PER_S);
        break;
    case 'X':
        drop(first);
        break;
    case 'U':
        bunwanted(the_disk(), first);
        break;
    case 'L':
        prefetch(op);
        break;
    case 'T':
        nap(first);
        break;
    case 'u':
        use(op->text + strlen("use:"));
        break;
    }
}

/* Between two operations the search may have others run. */
void program_run(void *)
{
    struct task *t = watch->running;
    while (watch->ops[t - world.tasks][t->at].what) {
        t->inside = true;
        t->failures_before = world.failures_left;
        operate(t, &watch->ops[t - world.tasks][t->at]);
        t->inside = false;
        t->failures_before = 0;
        t->at++;
        watch->leaves_kernel = true;
        spin_lock(&bcache.lock); /* a release of locks, where it stops */
        watch->pause_at = watch->releases + 1;
        spin_unlock(&bcache.lock);
    }
}

/* ---- reading a program ---- */

/* Read an operation's blocks, a digit for each. Returns as op_read. */
static const char *blocks_read(struct op *op, const char *digits)
{
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9' || op->n == 3)
            return "give one to three blocks, each a digit";
        if ((u32)(*digits - '0') >= watch->nblocks)
            return "the disk has no such block; see --blocks";
        op->blocks[op->n++] = *digits - '0';
    }
    return op->n ? NULL : "which block?";
}

/* Read an operation, one of those that the head of this file lists. Returns
 * what is wrong, or NULL. */
static const char *op_read(struct op *op, const char *word)
{
    *op = (struct op){.what = *word, .text = word};
    if (!strncmp(word, "use:", 4))
        return strchr(word + 4, ':') ? NULL : "give use:KIND:NAME";
    if (!strchr("RNPDAWMJgrdawmjKFOSXULT", *word))
        return "there is no such operation";
    if (strchr("KF", *word))
        return word[1] ? "this operation has no block" : NULL;
    if (!strchr("OST", *word))
        return blocks_read(op, word + 1);
    char *end;
    op->blocks[0] = strtoul(word + 1, &end, 10);
    if (*end || end == word + 1 || (!op->blocks[0] && *word != 'S'))
        return "give a number behind the letter";
    return NULL;
}

/* The blocks that a program holds: a bit for each. */
struct holding {
    u32 blocks, n, most;
};

static const char *hold_block(struct holding *h, const struct op *op)
{
    if (h->blocks >> op->blocks[0])
        return "a program takes blocks in rising order";
    if (h->n == BUFFERS_HELD)
        return "a program holds too many blocks";
    h->most = MAX(h->most, h->n + 1);
    if (op->what != 'g')
        return NULL;
    h->blocks |= 1U << op->blocks[0];
    h->n++;
    return NULL;
}

/* Follow which blocks a program holds: an operation with a capital letter, and
 * g, takes its block; one with a small letter needs a block that g has taken.
 * Returns what is wrong, or NULL. */
static const char *hold_check(struct holding *h, const struct op *op)
{
    if (strchr("RNPDAWMJg", op->what))
        return hold_block(h, op);
    if (strchr("FOSX", op->what) && h->n)
        return "let go of all blocks first";
    if (!strchr("rdawmj", op->what))
        return NULL;
    if (!(h->blocks & 1U << op->blocks[0]))
        return "the block has not been taken; see g";
    h->blocks &= ~(1U << op->blocks[0]);
    h->n--;
    return NULL;
}

/* After each program: check that pinned blocks leave enough buffers for all
 * programs so far, and that only bpin changes them, because a pinned buffer is
 * on no list of dirty buffers. Returns what is wrong, or NULL. */
static const char *room_check(const struct holding *h, const struct op *ops)
{
    static u32 pinned, changed, needed;
    needed += h->most;
    for (const struct op *op = ops; op->what; op++) {
        pinned |= strchr("Jj", op->what) ? 1U << op->blocks[0] : 0;
        changed |= strchr("DAWMdawm", op->what) ? 1U << op->blocks[0] : 0;
    }
    if (pinned & changed)
        return "a block that is pinned is changed by J and j only";
    u32 left = watch->nbuffers - __builtin_popcount(pinned);
    return pinned && (left > watch->nbuffers || left < needed)
               ? "too few buffers are left beside what is pinned"
               : NULL;
}

const char *program_read(u32 task, const char *text)
{
    static char words[TASKS_MOST][256];
    char *copy = words[task], *rest;
    struct holding h = {0};
    struct op *ops = watch->ops[task];
    u32 n = 0;
    snprintf(copy, sizeof words[0], "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        if (n == OPS_MOST)
            return "too many operations";
        const char *wrong = op_read(&ops[n], word) ?: hold_check(&h, &ops[n]);
        if (wrong)
            return wrong;
        n++;
    }
    if (h.n)
        return "a program lets go of all blocks at last";
    return n ? room_check(&h, ops) : "no operation";
}

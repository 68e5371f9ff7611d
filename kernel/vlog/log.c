/*
 * The virtual log: how the sectors of the map find each other (logical.h).
 *
 * The sectors of a log follow one another in time, but lie wherever a slot was
 * free when they were written. A sector cannot point to the next one, because
 * its slot is not known yet. So each points back. Say that the pieces 0 to 3
 * were written in this order, and the newest sector is the root:
 *
 *     [0] <-- [1] <-- [2] <-- [3] root
 *
 * Now piece 1 is written again. The old sector [1] is of no use any more, and
 * its slot shall be free; but the way to [0] leads through it. So the new
 * sector points to the last root, and also to what the old one pointed to:
 *
 *     [0]      x  <-- [2] <-- [3] <-- [1] root
 *      ^---------------------------------|
 *
 * The chain has become a tree. What still points to x does no harm, because a
 * pointer says which sector it means, by its number and its piece. These hold:
 *
 *  1. Each piece that was ever written has one sector that counts, its newest.
 *  2. From the root, pointers lead through sectors that count to each of them.
 *  3. A pointer leads to a sector with a lower number.
 *
 * A sector has few pointers, so a piece with many children cannot be written
 * again when it is not the root: it would have to point to all of them and to
 * the root. Then one of the children is written first, which takes it out of
 * the way (logical_due). That is rare, because each new root also takes over
 * children of the last one while it has pointers left.
 *
 * Recovery reads the root, whose slot is in the tail. Then it repeats this
 * step: of all sectors that a pointer named and that were not read yet, it
 * reads the one with the highest number. By 2 and 3 it comes to the sector of a
 * piece that counts before any older one of that piece, which it then leaves
 * out. So it reads each sector that counts once, and no other; if one is not
 * what the pointer says, the map is damaged.
 * Without a tail, the root is the sector of the log with the highest number on
 * all of the disk. If just that one was damaged after it was written, the state
 * before it is found: nothing tells it from a power cut before it.
 */
#include "kernel/vlog/internal.h"

#define MAGIC 0x676f4c6c61757472UL /* "rtualLog" */

/* ---- sectors ---- */

/* Return the checksum of all words of the sector after its first two. */
static u64 sum_of(const struct log_sector *s)
{
    const u64 *word = (const u64 *)s;
    u64 sum = MAGIC;
    for (u32 i = 2; i < sizeof *s / sizeof *word; i++)
        sum = (sum ^ word[i]) * 0x9e3779b97f4a7c15UL; /* 2^64 / golden ratio */
    return sum;
}

/* True if s is a whole sector of this log, in the slot where it was written. */
static bool sound(const struct log_sector *s, u64 id, u32 slot)
{
    return s->magic == MAGIC && s->id == id && s->slot == slot &&
           s->sum == sum_of(s);
}

/* Fill in what each sector of this log has: magic, id and, last, the
 * checksum. */
static void complete(const struct logical *l, struct log_sector *s)
{
    s->magic = MAGIC;
    s->id = l->id;
    s->sum = sum_of(s);
}

/* Return a pointer to the newest sector of this piece. */
static struct log_pointer pointer_to(const struct logical *l, u32 piece)
{
    return (struct log_pointer){l->pieces[piece].seq, l->pieces[piece].slot,
                                piece};
}

/* Take over the sizes in the label. Return NULL, or why it is not valid. */
const char *logical_open(struct logical *l, const struct log_sector *label)
{
    if (!sound(label, label->id, 0) || label->piece != LOG_LABEL)
        return "there is no label of a virtual log";
    logical_size(l, label->entry[1], label->entry[2]);
    if (!l->nblocks || l->nblocks != label->entry[0])
        return "the label of the virtual log makes no sense";
    l->id = label->id;
    return NULL;
}

/* Fill in the tail, which points to the root. It is written when the disk is
 * closed. */
void logical_tail(const struct logical *l, struct log_sector *s)
{
    *s = (struct log_sector){.piece = LOG_TAIL, .seq = l->seq};
    if (l->root != NO_PIECE)
        s->down[0] = pointer_to(l, l->root);
    complete(l, s);
}

/* ---- writing ---- */

/* True if a new sector of the piece must point to the root. */
static bool below_root(const struct logical *l, u32 piece)
{
    return l->root != NO_PIECE && l->root != piece;
}

/* Return the piece to be written first: this one, or a descendant while it has
 * more children than a sector has pointers. */
u32 logical_due(const struct logical *l, u32 piece)
{
    while (l->pieces[piece].nchildren + below_root(l, piece) > LOG_POINTERS) {
        const struct log_piece *least = NULL;
        LIST_EACH (n, &l->pieces[piece].children) {
            struct log_piece *child = LIST_ITEM(n, struct log_piece, sibling);
            if (!least || child->nchildren < least->nchildren)
                least = child;
        }
        piece = least - l->pieces;
    }
    return piece;
}

/* Point to the children of `parent`, but not to `except`, while there are
 * pointers left. */
static void point_to_children(const struct logical *l, struct log_sector *s,
                              u32 parent, u32 *n)
{
    LIST_EACH (at, &l->pieces[parent].children) {
        u32 child = LIST_ITEM(at, struct log_piece, sibling) - l->pieces;
        if (child != s->piece && *n < LOG_POINTERS)
            s->down[(*n)++] = pointer_to(l, child);
    }
}

/* Give the sector its slot, number and pointers; false if the slot is not free.
 * Afterwards it is ready to be written. */
bool logical_seal(struct logical *l, u32 slot)
{
    struct log_sector *s = &l->sector;
    u32 n = 0;
    if (!slot_use(l, slot))
        return false;
    s->slot = slot;
    s->seq = ++l->seq;
    if (below_root(l, s->piece))
        s->down[n++] = pointer_to(l, l->root);
    point_to_children(l, s, s->piece, &n);
    if (below_root(l, s->piece))
        point_to_children(l, s, l->root, &n);
    complete(l, s);
    return true;
}

/* Put a piece below another one in the tree; NO_PIECE: it is the root. */
static void move_below(struct logical *l, u32 piece, u32 parent)
{
    struct log_piece *p = &l->pieces[piece];
    if (p->parent)
        p->parent->nchildren--;
    if (list_on(&p->sibling))
        list_remove(&p->sibling);
    p->parent = parent == NO_PIECE ? NULL : &l->pieces[parent];
    if (!p->parent)
        return;
    list_push_back(&p->parent->children, &p->sibling);
    p->parent->nchildren++;
}

/* The sector is on the disk: it counts and is the root, and the slot of the
 * piece's last one is free. */
void logical_commit(struct logical *l)
{
    const struct log_sector *s = &l->sector;
    struct log_piece *p = &l->pieces[s->piece];
    map_commit(l, s);
    if (p->seq)
        logical_give_back(l, p->slot);
    p->seq = s->seq;
    p->slot = s->slot;
    l->owner[p->slot] = 1 + logical_numbers(l) + s->piece;
    for (u32 i = 0; i < LOG_POINTERS && s->down[i].seq; i++)
        move_below(l, s->down[i].piece, s->piece);
    move_below(l, s->piece, NO_PIECE);
    l->root = s->piece;
}

/* ---- recovery ---- */

/* Reading a disk: its caller's function, and the sectors of the map that are
 * known but not read yet, by number. */
struct recovery {
    struct logical *log;
    sector_read *read;
    void *arg;
    struct tree due;
};

/* Read the sector at the start of this slot. True if that succeeds. */
static bool read_slot(const struct recovery *r, u32 slot)
{
    return r->read(r->arg, slot * SLOT_SECTORS, &r->log->sector) == 0;
}

/* A sector that was read points to `to`. If the piece of `to` has been read
 * already, `to` is an older sector of it. If the piece has not been read, all
 * pointers to it are equal (3). */
static bool note(struct recovery *r, struct log_pointer to, u32 from)
{
    struct logical *l = r->log;
    if (to.piece >= l->npieces || to.slot >= l->nslots)
        return false;
    struct log_piece *p = &l->pieces[to.piece];
    if (p->seq)
        return p->read || p->seq == to.seq;
    p->seq = to.seq;
    p->slot = to.slot;
    move_below(l, to.piece, from);
    tree_insert(&r->due, &p->by_seq, to.seq);
    return true;
}

/* Read the sector of a piece: it must be the sector that was pointed to. */
static bool read_piece(struct recovery *r, struct log_piece *p)
{
    struct logical *l = r->log;
    const struct log_sector *s = &l->sector;
    u32 piece = p - l->pieces;
    if (!read_slot(r, p->slot) || !sound(s, l->id, p->slot) ||
        s->piece != piece || s->seq != p->seq)
        return false;
    p->read = true;
    map_become(l, s);
    for (u32 i = 0; i < LOG_POINTERS && s->down[i].seq; i++)
        if (!note(r, s->down[i], piece))
            return false;
    return true;
}

/* Come from the root to all sectors that count. */
static bool walk(struct recovery *r, struct log_pointer root)
{
    struct logical *l = r->log;
    logical_start(l, l->pieces);
    r->due = (struct tree){0};
    if (root.seq && !note(r, root, NO_PIECE))
        return false;
    l->root = root.seq ? root.piece : NO_PIECE;
    l->seq = root.seq;
    for (struct tree_node *n; (n = tree_before(&r->due, UINT64_MAX));) {
        tree_remove(&r->due, n);
        if (!read_piece(r, TREE_ITEM(n, struct log_piece, by_seq)))
            return false;
    }
    return true;
}

/* Find the sector of the map with the highest number on the disk. False: some
 * slot cannot be read, which may hold it. */
static bool find_root(const struct recovery *r, struct log_pointer *root)
{
    const struct log_sector *s = &r->log->sector;
    *root = (struct log_pointer){0};
    for (u32 slot = 1; slot < r->log->nslots; slot++) {
        if (!read_slot(r, slot))
            return false;
        if (sound(s, r->log->id, slot) && s->seq > root->seq)
            *root = (struct log_pointer){s->seq, slot, s->piece};
    }
    return true;
}

/* Take a slot for the block or piece that it holds. */
static bool claim_slot(struct logical *l, u32 slot, u32 owner)
{
    if (!slot_use(l, slot))
        return false;
    l->owner[slot] = owner;
    return true;
}

/* Count the slots that the map uses. No two of its entries share one. */
static bool use_all(struct logical *l)
{
    u32 numbers = logical_numbers(l);
    for (u32 i = 0; i < l->npieces; i++)
        if (l->pieces[i].seq &&
            !claim_slot(l, l->pieces[i].slot, 1 + numbers + i))
            return false;
    for (u32 i = 0; i < numbers; i++)
        if (l->map[i] && !claim_slot(l, l->map[i], 1 + i))
            return false;
    return true;
}

/* Find all sectors that count, and make the map from them. Return NULL, or what
 * is wrong. *scanned: there was no tail, so all slots were read. */
const char *logical_recover(struct logical *l, sector_read *read, void *arg,
                            bool *scanned)
{
    struct recovery r = {.log = l, .read = read, .arg = arg};
    const struct log_sector *s = &l->sector;
    *scanned = read(arg, TAIL_SECTOR, &l->sector) || !sound(s, l->id, 0) ||
               s->piece != LOG_TAIL;
    struct log_pointer root = s->down[0];
    if (*scanned && !find_root(&r, &root))
        return "a place that may hold the newest of the map cannot be read";
    if (!walk(&r, root))
        return "a sector of the map is damaged";
    l->nsummarized = l->npieces - l->nmap; /* all may be needed */
    return use_all(l) ? NULL : "the map has two blocks in one place";
}

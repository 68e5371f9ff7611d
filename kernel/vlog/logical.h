/*
 * The logical disk: where each block lives, and how the disk remembers that by
 * itself. After Wang, Anderson and Patterson, "Virtual Log Based File Systems
 * for a Programmable Disk" (OSDI 1999).
 *
 * A file system numbers the blocks of its disk: these are logical blocks. A
 * disk that updates in place keeps block n in place n. Here a block that is
 * written goes to any slot that is free, such as the one that the head reaches
 * first, and a map says where each block is:
 *
 *     logical block   0   1   2   3        the map's piece 0, in place 8
 *     slot            5   2   0   7        (0: block 2 was never written)
 *
 *     slot     0       1   2   3   4   5   6   7   8   9
 *            label,       [1]         [0]     [3] map        ... free
 *            tail                             piece 0
 *
 * - A slot is never written over while its data count. A write of block
 *   3 goes to a free slot, say 4. Then the piece of the map that has block 3
 *   is written to another free slot, say 6. Only when that is on the disk the
 *   write is done, and slots 7 and 8 are free. So a power cut at any instant
 *   leaves the old contents of a block or the new, and nothing that was done is
 *   lost.
 * - A piece of the map is one sector, which a drive writes whole or not at all.
 * - The pieces find each other, wherever they are: log.c tells how.
 * - A disk may also have *summaries*, if it writes many blocks at a time to
 *   slots that follow one another. Those blocks may belong to as many pieces.
 *   A summary is one sector that tells of all of them. It is valid until the
 *   pieces have been written, too. They are written when all summaries are in
 *   use.
 *
 * This room owns the map and the set of free slots, and their format on the
 * disk. It chooses no slot: its caller does, by a policy, and learns if the
 * choice is wrong. It reads and writes no disk: it makes sectors, and its
 * caller reports when they are written. It compiles natively, too. The caller
 * has a lock.
 *
 * A write, as the caller makes it:
 *
 *     logical_take(l, slot)                for the data; write them there
 *     logical_due(l, piece)                while it is another piece than the
 *                                          block's, write that one, as it is
 *     logical_begin(l, piece)              the sector, as it is
 *     logical_enter(l, block, slot)        for each new slot in this piece
 *     logical_seal(l, map_slot)            take a slot; write l->sector there
 *     logical_commit(l)                    it is written
 *
 * For a summary the piece is logical_summary's, or one to be written before,
 * and logical_summarize stands for logical_begin.
 */
#pragma once

#include "kernel/base/list.h"
#include "kernel/base/tree.h"

#define SLOT_SECTORS 8UL /* a block is as large: 4 KiB */
#define LABEL_SECTOR 0   /* in slot 0; written once, when the log is made */
#define TAIL_SECTOR  1   /* in slot 0; where the log ends, when power is off */
#define LOG_POINTERS 4
#define LOG_ENTRIES  102 /* blocks whose slots a sector of the map holds */
#define LOG_RUN      (LOG_ENTRIES - 1) /* most blocks in a summary */

/* Points to the sector of a piece of the map. */
struct log_pointer {
    u64 seq; /* of that sector; 0: this points nowhere */
    u32 slot, piece;
};

/* A sector of the log. It says itself which it is, so that it can be told from
 * data. */
struct log_sector {
    u64 magic, sum; /* sum: of all that follows */
    u64 id;         /* of this log; another disk has another */
    u64 seq;        /* sectors are numbered as they are written, from 1 */
    u32 slot;       /* where it was written */
    u32 piece;      /* of the map, or LOG_LABEL or LOG_TAIL */
    struct log_pointer down[LOG_POINTERS];
    /* Of the map: slots, 0: never written. Of a summary: the first slot, and
     * for each from there on 1 + the block in it, or 0. */
    u32 entry[LOG_ENTRIES];
};
#define LOG_LABEL (~0U)      /* entry: how many blocks, slots, summaries */
#define LOG_TAIL  (~0U - 1U) /* down[0]: the sector written last */
_Static_assert(sizeof(struct log_sector) == 512, "a sector");

/* A piece of the map, or a summary. */
struct log_piece {
    u64 seq;   /* of its sector; 0: never written, so no block of it was */
    u32 slot;  /* where that is */
    bool read; /* by recovery */
    bool owed; /* a summary tells of a block that its own sector does not */
    /* The tree that leads to all sectors (log.c). */
    u32 nchildren; /* pieces to whose sectors its own is the way */
    struct list children, sibling;
    struct log_piece *parent; /* NULL: the root, or not in the tree */
    struct tree_node by_seq;  /* recovery's, until it has read the sector */
};
#define NO_PIECE (~0U)

struct logical {
    u64 id;
    u32 nblocks, nslots; /* nslots counts slot 0, too */
    u32 nmap, npieces;   /* pieces of the map; with the summaries */
    u32 nsummarized;     /* summaries used since no piece was owed */
    u32 nfree;
    u32 root;   /* the piece written last, or NO_PIECE */
    u64 seq;    /* the last number given to a sector */
    u32 *map;   /* the slot of each block; 0: never written, so it is zeros;
                   behind these, the entries of the summaries */
    u32 *owner; /* what each slot holds that counts (logical_owner) */
    u64 *used;  /* a bit for each slot */
    struct log_piece *pieces;
    struct log_sector sector; /* the one being made or written, or read */
};

/* Sizes of a log on so many slots: it holds as many blocks as leave room for
 * the map, the summaries and for writing. The host makes the log: slot 0 with
 * its label and no tail, and whatever it has put into the blocks. */
void logical_size(struct logical *, u32 nslots, u32 nsummaries);

/* Take the sizes from a label. Return NULL, or why it is no label. */
const char *logical_open(struct logical *, const struct log_sector *label);

/* logical_bytes: return how many bytes map, used and pieces need.
 * logical_start: put them into a memory of that size, all zero: a log in which
 * no block was ever written. */
u64 logical_bytes(const struct logical *);
void logical_start(struct logical *, void *memory);

/* Read a sector, 512 bytes. Return 0 or -EIO. */
typedef int sector_read(void *arg, u64 sector, void *to);

/* After logical_open and logical_start: find the map on the disk. NULL, or why
 * that cannot be. Nothing is written: the caller clears TAIL_SECTOR, with
 * zeros, before it writes anything else. *scanned: there was no tail. */
const char *logical_recover(struct logical *, sector_read *, void *arg,
                            bool *scanned);

/* Make the sector that says where the log ends, for TAIL_SECTOR, when all is
 * written and nothing more will be. */
void logical_tail(const struct logical *, struct log_sector *);

/* Return the piece of the map that has this block. */
static inline u32 logical_piece(u32 block)
{
    return block / LOG_ENTRIES;
}

/* True if the slot exists and is free. There are 64 slots to a word. */
static inline bool logical_free(const struct logical *l, u32 slot)
{
    return slot < l->nslots && !(l->used[slot / 64] >> slot % 64 & 1);
}

/* The first free slot in [from, end), or 0. */
u32 logical_free_from(const struct logical *, u32 from, u32 end);

/* Return how many blocks there would be if all pieces of the map were full. */
static inline u32 logical_numbers(const struct logical *l)
{
    return l->nmap * LOG_ENTRIES;
}

/* Return the owner of a slot: 0 if it has none; 1 + a block's number; or 1 +
 * logical_numbers + a piece's number. */
static inline u32 logical_owner(const struct logical *l, u32 slot)
{
    return l->owner[slot];
}

/* True if a slot may be taken for data. The last ones are kept for the map. */
static inline bool logical_room(const struct logical *l)
{
    return l->nfree > 1;
}

/* Take a free slot for data. False: it is not free, or there is no room. */
bool logical_take(struct logical *, u32 slot);

/* Free a slot that no sector of the map says anything of. */
void logical_give_back(struct logical *, u32 slot);

/* The piece that is to be written before this one can be, unchanged, or this
 * one itself: a sector has only LOG_POINTERS. */
u32 logical_due(const struct logical *, u32 piece);

/* The next summary, or a piece that is to be written before, unchanged, because
 * it is owed and no summary is left. The log has summaries. */
u32 logical_summary(struct logical *);

/* Make l->sector of a piece, as it is, or of a new summary of up to LOG_RUN
 * slots from this one on; change it; complete it, to be written to a free
 * slot: false, if that is not free. */
void logical_begin(struct logical *, u32 piece);
void logical_summarize(struct logical *, u32 summary, u32 first_slot);
void logical_enter(struct logical *, u32 block, u32 slot);
bool logical_seal(struct logical *, u32 slot);

/* Take over a sector that is on the disk: the map is as the sector says, and
 * the slots that it replaced are free. If the sector could not be written, all
 * is as before; but its slot and the slots of the data that it leads to stay
 * taken, because it may be on the disk after all. */
void logical_commit(struct logical *);

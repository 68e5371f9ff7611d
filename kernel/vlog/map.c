/*
 * The map and the free slots (logical.h).
 *
 * Each slot is one of these:
 *
 *     free ---- logical_take ----> taken ---- logical_commit ----> counts
 *      ^ ^                           |                                |
 *      | +---- logical_give_back ----+                                |
 *      +------- logical_commit of the piece that replaces it ---------+
 *
 * and a slot for a sector of the map is taken by logical_seal. These slots
 * count: the label's, those of blocks by the map on the disk, and those of the
 * map's sectors. They are no more than one for each block, piece and summary,
 * and one for the label. As there are SPARE slots more, a slot is always free
 * for the next piece. When it is written, the slots that it replaces are free.
 */
#include "kernel/vlog/internal.h"

#define SPARE 4 /* slots: two for a write, two that may fail */

/* Divide nslots among blocks, the map and what is kept: a slot for the label,
 * one for each summary, and SPARE. A sector of the map has LOG_ENTRIES blocks.
 * In npieces, summaries count as pieces, too. */
void logical_size(struct logical *l, u32 nslots, u32 nsummaries)
{
    u64 kept = 1UL + SPARE + nsummaries;
    u64 room = nslots > kept ? nslots - kept : 0;
    l->nslots = nslots;
    l->nblocks = room * LOG_ENTRIES / (LOG_ENTRIES + 1);
    l->nmap = (l->nblocks + LOG_ENTRIES - 1) / LOG_ENTRIES;
    l->npieces = l->nmap + nsummaries;
}

/* Return the bytes of memory for: each piece with its part of the map, a bit
 * for each slot that is in use, and the owner of each slot. */
u64 logical_bytes(const struct logical *l)
{
    return l->npieces * (sizeof *l->pieces + LOG_ENTRIES * sizeof *l->map) +
           (l->nslots / 64 + 1) * sizeof *l->used +
           l->nslots * sizeof *l->owner;
}

/* Lay the tables out in this memory, of logical_bytes: no block is written, and
 * all slots are free but that of the label. */
void logical_start(struct logical *l, void *memory)
{
    l->pieces = memory;
    l->used = (u64 *)(l->pieces + l->npieces);
    l->map = (u32 *)(l->used + l->nslots / 64 + 1);
    l->owner = l->map + l->npieces * LOG_ENTRIES;
    memset(memory, 0, logical_bytes(l));
    for (u32 i = 0; i < l->npieces; i++)
        list_init(&l->pieces[i].children);
    l->root = NO_PIECE;
    l->seq = 0;
    l->nfree = l->nslots;
    slot_use(l, 0);
}

/* Mark a slot as used; false if it was not free. */
bool slot_use(struct logical *l, u32 slot)
{
    if (!logical_free(l, slot))
        return false;
    l->used[slot / 64] |= 1UL << slot % 64;
    l->nfree--;
    return true;
}

/* Free a slot that holds nothing that counts. */
void logical_give_back(struct logical *l, u32 slot)
{
    l->used[slot / 64] &= ~(1UL << slot % 64);
    l->owner[slot] = 0;
    l->nfree++;
}

/* Return the first free slot from `from` and before `end`, or 0. A word of 64
 * used slots is passed over at once. */
u32 logical_free_from(const struct logical *l, u32 from, u32 end)
{
    for (end = MIN(end, l->nslots); from < end; from++) {
        if (from % 64 == 0 && l->used[from / 64] == ~0UL)
            from += 63;
        else if (logical_free(l, from))
            return from;
    }
    return 0;
}

/* Take a slot for data; false if it is not free, or if too few would be
 * left. */
bool logical_take(struct logical *l, u32 slot)
{
    return logical_room(l) && slot_use(l, slot);
}

/* ---- changing the map ---- */

/* Begin a new sector of this piece, as the map has it now. A summary leaves out
 * blocks that have moved since. */
void logical_begin(struct logical *l, u32 piece)
{
    l->sector = (struct log_sector){.piece = piece};
    memcpy(l->sector.entry, &l->map[piece * LOG_ENTRIES],
           sizeof l->sector.entry);
    u32 *entry = l->sector.entry;
    for (u32 i = 1; i < LOG_ENTRIES && piece >= l->nmap; i++)
        if (entry[i] && l->map[entry[i] - 1] != entry[0] + i - 1)
            entry[i] = 0; /* the block is elsewhere now */
}

/* Begin a sector that tells of a run of slots from this one. */
void logical_summarize(struct logical *l, u32 summary, u32 first_slot)
{
    l->sector = (struct log_sector){.piece = summary, .entry = {first_slot}};
}

/* Enter in the sector that the slot holds this block. */
void logical_enter(struct logical *l, u32 block, u32 slot)
{
    struct log_sector *s = &l->sector;
    if (s->piece < l->nmap)
        s->entry[block % LOG_ENTRIES] = slot;
    else
        s->entry[1 + slot - s->entry[0]] = 1 + block;
}

/* Note that the block is in this slot from now on; its old slot is free. */
static bool move_block(struct logical *l, u32 block, u32 slot)
{
    u32 old = l->map[block];
    if (old == slot)
        return false;
    if (old)
        logical_give_back(l, old);
    l->map[block] = slot;
    l->owner[slot] = 1 + block;
    return true;
}

/* A sector of the map says where each of its blocks is. A summary says which
 * blocks lie in a row from the slot entry[0] on. If such a block has moved, the
 * map's sector that has the block is owed from then on. */
void map_commit(struct logical *l, const struct log_sector *s)
{
    bool of_map = s->piece < l->nmap;
    for (u32 i = 0; i < LOG_ENTRIES && of_map; i++)
        move_block(l, s->piece * LOG_ENTRIES + i, s->entry[i]);
    for (u32 i = 1; i < LOG_ENTRIES && !of_map; i++) {
        u32 block = s->entry[i] - 1;
        if (s->entry[i] && move_block(l, block, s->entry[0] + i - 1))
            l->pieces[logical_piece(block)].owed = true;
    }
    l->pieces[s->piece].owed = false;
    if (s->piece == l->nmap + l->nsummarized)
        l->nsummarized++;
    map_become(l, s);
}

/* Recovery reads the younger sectors first. So what a summary says of a block
 * is true if no sector has told of it yet; then the block's piece, which is
 * read later, is older. */
void map_become(struct logical *l, const struct log_sector *s)
{
    u32 *entry = &l->map[s->piece * LOG_ENTRIES];
    bool of_map = s->piece < l->nmap, owed = l->pieces[s->piece].owed;
    for (u32 i = 0; i < LOG_ENTRIES; i++)
        if (!owed || !entry[i])
            entry[i] = s->entry[i];
    for (u32 i = 1; i < LOG_ENTRIES && !of_map; i++) {
        u32 block = s->entry[i] - 1;
        if (block >= logical_numbers(l) || l->map[block])
            continue;
        l->map[block] = s->entry[0] + i - 1;
        l->pieces[logical_piece(block)].owed = true;
    }
}

/* ---- summaries ---- */

/* Return a summary that may be used anew. If all are in use, return a piece
 * that must be written first. */
u32 logical_summary(struct logical *l)
{
    for (u32 i = 0; i < l->nmap && l->nmap + l->nsummarized == l->npieces; i++)
        if (l->pieces[i].owed)
            return i;
    if (l->nmap + l->nsummarized == l->npieces)
        l->nsummarized = 0;
    return l->nmap + l->nsummarized;
}

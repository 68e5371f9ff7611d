/*
 * The map and the free places (logical.h).
 *
 * Each place is one of these:
 *
 *     free ---- logical_take ----> taken ---- logical_commit ----> counts
 *      ^ ^                           |                                |
 *      | +---- logical_give_back ----+                                |
 *      +------- logical_commit of the piece that replaces it ---------+
 *
 * and a place for a sector of the map is taken by logical_seal. What counts is
 * the label, what the map on the disk says, and its sectors: no more places
 * than there are blocks, pieces, and the one of the label. So with some to
 * spare, which SPARE is, there is always a free one for the next piece; and by
 * writing that, the places that it replaces become free.
 */
#include "kernel/logical/inside.h"

#define SPARE 4 /* places: two for a write, two that may fail */

void logical_size(struct logical *l, u32 nplaces)
{
    u64 room = nplaces > 1 + SPARE ? nplaces - 1 - SPARE : 0;
    l->nplaces = nplaces;
    l->nblocks = room * LOG_ENTRIES / (LOG_ENTRIES + 1);
    l->npieces = (l->nblocks + LOG_ENTRIES - 1) / LOG_ENTRIES;
}

u64 logical_bytes(const struct logical *l)
{
    return l->npieces * (sizeof *l->pieces + LOG_ENTRIES * sizeof *l->map) +
           (l->nplaces / 64 + 1) * sizeof *l->used;
}

void logical_start(struct logical *l, void *memory)
{
    l->pieces = memory;
    l->used = (u64 *)(l->pieces + l->npieces);
    l->map = (u32 *)(l->used + l->nplaces / 64 + 1);
    memset(memory, 0, logical_bytes(l));
    for (u32 i = 0; i < l->npieces; i++)
        list_init(&l->pieces[i].children);
    l->root = NO_PIECE;
    l->seq = 0;
    l->nfree = l->nplaces;
    place_use(l, 0);
}

bool place_use(struct logical *l, u32 place)
{
    if (!logical_free(l, place))
        return false;
    l->used[place / 64] |= 1UL << place % 64;
    l->nfree--;
    return true;
}

void logical_give_back(struct logical *l, u32 place)
{
    l->used[place / 64] &= ~(1UL << place % 64);
    l->nfree++;
}

u32 logical_free_from(const struct logical *l, u32 from, u32 end)
{
    for (end = MIN(end, l->nplaces); from < end; from++) {
        if (from % 64 == 0 && l->used[from / 64] == ~0UL)
            from += 63;
        else if (logical_free(l, from))
            return from;
    }
    return 0;
}

bool logical_take(struct logical *l, u32 place)
{
    return logical_room(l) && place_use(l, place);
}

/* ---- changing the map ---- */

void logical_begin(struct logical *l, u32 piece)
{
    l->sector = (struct log_sector){.piece = piece};
    memcpy(l->sector.entry, &l->map[piece * LOG_ENTRIES],
           sizeof l->sector.entry);
}

void logical_enter(struct logical *l, u32 block, u32 place)
{
    l->sector.entry[block % LOG_ENTRIES] = place;
}

void map_become(struct logical *l, const struct log_sector *s)
{
    u32 *entry = &l->map[s->piece * LOG_ENTRIES];
    for (u32 i = 0; i < LOG_ENTRIES; i++) {
        if (entry[i] && entry[i] != s->entry[i])
            logical_give_back(l, entry[i]);
        entry[i] = s->entry[i];
    }
}

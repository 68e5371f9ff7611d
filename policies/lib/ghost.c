/*
 * Ghosts (ghost.h): names of blocks, the oldest first.
 *
 * - A hash finds a name. It has as many buckets as there may be names, so the
 *   names of one bucket, a chain, are one or two.
 * - The room has the entries and then the buckets. Entries that were never used
 *   are not touched.
 */
#include "policies/lib/ghost.h"

/* Return disk and block as one number: the disk is in the highest 8 bits. */
static u64 name_of(u32 disk, u64 blkno)
{
    return (u64)disk << 56 ^ blkno;
}

/* Multiplicative hashing (Knuth, volume 3, section 6.4): the upper half of the
 * product is a share of 2^32, and the bucket is this share of all buckets. */
static struct ghost **bucket_of(const struct ghosts *g, u64 name)
{
    u64 share = name * 0x9e3779b97f4a7c15UL >> 32;
    return &g->bucket[share * g->most >> 32];
}

/* Return the ghost of that name, or NULL. */
static struct ghost *find(const struct ghosts *g, u64 name)
{
    struct ghost *ghost = *bucket_of(g, name);
    while (ghost && ghost->name != name)
        ghost = ghost->next;
    return ghost;
}

/* Take a ghost out of its bucket and out of the order of age; its entry becomes
 * spare. */
static void forget(struct ghosts *g, struct ghost *ghost)
{
    struct ghost **at = bucket_of(g, ghost->name);
    while (*at != ghost)
        at = &(*at)->next;
    *at = ghost->next;
    list_remove(&ghost->aged);
    list_push_back(&g->spare, &ghost->aged);
    g->n--;
}

/* Return an entry that was given back, else one that was never used. */
static struct ghost *spare(struct ghosts *g)
{
    struct list *n = list_pop_front(&g->spare);
    return n ? LIST_ITEM(n, struct ghost, aged) : &g->entry[g->used++];
}

/* Begin an empty list in `room`: first the entries, then the buckets. Returns
 * the end. */
void *ghosts_init(struct ghosts *g, void *room, u64 most)
{
    struct ghost *entry = room;
    *g = (struct ghosts){
        .entry = entry, .bucket = (void *)(entry + most), .most = most};
    list_init(&g->oldest_first);
    list_init(&g->spare);
    for (u64 i = 0; i < most; i++)
        g->bucket[i] = NULL;
    return g->bucket + most;
}

/* Forget the oldest names until at most n are left. */
void ghosts_shrink(struct ghosts *g, u64 n)
{
    while (g->n > n)
        forget(g, ghosts_oldest(g));
}

struct ghost *ghosts_oldest(const struct ghosts *g)
{
    struct list *n = list_first(&g->oldest_first);
    return n ? LIST_ITEM(n, struct ghost, aged) : NULL;
}

/* Make a block's name the youngest; without room for it the oldest is
 * forgotten. */
struct ghost *ghosts_remember(struct ghosts *g, u32 disk, u64 blkno)
{
    ghosts_forget(g, disk, blkno);
    ghosts_shrink(g, g->most - 1);
    struct ghost *ghost = spare(g);
    u64 name = name_of(disk, blkno);
    struct ghost **first = bucket_of(g, name);
    *ghost = (struct ghost){.next = *first, .name = name};
    *first = ghost;
    list_push_back(&g->oldest_first, &ghost->aged);
    g->n++;
    return ghost;
}

struct ghost *ghosts_find(const struct ghosts *g, u32 disk, u64 blkno)
{
    return find(g, name_of(disk, blkno));
}

/* Forget a block's name. False: there was none. */
bool ghosts_forget(struct ghosts *g, u32 disk, u64 blkno)
{
    struct ghost *ghost = find(g, name_of(disk, blkno));
    if (ghost)
        forget(g, ghost);
    return ghost;
}

bool ghosts_have(const struct ghosts *g, u32 disk, u64 blkno)
{
    return find(g, name_of(disk, blkno));
}

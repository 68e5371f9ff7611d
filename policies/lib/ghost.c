/*
 * Ghosts (ghost.h): names of blocks, the oldest first. Two orders, by name and
 * by age, lie over the array that the policy gave. The part of the array that
 * was never used is not touched.
 */
#include "policies/lib/ghost.h"

static u64 name_of(u32 disk, u64 blkno)
{
    return (u64)disk << 56 ^ blkno;
}

static struct ghost *find(const struct ghosts *g, u64 name)
{
    struct tree_node *n = tree_at_or_after(&g->names, name);
    return n && n->key == name ? TREE_ITEM(n, struct ghost, named) : NULL;
}

static void forget(struct ghosts *g, struct ghost *ghost)
{
    tree_remove(&g->names, &ghost->named);
    list_remove(&ghost->aged);
    list_push_back(&g->spare, &ghost->aged);
    g->n--;
}

static struct ghost *spare(struct ghosts *g)
{
    struct list *n = list_pop_front(&g->spare);
    return n ? LIST_ITEM(n, struct ghost, aged) : &g->room[g->used++];
}

struct ghost *ghosts_init(struct ghosts *g, struct ghost *room, u64 most)
{
    *g = (struct ghosts){.room = room, .most = most};
    list_init(&g->oldest_first);
    list_init(&g->spare);
    return room + most;
}

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

struct ghost *ghosts_remember(struct ghosts *g, u32 disk, u64 blkno)
{
    ghosts_forget(g, disk, blkno);
    ghosts_shrink(g, g->most - 1);
    struct ghost *ghost = spare(g);
    tree_insert(&g->names, &ghost->named, name_of(disk, blkno));
    list_push_back(&g->oldest_first, &ghost->aged);
    ghost->word = 0;
    g->n++;
    return ghost;
}

struct ghost *ghosts_find(const struct ghosts *g, u32 disk, u64 blkno)
{
    return find(g, name_of(disk, blkno));
}

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

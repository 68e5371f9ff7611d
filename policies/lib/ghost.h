/*
 * Ghost entries: the names (disk and number) of blocks that a policy remembers
 * without their data, the oldest first. The lock that the kernel holds while it
 * calls the policy's hooks guards the list.
 */
#ifndef SLUICE_LIB_GHOST_H
#define SLUICE_LIB_GHOST_H

#include "kernel/policy/common.h"

/* A ghost entry. */
struct ghost {
    struct ghost *next; /* in its bucket */
    u64 name;
    struct list aged;
    u64 word; /* the policy's; 0 at first */
};

struct ghosts {
    u64 n;               /* names remembered now */
    struct ghost *entry; /* this and all below belongs to ghost.c */
    u64 most, used;      /* names that fit; of those, ever used */
    struct ghost **bucket;
    struct list oldest_first, spare;
};

/* The room, in bytes, for this many names. */
#define GHOSTS_BYTES(most) \
    ((most) * (sizeof(struct ghost) + sizeof(struct ghost *)))

/* Make an empty list of up to `most` names, which is at least 1. The room is
 * the policy's, as in its struct policy_memory. Returns the end of what the
 * list takes of it, where the room of another list may begin. */
void *ghosts_init(struct ghosts *, void *room, u64 most);

/* Make a name the youngest, whether it is there or not. If there is no room,
 * the oldest name is forgotten. This and the next three take O(1), by a hash.
 */
struct ghost *ghosts_remember(struct ghosts *, u32 disk, u64 blkno);

/* The name, or NULL. */
struct ghost *ghosts_find(const struct ghosts *, u32 disk, u64 blkno);

/* True if the block has a ghost entry. ghosts_forget also removes it. */
bool ghosts_have(const struct ghosts *, u32 disk, u64 blkno);
bool ghosts_forget(struct ghosts *, u32 disk, u64 blkno);

/* The oldest name, or NULL. */
struct ghost *ghosts_oldest(const struct ghosts *);

/* Forget the oldest names until no more than n are left. */
void ghosts_shrink(struct ghosts *, u64 n);

#endif

/*
 * Intrusive ordered sets: a treap, a binary search tree by (key, insertion)
 * that is also a heap by a priority drawn from a mixed counter, so its depth
 * is logarithmic whatever the order of insertion. Equal keys are kept in the
 * order they came. Seidel and Aragon, "Randomized search trees", 1996. Callers
 * lock; no function allocates.
 */
#pragma once

#include "kernel/base/types.h"

struct tree_node {
    struct tree_node *up, *left, *right;
    u64 key;
    u64 priority;
};

struct tree {
    struct tree_node *root;
    u64 inserted; /* source of priorities */
};

#define TREE_ITEM(node, type, member) CONTAINER(node, type, member)

/* The last node with a key < the given one, and the first with one >= it. */
struct tree_gap_ {
    struct tree_node *before, *after;
};

/* Return the last node below the key and the first at or above it. */
static inline struct tree_gap_ tree_gap_(const struct tree *t, u64 key)
{
    struct tree_gap_ gap = {NULL, NULL};
    for (struct tree_node *n = t->root; n;) {
        if (n->key < key) {
            gap.before = n;
            n = n->right;
        } else {
            gap.after = n;
            n = n->left;
        }
    }
    return gap;
}

/* Return the first node with a key >= the given one, or NULL. */
static inline struct tree_node *tree_at_or_after(const struct tree *t, u64 key)
{
    return tree_gap_(t, key).after;
}

/* Return the last node with a key < the given one, or NULL. */
static inline struct tree_node *tree_before(const struct tree *t, u64 key)
{
    return tree_gap_(t, key).before;
}

/* Return the node after n, or NULL. */
static inline struct tree_node *tree_next(struct tree_node *n)
{
    if (n->right) {
        for (n = n->right; n->left;)
            n = n->left;
        return n;
    }
    while (n->up && n->up->right == n)
        n = n->up;
    return n->up;
}

/* Put `to`, which may be NULL, below `up` (NULL: at the root) in the place
 * where n is. */
static inline void tree_replace_(struct tree *t, struct tree_node *up,
                                 struct tree_node *n, struct tree_node *to)
{
    if (to)
        to->up = up;
    if (!up)
        t->root = to;
    else if (up->left == n)
        up->left = to;
    else
        up->right = to;
}

/* Turn n and its parent about, so that n is the upper one. */
static inline void tree_rotate_up_(struct tree *t, struct tree_node *n)
{
    struct tree_node *p = n->up, *moved;
    tree_replace_(t, p->up, p, n);
    if (p->left == n) {
        moved = p->left = n->right;
        n->right = p;
    } else {
        moved = p->right = n->left;
        n->left = p;
    }
    if (moved)
        moved->up = p;
    p->up = n;
}

/* Insert as in a search tree, then rotate up until the priorities form a heap
 * again. */
static inline void tree_insert(struct tree *t, struct tree_node *n, u64 key)
{
    struct tree_node **at = &t->root, *up = NULL;
    while (*at) {
        up = *at;
        at = key < up->key ? &up->left : &up->right;
    }
    u64 mixed = ++t->inserted * 0x9e3779b97f4a7c15UL; /* 2^64 / golden ratio */
    *n = (struct tree_node){
        .up = up, .key = key, .priority = mixed ^ (mixed >> 29)};
    n->priority *= 0xbf58476d1ce4e5b9UL; /* splitmix64's second step */
    *at = n;
    while (n->up && n->up->priority < n->priority)
        tree_rotate_up_(t, n);
}

/* Rotate the child of higher priority up until the node has at most one child,
 * which then takes its place. */
static inline void tree_remove(struct tree *t, struct tree_node *n)
{
    while (n->left && n->right)
        tree_rotate_up_(t, n->left->priority > n->right->priority ? n->left
                                                                  : n->right);
    tree_replace_(t, n->up, n, n->left ? n->left : n->right);
    n->up = n->left = n->right = NULL;
}

/*
 * Intrusive ordered sets: a treap, a binary search tree by (key, insertion)
 * that is also a heap by a priority drawn from a mixed counter, so its depth
 * is logarithmic whatever the order of insertion. Equal keys are kept in the
 * order they came. Seidel and Aragon, "Randomized search trees", 1996. Nothing
 * here locks or allocates.
 */
#ifndef SLUICE_TREE_H
#define SLUICE_TREE_H

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

/* The first node with a key >= the given one, or NULL. */
static inline struct tree_node *tree_at_or_after(const struct tree *t, u64 key)
{
    struct tree_node *best = NULL;
    for (struct tree_node *n = t->root; n;) {
        if (n->key >= key) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

/* The last node with a key < the given one, or NULL. */
static inline struct tree_node *tree_before(const struct tree *t, u64 key)
{
    struct tree_node *best = NULL;
    for (struct tree_node *n = t->root; n;) {
        if (n->key < key) {
            best = n;
            n = n->right;
        } else {
            n = n->left;
        }
    }
    return best;
}

/* The node after n, or NULL. */
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

/* Turn n and its parent about, so that n is the upper one. */
static inline void tree_rotate_up_(struct tree *t, struct tree_node *n)
{
    struct tree_node *p = n->up, *g = p->up, *moved;
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
    n->up = g;
    if (!g)
        t->root = n;
    else if (g->left == p)
        g->left = n;
    else
        g->right = n;
}

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

static inline void tree_remove(struct tree *t, struct tree_node *n)
{
    while (n->left && n->right)
        tree_rotate_up_(t, n->left->priority > n->right->priority ? n->left
                                                                  : n->right);
    struct tree_node *child = n->left ? n->left : n->right;
    if (child)
        child->up = n->up;
    if (!n->up)
        t->root = child;
    else if (n->up->left == n)
        n->up->left = child;
    else
        n->up->right = child;
    n->up = n->left = n->right = NULL;
}

#endif

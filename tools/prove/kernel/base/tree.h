/*
 * The ordered set of kernel/base/tree.h as a sorted list, which CBMC follows in
 * a fraction of the time: the treap's priorities are products that it would
 * have to invert. The folder of this file is searched before the root. The
 * treap itself is compared with a model in tests/kernel/kernel_test.c.
 */
#pragma once

#include "kernel/base/types.h"

struct tree_node {
    struct tree_node *up, *left,
        *right; /* left: the one before, right: after */
    u64 key;
    u64 priority;
};

struct tree {
    struct tree_node *root; /* the first */
    u64 inserted;
};

#define TREE_ITEM(node, type, member) CONTAINER(node, type, member)

static inline struct tree_node *tree_at_or_after(const struct tree *t, u64 key)
{
    struct tree_node *n = t->root;
    while (n && n->key < key)
        n = n->right;
    return n;
}

static inline struct tree_node *tree_before(const struct tree *t, u64 key)
{
    struct tree_node *before = NULL;
    for (struct tree_node *n = t->root; n && n->key < key; n = n->right)
        before = n;
    return before;
}

static inline struct tree_node *tree_next(struct tree_node *n)
{
    return n->right;
}

static inline void tree_insert(struct tree *t, struct tree_node *n, u64 key)
{
    struct tree_node *before = NULL, *after = t->root;
    for (; after && after->key <= key; after = after->right)
        before = after;
    t->inserted++;
    n->up = NULL;
    n->left = before;
    n->right = after;
    n->key = key;
    if (before)
        before->right = n;
    else
        t->root = n;
    if (after)
        after->left = n;
}

static inline void tree_remove(struct tree *t, struct tree_node *n)
{
    if (n->left)
        n->left->right = n->right;
    else
        t->root = n->right;
    if (n->right)
        n->right->left = n->left;
    n->left = n->right = NULL;
}

/*
 * Intrusive circular doubly linked lists. The head is a node that belongs to no
 * item. A node that is on no list points at itself or is zero. Callers lock.
 */
#pragma once

#include "kernel/base/types.h"

struct list {
    struct list *prev, *next;
};

#define LIST_ITEM(node, type, member) CONTAINER(node, type, member)

#define LIST_EACH(n, head) \
    for (struct list *n = (head)->next; n != (head); n = n->next)

/* The items of a list, in order. The list may not change meanwhile. */
#define ITEM_EACH(type, i, head, member)                  \
    for (type *i = LIST_ITEM((head)->next, type, member); \
         &i->member != (head); i = LIST_ITEM(i->member.next, type, member))

/* The item of a node, or NULL if that is NULL. */
#define ITEM_OR_NULL(node, type, member)               \
    ({                                                 \
        struct list *node_ = (node);                   \
        node_ ? LIST_ITEM(node_, type, member) : NULL; \
    })

static inline void list_init(struct list *l)
{
    l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}

/* True if this node is on a list. */
static inline bool list_on(const struct list *n)
{
    return n->next && n->next != n;
}

static inline void list_insert_before(struct list *at, struct list *n)
{
    n->prev = at->prev;
    n->next = at;
    at->prev->next = n;
    at->prev = n;
}

static inline void list_push_back(struct list *head, struct list *n)
{
    list_insert_before(head, n);
}

static inline void list_push_front(struct list *head, struct list *n)
{
    list_insert_before(head->next, n);
}

/* Take n off its list. It is on none afterwards; if it was on none, nothing
 * happens. */
static inline void list_remove(struct list *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = n;
}

/* Return the first node, or NULL. */
static inline struct list *list_first(const struct list *head)
{
    return head->next == head ? NULL : head->next;
}

/* Take the first item off and return it; NULL if the list is empty. */
static inline struct list *list_pop_front(struct list *head)
{
    struct list *n = list_first(head);
    if (n)
        list_remove(n);
    return n;
}

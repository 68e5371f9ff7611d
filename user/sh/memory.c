/* Memory for one command: freed together. */
#include "user/sh/sh.h"

struct block {
    struct block *next;
    u64 data[];
};
static struct block *blocks;

void *alloc(size_t n)
{
    struct block *b = xmalloc(sizeof *b + n);
    b->next = blocks;
    blocks = b;
    return memset(b->data, 0, n);
}

struct block *newest_block(void)
{
    return blocks;
}

void release(struct block *mark)
{
    while (blocks != mark) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

char *copy_text(const char *from, size_t n)
{
    return memcpy(alloc(n + 1), from, n);
}

/* Memory comes from an arena and is not freed, so a list that is full is copied
 * to a larger one. A NULL ends the list. */
void add(struct strings *list, char *s)
{
    if (list->count + 1 >= list->room) {
        list->room = 2 * list->room + 8;
        char **bigger = alloc(list->room * sizeof(char *));
        if (list->count > 0)
            memcpy(bigger, list->at, list->count * sizeof(char *));
        list->at = bigger;
    }
    list->at[list->count++] = s;
    list->at[list->count] = NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void sort(struct strings *list, int from)
{
    qsort(list->at + from, list->count - from, sizeof(char *), by_text);
}

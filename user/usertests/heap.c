/* Compare malloc, calloc, realloc and free with a model of the bytes. */
#include "user/usertests/usertests.h"

#define STEP   65536UL /* the heap grows by multiples of this */
#define BLOCKS 32
#define ROUNDS 1000

/* Sizes at which the allocator's decisions change: the least chunk, the last
 * bin of one size, powers of two, steps of the heap. */
static const u64 edges[] = {0, 32, 1024, 2048, 4096, STEP / 2, STEP, 2 * STEP};

/* Each byte of a block is `mark`. */
static struct {
    char *at; /* NULL: none */
    u64 n;
    u8 mark;
} block[BLOCKS];

/* The first n bytes of the block are as they were filled. */
static void check(u32 i, u64 n)
{
    const char *p = block[i].at;
    TRUE(p && (u64)p % 16 == 0);
    for (u64 at = 0; at < MIN(n, 16); at++)
        TRUE((u8)p[at] == block[i].mark);
    TRUE(n <= 16 || memcmp(p, p + 8, n - 8) == 0);
}

static void allocate(u32 i, u64 n, u8 mark)
{
    block[i].at = malloc(n);
    block[i].n = n;
    block[i].mark = mark;
    TRUE(block[i].at);
    memset(block[i].at, mark, n);
}

/* In a new run of the heap, begun at this many bytes off an alignment. */
static void first_allocation(u64 n, u64 off)
{
    sbrk((16 - (u64)sbrk(0) % 16) % 16 + off);
    for (u32 i = 0; i < 4; i++)
        allocate(i, i % 2 ? 24 : n, 10 + i);
    for (u32 i = 0; i < 4; i++)
        check(i, block[i].n);
    for (u32 i = 0; i < 4; i++)
        free(block[(i + 1) % 4].at);
    allocate(0, n + 100, 9);
    check(0, n + 100);
}

static void sizes_from(u64 n)
{
    for (u64 end = n + 17; n < end; n++)
        first_allocation(n, n % 16);
}

/* In a new process each, with sizes 80 below to 80 above each boundary. */
TEST(each_size_around_a_boundary_can_be_the_first_of_the_heap)
{
    for (u32 i = 0; i < NELEM(edges); i++)
        for (u64 n = edges[i] > 80 ? edges[i] - 80 : 0; n < edges[i] + 80;
             n += 17)
            JOIN(SPAWN(sizes_from, n));
}

/* A size near an edge. */
static u64 any_size(u64 *chance)
{
    u64 size = edges[random_u64(chance) % NELEM(edges)];
    u64 off = random_u64(chance) % 65;
    return size + off < 32 ? 0 : size + off - 32;
}

static void change(u32 i, u64 *chance)
{
    u64 n = any_size(chance), kept = MIN(n, block[i].n);
    check(i, block[i].n);
    char *to = realloc(block[i].at, n);
    TRUE(to);
    block[i].at = to;
    block[i].n = n;
    check(i, kept);
    memset(to, block[i].mark, n);
}

static void one_operation(u32 i, u64 *chance)
{
    u64 how = random_u64(chance) % 4;
    if (!block[i].at && how == 0) {
        u64 n = any_size(chance);
        block[i].at = calloc(n / 8, 8);
        TRUE(block[i].at && is_zero(block[i].at, n / 8 * 8));
        block[i].n = n / 8 * 8;
        block[i].mark = 0;
    } else if (!block[i].at) {
        allocate(i, any_size(chance), random_u64(chance));
    } else if (how < 2) {
        change(i, chance);
    } else {
        check(i, block[i].n);
        free(block[i].at);
        block[i].at = NULL;
    }
}

static void many_operations(u64 seed)
{
    u64 chance = seed;
    for (u32 round = 0; round < ROUNDS; round++) {
        one_operation(random_u64(&chance) % BLOCKS, &chance);
        if (random_u64(&chance) % 64 == 0) /* somebody else's memory */
            sbrk(random_u64(&chance) % 40);
    }
    for (u32 i = 0; i < BLOCKS; i++)
        if (block[i].at)
            check(i, block[i].n);
}

TEST(blocks_of_the_heap_keep_their_bytes_and_do_not_overlap)
{
    for (u64 seed = 1; seed <= 4; seed++)
        JOIN(SPAWN(many_operations, seed));
}

TEST(the_heap_refuses_what_no_memory_has_and_keeps_what_there_is)
{
    allocate(0, 1000, 7);
    TRUE(!malloc(~0UL) && errno == ENOMEM);
    TRUE(!malloc(~0UL - 15) && !malloc(1UL << 63) && !malloc(1UL << 62));
    TRUE(!calloc(1UL << 33, 1UL << 33) && errno == ENOMEM);
    TRUE(!calloc(~0UL, 2) && !calloc(2, ~0UL));
    TRUE(!realloc(block[0].at, ~0UL) && !realloc(block[0].at, 1UL << 62));
    check(0, 1000);
    TRUE(calloc(0, ~0UL) && calloc(~0UL, 0) && malloc(0) != malloc(0));
    free(NULL);
    char *p = realloc(NULL, 100);
    TRUE(p && realloc(p, 0));
}

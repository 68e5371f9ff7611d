/*
 * Ghosts: names that come, go and are pushed out by younger ones.
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/test.h"
#include "policies/lib/ghost.h"

#define MOST  40
#define NAMES 64

static _Alignas(struct ghost) u8 room[GHOSTS_BYTES(MOST)];
static struct ghosts ghosts;

TEST(ghosts_are_forgotten_oldest_first_when_there_is_no_room)
{
    ghosts_init(&ghosts, room, 3);
    for (u64 i = 0; i < 5; i++)
        ghosts_remember(&ghosts, 0, i);
    check_eq(ghosts.n, 3);
    check(!ghosts_have(&ghosts, 0, 1));
    check(ghosts_have(&ghosts, 0, 2));
    check(ghosts_have(&ghosts, 0, 4));
}

TEST(a_ghost_remembered_again_is_the_youngest_and_there_once)
{
    ghosts_init(&ghosts, room, 3);
    for (u64 i = 0; i < 3; i++)
        ghosts_remember(&ghosts, 0, i);
    ghosts_remember(&ghosts, 0, 0);
    check_eq(ghosts.n, 3);
    ghosts_shrink(&ghosts, 1);
    check(ghosts_have(&ghosts, 0, 0));
    check(ghosts_forget(&ghosts, 0, 0));
    check(!ghosts_forget(&ghosts, 0, 0));
    check_eq(ghosts.n, 0);
}

TEST(blocks_of_two_disks_have_two_names)
{
    ghosts_init(&ghosts, room, 3);
    ghosts_remember(&ghosts, 0, 7);
    check(!ghosts_have(&ghosts, 1, 7));
    check(!ghosts_forget(&ghosts, 1, 7));
    ghosts_remember(&ghosts, 1, 7);
    check(ghosts_have(&ghosts, 0, 7));
    check_eq(ghosts.n, 2);
}

/* Two lists lie in one piece of memory, the second right behind the first. */
TEST(two_lists_share_a_room_and_neither_is_seen_in_the_other)
{
    struct ghosts other;
    void *next = ghosts_init(&ghosts, room, MOST / 2);
    u8 *end = ghosts_init(&other, next, MOST / 2);
    check_eq(end - room, GHOSTS_BYTES(MOST));
    for (u64 i = 0; i < MOST; i++)
        ghosts_remember(i % 2 ? &ghosts : &other, 0, i);
    for (u64 i = 0; i < MOST; i++) {
        check_eq(ghosts_have(&ghosts, 0, i), i % 2);
        check_eq(ghosts_have(&other, 0, i), i % 2 == 0);
    }
}

TEST(a_ghost_has_a_word_of_the_policy_while_it_is_remembered)
{
    ghosts_init(&ghosts, room, 3);
    check(!ghosts_oldest(&ghosts));
    ghosts_remember(&ghosts, 0, 1)->word = 5;
    ghosts_remember(&ghosts, 0, 2);
    check_eq(ghosts_oldest(&ghosts)->word, 5);
    check_eq(ghosts_find(&ghosts, 0, 1)->word, 5);
    check(!ghosts_find(&ghosts, 0, 3));
    check_eq(ghosts_remember(&ghosts, 0, 1)->word, 0); /* it comes anew */
    check(ghosts_oldest(&ghosts) == ghosts_find(&ghosts, 0, 2));
}

/* The names in an array, the oldest first: what ghosts are to be. */
static u64 model[NAMES], model_n;

/* Take a name out of the model, an array whose first name is the oldest. False:
 * it was not there. */
static bool model_forget(u64 name)
{
    for (u64 i = 0; i < model_n; i++) {
        if (model[i] != name)
            continue;
        memmove(&model[i], &model[i + 1], (model_n - i - 1) * sizeof *model);
        model_n--;
        return true;
    }
    return false;
}

static void model_shrink(u64 n)
{
    while (model_n > n)
        model_forget(model[0]);
}

/* Shrink the list, forget a name, or (mostly) remember one, in the model,
 * too. */
static void step(u64 *seed)
{
    u64 name = random_u64(seed) % NAMES, n = random_u64(seed) % MOST;
    switch (random_u64(seed) % 16) {
    case 0:
        ghosts_shrink(&ghosts, n);
        model_shrink(n);
        break;
    case 1 ... 4:
        check_eq(ghosts_forget(&ghosts, 1, name), model_forget(name));
        break;
    default:
        ghosts_remember(&ghosts, 1, name);
        model_forget(name);
        model_shrink(MOST - 1);
        model[model_n++] = name;
    }
}

/* After each random step the list has the model's length, and as many of all
 * possible names are in it. */
TEST(ghosts_are_what_an_array_of_names_would_be)
{
    u64 seed = 1;
    ghosts_init(&ghosts, room, MOST);
    for (u32 i = 0; i < 20000; i++) {
        step(&seed);
        check_eq(ghosts.n, model_n);
        for (u64 name = 0, n = 0; name < NAMES; name++) {
            n += ghosts_have(&ghosts, 1, name);
            check(name + 1 < NAMES || n == model_n);
        }
    }
}

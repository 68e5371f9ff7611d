/*
 * The nearest free place, on models of real drives: against a search of all
 * free sectors, each asked for by itself.
 *
 * link: tests/support/native/main.c tests/policies/lib/nearest.c
 */
#include "tests/policies/lib/nearest.h"
#include "tests/support/native/test.h"

#define CYLS 5

static struct bare_drive b;
static u64 seed;

static void start(const char *name)
{
    seed = 1;
    check(bare_drive_start(&b, name, CYLS));
}

static u64 all(void)
{
    return (u64)CYLS * b.disk.heads * b.disk.sectors;
}

static u64 in_cylinder(void)
{
    return (u64)b.disk.heads * b.disk.sectors;
}

/* Use each of the n sectors from `from` on with this probability. */
static void use(u64 from, u64 n, u64 percent)
{
    for (u64 i = from; i < from + n; i++)
        b.used[i] = random_u64(&seed) % 100 < percent;
}

/* Put the head on any track, at any time. Return a sector of the track. */
static u64 set_head(void)
{
    u64 sector = random_u64(&seed) % all();
    u64 track = sector / b.disk.sectors;
    bare_drive_set(&b, track / b.disk.heads, track % b.disk.heads, 0,
                   1 + random_u64(&seed) % 100);
    b.now_ns += random_u64(&seed) % b.disk.turn_ns;
    b.drive.arm_ns = b.drive.free_ns = b.now_ns;
    return sector;
}

/* When the first free sector of a cylinder begins to pass; NEVER_NS: none. */
static u64 soonest_in(u64 cyl)
{
    u64 best_ns = NEVER_NS, first = cyl * in_cylinder();
    for (u64 s = first; s < first + in_cylinder(); s++)
        if (!b.used[s])
            best_ns = MIN(best_ns, b.disk.approach(&b, s).begin_ns);
    return best_ns;
}

/* Angles are rounded to a nanosecond. */
static bool same(u64 a_ns, u64 b_ns)
{
    return a_ns + 1 >= b_ns && a_ns <= b_ns + 1;
}

/* From the head's cylinder on, to the last, or from the first if there is none
 * free: the longer the seek, the later is the arm there. */
static void search_agrees(u64 percent)
{
    u64 head = set_head(), begin_ns, want_ns = NEVER_NS;
    u64 from = head / in_cylinder();
    use(0, all(), percent);
    for (u64 cyl = from; cyl < CYLS; cyl++)
        want_ns = MIN(want_ns, soonest_in(cyl));
    u64 sector = nearest_free(&b.disk, head, &begin_ns);
    check(sector < all() && !b.used[sector]);
    check(same(b.disk.approach(&b, sector).begin_ns, begin_ns));
    if (sector / in_cylinder() >= from)
        check(same(begin_ns, want_ns));
    else
        check(begin_ns < want_ns);
}

/* The search agrees with one of all cylinders, for 200 random disks of each
 * drive; half of them have 99 % of their sectors in use. */
TEST(no_free_sector_on_the_way_comes_sooner)
{
    static const char *const drives[] = {"hp97560", "st19101", "rz57"};
    for (u32 i = 0; i < NELEM(drives); i++) {
        start(drives[i]);
        for (u32 trial = 0; trial < 200; trial++)
            search_agrees(trial % 2 ? 99 : random_u64(&seed) % 100);
        free(b.used);
    }
}

/* One sector is free, wherever it is: it is found, with the time at which the
 * drive would begin. On a full disk there is none. */
TEST(a_nearly_full_disk_is_searched_too)
{
    start("hp97560");
    for (u32 trial = 0; trial < 40; trial++) {
        memset(b.used, 1, all());
        u64 head = set_head(), begin_ns, left = random_u64(&seed) % all();
        b.used[left] = 0;
        check_eq(nearest_free(&b.disk, head, &begin_ns), left);
        check(same(begin_ns, b.disk.approach(&b, left).begin_ns));
    }
    memset(b.used, 1, all());
    u64 begin_ns;
    check_eq(nearest_free(&b.disk, 0, &begin_ns), NO_SECTOR);
    free(b.used);
}

/* The arm's own cylinder is full and all others are free: the next one is
 * taken. */
TEST(the_arm_goes_on_to_the_next_cylinder_and_from_the_last_to_the_first)
{
    start("st19101");
    for (u64 cyl = 0; cyl < CYLS; cyl++) {
        u64 begin_ns, next = (cyl + 1) % CYLS;
        use(0, all(), 0);
        memset(b.used + cyl * in_cylinder(), 1, in_cylinder());
        bare_drive_set(&b, cyl, 3, 7, 9);
        u64 sector = nearest_free(&b.disk, cyl * in_cylinder(), &begin_ns);
        check_eq(sector / in_cylinder(), next);
    }
    free(b.used);
}

/* The head's cylinder has one free place, half a turn away; all other cylinders
 * are free. */
static u64 chosen_with(u64 patience_ns)
{
    u64 begin_ns, half = b.disk.sectors / 2;
    memset(b.used, 0, all());
    memset(b.used + in_cylinder(), 1, in_cylinder());
    b.used[in_cylinder() + half] = 0;
    b.disk.patience_ns = patience_ns;
    bare_drive_set(&b, 1, 0, 0, 5);
    u64 first_ns = b.disk.approach(&b, in_cylinder()).begin_ns;
    b.now_ns = b.drive.arm_ns = b.drive.free_ns = first_ns;
    return nearest_free(&b.disk, in_cylinder(), &begin_ns) / in_cylinder();
}

/* A place on this track comes in half a turn, 3 ms; one on the next cylinder
 * can be reached in 0.5 ms. With 2.6 ms of patience the first is chosen. */
TEST(with_patience_the_arm_stays_for_a_place_that_comes_later)
{
    start("st19101");
    check_eq(chosen_with(0), 2);
    check_eq(chosen_with(2 * NS_PER_MS), 2);
    check_eq(chosen_with(2600 * 1000), 1);
    free(b.used);
}

TEST(a_drive_with_zones_or_spares_is_refused)
{
    check(!bare_drive_start(&b, "rz58", 1));
    check(!bare_drive_start(&b, "cheetah4lp", 1));
    check(!bare_drive_start(&b, "fixed", 1));
    check(!bare_drive_start(&b, "none", 1));
    check(!bare_drive_start(&b, "no such drive", 1));
}

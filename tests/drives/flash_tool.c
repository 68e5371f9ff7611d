/*
 * What a flash drive does with commands: for tests/kernel/test_flash.py, whose
 * model in Python must do the same.
 *
 *   flash_tool SECTORS [NAME=VALUE]...    of a disk of this many sectors
 *
 * NAME: a figure of struct flash_figures, service_ns or bus_ns, instead of what
 * the row `flash` has; or check, see below.
 *
 * Standard input has a line "NOW_NS R|W|r|w|F SECTOR SECTORS" for each command;
 * F flushes, and r and w only ask a copy of the drive. For each command it
 * prints "DONE_NS DURABLE_NS WRITTEN MOVED ERASED", the last four as they are
 * then; and at the end the map: "map" and the place of each logical page in its
 * die. After each check= commands (1 if not given) it checks that
 *
 * - every logical page is in one place, which holds that page, and no other
 *   place holds one;
 * - a block's count of pages in use is right, and the reserve and the blocks
 *   never opened hold none.
 *
 * link: drives/model/drive.c
 * link: drives/flash.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drives/model/flash.c"

static struct flash_figures figures;
static struct drive_model model;
static struct drive drive;
static u64 written, moved, erased;
static u32 check = 1;

static void fail(const char *what, u64 n)
{
    fprintf(stderr, "flash_tool: %s: %" PRIu64 "\n", what, n);
    exit(1);
}

#define FIGURE(name)         \
    {                        \
#name, &figures.name \
    }

/* Set what a word "NAME=VALUE" says. */
static void set(const char *word)
{
    static const struct {
        const char *name;
        u32 *value;
    } rows[] = {
        FIGURE(channels),     FIGURE(dies),        FIGURE(planes),
        FIGURE(page_sectors), FIGURE(block_pages), FIGURE(spare_percent),
        FIGURE(read_ns),      FIGURE(program_ns),  FIGURE(erase_ns),
        FIGURE(cross_ns),     FIGURE(cache_pages), {"bus_ns", &model.bus_ns},
        {"check", &check}};
    size_t length = strcspn(word, "=");
    u64 value = strtoull(word + length + 1, NULL, 10);
    for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length &&
            !strncmp(rows[i].name, word, length)) {
            *rows[i].value = value;
            return;
        }
    if (!strncmp(word, "cleaning=", 9))
        figures.cleaning = value;
    else if (!strncmp(word, "service_ns=", 11))
        model.service_ns = value;
    else
        fail(word, 0);
}

/* ---- what must always hold ---- */

/* Check one die: each place that holds a page is the place of that page, and
 * the counts of the blocks are right. */
static void check_die(const struct flash *t, u32 die)
{
    const struct die *d = &t->die[die];
    u32 size = t->n.block_pages, held = 0;
    for (u32 b = 0; b < t->n.blocks; b++) {
        u32 used = 0;
        for (u32 at = b * size; at < (b + 1) * size; at++) {
            u32 page = held_at(t, die, at);
            if (page == NOWHERE)
                continue;
            used++;
            if (page % t->n.dies != die || at_of(t, page) != at)
                fail("a place holds a page that is elsewhere", at);
        }
        if (used != used_of(t, die, b))
            fail("a block's count is wrong", b);
        if (used && (b == d->reserve || (b >= d->fresh && b + 1 < t->n.blocks)))
            fail("an erased block holds a page", b);
        held += used;
    }
    if (held != t->n.pages)
        fail("pages of a die are lost or twice there", held);
}

static void check_tables(const struct flash *t)
{
    for (u32 die = 0; die < t->n.dies; die++)
        check_die(t, die);
}

/* ---- commands ---- */

/* Return when the command is done. r and w serve it on a copy, so that the
 * drive stays as it is. */
static u64 serve(char way, u64 now_ns, u64 sector, u32 nsectors)
{
    struct drive copy = drive;
    if (way == 'F')
        return drive_flush(&drive, now_ns);
    if (way == 'r' || way == 'w')
        return drive_service(&copy, now_ns, sector, nsectors, way == 'w');
    return drive_service(&drive, now_ns, sector, nsectors, way == 'W');
}

int main(int argc, char **argv)
{
    model = *drive_find("flash");
    figures = *model.flash;
    model.flash = &figures;
    for (int i = 2; i < argc; i++)
        set(argv[i]);
    u64 sectors = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    if (!sectors) {
        fprintf(stderr, "usage: flash_tool SECTORS [NAME=VALUE]...\n");
        return 2;
    }
    const char *wrong = drive_wrong(&model);
    if (wrong)
        fail(wrong, 0);
    u64 now_ns, sector;
    void *memory = calloc(1, flash_bytes(&model, sectors));
    drive_start(&drive, &model);
    flash_start(&drive, memory, sectors, (u64 *[]){&written, &moved, &erased});
    check_tables(drive.flash);
    char way;
    u32 nsectors, n = 0;
    while (scanf("%" SCNu64 " %c %" SCNu64 " %" SCNu32, &now_ns, &way, &sector,
                 &nsectors) == 4) {
        u64 done_ns = serve(way, now_ns, sector, nsectors);
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               done_ns, drive.durable_ns, written, moved, erased);
        if (++n % check == 0)
            check_tables(drive.flash);
    }
    printf("map");
    for (u32 page = 0; page < drive.flash->n.dies * drive.flash->n.pages;
         page++)
        printf(" %u", at_of(drive.flash, page));
    printf("\n");
    free(memory);
    return 0;
}

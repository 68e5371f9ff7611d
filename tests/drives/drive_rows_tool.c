/*
 * Every figure of every row of drives/, for tests/kernel/test_drive_rows.py: a
 * line "[ROW]", and "FIELD = FIGURES" for each field of struct drive_model, or
 * of struct flash_figures as "flash.FIELD". A field that is 0 is printed, too.
 * Zones have five figures each, points of a seek table two.
 *
 * link: drives
 */
#include <inttypes.h>
#include <stdio.h>

#include "drives/row.h"

/* A new field is to be printed below. */
_Static_assert(sizeof(struct drive_model) == 208, "fields of a row");
_Static_assert(sizeof(struct flash_figures) == 48, "fields of a flash row");

static void print(const char *field, u64 figure)
{
    printf("%s = %" PRIu64 "\n", field, figure);
}

static void print_pair(const char *field, const u32 figure[2])
{
    printf("%s = [%u, %u]\n", field, figure[0], figure[1]);
}

#define FIELD(name) print(#name, (u64)m->name)
#define PAIR(name)  print_pair(#name, m->name)

static void print_zones(const struct zone *z)
{
    printf("zones = [");
    for (; z && z->sectors; z++)
        printf("[%u, %u, %u, %u, %u], ", z->first_cyl, z->last_cyl, z->sectors,
               z->track_skew, z->cyl_skew);
    printf("]\n");
}

static void print_seek(const struct seek_curve *s)
{
    printf("seek.table = [");
    for (const struct seek_point *p = s->table; p && p->cyls; p++)
        printf("[%u, %u], ", p->cyls, p->ns);
    printf("]\nseek.curve = [%u, %u, %u, %u, %u]\n", s->knee_cyls, s->a_ns,
           s->b_ns, s->c_ns, s->e_ns);
}

static void print_flash(const struct flash_figures *f)
{
    print("flash.channels", f->channels);
    print("flash.dies", f->dies);
    print("flash.planes", f->planes);
    print("flash.page_sectors", f->page_sectors);
    print("flash.block_pages", f->block_pages);
    print("flash.spare_percent", f->spare_percent);
    print("flash.read_ns", f->read_ns);
    print("flash.program_ns", f->program_ns);
    print("flash.erase_ns", f->erase_ns);
    print("flash.cross_ns", f->cross_ns);
    print("flash.cache_pages", f->cache_pages);
    printf("flash.cleaning = \"%s\"\n", f->cleaning == CLEAN_GREEDY ? "greedy"
                                        : f->cleaning == CLEAN_COST_BENEFIT
                                            ? "cost-benefit"
                                            : "not said");
}

static void print_row(const struct drive_model *m)
{
    static const char *const ahead[] = {"far", "segment", "track", "tracks"};
    printf("[%s]\n", m->name);
    FIELD(modelled);
    FIELD(service_ns);
    FIELD(service_varies);
    FIELD(sectors);
    FIELD(rpm);
    FIELD(heads);
    print_zones(m->zones);
    FIELD(spares);
    FIELD(spare_tracks);
    print("gaps", m->gaps != NULL);
    print_seek(&m->seek);
    FIELD(head_switch_ns);
    printf("write_settle_ns = %d\n", m->write_settle_ns);
    PAIR(read_hit_ns);
    PAIR(read_miss_ns);
    PAIR(write_hit_ns);
    PAIR(write_miss_ns);
    FIELD(bus_ns);
    FIELD(reselect_ns);
    PAIR(done_ns);
    FIELD(read_mark_percent);
    FIELD(depth);
    FIELD(segments);
    FIELD(segment_sectors);
    FIELD(read_ahead_sectors);
    printf("ahead = \"%s\"\n", ahead[m->ahead]);
    FIELD(ahead_if_sequential);
    FIELD(write_behind);
    FIELD(volatile_cache);
    if (m->flash)
        print_flash(m->flash);
}

int main(void)
{
    const struct drive_model *m;
    for (u32 i = 0; (m = drive_row(i)); i++) {
        const char *wrong = drive_wrong(m);
        if (wrong)
            printf("%s is wrong: %s\n", m->name, wrong);
        print_row(m);
    }
    return 0;
}

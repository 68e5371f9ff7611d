/*
 * Eager writing against update in place, without a kernel: a process writes
 * blocks of 4 KB at random, one after the other, to the first cylinders of a
 * drive. Prints the mean time of a write in us, and how often each moved the
 * arm and wrote a sector of the map.
 *
 *   eager_tool DRIVE CYLS inplace|eager USED_PERCENT WRITES SEED [IMAGE]
 *
 * USED_PERCENT of the blocks hold data, and only those are written. Eager: each
 * goes to the nearest free place, then a sector of the map, too
 * (kernel/vlog). At the end the power is cut; the map that is found
 * must be the one that was, or the program fails. IMAGE is a file with the
 * label of a log, to which the disk goes as it is then, each block of data as
 * its number and zeros.
 *
 * link: drives kernel/vlog/log.c kernel/vlog/map.c
 * link: policies/lib/nearest.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drives/row.h"
#include "kernel/vlog/logical.h"
#include "policies/lib/nearest.h"

static struct drive_model model;
static struct drive drive;
static struct nearest_disk platters;
static struct logical log_, found;
static struct log_sector *sectors; /* the first of each place, if of the log */
static u64 now_ns, seeks, map_writes;
static u32 next_sectors; /* of the write that a place is looked for */
static unsigned short seed[3];

/* Return a random number from 0 to n - 1. */
static u32 below(u32 n)
{
    return nrand48(seed) % n;
}

/* ---- the drive ---- */

/* Return the sectors of a cylinder. */
static u64 cylinder_sectors(void)
{
    return (u64)platters.heads * platters.sectors;
}

/* Return the first sector of the track under the head. */
static u64 head_sector(void)
{
    return ((u64)drive.cyl * platters.heads + drive.head) * platters.sectors;
}

/* Have the drive write, and let time pass until it is done. */
static void write_at(u64 sector, u32 nsectors)
{
    seeks += sector / cylinder_sectors() != drive.cyl;
    now_ns = drive_service(&drive, now_ns, sector, nsectors, true);
}

/* For nearest.h: when the drive's arm would be at this sector. */
static struct approach approach(void *arg, u64 sector)
{
    (void)arg;
    return drive_approach(&drive, now_ns, sector, next_sectors, true);
}

/* ---- places ---- */

/* For nearest.h: the first free place in a range of sectors. */
static u64 free_from(void *arg, u64 from, u64 end)
{
    (void)arg;
    u32 place =
        logical_free_from(&log_, (from + SLOT_SECTORS - 1) / SLOT_SECTORS,
                          (end + SLOT_SECTORS - 1) / SLOT_SECTORS);
    return place ? (u64)place * SLOT_SECTORS : NO_SECTOR;
}

/* The free place that the arm reaches first, for so many sectors. */
static u32 nearest_place(u32 nsectors)
{
    u64 begin_ns;
    next_sectors = nsectors;
    drive_catch_up(&drive, now_ns);
    u64 sector = nearest_free(&platters, head_sector(), &begin_ns);
    if (sector == NO_SECTOR)
        abort();
    return sector / SLOT_SECTORS;
}

/* Write the map's sector that is due, to the nearest free place. */
static void write_sector_of_map(void)
{
    u32 place = nearest_place(1);
    if (!logical_seal(&log_, place))
        abort();
    write_at((u64)place * SLOT_SECTORS, 1);
    sectors[place] = log_.sector;
    logical_commit(&log_);
    map_writes++;
}

/* Write a block to the nearest free place, and then the sector of the map that
 * says so. */
static void write_eagerly(u32 block)
{
    u32 place = nearest_place(SLOT_SECTORS), piece, due;
    if (!logical_take(&log_, place))
        abort();
    write_at((u64)place * SLOT_SECTORS, SLOT_SECTORS);
    memset(&sectors[place], 0, sizeof *sectors);
    piece = logical_piece(block);
    while ((due = logical_due(&log_, piece)) != piece) {
        logical_begin(&log_, due);
        write_sector_of_map();
    }
    logical_begin(&log_, piece);
    logical_enter(&log_, block, place);
    write_sector_of_map();
}

/* Write a block where a disk without a virtual log has it. */
static void write_in_place(u32 block)
{
    write_at((u64)block * SLOT_SECTORS, SLOT_SECTORS);
}

/* For recovery: a sector of the disk. */
static int read_sector(void *arg, u64 sector, void *to)
{
    (void)arg;
    memset(to, 0, sizeof *sectors);
    if (sector != TAIL_SECTOR)
        memcpy(to, &sectors[sector / SLOT_SECTORS], sizeof *sectors);
    return 0;
}

/* The power is cut: is the map there? */
static bool found_again(void)
{
    bool scanned;
    found = log_;
    logical_start(&found, calloc(1, logical_bytes(&found)));
    const char *why = logical_recover(&found, read_sector, NULL, &scanned);
    if (why)
        fprintf(stderr, "eager_tool: %s\n", why);
    return !why && found.nfree == log_.nfree &&
           !memcmp(found.map, log_.map, log_.nblocks * sizeof *log_.map);
}

/* ---- the image ---- */

/* Take the log's sizes from the label in a file. */
static bool open_label(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fread(&sectors[0], sizeof *sectors, 1, file) != 1)
        return false;
    fclose(file);
    u32 nslots = log_.nslots;
    const char *why = logical_open(&log_, &sectors[0]);
    if (why)
        fprintf(stderr, "eager_tool: %s: %s\n", path, why);
    return !why && log_.nslots == nslots;
}

/* Save the disk to a file; each block of data begins with its number. */
static bool save(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    for (u32 i = 0; i < log_.nblocks; i++)
        if (log_.map[i])
            memcpy(&sectors[log_.map[i]], &i, sizeof i);
    for (u32 place = 0; place < log_.nslots; place++) {
        fseek(file, (long)place * SLOT_SECTORS * sizeof *sectors, SEEK_SET);
        fwrite(&sectors[place], sizeof *sectors, 1, file);
    }
    return fclose(file) == 0;
}

/* ---- the program ---- */

/* Make the drive and an empty log; or, with an image, the log that is found
 * there. */
static bool set_up(const char *name, u32 cyls, const char *image)
{
    const struct drive_model *m = drive_find(name);
    if (!m || !m->zones || m->zones[1].sectors || m->spares || !cyls)
        return false;
    model = *m;
    platters = (struct nearest_disk){.turn_ns = drive_rotation_ns(m),
                                     .patience_ns = drive_rotation_ns(m) / 4,
                                     .sectors = m->zones[0].sectors,
                                     .heads = m->heads,
                                     .cyls = cyls,
                                     .free_from = free_from,
                                     .approach = approach};
    model.sectors = cyls * cylinder_sectors();
    drive_start(&drive, &model);
    log_.id = 1;
    logical_size(&log_, model.sectors / SLOT_SECTORS, 0);
    sectors = calloc(log_.nslots, sizeof *sectors);
    if (image && !open_label(image))
        return false;
    logical_start(&log_, calloc(1, logical_bytes(&log_)));
    return true;
}

int main(int argc, char **argv)
{
    const char *image = argc == 8 ? argv[7] : NULL;
    if (argc < 7 || argc > 8 || !set_up(argv[1], atoi(argv[2]), image)) {
        fprintf(stderr, "usage: eager_tool DRIVE CYLS inplace|eager "
                        "USED_PERCENT WRITES SEED [IMAGE] (a drive of one "
                        "zone)\n");
        return 2;
    }
    bool eager = strcmp(argv[3], "eager") == 0;
    void (*write)(u32) = eager ? write_eagerly : write_in_place;
    u32 used = (u64)log_.nblocks * atoi(argv[4]) / 100, n = atoi(argv[5]);
    seed[0] = atoi(argv[6]);
    for (u32 i = 0; i < used; i++)
        write(i);
    for (u32 i = 0; i < 2 * used; i++) /* until free places are scattered */
        write(below(used));
    u64 start_ns = now_ns, seeks_before = seeks, map_before = map_writes;
    for (u32 i = 0; i < n; i++)
        write(below(used));
    printf("us %.1f seeks %.4f maps %.4f\n",
           (double)(now_ns - start_ns) / n / 1000,
           (double)(seeks - seeks_before) / n,
           (double)(map_writes - map_before) / n);
    return (eager && !found_again()) || (image && !save(image));
}

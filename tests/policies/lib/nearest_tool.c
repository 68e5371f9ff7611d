/*
 * How long does it take to locate a free sector? On a cylinder of a drive whose
 * sectors are used at random, the head at a random place, prints the mean time
 * until the nearest free sector passes under it, in sectors of a track.
 *
 *   nearest_tool DRIVE USED_PERCENT TRACKS TRIALS SEED
 *
 * With TRACKS 1 all other tracks are full, and exactly that share of the one is
 * used; else each sector is used with that probability, independently. Each
 * trial begins when a sector begins to pass. Also the drive's figures that a
 * formula needs: "sectors N tracks N switch N", the last in whole sectors.
 *
 *   nearest_tool DRIVE fill LEFT TRIALS SEED
 *
 * An empty track is filled until LEFT sectors of it are free, the head at a
 * random place before each write: the mean time for a write, in sectors,
 * without the switch to the track.
 *
 * link: tests/policies/lib/nearest.c
 */
#include "tests/policies/lib/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bare_drive b;
static unsigned short seed[3];

static u64 below(u64 n)
{
    return nrand48(seed) % n;
}

/* Use n of a track's sectors, each of them with the same probability. */
static void use_of_track(u32 n, u32 sectors)
{
    for (u32 i = 0; i < sectors; i++)
        b.used[i] = i < n;
    for (u32 i = sectors - 1; i > 0; i--) {
        u32 j = below(i + 1);
        u8 other = b.used[j];
        b.used[j] = b.used[i];
        b.used[i] = other;
    }
}

/* Mark that share of the sectors used, at random: of one track, so that the
 * share is exact; of several, each sector on its own. */
static void use_cylinder(u32 percent, u32 tracks)
{
    u32 sectors = b.disk.sectors, all = sectors * b.disk.heads;
    memset(b.used, 1, all);
    if (tracks == 1) {
        use_of_track((sectors * percent + 50) / 100, sectors);
        return;
    }
    for (u32 i = 0; i < sectors * tracks; i++)
        b.used[i] = below(1 << 20) * 100 < (u64)percent << 20;
}

/* The time from a random place of the head, in sectors; *sector: where. */
static double locate(u32 tracks, u64 *sector)
{
    u64 begin_ns, head = below(tracks);
    u64 turns = 1 + below(1000),
        slot = below(b.disk.sectors); /* in this order */
    bare_drive_set(&b, 0, head, slot, turns);
    *sector = nearest_free(&b.disk, head * b.disk.sectors, &begin_ns);
    if (*sector == NO_SECTOR || b.used[*sector])
        abort();
    return (double)(begin_ns - b.now_ns) * b.disk.sectors / b.disk.turn_ns;
}

/* Return the mean time to the next free sector, in sectors. Each eight trials
 * share a cylinder. */
static double mean_to_locate(u32 percent, u32 tracks, u32 trials)
{
    double sum = 0;
    u64 sector;
    for (u32 i = 0; i < trials; i++) {
        if (i % 8 == 0)
            use_cylinder(percent, tracks);
        sum += locate(tracks, &sector);
    }
    return sum / trials;
}

/* Return the mean time to the next free sector while an empty track is filled
 * until `left` sectors are free. */
static double mean_to_fill(u32 left, u32 trials)
{
    double sum = 0;
    u64 writes = 0, sector;
    for (u32 i = 0; i < trials; i++) {
        use_cylinder(0, 1);
        for (u32 n = b.disk.sectors; n > left; n--, writes++) {
            sum += locate(1, &sector);
            b.used[sector] = 1;
        }
    }
    return sum / writes;
}

int main(int argc, char **argv)
{
    if (argc != 6 || !bare_drive_start(&b, argv[1], 1)) {
        fprintf(stderr, "usage: nearest_tool DRIVE USED_PERCENT TRACKS TRIALS "
                        "SEED (a drive of one zone)\n");
        return 2;
    }
    u32 trials = atoi(argv[4]);
    seed[0] = atoi(argv[5]);
    u64 sector_ns = b.disk.turn_ns / b.disk.sectors;
    printf("sectors %u tracks %u switch %lu\n", b.disk.sectors, b.disk.heads,
           (b.model.head_switch_ns + sector_ns - 1) / sector_ns);
    if (strcmp(argv[2], "fill") == 0)
        printf("%.6f\n", mean_to_fill(atoi(argv[3]), trials));
    else
        printf("%.6f\n", mean_to_locate(atoi(argv[2]), atoi(argv[3]), trials));
    free(b.used);
    return 0;
}

/*
 * A row of drives/ scaled to a volume.
 *
 * A larger disk of the same kind has more tracks and longer ones. Both grow by
 * the same factor, about the root of the sizes' ratio. What a trace's times
 * depend on stays: a rotation, and the time of a seek over a given share of the
 * disk. So a request that was alone takes as long as on the row's own disk, but
 * its data pass faster. The drive's cache holds as many tracks as before.
 *
 * Rows without a size of their own (flash, fixed times) need no scaling.
 */
#include "sluice/blocks/scaled.h"

#include "sluice/blocks/hart.h"
#include "drives/row.h"

static struct drive_model scaled = {
    .name = "scaled", .about = "a row, scaled to a volume", .service_ns = 1};
DRIVE(scaled);

static u64 root_up(u64 x)
{
    u64 r = 1;
    while (r * r < x)
        r++;
    return r;
}

/* Make zones with `tracks` times the cylinders and `sectors` times the sectors
 * a track. */
static void scale_zones(const struct drive_model *m, u64 tracks, u64 sectors)
{
    u32 n = 0;
    while (m->zones[n].sectors)
        n++;
    struct zone *zones = host_memory((n + 1) * sizeof *zones);
    for (u32 i = 0; i < n; i++) {
        const struct zone *z = &m->zones[i];
        zones[i] = (struct zone){
            .first_cyl = z->first_cyl * tracks,
            .last_cyl = (z->last_cyl + 1) * tracks - 1,
            .sectors = z->sectors * sectors,
            .track_skew = z->track_skew * sectors,
            .cyl_skew = z->cyl_skew * sectors,
        };
    }
    scaled.zones = zones;
    scaled.gaps = NULL;
}

static struct seek_point *scale_table(const struct seek_point *table,
                                      u64 tracks)
{
    u32 n = 0;
    while (table[n].cyls)
        n++;
    struct seek_point *points = host_memory((n + 1) * sizeof *points);
    for (u32 i = 0; i < n; i++)
        points[i] = (struct seek_point){table[i].cyls * tracks, table[i].ns};
    return points;
}

/* A seek over the same share of the disk takes the same time. The curve is b
 * sqrt(cyls) below the knee, so b^2 is divided by the factor of the cylinders;
 * e is a time for each cylinder. Both are rounded. */
static void scale_seeks(u64 tracks)
{
    struct seek_curve *c = &scaled.seek;
    c->table = c->table ? scale_table(c->table, tracks) : NULL;
    c->knee_cyls *= tracks;
    u64 square = (u64)c->b_ns * c->b_ns / tracks;
    c->b_ns = root_up(square);
    c->e_ns = (c->e_ns + tracks / 2) / tracks;
}

/* The factor by which the drive is too small is split: the root of it for the
 * tracks, the rest for the sectors a track. */
const char *drive_scaled_to(const char *name, u64 nsectors)
{
    const struct drive_model *m = drive_find(name);
    if (!m || !m->sectors || m->sectors >= nsectors || !m->zones)
        return m ? name : NULL;
    u64 ratio = (nsectors + m->sectors - 1) / m->sectors;
    u64 tracks = root_up(ratio), sectors = (ratio + tracks - 1) / tracks;
    scaled = *m;
    scaled.name = "scaled";
    scaled.sectors = m->sectors * tracks * sectors;
    scaled.spares = m->spares * sectors;
    scaled.bus_ns = MAX(m->bus_ns / sectors, 1);
    scaled.segment_sectors = m->segment_sectors * sectors;
    scaled.read_ahead_sectors = m->read_ahead_sectors * sectors;
    scale_zones(m, tracks, sectors);
    scale_seeks(tracks);
    return scaled.name;
}

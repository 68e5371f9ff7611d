/*
 * The table of drives, and what each says of a request (drive.h). Adding a
 * drive means adding a row.
 */
#include "kernel/drive.h"

static const struct drive_model rows[] = {
    {
        .name = "none",
        .about = "no model: as fast as the device answers",
    },
    {
        .name = "fixed",
        .about = "a constant service time of 10 ms, one request at a time",
        .modelled = true,
        .service_ns = 10000000, /* chosen: a round figure for a 1990s disk */
    },
};

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

const struct drive_model *drive_row(u32 i)
{
    return i < NELEM(rows) ? &rows[i] : NULL;
}

const struct drive_model *drive_find(const char *name)
{
    for (u32 i = 0; i < NELEM(rows); i++) {
        if (same(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}

void drive_start(struct drive *d, const struct drive_model *model)
{
    *d = (struct drive){.model = model};
}

u64 drive_service(struct drive *d, u64 now_ns, u64 sector, u32 nsectors,
                  bool write)
{
    (void)sector, (void)nsectors, (void)write;
    u64 begin_ns = MAX(now_ns, d->free_ns);
    d->free_ns = begin_ns + d->model->service_ns;
    return d->free_ns;
}

/*
 * /dev/disk0 and so on: the raw disk, past the cache, in whole sectors.
 *
 * - Reading ends at the end of the disk; writing past it is ENOSPC; an offset
 *   or length that is no whole number of sectors is EINVAL.
 * - A mounted disk cannot be written here (EBUSY), and what is read of it may
 *   be older than the cache. Nor can one with a virtual log, whose places are
 *   read as they are on the disk.
 */
#include "kernel/base/abi.h"
#include "kernel/file/dev.h"
#include "kernel/disk/disk.h"

#define PAGES 16 /* moved at a time */

/* A piece of a transfer; fits a page. */
struct piece {
    struct io ios[PAGES];
    u32 n;
};

static u64 disk_bytes(u32 unit)
{
    return disk_get(unit)->device_sectors * SECTOR_BYTES;
}

/* Release the pages of a piece, and the piece. */
static void free_pages(struct piece *p)
{
    for (u32 i = 0; i < p->n; i++)
        page_free(p->ios[i].span.data);
    page_free(p);
}

/* Return pages and requests for up to PAGES pages of the transfer, or NULL. */
static struct piece *make_piece(u64 offset, u64 bytes, bool write)
{
    _Static_assert(sizeof(struct piece) <= PAGE_SIZE, "fits a page");
    struct piece *p = page_alloc_zero();
    for (; p && bytes && p->n < PAGES; p->n++) {
        struct io *io = &p->ios[p->n];
        u64 n = MIN(bytes, PAGE_SIZE);
        if (!(io->span.data = page_alloc())) {
            free_pages(p);
            return NULL;
        }
        io->request.sector = offset / SECTOR_BYTES;
        io->request.nsectors = n / SECTOR_BYTES;
        io->request.write = write;
        io->request.raw = true;
        offset += n;
        bytes -= n;
    }
    return p;
}

/* Move the bytes between the piece's pages and the process. */
static int move_data(struct piece *p, struct uio *uio)
{
    int error = 0;
    for (u32 i = 0; i < p->n && !error; i++)
        error = uio_move(p->ios[i].span.data,
                         p->ios[i].request.nsectors * SECTOR_BYTES, uio);
    return error;
}

/* Transfer some bytes of the disk, through pages of the kernel. Return 0 or an
 * error. */
static int move_piece(struct disk *d, struct uio *uio, u64 bytes)
{
    struct piece *p = make_piece(uio->offset, bytes, uio->write);
    if (!p)
        return -ENOMEM;
    int error = uio->write ? move_data(p, uio) : 0;
    error = error ?: disk_transfer(d, p->ios, p->n);
    error = error ?: uio->write ? 0 : move_data(p, uio);
    free_pages(p);
    return error;
}

/* Read or write whole sectors of a disk, up to its end. */
static int disk_move(u32 unit, struct uio *uio)
{
    u64 size = disk_bytes(unit);
    int error = 0;
    if (disk_get(unit)->carry)
        return -ENXIO;
    if ((uio->offset | uio->left) % SECTOR_BYTES)
        return -EINVAL;
    while (uio->left && uio->offset < size && !error)
        error =
            move_piece(disk_get(unit), uio, MIN(uio->left, size - uio->offset));
    return error;
}

/* Write whole sectors past the cache. */
static int disk_write(u32 unit, struct uio *uio)
{
    if (disk_get(unit)->mounted || disk_get(unit)->translation)
        return -EBUSY;
    bool inside = uio->offset < disk_bytes(unit);
    return inside ? disk_move(unit, uio) : -ENOSPC;
}

static const struct device disk_device = {.id = 8,
                                          .name = "disk%u",
                                          .units = disk_count,
                                          .read = disk_move,
                                          .write = disk_write,
                                          .size = disk_bytes};
DEVICE(disk_device);

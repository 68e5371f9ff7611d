/*
 * Read the blocks of a disk with a virtual log (kernel/vlog/logical.h) without
 * the kernel's code, so that the two can be compared.
 *
 * The kernel follows pointers from the youngest sector of the map to all
 * others. This file reads no pointer. It scans all places for valid sectors of
 * this log that name the place themselves, and takes the youngest sector of
 * each piece and of each summary. A block's place is the one in the youngest
 * sector that has the block.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/vlog/logical.h"
#include "mkfs/mkfs.h"

#define SLOT_BYTES (SLOT_SECTORS * sizeof(struct log_sector))

static u8 *disk;
static const struct log_sector *label;
static u32 nblocks, nslots, nsummaries;

/* True if a sector of the log has its magic and the right checksum, its second
 * word. */
static bool is_whole(const struct log_sector *s)
{
    u64 words[sizeof *s / 8], sum;
    memcpy(words, s, sizeof words);
    sum = words[0];
    for (u32 i = 2; i < NELEM(words); i++)
        sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15UL;
    return memcmp(s, "rtualLog", 8) == 0 && words[1] == sum;
}

static const struct log_sector *sector_at(u64 slot)
{
    return (const struct log_sector *)(disk + slot * SLOT_BYTES);
}

/* Read an image with a virtual log, and check its label. Returns the size of
 * the disk on it, in bytes. */
u64 log_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        die("%s: %s", path, strerror(errno));
    u64 bytes = ftell(file);
    rewind(file);
    disk = calloc(1, bytes + SLOT_BYTES);
    if (!disk || fread(disk, 1, bytes, file) != bytes)
        die("%s: cannot be read", path);
    fclose(file);
    label = sector_at(0);
    if (!is_whole(label) || label->piece != LOG_LABEL)
        die("%s: has no label of a virtual log", path);
    nblocks = label->entry[0];
    nslots = label->entry[1];
    nsummaries = label->entry[2];
    if (nslots > bytes / SLOT_BYTES || nblocks >= nslots)
        die("%s: its virtual log has %u blocks on %u places, the image %lu",
            path, nblocks, nslots, bytes / SLOT_BYTES);
    return nblocks * SLOT_BYTES;
}

/* The youngest sector of a piece, or NULL. */
static const struct log_sector *youngest(u32 piece)
{
    const struct log_sector *best = NULL;
    for (u32 slot = 1; slot < nslots; slot++) {
        const struct log_sector *s = sector_at(slot);
        if (s->piece == piece && s->slot == slot && s->id == label->id &&
            (!best || s->seq > best->seq) && is_whole(s))
            best = s;
    }
    return best;
}

/* The place of a block, and the sequence number of the sector that has it. */
struct found {
    u64 seq;
    u32 slot;
};

/* Find each block's place by the youngest sector of its piece of the map. */
static void read_pieces(struct found *found)
{
    for (u32 block = 0; block < nblocks; block += LOG_ENTRIES) {
        const struct log_sector *s = youngest(block / LOG_ENTRIES);
        for (u32 i = 0; s && i < LOG_ENTRIES && block + i < nblocks; i++)
            found[block + i] = (struct found){s->seq, s->entry[i]};
    }
}

/* Correct that by the summaries: one names the blocks that were appended from a
 * first place on. The younger record counts. */
static void read_summaries(struct found *found)
{
    u32 first = (nblocks + LOG_ENTRIES - 1) / LOG_ENTRIES;
    for (u32 n = 0; n < nsummaries; n++) {
        const struct log_sector *s = youngest(first + n);
        for (u32 i = 1; s && i < LOG_ENTRIES; i++) {
            u32 block = s->entry[i] - 1;
            if (!s->entry[i])
                continue;
            if (block >= nblocks)
                die("a summary tells of block %u of %u", block, nblocks);
            if (s->seq > found[block].seq)
                found[block] = (struct found){s->seq, s->entry[0] + i - 1};
        }
    }
}

/* Write each block that has a place where it belongs. Returns how many. */
u64 log_write(int fd)
{
    struct found *found = calloc(nblocks, sizeof *found);
    u64 written = 0;
    if (!found)
        die("no memory for %u blocks", nblocks);
    read_pieces(found);
    read_summaries(found);
    for (u32 block = 0; block < nblocks; block++) {
        u32 slot = found[block].slot;
        if (!slot)
            continue;
        if (slot >= nslots)
            die("block %u is in place %u of %u", block, slot, nslots);
        if (pwrite(fd, sector_at(slot), SLOT_BYTES, block * SLOT_BYTES) !=
            SLOT_BYTES)
            die("block %u: %s", block, strerror(errno));
        written++;
    }
    free(found);
    return written;
}

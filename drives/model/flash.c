/*
 * How long a drive of flash chips takes (drive.h): a flash translation layer
 * that maps pages, and the chips' times.
 *
 * - A page is programmed whole, once after its block was erased. So a write
 *   goes to the next erased page, the map is changed, and the old page is
 *   garbage. A write of a part of a page reads the rest of it first.
 * - Logical page l is always in die l mod dies. So neighbours are in different
 *   dies, and `channels` consecutive pages use different channels. A die has
 *   one open block, for pages that the host writes and for pages that are
 *   moved.
 * - Cleaning: when a die has no erased page but those of one block, its
 *   reserve, it moves the pages in use of a victim into the reserve, which is
 *   the open block now, and erases the victim, which is the reserve then. The
 *   victim always has garbage, because there are at least two blocks more than
 *   the disk's pages fill. A page is moved within its die (copy-back). A drive
 *   does not know which blocks are deleted, and does not clean when it is idle.
 * - A die's planes work together. A block here is one block of each plane; they
 *   are erased together, and consecutive pages are in the planes in rotation.
 *   Cleaning moves one page per plane at a time, from any planes.
 * - At the start all pages have been written, in order, and the spare blocks
 *   are erased. Zeros in the tables mean this state: at_of, held_at and used_of
 *   compute it. So of a large disk only those parts of the tables take memory
 *   that differ from the start, if the host gives memory when it is written.
 *
 * Times:
 *
 * - A command costs an overhead (service_ns). One command is served at a time.
 * - A die does one operation at a time, in the order of commands: it reads a
 *   page, which then crosses the channel; or a page crosses, and the die cleans
 *   if necessary and programs the page. But a row, the pages at one place of
 *   all planes, is read or programmed at once if the commands for all its pages
 *   arrive before the operation begins; the pages cross one after another.
 * - One page crosses a channel at a time, in order. But a page that must wait
 *   for its die leaves a gap, which other pages may use. The model remembers
 *   only the largest gap of each channel.
 * - Pages cross the bus to the host one after the other, as they come.
 * - The write cache is a ring of cache_pages. A page waits there until it
 *   crosses its channel. A write is done when its data are in the ring. A page
 *   gets a place when the page that is cache_pages before it has left. A
 *   waiting page is read and overwritten in the ring. Pages go to the dies as
 *   soon as the dies can take them, so a flush waits until the last page is
 *   programmed (durable_ns). Without a cache, a write is done when it is
 *   programmed.
 *
 * A command to a copy of a drive (struct drive) uses the tables and times of
 * the original and changes none of them. So a second command to the copy is
 * computed as if the first had not been given, except that the drive is busy
 * with it.
 *
 * Not modelled: wear levelling, failing pages and blocks, commands that overlap
 * (native command queueing), the time to look up and to save the map.
 */
#include "drives/row.h"

#define MAX_CHANNELS 16
#define MAX_DIES     64
#define NOWHERE      UINT32_MAX

/* A logical page: where it is in its die, plus 1 (0: where it was at the
 * start), and its last place in the ring. */
struct page {
    u32 moved, slot;
};

struct block {
    u32 counted; /* its pages that hold a logical page, plus 1 (0: as many as at
                    the start) */
    u32 changed; /* die.programs when that last changed */
};

struct die {
    u32 open, next; /* the block that is written, and its next page */
    u32 fresh;      /* blocks from here to the last but one are erased */
    u32 reserve;    /* erased, too */
    u32 programs;   /* pages, so far */
};

struct channel {
    u64 free_ns, gap_ns, gap_end_ns;
};

/* The last command to a die: to read or to program a row. */
struct work {
    u64 begin_ns, done_ns;
    u32 row;
    bool program;
};

struct clocks {
    u64 now_ns;  /* nothing begins before this */
    u64 host_ns; /* when the bus to the host is free */
    struct work work[MAX_DIES];
    struct channel channel[MAX_CHANNELS];
};

/* A place in the ring: a page, when it begins to cross, and when it has. */
struct slot {
    u64 begin_ns, left_ns;
    u64 page; /* plus 1; 0: none so far */
};

/* How large the tables are. */
struct shape {
    u32 dies;
    u64 pages;  /* logical ones of a die */
    u64 filled; /* blocks that these fill */
    u64 blocks; /* of a die */
    u32 planes; /* of a die */
    u32 block_pages;
};

struct flash {
    const struct flash_figures *f;
    struct shape n;
    const struct drive *owner; /* any other is a copy of it */
    u64 *counts[3];            /* written, moved, erased */
    u64 taken;                 /* places in the ring, so far */
    struct clocks clocks;
    struct clocks supposed; /* the clocks of a copy's command */
    struct slot *ring;
    struct page *page;   /* by number */
    struct die *die;     /* by number */
    struct block *block; /* by die and number */
    u32 *names;          /* the logical page that each place got last, plus 1
                            (0: none since the start) */
};

const char *flash_wrong(const struct flash_figures *f)
{
    if (!f->channels || f->channels > MAX_CHANNELS)
        return "channels: want 1 to 16";
    if (!f->dies || f->dies > MAX_DIES / f->channels)
        return "dies: want 1 or more, and 64 at most on all channels";
    if (!f->planes || !f->page_sectors || !f->block_pages)
        return "planes, page_sectors, block_pages: want 1 or more";
    if (!f->read_ns || !f->program_ns || !f->erase_ns || !f->cross_ns)
        return "read_ns, program_ns, erase_ns, cross_ns: want more than 0";
    if (f->cleaning != CLEAN_GREEDY && f->cleaning != CLEAN_COST_BENEFIT)
        return "cleaning: want CLEAN_GREEDY or CLEAN_COST_BENEFIT";
    return NULL;
}

/* ---- the tables ---- */

static u64 parts(u64 n, u64 of)
{
    return (n + of - 1) / of;
}

/* Return how many pages and blocks each die has, for a disk of that many
 * sectors. At least two blocks are spare. */
static struct shape shape_of(const struct flash_figures *f, u64 sectors)
{
    struct shape n = {.dies = f->channels * f->dies, .planes = f->planes};
    n.block_pages = f->block_pages * n.planes;
    n.pages = parts(parts(sectors, f->page_sectors), n.dies);
    n.filled = parts(n.pages, n.block_pages);
    n.blocks = n.filled + MAX(parts(n.filled * f->spare_percent, 100), 2);
    return n;
}

/* Memory for the chips, in the order of flash_start. 2^62, which nobody has, if
 * a page's or a block's number would not fit its type. */
u64 flash_bytes(const struct drive_model *m, u64 sectors)
{
    const struct flash_figures *f = m->flash;
    struct shape n = shape_of(f, sectors);
    u64 die = sizeof(struct die) + n.pages * sizeof(struct page) +
              n.blocks * (sizeof(struct block) + n.block_pages * sizeof(u32));
    if (n.pages * n.dies >= NOWHERE || n.blocks * n.block_pages >= NOWHERE)
        return 1UL << 62;
    return sizeof(struct flash) + f->cache_pages * sizeof(struct slot) +
           n.dies * die;
}

static struct block *blocks_of(const struct flash *t, u32 die)
{
    return &t->block[die * t->n.blocks];
}

/* Where a logical page is in its die. */
static u32 at_of(const struct flash *t, u32 page)
{
    u32 moved = t->page[page].moved;
    return moved ? moved - 1 : page / t->n.dies;
}

static u32 *name_at(const struct flash *t, u32 die, u32 at)
{
    return &t->names[die * t->n.blocks * t->n.block_pages + at];
}

/* The logical page that this place of a die holds, or NOWHERE. A page that
 * moved leaves its name behind. */
static u32 held_at(const struct flash *t, u32 die, u32 at)
{
    u32 name = *name_at(t, die, at);
    if (!name && at >= t->n.pages)
        return NOWHERE;
    u32 page = name ? name - 1 : at * t->n.dies + die;
    return at_of(t, page) == at ? page : NOWHERE;
}

/* How many pages of a block hold a logical page. */
static u32 used_of(const struct flash *t, u32 die, u32 block)
{
    u32 counted = blocks_of(t, die)[block].counted;
    u32 first = block * t->n.block_pages;
    u32 at_start = MIN(t->n.block_pages, MAX(t->n.pages, first) - first);
    return counted ? counted - 1 : at_start;
}

static void set_used(struct flash *t, u32 die, u32 block, u32 used)
{
    blocks_of(t, die)[block].counted = used + 1;
}

/* Lay the tables out in `memory`, one behind the other, and mark all logical
 * pages as written once, in order. */
void flash_start(struct drive *d, void *memory, u64 sectors, u64 *counts[3])
{
    const struct flash_figures *f = d->model->flash;
    struct flash *t = d->flash = memory;
    *t = (struct flash){.f = f, .n = shape_of(f, sectors), .owner = d};
    for (u32 i = 0; i < 3; i++)
        t->counts[i] = counts[i];
    t->ring = (struct slot *)(t + 1);
    t->page = (struct page *)(t->ring + f->cache_pages);
    t->die = (struct die *)(t->page + t->n.dies * t->n.pages);
    t->block = (struct block *)(t->die + t->n.dies);
    t->names = (u32 *)(t->block + t->n.dies * t->n.blocks);
    for (u32 die = 0; die < t->n.dies; die++)
        t->die[die] = (struct die){.open = t->n.filled - 1,
                                   .next = t->n.block_pages,
                                   .fresh = t->n.filled,
                                   .reserve = t->n.blocks - 1};
}

/* ---- cleaning ---- */

/* True if block a is a better victim than b: it has fewer pages in use, or by
 * cost and benefit the larger (1 - u) * age / u, where u is the share of pages
 * in use. The age counts programs since the block changed. Both sides are
 * multiplied by used_a * used_b, so nothing is divided. */
static bool is_better(const struct flash *t, u32 die, u32 a, u32 b)
{
    u32 used_a = used_of(t, die, a), used_b = used_of(t, die, b);
    if (t->f->cleaning == CLEAN_GREEDY || !used_a || !used_b)
        return used_a < used_b;
    u32 now = t->die[die].programs;
    u64 gain_a =
        (u64)(now - blocks_of(t, die)[a].changed) * (t->n.block_pages - used_a);
    u64 gain_b =
        (u64)(now - blocks_of(t, die)[b].changed) * (t->n.block_pages - used_b);
    return gain_a * used_b > gain_b * used_a;
}

/* The block to be emptied, when only the reserve is erased. One without
 * garbage is none, though its age may be large. */
static u32 victim(const struct flash *t, u32 die)
{
    u32 best = NOWHERE;
    for (u32 i = 0; i < t->n.blocks; i++)
        if (i != t->die[die].reserve && used_of(t, die, i) < t->n.block_pages &&
            (best == NOWHERE || is_better(t, die, i, best)))
            best = i;
    return best;
}

/* Give the next erased page of the open block to this logical page. */
static void program(struct flash *t, u32 die, u32 page)
{
    struct die *d = &t->die[die];
    u32 at = d->open * t->n.block_pages + d->next++;
    t->page[page].moved = at + 1;
    *name_at(t, die, at) = page + 1;
    set_used(t, die, d->open, used_of(t, die, d->open) + 1);
    blocks_of(t, die)[d->open].changed = ++d->programs;
}

/* Move the pages of a block into the reserve, which becomes the open block; the
 * erased one is the new reserve. */
static void clean(struct flash *t, u32 die, u32 block)
{
    struct die *d = &t->die[die];
    u32 first = block * t->n.block_pages;
    d->open = d->reserve;
    d->next = 0;
    for (u32 at = first; at < first + t->n.block_pages; at++) {
        u32 page = held_at(t, die, at);
        if (page != NOWHERE) {
            program(t, die, page);
            ++*t->counts[1];
        }
    }
    d->reserve = block;
    set_used(t, die, block, 0);
    ++*t->counts[2];
}

/* Prepare to program a page of the host. Returns how long the die cleans
 * before. Without `change`, the tables are not changed. */
static u64 make_room(struct flash *t, u32 die, bool change)
{
    struct die *d = &t->die[die];
    if (d->next < t->n.block_pages)
        return 0;
    if (d->fresh < t->n.blocks - 1) {
        if (change) {
            d->open = d->fresh++;
            d->next = 0;
        }
        return 0;
    }
    u32 block = victim(t, die);
    u64 move_ns = (u64)t->f->read_ns + t->f->program_ns;
    u64 moves = parts(used_of(t, die, block), t->n.planes);
    u64 ns = moves * move_ns + t->f->erase_ns;
    if (change)
        clean(t, die, block);
    return ns;
}

/* The host writes a page: its old place is garbage. */
static void write_new(struct flash *t, u32 die, u32 page)
{
    u32 old = at_of(t, page) / t->n.block_pages;
    set_used(t, die, old, used_of(t, die, old) - 1);
    program(t, die, page);
    blocks_of(t, die)[old].changed = t->die[die].programs;
    ++*t->counts[0];
}

/* ---- times ---- */

/* The die's page crosses its channel, not before from_ns. Returns when it
 * begins. */
static u64 cross(const struct flash *t, struct clocks *k, u32 die, u64 from_ns)
{
    struct channel *c = &k->channel[die % t->f->channels];
    u64 ns = t->f->cross_ns, in_gap_ns = MAX(from_ns, c->gap_ns);
    if (in_gap_ns + ns <= c->gap_end_ns) {
        c->gap_ns = in_gap_ns + ns;
        return in_gap_ns;
    }
    u64 idle_ns = MAX(k->now_ns, c->free_ns);
    u64 begin_ns = MAX(from_ns, idle_ns);
    u64 gap_ns = MAX(k->now_ns, c->gap_ns);
    u64 left_ns = c->gap_end_ns - MIN(gap_ns, c->gap_end_ns);
    if (begin_ns - idle_ns > left_ns) {
        c->gap_ns = idle_ns;
        c->gap_end_ns = begin_ns;
    }
    c->free_ns = begin_ns + ns;
    return begin_ns;
}

/* A die receives a command for a page of `row` at from_ns. True if its last
 * command was for that row and has not begun, so that one operation does both.
 */
static bool joins(const struct work *w, u64 from_ns, u32 row, bool program)
{
    return w->row == row && w->program == program && from_ns <= w->begin_ns;
}

/* The page's die gets a command to read it at from_ns. Returns when the page
 * has crossed the channel. */
static u64 read_page(const struct flash *t, struct clocks *k, u32 page,
                     u64 from_ns)
{
    u32 die = page % t->n.dies, row = at_of(t, page) / t->n.planes;
    struct work *w = &k->work[die];
    if (!joins(w, from_ns, row, false))
        *w = (struct work){MAX(from_ns, w->done_ns), .row = row};
    u64 ready_ns = w->begin_ns + t->f->read_ns;
    u64 here_ns = cross(t, k, die, ready_ns) + t->f->cross_ns;
    w->done_ns = MAX(w->done_ns, here_ns);
    return here_ns;
}

/* A die that gets a command at from_ns cleans for clean_ns, takes a page and
 * programs it at this place. Returns when the page begins to cross. */
static u64 program_page(const struct flash *t, struct clocks *k, u32 die,
                        u32 at, u64 from_ns, u64 clean_ns)
{
    struct work *w = &k->work[die];
    u32 row = at / t->n.planes;
    u64 ready_ns = joins(w, from_ns, row, true)
                       ? w->begin_ns
                       : MAX(from_ns, w->done_ns) + clean_ns;
    u64 begin_ns = cross(t, k, die, ready_ns);
    u64 here_ns = begin_ns + t->f->cross_ns;
    *w = (struct work){here_ns, here_ns + t->f->program_ns, row, true};
    return begin_ns;
}

/* The place of a page in the ring, if it is or was the last page there. */
static const struct slot *slot_of(const struct flash *t, u32 page)
{
    const struct slot *s = &t->ring[t->page[page].slot];
    return t->f->cache_pages && s->page == page + 1ull ? s : NULL;
}

/* A part of a command: sectors of one page. */
struct part {
    u32 page, sectors;
};

/* Return when the host has the page: at once if it still waits in the ring to
 * be programmed. */
static u64 serve_read(struct drive *d, struct clocks *k, const struct part *p,
                      u64 ready_ns)
{
    const struct flash *t = d->flash;
    const struct slot *s = slot_of(t, p->page);
    u64 come_ns = s && s->left_ns > ready_ns
                      ? ready_ns
                      : read_page(t, k, p->page, ready_ns);
    return k->host_ns = MAX(k->host_ns, come_ns) + p->sectors * d->bus_ns;
}

/* The page's data have come at here_ns. Returns when it is programmed. */
static u64 send(struct drive *d, struct clocks *k, const struct part *p,
                u64 here_ns, struct slot *place)
{
    struct flash *t = d->flash;
    u32 die = p->page % t->n.dies;
    if (p->sectors < t->f->page_sectors)
        here_ns = read_page(t, k, p->page, here_ns);
    bool mine = t->owner == d;
    u64 clean_ns = make_room(t, die, mine);
    u32 at = t->die[die].open * t->n.block_pages + t->die[die].next;
    u64 begin_ns = program_page(t, k, die, at, here_ns, clean_ns);
    u64 done_ns = k->work[die].done_ns;
    d->durable_ns = MAX(d->durable_ns, done_ns);
    if (!mine)
        return done_ns;
    write_new(t, die, p->page);
    if (place) {
        *place =
            (struct slot){begin_ns, begin_ns + t->f->cross_ns, p->page + 1ull};
        t->page[p->page].slot = place - t->ring;
        t->taken++;
    }
    return done_ns;
}

/* Write the nth page of a write. Returns when it is done for the host: with a
 * cache, when the data are in a slot of its ring, which must be free; without,
 * when they are programmed. A page whose older data still wait in the ring is
 * only replaced there. */
static u64 serve_write(struct drive *d, struct clocks *k, const struct part *p,
                       u32 nth)
{
    struct flash *t = d->flash;
    u64 data_ns = p->sectors * d->bus_ns, n = t->f->cache_pages;
    const struct slot *waits = slot_of(t, p->page);
    if (waits && waits->begin_ns >= k->host_ns + data_ns)
        return k->host_ns += data_ns;
    struct slot *place = NULL;
    if (n) {
        place = &t->ring[(t->taken + (t->owner == d ? 0 : nth)) % n];
        k->host_ns = MAX(k->host_ns, place->left_ns);
    }
    k->host_ns += data_ns;
    u64 programmed_ns = send(d, k, p, k->host_ns, place);
    return n ? k->host_ns : programmed_ns;
}

/* Serve a command page by page. A copy of the drive, which only supposes, uses
 * clocks of its own, so that the dies' clocks stay as they are. */
u64 flash_service(struct drive *d, u64 now_ns, u64 sector, u32 nsectors,
                  bool write)
{
    struct flash *t = d->flash;
    struct clocks *k = t->owner == d ? &t->clocks : &t->supposed;
    u64 ready_ns = MAX(now_ns, d->free_ns) + d->model->service_ns;
    u64 end = sector + nsectors, done_ns = ready_ns;
    if (k == &t->supposed)
        *k = t->clocks;
    k->now_ns = ready_ns;
    k->host_ns = MAX(k->host_ns, ready_ns);
    for (u32 nth = 0; sector < end; nth++) {
        struct part p = {.page = sector / t->f->page_sectors};
        u64 next = (p.page + 1ull) * t->f->page_sectors;
        p.sectors = MIN(end, next) - sector;
        u64 ns =
            write ? serve_write(d, k, &p, nth) : serve_read(d, k, &p, ready_ns);
        done_ns = MAX(done_ns, ns);
        sector = next;
    }
    d->commands++;
    d->after = write ? AFTER_WRITE : AFTER_READ;
    return d->free_ns = done_ns;
}

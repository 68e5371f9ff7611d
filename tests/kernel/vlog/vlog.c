/*
 * Disks with a virtual log: in which order data and map are written, what ends
 * without the drive, and what is found after a power cut at each command.
 *
 * - On a disk with a virtual log a block may be in any place (8 sectors that
 *   begin at a multiple of 8), and sectors of a map, the log, say where.
 *   boot_logged boots with a disk of 40 places. The policy `told` places a
 *   write into the first free place from first_slot on, so place 7 is sectors
 *   56 to 63.
 * - request(3, true) submits a write of block 3; its end is the note "W3 done"
 *   or "W3 failed", which check_notes expects. The drive `fixed` takes 10 ms
 *   for a command: one_command lets one end, all_commands all.
 * - check_commands("W0:56+8 W0:64+1") expects what the disk got: a write of 8
 *   sectors, the data, and one of a sector of the map.
 * - cut() checks what a power cut now would leave.
 * - Cleaning moves what a run of places holds, so that they are free: want(7,
 *   11, true) has the policy name places 7 to 10, when the disk is idle.
 */
#include <string.h>

#include "tests/support/native/told.h"
#include "kernel/vlog/internal.h"
#include "kernel/vlog/vlog.h"

#define MS          1000000UL
#define PLACES      40
#define MOST_PLACES 150
#define SLOTS       32

/* ---- the disk ---- */

static u32 first_slot; /* where told_place begins to look */
static u32 nsummaries; /* of the disk of the next boot */
static u32 log_places = PLACES;

/* Return the first free place from first_slot on, as a place policy. */
static u64 free_place(const struct queue *q, const struct request *r,
                      u64 now_ns)
{
    (void)now_ns;
    check(!r->raw);
    u64 sector = queue_free_from(q, first_slot * SLOT_SECTORS, NO_SECTOR);
    return sector == NO_SECTOR ? queue_free_from(q, 0, NO_SECTOR) : sector;
}

/* Boot with a new virtual log on disk 0, and with a policy that places
 * blocks. */
static void boot_logged(const char *args)
{
    struct log_sector *label = (void *)on_device(0, LABEL_SECTOR);
    struct logical l = {0};
    logical_size(&l, log_places, nsummaries);
    *label = (struct log_sector){.magic = 0x676f4c6c61757472,
                                 .id = 5,
                                 .piece = LOG_LABEL,
                                 .entry = {l.nblocks, l.nslots, nsummaries}};
    label->sum = label->magic;
    for (u32 i = 2; i < sizeof *label / 8; i++)
        label->sum = (label->sum ^ ((u64 *)label)[i]) * 0x9e3779b97f4a7c15UL;
    told.quiet = true;
    boot_disks(args);
    told.place = free_place;
    forget("commands");
    forget("console");
    check(disk_get(0)->translation && !disk_get(1)->translation);
    check_eq(disk_get(0)->nsectors, l.nblocks * SLOT_SECTORS);
}

/* ---- requests of whole blocks ---- */

static struct slot {
    struct io io;
    u64 data[SLOT_SECTORS * SECTOR_BYTES / 8];
    int error;
    bool busy;
} slots[SLOTS];
static u64 acknowledged[MOST_PLACES], under_way[MOST_PLACES], versions;

/* Note the end of a request; a write that is done is acknowledged. */
static void ended(struct io *io, int error)
{
    struct slot *s = CONTAINER(io, struct slot, io);
    u32 block = io->request.sector / SLOT_SECTORS;
    s->busy = false;
    s->error = error;
    note("%c%u %s", io->request.write ? 'W' : 'R', block,
         error ? "failed" : "done");
    if (io->request.write && !error)
        acknowledged[block] = s->data[0];
    if (io->request.write)
        under_way[block] = 0;
}

/* Submit a read or a write of a block. A write has a version of its own. */
static struct slot *request(u32 block, bool write)
{
    struct slot *s = slots;
    while (s->busy)
        s++;
    check(s < slots + SLOTS);
    *s = (struct slot){.busy = true};
    s->io = (struct io){.request = {.sector = block * SLOT_SECTORS,
                                    .nsectors = SLOT_SECTORS,
                                    .write = write},
                        .span.data = s->data,
                        .done = ended};
    for (u32 i = 0; i < NELEM(s->data); i++)
        s->data[i] = write ? versions + 1 : ~0UL;
    if (write)
        under_way[block] = ++versions;
    disk_submit(disk_get(0), &s->io);
    return s;
}

/* Return how many requests have not ended. */
static u32 busy_slots(void)
{
    u32 n = 0;
    for (u32 i = 0; i < SLOTS; i++)
        n += slots[i].busy;
    return n;
}

/* Let the drive end one command. */
static void one_command(void)
{
    run_to_ns(clock_now_ns + 10 * MS); /* drive=fixed */
}

/* Let the drive end all commands. */
static void all_commands(void)
{
    for (u32 i = 0; i < 3 * SLOTS; i++)
        one_command();
}

/* ---- a power cut ---- */

/* Read a sector of disk 0, as it is after a power cut. */
static int read_device(void *arg, u64 sector, void *to)
{
    (void)arg;
    memcpy(to, on_device(0, sector), SECTOR_BYTES);
    return 0;
}

static u64 cuts;

/* Check what a power cut now would leave. The map is found by a scan, and each
 * block has the version that was acknowledged last, or one that is under way.
 */
static void cut(void)
{
    static u64 memory[4096];
    struct logical l = {0};
    bool scanned;
    check(!logical_open(&l, (void *)on_device(0, LABEL_SECTOR)));
    check(logical_bytes(&l) <= sizeof memory);
    logical_start(&l, memory);
    check(!logical_recover(&l, read_device, NULL, &scanned) && scanned);
    for (u32 b = 0; b < l.nblocks; b++) {
        u64 version = 0;
        if (l.map[b])
            memcpy(&version, on_device(0, l.map[b] * SLOT_SECTORS), 8);
        if (version != under_way[b] || !version)
            check_eq(version, acknowledged[b]);
    }
    cuts++;
}

/* Write random blocks to random places, some of which fail, and check a power
 * cut at the end of most commands. */
TEST(no_acknowledged_write_is_lost_at_the_end_of_any_command)
{
    boot_logged("drive=fixed place=told");
    u64 seed = 3;
    for (u32 i = 0; i < 600; i++) {
        u32 block = random_u64(&seed) % 12;
        first_slot = 1 + random_u64(&seed) % (PLACES - 1);
        if (i % 40 == 7)
            fail_sector(0, first_slot * SLOT_SECTORS, true, 1);
        if (!under_way[block])
            request(block, true);
        if (random_u64(&seed) % 3) {
            one_command();
            cut();
        }
    }
    all_commands();
    cut();
    check(cuts > 350);
    check(stat_of("disk.map_writes") > 100);
}

/* ---- the order of commands ---- */

/* Data go to place 7 (sector 56), the map to the next place (sector 64).
 * Written again, the block goes to place 20, and its old places are free. */
TEST(a_write_is_done_when_the_map_tells_of_it)
{
    boot_logged("drive=fixed place=told");
    first_slot = 7;
    request(3, true);
    one_command();
    check_commands("W0:56+8");
    check_notes("");
    one_command();
    check_commands("W0:64+1");
    check_notes("W3 done");
    first_slot = 20;
    request(3, true);
    all_commands();
    check_commands("W0:160+8 W0:168+1");
    check_eq(vlog_of(disk_get(0))->map.nfree, PLACES - 3);
    request(3, false);
    all_commands();
    check_commands("R0:160+8");
}

/* Blocks 4 to 6 go to places 9 to 11 as one command, with one sector of the
 * map. */
TEST(one_sector_of_the_map_tells_of_all_writes_that_went_in_one_command)
{
    boot_logged("drive=fixed place=told");
    first_slot = 9;
    disk_plug(disk_get(0));
    request(5, true);
    request(6, true);
    request(4, true);
    disk_unplug(disk_get(0));
    all_commands();
    check_commands("W0:72+24=3 W0:96+1");
    check_eq(stat_of("disk.map_writes"), 1);
    for (u32 b = 4; b <= 6; b++)
        check_eq(vlog_of(disk_get(0))->map.map[b], 5 + b);
}

/* The read of block 8 ends at once, and the drive reads no sector. */
TEST(a_block_that_was_never_written_is_zeros_without_the_drive)
{
    boot_logged("drive=fixed place=told");
    struct slot *s = request(8, false);
    run_to_ns(clock_now_ns + 1);
    check_notes("R8 done");
    check_commands("F0");
    for (u32 i = 0; i < NELEM(s->data); i++)
        check_eq(s->data[i], 0);
    check_eq(stat_of("disk.unwritten_reads"), 1);
}

/* The data arrive, but the map's sector 64 fails: block 3 has no place. The
 * next write of it succeeds. */
TEST(a_sector_of_the_map_that_fails_fails_the_writes_it_tells_of)
{
    boot_logged("drive=fixed place=told");
    first_slot = 7;
    fail_sector(0, 64, true, 1);
    request(3, true);
    all_commands();
    check_notes("W3 failed");
    check_eq(vlog_of(disk_get(0))->map.map[3], 0);
    request(3, true);
    all_commands();
    check_notes("W3 done");
    cut();
}

/* The write of block 3 goes to place 7, where sector 59 fails. That place is
 * free again. */
TEST(a_write_of_data_that_fails_gives_its_place_back)
{
    boot_logged("drive=fixed place=told");
    first_slot = 7;
    fail_sector(0, 59, true, 1);
    request(3, true);
    all_commands();
    check_notes("W3 failed");
    check_eq(vlog_of(disk_get(0))->map.nfree, PLACES - 1);
}

/* All but a few places are taken, as after writes that failed: two writes still
 * find room. With no place left a third one fails. */
TEST(writes_wait_for_places_and_fail_when_none_will_be_free)
{
    boot_logged("drive=fixed place=told");
    struct logical *l = &vlog_of(disk_get(0))->map;
    for (u32 slot = 1; slot < PLACES - 4; slot++)
        check(logical_take(l, slot)); /* as after writes that failed */
    request(1, true);
    request(20, true);
    all_commands();
    check_notes("W1 done; W20 done");
    while (logical_room(l))
        logical_take(l, logical_free_from(l, 1, PLACES));
    request(2, true);
    all_commands();
    check_notes("W2 failed");
    cut();
}

/* ---- wrong answers ---- */

/* Return place 0, which is never free. */
static u64 taken_place(const struct queue *q, const struct request *r,
                       u64 now_ns)
{
    (void)q;
    (void)r;
    (void)now_ns;
    return 0;
}

/* The policy answers with a place in use. The write succeeds elsewhere, and the
 * default policy takes over. */
TEST(a_place_that_is_not_free_is_a_fault_and_the_kernel_places_the_block)
{
    boot_logged("drive=fixed place=told");
    told.place = taken_place;
    request(3, true);
    all_commands();
    check_notes("W3 done");
    check_console("policy fault: place/told: place returned no free place; "
                  "going on with inplace\n");
    cut();
    request(3, true);
    all_commands();
    check_notes("W3 done");
    cut();
}

/* With faults=answer the policy names a place that is taken. The kernel places
 * block 3, and the policy block 4. */
TEST(in_graded_runs_the_policy_stays_and_the_kernel_places_this_block)
{
    boot_logged("drive=fixed place=told faults=answer");
    told.place = taken_place;
    request(3, true);
    all_commands();
    check_notes("W3 done");
    told.place = free_place;
    first_slot = 30;
    request(4, true);
    all_commands();
    check_notes("W4 done");
    check_eq(vlog_of(disk_get(0))->map.map[4], 30);
}

/* ---- power-off ---- */

/* vlog_close writes the tail, which names the newest sector of the map. The
 * write after it fails. */
TEST(after_the_tail_nothing_is_written)
{
    boot_logged("drive=fixed place=told");
    request(3, true);
    all_commands();
    vlog_close();
    const struct log_sector *tail = (void *)on_device(0, TAIL_SECTOR);
    check_eq(tail->piece, LOG_TAIL);
    check_eq(tail->down[0].seq, 1);
    forget("notes");
    request(3, true);
    all_commands();
    check_notes("W3 failed");
}

/* ---- cleaning ---- */

static struct clean wanted; /* once, by the hook below */
static bool wants_idle;

/* Name the places that `wanted` has, once. */
static void clean_once(const struct queue *q, u64 now_ns, bool idle,
                       struct clean *what)
{
    (void)q, (void)now_ns;
    if (!wanted.end || (wants_idle && !idle))
        return;
    *what = wanted;
    wanted = (struct clean){0};
}

/* Name no place, and ask for another question at the time that `wanted` has. */
static void clean_later(const struct queue *q, u64 now_ns, bool idle,
                        struct clean *what)
{
    (void)q, (void)idle;
    what->again_ns = MAX(wanted.again_ns, now_ns + MS);
}

/* Have the policy name the places from `first` up to `end`, at once or when the
 * disk is idle. */
static void want(u32 first, u32 end, bool idle)
{
    wanted = (struct clean){first * SLOT_SECTORS, end * SLOT_SECTORS, 0};
    wants_idle = idle;
}

/* Blocks 3 to 5 are in places 7 to 9, and the map's sector is in place 10. */
static void boot_cleaning(void)
{
    boot_logged("drive=fixed place=told");
    told_place.place.clean = clean_once;
    wanted = (struct clean){0};
    first_slot = 7;
    disk_plug(disk_get(0));
    for (u32 b = 3; b <= 5; b++)
        request(b, true);
    disk_unplug(disk_get(0));
    all_commands();
    check_commands("W0:56+24=3 W0:80+1");
    forget("notes");
    first_slot = 20;
}

/* Read a block that was never written: the drive gets no command, but the
 * policy is asked what to clean. */
static void nudge(void)
{
    request(30, false);
    run_to_ns(clock_now_ns + 1);
    forget("notes");
    forget("commands");
}

/* Places 7 to 9 hold blocks 3 to 5, and place 10 a sector of the map. The
 * blocks move to places 20 to 22 (sector 160), with a new sector of the map,
 * and 7 to 10 are free. */
TEST(cleaning_moves_what_a_run_of_places_holds)
{
    boot_cleaning();
    want(7, 11, true);
    nudge();
    all_commands();
    check_commands("R0:56+32 W0:160+24=3 W0:184+1");
    const struct logical *l = &vlog_of(disk_get(0))->map;
    for (u32 b = 3; b <= 5; b++)
        check_eq(l->map[b], 17 + b);
    for (u32 slot = 7; slot <= 10; slot++)
        check(logical_free(l, slot) && !logical_owner(l, slot));
    check_eq(stat_of("disk.moved"), 3);
    check_eq(stat_of("disk.writes"), 4); /* with the tail at boot */
    check_notes("");
    cut();
}

/* The policy names place 10, which holds the map's sector. It is read, and
 * written to place 20. */
TEST(cleaning_moves_a_sector_of_the_map)
{
    boot_cleaning();
    want(10, 11, true);
    nudge();
    all_commands();
    check_commands("R0:80+8 W0:160+1");
    check_eq(vlog_of(disk_get(0))->map.pieces[0].slot, 20);
    cut();
}

/* Two writes come while the disk is cleaned: after the read that has begun they
 * go first. */
TEST(cleaning_in_idle_time_gives_way)
{
    boot_cleaning();
    want(7, 10, true);
    nudge();
    request(8, true);
    request(9, true);
    all_commands();
    check_notes("W9 done; W8 done");
    check_commands("R0:56+24 W0:160+16=2 W0:176+1 W0:184+24=3 W0:208+1");
    cut();
}

/* The same, but the policy says that cleaning cannot wait: the move is finished
 * before the write. */
TEST(urgent_cleaning_comes_before_what_is_queued)
{
    boot_cleaning();
    want(7, 10, false);
    request(8, true);
    all_commands();
    check_notes("W8 done");
    check_commands("R0:56+24 W0:160+24=3 W0:184+1 W0:192+8 W0:200+1");
    cut();
}

/* Block 4 is written after cleaning has read it. Only blocks 3 and 5 move. */
TEST(a_block_that_is_written_meanwhile_is_not_moved)
{
    boot_cleaning();
    want(7, 10, true);
    nudge();
    request(4, true);
    all_commands();
    check_notes("W4 done");
    check_commands("R0:56+24 W0:160+8 W0:168+1 W0:176+16=2 W0:192+1");
    check_eq(stat_of("disk.moved"), 2);
    cut();
}

/* First the write of the moved data fails, and later the sector of the map that
 * tells of a move. */
TEST(a_move_that_fails_leaves_the_block_where_it_was)
{
    boot_cleaning();
    fail_sector(0, 165, true, 1);
    want(7, 10, true);
    nudge();
    all_commands();
    const struct logical *l = &vlog_of(disk_get(0))->map;
    check_eq(l->map[3], 7);
    check_eq(l->nfree, PLACES - 1 - 4);
    cut();
    want(7, 10, true);
    nudge();
    all_commands();
    check_eq(l->map[3], 20);
    cut();
    fail_sector(0, 8 * SLOT_SECTORS, true, 1);
    first_slot = 7;
    want(20, 23, true); /* now the sector that tells of it fails */
    nudge();
    all_commands();
    check_notes("");
    cut();
}

/* Sector 60 of places 7 to 9 fails. The kernel says so, and does not clean when
 * it is asked again. */
TEST(a_run_that_cannot_be_read_ends_all_cleaning)
{
    boot_cleaning();
    fail_sector(0, 60, false, 1);
    want(7, 10, true);
    nudge();
    all_commands();
    check_console("disk0: sector 56 or one after it cannot be read: nothing is "
                  "cleaned any more\n");
    want(7, 10, true);
    nudge();
    all_commands();
    check_commands("");
    cut();
}

TEST(a_run_with_nothing_to_move_is_a_fault)
{
    boot_cleaning();
    want(0, 7, true);
    nudge();
    check_console("policy fault: place/told: clean named places with nothing "
                  "to move; going on with inplace\n");
}

/* The policy first names a time, 500 ms later, and then a run. */
TEST(the_policy_is_asked_again_when_it_wants)
{
    boot_cleaning();
    wanted.again_ns = clock_now_ns + 500 * MS;
    told_place.place.clean = clean_later;
    nudge();
    told_place.place.clean = clean_once;
    want(7, 10, true);
    run_to_ns(clock_now_ns + 400 * MS);
    check_commands("");
    run_to_ns(clock_now_ns + 200 * MS);
    check_commands("R0:56+24 W0:160+24=3 W0:184+1");
}

/* The time at which the policy wants to be asked has come meanwhile. */
TEST(the_policy_is_not_asked_while_requests_are_held_back)
{
    boot_cleaning();
    wanted = (struct clean){0, 0, clock_now_ns + 20 * MS};
    told_place.place.clean = clean_later;
    nudge();
    disk_plug(disk_get(0));
    run_to_ns(clock_now_ns + 50 * MS);
    disk_unplug(disk_get(0));
    check_commands("");
}

/* The disk is closed after two commands of the cleaning. The tail still names
 * the newest sector of the map. */
TEST(a_disk_that_is_closed_while_it_is_cleaned_is_found_again)
{
    boot_cleaning();
    want(7, 10, true);
    nudge();
    one_command();
    one_command();
    check(vlog_of(disk_get(0))->under_way);
    vlog_close();
    all_commands();
    const struct log_sector *tail = (void *)on_device(0, TAIL_SECTOR);
    check_eq(tail->down[0].seq, vlog_of(disk_get(0))->map.pieces[0].seq);
}

/* The drive takes four commands, but during cleaning never more than one is in
 * flight. */
TEST(the_drive_has_one_command_at_a_time_while_places_are_cleaned)
{
    boot_logged("drive=fixed place=told drive_depth=4");
    told_place.place.clean = clean_once;
    request(3, true);
    all_commands();
    want(1, 2, true);
    nudge();
    check(clean_busy(&vlog_of(disk_get(0))->clean));
    for (u32 b = 3; b < 7; b++)
        request(b, b > 4);
    while (clean_busy(&vlog_of(disk_get(0))->clean)) {
        check(disk_get(0)->in_flight <= 1);
        one_command();
    }
    cut();
}

/* The seed by which clean_at_random draws the slots that it names. */
static u64 clean_seed;

/* The hook `clean` that two tests of power cuts use: it names some slots to
 * clean, or, often, none for 15 ms. */
static void clean_at_random(const struct queue *q, u64 now_ns, bool idle,
                            struct clean *what)
{
    u64 first = 1 + random_u64(&clean_seed) % (PLACES - 6);
    u64 end = first + 1 + random_u64(&clean_seed) % 5;
    (void)idle;
    if (random_u64(&clean_seed) % 3 == 0 ||
        !queue_used(q, first * SLOT_SECTORS, end * SLOT_SECTORS)) {
        what->again_ns = now_ns + 15 * MS;
        return;
    }
    *what = (struct clean){first * SLOT_SECTORS, end * SLOT_SECTORS, 0};
}

/* Like the first test, while random runs of places are cleaned. */
TEST(cleaning_loses_nothing_at_any_power_cut)
{
    boot_logged("drive=fixed place=told");
    told_place.place.clean = clean_at_random;
    u64 seed = 4;
    clean_seed = 5;
    for (u32 i = 0; i < 8000; i++) {
        u32 block = random_u64(&seed) % 20;
        first_slot = 1 + random_u64(&seed) % (PLACES - 1);
        if (i % 800 == 7)
            fail_sector(0, first_slot * SLOT_SECTORS, true, 1);
        if (!under_way[block] && random_u64(&seed) % 2)
            request(block, true);
        if (random_u64(&seed) % 4) {
            one_command();
            cut();
        }
    }
    told_place.place.clean = NULL;
    all_commands();
    cut();
    check(stat_of("disk.moved") > 300);
    check(cuts > 5000);
}

/* ---- summaries, and writes that are appended ---- */

static u32 next_place; /* of the log that told_place writes */

/* The hook place.place of a log that is appended to: the next free place, from
 * the start again at the end. */
static u64 append_place(const struct queue *q, const struct request *r,
                        u64 now_ns)
{
    (void)r, (void)now_ns;
    u64 sector = queue_free_from(q, next_place * SLOT_SECTORS, NO_SECTOR);
    return sector == NO_SECTOR ? queue_free_from(q, 0, NO_SECTOR) : sector;
}

/* The hook place.placed: the next place follows. */
static void appended(const struct queue *q, const struct request *r)
{
    (void)q;
    next_place = r->physical / SLOT_SECTORS + 1;
}

/* Boot with a log that is appended to, and so many summaries. */
static void boot_appending(u32 summaries)
{
    nsummaries = summaries;
    log_places = 150;
    boot_logged("drive=fixed place=told cluster_kb=404");
    nsummaries = 0;
    log_places = PLACES;
    told.place = append_place;
    told_place.place.placed = appended;
    told_place.place.appends = true;
    next_place = 10;
}

/* Three blocks of three pieces of the map go to places 10 to 12, in rising
 * order of block. One sector tells of all, and their pieces are owed until
 * later. */
TEST(one_summary_tells_of_appended_blocks_of_several_pieces)
{
    boot_appending(3);
    disk_plug(disk_get(0));
    request(130, true);
    request(4, true);
    request(70, true);
    disk_unplug(disk_get(0));
    all_commands();
    check_commands("W0:80+24=3 W0:104+1");
    const struct logical *l = &vlog_of(disk_get(0))->map;
    check_eq(l->map[130], 12);
    check_eq(l->map[4], 10);
    check_eq(l->map[70], 11);
    check(l->pieces[0].owed && l->pieces[1].owed && !l->pieces[0].seq);
    cut();
}

/* Two blocks of two pieces of the map cost two sectors of the map. */
TEST(without_summaries_each_piece_is_told)
{
    boot_appending(0);
    disk_plug(disk_get(0));
    request(130, true);
    request(4, true);
    disk_unplug(disk_get(0));
    all_commands();
    check_commands("W0:80+16=2 W0:96+1 W0:104+1");
    cut();
}

/* Two blocks are moved, and the first of two sectors of the map fails: both
 * stay where they were. */
TEST(moves_of_several_pieces_fail_with_the_sector_that_tells_of_some)
{
    boot_appending(0);
    told_place.place.clean = clean_once;
    wanted = (struct clean){0};
    disk_plug(disk_get(0));
    request(130, true);
    request(4, true);
    disk_unplug(disk_get(0));
    all_commands();
    check_commands("W0:80+16=2 W0:96+1 W0:104+1");
    fail_sector(0, 22 * SLOT_SECTORS, true, 1);
    next_place = 20;
    want(10, 12, true);
    nudge();
    all_commands();
    check_commands("R0:80+16 W0:160+16=2 W0:176+1");
    check_eq(vlog_of(disk_get(0))->map.map[130], 11);
    check_eq(vlog_of(disk_get(0))->map.map[4], 10);
    cut();
}

/* Up to four writes are requested at a time, so that they join, while slots
 * are cleaned; the power is cut after each command. */
TEST(appended_writes_and_cleaning_lose_nothing_at_any_power_cut)
{
    boot_appending(3);
    told_place.place.clean = clean_at_random;
    u64 seed = 6;
    clean_seed = 7;
    for (u32 i = 0; i < 8000; i++) {
        disk_plug(disk_get(0));
        for (u32 n = random_u64(&seed) % 5; n--;) {
            u32 block = random_u64(&seed) % 130;
            if (!under_way[block])
                request(block, true);
        }
        disk_unplug(disk_get(0));
        if (random_u64(&seed) % 50 == 0)
            next_place = 1 + random_u64(&seed) % 140;
        while (busy_slots() > SLOTS - 4 || random_u64(&seed) % 2) {
            one_command();
            cut();
        }
    }
    told_place.place.clean = NULL;
    all_commands();
    cut();
    check(stat_of("disk.moved") > 300);
    check(cuts > 5000);
}

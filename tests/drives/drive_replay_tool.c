/*
 * Replays a trace on a model of a drive, and says how far the model's service
 * times are from the measured ones.
 *
 *   drive_replay_tool [-d DRIVE] [-x PART]... [-v] [-c FILE] TRACE
 *   drive_replay_tool [-d DRIVE] [-x PART]... [-v] -r N SEED [SECTORS]
 *   drive_replay_tool [-d DRIVE] [-x PART]... -s
 *   drive_replay_tool [-d DRIVE] -f
 *   drive_replay_tool -l
 *
 *   -d  the drive: a row of drives/, or of validated_drives.c;
 *       cheetah4lp if not given
 *   -x  take a part out of the model (after -d): no-readahead no-writebehind
 *       linear-seek constant-seek no-read-mark no-completion
 *   -c  write both cumulative distributions to FILE: lines of
 *       "fraction model_us measured_us"
 *   -v  print each request: when it was issued and when it was done, in ns
 *   -r  instead of a trace, N reads of SECTORS sectors (4 KB if not given) at
 *       random places, each issued when the last is done
 *   -s  print the seek curve: lines of "cylinders ns"
 *   -f  print the drive's figures: lines of "name value", and for each zone
 *       "zone first_cyl last_cyl sectors track_skew cyl_skew"
 *   -l  list the drives
 *
 * A trace's line is "R|W label first_sector sectors service_us think_us"; the
 * next request is issued think_us after the model has completed this one.
 * Demerit (Ruemmler and Wilkes 1994): the root mean square of the horizontal
 * distance between the two cumulative distributions.
 *
 * link: drives
 * link: tests/drives/validated_drives.c
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/drives/validated_drives.h"
#include "drives/row.h"

static const char usage[] =
    "usage: drive_replay_tool [-d DRIVE] [-x PART]... [-v] [-c FILE] TRACE\n"
    "       drive_replay_tool [-d DRIVE] [-x PART]... [-v] -r N SEED "
    "[SECTORS]\n"
    "       drive_replay_tool [-d DRIVE] [-x PART]... -s\n"
    "       drive_replay_tool [-d DRIVE] -f\n"
    "       drive_replay_tool -l\n";

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("drive_replay_tool: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

/* ---- the drive, whole or without a part ---- */

static struct drive_model
    model; /* a copy of the row, so that -x may change it */

/* Return how many cylinders the drive has. */
static u32 cylinders(const struct drive_model *m)
{
    u32 n = 0;
    for (const struct zone *z = m->zones; z->sectors; z++)
        n = z->last_cyl + 1;
    return n;
}

/* Return the mean seek between all pairs of cylinders: a distance of d has (n -
 * d) of the n (n - 1) / 2 pairs. */
static u64 mean_seek_ns(const struct drive_model *m)
{
    u64 n = cylinders(m), sum_us = 0;
    for (u64 d = 1; d < n; d++)
        sum_us += drive_seek_ns(m, d) / 1000 * (n - d);
    return sum_us * 1000 / (n * (n - 1) / 2);
}

/* Replace the seek curve by a straight line, from a seek of one cylinder to a
 * seek over all of them. */
static void straight_seeks(u64 first_ns, u64 last_ns)
{
    u32 n = cylinders(&model);
    u64 e_ns = (last_ns - first_ns) / (n - 2);
    model.seek = (struct seek_curve){.c_ns = first_ns - e_ns, .e_ns = e_ns};
}

/* Take the part that -x names out of the model. */
static void take_out(const char *part)
{
    if (!strcmp(part, "no-readahead"))
        model.read_ahead_sectors = 0;
    else if (!strcmp(part, "no-writebehind"))
        model.write_behind = false;
    else if (!strcmp(part, "no-read-mark"))
        model.read_mark_percent = 0;
    else if (!strcmp(part, "no-completion"))
        model.done_ns[AFTER_READ] = model.done_ns[AFTER_WRITE] = 0;
    else if (!strcmp(part, "linear-seek"))
        straight_seeks(drive_seek_ns(&model, 1),
                       drive_seek_ns(&model, cylinders(&model) - 1));
    else if (!strcmp(part, "constant-seek"))
        straight_seeks(mean_seek_ns(&model), mean_seek_ns(&model));
    else
        fail("-x %s: there is no such part", part);
}

/* Print the seek curve, a distance a line. */
static void print_seeks(void)
{
    for (u32 d = 0; d < cylinders(&model); d++)
        printf("%u %" PRIu64 "\n", d, drive_seek_ns(&model, d));
}

static void print_figures(void)
{
    const struct drive_model *m = &model;
    printf("rotation_ns %" PRIu64 "\nheads %u\nhead_switch_ns %u\n"
           "bus_ns %u\nsegments %u\nsegment_sectors %u\n"
           "read_ahead_sectors %u\n",
           drive_rotation_ns(m), m->heads, m->head_switch_ns, m->bus_ns,
           m->segments, m->segment_sectors, m->read_ahead_sectors);
    printf("read_hit_ns %u\nread_miss_ns %u\n", m->read_hit_ns[AFTER_READ],
           m->read_miss_ns[AFTER_READ]);
    for (const struct zone *z = m->zones; z->sectors; z++)
        printf("zone %u %u %u %u %u\n", z->first_cyl, z->last_cyl, z->sectors,
               z->track_skew, z->cyl_skew);
}

static void list_platters(const struct drive_model *m)
{
    u32 n = cylinders(m);
    printf("    sectors=%" PRIu64 " room=%" PRIu64 " cylinders=%u heads=%u"
           " outer_sectors=%u\n",
           m->sectors, drive_room(m), n, m->heads, m->zones->sectors);
    printf("    rpm=%u rotation_ns=%" PRIu64 " bus_ns=%u segments=%u"
           " depth=%u\n",
           m->rpm, drive_rotation_ns(m), m->bus_ns, m->segments, m->depth);
    printf("    seek_1_ns=%" PRIu64 " seek_mean_ns=%" PRIu64
           " seek_full_ns=%" PRIu64 "\n",
           drive_seek_ns(m, 1), mean_seek_ns(m), drive_seek_ns(m, n - 1));
}

static void list_drives(void)
{
    const struct drive_model *m;
    for (u32 i = 0; (m = drive_row(i)); i++) {
        printf("%s: %s\n", m->name, m->about);
        if (m->zones)
            list_platters(m);
        if (m->volatile_cache)
            printf("  volatile_cache=1\n");
    }
}

/* ---- requests ---- */

struct request {
    bool write;
    u64 sector;
    u32 nsectors;
    u64 measured_ns, think_ns;
};

/* Service times, one a request. */
struct times {
    u64 *model_ns, *measured_ns;
    size_t n, room;
};

/* Add a request's two times to the list, which grows as necessary. */
static void note(struct times *t, u64 model_ns, u64 measured_ns)
{
    if (t->n == t->room) {
        t->room = MAX(2 * t->room, 1024);
        t->model_ns = realloc(t->model_ns, t->room * sizeof *t->model_ns);
        t->measured_ns =
            realloc(t->measured_ns, t->room * sizeof *t->measured_ns);
        if (!t->model_ns || !t->measured_ns)
            fail("no memory");
    }
    t->model_ns[t->n] = model_ns;
    t->measured_ns[t->n++] = measured_ns;
}

/* Serve a request at *now_ns, and move *now_ns to the next one's time. */
static u64 serve(struct drive *d, const struct request *r, u64 *now_ns,
                 bool verbose)
{
    u64 done_ns = drive_service(d, *now_ns, r->sector, r->nsectors, r->write);
    u64 service_ns = done_ns - *now_ns;
    if (verbose)
        printf("%" PRIu64 " %" PRIu64 "\n", *now_ns, done_ns);
    *now_ns = done_ns + r->think_ns;
    return service_ns;
}

/* Convert a time in microseconds, with a fraction, to ns. False: the word is no
 * time. */
static bool to_ns(const char *word, u64 *ns)
{
    char *end;
    double us = strtod(word, &end);
    if (end == word || *end || !(us >= 0 && us < 1e12))
        return false;
    *ns = us * 1000 + 0.5;
    return true;
}

/* Return the request that a line of the trace describes, or end the program
 * with what is wrong. */
static struct request parse(char *line, const char *file, u32 number)
{
    char *word[7], **w = word;
    for (char *s = strtok(line, " \t\r\n"); s && w < word + 7;
         s = strtok(NULL, " \t\r\n"))
        *w++ = s;
    if (w != word + 6)
        fail("%s:%u: expected 6 words: R|W label first_sector sectors "
             "service_us think_us",
             file, number);
    char *sector_end, *n_end;
    struct request r = {.write = !strcmp(word[0], "W"),
                        .sector = strtoull(word[2], &sector_end, 10)};
    unsigned long n = strtoul(word[3], &n_end, 10);
    if (!r.write && strcmp(word[0], "R"))
        fail("%s:%u: %s: expected R or W", file, number, word[0]);
    if (*sector_end || *n_end || n == 0 || r.sector >= model.sectors ||
        n > model.sectors - r.sector)
        fail("%s:%u: %s sectors at %s: not on a drive of %" PRIu64 " sectors",
             file, number, word[3], word[2], model.sectors);
    if (!to_ns(word[4], &r.measured_ns) || !to_ns(word[5], &r.think_ns))
        fail("%s:%u: %s %s: expected two times in us", file, number, word[4],
             word[5]);
    r.nsectors = n;
    return r;
}

/* Serve each request of a trace, and return the times of the model and those
 * measured. */
static struct times replay(const char *file, bool verbose)
{
    FILE *f = fopen(file, "r");
    if (!f)
        fail("%s: %s", file, strerror(errno));
    struct times t = {0};
    struct drive d;
    drive_start(&d, &model);
    char line[256];
    u64 now_ns = 0;
    for (u32 number = 1; fgets(line, sizeof line, f); number++) {
        struct request r = parse(line, file, number);
        note(&t, serve(&d, &r, &now_ns, verbose), r.measured_ns);
    }
    if (ferror(f))
        fail("%s: %s", file, strerror(errno));
    fclose(f);
    if (t.n == 0)
        fail("%s: no requests", file);
    return t;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static u64 random_u64(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Return the model's times of n reads at random places. */
static struct times random_reads(u64 n, u64 seed, u32 sectors, bool verbose)
{
    struct times t = {0};
    struct drive d;
    drive_start(&d, &model);
    u64 now_ns = 0, places = model.sectors / sectors;
    for (u64 i = 0; i < n; i++) {
        struct request r = {.sector = random_u64(&seed) % places * sectors,
                            .nsectors = sectors};
        note(&t, serve(&d, &r, &now_ns, verbose), 0);
    }
    return t;
}

/* ---- results ---- */

/* Compare two times, for qsort(). */
static int by_size(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return (x > y) - (x < y);
}

static double mean_ms(const u64 *ns, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ns[i];
    return sum / n / 1e6;
}

/* By Newton's method, for a number above 0: the program needs no libm. */
static double square_root(double x)
{
    double r = x + 1;
    while (r * r > x * (1 + 1e-12))
        r = (r + x / r) / 2;
    return r;
}

/* Return the root mean square of the differences of the two distributions,
 * whose times must be sorted. */
static double demerit_ms(const struct times *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        double ms = ((double)t->model_ns[i] - t->measured_ns[i]) / 1e6;
        sum += ms * ms;
    }
    return square_root(sum / t->n);
}

/* Write both distributions to a file: a line for each fraction of the
 * requests. */
static void write_distributions(const struct times *t, const char *file)
{
    FILE *f = fopen(file, "w");
    if (!f)
        fail("%s: %s", file, strerror(errno));
    for (size_t i = 0; i < t->n; i++)
        fprintf(f, "%.6f %.3f %.3f\n", (i + 1.0) / t->n, t->model_ns[i] / 1e3,
                t->measured_ns[i] / 1e3);
    if (fclose(f))
        fail("%s: %s", file, strerror(errno));
}

/* Replay a trace, and print the means and the demerit. */
static void compare(const char *trace, const char *distributions, bool verbose)
{
    struct times t = replay(trace, verbose);
    qsort(t.model_ns, t.n, sizeof *t.model_ns, by_size);
    qsort(t.measured_ns, t.n, sizeof *t.measured_ns, by_size);
    double mean = mean_ms(t.model_ns, t.n);
    double measured = mean_ms(t.measured_ns, t.n), demerit = demerit_ms(&t);
    printf("requests %zu\nmean_ms %.4f\nmeasured_mean_ms %.4f\n"
           "demerit_ms %.4f\ndemerit_percent %.2f\n",
           t.n, mean, measured, demerit, 100 * demerit / measured);
    if (distributions)
        write_distributions(&t, distributions);
    free(t.model_ns);
    free(t.measured_ns);
}

/* ---- the command line ---- */

/* Return the number that a word of the command line says, or end the program:
 * `what` was expected. */
static u64 number_of(const char *word, const char *what)
{
    char *end;
    u64 n = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end)
        fail("%s: expected %s", word, what);
    return n;
}

/* Make the random reads of -r, and print their mean. */
static void print_random(char **word, int words, bool verbose)
{
    u64 n = number_of(word[0], "a number of reads");
    u64 sectors = words == 3 ? number_of(word[2], "a number of sectors") : 8;
    if (n == 0 || sectors == 0 || sectors > model.sectors)
        fail("-r %s: no reads, or not of what the drive holds", word[0]);
    struct times t =
        random_reads(n, number_of(word[1], "a seed"), sectors, verbose);
    printf("requests %zu\nmean_ms %.4f\n", t.n, mean_ms(t.model_ns, t.n));
    free(t.model_ns);
    free(t.measured_ns);
}

/* Make `model` a copy of the row of that name. */
static void choose_drive(const char *name)
{
    const struct drive_model *row = drive_find(name);
    row = row ? row : validated_drive(name);
    if (!row)
        fail("-d %s: there is no such drive; -l lists them", name);
    if (!row->zones)
        fail("-d %s: has no platters to model", name);
    const char *wrong = drive_wrong(row);
    if (wrong)
        fail("-d %s: its row is wrong: %s", name, wrong);
    model = *row;
}

int main(int argc, char **argv)
{
    const char *distributions = NULL;
    bool verbose = false;
    int mode = 't', option, words;
    choose_drive("cheetah4lp");
    while ((option = getopt(argc, argv, "d:x:c:vrsfl")) != -1) {
        if (option == 'd')
            choose_drive(optarg);
        else if (option == 'x')
            take_out(optarg);
        else if (option == 'c')
            distributions = optarg;
        else if (option == 'v')
            verbose = true;
        else
            mode = option;
    }
    argv += optind;
    words = argc - optind;
    if (mode == 'l' && words == 0)
        list_drives();
    else if (mode == 's' && words == 0)
        print_seeks();
    else if (mode == 'f' && words == 0)
        print_figures();
    else if (mode == 'r' && (words == 2 || words == 3))
        print_random(argv, words, verbose);
    else if (mode == 't' && words == 1)
        compare(argv[0], distributions, verbose);
    else {
        fputs(usage, stderr);
        return 2;
    }
    return 0;
}

/*
 * The replayer: requests of a trace go straight to the kernel's cache, its
 * policies, its disk queue and its drives, which are compiled for the host.
 * No process, system call or file system is in the way.
 *
 *   replayer [-c] [-f N] [-h N] [-p] [-l LOG] [-t EVENTS] [-w N] [-s SLICES]
 *            [-e N] -v BYTES REQUESTS -- BOOT ARGUMENTS
 *
 * - REQUESTS is a file in the form of sluice/trace/packed.py, or `-` for the
 *   standard input. It is read once, from the start on, so memory does not
 *   grow with the trace. A count of 0 means: up to the end.
 * - -v: the volume's size in bytes. drive= names a row of drives/. A row that
 *   is smaller than the volume is scaled to it (scaled.c).
 * - -c: a closed loop, in which the times are ignored. -f: how many requests
 *   are under way at once at most (64). The loop is that of ioplay.c.
 * - -l: LOG gets a record of 24 bytes for each request, in the order in which
 *   they end: its number, and in ns after the first moment when it was due (in
 *   a closed loop: started), and its response time.
 * - -t: EVENTS gets the kernel's trace, if trace_k= asks for one.
 * - -w: the first N requests fill the cache and do not count. The counters when
 *   the next one begins are printed, too.
 * - -s, -e: SLICES gets what was measured in each slice of the trace
 * (slices.h). A slice is N ns of the trace's time or, in a closed loop, N
 * requests.
 * - -p: progress on the standard error, as lines `replayed N`.
 * - -h: a hang. No request ended while nothing could run N times (10^8).
 * - The first moment of the trace is two seconds after power-on. Computing
 *   takes no virtual time, and there is no limit to virtual time but 2^63 ns.
 *
 * Prints one line of JSON. Times are in ns; quantiles are those of buckets that
 * are at most 1/128 of a value wide (kernel/measure/hist.h).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sluice/blocks/fibers.h"
#include "sluice/blocks/hart.h"
#include "sluice/blocks/packed.h"
#include "sluice/blocks/request.h"
#include "sluice/blocks/scaled.h"
#include "sluice/blocks/slices.h"
#include "sluice/blocks/usage.h"
#include "kernel/base/stat.h"
#include "kernel/driver/driver.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/fdt.h"
#include "kernel/measure/hist.h"
#include "kernel/measure/trace.h"

#define FIRST_NS (2 * NS_PER_S)
#define PIECE    4096 /* requests read at a time */
#define LATEST   (1UL << 62)

struct logged {
    u64 number, start_ns, response_ns;
};

static struct {
    bool closed, progress;
    u64 volume_bytes, inflight, hang, warmup, slice;
    const char *log, *events, *slices;
} options = {.inflight = 64, .hang = 100000000};

/* Print a message to standard error, and end. */
static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    fprintf(stderr, "replayer: ");
    vfprintf(stderr, fmt, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(STATUS_BOOT_FAIL);
}

/* ---- the requests ---- */

static struct {
    const char *path;
    FILE *file;
    struct packed_request piece[PIECE];
    u64 at, n;       /* in the piece */
    u64 taken, most; /* requests; most: of the head, or UNLIMITED */
    u64 last_ns;
} input;

/* Open the requests, of a file or of standard input ("-"), and check their
 * head. Input that gives no count goes on to its end. */
static void input_open(const char *path)
{
    struct packed_head head;
    bool standard = !strcmp(path, "-");
    input.path = standard ? "standard input" : path;
    input.file = standard ? stdin : fopen(path, "rb");
    if (!input.file)
        fail("%s: cannot be opened", path);
    if (fread(&head, sizeof head, 1, input.file) != 1 ||
        memcmp(head.magic, PACKED_MAGIC, sizeof head.magic) ||
        head.form != PACKED_FORM)
        fail("%s: has no requests of form 1", input.path);
    input.most = head.count ? head.count : ~0UL;
}

/* Fail unless the request is on the volume, and not due before the one before
 * it. */
static void check(const struct packed_request *r)
{
    u64 size = options.volume_bytes;
    if (!r->bytes || r->write > 1)
        fail("%s: request %lu: %u bytes, direction %u", input.path, input.taken,
             r->bytes, r->write);
    if (r->offset > size || r->bytes > size - r->offset)
        fail("%s: request %lu: ends at %lu, beyond the volume's %lu bytes",
             input.path, input.taken, r->offset + r->bytes, size);
    if (r->time_ns > LATEST || r->time_ns < input.last_ns)
        fail("%s: request %lu: is due before the one before it", input.path,
             input.taken);
    input.last_ns = r->time_ns;
}

/* Requests that come soon find what they look up in the processor's cache. */
static void warm_later(void)
{
    const struct disk *d = disk_get(0);
    const struct packed_request *r = &input.piece[input.at];
    u64 left = input.n - input.at;
    if (left > 12)
        request_warm_bucket(d, r[12].offset);
    if (left > 8)
        request_warm_buffer(d, r[8].offset);
    if (left > 4)
        request_warm_links(d, r[4].offset);
}

/* The next request; false: there is none. */
static bool input_next(struct packed_request *r, u64 *number)
{
    if (input.taken == input.most)
        return false;
    if (input.at == input.n) {
        input.at = 0;
        input.n = fread(input.piece, sizeof *r, PIECE, input.file);
        if (!input.n && input.most != ~0UL)
            fail("%s: has %lu requests, and its head says %lu", input.path,
                 input.taken, input.most);
        if (!input.n)
            return false;
    }
    warm_later();
    *r = input.piece[input.at++];
    check(r);
    *number = input.taken++;
    return true;
}

/* ---- what is measured ---- */

static struct {
    struct times all, reads, writes;
    u64 errors, late_ns, all_late_ns, end_ns;
    u64 active; /* under way */
    FILE *log;
} sums;

/* The response time in ns that per_10000 of 10,000 requests do not exceed: the
 * upper end of the bucket in which the request of this rank is. */
static u64 quantile(const struct times *t, u64 per_10000)
{
    u64 rank = ((unsigned __int128)t->count * per_10000 + 9999) / 10000;
    u64 upto = 0; /* requests in this bucket and those before */
    for (u32 i = 0; t->bucket && i < HIST_BUCKETS; i++) {
        upto += t->bucket[i];
        if (upto && upto >= rank)
            return MIN(t->max, hist_low(i + 1) - 1);
    }
    return 0;
}

/* Print the figures of a kind of requests as JSON. The deviation is the root of
 * the mean square minus the square of the mean; it is found by halving. */
static void times_print(const char *name, const struct times *t)
{
    u64 n = MAX(t->count, 1), mean = t->sum / n;
    double square = (double)(t->squares / n) - (double)mean * mean;
    u64 low = 0, high = 1UL << 62;
    while (low + 1 < high) {
        u64 middle = (low + high) / 2;
        if ((double)middle * middle <= MAX(square, 0.0))
            low = middle;
        else
            high = middle;
    }
    printf("\"%s\":{\"count\":%lu,\"bytes\":%lu,\"hits\":%lu,"
           "\"hit_bytes\":%lu,\"min\":%lu,\"mean\":%lu,\"std\":%lu,"
           "\"p50\":%lu,\"p90\":%lu,\"p99\":%lu,\"p99.9\":%lu,"
           "\"p99.99\":%lu,\"max\":%lu},",
           name, t->count, t->bytes, t->hits, t->hit_bytes, t->min, mean, low,
           quantile(t, 5000), quantile(t, 9000), quantile(t, 9900),
           quantile(t, 9990), quantile(t, 9999), t->max);
}

/* Count a request that has ended, unless it failed or belongs to the warm-up,
 * and log it. */
static void done(const struct packed_request *r, u64 number, u64 start_ns,
                 u64 late_ns, u64 hit_bytes, int error)
{
    u64 now_ns = clock_ns(), response_ns = now_ns - start_ns;
    sums.end_ns = now_ns;
    if (error) {
        sums.errors++;
        return;
    }
    if (number < options.warmup)
        return;
    sums.late_ns = MAX(sums.late_ns, late_ns);
    sums.all_late_ns += late_ns;
    struct times *kind = r->write ? &sums.writes : &sums.reads;
    times_add(kind, response_ns, r->bytes, hit_bytes);
    times_add(&sums.all, response_ns, r->bytes, hit_bytes);
    if (options.slices) {
        u64 at = options.closed ? number : start_ns - FIRST_NS;
        slices_add(at / options.slice, r->write, response_ns, r->bytes,
                   hit_bytes);
    }
    struct logged logged = {number, start_ns - FIRST_NS, response_ns};
    if (sums.log && fwrite(&logged, sizeof logged, 1, sums.log) != 1)
        fail("%s: cannot be written", options.log);
}

/* ---- the end ---- */

extern struct stat_row __start_stats[], __stop_stats[];

static u64 *warm_counters; /* in their order; NULL: there is no warm-up */

static u64 counter_value(const struct stat_row *s)
{
    return s->read ? s->read() : s->value;
}

/* Keep the counters as they are when the warm-up has ended. */
static void keep_counters(void)
{
    u64 n = __stop_stats - __start_stats;
    warm_counters = host_memory(n * sizeof(u64));
    for (u64 i = 0; i < n; i++)
        warm_counters[i] = counter_value(&__start_stats[i]);
}

/* The counters, at the end or, if warm is true, when the warm-up had ended. */
static void print_counters(const char *name, bool warm)
{
    u64 n = __stop_stats - __start_stats;
    printf(",\"%s\":{", name);
    for (u64 i = 0; i < n; i++)
        printf("%s\"%s\":%lu", i ? "," : "", __start_stats[i].name,
               warm ? warm_counters[i] : counter_value(&__start_stats[i]));
    printf("}");
}

/* Write the trace's head and records to the file of -t. */
static void keep_events(void)
{
    const struct trace_ring *ring = trace_kept();
    FILE *f = ring ? fopen(options.events, "wb") : NULL;
    u64 n = ring ? MIN(ring->written, ring->records) : 0;
    if (!f ||
        fwrite(ring, sizeof *ring + n * sizeof ring->record[0], 1, f) != 1 ||
        fclose(f))
        fail("%s: cannot be written, or trace_k= is missing", options.events);
}

static void finish(void) __attribute__((noreturn));
/* Check and close the outputs, print the results as one line of JSON, and end
 * with status 1 if a request failed. */
static void finish(void)
{
    if (!input.taken)
        fail("%s: has no request", input.path);
    if ((sums.log && fclose(sums.log)))
        fail("%s: cannot be written", options.log);
    if (options.events)
        keep_events();
    if (options.slices && !slices_write(options.slices))
        fail("%s: cannot be written", options.slices);
    printf("{\"requests\":%lu,\"errors\":%lu,\"late_ns\":%lu,"
           "\"mean_late_ns\":%lu,\"elapsed_ns\":%lu,",
           input.taken, sums.errors, sums.late_ns,
           sums.all_late_ns / MAX(sums.all.count, 1), sums.end_ns - FIRST_NS);
    times_print("all", &sums.all);
    times_print("reads", &sums.reads);
    times_print("writes", &sums.writes);
    printf("\"cpu_s\":%.3f,\"memory_kb\":%lu", usage_cpu_s(),
           usage_memory_kb());
    print_counters("counters", false);
    if (warm_counters)
        print_counters("warm_counters", true);
    printf("}\n");
    fflush(stdout);
    _exit(sums.errors ? 1 : 0);
}

/* Print the number of the request, at most once a second. */
static void show_progress(u64 number)
{
    static time_t last;
    time_t now = time(NULL);
    if (now == last)
        return;
    last = now;
    fprintf(stderr, "replayed %lu\n", number);
}

/* ---- the requests' fibers ---- */

static bool ended;             /* the trace has no more requests */
static struct streams streams; /* of all reads */

/* End the program if the replay has been idle too often without a request that
 * ended. */
static void expect_progress(void)
{
    static u64 idle_times;
    idle_times += fibers_idle_times();
    if (sums.active && idle_times > options.hang)
        fail("no request ended while nothing could run %lu times, up to %lu s "
             "of virtual time: a policy hangs",
             idle_times, clock_ns() / NS_PER_S);
    idle_times = 0;
}

/* Be one of the workers: take the turn, the next request, wait until it is due,
 * pass the turn, and do the request. The worker that ends the last one prints
 * the results. */
static void serve(void *arg)
{
    struct disk *d = disk_get(0);
    struct packed_request r;
    u64 number = 0;
    (void)arg;
    for (;;) {
        turn_take();
        if (!ended)
            ended = !input_next(&r, &number);
        if (ended) {
            if (!sums.active)
                finish();
            for (;;)
                turn_take(); /* which it keeps: nobody else needs it */
        }
        if (options.warmup && number == options.warmup)
            keep_counters();
        if (options.progress && number % 16384 == 0)
            show_progress(number);
        u64 due_ns = FIRST_NS + (options.closed ? 0 : r.time_ns);
        fiber_wait_until(MAX(due_ns, FIRST_NS));
        turn_pass();
        sums.active++;
        u64 now_ns = clock_ns();
        u64 start_ns = options.closed ? now_ns : due_ns;
        u64 hit_bytes = request_hit_bytes(d, r.offset, r.bytes);
        int error = request_do(d, &streams, r.offset, r.bytes, r.write);
        sums.active--;
        expect_progress();
        done(&r, number, start_ns, now_ns - start_ns, hit_bytes, error);
        if (ended && !sums.active)
            finish();
    }
}

/* ---- the beginning ---- */

static u64 number_of(const char *text, const char *what)
{
    char *end;
    u64 n = strtoul(text, &end, 10);
    if (*end || end == text || !n)
        fail("%s %s: must be a whole number above 0", what, text);
    return n;
}

/* Add a word to the boot arguments. */
static void add_word(const char *word)
{
    char *at = machine.bootargs;
    u64 used = strlen(at), room = sizeof machine.bootargs - used;
    int n = snprintf(at + used, room, "%s%s", used ? " " : "", word);
    if (n < 0 || (u64)n >= room)
        fail("boot arguments: too long");
}

/* Boot arguments; the drive is scaled to the volume. */
static void add_words(char **word, int n)
{
    add_word("charged_ns=1");
    for (int i = 0; i < n; i++) {
        if (strncmp(word[i], "drive=", 6)) {
            add_word(word[i]);
            continue;
        }
        char text[128];
        const char *name =
            drive_scaled_to(word[i] + 6, options.volume_bytes / SECTOR_BYTES);
        snprintf(text, sizeof text, "drive=%s", name ? name : word[i] + 6);
        add_word(text);
    }
}

/* Take the options of the command line into `options`. The volume is rounded
 * down to whole blocks. */
static void read_options(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "ce:f:h:l:ps:t:v:w:")) >= 0) {
        if (option == 'c')
            options.closed = true;
        else if (option == 'e')
            options.slice = number_of(optarg, "-e");
        else if (option == 'f')
            options.inflight = number_of(optarg, "-f");
        else if (option == 'h')
            options.hang = number_of(optarg, "-h");
        else if (option == 'l')
            options.log = optarg;
        else if (option == 'p')
            options.progress = true;
        else if (option == 's')
            options.slices = optarg;
        else if (option == 't')
            options.events = optarg;
        else if (option == 'v')
            options.volume_bytes = number_of(optarg, "-v");
        else if (option == 'w')
            options.warmup = number_of(optarg, "-w");
        else
            exit(STATUS_BOOT_FAIL);
    }
    if (!options.volume_bytes || optind >= argc)
        fail("-v BYTES and REQUESTS are needed");
    if (options.slices && !options.slice)
        fail("-s: needs -e");
    options.volume_bytes = options.volume_bytes / BLOCK_BYTES * BLOCK_BYTES;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    input_open(argv[optind]);
    if (options.log && !(sums.log = fopen(options.log, "wb")))
        fail("%s: cannot be written", options.log);
    volume_make(options.volume_bytes / SECTOR_BYTES);
    add_words(argv + optind + 1, argc - optind - 1);
    fibers_init();
    volume_boot(machine.bootargs);
    fibers_start(options.inflight, serve);
    fibers_run();
}

/* User mode, which is never entered, belongs to the file with switch_to. */
struct trapframe *user_frame;
void user_called(void);
void user_called(void)
{
    panic("there is no user mode");
}
